"""Tests of the map projection against spherical trigonometry, PX4's formula and the Pegasus paper's."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.environment import Geodetic, geodetic_from_local, local_from_geodetic
from pegasus.environment.geodesy import EARTH_RADIUS, map_axes

LISBON = Geodetic(38.736832, -9.137977, 90.0)
ORIGINS = [
    LISBON,
    Geodetic(0.0, 0.0),
    Geodetic(-33.9, 151.2, 20.0),
    Geodetic(65.0, 179.9999),
    Geodetic(-17.0, -180.0),
    Geodetic(0.0, 180.0),
    Geodetic(89.9999, 12.0),
    Geodetic(90.0, 0.0),
    Geodetic(90.0, -120.0),
    Geodetic(-90.0, 45.0),
]


def scattered_positions(count: int, reach: float) -> Array:
    """Return positions at distances from millimetres to `reach`, evenly spread over their logarithm."""
    rng = np.random.default_rng(7)
    distance, bearing = np.geomspace(1e-3, reach, count), rng.uniform(-np.pi, np.pi, count)
    height = rng.uniform(-100, 5_000, count)
    return np.stack([distance * np.sin(bearing), distance * np.cos(bearing), height], axis=-1)


def great_circle(start: Geodetic, latitude: Array, longitude: Array) -> tuple[Array, Array]:
    """Return great-circle distance (haversine) [m] and initial bearing [rad] by textbook formulas."""
    lat_1, lat_2 = np.radians(start.latitude), np.radians(latitude)
    turn = np.radians(longitude - start.longitude)
    haversine = np.sin((lat_2 - lat_1) / 2) ** 2 + np.cos(lat_1) * np.cos(lat_2) * np.sin(turn / 2) ** 2
    bearing = np.arctan2(
        np.sin(turn) * np.cos(lat_2),
        np.cos(lat_1) * np.sin(lat_2) - np.sin(lat_1) * np.cos(lat_2) * np.cos(turn),
    )
    return 2 * 6_371_000.0 * np.arcsin(np.sqrt(haversine)), bearing


@pytest.mark.parametrize("origin", ORIGINS, ids=str)
def test_round_trip(origin: Geodetic) -> None:
    """A position would not be recovered from its coordinates, at poles and the date line too."""
    position = scattered_positions(400, 1e6)
    latitude, longitude, altitude = geodetic_from_local(position, origin=origin)
    back = local_from_geodetic(latitude, longitude, altitude, origin=origin)
    assert np.abs(back - position).max() < 1e-7
    assert np.all((longitude >= -180) & (longitude < 180) & (np.abs(latitude) <= 90))


@pytest.mark.parametrize("origin", [LISBON, Geodetic(-33.9, 151.2), Geodetic(65.0, 179.9999)], ids=str)
def test_distance_and_bearing_are_true(origin: Geodetic) -> None:
    """The map would not keep distances and bearings from its origin."""
    position = scattered_positions(200, 5e6)[60:]
    latitude, longitude, _ = geodetic_from_local(position, origin=origin)
    distance, bearing = great_circle(origin, latitude, longitude)
    np.testing.assert_allclose(distance, np.hypot(position[:, 0], position[:, 1]), rtol=1e-9, atol=2e-8)
    # A bearing is known to the rounding of the coordinates, some 2 nm, over the distance.
    error = np.angle(np.exp(1j * (bearing - np.arctan2(position[:, 0], position[:, 1]))))
    assert np.all(np.abs(error) < 1e-12 + 1e-8 / distance)


def test_agrees_with_px4() -> None:
    """PX4 would compute another position than the vehicle's (MapProjection::project)."""
    rng = np.random.default_rng(2)
    latitude, longitude = (
        LISBON.latitude + rng.uniform(-1, 1, 100),
        LISBON.longitude + rng.uniform(-1, 1, 100),
    )
    lat, lon, lat_0, lon_0 = map(np.radians, (latitude, longitude, LISBON.latitude, LISBON.longitude))
    c = np.arccos(np.sin(lat_0) * np.sin(lat) + np.cos(lat_0) * np.cos(lat) * np.cos(lon - lon_0))
    k = c / np.sin(c) * 6_371_000
    north = k * (np.cos(lat_0) * np.sin(lat) - np.sin(lat_0) * np.cos(lat) * np.cos(lon - lon_0))
    east = k * np.cos(lat) * np.sin(lon - lon_0)
    position = local_from_geodetic(latitude, longitude, np.full(100, 100.0), origin=LISBON)
    # PX4's arc cosine is good to 1e-16 / sin(c) of an angle.
    np.testing.assert_allclose(position, np.stack([east, north, np.full(100, 10.0)], axis=-1), atol=1e-5)


def test_agrees_with_the_pegasus_paper() -> None:
    """The projection would not be that of the paper's equations 14 to 16."""
    position = scattered_positions(100, 1e6)[70:]
    x, y = position[:, 0] / 6_371_000, position[:, 1] / 6_371_000
    lat_0 = np.radians(LISBON.latitude)
    c = np.sqrt(x**2 + y**2)
    paper_latitude = np.arcsin(np.cos(c) * np.sin(lat_0) + y * np.sin(c) * np.cos(lat_0) / c)
    paper_turn = np.arctan(x * np.sin(c) / (c * np.cos(lat_0) * np.cos(c) - y * np.sin(lat_0) * np.sin(c)))
    latitude, longitude, altitude = geodetic_from_local(position, origin=LISBON)
    np.testing.assert_allclose(latitude, np.degrees(paper_latitude), atol=1e-13)
    np.testing.assert_allclose(longitude, LISBON.longitude + np.degrees(paper_turn), atol=1e-13)
    np.testing.assert_array_equal(altitude, position[:, 2] + 90.0)


