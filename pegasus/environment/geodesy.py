"""Geodesy: azimuthal equidistant projection between world and geographic coordinates.

The Earth is a sphere, as in PX4's map projection, or the ellipsoid of WGS84. The world's horizontal plane is
its azimuthal equidistant map about the origin: distances and bearings from the origin are true. Angles are in
degrees, as in users' files.
"""

import math
from dataclasses import dataclass, field

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Real, Vec3, atan2, cos, floor, sin, sqrt
from pegasus.environment.ellipsoid import WGS84_FLATTENING, departure, destination

EARTH_RADIUS = 6_371_000.0
"""Mean radius of the Earth [m], as in PX4's map projection."""

_RADIAN = math.pi / 180.0
_DEGREE = 180.0 / math.pi
# Added to denominators: relevant angles are unchanged, and 0 / 0 becomes 1.
_TINY = 1e-30


@dataclass(frozen=True)
class Geodetic:
    """Geographic position."""

    latitude: float
    """Latitude [deg], -90 to 90."""
    longitude: float
    """Longitude [deg], -180 to 180."""
    altitude: float = 0.0
    """Altitude above mean sea level [m]."""
    flattening: float = field(default=0.0, metadata={"literal": True})
    """Flattening of the Earth: 0 for the sphere, `WGS84_FLATTENING` for the ellipsoid of WGS84."""

    def __post_init__(self) -> None:
        require(-90 <= self.latitude <= 90, "latitude", self.latitude, "must be from -90 to 90 deg")
        require(-180 <= self.longitude <= 180, "longitude", self.longitude, "must be from -180 to 180 deg")
        require(math.isfinite(self.altitude), "altitude", self.altitude, "must be a finite number of metres")
        shapes = 0.0, WGS84_FLATTENING
        require(self.flattening in shapes, "flattening", self.flattening, f"must be one of {shapes}")


def geodetic_at(origin: Geodetic, position: Vec3) -> tuple[Real, Real, Real]:
    """Return latitude [deg], longitude [deg] in [-180, 180) and altitude [m] of a world position.

    Inverse azimuthal equidistant projection. On the sphere (Pegasus paper, eq. 14-16) the angle from the
    origin is the map distance over `EARTH_RADIUS`. In terms of atan2 and sin(c) / c it is exact to rounding
    at the origin, at the poles and across the date line; the longitude at a pole is arbitrary. For the
    ellipsoid see `ellipsoid.destination`.

    Args:
        origin: Geographic position of the world's origin.
        position: Position in the world, ENU [m].
    """
    if origin.flattening > 0.0:
        place, turn, _, _ = destination(origin.latitude * _RADIAN, position[0], position[1])
        meridian = turn * _DEGREE + origin.longitude
        return (
            place * _DEGREE,
            meridian - 360.0 * floor((meridian + 180.0) / 360.0),
            position[2] + origin.altitude,
        )
    sin_0 = sin(origin.latitude * _RADIAN)
    cos_0 = cos(origin.latitude * _RADIAN)
    x = position[0] / EARTH_RADIUS
    y = position[1] / EARTH_RADIUS
    angle = sqrt(x * x + y * y) + _TINY
    sine = sin(angle) / angle
    # Direction from the Earth's centre, in the origin's ENU axes.
    east = x * sine
    north = y * sine
    up = cos(angle)
    # Distance from the Earth's axis, along the origin's meridian; east is perpendicular to it.
    along = up * cos_0 - north * sin_0
    latitude = atan2(up * sin_0 + north * cos_0, sqrt(along * along + east * east)) * _DEGREE
    longitude = atan2(east, along) * _DEGREE + origin.longitude
    return latitude, longitude - 360.0 * floor((longitude + 180.0) / 360.0), position[2] + origin.altitude


def local_at(origin: Geodetic, latitude: Real, longitude: Real, altitude: Real) -> Vec3:
    """Return the world position of a geographic position, ENU [m].

    Azimuthal equidistant projection, the inverse of `geodetic_at`. Angles are subtracted before taking sines,
    so that small distances keep full precision.

    Args:
        origin: Geographic position of the world's origin.
        latitude: Latitude [deg].
        longitude: Longitude [deg]; unbounded.
        altitude: Altitude above mean sea level [m].
    """
    cos_latitude = cos(latitude * _RADIAN)
    rise = (latitude - origin.latitude) * _RADIAN
    turns = (longitude - origin.longitude) / 360.0
    turn = (turns - floor(turns + 0.5)) * 360.0 * _RADIAN
    if origin.flattening > 0.0:
        x, y = departure(origin.latitude * _RADIAN, rise, turn)
        return Vec3(x, y, altitude - origin.altitude)
    half_rise = sin(rise / 2.0)
    half_turn = sin(turn / 2.0)
    east = cos_latitude * sin(turn)
    north = sin(rise) + 2.0 * sin(origin.latitude * _RADIAN) * cos_latitude * half_turn * half_turn
    cosines = cos(origin.latitude * _RADIAN) * cos_latitude
    up = 1.0 - 2.0 * (half_rise * half_rise + cosines * half_turn * half_turn)
    sine = sqrt(east * east + north * north)
    scale = EARTH_RADIUS * (atan2(sine, up) + _TINY) / (sine + _TINY)
    return Vec3(scale * east, scale * north, altitude - origin.altitude)


