"""Tests of the magnetic field against NOAA's test values, the model, and the dipole's closed form."""

import numpy as np
import pytest
from pygeomag import GeoMag

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.environment import Geodetic, TiltedDipole, UniformField, WorldMagneticModel
from pegasus.environment.geodesy import geodetic_from_local

# NOAA NCEI, WMM2025 test values: year, height [km], latitude, longitude [deg], X, Y, Z (NED) [nT],
# declination [deg].
WMM2025_TEST_VALUES = [
    (2025.0, 0, 80, 0, 6521.6, 145.9, 54791.5, 1.28),
    (2025.0, 0, 0, 120, 39677.8, -109.6, -10580.2, -0.16),
    (2025.0, 0, -80, 240, 6117.5, 15751.9, -52022.5, 68.78),
    (2025.0, 100, 80, 0, 6216.0, 92.4, 52598.8, 0.85),
    (2025.0, 100, 0, 120, 37688.6, -96.2, -10152.1, -0.15),
    (2025.0, 100, -80, 240, 5907.6, 14780.3, -49540.7, 68.21),
    (2027.5, 0, 80, 0, 6500.8, 294.5, 54869.4, 2.59),
    (2027.5, 0, 0, 120, 39701.6, -167.4, -10381.8, -0.24),
    (2027.5, 0, -80, 240, 6200.7, 15730.3, -51783.7, 68.49),
    (2027.5, 100, 80, 0, 6196.7, 233.8, 52670.5, 2.16),
    (2027.5, 100, 0, 120, 37711.5, -148.7, -9969.8, -0.23),
    (2027.5, 100, -80, 240, 5984.0, 14760.1, -49317.7, 67.93),
]
PLACES = [
    Geodetic(38.736832, -9.137977, 90.0),
    Geodetic(0.0, 0.0),
    Geodetic(-25.0, -55.0, 2_000.0),
    Geodetic(70.0, 179.999),
    Geodetic(-64.0, 137.0),
    Geodetic(89.99, 10.0),
    Geodetic(-89.99, -100.0),
]
DIPOLE = TiltedDipole()


@pytest.mark.parametrize(
    "row", WMM2025_TEST_VALUES, ids=lambda row: f"{row[0]} {row[1]}km {row[2]}N {row[3]}E"
)
def test_official_values(row: tuple[float, ...]) -> None:
    """The field would differ from WMM2025 at its published test points (rounded to 0.1 nT)."""
    year, height, latitude, longitude, north, east, down, declination = row
    origin = Geodetic(latitude, (longitude + 180) % 360 - 180, height * 1000.0)
    field = WorldMagneticModel(date=year).flux_density(np.zeros((1, 3)), origin=origin)[0] * 1e9
    np.testing.assert_allclose(field, [east, north, -down], atol=0.06)
    assert np.degrees(np.arctan2(field[0], field[1])) == pytest.approx(declination, abs=0.0051)


def model_on_the_map(position: Array, origin: Geodetic, date: float) -> Array:
    """Return pygeomag's own field [nT] at positions, turned onto the map by the change of the bearing."""
    model = GeoMag(coefficients_file="wmm/WMM_2025.COF")
    rows = []
    for x, y, z in position:
        latitude, longitude, altitude = geodetic_from_local(np.array([[x, y, z]]), origin=origin)
        result = model.calculate(float(latitude[0]), float(longitude[0]), float(altitude[0]) / 1000, date)
        lat_0, lat = np.radians(origin.latitude), np.radians(latitude[0])
        turn = np.radians(longitude[0] - origin.longitude)
        # Bearing at the place of the great circle that comes from the origin.
        arrival = np.arctan2(
            np.sin(turn) * np.cos(lat_0),
            np.cos(lat_0) * np.sin(lat) * np.cos(turn) - np.sin(lat_0) * np.cos(lat),
        )
        bearing = np.arctan2(result.y, result.x) - arrival + np.arctan2(x, y)
        rows.append([result.h * np.sin(bearing), result.h * np.cos(bearing), -result.z])
    return np.array(rows)


