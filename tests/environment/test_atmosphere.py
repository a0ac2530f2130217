"""Tests of the atmosphere against the tables of the US Standard Atmosphere 1976, and hydrostatics."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.environment import UsStandardAtmosphere1976, speed_of_sound
from pegasus.environment.atmosphere import geopotential_altitude

# Break points: geopotential altitude [km], temperature [K], pressure [Pa], density [kg/m^3].
BREAK_POINTS = np.array(
    [
        [0, 288.15, 101325.0, 1.225],
        [11, 216.65, 22632.06, 0.363918],
        [20, 216.65, 5474.88, 0.0880348],
        [32, 228.65, 868.018, 0.0132250],
        [47, 270.65, 110.906, 0.00142753],
        [51, 270.65, 66.9388, 0.000861604],
        [71, 214.65, 3.95641, 6.42108e-5],
        [84.852, 186.946, 0.37338, 6.95786e-6],
    ]
)
# Rows of the standard's table I at geometric altitudes [m].
GEOMETRIC_ROWS = np.array(
    [
        [1_000, 281.651, 8.9876e4, 1.1117],
        [5_000, 255.676, 5.4048e4, 7.3643e-1],
        [10_000, 223.252, 2.6500e4, 4.1351e-1],
        [30_000, 226.509, 1.1970e3, 1.8410e-2],
        [50_000, 270.650, 7.9779e1, 1.0269e-3],
    ]
)
STORM = UsStandardAtmosphere1976(temperature_offset=12.0, sea_level_pressure=98_000.0)


def geometric_altitude(geopotential: np.ndarray) -> np.ndarray:
    """Return geometric altitudes of geopotential ones [m] (US Standard Atmosphere 1976, eq. 19)."""
    return 6_356_766.0 * geopotential / (6_356_766.0 - geopotential)


def test_break_points() -> None:
    """A layer would have a wrong base, lapse rate or formula."""
    altitude = geometric_altitude(BREAK_POINTS[:, 0] * 1000)
    air = UsStandardAtmosphere1976().air(altitude)
    np.testing.assert_allclose(air.temperature, BREAK_POINTS[:, 1], atol=5e-4)
    np.testing.assert_allclose(air.pressure, BREAK_POINTS[:, 2], rtol=1e-5)
    np.testing.assert_allclose(air.density, BREAK_POINTS[:, 3], rtol=5e-6)


def test_geometric_altitudes() -> None:
    """Altitudes would be taken for geopotential ones (0.2 % of the pressure at 10 km)."""
    air = UsStandardAtmosphere1976().air(GEOMETRIC_ROWS[:, 0])
    np.testing.assert_allclose(air.temperature, GEOMETRIC_ROWS[:, 1], atol=6e-4)
    np.testing.assert_allclose(air.pressure, GEOMETRIC_ROWS[:, 2], rtol=3e-5)
    np.testing.assert_allclose(air.density, GEOMETRIC_ROWS[:, 3], rtol=6e-5)


@pytest.mark.parametrize("atmosphere", [UsStandardAtmosphere1976(), STORM], ids=["standard", "storm"])
def test_hydrostatic_balance(atmosphere: UsStandardAtmosphere1976) -> None:
    """Pressure would not balance the weight of the air in any weather: dp/dH = -rho g."""
    height = np.arange(-4_900.0, 84_800.0, 700.0)
    below, above = (atmosphere.air(geometric_altitude(height + d)).pressure for d in (-0.5, 0.5))
    density = atmosphere.density(geometric_altitude(height))
    np.testing.assert_allclose((above - below) / (-9.80665 * density), 1, rtol=1e-8)


def test_weather() -> None:
    """The offsets at sea level would differ from the parameters."""
    air = STORM.air(np.array([0.0, 15_000.0]))
    np.testing.assert_allclose(air.temperature, [300.15, 228.65], atol=1e-9)
    assert air.pressure[0] == 98_000.0
    assert air.density[0] == pytest.approx(98_000 / (287.05307 * 300.15), rel=1e-7)


def test_density_is_that_of_the_air() -> None:
    """Density would not follow from pressure and temperature: drag and barometer would disagree."""
    altitude = np.linspace(-6_000, 90_000, 500)
    for some in (altitude, altitude[altitude < 11_000]):
        np.testing.assert_allclose(STORM.density(some), STORM.air(some).density, rtol=1e-13)


def test_the_batch_does_not_change_the_answer() -> None:
    """A vehicle's air would change by a bit when another vehicle climbs above 11 km."""
    low = np.linspace(-6_000, 10_900, 300)
    mixed = np.append(low, 30_000.0)
    atmosphere = UsStandardAtmosphere1976()
    np.testing.assert_array_equal(atmosphere.density(low), atmosphere.density(mixed)[:-1])
    for alone, among in zip(atmosphere.air(low), atmosphere.air(mixed), strict=True):
        np.testing.assert_array_equal(alone, among[:-1])


def test_beyond_the_range_the_air_is_that_at_its_limit() -> None:
    """Air above or below the range of the model would be NaN."""
    beyond = UsStandardAtmosphere1976().air(np.array([-1e8, -7_000.0, 9e4, 1e9]))
    limits = UsStandardAtmosphere1976().air(np.array([-5_000.0, -5_000.0, 86_000.0, 86_000.0]))
    for ours, expected in zip(beyond, limits, strict=True):
        np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("atmosphere", [UsStandardAtmosphere1976(), STORM], ids=["standard", "storm"])
def test_pressure_altitude_inverts_the_pressure(atmosphere: UsStandardAtmosphere1976) -> None:
    """A barometer without noise would not measure its altitude."""
    altitude = np.linspace(-4_990, 85_990, 1_000)
    height = atmosphere.pressure_altitude(atmosphere.air(altitude).pressure)
    np.testing.assert_allclose(geometric_altitude(height), altitude, atol=1e-6)


def test_pressure_altitude_of_the_table() -> None:
    """Pressure altitude would differ from geopotential altitude."""
    height = UsStandardAtmosphere1976().pressure_altitude(BREAK_POINTS[:-1, 2])
    np.testing.assert_allclose(height, BREAK_POINTS[:-1, 0] * 1000, atol=0.05)


def test_impossible_pressures_are_clamped() -> None:
    """Noise on a thin pressure would turn the altitude into NaN."""
    height = UsStandardAtmosphere1976().pressure_altitude(np.array([-1.0, 0.0, 1e7]))
    limits = [geopotential_altitude(altitude) for altitude in (86_000.0, 86_000.0, -5_000.0)]
    np.testing.assert_allclose(height, limits, atol=1e-6)


def test_speed_of_sound() -> None:
    """The speed of sound would differ from the standard's at sea level and at 11 km."""
    np.testing.assert_allclose(speed_of_sound(np.array([288.15, 216.65])), [340.294, 295.069], atol=6e-4)


@pytest.mark.parametrize(
    ("field", "value"),
    [("temperature_offset", 288.15), ("sea_level_pressure", 1013.25), ("sea_level_pressure", float("nan"))],
)
def test_impossible_weather_is_refused(field: str, value: float) -> None:
    """A pressure in hPa or an absolute temperature would be accepted."""
    with pytest.raises(ConfigError, match=field):
        UsStandardAtmosphere1976(**{field: value})