def test_a_degree_is_a_degree() -> None:
    """The radius would not be PX4's 6371000 m, or east and north would be swapped."""
    position = local_from_geodetic(
        np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 361.0]), np.zeros(3), origin=Geodetic(0.0, 0.0)
    )
    degree = 111_194.92664455873
    np.testing.assert_allclose(position, [[0, degree, 0], [degree, 0, 0], [degree, 0, 0]], atol=1e-6)


@pytest.mark.parametrize("origin", ORIGINS, ids=str)
def test_origin_is_exact(origin: Geodetic) -> None:
    """A vehicle at the origin would not have the origin's coordinates, or have NaN."""
    latitude, longitude, altitude = geodetic_from_local(np.zeros((1, 3)), origin=origin)
    assert latitude[0] == pytest.approx(origin.latitude, abs=1e-14)
    assert longitude[0] == (-180.0 if origin.longitude == 180 else origin.longitude)
    assert altitude[0] == origin.altitude
    np.testing.assert_allclose(
        local_from_geodetic(latitude, longitude, altitude, origin=origin), np.zeros((1, 3)), atol=1e-9
    )


def test_millimetres_are_kept() -> None:
    """A small displacement would be lost to rounding, as in an arc cosine."""
    step = np.array([[0.0, 1e-3, 0.0]])
    latitude, _, _ = geodetic_from_local(step, origin=LISBON)
    moved = np.radians(latitude[0] - LISBON.latitude) * EARTH_RADIUS
    assert moved == pytest.approx(1e-3, abs=2e-9)
    back = local_from_geodetic(
        np.array([LISBON.latitude]), np.array([LISBON.longitude + 1e-8]), np.array([90.0]), origin=LISBON
    )
    expected = np.radians(1e-8) * EARTH_RADIUS * np.cos(np.radians(LISBON.latitude))
    assert back[0, 0] == pytest.approx(expected, abs=2e-9)
    assert abs(back[0, 1]) < 1e-9


def test_longitude_wraps_at_the_date_line() -> None:
    """Flying east over the date line would give longitudes above 180."""
    origin = Geodetic(0.0, 179.99)
    east = np.radians([0.005, 0.01, 0.015]) * EARTH_RADIUS
    position = np.stack([east, np.zeros(3), np.zeros(3)], axis=-1)
    _, longitude, _ = geodetic_from_local(position, origin=origin)
    np.testing.assert_allclose(longitude, [179.995, -180.0, -179.995], atol=1e-12)
    west = Geodetic(0.0, -179.99)
    _, longitude, _ = geodetic_from_local(-position, origin=west)
    np.testing.assert_allclose(np.mod(longitude, 360), [180.005, 180.0, 179.995], atol=1e-12)


def test_flying_over_the_pole() -> None:
    """The latitude would pass 90 degrees beyond the pole, or the longitude stay."""
    origin = Geodetic(89.99, 20.0)
    to_pole = np.radians(0.01) * EARTH_RADIUS
    position = np.array([[0.0, 0.5 * to_pole, 0.0], [0.0, to_pole, 0.0], [0.0, 1.5 * to_pole, 0.0]])
    latitude, longitude, _ = geodetic_from_local(position, origin=origin)
    np.testing.assert_allclose(latitude, [89.995, 90.0, 89.995], atol=1e-12)
    np.testing.assert_allclose(longitude[[0, 2]], [20.0, -160.0], atol=1e-9)


def test_directions_at_a_pole() -> None:
    """The axes x and y at a pole would not follow the meridian that the origin's longitude names."""
    position = np.array([[1000.0, 0.0, 0.0], [0.0, 1000.0, 0.0]])
    latitude, longitude, _ = geodetic_from_local(position, origin=Geodetic(90.0, 30.0))
    np.testing.assert_allclose(latitude, 90 - np.degrees(1000 / EARTH_RADIUS), atol=1e-12)
    np.testing.assert_allclose(longitude, [120.0, -150.0], atol=1e-9)


def test_antipode_is_half_a_turn_away() -> None:
    """The far side of the Earth would give NaN or fall onto the origin."""
    position = local_from_geodetic(
        np.array([-20.0]), np.array([-150.0]), np.zeros(1), origin=Geodetic(20.0, 30.0)
    )
    assert np.hypot(position[0, 0], position[0, 1]) == pytest.approx(np.pi * EARTH_RADIUS, rel=1e-12)


def test_map_axes_are_carried_along_great_circles() -> None:
    """Directions far away would not be rotated by the Earth's curvature."""
    position = scattered_positions(50, 8e6)
    vector = np.random.default_rng(3).standard_normal((50, 3))
    pairs = zip(vector.tolist(), position.tolist(), strict=True)
    turned = np.array([tuple(map_axes(Vec3(*v), Vec3(*p))[k] for k in range(3)) for v, p in pairs])
    # The rotation that takes the vertical at the origin to that at the place, about their common normal.
    axis = np.stack([-position[:, 1], position[:, 0], np.zeros(50)], axis=-1) / EARTH_RADIUS
    np.testing.assert_allclose(turned, Rotation.from_rotvec(axis).inv().apply(vector), atol=1e-12)


@pytest.mark.parametrize(
    ("field", "place"),
    [
        ("latitude", (90.1, 0.0)),
        ("latitude", (float("nan"), 0.0)),
        ("longitude", (0.0, 181.0)),
        ("altitude", (0.0, 0.0, float("inf"))),
    ],
)
def test_places_off_the_earth_are_refused(field: str, place: tuple[float, ...]) -> None:
    """Impossible coordinates would be accepted, or the error would not name the field."""
    with pytest.raises(ConfigError, match=field):
        Geodetic(*place)