@pytest.mark.parametrize("origin", PLACES, ids=str)
def test_interpolation_stays_on_the_model(origin: Geodetic) -> None:
    """The field between grid corners would deviate from the model in strength or direction."""
    rng = np.random.default_rng(5)
    position = rng.uniform([-30e3, -30e3, -500], [30e3, 30e3, 8e3], (60, 3))
    position[:20] = rng.uniform([-900, -900, -50], [900, 900, 900], (20, 3))
    field = WorldMagneticModel().flux_density(position, origin=origin) * 1e9
    np.testing.assert_allclose(field, model_on_the_map(position, origin, 2026.0), atol=0.05)


def test_the_answer_does_not_depend_on_what_was_asked_before() -> None:
    """A vehicle's field would change by a bit with another vehicle's flight, or with N."""
    origin = PLACES[0]
    position = np.random.default_rng(1).uniform(-5e3, 5e3, (300, 3))
    together = WorldMagneticModel().flux_density(position, origin=origin)
    travelled = WorldMagneticModel()
    travelled.flux_density(position[::-1] * 3, origin=PLACES[2])
    travelled.flux_density(position[::-1] * 2, origin=origin)
    one_by_one = np.concatenate([travelled.flux_density(row[None], origin=origin) for row in position])
    np.testing.assert_array_equal(one_by_one, together)


@pytest.mark.parametrize("model", [WorldMagneticModel(), DIPOLE], ids=["wmm2025", "dipole"])
@pytest.mark.parametrize("latitude", [90.0, -90.0])
def test_continuous_over_a_pole(model: WorldMagneticModel | TiltedDipole, latitude: float) -> None:
    """The field would jump or be NaN where all meridians meet."""
    around = np.array(
        [[0.0, 0.0, 0.0], [1e-9, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [-1.0, 1.0, 0.0]]
    )
    field = model.flux_density(around, origin=Geodetic(latitude, 25.0)) * 1e9
    np.testing.assert_allclose(field, np.tile(field[0], (5, 1)), atol=0.1)
    # The same place under another longitude is the same field in axes that are turned.
    turned = model.flux_density(around[:1], origin=Geodetic(latitude, 115.0))[0] * 1e9
    sign = np.sign(latitude)
    np.testing.assert_allclose(turned, [sign * field[0, 1], -sign * field[0, 0], field[0, 2]], atol=0.1)


@pytest.mark.parametrize("model", [WorldMagneticModel(), DIPOLE], ids=["wmm2025", "dipole"])
def test_continuous_over_the_date_line(model: WorldMagneticModel | TiltedDipole) -> None:
    """The field would jump where longitudes wrap."""
    origin = Geodetic(52.0, 180.0)
    field = model.flux_density(np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]), origin=origin) * 1e9
    np.testing.assert_allclose(field[0], field[1], atol=0.1)
    same = model.flux_density(np.zeros((1, 3)), origin=Geodetic(52.0, -180.0)) * 1e9
    np.testing.assert_allclose(field.mean(axis=0), same[0], atol=0.1)


def test_the_date_counts() -> None:
    """The secular variation would be left out (some 100 nT a year at most)."""
    origin, zero = Geodetic(0.0, 120.0), np.zeros((1, 3))
    change = WorldMagneticModel(date=2027.5).flux_density(zero, origin=origin)
    change -= WorldMagneticModel(date=2025.0).flux_density(zero, origin=origin)
    np.testing.assert_allclose(change[0] * 1e9, [-57.8, 23.8, -198.4], atol=0.11)


def test_dipole_at_its_poles_and_equator() -> None:
    """The dipole would have a wrong sign or strength where its closed form is simplest."""
    zero = np.zeros((1, 3))
    north = DIPOLE.flux_density(zero, origin=Geodetic(80.31, -72.62))[0]
    south = DIPOLE.flux_density(zero, origin=Geodetic(-80.31, 107.38))[0]
    np.testing.assert_allclose(north, [0, 0, -2 * 3.12e-5], atol=1e-18)
    np.testing.assert_allclose(south, [0, 0, 2 * 3.12e-5], atol=1e-18)
    # On the pole's own meridian, 90 degrees away, the field points along the meridian, without dip.
    equator = DIPOLE.flux_density(zero, origin=Geodetic(-9.69, -72.62))[0]
    np.testing.assert_allclose(equator, [0, 3.12e-5, 0], atol=1e-18)


