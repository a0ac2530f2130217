"""Randomizers of vehicle poses, independent of flights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.core.visuals import Snapshot
from pegasus.dataset.randomizers.randomizer import Moment, Mount, Randomizer, Range, note, require_range
from pegasus.labels.entities import whole_shape

_TRIES = 200


@dataclass(frozen=True, kw_only=True)
class Poses(Randomizer):
    """Places vehicles, such as the one with the camera, at random free positions in each frame."""

    vehicles: tuple[str, ...]
    """Names of the vehicles."""
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Centre of the box of positions [m]."""
    extent: tuple[float, float] = (10.0, 10.0)
    """Half lengths of that box along x and y [m]."""
    height: Range = (1.0, 10.0)
    """Height above the centre of the box [m]."""
    tilt: float = 0.2
    """Largest roll and pitch [rad]; headings are uniform."""
    speed: float = 0.0
    """Largest speed in any direction, visible in motion vectors [m/s]."""
    clearance: float = 1.0
    """Clearance from everything [m]."""

    def __post_init__(self) -> None:
        sized = all(0 < length < math.inf for length in self.extent)
        require(sized, "extent", self.extent, "must hold two lengths above 0 m")
        require_range("height", self.height)
        require(0 <= self.tilt <= math.pi, "tilt", self.tilt, "must be from 0 to pi rad")
        require(0 <= self.speed < math.inf, "speed", self.speed, "must be at least 0 m/s and finite")
        require(0 < self.clearance < math.inf, "clearance", self.clearance, "must be above 0 m and finite")

    def moment(self, moment: Moment, rng: np.random.Generator) -> Moment:
        """Return the instant with vehicles at random positions."""
        half = np.array(self.extent)
        waiting = rows_of(moment.snapshot, self.vehicles)
        for row, radius in list(waiting.items()):
            del waiting[row]
            reach = max(self.clearance, radius)
            for _ in range(_TRIES):
                offset = np.array([*rng.uniform(-half, half), rng.uniform(*self.height)])
                place = np.array(self.center) + offset
                if _is_free(moment, place, reach, row, waiting):
                    moment = posed(moment, row, place, _turn(self.tilt, rng), _velocity(self.speed, rng))
                    break
            else:
                raise ConfigError(
                    "no free place was found",
                    field="extent",
                    value=self.extent,
                    remedy="widen it, raise height, or lower clearance",
                )
        _note_places(rng, moment, self.vehicles)
        return moment


@dataclass(frozen=True, kw_only=True)
class InView(Randomizer):
    """Places vehicles in the view of a camera, uniform over its image, anew in each frame."""

    vehicles: tuple[str, ...]
    """Names of the vehicles."""
    camera: str | None = None
    """Camera as VEHICLE/SENSOR; the first one of the dataset when None."""
    distance: Range = (2.0, 20.0)
    """Distance from the camera, uniformly distributed [m]."""
    presence: float = 1.0
    """Probability that a vehicle is placed in view; otherwise it keeps its position."""
    tilt: float = 0.5
    """Largest roll and pitch [rad]; headings are uniform."""
    speed: float = 0.0
    """Largest speed in any direction, visible in motion vectors [m/s]."""

    def __post_init__(self) -> None:
        require_range("distance", self.distance, least=0.01)
        require(0 <= self.presence <= 1, "presence", self.presence, "must be from 0 to 1")
        require(0 <= self.tilt <= math.pi, "tilt", self.tilt, "must be from 0 to pi rad")
        require(0 <= self.speed < math.inf, "speed", self.speed, "must be at least 0 m/s and finite")

    def moment(self, moment: Moment, rng: np.random.Generator) -> Moment:
        """Return the instant with vehicles in view; one without a free position keeps its own."""
        mount = self._mount(moment)
        placing = {
            row: radius
            for row, radius in rows_of(moment.snapshot, self.vehicles).items()
            if rng.uniform() < self.presence
        }
        require(
            moment.snapshot.first_row(mount.vehicle) + mount.copy not in placing,
            "vehicles",
            mount.vehicle,
            "must not hold the one that carries the camera",
        )
        waiting = dict(placing)
        for row, radius in placing.items():
            del waiting[row]
            for _ in range(_TRIES):
                place = self._place(moment, mount, radius, rng)
                if place is not None and _is_free(moment, place, radius, row, waiting):
                    moment = posed(moment, row, place, _turn(self.tilt, rng), _velocity(self.speed, rng))
                    break
        _note_places(rng, moment, self.vehicles)
        return moment

    def _mount(self, moment: Moment) -> Mount:
        if self.camera is None:
            return moment.mounts[0]
        known = [mount.name for mount in moment.mounts]
        require(self.camera in known, "camera", self.camera, f"must be one of {', '.join(known)}")
        return moment.mounts[known.index(self.camera)]

    def _place(self, moment: Moment, mount: Mount, radius: float, rng: np.random.Generator) -> Array | None:
        optics, row = mount.optics, moment.snapshot.first_row(mount.vehicle) + mount.copy
        pixel = rng.uniform(size=2) * np.array(optics.resolution)
        distance = float(rng.uniform(*self.distance))
        body = matrix_from_quaternion(moment.snapshot.orientation[row])
        ray: Array = body @ optics.rotation @ optics.lens.directions(pixel, optics.resolution)
        if not np.isfinite(ray).all() or distance < 2 * radius:
            return None
        origin = moment.snapshot.position[row] + body @ optics.position
        hit = moment.engine.raycast(origin[None], ray[None], distance, skip=np.array([-1]))
        if bool(hit.hit[0]) and int(hit.body[0]) < 0:
            return None
        place: Array = origin + distance * ray
        return place


