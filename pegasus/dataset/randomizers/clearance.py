"""Clearance of points from the geometry of a scene."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.frames import cross
from pegasus.scene.enclosures import Enclosures
from pegasus.scene.scene import Geometry, Scene

_BLOCK = 128


class Clearance:
    """Collision test of spheres with the visible geometry of a scene.

    Args:
        scene: The scene.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        corners = {key: _corners(geometry.vertices) for key, geometry in scene.geometries.items()}
        placed = [
            corners[item.geometry] @ item.transform[:3, :3].T + item.transform[:3, 3]
            for item in scene.instances
        ]
        boxes = np.array(placed).reshape(-1, 8, 3)
        self._low, self._high = boxes.min(axis=1), boxes.max(axis=1)
        self._triangles: dict[int, _Triangles] = {}

    def free(self, point: Array, radius: float) -> bool:
        """Return whether no geometry is within a radius of a point or encloses it.

        Args:
            point: The point in the world [m], shape (3,).
            radius: Radius of the sphere [m].
        """
        if self.touches(point, radius):
            return False
        around = ((self._low <= point) & (self._high >= point)).all(axis=1)
        return not any(self._encloses(index, point) for index in np.flatnonzero(around).tolist())

    def touches(self, point: Array, radius: float) -> bool:
        """Return whether a surface of the scene is within a radius of a point; quicker than `free`.

        Args:
            point: The point in the world [m], shape (3,).
            radius: Radius of the sphere [m].
        """
        near = (self._low <= point + radius) & (self._high >= point - radius)
        for index in np.flatnonzero(near.all(axis=1)).tolist():
            triangles = self._placed(index).between(point - radius, point + radius)
            if len(triangles) and distance_to_triangles(point, triangles).min() < radius:
                return True
        return False

    def _encloses(self, index: int, point: Array) -> bool:
        """Return whether an instance encloses a point, by its triangles along the six axes."""
        item, placed = self._scene.instances[index], self._placed(index)
        axes = np.eye(3, dtype=np.bool_)
        met = [placed.between(np.where(k, -np.inf, point), np.where(k, np.inf, point)) for k in axes]
        triangles = np.concatenate(met)
        if not len(triangles):
            return False
        if np.linalg.det(item.transform[:3, :3]) < 0:
            triangles = triangles[:, ::-1]
        vertices = (triangles.reshape(-1, 3) - point).astype(np.float32)
        faces = np.arange(len(vertices), dtype=np.uint32).reshape(-1, 3)
        around = Geometry(vertices, faces, np.zeros_like(vertices))
        part = replace(item, geometry="met", transform=np.eye(4))
        scene = replace(self._scene, geometries={"met": around}, instances=[part])
        return Enclosures(scene).around(np.zeros(3)) is not None

    def _placed(self, index: int) -> "_Triangles":
        if index not in self._triangles:
            item = self._scene.instances[index]
            geometry = self._scene.geometries[item.geometry]
            vertices = geometry.vertices.astype(np.float64) @ item.transform[:3, :3].T + item.transform[:3, 3]
            self._triangles[index] = _Triangles(vertices[geometry.faces])
        return self._triangles[index]


class _Triangles:
    """Triangles with bounding boxes of each and of blocks.

    Args:
        corners: Their corners [m], shape (T, 3, 3).
    """

    def __init__(self, corners: Array) -> None:
        self._corners = corners
        self._low, self._high = corners.min(axis=1), corners.max(axis=1)
        starts = np.arange(0, len(corners), _BLOCK)
        self._block_low = np.minimum.reduceat(self._low, starts)
        self._block_high = np.maximum.reduceat(self._high, starts)

    def between(self, low: Array, high: Array) -> Array:
        """Return the triangles whose boxes meet a box, shape (K, 3, 3)."""
        blocks = np.flatnonzero(((self._block_low <= high) & (self._block_high >= low)).all(axis=1))
        rows = (blocks[:, None] * _BLOCK + np.arange(_BLOCK)).ravel()
        rows = rows[rows < len(self._corners)]
        met = ((self._low[rows] <= high) & (self._high[rows] >= low)).all(axis=1)
        found: Array = self._corners[rows[met]]
        return found


def distance_to_triangles(point: Array, triangles: Array) -> Array:
    """Return the distance of a point from each triangle [m], shape (T,).

    Above a triangle it is the distance from its plane, elsewhere that from the nearest edge.

    Args:
        point: The point [m], shape (3,).
        triangles: Corners [m], shape (T, 3, 3).
    """
    starts, edges = triangles, np.roll(triangles, -1, axis=1) - triangles
    to_point = point - starts
    length = np.maximum((edges * edges).sum(axis=-1), 1e-300)
    along = np.clip((to_point * edges).sum(axis=-1) / length, 0.0, 1.0)
    apart = to_point - along[..., None] * edges
    from_edges = np.sqrt((apart * apart).sum(axis=-1).min(axis=-1))
    normal = cross(edges[:, 0], edges[:, 1])
    size = np.sqrt((normal * normal).sum(axis=-1))
    side = (cross(edges, to_point) * normal[:, None]).sum(axis=-1)
    over = ((side >= 0).all(axis=-1) | (side <= 0).all(axis=-1)) & (size > 0)
    from_plane = np.abs((to_point[:, 0] * normal).sum(axis=-1)) / np.maximum(size, 1e-300)
    distance: Array = np.where(over, np.minimum(from_plane, from_edges), from_edges)
    return distance


def _corners(vertices: npt.NDArray[np.float32]) -> Array:
    """Return the corners of the box around points, shape (8, 3)."""
    if not len(vertices):
        return np.full((8, 3), np.nan)
    low, high = vertices.min(axis=0).astype(np.float64), vertices.max(axis=0).astype(np.float64)
    choose = np.array([[k >> 2 & 1, k >> 1 & 1, k & 1] for k in range(8)], dtype=np.float64)
    corners: Array = low + choose * (high - low)
    return corners
