"""Placement of vehicles: new poses, start positions, square grids, and free places around spawn points."""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.components import finite_angles, finite_numbers, require
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.base.errors import ConfigError, unknown_name
from pegasus.base.frames import normalize, quaternion_from_euler
from pegasus.config.scenario import SpawnPoint
from pegasus.contracts.engine import BodyState, Engine

Copies: TypeAlias = int | slice | npt.ArrayLike | None
"""Copies of a vehicle: an index, a slice, several indices, or a mask of shape (N,); None for all."""

START_HEIGHT = 0.1
"""Smallest start height of a body frame, and height of spawn points, above the ground [m]."""
GAP = 0.5
"""Smallest distance between the rotors of vehicles whose places are chosen here [m]."""
_CLEAR_OF_GROUND = 0.01
"""Distance of the lowest collider to the ground at the start [m]."""
_ABOVE_GROUND = 1.0
"""Height above the centre from which rays search the ground; larger for places around it [m]."""
_LEVEL = 0.3
"""Largest rise of the ground below the rotors, as part of their reach."""
_MARGIN = 0.15
"""Smallest distance of the rotor tips to obstacles [m]."""
_HEADROOM = 0.5  # [m]
_DIRECTIONS = 32
_RINGS = 8
"""Rings of places searched around a spawn point, beyond those that all copies would fill."""
_DIAGONALS = [[x, y] for x in (-0.7, 0.7) for y in (-0.7, 0.7)]
_BELOW_ROTORS = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], *_DIAGONALS])
_EXACT = 1e-3
"""Difference in height below which the ground counts as level with the spawn point [m]."""


class StartPlacement:
    """Start poses of N vehicles: given by the user, or found later at the spawn points of the world.

    Args:
        count: Number of vehicles N.
        position: Position of the body frames [m], shape (N, 3); or the centre of a square grid, shape (3,).
            Above the origin if None, or if it is the name of a spawn point, until `find_start` finds a place.
        heading: Direction of the x axes [rad], one or shape (N,); 0 or that of the spawn point if None.
        spacing: Distance of neighbours in the grid [m]; large enough to separate rotors and wings if None.
        radius: Radius about the z axis that rotors and propellers stay within [m].
        lowest_point: Lowest z of the colliders in the body frame [m].

    Raises:
        ConfigError: If a number is not finite, a shape does not fit, or the spacing is too small.
    """

    def __init__(
        self,
        *,
        count: int,
        position: npt.ArrayLike | str | None,
        heading: npt.ArrayLike | None,
        spacing: float | None,
        radius: float,
        lowest_point: float,
    ) -> None:
        self.count, self.spacing, self.radius = count, spacing, radius
        self.spawn_point = position if isinstance(position, str) else None
        """Name of the spawn point to start from; None for any."""
        if self.spawn_point is not None:
            position = None
        self.has_position, self.has_heading = position is not None, heading is not None
        headings = finite_angles("heading", 0.0 if heading is None else heading, (count,))
        self.orientation = quaternion_from_euler(0.0, 0.0, headings)
        """Start attitudes, unit quaternions xyzw, shape (N, 4)."""
        self.height = max(START_HEIGHT, _CLEAR_OF_GROUND - lowest_point)
        """Height above the ground at which the vehicle starts clear of it [m]."""
        if position is None:
            position = (0.0, 0.0, self.height)
        self.position = start_positions(position, count=count, spacing=spacing, clearance=radius)
        """Start positions of the body frames in the world [m], shape (N, 3)."""

    def move(self, position: Array, heading: Array) -> None:
        """Set the start poses of vehicles without a given position; a given heading stays.

        Args:
            position: Positions of the body frames [m], shape (N, 3).
            heading: Directions of the x axes [rad], shape (N,).
        """
        self.position = position
        if not self.has_heading:
            self.orientation = quaternion_from_euler(0.0, 0.0, heading)


