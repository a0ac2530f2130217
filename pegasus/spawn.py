"""Free places to start from: a world's spawn points, and the ground around them."""

from collections.abc import Iterable, Sequence

import numpy as np

from pegasus.arrays import Array, BoolArray
from pegasus.engines.engine import Engine
from pegasus.errors import ConfigError
from pegasus.scenario import SpawnPoint
from pegasus.start import GAP, square_grid
from pegasus.vehicle import START_HEIGHT, Vehicle

_ABOVE_GROUND = 1.0
"""The ground is looked for from this far above the middle, and farther for places beside it [m]."""
_LEVEL = 0.3
"""Most that the ground rises below the rotors, of their reach."""
_MARGIN = 0.15
"""Distance of the rotors' tips to what stands around [m]."""
_HEADROOM = 0.5  # [m]
_DIRECTIONS = 32
_RINGS = 8
"""Rings of places around a spawn point that are looked at beyond those that all copies would fill."""
_DIAGONALS = [[x, y] for x in (-0.7, 0.7) for y in (-0.7, 0.7)]
_BELOW_ROTORS = np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], *_DIAGONALS])
_EXACT = 1e-3
"""Ground that is found this near to that of a spawn point is the same [m]."""


def find_start(
    vehicle: Vehicle, spawn_points: Sequence[SpawnPoint], engine: Engine, others: Iterable[Vehicle]
) -> None:
    """Let a vehicle that was given no position start where it touches nothing.

    One vehicle takes the first free spawn point, or a place around one when all are taken. Copies stand on a
    grid around the first spawn point that has room for it; where none has, on free places around each.

    Args:
        vehicle: The vehicle.
        spawn_points: Those of the world.
        engine: An engine that has loaded the world.
        others: Vehicles that are kept clear of.

    Raises:
        ConfigError: If there is not enough room.
    """
    if vehicle.placed_by_user or not spawn_points:
        return
    gap = 2 * vehicle.radius + GAP if vehicle.spacing is None else vehicle.spacing
    search = _Search(vehicle, engine, list(others))
    offsets = square_grid(vehicle.count) * gap
    for point in spawn_points:
        places, free = search.around(point, offsets)
        if free.all():
            vehicle.start_at(places, np.full(vehicle.count, point.heading))
            return
    rings = _RINGS + int(np.sqrt(vehicle.count) / 2)
    cells = square_grid((2 * rings + 1) ** 2) * gap
    cells = cells[np.argsort((cells * cells).sum(axis=1), kind="stable")]
    found: list[Array] = []
    headings: list[float] = []
    for chosen in (cells[:1], cells[1:]) if vehicle.count == 1 else (cells,):
        for point in spawn_points:
            for place in search.places(point, chosen, gap, at_most=vehicle.count - len(found)):
                found.append(place)
                headings.append(point.heading)
            if len(found) == vehicle.count:
                vehicle.start_at(np.array(found), np.array(headings))
                return
    raise ConfigError(
        f"is needed, since the world has room for {len(found)} of {vehicle.count} at its spawn points",
        field="position",
        remedy="give a position [m]" if vehicle.spacing is None else "give a position [m], or less spacing",
    )


