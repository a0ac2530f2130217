"""Wheels: contacts that grip along the axle and roll across it.

The friction cone of such a contact is an ellipse: its axes are the friction of the two surfaces along the
axle, and the rolling friction across it.
"""

from typing import Any

import mujoco
import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.base.frames import cross, matrix_from_quaternion, rotate
from pegasus.scene.scene import Rolling

WHEEL_NUMBERS = 4
"""Number of values that a geom has for its wheel: its axle, and its rolling friction."""


def wheel_numbers(rolling: Rolling) -> list[float]:
    """Return the values of a wheel's geom.

    Args:
        rolling: The wheel.
    """
    return [*rolling.axle.tolist(), rolling.friction]


class Wheels:
    """Wheels of the bodies of a model, in the order of the bodies.

    Args:
        model: The model.
        owner: Number of the body of each geom, from 1.
    """

    def __init__(self, model: Any, owner: IntArray) -> None:
        numbers = model.geom_user[:, :WHEEL_NUMBERS]
        self._geoms = (
            np.flatnonzero(numbers[:, :3].any(axis=1)) if numbers.shape[1] else np.zeros(0, dtype=int)
        )
        self._wheel_of = np.full(model.ngeom, -1)
        self._wheel_of[self._geoms] = np.arange(len(self._geoms))
        self._body = owner[self._geoms] - 1
        self._axle: Array = numbers[self._geoms, :3].copy()
        self._friction: Array = numbers[self._geoms, 3].copy()
        self._angle: Array = np.zeros(len(self._geoms))

    def set(self, friction: Array, angle: Array) -> bool:
        """Set rolling friction and steering angles [rad], (W,) each; return whether they have changed."""
        if np.array_equal(friction, self._friction) and np.array_equal(angle, self._angle):
            return False
        self._friction, self._angle = friction.copy(), angle.copy()
        return True

    def align(self, data: Any, orientation: Array) -> None:
        """Turn the frames of contacts under wheels to their axles, and let them roll.

        Args:
            data: Data of the model, with its contacts.
            orientation: Attitudes of the bodies, quaternions xyzw, shape (M, 4).
        """
        if not len(self._geoms):
            return
        contact = data.contact
        wheel = self._wheel_of[contact.geom].max(axis=1)
        (rows,) = np.nonzero(wheel >= 0)
        if not len(rows):
            return
        wheel = wheel[rows]
        c, s = np.cos(self._angle[wheel]), np.sin(self._angle[wheel])
        x, y, z = self._axle[wheel].T
        steered = np.stack([c * x - s * y, s * x + c * y, z], axis=-1)
        axle = rotate(matrix_from_quaternion(orientation[self._body[wheel]]), steered)
        frame = contact.frame.reshape(-1, 3, 3)
        normal = frame[rows, 0]
        along = axle - (axle * normal).sum(axis=1, keepdims=True) * normal
        size = np.sqrt((along * along).sum(axis=1, keepdims=True))
        # A wheel that lies on its side slides.
        upright = size[:, 0] > 0.1
        rows, wheel, along, normal = (
            rows[upright],
            wheel[upright],
            along[upright] / size[upright],
            normal[upright],
        )
        frame[rows, 1], frame[rows, 2] = along, cross(normal, along)
        friction = contact.friction
        friction[rows, 1] = np.clip(self._friction[wheel], mujoco.mjMINMU, friction[rows, 0])
        contact.frame[...], contact.friction[...] = frame.reshape(contact.frame.shape), friction
