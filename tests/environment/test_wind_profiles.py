"""Tests of mean winds over height, discrete gusts, thermals and sums of winds."""

import math

import numpy as np
import pytest
from scipy.integrate import trapezoid

from pegasus.base.errors import ConfigError
from pegasus.base.row_map import RowMap
from pegasus.environment import (
    WINDS,
    ConstantWind,
    DiscreteGust,
    Gusts,
    GustWind,
    LogWind,
    PowerWind,
    SumWind,
    Thermals,
    Wind,
)
from pegasus.environment.thermals import SHAPES


def column(*heights: float) -> np.ndarray:
    """Return points above each other."""
    return np.array([(7.0, -3.0, z) for z in heights])


def test_logarithmic_law() -> None:
    """The wind would not have its velocity at the reference height, or not grow with ln(z / z_0)."""
    wind = LogWind(mean_velocity=(3.0, 4.0, 0.0), roughness_length=0.1, ground=20.0, top_height=200.0)
    velocity = wind.velocity(column(30.0, 21.0, 120.0, 220.0, 500.0, 20.1, 3.0), 5.0)
    shares = [1.0, 0.5, 1.5, math.log(2000) / math.log(100), math.log(2000) / math.log(100), 0.0, 0.0]
    np.testing.assert_allclose(velocity, np.outer(shares, [3.0, 4.0, 0.0]), rtol=1e-13, atol=1e-13)


def test_power_law() -> None:
    """The wind would not grow with the power of the height, or be undefined below the ground."""
    wind = PowerWind(mean_velocity=(0.0, -8.0, 0.0), exponent=0.25, reference_height=16.0, ground=-2.0)
    velocity = wind.velocity(column(14.0, -1.0, 254.0, -2.0, -50.0), 0.0)
    np.testing.assert_allclose(velocity[:, 1], [-8.0, -4.0, -16.0, 0.0, 0.0], rtol=1e-14)
    np.testing.assert_array_equal(velocity[:, [0, 2]], 0.0)


def test_turning_with_height() -> None:
    """The wind would turn the wrong way or about the wrong height."""
    wind = PowerWind(mean_velocity=(5.0, 0.0, 0.0), exponent=0.0, turning=math.radians(1.0), top_height=100.0)
    velocity = wind.velocity(column(10.0, 40.0, 0.0, 100.0, 150.0), 0.0)
    angles = np.degrees(np.arctan2(velocity[:, 1], velocity[:, 0]))
    np.testing.assert_allclose(angles, [0.0, 30.0, -10.0, 90.0, 90.0], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(velocity, axis=1), 5.0)


def test_discrete_gust_by_time_and_by_length() -> None:
    """A gust of a length would not have the rise time of its length by the airspeed."""
    by_time = GustWind(amplitude=(1.0, -2.0, 3.0), start=4.0, rise_time=2.5, hold_time=1.0)
    by_length = GustWind(
        amplitude=(1.0, -2.0, 3.0), start=4.0, gust_length=30.0, airspeed=12.0, hold_time=1.0
    )
    gust = DiscreteGust((1.0, -2.0, 3.0), start=4.0, rise_time=2.5, hold_time=1.0)
    for t in (0.0, 4.5, 6.5, 7.4, 8.0, 9.99, 20.0):
        expected = gust.share(t) * np.array([[1.0, -2.0, 3.0]])
        np.testing.assert_allclose(by_time.velocity(column(9.0), t), expected, atol=1e-15)
        np.testing.assert_allclose(by_length.velocity(column(1.0), t), expected, atol=1e-15)
    assert by_time.velocity(column(0.0), 7.0)[0, 2] == 3.0


def allen(r: np.ndarray, z: float, w_star: float, z_i: float) -> np.ndarray:
    """Return the updraft of Allen's report, written from its equations."""
    share = z / z_i
    mean = w_star * share ** (1 / 3) * (1 - 1.1 * share)
    outer = max(10.0, 0.102 * share ** (1 / 3) * (1 - 0.25 * share) * z_i)
    ratio = 0.0011 * outer + 0.14 if outer < 600 else 0.8
    inner = ratio * outer
    peak = 3 * mean * (outer**3 - outer**2 * inner) / (outer**3 - inner**3)
    rows = np.array(SHAPES).reshape(7, 5)
    _, k1, k2, k3, k4 = rows[np.argmin(np.abs(rows[:, 0] - ratio))]
    x = r / outer
    shape = np.maximum(1 / (1 + np.abs(k1 * np.abs(x + k3)) ** k2) + k4 * x, 0)
    down = np.where((r > inner) & (x < 2), np.pi / 6 * np.sin(np.pi * x), 0.0)
    scale = 2.5 * (share - 0.5) if 0.5 < share <= 0.9 else 0.0
    return np.asarray(shape * peak + np.minimum(scale * down, 0.0) * mean)