def ground_below(engine: Engine, middle: Array, places: Array, reach: float) -> Array:
    """Return the height of the ground below the rotors at places, shape (N, 9), -inf where none is found [m].

    Args:
        engine: An engine that has loaded the world.
        middle: Point of the ground in the middle of all places [m], shape (3,).
        places: Where the rotors' middles are, shape (N, 2) [m].
        reach: Distance of the rotors' tips from their middle [m].
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
    """Looks for places where a vehicle touches neither the world nor another one."""

    def __init__(self, vehicle: Vehicle, engine: Engine, others: list[Vehicle]) -> None:
        self._vehicle, self._engine = vehicle, engine
        # Where another one flies, and where it comes back to by a reset.
        self._taken = [
            (np.concatenate([other.start_position, other.state.position]), other.radius) for other in others
        ]

    def around(self, point: SpawnPoint, offsets: Array) -> tuple[Array, BoolArray]:
        """Return places around a spawn point [m], shape (N, 3), and whether each one is free, shape (N,)."""
        ground = np.array(point.position) - [0.0, 0.0, START_HEIGHT]
        places = np.column_stack([ground[:2] + offsets, np.full(len(offsets), ground[2])])
        free = np.ones(len(places), dtype=np.bool_)
        if self._has_ground(ground):
            places[:, 2], free = self._look(ground, places[:, :2])
            # The spawn point itself is free of the world by definition, and as high as it says.
            middle = ~offsets.any(axis=1)
            free |= middle
            places[middle, 2] = np.maximum(places[middle, 2], ground[2])
        places[:, 2] += self._vehicle.standing_height
        return places, free & self._apart(places)

    def places(self, point: SpawnPoint, offsets: Array, gap: float, *, at_most: int) -> list[Array]:
        """Take the first free places around a spawn point, at most a number of them."""
        if at_most <= 0 or not len(offsets):
            return []
        places, free = self.around(point, offsets)
        chosen = list(places[free][:at_most])
        if chosen:
            self._taken.append((np.array(chosen), gap - GAP - self._vehicle.radius))
        return chosen

    def _apart(self, places: Array) -> BoolArray:
        apart = np.ones(len(places), dtype=np.bool_)
        for taken, radius in self._taken:
            least = self._vehicle.radius + radius + GAP - 1e-9
            for row in np.flatnonzero(apart):
                away = taken - places[row]
                apart[row] = (away * away).sum(axis=1).min() >= least * least
        return apart

    def _has_ground(self, ground: Array) -> bool:
        """Return whether rays see the world: in Isaac Sim they do not before it plays."""
        start = ground[None] + [0.0, 0.0, START_HEIGHT]
        return bool(_distances(self._engine, start, [0.0, 0.0, -1.0])[0] < _ABOVE_GROUND)

    def _look(self, ground: Array, places: Array) -> tuple[Array, BoolArray]:
        """Return the height of the ground at places [m], and whether a vehicle may stand there."""
        reach = self._vehicle.radius
        heights = ground_below(self._engine, ground, places, reach)
        top = heights.max(axis=1)
        free = top - heights.min(axis=1) <= _LEVEL * reach
        top[np.abs(top - ground[2]) < _EXACT] = ground[2]
        top[~free] = ground[2]
        seen = np.flatnonzero(free)
        free[seen] = self._in_sight(ground, places[seen], top[seen])
        seen = np.flatnonzero(free)
        free[seen] = self._clear(np.column_stack([places[seen], top[seen]]))
        return top, free

    def _in_sight(self, ground: Array, places: Array, top: Array) -> BoolArray:
        """Return which places a straight line leads to: what is free is outside of everything."""
        rise = np.array([0.0, 0.0, 0.5 * _ABOVE_GROUND])
        way = np.column_stack([places, top]) - ground
        length = np.sqrt((way * way).sum(axis=1))
        origins = np.tile(ground + rise, (len(way), 1))
        way[length == 0.0] = [0.0, 0.0, 1.0]
        seen: BoolArray = _distances(self._engine, origins, way) >= length
        return seen

    def _clear(self, places: Array) -> BoolArray:
        """Return which places on the ground have nothing beside and above the vehicle."""
        angles = np.arange(_DIRECTIONS) * (2 * np.pi / _DIRECTIONS)
        directions = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(_DIRECTIONS)])
        clear = np.ones(len(places), dtype=np.bool_)
        low = self._vehicle.standing_height
        for height in (low, low + 0.2):
            origins = np.repeat(places + np.array([0.0, 0.0, height]), _DIRECTIONS, axis=0)
            around = _distances(self._engine, origins, np.tile(directions, (len(places), 1)))
            clear &= (
                around.reshape(-1, _DIRECTIONS).min(axis=1, initial=np.inf) > self._vehicle.radius + _MARGIN
            )
        up = _distances(self._engine, places + np.array([0.0, 0.0, low]), [0.0, 0.0, 1.0])
        return clear & (up > _HEADROOM)


def _distances(engine: Engine, origins: Array, directions: Array | list[float]) -> Array:
    """Return how far rays reach, infinite for those that meet nothing, shape (K,) [m]."""
    along = np.broadcast_to(np.asarray(directions, dtype=np.float64), origins.shape)
    none = np.full(len(origins), -1)
    return engine.raycast(origins, np.ascontiguousarray(along), 1e4, skip=none).distance
