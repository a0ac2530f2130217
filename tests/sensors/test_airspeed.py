"""Airspeed: Bernoulli's equation, wind, the standard atmosphere's table, noise by its statistics."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.components import build
from pegasus.environment import ConstantWind, Environment, Geodetic, Wind
from pegasus.errors import ConfigError
from pegasus.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.sensors import Airspeed, Sensor
from pegasus.sensors.airspeed import differential_pressure, indicated_airspeed, true_airspeed
from pegasus.sensors.registry import SENSORS

QUIET: dict[str, float] = {"noise_density": 0.0, "drift_sigma": 0.0}
SEA_LEVEL = Geodetic(40.0, -105.0, 0.0)
RHO = 1.225  # US Standard Atmosphere 1976, table 1: density at sea level [kg/m^3]


@pytest.fixture(autouse=True)
def at_sea_level(bench: Any) -> None:
    bench.environment = Environment(origin=SEA_LEVEL)


def test_pressure_is_that_of_bernoulli(bench: Any) -> None:
    """A factor or the square would be missing, or one vehicle read the speed of another."""
    sensor = Airspeed(**QUIET)
    state = bench.bind(sensor, count=3)
    state.velocity[:, 0] = (0.0, 10.0, 20.0)
    reading = sensor.measure(state, 0.5)
    assert reading.stamp == 0.5
    assert_allclose(reading.differential_pressure, [0.0, 61.25, 245.0], rtol=1e-6)
    assert_allclose(reading.indicated_airspeed, [0.0, 10.0, 20.0], rtol=1e-12)
    assert_allclose(reading.temperature, 288.15, rtol=1e-12)


def test_flying_backwards_reads_below_zero(bench: Any) -> None:
    """The sign would be lost in the square, and a tail wind read as a head wind."""
    sensor = Airspeed(**QUIET)
    state = bench.bind(sensor, count=2)
    state.velocity[:] = [(-10.0, 0.0, 0.0), (0.0, 7.0, -3.0)]
    reading = sensor.measure(state, 0.0)
    assert_allclose(reading.differential_pressure, [-61.25, 0.0], rtol=1e-6)
    assert_allclose(reading.indicated_airspeed, [-10.0, 0.0], rtol=1e-12)


def test_thin_air_presses_less(bench: Any) -> None:
    """The density would be that at sea level: 0.5328 of it is left at 20,000 ft, so 100 m/s read as 73."""
    geopotential = 20_000 * 0.3048
    sensor = Airspeed(**QUIET)
    state = bench.bind(sensor)
    state.position[:, 2] = 6_356_766.0 * geopotential / (6_356_766.0 - geopotential)
    state.velocity[:, 0] = 100.0
    reading = sensor.measure(state, 0.0)
    assert_allclose(reading.differential_pressure, 0.5 * RHO * 0.5328 * 100.0**2, rtol=1e-4)
    assert_allclose(reading.indicated_airspeed, 100.0 * math.sqrt(0.5328), rtol=1e-4)
    assert_allclose(reading.temperature, 288.15 - 0.0065 * geopotential, rtol=1e-12)


def test_wind_counts_as_speed(bench: Any) -> None:
    """Ground speed would be read: at rest in a head wind, drifting with it, and flying against it."""
    bench.environment = Environment(origin=SEA_LEVEL, wind=ConstantWind(mean_velocity=(-8.0, 0.0, 0.0)))
    sensor = Airspeed(**QUIET)
    state = bench.bind(sensor, count=3)
    state.velocity[:, 0] = (0.0, -8.0, 4.0)
    assert_allclose(sensor.measure(state, 0.0).indicated_airspeed, [8.0, 0.0, 12.0], rtol=1e-12)


def test_calm_air_is_not_asked_for(bench: Any) -> None:
    """Time would be spent on the velocity of air that is at rest."""

    @dataclass(frozen=True)
    class Forbidden(Wind):
        calm: ClassVar[bool] = True

        def velocity(self, position: Any, t: float) -> Any:
            raise AssertionError

    bench.environment = Environment(origin=SEA_LEVEL, wind=Forbidden())
    sensor = Airspeed(**QUIET)
    assert sensor.measure(bench.bind(sensor), 0.0).differential_pressure[0] == 0.0


def test_only_the_speed_along_the_tube_counts(bench: Any) -> None:
    """The tube would not turn with the body, turn the wrong way, or its axis count by its length."""
    sensor = Airspeed(**QUIET, axis=(3.0, 0.0, -4.0))
    state = bench.bind(sensor, count=2)
    state.velocity[:] = (2.0, 30.0, 5.0)
    state.rotation[1] = matrix_from_quaternion(quaternion_from_euler(0.0, 0.0, math.pi / 2))
    # Level, the axis is (0.6, 0, -0.8); a quarter turn to the left makes it (0, 0.6, -0.8).
    expected = [2 * 0.6 - 5 * 0.8, 30 * 0.6 - 5 * 0.8]
    assert_allclose(sensor.measure(state, 0.0).indicated_airspeed, expected, rtol=1e-12)


def test_indicated_airspeed_undoes_the_pressure_at_sea_level() -> None:
    """Speed and pressure of one reading would not belong together."""
    speed = np.array([-30.0, -0.1, 0.0, 1e-3, 50.0])
    assert_allclose(
        indicated_airspeed(differential_pressure(speed, air_density=np.array(RHO))), speed, rtol=1e-6
    )


def test_true_airspeed_undoes_the_pressure_at_height() -> None:
    """A true airspeed that is made of an indicated one would be wrong in thin air."""
    speed, density = np.array([-30.0, 0.0, 8.0, 50.0]), np.array([1.2, 1.1, 0.957, 0.8])
    indicated = indicated_airspeed(differential_pressure(speed, air_density=density))
    assert_allclose(true_airspeed(indicated, air_density=density), speed, rtol=1e-12)


def test_formulas_follow_the_array_api() -> None:
    """The formulas would be bound to NumPy."""
    x = array_api_strict.asarray
    speed, density = np.array([-3.0, 0.0, 8.0]), np.array([1.0, 1.1, 1.2])
    pressure = differential_pressure(speed, air_density=density)
    assert_allclose(np.asarray(differential_pressure(x(speed), air_density=x(density))), pressure)
    assert_allclose(np.asarray(indicated_airspeed(x(pressure))), indicated_airspeed(pressure))
    true = true_airspeed(speed, air_density=density)
    assert_allclose(np.asarray(true_airspeed(x(speed), air_density=x(density))), true)


@pytest.mark.parametrize("rate", [20.0, 50.0])
def test_white_noise_has_its_density(rate: float, bench: Any, assert_white: Callable[..., None]) -> None:
    """Noise would change with the rate, or not be ArduPilot's 2 Pa at 50 Hz."""
    sensor = Airspeed(rate_hz=rate, drift_sigma=0.0)
    pressure = bench.series(sensor, "differential_pressure", seconds=20.0, count=200)
    assert_white(pressure, rate_hz=rate, density=2.0 / math.sqrt(50.0))


