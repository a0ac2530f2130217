"""Tests of noise formulas against closed forms, and of noise processes against their statistics."""

import math
from typing import Any

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.sensors import IMU, Accelerometer, Gyroscope, NoiseModel
from pegasus.sensors.noise import (
    gauss_markov_coefficients,
    gauss_markov_sigma,
    white_noise_sigma,
)

QUIET: dict[str, float] = {
    "noise_density": 0.0,
    "bias_random_walk": 0.0,
    "bias_correlation_time": 1.0,
    "turn_on_bias": 0.0,
}


@pytest.mark.parametrize("dt", [1e-4, 0.02, 1.0, 50.0])
def test_bias_coefficients_are_those_of_pegasus(dt: float) -> None:
    """The published parameters would have another meaning than in Gazebo, PX4 and Pegasus."""
    walk, tau = 3.8785e-5, 10.0
    published = math.sqrt(-(walk**2) * tau / 2 * (math.exp(-2 * dt / tau) - 1))
    sigma = gauss_markov_sigma(walk, correlation_time=tau)
    phi, drive = gauss_markov_coefficients(sigma, correlation_time=tau, dt=dt)
    assert phi == math.exp(-dt / tau)
    assert drive == pytest.approx(published, rel=1e-9)


def test_one_long_step_is_as_good_as_many_short_ones() -> None:
    """The bias would depend on the rate, by an inexact discretisation."""
    long_phi, long_drive = gauss_markov_coefficients(0.3, correlation_time=7.0, dt=2.0)
    phi, drive = gauss_markov_coefficients(0.3, correlation_time=7.0, dt=0.01)
    variance = drive**2 * sum(phi ** (2 * k) for k in range(200))
    assert phi**200 == pytest.approx(long_phi, rel=1e-12)
    assert variance == pytest.approx(long_drive**2, rel=1e-11)


def test_drive_keeps_its_digits_for_short_steps() -> None:
    """Cancellation in 1 - phi^2 would keep a slow bias constant at a high rate."""
    _, drive = gauss_markov_coefficients(1.0, correlation_time=1e6, dt=1e-6)
    assert drive == pytest.approx(math.sqrt(2e-12), rel=1e-9)


@pytest.mark.parametrize("rate", [1.0, 10.0, 250.0])
def test_white_noise_sigma_grows_with_the_root_of_the_rate(rate: float) -> None:
    """The density would not be that of an Allan plot: the mean over a second has sigma = density."""
    assert white_noise_sigma(0.3, rate_hz=rate) / math.sqrt(rate) == pytest.approx(0.3, rel=1e-14)


def samples(bench: Any, models: tuple[NoiseModel, NoiseModel], *, count: int, rate: float, n: int) -> Any:
    """Return noise of a gyroscope and an accelerometer, shape (2, n, count, 3)."""
    imu = IMU(
        rate_hz=rate, gyroscope=Gyroscope(**vars(models[0])), accelerometer=Accelerometer(**vars(models[1]))
    )
    bench.environment.gravity = (0.0, 0.0, 0.0)
    readings = bench.readings(imu, bench.bind(imu, count=count, seed=5), n)
    return np.array([[r.angular_velocity for r in readings], [r.specific_force for r in readings]])


def test_parts_are_independent_of_each_other(bench: Any) -> None:
    """One random number would be used twice, and variances would not add up."""
    model = NoiseModel(noise_density=1.0, bias_random_walk=1.0, bias_correlation_time=2.0, turn_on_bias=1.0)
    for noise in samples(bench, (model, model), count=4000, rate=1.0, n=3):
        n = noise[0].size
        assert abs(np.mean(noise[0] ** 2) / 3 - 1) < 5 * math.sqrt(2 / n)
        expected = 1 + math.exp(-1)  # turn-on bias, and what is left of the bias after 2 s
        spread = math.sqrt((9 + expected**2) / n)
        assert abs(np.mean(noise[0] * noise[2]) - expected) < 5 * spread


def test_vectors_of_a_sensor_have_noise_of_their_own(bench: Any) -> None:
    """Gyroscope and accelerometer would share their noise, or have each other's sigma."""
    models = tuple(NoiseModel(**QUIET | {"noise_density": density}) for density in (1.0, 10.0))
    one, other = samples(bench, models, count=3000, rate=1.0, n=1).reshape(2, -1)
    assert abs(np.std(one) - 1) < 5 / math.sqrt(2 * one.size)
    assert abs(np.std(other) / 10 - 1) < 5 / math.sqrt(2 * one.size)
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / math.sqrt(one.size)


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
    """An invalid parameter would be accepted, and make every reading wrong."""
    with pytest.raises(ConfigError, match=rf"{field} = .*must be"):
        NoiseModel(**QUIET | {field: value})


def allan_deviation(values: Any, size: int) -> Any:
    """Return the overlapping Allan deviation of samples over means of `size`; samples along axis 0."""
    sums = np.cumsum(np.concatenate([np.zeros_like(values[:1]), values]), axis=0)
    means = (sums[size:] - sums[:-size]) / size
    return np.sqrt(0.5 * np.mean(np.square(means[size:] - means[:-size])))


@pytest.mark.parametrize(
    ("part", "density", "floor"),
    [
        ("gyroscope", math.radians(0.0028), math.radians(2.2) / 3600),
        ("accelerometer", 70e-6 * 9.80665, 16e-6 * 9.80665),
    ],
)
def test_allan_deviation_is_that_of_a_real_part(part: str, density: float, floor: float, bench: Any) -> None:
    """The shipped IMU would be noisier, or drift more, than an ICM-42688-P (densities: its data sheet).

    The Allan variance of white noise and a Gauss-Markov process is N^2 / tau + (q T)^2 / tau (1 - T / (2 tau)
    (3 - 4 exp(-tau / T) + exp(-2 tau / T))) (IEEE Std 952-1997, C.1).
    """
    bench.environment.gravity = (0.0, 0.0, 0.0)
    imu = IMU(rate_hz=1.0)
    name = {"gyroscope": "angular_velocity", "accelerometer": "specific_force"}[part]
    series = bench.series(imu, name, seconds=6000.0, count=40, seed=3)
    model = getattr(imu, part)
    walk, time = model.bias_random_walk, model.bias_correlation_time
    deviations = {tau: allan_deviation(series, tau) for tau in (1, 10, 40, 100, 1000)}
    assert deviations[1] == pytest.approx(density, rel=0.01)
    assert deviations[40] == pytest.approx(floor, rel=0.05)
    assert min(deviations.values()) == deviations[40]
    for tau, deviation in deviations.items():
        decay = 3 - 4 * math.exp(-tau / time) + math.exp(-2 * tau / time)
        drift = (walk * time) ** 2 / tau * (1 - time / (2 * tau) * decay)
        assert deviation == pytest.approx(math.sqrt(density**2 / tau + drift), rel=0.04)
