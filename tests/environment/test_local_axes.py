"""Tests of true north on the map, and of the ellipsoid, against derivatives of the projection and PROJ."""

import math

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Vec3
from pegasus.config.scenario import OriginSpec, WorldSpec
from pegasus.environment import Environment, Geodetic, geodetic_from_local, local_from_geodetic
from pegasus.environment.ellipsoid import SEMI_MAJOR_AXIS, WGS84_FLATTENING
from pegasus.environment.geodesy import EARTH_RADIUS, convergence, local_from_map

PLACES = [
    # Latitude of the origin, position, and the angle to true north there [deg].
    (38.736832, (50_000.0, 0.0), 0.36),
    (70.0, (50_000.0, 0.0), 1.2),
    (89.9, (5_000.0, 0.0), 24.15),
    (-33.9, (12_000.0, -40_000.0), -0.07),
    (0.0, (30_000.0, 30_000.0), 0.0),
    (90.0, (3_000.0, 4_000.0), 143.0),
]


def radii(latitude: float, flattening: float) -> tuple[float, float]:
    """Return the radii of curvature of meridian and prime vertical [m]."""
    if not flattening:
        return EARTH_RADIUS, EARTH_RADIUS
    e2 = flattening * (2.0 - flattening)
    root = math.sqrt(1.0 - e2 * math.sin(math.radians(latitude)) ** 2)
    return SEMI_MAJOR_AXIS * (1.0 - e2) / root**3, SEMI_MAJOR_AXIS / root


@pytest.mark.parametrize("flattening", [0.0, WGS84_FLATTENING])
@pytest.mark.parametrize(("latitude", "place", "angle"), PLACES)
def test_local_velocity_is_the_change_of_the_coordinates(latitude, place, angle, flattening):
    """A receiver's velocity would not lead to its next position."""
    origin = Geodetic(latitude, 20.0, 0.0, flattening)
    here = np.array([*place, 0.0])
    for velocity in np.array([[0.0, 10.0, 1.0], [-7.0, 3.0, 0.0]]):
        step = 0.1 * velocity
        lat, lon, alt = geodetic_from_local(np.stack([here - step, here, here + step]), origin=origin)
        meridian, vertical = radii(lat[1], flattening)
        east = math.radians(lon[2] - lon[0]) * vertical * math.cos(math.radians(lat[1]))
        north = math.radians(lat[2] - lat[0]) * meridian
        moved = np.array([east, north, alt[2] - alt[0]]) / 0.2
        local = local_from_map(velocity[None], here[None], origin=origin)[0]
        # The map stretches distances across the direction from its origin by s^2 / 6 R^2.
        stretch = (np.hypot(*place) / EARTH_RADIUS) ** 2 / 6
        np.testing.assert_allclose(local, moved, atol=10.0 * stretch + 2e-6)
    cosine, sine = convergence(origin, Vec3(*here))
    assert math.degrees(math.atan2(sine, cosine)) == pytest.approx(angle, abs=0.2 if latitude > 80 else 0.05)


# Latitude and longitude of the origin, position, and there: latitude, longitude, change of the azimuth [deg].
# PROJ 9.5.1 by pyproj 3.7.2: Geod(ellps="WGS84").fwd of distance and azimuth of the position, which agrees
# with Proj(proj="aeqd", ellps="WGS84") to the last digits.
PROJ = [
    (38.736832, -9.137977, 50e3, 0.0, 38.73541763229465, -8.56291750784050, 0.359836461665),
    (38.736832, -9.137977, -3e3, 4e3, 38.77285943203137, -9.17249837093006, -0.021610014701),
    (38.736832, -9.137977, -400e3, 700e3, 44.93508702556191, -14.19848185035168, -3.381535545490),
    (70.0, 20.0, 50e3, 0.0, 69.99518834666966, 21.30916062713922, 1.230196046663),
    (70.0, 20.0, -30e3, -40e3, 69.63974586467830, 19.22768283551748, -0.724911615403),
    (89.9, 0.0, 5e3, 0.0, 89.89043760446869, 24.11577257317183, 24.115733508179),
    (89.9, 0.0, 5e3, 20e3, 89.90914566633948, 150.48094387919579, 150.480904814225),
    (0.0, 179.9, 30e3, 1e3, 0.00904366119861, -179.83050541254104, 0.000021268777),
    (-33.9, 151.2, 12e3, -90e3, -34.71126817481355, 151.33098907267222, -0.073828272730),
    (90.0, 0.0, 3e3, 4e3, 89.95523482975518, 143.13010235415598, 143.130102354156),
]