@pytest.mark.parametrize("z", [30.0, 400.0, 700.0, 1000.0, 1250.0])
def test_updraft_by_radius_and_height(z: float) -> None:
    """Size, strength, shape or edge of a thermal would not be Allen's."""
    wind = Thermals(convective_velocity=2.56, mixing_height=1401.0, centers=[(50.0, -20.0)], ground=5.0)
    r = np.linspace(0.0, 600.0, 301)
    points = np.stack([50.0 + 0.6 * r, -20.0 + 0.8 * r, np.full(301, z + 5.0)], axis=1)
    velocity = wind.velocity(points, 0.0)
    np.testing.assert_allclose(velocity[:, 2], allen(r, z, 2.56, 1401.0), rtol=1e-10, atol=1e-12)
    assert velocity[0, 2] > 0.1
    np.testing.assert_array_equal(velocity[:, :2], 0.0)


def test_updraft_carries_the_mean_of_its_area() -> None:
    """The peak would not belong to the mean updraft over the area of the thermal.

    The trapezoid of the report is fitted by the shape constants, so that a few per cent remain.
    """
    wind = Thermals(convective_velocity=2.0, mixing_height=1400.0, centers=[(0.0, 0.0)])
    share = 300.0 / 1400.0
    outer = 0.102 * share ** (1 / 3) * (1 - 0.25 * share) * 1400.0
    r = np.linspace(0.0, outer, 2001)
    w = wind.velocity(np.stack([r, 0 * r, 0 * r + 300.0], axis=1), 0.0)[:, 2]
    mean = 2 * trapezoid(w * r, r) / outer**2
    assert mean == pytest.approx(2.0 * share ** (1 / 3) * (1 - 1.1 * share), rel=0.1)


def test_thermals_drift_and_end() -> None:
    """A thermal would not move with the wind, not fade, or be there before its birth."""
    wind = Thermals(centers=[(0.0, 0.0)], drift=(4.0, -3.0), lifetime=200.0, births=[10.0])
    lasting = Thermals(centers=[(0.0, 0.0)])
    peak = lasting.velocity(column(300.0) * [[0, 0, 1]], 0.0)[0, 2]
    for t, share in ((5.0, 0.0), (60.0, math.sqrt(0.5)), (110.0, 1.0), (211.0, 0.0)):
        center = np.array([[4.0 * (t - 10.0), -3.0 * (t - 10.0), 300.0]])
        assert wind.velocity(center, t)[0, 2] == pytest.approx(share * peak, abs=1e-12)


def test_random_thermals_are_those_of_the_seed() -> None:
    """Two runs of one seed would have other thermals, or all would be at one place."""
    points = np.random.default_rng(3).uniform([-400, -400, 100], [400, 400, 900], (200, 3))
    wind = Thermals(count=5, area=(800.0, 800.0), lifetime=600.0)
    with pytest.raises(RuntimeError, match="bind"):
        wind.velocity(points, 0.0)
    fields = []
    for seed in (1, 2, 1):
        wind.bind(np.random.default_rng(seed))
        fields.append(wind.velocity(points, 50.0))
    np.testing.assert_array_equal(fields[0], fields[2])
    assert np.abs(fields[0] - fields[1]).max() > 0.5


def summed() -> SumWind:
    """Return a sum of five winds, with a description among them."""
    wind = SumWind(
        [
            {"model": "log", "mean_velocity": [5.0, 1.0, 0.0], "turning": 0.01},
            {"mean_velocity": [0.5, 0.0, 0.0]},
            GustWind(amplitude=(0.0, 0.0, 3.0), start=1.0, rise_time=1.0),
            Thermals(centers=[(10.0, 0.0), (90.0, 30.0)]),
            Gusts((0.0, 0.0, 0.0), mode_count=8),
        ]
    )
    wind.bind(np.random.default_rng(5))
    return wind


