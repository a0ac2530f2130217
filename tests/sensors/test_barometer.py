"""Tests of barometers: the standard atmosphere's table, and statistics of drift and noise."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.base.components import build
from pegasus.base.errors import ConfigError
from pegasus.environment import Environment, Geodetic
from pegasus.sensors import SENSORS, Barometer, Sensor

# US Standard Atmosphere 1976, table 4: geopotential altitude [m], temperature [K], pressure [Pa].
TABLE = [
    (0.0, 288.15, 101325.0),
    (11000.0, 216.65, 22632.06),
    (20000.0, 216.65, 5474.889),
    (32000.0, 228.65, 868.0187),
    (47000.0, 270.65, 110.9063),
]


def ideal(**parameters: Any) -> Barometer:
    return Barometer(**{"noise_density": 0.0, "drift_sigma": 0.0} | parameters)


@pytest.mark.parametrize(("altitude", "temperature", "pressure"), TABLE)
def test_pressure_altitude_is_that_of_the_table(
    altitude: float, temperature: float, pressure: float, bench: Any
) -> None:
    """A layer would be extrapolated beyond its limits, or the exponent would be wrong."""
    bench.environment.pressure, bench.environment.temperature = pressure, temperature
    barometer = ideal()
    reading = bench.measure(barometer, bench.bind(barometer, count=2), 0.5)
    assert reading.stamp == 0.5
    assert np.array_equal(reading.pressure, [pressure] * 2)
    assert np.array_equal(reading.temperature, [temperature] * 2)
    # Seven printed digits of pressure are some 3 mm per scale height.
    assert_allclose(reading.pressure_altitude, altitude, atol=0.01)


def test_altitude_counts_from_the_worlds_origin(bench: Any) -> None:
    """Altitude would count from the spawn point, or from sea level without the origin's altitude."""
    bench.environment = Environment(origin=Geodetic(40.0, -105.0, 1600.0))
    barometer = ideal()
    state = bench.bind(barometer, count=3)
    state.position[:, 2] = (0.0, 50.0, -30.0)
    first = bench.measure(barometer, state, 0.0)
    # Geopotential altitude: r z / (r + z) with the standard's radius.
    geometric = np.array([1600.0, 1650.0, 1570.0])
    expected = 6_356_766.0 * geometric / (6_356_766.0 + geometric)
    assert_allclose(first.pressure_altitude, expected, atol=1e-6)
    state.position[:, 2] = 0.0
    assert_allclose(bench.measure(barometer, state, 0.02).pressure_altitude, expected[0], atol=1e-6)


@pytest.mark.parametrize("rate", [20.0, 50.0])
def test_white_noise_has_its_density(rate: float, bench: Any, assert_white: Callable[..., None]) -> None:
    """The noise density would depend on the rate."""
    barometer = Barometer(rate_hz=rate, drift_sigma=0.0)
    pressure = bench.series(barometer, "pressure", seconds=20.0, count=200)
    assert_white(pressure, rate_hz=rate, density=1.3 / math.sqrt(50.0))


def test_default_noise_is_the_published_one(bench: Any) -> None:
    """The default noise would differ from a BMP388's 11 cm, 1.3 Pa at 50 Hz."""
    pressure = bench.series(Barometer(drift_sigma=0.0), "pressure", seconds=0.0, count=5000)
    assert abs(np.std(pressure) / 1.3 - 1) < 5 / math.sqrt(2 * 5000)


@pytest.mark.parametrize("rate", [5.0, 50.0])
def test_drift_is_stationary(rate: float, bench: Any, assert_gauss_markov: Callable[..., None]) -> None:
    """185 Pa of drift would shrink to 0.3 Pa, as with 1 - phi in place of sqrt(1 - phi^2)."""
    barometer = ideal(rate_hz=rate, drift_sigma=0.0365 / 20, drift_correlation_time=2.0)
    pressure = bench.series(barometer, "pressure", seconds=6.5, count=3000)
    drift = pressure - bench.environment.pressure
    assert_gauss_markov(drift, rate_hz=rate, sigma=182.5, correlation_time=2.0)


def test_default_drift_is_slow_and_there_from_the_start(bench: Any) -> None:
    """The drift would start at zero, or change by more than the weather within a minute: 1.3 Pa, 0.1 m."""
    pressure = bench.series(Barometer(noise_density=0.0, rate_hz=1.0), "pressure", seconds=60.0, count=3000)
    drift, sigma = pressure - bench.environment.pressure, 7.0e-5 * bench.environment.pressure
    assert abs(np.std(drift[0]) / sigma - 1) < 5 / math.sqrt(2 * 3000)
    # E[(b(60) - b(0))^2] = 2 sigma^2 (1 - exp(-60 / 3600)).
    expected = sigma * math.sqrt(2 * (1 - math.exp(-60 / 3600)))
    assert expected == pytest.approx(1.3, abs=0.05)
    assert abs(np.std(drift[60] - drift[0]) / expected - 1) < 5 / math.sqrt(2 * 3000)


def test_drift_is_a_share_of_the_pressure(bench: Any) -> None:
    """The drift at 20 km would be as large in pascal as at sea level."""
    barometer = ideal(drift_sigma=0.01)
    shares = []
    for pressure in (101325.0, 5474.889):
        bench.environment.pressure = pressure
        shares.append(bench.series(barometer, "pressure", seconds=0.0, count=10) / pressure - 1)
    assert_allclose(shares[0], shares[1], atol=1e-15)
    assert np.std(shares[0]) > 0.001


def test_altitude_follows_the_measured_pressure(bench: Any) -> None:
    """Noise of pressure and altitude would not agree: dH = -R T / (g p) dp."""
    barometer = Barometer()
    state = bench.bind(barometer, count=100)
    reading = bench.measure(barometer, state, 0.0)
    nominal = ideal()
    level = bench.measure(nominal, bench.bind(nominal), 0.0).pressure_altitude
    ratio = (reading.pressure_altitude - level) / (reading.pressure - bench.environment.pressure)
    temperature = 288.15 - 0.0065 * level
    expected = -287.053 * temperature / (9.80665 * bench.environment.pressure)
    # The curvature over a drift of 3 sigma, 600 Pa, is some 0.3 %.
    assert_allclose(ratio, np.broadcast_to(expected, 100), rtol=5e-3)


@pytest.mark.parametrize(
    ("field", "value"),
    [("rate_hz", -5.0), ("noise_density", -1.0), ("drift_sigma", -0.1), ("drift_correlation_time", 0.0)],
)
def test_bad_parameters_are_named(field: str, value: float) -> None:
    """An invalid parameter would be accepted, or the error would not name it."""
    with pytest.raises(ConfigError, match=rf"sensors\.barometer\.{field} = .*must be"):
        build(Sensor, SENSORS, {"model": "barometer", field: value}, field="sensors.barometer")
