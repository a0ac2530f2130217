"""Points at which a vehicle touches: those of its own collision shapes that are farthest out."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_math import Vec3
from pegasus.core.aircraft import Aircraft
from pegasus.engines.mujoco_feet import corners
from pegasus.scene.scene import ColliderShape
from pegasus.step.contact import Touch

_DIAGONALS = np.array([(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)])
_FEET = np.concatenate([_DIAGONALS, np.full((4, 1), -40.0)], axis=1)
_RIMS = np.concatenate([_DIAGONALS, np.full((4, 1), 0.5)], axis=1)
_TOP = np.concatenate([_DIAGONALS, np.full((4, 1), 40.0)], axis=1)
_ENDS = np.array([(1.0, 0.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, -1.0, 0.0)])


def touches_of(vehicle: Aircraft) -> tuple[Touch, ...]:
    """Return the points of a vehicle: wheels, or the corners of its base, of its width, and of its top.

    Args:
        vehicle: The vehicle.
    """
    colliders = vehicle.asset.colliders
    round_ones = [c for c in colliders if c.shape in (ColliderShape.SPHERE, ColliderShape.CAPSULE)]
    made = [Touch(Vec3(*c.position.tolist()), float(c.size[0])) for c in round_ones]
    points = [found for c in colliders if (found := corners(c)) is not None]
    if points:
        whole: Array = np.concatenate(points)
        directions = np.concatenate([_ENDS if made else _FEET, _RIMS, _TOP])
        chosen = dict.fromkeys(int(np.argmax(whole @ direction)) for direction in directions)
        made += [Touch(Vec3(*whole[k].tolist()), 0.0) for k in chosen]
    return tuple(made)