def test_sum_is_that_of_its_parts() -> None:
    """A part would be left out, or have the parameters of another; Python and compiled code would differ."""
    wind, points = summed(), np.random.default_rng(2).uniform(0, 100, (30, 3))
    expected = np.sum([part.velocity(points, 1.5) for part in wind.winds], axis=0)
    velocity = wind.velocity(points, 1.5)
    np.testing.assert_allclose(velocity, expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_array_equal(np.concatenate([wind.velocity(p[None], 1.5) for p in points]), velocity)
    plain = RowMap(wind.step_function, values=1, few=1000)(wind.parameters, points, 1.5)  # type: ignore[arg-type]
    np.testing.assert_array_equal(plain, velocity)
    other = SumWind(list(reversed(wind.winds)))
    np.testing.assert_allclose(other.velocity(points, 1.5), expected, rtol=1e-14, atol=1e-14)


def test_mean_and_local_part_of_a_sum() -> None:
    """Turbulence would take gusts for the mean wind, or rotors would feel uniform parts anew."""
    wind, points = summed(), column(3.0, 40.0)
    mean = wind.winds[0].velocity(points, 0.0) + np.array([0.5, 0.0, 0.0])
    np.testing.assert_allclose(wind.mean_at(points), mean, rtol=1e-14)
    local = wind.at_rotors
    assert isinstance(local, SumWind)
    assert [type(part).__name__ for part in local.winds] == ["LogWind", "Thermals"]
    assert SumWind([ConstantWind((1.0, 0.0, 0.0))]).at_rotors is None
    assert Gusts((1.0, 0.0, 0.0), each_rotor=True).at_rotors is not None


class ByArray(Wind):
    """Wind in NumPy."""

    def velocity(self, position: np.ndarray, t: float) -> np.ndarray:
        return position


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogWind(mean_velocity=(1, 0, 1)), "mean_velocity.*horizontal"),
        (lambda: LogWind(mean_velocity=(1, 0, 0), roughness_length=0.0), "roughness_length"),
        (
            lambda: LogWind(mean_velocity=(1, 0, 0), reference_height=0.01),
            "reference_height.*above the rough",
        ),
        (lambda: PowerWind(mean_velocity=(1, 0, 0), exponent=2.0), "exponent = 2.0: must be from 0 to 1"),
        (lambda: PowerWind(mean_velocity=(1, 0, 0), reference_height=0.0), "reference_height"),
        (lambda: PowerWind(mean_velocity=(1, 0, 0), top_height=math.inf), "top_height"),
        (lambda: PowerWind(mean_velocity=(1, 0, 0), turning=math.nan), "turning"),
        (lambda: GustWind(amplitude=(1, 0, 0), start=0.0), "rise_time.*either the rise time, or both"),
        (lambda: GustWind(amplitude=(1, 0, 0), start=0.0, gust_length=9.0), "either the rise time, or both"),
        (
            lambda: GustWind(amplitude=(1, 0, 0), start=0.0, rise_time=1.0, airspeed=9.0),
            "either the rise time, or both",
        ),
        (lambda: GustWind(amplitude=(1, 0, 0), start=0.0, rise_time=0.0), "rise_time = 0.0: must be above 0"),
        (lambda: Thermals(mixing_height=0.0), "mixing_height"),
        (lambda: Thermals(count=0), "count"),
        (lambda: Thermals(lifetime=-1.0), "lifetime"),
        (lambda: Thermals(centers=[]), "centers"),
        (lambda: Thermals(centers=[(0.0, 0.0)], births=[0.0, 1.0]), "births.*must hold 1 times"),
        (lambda: SumWind([]), "parts.*at least one"),
        (lambda: SumWind([ByArray()]), "parts.0 = 'ByArray': must have a step function"),
        (lambda: SumWind([3.0]), "parts.0"),
        (lambda: SumWind([{"model": "log"}]), "parts.0.mean_velocity"),
        (lambda: SumWind([{"model": "lag"}]), "parts.0.model"),
    ],
)
def test_bad_winds_are_refused(make: object, message: str) -> None:
    """An invalid parameter would be accepted, or the error not name it in one line."""
    with pytest.raises(ConfigError, match=message) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_all_are_in_the_table() -> None:
    """A world file could not name a wind."""
    assert {"log", "power", "dryden", "von_karman", "discrete_gust", "thermals", "sum"} <= set(WINDS)
