"""Randomizer of flights."""

import math
from dataclasses import dataclass, replace

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import ScenarioSpec, ScenarioVehicle, WorldSpec
from pegasus.control import trajectories
from pegasus.core.placement import spawn_point_of
from pegasus.dataset.randomizers.clearance import Clearance
from pegasus.dataset.randomizers.randomizer import Randomizer, Range, note, require_range

_TRIES = 60
_POINT_TRIES = 30
_SAMPLE_PERIOD = 0.1
# Fraction of the box, or of the path, that the last attempt uses.
_LEAST_PART = 0.03
# Fractions of the clearance that are tried for the remedy of the error.
_LESS = (0.7, 0.5, 0.3)


@dataclass(frozen=True, kw_only=True)
class Flights(Randomizer):
    """Minimum-snap flights through random points, clear of the world and of one another.

    A flight starts in the air at the first point, and repeats after the last one. The points lie in a box
    around the vehicle's position in the scenario, or along a random path of the world if it has any.
    """

    vehicles: tuple[str, ...] | None = None
    """Names of the vehicles; all of the scenario's when None."""
    points: int = 5
    """Points of each closed curve."""
    extent: tuple[float, float] = (10.0, 10.0)
    """Half lengths of the box along x and y [m]."""
    height: Range = (2.0, 8.0)
    """Height of the points above the vehicle's position in the scenario [m]."""
    along_paths: bool = True
    """Place points along a path of the world, if it has any, within 1 m aside."""
    speed: Range = (1.0, 5.0)
    """Largest speed of a flight, uniformly distributed [m/s]."""
    clearance: float = 1.0
    """Clearance from the world [m], and half of that between two vehicles."""

    def __post_init__(self) -> None:
        require(self.points >= 3, "points", self.points, "must be 3 or more")
        sized = all(0 < length < math.inf for length in self.extent)
        require(sized, "extent", self.extent, "must hold two lengths above 0 m")
        require_range("height", self.height)
        require_range("speed", self.speed, least=0.1)
        require(0 < self.clearance < math.inf, "clearance", self.clearance, "must be above 0 m and finite")

    def flights(
        self, spec: ScenarioSpec, world: WorldSpec, clearance: Clearance, rng: np.random.Generator
    ) -> ScenarioSpec:
        """Return the scenario with random flights."""
        names = [
            entry.name or (entry.model if isinstance(entry.model, str) else entry.model.name)
            for entry in spec.vehicles
        ]
        chosen = names if self.vehicles is None else self.vehicles
        unknown = [name for name in chosen if name not in names]
        require(not unknown, "vehicles", unknown, f"must be among {', '.join(names)}")
        spawn_points = iter(world.spawn_points or ())
        curves: list[Array] = []
        vehicles = []
        for entry, name in zip(spec.vehicles, names, strict=True):
            if name in chosen:
                require(entry.count == 1, "vehicles", name, "must be one vehicle each, not several copies")
                if isinstance(entry.position, str):
                    start = spawn_point_of(entry.position, world.spawn_points or ()).position
                else:
                    start = entry.position or next((p.position for p in spawn_points), (0.0, 0.0, 0.0))
                entry = self._flown_or_error(entry, np.array(start), world, clearance, curves, rng)
            vehicles.append(entry)
        return spec.model_copy(update={"vehicles": vehicles})

    def _flown_or_error(
        self,
        entry: ScenarioVehicle,
        start: Array,
        world: WorldSpec,
        clearance: Clearance,
        curves: list[Array],
        rng: np.random.Generator,
    ) -> ScenarioVehicle:
        flown = self._flown(entry, start, world, clearance, curves, rng)
        if flown is not None:
            return flown
        less = (replace(self, clearance=self.clearance * part) for part in _LESS)
        enough = (r.clearance for r in less if r._flown(entry, start, world, clearance, [*curves], rng))
        nearer = next(enough, None)
        raise ConfigError(
            "no flight was found that stays clear of the world",
            field="clearance",
            value=self.clearance,
            remedy="change extent and height" if nearer is None else f"{nearer:.2g} m would do",
        )

    def _flown(
        self,
        entry: ScenarioVehicle,
        start: Array,
        world: WorldSpec,
        clearance: Clearance,
        curves: list[Array],
        rng: np.random.Generator,
    ) -> ScenarioVehicle | None:
        for attempt in range(_TRIES):
            # Between shelves only short stretches are free of corners.
            points = self._points(start, world, clearance, rng, part=_LEAST_PART ** (attempt / _TRIES))
            speed = float(rng.uniform(*self.speed))
            if points is None:
                continue
            plan = {
                "points": [tuple(point) for point in points.tolist()],
                "speed": speed,
                "closed": True,
                "laps": 1000.0,
                "yaw": "forward",
                "ground": float(points[:, 2].min() - 1000.0),
            }
            curve = _sampled(plan)
            if self._clear(curve, clearance, curves):
                curves.append(curve)
                x, y, z = points[0].tolist()
                name = entry.model if isinstance(entry.model, str) else entry.model.name
                note(rng, **{entry.name or name: {"points": points, "speed": speed}})
                ahead = curve[1] - curve[0]
                backend = {
                    "model": "geometric",
                    "relative": False,
                    "spin_up": 0.0,
                    "trajectory": [{"minimum_snap": plan}],
                }
                changes = {
                    "position": (x, y, z),
                    "heading": math.atan2(ahead[1], ahead[0]),
                    "backends": [backend],
                }
                return entry.model_copy(update=changes)
        return None

    def _points(
        self,
        start: Array,
        world: WorldSpec,
        clearance: Clearance,
        rng: np.random.Generator,
        *,
        part: float,
    ) -> Array | None:
        """Return points, each in a clear straight line from the one before; None where that fails.

        They lie in a part of the box, or along a part of a path.
        """
        way = self._places_along_a_path(world, rng, part)
        half = np.array(self.extent) * part
        points: list[Array] = []
        for number in range(self.points):
            for _ in range(_POINT_TRIES):
                aside = rng.uniform(-1.0, 1.0, size=2)
                if way is not None:
                    point = way[number] + np.array([*(aside * math.sqrt(part)), 0.0])
                else:
                    point = start + np.array([*(aside * half), rng.uniform(*self.height)])
                # A point reached from a free one without contact is free as well.
                if not points and clearance.free(point, self.clearance):
                    break
                if points and self._straight(points[-1], point, clearance):
                    break
            else:
                return None
            points.append(point)
        return np.array(points)

    def _places_along_a_path(self, world: WorldSpec, rng: np.random.Generator, part: float) -> Array | None:
        paths = [np.array(world.paths[name]) for name in sorted(world.paths) if len(world.paths[name]) >= 2]
        if not self.along_paths or not paths:
            return None
        return along(paths[int(rng.integers(len(paths)))], self.points, rng, part=part)

    def _straight(self, a: Array, b: Array, clearance: Clearance) -> bool:
        steps = np.linspace(1.0, 0.0, 2 + int(math.dist(a, b) / self.clearance))
        return not any(clearance.touches(a + (b - a) * part, self.clearance) for part in steps)

    def _clear(self, curve: Array, clearance: Clearance, others: list[Array]) -> bool:
        for other in others:
            length = max(len(curve), len(other))
            # Both curves repeat.
            rows = np.arange(length)
            apart = curve[rows % len(curve)] - other[rows % len(other)]
            if (apart * apart).sum(axis=1).min() < self.clearance**2 / 4:
                return False
        last = curve[0]
        for point in curve:
            if math.dist(point, last) >= self.clearance / 4:
                last = point
                if clearance.touches(point, self.clearance):
                    return False
        return True


def along(path: Array, count: int, rng: np.random.Generator, *, part: float = 1.0) -> Array:
    """Return points in order along a random stretch of a path [m], shape (count, 3).

    Args:
        path: Points that the path goes through [m], shape (P, 3).
        count: Number of points.
        rng: Random numbers.
        part: Length of the stretch, of the whole path.
    """
    length = np.concatenate([[0.0], np.cumsum(np.sqrt((np.diff(path, axis=0) ** 2).sum(axis=1)))])
    begin = float(rng.uniform(0.0, (1.0 - part) * length[-1]))
    places = begin + np.sort(rng.uniform(0.0, part * length[-1], size=count))
    points: Array = np.column_stack([np.interp(places, length, path[:, k]) for k in range(3)])
    return points


def _sampled(plan: dict[str, object]) -> Array:
    curve = trajectories.minimum_snap(**{**plan, "laps": 1.0})  # type: ignore[arg-type]
    times = np.arange(0.0, curve.duration, _SAMPLE_PERIOD)
    return np.array([curve.sample(float(t)).position for t in times])