def test_dipole_magnitude_inclination_and_declination() -> None:
    """The dipole would not be AirSim's: |B|, tan I = 2 cot, and north towards the pole."""
    rng = np.random.default_rng(8)
    for _ in range(50):
        latitude, longitude, altitude = rng.uniform([-89, -180, 0], [89, 180, 5e5])
        east, north, up = DIPOLE.flux_density(
            np.zeros((1, 3)), origin=Geodetic(latitude, longitude, altitude)
        )[0]
        lat, pole, turn = np.radians([latitude, 80.31, -72.62 - longitude])
        cosine = np.sin(lat) * np.sin(pole) + np.cos(lat) * np.cos(pole) * np.cos(turn)
        magnitude = 3.12e-5 * (6_371_000 / (6_371_000 + altitude)) ** 3 * np.sqrt(1 + 3 * cosine**2)
        assert np.sqrt(east**2 + north**2 + up**2) == pytest.approx(magnitude, rel=1e-12)
        assert np.arctan2(-up, np.hypot(east, north)) == pytest.approx(
            np.arctan2(2 * cosine, np.sqrt(1 - cosine**2)), abs=1e-10
        )
        bearing = np.arctan2(
            np.sin(turn) * np.cos(pole),
            np.cos(lat) * np.sin(pole) - np.sin(lat) * np.cos(pole) * np.cos(turn),
        )
        assert np.angle(np.exp(1j * (np.arctan2(east, north) - bearing))) == pytest.approx(0, abs=1e-10)


def test_dipole_away_from_the_origin() -> None:
    """The dipole's field at one place would depend on the world's origin."""
    origin = PLACES[0]
    position = np.random.default_rng(9).uniform(-2e6, 2e6, (30, 3)) * [1, 1, 0.01]
    field = DIPOLE.flux_density(position, origin=origin)
    places = zip(*geodetic_from_local(position, origin=origin), strict=True)
    local = np.concatenate(
        [DIPOLE.flux_density(np.zeros((1, 3)), origin=Geodetic(*place)) for place in places]
    )
    np.testing.assert_allclose(field[:, 2], local[:, 2], rtol=1e-9)
    np.testing.assert_allclose(
        np.hypot(field[:, 0], field[:, 1]), np.hypot(local[:, 0], local[:, 1]), rtol=1e-9
    )


def test_dipole_is_a_fair_approximation() -> None:
    """The dipole would point elsewhere than the Earth's field."""
    zero, angles = np.zeros((1, 3)), []
    for latitude in range(-75, 76, 30):
        for longitude in range(-180, 180, 45):
            origin = Geodetic(latitude, longitude)
            dipole = DIPOLE.flux_density(zero, origin=origin)[0]
            model = WorldMagneticModel().flux_density(zero, origin=origin)[0]
            angles.append(np.arccos(dipole @ model / np.linalg.norm(dipole) / np.linalg.norm(model)))
    assert np.degrees(np.median(angles)) < 12
    assert np.degrees(np.max(angles)) < 40


def test_uniform_field() -> None:
    """A uniform field would depend on position, or its axes would be exchanged."""
    field = UniformField((1e-6, 2e-5, -4e-5)).flux_density(np.ones((2, 3)), origin=PLACES[0])
    np.testing.assert_array_equal(field, [[1e-6, 2e-5, -4e-5]] * 2)


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        (WorldMagneticModel, {"date": 2024.9}),
        (WorldMagneticModel, {"date": float("nan")}),
        (TiltedDipole, {"pole_latitude": 91.0}),
        (TiltedDipole, {"pole_longitude": float("nan")}),
        (TiltedDipole, {"equatorial_field": 31_200.0}),
        (UniformField, {"vector": (0.0, 22_000.0, -42_000.0)}),
    ],
)
def test_bad_parameters_are_refused(model: type, parameters: dict[str, object]) -> None:
    """A date outside the model, or a field in nanotesla, would be accepted."""
    with pytest.raises(ConfigError, match=next(iter(parameters))):
        model(**parameters)
