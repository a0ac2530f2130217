"""Tests of airspeed sensors: Bernoulli's equation, wind, the standard atmosphere, and noise statistics."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_euler
from pegasus.environment import ConstantWind, Environment, Geodetic, Wind
from pegasus.sensors import SENSORS, Airspeed, Sensor
from pegasus.sensors.airspeed import differential_pressure, indicated_airspeed, true_airspeed

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
    reading = bench.measure(sensor, state, 0.5)
    assert reading.stamp == 0.5
    assert_allclose(reading.differential_pressure, [0.0, 61.25, 245.0], rtol=1e-6)
    assert_allclose(reading.indicated_airspeed, [0.0, 10.0, 20.0], rtol=1e-12)
    assert_allclose(reading.temperature, 288.15, rtol=1e-12)


def test_flying_backwards_reads_below_zero(bench: Any) -> None:
    """The square would lose the sign, and a tail wind would be read as a head wind."""
    sensor = Airspeed(**QUIET)
    state = bench.bind(sensor, count=2)
    state.velocity[:] = [(-10.0, 0.0, 0.0), (0.0, 7.0, -3.0)]
    reading = bench.measure(sensor, state, 0.0)
    assert_allclose(reading.differential_pressure, [-61.25, 0.0], rtol=1e-6)
    assert_allclose(reading.indicated_airspeed, [-10.0, 0.0], rtol=1e-12)


def test_thin_air_presses_less(bench: Any) -> None:
    """The density at sea level would be used: 100 m/s read as 73 m/s at 20,000 ft, with 0.5328 of it."""
    geopotential = 20_000 * 0.3048
    sensor = Airspeed(**QUIET)
    state = bench.bind(sensor)
    state.position[:, 2] = 6_356_766.0 * geopotential / (6_356_766.0 - geopotential)
    state.velocity[:, 0] = 100.0
    reading = bench.measure(sensor, state, 0.0)
    assert_allclose(reading.differential_pressure, 0.5 * RHO * 0.5328 * 100.0**2, rtol=1e-4)
    assert_allclose(reading.indicated_airspeed, 100.0 * math.sqrt(0.5328), rtol=1e-4)
    assert_allclose(reading.temperature, 288.15 - 0.0065 * geopotential, rtol=1e-12)


def test_wind_counts_as_speed(bench: Any) -> None:
    """Ground speed would be measured: at rest in a head wind, drifting with wind, and flying against it."""
    bench.environment = Environment(origin=SEA_LEVEL, wind=ConstantWind(mean_velocity=(-8.0, 0.0, 0.0)))
    sensor = Airspeed(**QUIET)
    state = bench.bind(sensor, count=3)
    state.velocity[:, 0] = (0.0, -8.0, 4.0)
    assert_allclose(bench.measure(sensor, state, 0.0).indicated_airspeed, [8.0, 0.0, 12.0], rtol=1e-12)


def test_calm_air_is_not_asked_for(bench: Any) -> None:
    """The wind would be evaluated although the air is at rest."""

    @dataclass(frozen=True)
    class Forbidden(Wind):
        calm: ClassVar[bool] = True

        def velocity(self, position: Any, t: float) -> Any:
            raise AssertionError

    bench.environment = Environment(origin=SEA_LEVEL, wind=Forbidden())
    sensor = Airspeed(**QUIET)
    assert bench.measure(sensor, bench.bind(sensor), 0.0).differential_pressure[0] == 0.0


def test_only_the_speed_along_the_tube_counts(bench: Any) -> None:
    """The tube would not rotate with the body, rotate backwards, or the length of its axis would count."""
    sensor = Airspeed(**QUIET, axis=(3.0, 0.0, -4.0))
    state = bench.bind(sensor, count=2)
    state.velocity[:] = (2.0, 30.0, 5.0)
    state.orientation[1] = quaternion_from_euler(0.0, 0.0, math.pi / 2)
    # Level, the axis is (0.6, 0, -0.8); a quarter turn to the left makes it (0, 0.6, -0.8).
    expected = [2 * 0.6 - 5 * 0.8, 30 * 0.6 - 5 * 0.8]
    assert_allclose(bench.measure(sensor, state, 0.0).indicated_airspeed, expected, rtol=1e-12)


def pressures(speed: Any, density: Any) -> Any:
    return np.array([differential_pressure(v, rho) for v, rho in zip(speed, density, strict=True)])


def test_indicated_airspeed_undoes_the_pressure_at_sea_level() -> None:
    """Speed and pressure of one reading would not agree."""
    speed = np.array([-30.0, -0.1, 0.0, 1e-3, 50.0])
    assert_allclose(indicated_airspeed(pressures(speed, np.full(5, RHO))), speed, rtol=1e-6)


def test_true_airspeed_undoes_the_pressure_at_height() -> None:
    """True airspeed would be calculated from indicated airspeed, which is wrong in thin air."""
    speed, density = np.array([-30.0, 0.0, 8.0, 50.0]), np.array([1.2, 1.1, 0.957, 0.8])
    indicated = indicated_airspeed(pressures(speed, density))
    assert_allclose(true_airspeed(indicated, air_density=density), speed, rtol=1e-12)


def test_formulas_follow_the_array_api() -> None:
    """The formulas would only accept NumPy arrays."""
    x = array_api_strict.asarray
    speed, density = np.array([-3.0, 0.0, 8.0]), np.array([1.0, 1.1, 1.2])
    pressure = pressures(speed, density)
    assert_allclose(np.asarray(indicated_airspeed(x(pressure))), indicated_airspeed(pressure))
    true = true_airspeed(speed, air_density=density)
    assert_allclose(np.asarray(true_airspeed(x(speed), air_density=x(density))), true)


@pytest.mark.parametrize("rate", [20.0, 50.0])
def test_white_noise_has_its_density(rate: float, bench: Any, assert_white: Callable[..., None]) -> None:
    """The noise density would depend on the rate, or differ from ArduPilot's 2 Pa at 50 Hz."""
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
    """Vehicles would share their turn-on bias, or it would change during a run."""
    sensor = Airspeed(**QUIET, turn_on_bias=17.0)
    offset = bench.series(sensor, "differential_pressure", seconds=1.0, count=3000)
    assert np.array_equal(offset[0], offset[-1])
    assert abs(np.std(offset[0]) / 17.0 - 1) < 5 / math.sqrt(2 * 3000)


def test_noise_is_added_to_the_pressure(bench: Any) -> None:
    """Noise would be added to the speed, and not decrease with it as dv = dp / (rho v) does."""
    sensor = Airspeed(noise_density=0.1, rate_hz=1.0, drift_sigma=0.0)
    state = bench.bind(sensor, count=5000)
    state.velocity[:, 0] = 20.0
    speed = bench.measure(sensor, state, 0.0).indicated_airspeed
    assert abs(np.std(speed) / (0.1 / (RHO * 20.0)) - 1) < 5 / math.sqrt(2 * 5000)


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
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.pitot\.{field} = .*must be"):
        build(Sensor, SENSORS, {"model": "airspeed", field: value}, field="sensors.pitot")
