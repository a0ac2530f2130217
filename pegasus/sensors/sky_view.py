"""Sky view of GPS receivers: satellites, line of sight by rays, dilution of precision, reflections."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray, sum_along
from pegasus.base.components import require
from pegasus.base.step_math import cos, sin

_EARTH_RADIUS, _ORBIT_RADIUS = 6_378_137.0, 26_559_700.0
_INCLINATION = math.radians(55.0)
_EARTH_RATE = 7.2921151467e-5
_SINGULAR = 1e-6
"""Smallest pivot of a solution; those of open sky are above 0.1."""

Cast = Callable[[Array, Array], Array]
"""Function from origins and directions of rays, shape (K, 3) each, to distances, infinite without a hit."""


@dataclass(frozen=True, kw_only=True)
class SkyView:
    """Reception of satellites among obstacles."""

    elevation_mask: float = math.radians(10.0)
    """Elevation below which satellites are not used [rad]."""
    reach: float = 300.0
    """Distance within which obstacles are looked for [m]."""
    reflection_weight: float = 0.25
    """Weight of a reflected signal in the solution against a direct one; 0 to leave it out."""

    def __post_init__(self) -> None:
        mask = self.elevation_mask
        require(0 <= mask < math.pi / 2, "elevation_mask", mask, "must be at least 0 and below pi/2 rad")
        require(0 < self.reach < math.inf, "reach", self.reach, "must be above 0 m and finite")
        weight = self.reflection_weight
        require(0 <= weight <= 1, "reflection_weight", weight, "must be from 0 to 1")


@dataclass(frozen=True, eq=False)
class Reception:
    """Reception of N receivers."""

    bias: Array
    """Position error by reflected signals, east, north and up [m], shape (N, 3)."""
    growth: Array
    """Dilution of precision relative to that of open sky, east, north and up, shape (N, 3)."""
    used: IntArray
    """Satellites in use, shape (N,)."""
    lost: BoolArray
    """True where too few satellites are in use for a solution, shape (N,)."""


def satellite_directions(latitude: float, longitude: float, t: float) -> Array:
    """Return the directions to 24 satellites, east, north and up, shape (24, 3).

    Six orbital planes with four satellites each, evenly spaced, at the inclination of 55 degrees and the
    radius of GPS, with two orbits in a sidereal day; a neighbouring plane is 15 degrees ahead. The slots of
    the standard (GPS SPS Performance Standard 2020, table A.2-1) are less even.

    Args:
        latitude: Latitude of the receiver [deg].
        longitude: Its longitude [deg].
        t: Time since the first plane's node was at longitude 0 [s].
    """
    phi, lam = math.radians(latitude), math.radians(longitude)
    rows = []
    for plane in range(6):
        node = plane * math.pi / 3 - _EARTH_RATE * t
        for slot in range(4):
            angle = slot * math.pi / 2 + plane * math.pi / 12 + 2 * _EARTH_RATE * t
            x, y = cos(angle), sin(angle) * cos(_INCLINATION)
            turn = node - lam
            # Axes of the meridian of the receiver: outwards, east, north pole.
            out = _ORBIT_RADIUS * (x * cos(turn) - y * sin(turn))
            east = _ORBIT_RADIUS * (x * sin(turn) + y * cos(turn))
            pole = _ORBIT_RADIUS * sin(angle) * sin(_INCLINATION)
            up = out * cos(phi) + pole * sin(phi) - _EARTH_RADIUS
            north = pole * cos(phi) - out * sin(phi)
            size = math.sqrt(east * east + north * north + up * up)
            rows.append((east / size, north / size, up / size))
    return np.array(rows)


def reception(view: SkyView, directions: Array, position: Array, cast: Cast) -> Reception:
    """Return the reception at positions.

    A satellite that an obstacle hides is received by the reflection on a wall on the other side, if there is
    one: from the opposite azimuth at the same elevation el, over a path that is 2 s cos^2 el longer with the
    distance s to the wall along the ray. The wall is taken to face the satellite. Source: Groves 2013,
    "Principles of GNSS, inertial, and multisensor integrated navigation systems", 2nd edition, sec. 9.4.

    Args:
        view: Parameters.
        directions: Directions to the satellites in the world, shape (S, 3).
        position: Positions in the world [m], shape (N, 3).
        cast: Rays into the scene, up to `reach`.
    """
    above = directions[directions[:, 2] > sin(view.elevation_mask)]
    count, seen = len(position), len(above)
    bias, growth, used = np.zeros((count, 3)), np.ones((count, 3)), np.full(count, seen)
    best, solvable = _open_sky(above.tobytes())
    lost = np.full(count, not solvable or seen < 4)
    hidden = np.isfinite(_distances(position, above, cast))
    partly = hidden.any(axis=1)
    if partly.any():
        # Every receiver casts the same rays: those to the other side of what is hidden from any of them.
        asked = hidden.any(axis=0)
        far = np.full((count, seen), np.inf)
        far[:, asked] = _distances(position, above[asked] * np.array([-1.0, -1.0, 1.0]), cast)
        # Only what is hidden from a receiver changes its solution.
        hidden, far = hidden[partly], far[partly]
        reflected = hidden & np.isfinite(far) & (view.reflection_weight > 0)
        weight = np.where(reflected, view.reflection_weight, np.where(hidden, 0.0, 1.0))
        excess = np.where(reflected, 2.0 * np.where(reflected, far, 0.0) * (1.0 - above[:, 2] ** 2), 0.0)
        bias[partly], dilution, solved = _solution(above, weight, excess)
        growth[partly] = dilution / best
        # East and north share the horizontal dilution.
        level = (dilution[:, 0] ** 2 + dilution[:, 1] ** 2) / (best[0] ** 2 + best[1] ** 2)
        growth[partly, :2] = np.sqrt(level)[:, None]
        used[partly] = np.count_nonzero(weight, axis=1)
        lost[partly] = ~solved | (used[partly] < 4)
    growth[lost], bias[lost] = 1.0, 0.0
    return Reception(bias, growth, np.where(lost, 0, used), lost)


@functools.lru_cache(maxsize=16)
def _open_sky(directions: bytes) -> tuple[Array, bool]:
    """Return the dilution of precision of an open sky, shape (3,), and whether there is a solution.

    Args:
        directions: Memory of the directions to the satellites, shape (S, 3); they are the same for 10 s.
    """
    above = np.frombuffer(directions).reshape(-1, 3)
    _, dilution, solved = _solution(above, np.ones((1, len(above))), np.zeros((1, len(above))))
    dilution.flags.writeable = False
    return dilution[0], bool(solved[0])


def _distances(position: Array, directions: Array, cast: Cast) -> Array:
    """Return the distances to the scene from N positions in S directions, shape (N, S)."""
    shape = len(position), len(directions)
    if not len(directions):
        return np.zeros(shape)
    found: Array = cast(np.repeat(position, shape[1], axis=0), np.tile(directions, (shape[0], 1)))
    return found.reshape(shape)


def _solution(directions: Array, weight: Array, error: Array) -> tuple[Array, Array, BoolArray]:
    """Return position errors (N, 3), dilutions (N, 3) and success (N,) of weighted least squares.

    The unknowns are east, north, up and the clock; elimination by hand keeps the bits on any processor.
    """
    count = len(weight)
    lines = np.concatenate([-directions, np.ones((len(directions), 1))], axis=1)
    # Columns: normal matrix, its right-hand side, and the unit matrix that becomes its inverse.
    rows = np.zeros((count, 4, 9))
    weighted = weight[..., None] * lines
    rows[:, :, :4] = sum_along(weighted[..., None] * lines[:, None], 1)
    rows[:, :, 4] = sum_along(weighted * error[..., None], 1)
    for i in range(4):
        rows[:, i, 5 + i] = 1.0
    solved = np.ones(count, dtype=bool)
    for i in range(4):
        solved &= rows[:, i, i] > _SINGULAR
        pivot = np.where(solved, rows[:, i, i], 1.0)
        rows[:, i] /= pivot[:, None]
        for j in range(4):
            if j != i:
                rows[:, j] -= rows[:, j, i, None] * rows[:, i]
    variance = np.stack([rows[:, i, 5 + i] for i in range(3)], axis=1)
    dilution = np.sqrt(np.where(solved[:, None], np.maximum(variance, 0.0), 1.0))
    return rows[:, :3, 4].copy(), dilution, solved
