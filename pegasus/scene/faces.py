"""Faces of generated meshes: lofts and boxes, their texture coordinates and smooth normals."""

import numpy as np

from pegasus.base.arrays import Array, IntArray

Faces = list[list[int]]


def loft_faces(ring_count: int, corner_count: int, *, closed: bool = True) -> Faces:
    """Return the quads between consecutive rings of points, with faces that close both ends.

    Args:
        ring_count: Number of rings.
        corner_count: Points of each ring, counter-clockwise seen from the end.
        closed: Whether to close both ends.
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


def point_normals(points: Array, faces: Faces) -> Array:
    """Return normals at points, averaged over the adjacent faces by area, shape (P, 3).

    Args:
        points: Points, shape (P, 3).
        faces: Points of each face.
    """
    normals = np.zeros_like(points)
    for face, area in zip(faces, _areas(points, faces), strict=True):
        normals[face] += area
    return _rounded(normals)


def corner_normals(points: Array, faces: Faces, crease: float) -> tuple[Array, IntArray]:
    """Return the distinct normals at face corners, and the index of each corner's normal.

    At each corner the normals of adjacent faces are averaged by area; faces at more than the crease angle to
    the corner's face are left out.

    Args:
        points: Points, shape (P, 3).
        faces: Points of each face.
        crease: Crease angle [rad].
    """
    areas = _areas(points, faces)
    directions = areas / np.maximum(np.linalg.norm(areas, axis=1, keepdims=True), 1e-30)
    corner = np.concatenate([np.asarray(face) for face in faces])
    face = np.repeat(np.arange(len(faces)), [len(face) for face in faces])
    # Each corner is paired with all faces at its point, in their order.
    by_point, count = np.argsort(corner, kind="stable"), np.bincount(corner)
    pair_count = count[corner]
    pair = np.repeat(np.arange(len(corner)), pair_count)
    rank = np.arange(len(pair)) - np.repeat(np.cumsum(pair_count) - pair_count, pair_count)
    other = face[by_point[(np.cumsum(count) - count)[corner[pair]] + rank]]
    near = (directions[other] * directions[face[pair]]).sum(axis=1) > np.cos(crease)
    normals = np.zeros((len(corner), 3))
    np.add.at(normals, pair[near], areas[other[near]])
    values, indices = np.unique(_rounded(normals), axis=0, return_inverse=True)
    return values, indices.reshape(-1)


def _rounded(normals: Array) -> Array:
    """Return normals of unit length, rounded so that they are the same on every machine."""
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    rounded: Array = np.round(normals / np.maximum(lengths, 1e-30), 3) + 0.0
    return rounded


def _areas(points: Array, faces: Faces) -> Array:
    """Return the normals of faces, of twice their areas (Newell), shape (F, 3)."""
    areas, sizes = np.zeros((len(faces), 3)), np.array([len(face) for face in faces])
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        polygons = points[np.array([faces[row] for row in rows])]
        areas[rows] = np.cross(polygons, np.roll(polygons, -1, axis=1)).sum(axis=1)
    return areas


BOX_FACES = np.array(
    [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]], dtype=np.int64
)
"""Faces of a box with normals -z, z, -y, y, -x, x; bits 0, 1, 2 of a corner select the greater x, y, z."""


def box_uvs(points: Array, faces: IntArray) -> Array:
    """Return texture coordinates of flat faces [m], projected along the axis nearest to each normal.

    On upright faces v is z, so that courses of bricks are horizontal. The result has shape (F * K, 2).

    Args:
        points: Points [m], shape (P, 3).
        faces: Points of each face, shape (F, K).
    """
    corners = points[faces]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    axis = np.abs(normal).argmax(axis=1)
    positive = normal[np.arange(len(faces)), axis] > 0
    uvs = np.empty((*faces.shape, 2))
    for along, (u, v, sign) in enumerate(((1, 2, 1.0), (0, 2, -1.0), (0, 1, 1.0))):
        rows = axis == along
        flip = np.where(positive[rows], sign, -sign)[:, None]
        uvs[rows, :, 0] = corners[rows][..., u] * flip
        uvs[rows, :, 1] = corners[rows][..., v]
    return uvs.reshape(-1, 2)