def placed_state(
    start: StartPlacement,
    rows: IntArray,
    spawn_points: Sequence[SpawnPoint],
    *,
    position: npt.ArrayLike | str | None,
    heading: npt.ArrayLike | None,
    orientation: npt.ArrayLike | None,
    velocity: npt.ArrayLike,
    angular_velocity: npt.ArrayLike,
) -> BodyState:
    """Return poses and velocities of K copies, with the arguments of `Aircraft.place` and `reset`.

    Args:
        start: Start placement of all copies.
        rows: Indices of the copies, shape (K,).
        spawn_points: Spawn points of the world.
        position: Positions [m], the name of a spawn point, or None for those at the start.
        heading: Headings [rad]; None for that of the start or the spawn point, or 0 at a given position.
        orientation: Attitudes in place of the headings; None for headings.
        velocity: Velocities [m/s].
        angular_velocity: Angular velocities [rad/s].

    Raises:
        ConfigError: If a number is not finite, a shape does not fit, or there is no such spawn point.
    """
    count = len(rows)
    state = BodyState.zeros(count)
    if position is None:
        state.position[...], state.orientation[...] = start.position[rows], start.orientation[rows]
    elif isinstance(position, str):
        point = spawn_point_of(position, spawn_points)
        require(count == 1, "position", position, "is a place for one copy", "give copies=0")
        x, y, z = point.position
        state.position[...] = x, y, z - START_HEIGHT + start.height
        heading = point.heading if heading is None else heading
    else:
        state.position[...] = finite_numbers("position", position, (count, 3))
    if orientation is not None:
        turned = finite_numbers("orientation", orientation, (count, 4))
        length = np.sqrt((turned * turned).sum(axis=1))
        unit = bool((np.abs(length - 1.0) < 1e-3).all())
        require(unit, "orientation", orientation, "must be unit quaternions xyzw")
        state.orientation[...] = normalize(turned)
    elif heading is not None:
        headings = finite_angles("heading", heading, (count,))
        state.orientation[...] = quaternion_from_euler(0.0, 0.0, headings)
    state.velocity[...] = finite_numbers("velocity", velocity, (count, 3))
    state.angular_velocity[...] = finite_numbers("angular_velocity", angular_velocity, (count, 3))
    return state


def chosen_copies(copies: Copies, count: int) -> IntArray:
    """Return the indices of the chosen ones of N copies, shape (K,).

    Args:
        copies: An index, several, a slice, or a mask of shape (N,); all if None.
        count: Number of copies N.

    Raises:
        ConfigError: If there is no such copy, or one is chosen twice.
    """
    every = np.arange(count)
    if copies is None or isinstance(copies, slice):
        return every if copies is None else every[copies]
    allowed = (
        f"must be an index below {count}, several different ones, a slice, or a mask of shape ({count},)"
    )
    asked = np.asarray(copies)
    require(asked.dtype.kind in "bi" or not asked.size, "copies", copies, allowed)
    if asked.dtype.kind == "b":
        require(asked.shape == (count,), "copies", copies, allowed)
        return np.flatnonzero(asked)
    rows = np.atleast_1d(asked).astype(np.int64)
    require(rows.ndim == 1 and bool(((rows >= -count) & (rows < count)).all()), "copies", copies, allowed)
    rows = every[rows]
    require(len(np.unique(rows)) == len(rows), "copies", copies, allowed)
    return rows


