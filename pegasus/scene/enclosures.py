"""Enclosing objects of points."""

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.scene.scene import Geometry, Scene

_AXES = np.concatenate([np.eye(3), -np.eye(3)])


class Enclosures:
    """Search for instances that enclose a point."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        boxes = {key: _box(geometry.vertices) for key, geometry in scene.geometries.items()}
        drawn = np.array([boxes[item.geometry] for item in scene.instances]).reshape(-1, 2, 3)
        placed = np.array([item.transform[:3] for item in scene.instances]).reshape(-1, 3, 4)
        self._middle = (placed[..., :3] @ drawn[:, 0, :, None])[..., 0] + placed[..., 3]
        self._half = (np.abs(placed[..., :3]) @ drawn[:, 1, :, None])[..., 0]

    def around(self, point: Array) -> str | None:
        """Return the path of an instance that encloses a point, or None.

        A point is inside if rays along all six axes meet the back of the instance's surface first.

        Args:
            point: The point in the scene's frame [m], shape (3,).
        """
        near = (np.abs(point - self._middle) < self._half).all(axis=1)
        for index in np.flatnonzero(near).tolist():
            item = self._scene.instances[index]
            if _inside(self._scene.geometries[item.geometry], item.transform, point):
                return item.path
        return None


def _box(vertices: npt.NDArray[np.float32]) -> Array:
    """Return centre and half lengths of the bounding box of points, shape (2, 3)."""
    if not len(vertices):
        return np.array([np.zeros(3), np.full(3, -1.0)])
    low, high = vertices.min(axis=0).astype(np.float64), vertices.max(axis=0).astype(np.float64)
    return np.array([(low + high) / 2, (high - low) / 2])


def _inside(geometry: Geometry, transform: Array, point: Array) -> bool:
    """Return whether rays from a point along all six axes meet the back of a placed triangle first."""
    # A mirrored instance reverses its triangles.
    faces = geometry.faces
    if np.linalg.det(transform[:3, :3]) < 0:
        faces = faces[:, ::-1]
    placed = geometry.vertices.astype(np.float64) @ transform[:3, :3].T + (transform[:3, 3] - point)
    # Bit k tells on which side of the point along axis k a corner lies. Only triangles with corners on both
    # sides along the other two axes can meet the line along one.
    beyond = placed > 0.0
    sides = beyond[:, 0] | beyond[:, 1] << np.uint8(1) | beyond[:, 2] << np.uint8(2)
    one, two, three = (sides[faces[:, k]] for k in range(3))
    split = (one | two | three) & ~(one & two & three)
    # Most points are below the open sky, so that the first ray is the only one.
    for axis in (2, 1, 0):
        others = 7 - (1 << axis)
        triangles = placed[faces[(split & others) == others]]
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
