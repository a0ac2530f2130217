"""Moving objects: poses and bounding spheres for kernels."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray
from pegasus.base.errors import ConfigError
from pegasus.base.frames import inverse_transform
from pegasus.render.embree.geometry_store import Prototype

CLUSTER = 8
"""Number of objects per bounding sphere of a cluster."""

Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Beam:
    """Cone that contains a bundle of rays."""

    origin: Array
    """Origins [m], shape (3,)."""
    axis: Array
    """Unit vector along its middle, shape (3,)."""
    angle: float
    """Largest angle of a ray to the axis [rad]."""


class MovingObjects:
    """Moving objects; row 0 of the kernel tables is the static scene."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._prototypes: list[Prototype] = []
        self._poses: Array = np.zeros((0, 4, 4))
        self._inverse: Array = np.zeros((0, 4, 4))
        self._entities: list[int] = []
        self._groups: list[tuple[Prototype, Rows, Array]] = []

    @property
    def paths(self) -> Collection[str]:
        """Paths of the objects."""
        return self._rows.keys()

    def add(self, objects: Iterable[tuple[str, Prototype, int]]) -> None:
        """Add objects at the origin.

        Args:
            objects: Name, prototype and entity's number of each.
        """
        for path, prototype, entity in objects:
            if path in self._rows:
                raise ConfigError("is in use already; every object needs a unique path", value=path)
            self._rows[path] = len(self._prototypes)
            self._prototypes.append(prototype)
            self._entities.append(entity)
        added = np.broadcast_to(np.eye(4), (len(self._prototypes) - len(self._poses), 4, 4))
        self._poses = np.concatenate([self._poses, added])
        self._arrange()

    def remove(self, paths: Collection[str]) -> None:
        """Remove objects."""
        self._find(paths)
        gone = set(paths)
        kept = [row for path, row in self._rows.items() if path not in gone]
        self._rows = {path: k for k, path in enumerate(path for path in self._rows if path not in gone)}
        self._prototypes = [self._prototypes[row] for row in kept]
        self._entities = [self._entities[row] for row in kept]
        self._poses = self._poses[kept]
        self._arrange()

    def move(self, paths: Sequence[str], poses: Array) -> None:
        """Set the poses of objects.

        Args:
            paths: Their names.
            poses: Object to world, shape (K, 4, 4).
        """
        self._poses[self._find(paths)] = poses
        self._arrange()

    def tables(self) -> tuple[Array, Array, Rows]:
        """Return rotations and offsets from world to objects, and their entities, from row 0 on."""
        identity = np.eye(4)[None]
        inverse = np.concatenate([identity, self._inverse])
        entities = np.array([-1, *self._entities], dtype=np.int32)
        return (
            np.ascontiguousarray(inverse[:, :3, :3]),
            np.ascontiguousarray(inverse[:, :3, 3]),
            entities,
        )

    def groups(self, beam: Beam | None) -> list[tuple[Prototype, Rows, Array]]:
        """Return each prototype with the rows of its objects and their bounding spheres, shape (k, 4).

        Args:
            beam: Objects outside of it can be omitted; None for all objects.
        """
        if beam is None:
            return self._groups
        kept = []
        for prototype, rows, balls in self._groups:
            seen = _within(balls, beam)
            if seen.all():
                kept.append((prototype, rows, balls))
            elif seen.any():
                kept.append((prototype, rows[seen], balls[seen]))
        return kept

    def _find(self, paths: Iterable[str]) -> list[int]:
        try:
            return [self._rows[path] for path in paths]
        except KeyError as error:
            raise ConfigError("is not an object of this renderer", value=error.args[0]) from None

    def _arrange(self) -> None:
        self._inverse = inverse_transform(self._poses)
        members: dict[int, list[int]] = {}
        for row, prototype in enumerate(self._prototypes):
            if prototype.embree is not None:
                members.setdefault(id(prototype), []).append(row)
        self._groups = []
        for rows in members.values():
            prototype = self._prototypes[rows[0]]
            poses = self._poses[rows]
            balls = np.empty((len(rows), 4))
            balls[:, :3] = poses[:, :3, :3] @ prototype.center + poses[:, :3, 3]
            balls[:, 3] = prototype.radius
            order = _near_by_near(balls[:, :3])
            self._groups.append((prototype, np.array(rows, dtype=np.int32)[order] + 1, balls[order]))


def clusters_of(balls: Array) -> Array:
    """Return bounding spheres of each `CLUSTER` consecutive spheres, shape (C, 4).

    Args:
        balls: Centre and radius of each sphere [m], shape (K, 4).
    """
    first = np.arange(0, len(balls), CLUSTER)
    low = np.minimum.reduceat(balls[:, :3], first, axis=0)
    high = np.maximum.reduceat(balls[:, :3], first, axis=0)
    clusters = np.empty((len(first), 4))
    clusters[:, :3] = (low + high) / 2
    half = (high - low) / 2
    clusters[:, 3] = np.sqrt((half * half).sum(axis=1)) + np.maximum.reduceat(balls[:, 3], first)
    return clusters


def _near_by_near(points: Array) -> IntArray:
    """Return an order that keeps neighbouring points together: the Morton curve (1966)."""
    if len(points) <= CLUSTER:
        return np.arange(len(points))
    low = points.min(axis=0)
    extent = max(float((points.max(axis=0) - low).max()), 1e-9)
    cells = ((points - low) / extent * 1023).astype(np.int64)
    code = np.zeros(len(points), np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= (cells[:, axis] >> bit & 1) << (3 * bit + axis)
    return np.argsort(code, kind="stable")


def _within(balls: Array, beam: Beam) -> BoolArray:
    """Return which spheres may intersect a cone."""
    way = balls[:, :3] - beam.origin
    distance = np.sqrt((way * way).sum(axis=1))
    radius = balls[:, 3] * 1.01 + 1e-6 * distance
    outside = distance > radius
    safe = np.maximum(distance, 1e-12)
    angle = np.arccos(np.minimum(np.maximum(way @ beam.axis / safe, -1.0), 1.0))
    touched: BoolArray = ~outside | (angle - np.arcsin(np.minimum(radius / safe, 1.0)) <= beam.angle + 1e-3)
    return touched
