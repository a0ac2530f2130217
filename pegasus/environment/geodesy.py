"""Where on Earth a point of the world is: the azimuthal equidistant projection, both ways.

The Earth is a sphere, as in the map projection of PX4, and the world's horizontal plane is its azimuthal
equidistant map about the origin: distances and bearings from the origin are true. Angles are degrees
here, because users write degrees.
"""

import math
from dataclasses import dataclass
from typing import Any

from pegasus.arrays import Array, namespace
from pegasus.components import require

EARTH_RADIUS = 6_371_000.0
"""Mean radius of the Earth [m], the one that PX4's map projection uses."""

# Added to an angle before it divides: no angle that matters changes, and 0 / 0 becomes 1.
_TINY = 1e-30


@dataclass(frozen=True)
class Geodetic:
    """A place on Earth."""

    latitude: float
    """Latitude [deg], -90 to 90."""
    longitude: float
    """Longitude [deg], -180 to 180."""
    altitude: float = 0.0
    """Altitude above mean sea level [m]."""

    def __post_init__(self) -> None:
        require(-90 <= self.latitude <= 90, "latitude", self.latitude, "must be from -90 to 90 deg")
        require(-180 <= self.longitude <= 180, "longitude", self.longitude, "must be from -180 to 180 deg")
        require(math.isfinite(self.altitude), "altitude", self.altitude, "must be a finite number of metres")


def geodetic_from_local(position: Array, *, origin: Geodetic) -> tuple[Array, Array, Array]:
    """Return latitude [deg], longitude [deg] in [-180, 180) and altitude [m] of world positions, shape (...).

    The inverse azimuthal equidistant projection (Pegasus paper, eq. 14-16), with the angle from the origin
    being the distance on the map over `EARTH_RADIUS`. Written with atan2 and sin(c) / c it is exact to
    rounding at the origin, at the poles and across the date line; at a pole itself, whose longitude is
    arbitrary, some longitude is returned.

    Args:
        position: Position in the world, ENU [m], shape (..., 3).
        origin: Place of the world's origin.
    """
    xp = namespace(position)
    sin_0, cos_0 = _sin_cos(origin.latitude)
    east, north, up = _direction(position)
    sin_latitude = up * sin_0 + north * cos_0
    # The point seen from the Earth's axis: along the origin's meridian and square to it.
    along = up * cos_0 - north * sin_0
    latitude = xp.atan2(sin_latitude, xp.sqrt(along * along + east * east)) * (180 / math.pi)
    longitude = xp.atan2(east, along) * (180 / math.pi) + origin.longitude
    longitude = longitude - 360 * xp.floor((longitude + 180) / 360)
    return latitude, longitude, position[..., 2] + origin.altitude


def local_from_geodetic(latitude: Array, longitude: Array, altitude: Array, *, origin: Geodetic) -> Array:
    """Return the world positions of places on Earth, ENU [m], shape (..., 3).

    The azimuthal equidistant projection, the inverse of `geodetic_from_local`. Differences of angles are
    taken before sines, so that small distances keep all their digits.

    Args:
        latitude: Latitude [deg], shape (...).
        longitude: Longitude [deg], shape (...); any number of turns.
        altitude: Altitude above mean sea level [m], shape (...).
        origin: Place of the world's origin.
    """
    xp = namespace(latitude)
    sin_0, cos_0 = _sin_cos(origin.latitude)
    cos_latitude = xp.cos(latitude * (math.pi / 180))
    rise = (latitude - origin.latitude) * (math.pi / 180)
    turns = (longitude - origin.longitude) / 360
    turn = (turns - xp.floor(turns + 0.5)) * (2 * math.pi)
    half_rise, half_turn = xp.sin(rise / 2), xp.sin(turn / 2)
    east = cos_latitude * xp.sin(turn)
    north = xp.sin(rise) + 2 * sin_0 * cos_latitude * half_turn * half_turn
    up = 1 - 2 * (half_rise * half_rise + cos_0 * cos_latitude * half_turn * half_turn)
    sine = xp.sqrt(east * east + north * north)
    scale = EARTH_RADIUS * (xp.atan2(sine, up) + _TINY) / (sine + _TINY)
    position: Array = xp.stack([scale * east, scale * north, altitude - origin.altitude], axis=-1)
    return position


def map_axes(east: Any, north: Any, up: Any, *, position: Array) -> tuple[Array, Array, Array]:
    """Return vectors, given in the origin's own ENU axes, in the world's axes at other places of the map.

    The Earth curves away under the map: a direction that is horizontal at the origin is not at a place
    beyond the horizon. The axes of the map are carried there along the great circle from the origin (parallel
    transport), which keeps them orthogonal and changes smoothly everywhere, poles included.

    Args:
        east: Component along the origin's east, scalar or shape (...).
        north: Component along the origin's north, scalar or shape (...).
        up: Component along the origin's vertical, scalar or shape (...).
        position: Positions in the world at which the vectors are seen, ENU [m], shape (..., 3).
    """
    xp = namespace(position)
    x, y = position[..., 0] / EARTH_RADIUS, position[..., 1] / EARTH_RADIUS
    angle = xp.sqrt(x * x + y * y) + _TINY
    sine, half_sine = xp.sin(angle) / angle, xp.sin(angle / 2) / angle
    outward = east * x + north * y
    tilt = 2 * half_sine * half_sine * outward + sine * up
    return east - tilt * x, north - tilt * y, sine * outward + xp.cos(angle) * up


def _direction(position: Array) -> tuple[Array, Array, Array]:
    """Return the direction from the Earth's centre, in the origin's ENU axes."""
    xp = namespace(position)
    x, y = position[..., 0] / EARTH_RADIUS, position[..., 1] / EARTH_RADIUS
    angle = xp.sqrt(x * x + y * y) + _TINY
    sine = xp.sin(angle) / angle
    return x * sine, y * sine, xp.cos(angle)


def _sin_cos(degrees: float) -> tuple[float, float]:
    return math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