def convergence(origin: Geodetic, position: Vec3) -> tuple[Real, Real]:
    """Return cosine and sine of the angle from the map's north (y) at a position to true north.

    The map's axes there are those of the origin, transported in parallel along the great circle or geodesic
    from the origin, whose azimuth changes by this angle on the way. It is counter-clockwise from above: east
    of an origin in the northern half true north is on the left of y. At a pole it is arbitrary.

    Args:
        origin: Geographic position of the world's origin.
        position: Position in the world, ENU [m].
    """
    if origin.flattening > 0.0:
        _, _, cosine, sine = destination(origin.latitude * _RADIAN, position[0], position[1])
        return cosine, sine
    sin_0 = sin(origin.latitude * _RADIAN)
    cos_0 = cos(origin.latitude * _RADIAN)
    x = position[0] / EARTH_RADIUS
    y = position[1] / EARTH_RADIUS
    angle = sqrt(x * x + y * y) + _TINY
    rise = sin_0 * sin(angle) / angle
    half_sine = sin(angle / 2.0) / angle
    bend = 2.0 * half_sine * half_sine * cos_0
    # Cosine and sine of the change of azimuth times the cosine of the latitude, by spherical trigonometry.
    ahead = cos_0 - bend * y * y - rise * y
    aside = bend * x * y + rise * x
    length = sqrt(ahead * ahead + aside * aside)
    if length == 0.0:
        return 1.0, 0.0
    return ahead / length, aside / length


def level_turn(vector: Vec3, cosine: Real, sine: Real) -> Vec3:
    """Return a vector of the map's axes in local east, north and up, or back with the negative sine.

    Args:
        vector: The vector.
        cosine: First number of `convergence` at its place.
        sine: Second number.
    """
    return Vec3(cosine * vector[0] + sine * vector[1], cosine * vector[1] - sine * vector[0], vector[2])


def local_vector(origin: Geodetic, position: Vec3, vector: Vec3) -> Vec3:
    """Return a vector of the map's axes in local east, north and up.

    Args:
        origin: Geographic position of the world's origin.
        position: Place of the vector in the world, ENU [m].
        vector: The vector in the map's axes.
    """
    cosine, sine = convergence(origin, position)
    return level_turn(vector, cosine, sine)


def map_axes(direction: Vec3, position: Vec3) -> Vec3:
    """Return a vector of the origin's ENU axes in the map's axes at another position.

    The Earth is curved: a direction that is horizontal at the origin is not horizontal far away. The axes of
    the map are transported in parallel along the great circle from the origin, which keeps them orthogonal
    and smooth everywhere, including the poles.

    Args:
        direction: Vector in the origin's axes.
        position: Position in the world, ENU [m].
    """
    x = position[0] / EARTH_RADIUS
    y = position[1] / EARTH_RADIUS
    angle = sqrt(x * x + y * y) + _TINY
    sine = sin(angle) / angle
    half_sine = sin(angle / 2.0) / angle
    outward = direction[0] * x + direction[1] * y
    tilt = 2.0 * half_sine * half_sine * outward + sine * direction[2]
    up = sine * outward + cos(angle) * direction[2]
    return Vec3(direction[0] - tilt * x, direction[1] - tilt * y, up)


def geodetic_from_local(position: Array, *, origin: Geodetic) -> tuple[Array, Array, Array]:
    """Return latitude [deg], longitude [deg] and altitude [m] of world positions, each of shape (...).

    See `geodetic_at`.

    Args:
        position: Position in the world, ENU [m], shape (..., 3).
        origin: Geographic position of the world's origin.
    """
    latitude, longitude, altitude = _GEODETIC(origin, position)
    return latitude, longitude, altitude


def local_from_geodetic(latitude: Array, longitude: Array, altitude: Array, *, origin: Geodetic) -> Array:
    """Return the world positions of geographic positions, ENU [m], shape (..., 3).

    See `local_at`.

    Args:
        latitude: Latitude [deg], shape (...).
        longitude: Longitude [deg], shape (...); unbounded.
        altitude: Altitude above mean sea level [m], shape (...).
        origin: Geographic position of the world's origin.
    """
    position: Array = _LOCAL(origin, latitude, longitude, altitude)
    return position


def local_from_map(vector: Array, position: Array, *, origin: Geodetic) -> Array:
    """Return vectors of the map's axes in local east, north and up, shape (..., 3).

    See `convergence`.

    Args:
        vector: Vectors in the map's axes, shape (..., 3).
        position: Their places in the world, ENU [m], shape (..., 3).
        origin: Geographic position of the world's origin.
    """
    local: Array = _VECTOR(origin, position, vector)
    return local


_GEODETIC, _LOCAL, _VECTOR = RowMap(geodetic_at), RowMap(local_at), RowMap(local_vector)
