"""Flat faces before they are written: those of boxes, tiles of ground, and their texture coordinates."""

import numpy as np

from pegasus.arrays import Array, IntArray

BOX_FACES = np.array(
    [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]], dtype=np.int64
)
"""Faces of a box, looking along -z, z, -y, y, -x, x; corner k has the greater x, y, z by its bits 0, 1, 2."""


def tiles(x: Array, y: Array) -> tuple[Array, IntArray]:
    """Return level ground cut along lines: points, shape (P, 3), and faces of four points, shape (F, 4).

    Args:
        x: Where lines along y run [m], ascending, shape (X,).
        y: Where lines along x run [m], ascending, shape (Y,).
    """
    points = np.stack([np.tile(x, len(y)), np.repeat(y, len(x)), np.zeros(len(x) * len(y))], axis=1)
    first = (np.arange(len(y) - 1)[:, None] * len(x) + np.arange(len(x) - 1)).ravel()
    return points, np.stack([first, first + 1, first + len(x) + 1, first + len(x)], axis=1)


def box_uvs(points: Array, faces: IntArray) -> Array:
    """Return texture coordinates of flat faces, each laid out along the two axes that it is most level with.

    On upright faces v is z, so that courses of bricks run level; shape (F * K, 2), in metres.

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
