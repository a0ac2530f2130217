"""Enclosing objects of points."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.scene import Instance, Scene

_AXES = np.concatenate([np.eye(3), -np.eye(3)])
_KEPT = 32
"""Number of instances near the last points whose triangles are kept."""


class _Triangles(NamedTuple):
    """Triangles of an instance, turned as they are placed, with their origin at that of the instance."""

    corners: Array
    """Corners [m], shape (V, 3)."""
    faces: npt.NDArray[np.uint32]
    """Indices of the corners, anticlockwise seen from outside, shape (T, 3)."""
    low: Array
    """Least coordinates of each triangle, shape (3, T)."""
    high: Array
    """Greatest coordinates of each triangle, shape (3, T)."""


class Enclosures:
    """Search for instances that enclose a point."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        boxes = {key: _box(geometry.vertices) for key, geometry in scene.geometries.items()}
        drawn = np.array([boxes[item.geometry] for item in scene.instances]).reshape(-1, 2, 3)
        placed = np.array([item.transform[:3] for item in scene.instances]).reshape(-1, 3, 4)
        self._middle = (placed[..., :3] @ drawn[:, 0, :, None])[..., 0] + placed[..., 3]
        self._half = (np.abs(placed[..., :3]) @ drawn[:, 1, :, None])[..., 0]
        self._kept: dict[int, _Triangles] = {}
        # No triangle of the instance is above or below points nearer than `clearance` to `passed` in x and y.
        self._passed = np.zeros((len(placed), 2))
        self._clearance = np.zeros(len(placed))

    def around(self, point: Array) -> str | None:
        """Return the path of an instance that encloses a point, or None.

        A point is inside if rays along all six axes meet the back of the instance's surface first.

        Args:
            point: The point in the scene's frame [m], shape (3,).
        """
        near = (np.abs(point - self._middle) < self._half).all(axis=1)
        near &= (np.abs(point[:2] - self._passed) >= self._clearance[:, None]).any(axis=1)
        for index in np.flatnonzero(near).tolist():
            item = self._scene.instances[index]
            triangles, offset = self._triangles(index, item), item.transform[:3, 3] - point
            column = _crossed(triangles, offset, 2)
            if not len(column):
                self._passed[index], self._clearance[index] = point[:2], _clearance(triangles, offset)
            elif _inside(triangles, offset, column):
                return item.path
        return None

    def _triangles(self, index: int, item: Instance) -> _Triangles:
        """Return the triangles of an instance, kept from one point to the next."""
        kept = self._kept.pop(index, None)
        if kept is None:
            geometry = self._scene.geometries[item.geometry]
            corners = geometry.vertices.astype(np.float64) @ item.transform[:3, :3].T
            # A mirrored instance reverses its triangles.
            mirrored = np.linalg.det(item.transform[:3, :3]) < 0
            faces = geometry.faces[:, ::-1] if mirrored else geometry.faces
            along = np.ascontiguousarray(corners.T)[:, faces]
            kept = _Triangles(corners, faces, along.min(axis=2), along.max(axis=2))
        # The instance of the latest use is the last one.
        self._kept[index] = kept
        for oldest in list(self._kept)[:-_KEPT]:
            self._kept.pop(oldest, None)
        return kept


def _box(vertices: npt.NDArray[np.float32]) -> Array:
    """Return centre and half lengths of the bounding box of points, shape (2, 3)."""
    if not len(vertices):
        return np.array([np.zeros(3), np.full(3, -1.0)])
    low, high = vertices.min(axis=0).astype(np.float64), vertices.max(axis=0).astype(np.float64)
    return np.array([(low + high) / 2, (high - low) / 2])


def _crossed(placed: _Triangles, offset: Array, axis: int) -> IntArray:
    """Return the triangles that a line through a point along an axis may meet.

    Args:
        placed: The triangles.
        offset: Their origin, seen from the point [m], shape (3,).
        axis: Number of the axis.
    """
    # Their corners lie on both sides of the point along the other axes.
    one, two = (
        (placed.high[other] > -offset[other]) & (placed.low[other] <= -offset[other])
        for other in (axis - 1, axis - 2)
    )
    return np.flatnonzero(one & two)


def _clearance(placed: _Triangles, offset: Array) -> float:
    """Return how far a point can move in x and in y before a triangle may be above or below it [m].

    Args:
        placed: The triangles.
        offset: Their origin, seen from the point [m], shape (3,).
    """
    gaps = [np.maximum(placed.low[axis] + offset[axis], -offset[axis] - placed.high[axis]) for axis in (0, 1)]
    # A little less, for the rounding.
    return 0.999999 * float(np.maximum(*gaps).min(initial=np.inf))


def _inside(placed: _Triangles, offset: Array, column: IntArray) -> bool:
    """Return whether rays from a point along all six axes meet the back of a triangle first.

    Args:
        placed: The triangles.
        offset: Their origin, seen from the point [m], shape (3,).
        column: Those that rays along z may meet.
    """
    # Most points are below the open sky, so that the first ray is the only one.
    for axis in (2, 1, 0):
        met = column if axis == 2 else _crossed(placed, offset, axis)
        triangles = placed.corners[placed.faces[met]] + offset
        if not len(triangles) or not all(_hits_back_first(triangles, way) for way in _AXES[axis::3]):
            return False
    return True


def _hits_back_first(triangles: Array, way: Array) -> bool:
    """Return whether a ray from the origin meets the back of a triangle first (Möller, Trumbore 1997)."""
    first = triangles[:, 1] - triangles[:, 0]
    second = triangles[:, 2] - triangles[:, 0]
    from_corner = -triangles[:, 0]
    crossed, normal = _cross(from_corner, first), _cross(way[None], second)
    determinant = (first * normal).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (from_corner * normal).sum(axis=1) / determinant
        v = crossed @ way / determinant
        distance = (second * crossed).sum(axis=1) / determinant
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (distance > 0)
    # The determinant is positive where a ray meets the front.
    return bool(hit.any() and determinant[np.argmin(np.where(hit, distance, np.inf))] <= 0)


def _cross(a: Array, b: Array) -> Array:
    """Return cross products of rows, shape (K, 3); `np.cross` takes several times as long for a few."""
    result: Array = a[:, [1, 2, 0]] * b[:, [2, 0, 1]] - a[:, [2, 0, 1]] * b[:, [1, 2, 0]]
    return result
