"""Topology of triangle meshes: welding, connected components, closedness, convexity, ray distances."""

from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray, IntArray

Faces = npt.NDArray[np.signedinteger[Any]]
"""Triangles over vertices, shape (F, 3)."""

# Tolerances relative to the size of a mesh, for equal vertices and for points in a plane.
WELD = 1e-6
FLAT = 1e-5
# Largest number of vertex-triangle pairs in the test of convexity; larger meshes test every second, third ...
# triangle.
_MOST_PAIRS = 10_000_000


def weld(vertices: Array, faces: Faces) -> tuple[Array, Faces]:
    """Return a mesh with coincident vertices merged, without triangles of zero area.

    Args:
        vertices: Vertices, shape (V, 3).
        faces: Triangles, shape (F, 3).
    """
    cell = WELD * max(float(np.ptp(vertices, axis=0).max()), 1e-12)
    grid = np.rint((vertices - vertices.min(axis=0)) / cell).astype(np.int64)
    # Three numbers of 20 bits are packed into one, which sorts far faster than rows.
    mixed = (grid[:, 0] << 42) | (grid[:, 1] << 21) | grid[:, 2]
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    points, triangles = vertices[first], inverse.reshape(-1)[faces]
    area = areas(points, triangles)
    lengths = np.stack([points[triangles[:, k]] - points[triangles[:, k - 1]] for k in range(3)])
    longest = (lengths * lengths).sum(axis=2).max(axis=0)
    # A triangle of negligible height is a line.
    kept = np.sqrt((area * area).sum(axis=1)) > 1e-7 * longest
    return points, triangles[kept]


def areas(vertices: Array, faces: Faces) -> Array:
    """Return normals of triangles with lengths of twice their areas, shape (F, 3)."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area: Array = np.cross(b - a, c - a)
    return area


def components(faces: Faces) -> IntArray:
    """Return the index of each triangle's connected component, shape (F,).

    Triangles are connected by edges that belong to exactly two triangles with opposite directions.

    Args:
        faces: Triangles of welded vertices, shape (F, 3).
    """
    start, end = faces.ravel().astype(np.int64), np.roll(faces, -1, axis=1).ravel().astype(np.int64)
    count = int(faces.max()) + 1
    edge = np.minimum(start, end) * count + np.maximum(start, end)
    order = np.argsort(edge, kind="stable")
    first = np.flatnonzero(np.diff(edge[order], prepend=-1))
    uses = np.diff(first, append=len(edge))
    pair = first[uses == 2]
    one, other = order[pair], order[pair + 1]
    opposite = start[one] != start[other]
    one, other = one[opposite] // 3, other[opposite] // 3
    label = np.arange(len(faces))
    while True:
        before = label.copy()
        lowest = np.minimum(label[one], label[other])
        for side in (one, other):
            np.minimum.at(label, before[side], lowest)
            np.minimum.at(label, side, lowest)
        label = label[label]
        if np.array_equal(label, before):
            return np.unique(label, return_inverse=True)[1].reshape(-1)


def is_closed(faces: Faces) -> bool:
    """Return whether each edge of a mesh belongs to two triangles with opposite directions.

    Args:
        faces: Triangles of welded vertices, shape (F, 3).
    """
    start, end = faces.ravel().astype(np.int64), np.roll(faces, -1, axis=1).ravel().astype(np.int64)
    count = int(faces.max()) + 1
    along, against = np.sort(start * count + end), np.sort(end * count + start)
    return bool((np.diff(along) > 0).all() and np.array_equal(along, against))


def is_convex(vertices: Array, faces: Faces) -> bool:
    """Return whether a mesh is closed, has a volume, and is its own convex hull.

    Args:
        vertices: Welded vertices, shape (V, 3).
        faces: Triangles, counter-clockwise seen from outside, shape (F, 3).
    """
    if len(faces) < 4 or not is_closed(faces):
        return False
    points = vertices[np.unique(faces)]
    extent = float(np.ptp(points, axis=0).max())
    faces = faces[:: len(points) * len(faces) // _MOST_PAIRS + 1]
    normal = areas(vertices, faces)
    normal /= np.sqrt((normal * normal).sum(axis=1, keepdims=True))
    height = points @ normal.T - (normal * vertices[faces[:, 0]]).sum(axis=1)
    return bool(height.max() <= FLAT * extent and height.min() < -FLAT * extent)


def ray_distances(origins: Array, direction: Array, corners: Array, taken: BoolArray) -> Array:
    """Return the distances of parallel rays to the nearest triangle; infinite without a hit.

    Source: Moeller and Trumbore 1997.

    Args:
        origins: Origins of the rays, shape (K, 3).
        direction: Unit vector, shape (3,).
        corners: Triangles, shape (T, 3, 3).
        taken: Mask of the triangles to test, shape (T,).
    """
    a, b, c = (corners[taken, k] for k in range(3))
    edge, other = b - a, c - a
    across = np.cross(direction, other)
    slope = (edge * across).sum(axis=1)
    steep = np.abs(slope) > 1e-12 * max(float(np.abs(slope).max(initial=0.0)), 1e-30)
    a, edge, other, across, slope = (item[steep] for item in (a, edge, other, across, slope))
    offset = origins[:, None] - a
    u = (offset * across).sum(axis=2) / slope
    lifted = np.cross(offset, edge)
    v = lifted @ direction / slope
    distance = (lifted * other).sum(axis=2) / slope
    met = (u >= -1e-9) & (v >= -1e-9) & (u + v <= 1 + 1e-9) & (distance > 0)
    nearest: Array = np.where(met, distance, np.inf).min(axis=1, initial=np.inf)
    return nearest