@pytest.mark.parametrize("row", PROJ, ids=str)
def test_the_ellipsoid_is_that_of_proj(row):
    """Coordinates would differ from those of maps and receivers, which use WGS84; or so would north."""
    lat_0, lon_0, x, y, latitude, longitude, turn = row
    origin = Geodetic(lat_0, lon_0, 50.0, WGS84_FLATTENING)
    found = geodetic_from_local(np.array([[x, y, 7.0]]), origin=origin)
    np.testing.assert_allclose(np.concatenate(found), [latitude, longitude, 57.0], atol=2e-11)
    cosine, sine = convergence(origin, Vec3(x, y, 7.0))
    assert math.degrees(math.atan2(sine, cosine)) == pytest.approx(turn, abs=2e-11)
    place = np.array([latitude]), np.array([longitude]), np.array([57.0])
    np.testing.assert_allclose(local_from_geodetic(*place, origin=origin), [[x, y, 7.0]], atol=2e-6)


@pytest.mark.parametrize(
    "place", [(38.736832, -9.137977), (0.0, 180.0), (0.0, 0.0), (89.9999, 12.0), (90.0, 30.0), (-90.0, 45.0)]
)
def test_the_ellipsoid_is_regular_everywhere(place):
    """A position would not be recovered at a pole, on the equator, over the date line or at the origin."""
    origin = Geodetic(*place, 90.0, WGS84_FLATTENING)
    rng = np.random.default_rng(7)
    distance, bearing = np.geomspace(1e-3, 5e5, 300), rng.uniform(-np.pi, np.pi, 300)
    position = np.stack([distance * np.sin(bearing), distance * np.cos(bearing), 0 * bearing], axis=-1)
    position[0] = 0.0
    coordinates = geodetic_from_local(position, origin=origin)
    np.testing.assert_allclose(local_from_geodetic(*coordinates, origin=origin), position, atol=1e-6)
    assert np.isfinite([convergence(origin, Vec3(*row)) for row in position.tolist()]).all()


def test_compiled_and_plain_functions_have_the_same_bits():
    """A receiver alone would give other coordinates than one among many."""
    position = np.random.default_rng(2).normal(size=(40, 3)) * 3e4
    for flattening in (0.0, WGS84_FLATTENING):
        origin = Geodetic(38.7, -9.1, 90.0, flattening)
        many = (
            *geodetic_from_local(position, origin=origin),
            local_from_map(position, position, origin=origin),
        )
        for k, row in enumerate(position):
            one = geodetic_from_local(row[None], origin=origin)
            own = local_from_map(row[None], row[None], origin=origin)
            for alone, among in zip((*one, own), many, strict=True):
                np.testing.assert_array_equal(alone[0], among[k])


def test_a_world_file_chooses_the_ellipsoid():
    """The choice of a world file would have no effect, or the sphere no longer be the default."""
    position = np.array([[0.0, 10_000.0, 0.0]])
    degrees = {}
    for ellipsoid in ("sphere", "wgs84"):
        origin = OriginSpec(latitude=0.0, longitude=0.0, ellipsoid=ellipsoid)
        environment = Environment.from_spec(WorldSpec(name="w", usd="w.usda", origin=origin))
        degrees[ellipsoid] = environment.geodetic(position)[0][0]
    # Radii of the meridian at the equator: 6371 km, and a (1 - e^2) = 6335.439 km.
    assert degrees["sphere"] == pytest.approx(math.degrees(10_000.0 / 6_371_000.0), rel=1e-12)
    assert degrees["wgs84"] == pytest.approx(math.degrees(10_000.0 / 6_335_439.3), rel=1e-6)
    assert OriginSpec().ellipsoid == "sphere"
    with pytest.raises(ConfigError, match="flattening"):
        Geodetic(0.0, 0.0, 0.0, 0.1)
