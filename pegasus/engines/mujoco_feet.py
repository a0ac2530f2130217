"""Feet of bodies on height fields.

MuJoCo generates one contact between a convex shape and each triangle of a height field, so a flat base on a
large triangle, or across a ridge, would rock on that point indefinitely. On height fields a body therefore
stands on feet, one at each corner of its base, and the base between them is raised slightly.
"""

from collections.abc import Sequence

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.elementary import cos, sin
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.base.frames import matrix_from_quaternion
from pegasus.scene.colliders import lowest_point
from pegasus.scene.scene import Collider, ColliderShape

FOOT_RADIUS = 0.005  # [m]
CLEARANCE = 0.01
"""Height by which the base between the feet is raised [m]."""
# Maximum height of the corners of the base above the lowest point [m].
_LEVEL = 0.005
# Number of horizontal directions in which the farthest corner becomes a foot.
_DIRECTIONS = 8
_NARROWEST = 0.01  # [m]

_CUBE = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
_DRUM_ANGLES = (np.arange(16) + 0.5) * (np.pi / 8)
_DRUM = np.array([(cos(a), sin(a), z) for a in _DRUM_ANGLES.tolist() for z in (-1.0, 1.0)])


def corners(collider: Collider) -> Array | None:
    """Return the corners of a body's collider in the body frame [m], shape (V, 3); None for a round shape.

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


def enclosing_box(colliders: Sequence[Collider]) -> Array:
    """Return the corners of a box along the axes of a body that encloses its colliders and feet [m], (8, 3).

    Args:
        colliders: Collision shapes of the body.
    """
    points = []
    for collider in colliders:
        found, margin = corners(collider), FOOT_RADIUS
        if found is None:
            found, margin = collider.position[None], sum(collider.size)
        points += [found - margin, found + margin]
    limits = np.concatenate(points)
    middle = 0.5 * (limits.max(axis=0) + limits.min(axis=0))
    box: Array = middle + _CUBE * (limits.max(axis=0) - middle)
    return box


def feet(colliders: Sequence[Collider]) -> Array:
    """Return the contact points of the feet of a body in the body frame [m], shape (K, 3).

    K is 0 or at least 3: a body whose lowest part is round or narrow has no feet, so that it can roll.

    Args:
        colliders: Collision shapes of the body.
    """
    none = np.zeros((0, 3))
    points = np.concatenate([none, *(c for item in colliders if (c := corners(item)) is not None)])
    base = points[points[:, 2] <= lowest_point(list(colliders)) + _LEVEL]
    if len(base) < 3:
        return none
    angles = (np.arange(_DIRECTIONS, dtype=np.float64) + 0.5) * (2 * np.pi / _DIRECTIONS)
    sines, cosines = sine_and_cosine(angles)
    reach = base[:, 0, None] * cosines + base[:, 1, None] * sines
    width = reach.max(axis=0) - reach.min(axis=0)
    chosen = base[np.unique(np.argmax(reach, axis=0))]
    return chosen if len(chosen) >= 3 and width.min() > _NARROWEST else none


def raised(points: Array, base: Array) -> Array:
    """Return corners with the base raised by `CLEARANCE`, at most to the top of the part [m], shape (V, 3).

    Args:
        points: Corners of one convex part of a body [m], shape (V, 3).
        base: Feet of the body [m], shape (K, 3).
    """
    up = points.copy()
    top = float(points[:, 2].max())
    floor = min(float(base[:, 2].min()) + CLEARANCE, top - CLEARANCE / 10)
    up[:, 2] = np.maximum(up[:, 2], floor)
    return up