@pytest.mark.parametrize("rate", [5.0, 50.0])
def test_drift_is_stationary(rate: float, bench: Any, assert_gauss_markov: Callable[..., None]) -> None:
    """Sigma or correlation time of the drift would depend on the rate."""
    sensor = Airspeed(rate_hz=rate, noise_density=0.0, drift_sigma=3.0, drift_correlation_time=2.0)
    drift = bench.series(sensor, "differential_pressure", seconds=6.5, count=3000)
    assert_gauss_markov(drift, rate_hz=rate, sigma=3.0, correlation_time=2.0)


def test_turn_on_bias_of_many_vehicles(bench: Any) -> None:
    """The turn-on bias would be shared, or wander."""
    sensor = Airspeed(**QUIET, turn_on_bias=17.0)
    offset = bench.series(sensor, "differential_pressure", seconds=1.0, count=3000)
    assert np.array_equal(offset[0], offset[-1])
    assert abs(np.std(offset[0]) / 17.0 - 1) < 5 / math.sqrt(2 * 3000)


def test_noise_is_added_to_the_pressure(bench: Any) -> None:
    """Noise would be on the speed itself, and not shrink with it as dv = dp / (rho v) does."""
    sensor = Airspeed(noise_density=0.1, rate_hz=1.0, drift_sigma=0.0)
    state = bench.bind(sensor, count=5000)
    state.velocity[:, 0] = 20.0
    speed = sensor.measure(state, 0.0).indicated_airspeed
    assert abs(np.std(speed) / (0.1 / (RHO * 20.0)) - 1) < 5 / math.sqrt(2 * 5000)


def test_same_stream_same_bits_after_every_bind(
    bench: Any, same_readings: Callable[[Any, Any], bool]
) -> None:
    """A reset would not start anew, or a seed would not fix a run."""
    sensor = Airspeed(turn_on_bias=2.0)
    runs = [bench.readings(sensor, bench.bind(sensor, count=2, seed=seed), 300) for seed in (1, 1, 2)]
    assert all(map(same_readings, runs[0], runs[1]))
    assert not any(map(same_readings, runs[0], runs[2]))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rate_hz", 0.0),
        ("axis", (0.0, 0.0, 0.0)),
        ("noise_density", -1.0),
        ("drift_sigma", -0.1),
        ("drift_correlation_time", 0.0),
        ("turn_on_bias", -1.0),
    ],
)
def test_bad_parameters_are_named(field: str, value: Any) -> None:
    """A parameter that makes no sense would be taken, or the message would not say which."""
    with pytest.raises(ConfigError, match=rf"sensors\.pitot\.{field} = .*must be"):
        build(Sensor, SENSORS, {"model": "airspeed", field: value}, field="sensors.pitot")
