"""Tests of wind against its statistics and kinematics."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma, kv

from pegasus.base.errors import ConfigError
from pegasus.environment import ConstantWind, DiscreteGust, Gusts, NoWind
from pegasus.environment.wind import Spectrum, circle_point, energy_spectrum

MEAN = (6.0, -2.0, 0.5)
LENGTH = 40.0


def bound(seed: int = 0, **parameters: object) -> Gusts:
    """Return gusts that are bound to a random stream."""
    gusts = Gusts(**{"mean_velocity": MEAN, "intensity": 1.5, "length_scale": LENGTH, **parameters})  # type: ignore[arg-type]
    gusts.bind(np.random.default_rng(seed))
    return gusts


def dryden(r: float) -> tuple[float, float]:
    """Return longitudinal and lateral correlation at a distance r of the Dryden form."""
    x = r / LENGTH
    return math.exp(-x), (1 - x / 2) * math.exp(-x)


def von_karman(r: float) -> tuple[float, float]:
    """Return longitudinal and lateral correlation at a distance r of the von Karman form."""
    z = r / (1.339 * LENGTH)
    scale = 2 ** (2 / 3) / gamma(1 / 3)
    longitudinal = scale * z ** (1 / 3) * kv(1 / 3, z)
    return longitudinal, longitudinal - scale / 2 * z ** (4 / 3) * kv(2 / 3, z)


def test_no_wind() -> None:
    """Still air would move, or callers could not detect that they may skip it."""
    assert NoWind.calm
    assert not ConstantWind.calm
    assert not Gusts.calm
    np.testing.assert_array_equal(NoWind().velocity(np.ones((3, 3)), 1.0), np.zeros((3, 3)))


def test_constant_wind() -> None:
    """A constant wind would vary, or its axes would be exchanged."""
    velocity = ConstantWind(MEAN).velocity(np.random.default_rng(0).normal(size=(4, 3)), 3.0)
    np.testing.assert_array_equal(velocity, [MEAN] * 4)


@pytest.mark.parametrize("spectrum", ["dryden", "von_karman"])
def test_spectrum_holds_the_energy(spectrum: Spectrum) -> None:
    """The spectrum would not integrate to 3/2, or not have its stated length scale."""

    def density(k: float) -> float:
        return float(energy_spectrum(np.array(k), spectrum=spectrum, length_scale=LENGTH))

    energy = sum(quad(density, a, b)[0] for a, b in ((0, 0.1), (0.1, 10), (10, np.inf)))
    assert energy == pytest.approx(1.5, rel=1e-3)
    # Integral length scale of isotropic turbulence: pi / 2 times the integral of E / k over 3/2 (Batchelor).
    first_moment = sum(quad(lambda k: density(k) / k, a, b)[0] for a, b in ((1e-9, 0.1), (0.1, np.inf)))
    assert np.pi / 2 * first_moment == pytest.approx(LENGTH, rel=1e-3)


@pytest.mark.parametrize(("spectrum", "correlation"), [("dryden", dryden), ("von_karman", von_karman)])
def test_intensity_and_correlation(spectrum: Spectrum, correlation: object) -> None:
    """The gusts would have a wrong intensity, length scale or isotropy.

    Fields of independent seeds are independent samples: means over them are compared within four standard
    errors, which are themselves taken from the samples.
    """
    rng = np.random.default_rng(11)
    distances = (0.25 * LENGTH, LENGTH, 2 * LENGTH)
    samples: list[list[float]] = []
    for seed in range(300):
        gusts = bound(seed, spectrum=spectrum, mean_velocity=(0.0, 0.0, 0.0), shortest_wavelength=0.02)
        here = rng.uniform(-5e3, 5e3, (40, 3))
        velocity = gusts.velocity(here, 0.0) / 1.5
        sample = [*np.mean(velocity**2, axis=0), *np.mean(velocity, axis=0)]
        sample.append(np.mean(velocity[:, 0] * velocity[:, 1]))
        for distance in distances:
            there = gusts.velocity(here + np.array([0.0, distance, 0.0]), 0.0) / 1.5
            sample += [np.mean(velocity[:, 1] * there[:, 1]), np.mean(velocity[:, 2] * there[:, 2])]
            # Turbulence without a sense of turning: no cross-correlation, whatever the distance.
            sample.append(np.mean(velocity[:, 0] * there[:, 2]))
        samples.append(sample)
    expected = [1, 1, 1, 0, 0, 0, 0]
    for distance in distances:
        expected += [*correlation(distance), 0]  # type: ignore[operator]
    table = np.array(samples)
    standard_error = table.std(axis=0, ddof=1) / math.sqrt(len(table))
    assert standard_error.max() < 0.02
    assert np.all(np.abs(table.mean(axis=0) - expected) < 4 * standard_error + 5e-3)


def test_every_field_has_the_energy_asked_for() -> None:
    """Runs of the same intensity would differ in energy."""
    rng = np.random.default_rng(3)
    for seed in range(5):
        velocity = bound(seed).velocity(rng.uniform(-1e5, 1e5, (20_000, 3)), 0.0) - MEAN
        # 20000 places far apart: the mean of |u|^2 / 3 is known to 0.6 %, its share along each axis to 4.5 %.
        assert np.mean(velocity**2) == pytest.approx(1.5**2, rel=0.03)
        np.testing.assert_allclose(np.mean(velocity**2, axis=0), 1.5**2, rtol=0.2)


def test_free_of_divergence() -> None:
    """The gusts would have divergence."""
    gusts = bound(shortest_wavelength=LENGTH)
    here, step = np.random.default_rng(1).uniform(-500, 500, (200, 3)), 0.25
    gradient = np.stack(
        [
            (gusts.velocity(here + step * axis, 0.0) - gusts.velocity(here - step * axis, 0.0)) / (2 * step)
            for axis in np.eye(3)
        ],
        axis=1,
    )
    divergence = np.trace(gradient, axis1=1, axis2=2)
    assert np.abs(divergence).max() < 1e-3 * np.abs(gradient).max()


def test_frozen_and_drifting() -> None:
    """The field would not drift with the mean wind (Taylor's hypothesis)."""
    gusts, here, t = bound(), np.random.default_rng(2).uniform(-100, 100, (50, 3)), 17.3
    later, drifted = gusts.velocity(here, t), gusts.velocity(here - t * np.array(MEAN), 0.0)
    np.testing.assert_allclose(later, drifted, atol=1e-5)
    assert np.abs(later - gusts.velocity(here, 0.0)).max() > 0.5


def test_waves_far_away_and_late() -> None:
    """Far places or late times would lose the gusts to rounding, or sum them wrongly."""
    gusts, t = bound(), 86_400.0
    here = np.random.default_rng(6).uniform(-1e6, 1e6, (50, 3))
    waves = np.array(gusts.parameters.modes).reshape(-1, 10)
    phase = 2 * np.pi * (here @ waves[:, :3].T - waves[:, 3] * t)
    exact = MEAN + np.cos(phase) @ waves[:, 4:7] + np.sin(phase) @ waves[:, 7:]
    # The phase itself is known to the rounding of 1e6 cycles.
    np.testing.assert_allclose(gusts.velocity(here, t), exact, atol=2e-8)


def test_points_of_the_circle() -> None:
    """A wave would not be a sine, or jump from one cycle to the next."""
    cycles = np.random.default_rng(1).uniform(-2, 2, 2000)
    cycles = np.concatenate([cycles, np.arange(-2, 2, 0.125)])
    points = np.array([circle_point(x) for x in cycles.tolist()])
    np.testing.assert_allclose(points[:, 0], np.cos(2 * np.pi * cycles), atol=3e-15)
    np.testing.assert_allclose(points[:, 1], np.sin(2 * np.pi * cycles), atol=3e-15)


def test_same_seed_same_bits_whatever_the_batch() -> None:
    """Gusts would differ between runs, or with the number of vehicles."""
    here = np.random.default_rng(4).uniform(-100, 100, (500, 3))
    together = bound(5).velocity(here, 2.5)
    again = bound(5)
    again.bind(np.random.default_rng(5))
    one_by_one = np.concatenate([again.velocity(row[None], 2.5) for row in here])
    np.testing.assert_array_equal(one_by_one, together)
    assert np.abs(bound(6).velocity(here, 2.5) - together).max() > 0.5


def test_no_waves_below_the_shortest() -> None:
    """Eddies smaller than the vehicle would shake it."""
    waves = np.array(bound(shortest_wavelength=5.0).parameters.modes).reshape(-1, 10)
    wavelength = 1 / np.linalg.norm(waves[:, :3], axis=1)
    assert 5.0 <= wavelength.min() < 8.0


def test_discrete_gust() -> None:
    """The gust would not rise, hold and fall as 1 - cos, added to the wind."""
    gust = DiscreteGust(amplitude=(4.0, 0.0, -1.0), start=10.0, rise_time=2.0, hold_time=3.0)
    times = [0.0, 10.0, 10.5, 11.0, 12.0, 14.9, 15.0, 15.5, 16.0, 17.0, 99.0]
    quarter = (1 - math.cos(math.pi / 4)) / 2
    shares = [0, 0, quarter, 0.5, 1, 1, 1, 1 - quarter, 0.5, 0, 0]
    np.testing.assert_allclose([gust.share(t) for t in times], shares, atol=1e-15)
    gusts = bound(intensity=0.0, gust=gust)
    np.testing.assert_allclose(gusts.velocity(np.zeros((2, 3)), 11.0), [[8.0, -2.0, 0.0]] * 2, atol=1e-15)


def test_unbound_gusts_say_so() -> None:
    """Gusts without a random stream would be zero, or cause an unrelated error."""
    with pytest.raises(RuntimeError, match="bind"):
        Gusts(MEAN).velocity(np.zeros((1, 3)), 0.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("intensity", -1.0),
        ("length_scale", 0.0),
        ("shortest_wavelength", 100.0),
        ("mode_count", 0),
        ("mode_count", 2.5),
    ],
)
def test_bad_gusts_are_refused(field: str, value: float) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=field):
        bound(**{field: value})


@pytest.mark.parametrize("parameters", [{"rise_time": 0.0}, {"rise_time": 1.0, "hold_time": -1.0}])
def test_bad_discrete_gusts_are_refused(parameters: dict[str, float]) -> None:
    """A gust of zero duration would divide by zero."""
    with pytest.raises(ConfigError, match=list(parameters)[-1]):
        DiscreteGust(amplitude=(1.0, 0.0, 0.0), start=0.0, **parameters)