def _note_places(rng: np.random.Generator, moment: Moment, names: Sequence[str]) -> None:
    """Note the poses and velocities of all copies of vehicles in a frame."""
    snapshot = moment.snapshot
    for name in names:
        first = snapshot.first_row(name)
        rows = slice(first, first + len(snapshot.vehicle(name).prefixes))
        columns = ("position", "orientation", "velocity")
        note(rng, **{name: {column: getattr(snapshot, column)[rows] for column in columns}})


def rows_of(snapshot: Snapshot, names: Sequence[str]) -> dict[int, float]:
    """Return the rows of vehicles in the arrays over all bodies, and the radius that each one needs [m].

    Raises:
        ConfigError: If there is no such vehicle.
    """
    known = [item.name for item in snapshot.vehicles]
    rows: dict[int, float] = {}
    for name in names:
        require(name in known, "vehicles", name, f"must be among {', '.join(known)}")
        drawn = snapshot.vehicle(name)
        shape = whole_shape(drawn.body)
        reach = 0.0 if shape is None else float(np.sqrt((shape.outline**2).sum(axis=1).max()))
        # Propellers reach further than the arms.
        first = snapshot.first_row(name)
        rows |= {first + copy: 1.5 * reach for copy in range(len(drawn.prefixes))}
    return rows


def posed(moment: Moment, row: int, position: Array, orientation: Array, velocity: Array) -> Moment:
    """Return an instant with a body at another pose, reached at constant velocity.

    Args:
        moment: The instant.
        row: Row of the body.
        position: Its position [m], shape (3,).
        orientation: Unit quaternion xyzw, shape (4,).
        velocity: Its velocity in the world [m/s], shape (3,).
    """
    before = position - moment.period * velocity
    return replace(
        moment,
        snapshot=_with_row(moment.snapshot, row, position, orientation, velocity),
        previous=_with_row(moment.previous, row, before, orientation, velocity),
    )


def _with_row(snapshot: Snapshot, row: int, position: Array, orientation: Array, velocity: Array) -> Snapshot:
    values = {
        "position": position,
        "orientation": orientation,
        "velocity": velocity,
        "angular_velocity": np.zeros(3),
    }
    arrays = {name: getattr(snapshot, name).copy() for name in values}
    for name, value in values.items():
        arrays[name][row] = value
    return replace(snapshot, **arrays)


def _is_free(moment: Moment, place: Array, radius: float, row: int, waiting: dict[int, float]) -> bool:
    """Return whether nothing is near a place, those aside that are still to be put somewhere."""
    apart = moment.snapshot.position - place
    near = np.sqrt((apart * apart).sum(axis=1)) < 2 * radius
    near[[row, *waiting]] = False
    return not near.any() and moment.clearance.free(place, radius)


def _turn(tilt: float, rng: np.random.Generator) -> Array:
    roll, pitch = rng.uniform(-tilt, tilt, size=2)
    return quaternion_from_euler(roll, pitch, rng.uniform(-math.pi, math.pi))


def _velocity(speed: float, rng: np.random.Generator) -> Array:
    direction = rng.standard_normal(3)
    return direction / np.sqrt(direction @ direction) * speed * rng.uniform()
