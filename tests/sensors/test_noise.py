"""Noise formulas against closed forms, and noise processes against their statistics."""

import math
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest

from pegasus.errors import ConfigError
from pegasus.sensors import NoiseModel, NoiseProcess
from pegasus.sensors.noise import (
    gauss_markov_coefficients,
    gauss_markov_sigma,
    gauss_markov_step,
    white_noise_sigma,
)

QUIET: dict[str, float] = {
    "noise_density": 0.0,
    "bias_random_walk": 0.0,
    "bias_correlation_time": 1.0,
    "turn_on_bias": 0.0,
}


def process(model: NoiseModel, *, count: int, rate_hz: float, seed: int = 1) -> NoiseProcess:
    return NoiseProcess([model], rate_hz=rate_hz, rngs=np.random.default_rng(seed).spawn(count))


@pytest.mark.parametrize("dt", [1e-4, 0.02, 1.0, 50.0])
def test_bias_coefficients_are_those_of_pegasus(dt: float) -> None:
    """The published parameters would mean something else here than in Gazebo, PX4 and Pegasus."""
    walk, tau = 3.8785e-5, 10.0
    published = math.sqrt(-(walk**2) * tau / 2 * (math.exp(-2 * dt / tau) - 1))
    sigma = gauss_markov_sigma(walk, correlation_time=tau)
    phi, drive = gauss_markov_coefficients(sigma, correlation_time=tau, dt=dt)
    assert phi == math.exp(-dt / tau)
    assert drive == pytest.approx(published, rel=1e-9)


def test_one_long_step_is_as_good_as_many_short_ones() -> None:
    """The bias would depend on the rate: the discretisation would not be exact."""
    long_phi, long_drive = gauss_markov_coefficients(0.3, correlation_time=7.0, dt=2.0)
    phi, drive = gauss_markov_coefficients(0.3, correlation_time=7.0, dt=0.01)
    variance = drive**2 * sum(phi ** (2 * k) for k in range(200))
    assert phi**200 == pytest.approx(long_phi, rel=1e-12)
    assert variance == pytest.approx(long_drive**2, rel=1e-11)


def test_drive_keeps_its_digits_for_short_steps() -> None:
    """1 - phi^2 would cancel, and a slow bias would stand still at a high rate."""
    _, drive = gauss_markov_coefficients(1.0, correlation_time=1e6, dt=1e-6)
    assert drive == pytest.approx(math.sqrt(2e-12), rel=1e-9)


def test_step_follows_the_array_api() -> None:
    """The formula would be bound to NumPy."""
    bias, normal = array_api_strict.asarray([1.0, -2.0]), array_api_strict.asarray([0.5, 0.25])
    stepped = gauss_markov_step(bias, normal, phi=0.5, drive=4.0)
    assert [float(stepped[0]), float(stepped[1])] == [2.5, 0.0]


@pytest.mark.parametrize("rate", [1.0, 10.0, 250.0])
def test_white_noise_sigma_grows_with_the_root_of_the_rate(rate: float) -> None:
    """The density would not be what an Allan plot shows: the mean over a second has sigma = density."""
    assert white_noise_sigma(0.3, rate_hz=rate) / math.sqrt(rate) == pytest.approx(0.3, rel=1e-14)


@pytest.mark.parametrize("rate", [5.0, 50.0, 200.0])
def test_bias_is_stationary_from_the_first_sample(
    rate: float, assert_gauss_markov: Callable[..., None]
) -> None:
    """Sigma or correlation time of the bias would depend on the rate or on the time since the start."""
    tau, sigma = 1.0, 0.2
    model = NoiseModel(**QUIET | {"bias_random_walk": sigma * math.sqrt(2 / tau)})
    noise = process(model, count=2000, rate_hz=rate)
    samples = np.array([noise.sample()[0] for _ in range(round(4 * rate))])
    assert_gauss_markov(samples, rate_hz=rate, sigma=sigma, correlation_time=tau)


def test_turn_on_bias_differs_between_vehicles_and_axes_and_stays() -> None:
    """The turn-on bias would be shared, or wander."""
    noise = process(NoiseModel(**QUIET | {"turn_on_bias": 0.5}), count=2000, rate_hz=10.0)
    first, later = noise.sample()[0], [noise.sample()[0] for _ in range(20)][-1]
    assert np.array_equal(first, later)
    assert np.all(np.abs(np.std(first, axis=0) / 0.5 - 1) < 5 / math.sqrt(2 * 2000))
    assert np.all(np.abs(np.corrcoef(first.T)[np.triu_indices(3, 1)]) < 5 / math.sqrt(2000))


def test_parts_are_independent_of_each_other() -> None:
    """One random number would serve two purposes, and variances would not add up."""
    model = NoiseModel(noise_density=1.0, bias_random_walk=1.0, bias_correlation_time=2.0, turn_on_bias=1.0)
    noise = process(model, count=4000, rate_hz=1.0)
    samples = np.array([noise.sample()[0] for _ in range(3)])
    n = samples[0].size
    assert abs(np.mean(samples[0] ** 2) / 3 - 1) < 5 * math.sqrt(2 / n)
    expected = 1 + math.exp(-1)  # turn-on bias, and what is left of the bias after 2 s
    spread = math.sqrt((9 + expected**2) / n)
    assert abs(np.mean(samples[0] * samples[2]) - expected) < 5 * spread


def test_vectors_of_a_process_have_noise_of_their_own() -> None:
    """A gyroscope and an accelerometer on one chip would err together, or with each other's sigma."""
    models = [NoiseModel(**QUIET | {"noise_density": density}) for density in (1.0, 10.0)]
    noise = NoiseProcess(models, rate_hz=1.0, rngs=np.random.default_rng(5).spawn(3000))
    one, other = noise.sample().reshape(2, -1)
    assert abs(np.std(one) - 1) < 5 / math.sqrt(2 * one.size)
    assert abs(np.std(other) / 10 - 1) < 5 / math.sqrt(2 * one.size)
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / math.sqrt(one.size)


def test_same_stream_gives_the_same_noise() -> None:
    """A run could not be repeated bit for bit."""
    model = NoiseModel(noise_density=1.0, bias_random_walk=1.0, bias_correlation_time=2.0, turn_on_bias=1.0)
    one, same, other = (process(model, count=3, rate_hz=50.0, seed=seed) for seed in (4, 4, 5))
    for _ in range(1000):
        sample = one.sample()
        assert np.array_equal(sample, same.sample())
        assert not np.any(sample == other.sample())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("noise_density", -1.0),
        ("bias_random_walk", float("nan")),
        ("bias_correlation_time", 0.0),
        ("turn_on_bias", float("inf")),
    ],
)
def test_bad_parameters_are_named(field: str, value: Any) -> None:
    """A parameter that makes no sense would be taken, and spoil every reading."""
    with pytest.raises(ConfigError, match=rf"{field} = .*must be"):
        NoiseModel(**QUIET | {field: value})