def square_grid(count: int) -> Array:
    """Return the points of a square grid around the origin with a spacing of 1, shape (count, 2)."""
    side = math.ceil(math.sqrt(count))
    index = np.arange(count)
    grid = np.stack([index % side, index // side], axis=1).astype(np.float64)
    grid -= grid.mean(axis=0)
    return grid


def start_positions(position: npt.ArrayLike, *, count: int, spacing: float | None, clearance: float) -> Array:
    """Return the start positions of N vehicles [m], shape (N, 3).

    Args:
        position: Centre of a square grid, shape (3,), or the positions themselves, shape (N, 3) [m].
        count: Number of vehicles N.
        spacing: Distance of neighbours in the grid [m]; large enough to separate rotors and wings if None.
        clearance: Radius that each vehicle needs [m].
    """
    points = finite_numbers("position", position, (count, 3))
    if np.ndim(position) == 2:
        return points.copy()
    gap = 2 * clearance + GAP if spacing is None else spacing
    require(gap > 2 * clearance, "spacing", spacing, f"must be above {2 * clearance:.3g} m, or they overlap")
    placed = points.copy()
    placed[:, :2] += square_grid(count) * gap
    return placed


def find_start(
    start: StartPlacement,
    spawn_points: Sequence[SpawnPoint],
    engine: Engine,
    taken: Sequence[tuple[Array, float]],
) -> None:
    """Move vehicles without a given position to free places.

    A single vehicle takes the first free spawn point, or a place around one if all are taken. Copies stand on
    a grid around the first spawn point with enough space; otherwise on free places around each spawn point.
    If a spawn point was named, only that one is used.

    Args:
        start: Start placement of the vehicles.
        spawn_points: Spawn points of the world.
        engine: An engine that has loaded the world.
        taken: Positions [m], shape (M, 3), and radius [m] of each group of vehicles to stay clear of.

    Raises:
        ConfigError: If there is not enough room.
    """
    name = start.spawn_point
    if name is not None:
        spawn_points = [spawn_point_of(name, spawn_points)]
    if start.has_position or not spawn_points:
        return
    gap = 2 * start.radius + GAP if start.spacing is None else start.spacing
    search = _Search(start, engine, taken)
    offsets = square_grid(start.count) * gap
    for point in spawn_points:
        places, free = search.around(point, offsets)
        if free.all():
            start.move(places, np.full(start.count, point.heading))
            return
    rings = _RINGS + int(np.sqrt(start.count) / 2)
    cells = square_grid((2 * rings + 1) ** 2) * gap
    cells = cells[np.argsort((cells * cells).sum(axis=1), kind="stable")]
    found: list[Array] = []
    headings: list[float] = []
    for chosen in (cells[:1], cells[1:]) if start.count == 1 else (cells,):
        for point in spawn_points:
            for place in search.places(point, chosen, gap, at_most=start.count - len(found)):
                found.append(place)
                headings.append(point.heading)
            if len(found) == start.count:
                start.move(np.array(found), np.array(headings))
                return
    room = f"the world has room for {len(found)} of {start.count} at"
    less = "" if start.spacing is None else ", or less spacing"
    if name is not None:
        remedy = f"name another spawn point, or give a position [m]{less}"
        raise ConfigError(f"is too small: {room} it", field="position", value=name, remedy=remedy)
    raise ConfigError(
        f"is needed, since {room} its spawn points", field="position", remedy=f"give a position [m]{less}"
    )


def spawn_point_of(name: str, spawn_points: Sequence[SpawnPoint]) -> SpawnPoint:
    """Return the spawn point of a name.

    Args:
        name: The name.
        spawn_points: Spawn points of the world.

    Raises:
        ConfigError: If there is none.
    """
    found = {point.name: point for point in spawn_points if point.name is not None}
    if name not in found:
        raise unknown_name("spawn point", name, found)
    return found[name]


def ground_below(engine: Engine, middle: Array, places: Array, reach: float) -> Array:
    """Return the height of the ground below the rotors at places, shape (N, 9), -inf where none is found [m].

    Args:
        engine: An engine that has loaded the world.
        middle: Point of the ground at the centre of all places [m], shape (3,).
        places: Centres of the rotors, shape (N, 2) [m].
        reach: Distance of the rotor tips from their centre [m].
    """
    around = (places[:, None] + reach * _BELOW_ROTORS).reshape(-1, 2)
    # Ground that rises by its distance from the middle is found, and no roof above the middle.
    above = _ABOVE_GROUND + np.hypot(*(around - middle[:2]).T)
    headroom = _distances(engine, middle[None] + [0.0, 0.0, 0.5 * _ABOVE_GROUND], [0.0, 0.0, 1.0])[0]
    height = middle[2] + np.minimum(above, headroom + 0.4 * _ABOVE_GROUND)
    below = _distances(engine, np.column_stack([around, height]), [0.0, 0.0, -1.0])
    heights: Array = height - below
    return heights.reshape(len(places), -1)


class _Search:
    """Search for places where a vehicle touches neither the world nor another vehicle."""

    def __init__(self, start: StartPlacement, engine: Engine, taken: Sequence[tuple[Array, float]]) -> None:
        self._start, self._engine, self._taken = start, engine, list(taken)

    def around(self, point: SpawnPoint, offsets: Array) -> tuple[Array, BoolArray]:
        """Return places around a spawn point [m], shape (N, 3), and which are free, shape (N,)."""
        ground = np.array(point.position) - [0.0, 0.0, START_HEIGHT]
        places = np.column_stack([ground[:2] + offsets, np.full(len(offsets), ground[2])])
        free = np.ones(len(places), dtype=np.bool_)
        if self._has_ground(ground):
            places[:, 2], free = self._survey(ground, places[:, :2])
            # The spawn point itself is free of the world, and at the height given, by definition.
            middle = ~offsets.any(axis=1)
            free |= middle
            places[middle, 2] = np.maximum(places[middle, 2], ground[2])
        places[:, 2] += self._start.height
        return places, free & self._apart(places)

    def places(self, point: SpawnPoint, offsets: Array, gap: float, *, at_most: int) -> list[Array]:
        """Reserve and return the first free places around a spawn point [m]."""
        if at_most <= 0 or not len(offsets):
            return []
        places, free = self.around(point, offsets)
        chosen = list(places[free][:at_most])
        if chosen:
            self._taken.append((np.array(chosen), gap - GAP - self._start.radius))
        return chosen

    def _apart(self, places: Array) -> BoolArray:
        apart = np.ones(len(places), dtype=np.bool_)
        for taken, radius in self._taken:
            least = self._start.radius + radius + GAP - 1e-9
            for row in np.flatnonzero(apart):
                away = taken - places[row]
                apart[row] = (away * away).sum(axis=1).min() >= least * least
        return apart

    def _has_ground(self, ground: Array) -> bool:
        """Return whether rays hit the world; in Isaac Sim they do not before it plays."""
        start = ground[None] + [0.0, 0.0, START_HEIGHT]
        return bool(_distances(self._engine, start, [0.0, 0.0, -1.0])[0] < _ABOVE_GROUND)

    def _survey(self, ground: Array, places: Array) -> tuple[Array, BoolArray]:
        """Return the height of the ground at places [m], and which are level, reachable and clear."""
        reach = self._start.radius
        heights = ground_below(self._engine, ground, places, reach)
        top = heights.max(axis=1)
        free = top - heights.min(axis=1) <= _LEVEL * reach
        top[np.abs(top - ground[2]) < _EXACT] = ground[2]
        top[~free] = ground[2]
        rows = np.flatnonzero(free)
        free[rows] = self._reachable(ground, places[rows], top[rows])
        rows = np.flatnonzero(free)
        free[rows] = self._clear(np.column_stack([places[rows], top[rows]]))
        return top, free

    def _reachable(self, ground: Array, places: Array, top: Array) -> BoolArray:
        """Return which places a free straight line leads to: those are outside of all solids."""
        rise = np.array([0.0, 0.0, 0.5 * _ABOVE_GROUND])
        path = np.column_stack([places, top]) - ground
        length = np.sqrt((path * path).sum(axis=1))
        origins = np.tile(ground + rise, (len(path), 1))
        path[length == 0.0] = [0.0, 0.0, 1.0]
        reached: BoolArray = _distances(self._engine, origins, path) >= length
        return reached

    def _clear(self, places: Array) -> BoolArray:
        """Return which places on the ground have no obstacles around and above the vehicle."""
        angles = np.arange(_DIRECTIONS, dtype=np.float64) * (2 * np.pi / _DIRECTIONS)
        sines, cosines = sine_and_cosine(angles)
        directions = np.column_stack([cosines, sines, np.zeros(_DIRECTIONS)])
        clear = np.ones(len(places), dtype=np.bool_)
        low = self._start.height
        for height in (low, low + 0.2):
            origins = np.repeat(places + np.array([0.0, 0.0, height]), _DIRECTIONS, axis=0)
            around = _distances(self._engine, origins, np.tile(directions, (len(places), 1)))
            clear &= (
                around.reshape(-1, _DIRECTIONS).min(axis=1, initial=np.inf) > self._start.radius + _MARGIN
            )
        up = _distances(self._engine, places + np.array([0.0, 0.0, low]), [0.0, 0.0, 1.0])
        return clear & (up > _HEADROOM)


def _distances(engine: Engine, origins: Array, directions: Array | list[float]) -> Array:
    """Return the lengths of rays up to their first hit, infinite without one, shape (K,) [m]."""
    along = np.broadcast_to(np.asarray(directions, dtype=np.float64), origins.shape)
    none = np.full(len(origins), -1)
    return engine.raycast(origins, np.ascontiguousarray(along), 1e4, skip=none).distance
