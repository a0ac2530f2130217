"""Feet on which bodies stand on height fields.

MuJoCo gives a convex shape one contact with each triangle of a height field, so a flat base on a large
triangle, or across a ridge, would rock on that point for ever. On height fields a body therefore stands on
feet, one at each corner of its base, and what lies between them is raised a little.
"""

from collections.abc import Sequence

import numpy as np

from pegasus.arrays import Array
from pegasus.frames import matrix_from_quaternion
from pegasus.scene.colliders import lowest_point
from pegasus.scene.scene import Collider, ColliderShape

CLEARANCE = 0.01
"""Height by which the base between the feet is raised [m]."""
# Corners up to this far above the lowest point belong to the base [m].
_LEVEL = 0.005
# Feet are the corners that lie farthest out in so many directions.
_DIRECTIONS = 8
_NARROWEST = 0.01  # [m]

_CUBE = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_DRUM_ANGLES = (np.arange(16) + 0.5) * (np.pi / 8)
_DRUM = np.array([(np.cos(a), np.sin(a), z) for a in _DRUM_ANGLES for z in (-1.0, 1.0)])


def corners(collider: Collider) -> Array | None:
    """Return the corners of a body's collider in the body's frame [m], shape (V, 3); None if it is round.

    Args:
        collider: Collision shape, posed in the body's frame.
    """
    if collider.shape is ColliderShape.MESH:
        assert collider.vertices is not None
        points = collider.vertices
    elif collider.shape is ColliderShape.BOX:
        points = _CUBE * collider.size
    elif collider.shape is ColliderShape.CYLINDER:
        points = _DRUM * [collider.size[0], collider.size[0], collider.size[1]]
    else:
        return None
    return points @ matrix_from_quaternion(collider.orientation).T + collider.position


def feet(colliders: Sequence[Collider]) -> Array:
    """Return where the feet of a body touch the ground in its frame [m], shape (K, 3).

    There are at least three, or none: a body whose lowest part is round or narrow rolls, as it should.

    Args:
        colliders: Collision shapes of the body.
    """
    none = np.zeros((0, 3))
    points = np.concatenate([none, *(c for item in colliders if (c := corners(item)) is not None)])
    base = points[points[:, 2] <= lowest_point(list(colliders)) + _LEVEL]
    if len(base) < 3:
        return none
    angles = (np.arange(_DIRECTIONS) + 0.5) * (2 * np.pi / _DIRECTIONS)
    reach = base[:, 0, None] * np.cos(angles) + base[:, 1, None] * np.sin(angles)
    width = reach.max(axis=0) - reach.min(axis=0)
    chosen = base[np.unique(np.argmax(reach, axis=0))]
    return chosen if len(chosen) >= 3 and width.min() > _NARROWEST else none


def raised(points: Array, base: Array) -> Array:
    """Return corners with those of the base raised by `CLEARANCE`, but no higher than the others [m], (V, 3).

    Args:
        points: Corners of one convex part of a body [m], shape (V, 3).
        base: Feet of the body [m], shape (K, 3).
    """
    up = points.copy()
    top = float(points[:, 2].max())
    floor = min(float(base[:, 2].min()) + CLEARANCE, top - CLEARANCE / 10)
    up[:, 2] = np.maximum(up[:, 2], floor)
    return up
