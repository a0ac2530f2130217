"""Surfaces from cross-sections: faces between rings of points, tubes, turned shapes, and smooth normals."""

from collections.abc import Sequence

import numpy as np

from pegasus.arrays import Array, IntArray

Faces = list[list[int]]


def loft_faces(ring_count: int, corner_count: int, *, closed: bool = True) -> Faces:
    """Return quads between rings of points that follow each other, and both ends closed.

    Args:
        ring_count: Number of rings.
        corner_count: Points of each ring, counter-clockwise seen from the end.
        closed: Whether both ends are closed.
    """
    faces = []
    for ring in range(ring_count - 1):
        for corner in range(corner_count):
            a, b = ring * corner_count + corner, ring * corner_count + (corner + 1) % corner_count
            faces.append([a, b, b + corner_count, a + corner_count])
    if not closed:
        return faces
    last = (ring_count - 1) * corner_count
    return [*faces, list(range(corner_count))[::-1], list(range(last, last + corner_count))]


def turned(profile: Sequence[tuple[float, float]], corner_count: int) -> tuple[Array, Faces]:
    """Return the solid that a profile sweeps about the z axis: points [m] and faces.

    Args:
        profile: Radius and height of each ring, from bottom to top [m].
        corner_count: Points of each ring.
    """
    angle = 2 * np.pi * np.arange(corner_count) / corner_count
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rings = [np.column_stack([radius * circle, np.full(corner_count, z)]) for radius, z in profile]
    return np.concatenate(rings), loft_faces(len(rings), corner_count)


def tube(path: Array, radii: Sequence[tuple[float, float]], corner_count: int) -> tuple[Array, Faces]:
    """Return a tube of elliptic cross-section along a path: points [m] and faces.

    Args:
        path: Points of the path, nowhere vertical [m], shape (K, 3).
        radii: Radius across the path, level, and that across both, for each point [m].
        corner_count: Points of each ring.
    """
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    level = np.cross([0.0, 0.0, 1.0], along)
    level /= np.linalg.norm(level, axis=1, keepdims=True)
    upright = np.cross(along, level)
    angle = 2 * np.pi * np.arange(corner_count) / corner_count
    rings = [
        center + wide * np.outer(np.cos(angle), side) + high * np.outer(np.sin(angle), up)
        for center, side, up, (wide, high) in zip(path, level, upright, radii, strict=True)
    ]
    return np.concatenate(rings), loft_faces(len(path), corner_count)


def point_normals(points: Array, faces: Faces) -> Array:
    """Return normals at points, those of the faces around averaged by their areas, shape (P, 3).

    Args:
        points: Points, shape (P, 3).
        faces: Points of each face.
    """
    normals = np.zeros_like(points)
    for face in faces:
        normals[face] += _area(points[face])
    return _rounded(normals)


def corner_normals(points: Array, faces: Faces, crease: float) -> tuple[Array, IntArray]:
    """Return normals at the corners of faces, in their order: the different ones and the index of each.

    At each corner the normals of the faces that meet there are averaged by their areas, without those that
    make more than an angle with the face of the corner.

    Args:
        points: Points, shape (P, 3).
        faces: Points of each face.
        crease: That angle [rad].
    """
    areas = np.array([_area(points[face]) for face in faces])
    directions = areas / np.maximum(np.linalg.norm(areas, axis=1, keepdims=True), 1e-30)
    around: list[list[int]] = [[] for _ in range(len(points))]
    for index, face in enumerate(faces):
        for corner in face:
            around[corner].append(index)
    normals = []
    for index, face in enumerate(faces):
        for corner in face:
            near = np.array(around[corner])
            normals.append(areas[near[directions[near] @ directions[index] > np.cos(crease)]].sum(axis=0))
    values, indices = np.unique(_rounded(np.array(normals)), axis=0, return_inverse=True)
    return values, indices.reshape(-1)


def _rounded(normals: Array) -> Array:
    """Return normals of unit length, rounded so that they come out the same on every machine."""
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    rounded: Array = np.round(normals / np.maximum(lengths, 1e-30), 3) + 0.0
    return rounded


def _area(polygon: Array) -> Array:
    """Return the normal of a polygon, as long as twice its area (Newell)."""
    area: Array = np.cross(polygon, np.roll(polygon, -1, axis=0)).sum(axis=0)
    return area
