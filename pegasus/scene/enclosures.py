"""Enclosing objects of points."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
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

    def around(self, point: Array) -> str | None:
        """Return the path of an instance that encloses a point, or None.

        A point is inside if rays along all six axes meet the back of the instance's surface first.

        Args:
            point: The point in the scene's frame [m], shape (3,).
        """
        near = (np.abs(point - self._middle) < self._half).all(axis=1)
        for index in np.flatnonzero(near).tolist():
            item = self._scene.instances[index]
            if _inside(self._triangles(index, item), item.transform[:3, 3] - point):
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


def _inside(placed: _Triangles, offset: Array) -> bool:
    """Return whether rays from a point along all six axes meet the back of a triangle first.

    Args:
        placed: The triangles.
        offset: Their origin, seen from the point [m], shape (3,).
    """

    def split(axis: int) -> BoolArray:
        """Return which triangles have corners on both sides of the point along an axis."""
        both: BoolArray = (placed.high[axis] > -offset[axis]) & (placed.low[axis] <= -offset[axis])
        return both

    # Most points are below the open sky, so that the first ray is the only one.
    for axis in (2, 1, 0):
        # Other triangles do not meet the line along the axis.
        met = np.flatnonzero(split(axis - 1) & split(axis - 2))
        triangles = placed.corners[placed.faces[met]] + offset
        if not len(triangles) or not all(_meets_back(triangles, way) for way in _AXES[axis::3]):
            return False
    return True


def _meets_back(triangles: Array, way: Array) -> bool:
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
