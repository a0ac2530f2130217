"""Moving objects: poses and bounding spheres for kernels."""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.base.arrays import Array, IntArray
from pegasus.base.errors import ConfigError
from pegasus.base.frames import inverse_transform
from pegasus.render.embree.geometry_store import BOX, Prototype, device_array

CLUSTER = 8
"""Number of objects per bounding sphere of a cluster."""

Rows = npt.NDArray[np.int32]


class MovingObjects:
    """Moving objects; row 0 of the kernel tables is the static scene."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._prototypes: list[Prototype] = []
        self._poses: Array = np.zeros((0, 4, 4))
        self._inverse: Array = np.zeros((0, 4, 4))
        self._entities: list[int] = []
        self.prototypes: list[Prototype] = []
        """Prototypes of the objects that have geometry, each once."""
        self._balls: list[Array] = []
        self._members: list[Rows] = []

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

    @cached_property
    def arguments(self) -> list[Any]:
        """Arguments of kernels that look for objects, shape (K, 4) to (P + 1, 3).

        Bounding spheres, those of one prototype in succession; spheres around each `CLUSTER` of these; their
        number in a cluster; rows of the objects in `tables`; boxes around parts of the prototypes; and the
        first object, cluster and box of each prototype.
        """
        boxes = [prototype.boxes for prototype in self.prototypes]
        clusters = [clusters_of(balls) for balls in self._balls]
        lengths = [
            [len(balls), len(some), len(parts)]
            for balls, some, parts in zip(self._balls, clusters, boxes, strict=True)
        ]
        spans = np.cumsum([[0, 0, 0], *lengths], axis=0, dtype=np.int32)
        return [
            device_array(np.concatenate(self._balls), wp.vec4d),
            device_array(np.concatenate(clusters), wp.vec4d),
            CLUSTER,
            device_array(np.concatenate(self._members), wp.int32),
            device_array(np.concatenate(boxes), BOX),
            device_array(spans, wp.vec3i),
        ]

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
        self.prototypes, self._balls, self._members = [], [], []
        self.__dict__.pop("arguments", None)
        for rows in members.values():
            prototype = self._prototypes[rows[0]]
            poses = self._poses[rows]
            balls = np.empty((len(rows), 4))
            balls[:, :3] = poses[:, :3, :3] @ prototype.center + poses[:, :3, 3]
            balls[:, 3] = prototype.radius
            order = _morton_order(balls[:, :3])
            self.prototypes.append(prototype)
            self._balls.append(balls[order])
            self._members.append(np.array(rows, dtype=np.int32)[order] + 1)


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


def _morton_order(points: Array) -> IntArray:
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
