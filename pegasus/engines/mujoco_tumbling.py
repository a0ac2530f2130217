"""Angular momentum of free bodies, and their rotation while it stays."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion, matrix_product, rotate, rotate_inverse
from pegasus.base.step_math import Quat, Real, Vec3, conjugated, normalized, quaternion_product
from pegasus.base.step_math import rotate_inverse as body_vector
from pegasus.base.tracing import column
from pegasus.base.tracing.launches import program_of

_PARTS = 8
"""Parts of a time: they keep the energy of a step of 4 ms at 100 rad/s to a millionth."""


def tumbled(axes: Quat, inertia: Vec3, momentum: Vec3, time: Real, orientation: Quat) -> Quat:
    """Return the orientation of a body after a part of a time, by the classical Runge-Kutta method.

    Args:
        axes: Principal axes of inertia in the body frame.
        inertia: Principal moments of inertia [kg m^2].
        momentum: Angular momentum about the centre of mass, world, which stays [N m s].
        time: The time, of which this is one of `_PARTS` equal parts [s].
        orientation: Orientation before.
    """
    h = time * (1.0 / _PARTS)
    q = quaternion_product(orientation, axes)
    a = turning(q, momentum, inertia)
    b = turning(normalized(q + a * (0.5 * h)), momentum, inertia)
    c = turning(normalized(q + b * (0.5 * h)), momentum, inertia)
    d = turning(normalized(q + c * h), momentum, inertia)
    end = normalized(q + (a + (b + c) * 2.0 + d) * (h / 6.0))
    return quaternion_product(end, conjugated(axes))


def turning(q: Quat, momentum: Vec3, inertia: Vec3) -> Quat:
    """Return the rate of the orientation of principal axes [1/s].

    Args:
        q: Orientation of the principal axes.
        momentum: Angular momentum, world [N m s].
        inertia: Principal moments of inertia [kg m^2].
    """
    spin = body_vector(q, momentum)
    return quaternion_product(
        q, Quat(0.5 * spin[0] / inertia[0], 0.5 * spin[1] / inertia[1], 0.5 * spin[2] / inertia[2], 0.0)
    )


class Tumbling:
    """Rotation of the free bodies of a model.

    Args:
        model: The model; body 0 is the world, then come the free bodies.
        count: Number of free bodies.
    """

    def __init__(self, model: Any, count: int) -> None:
        free = slice(1, count + 1)
        turned, principal = model.body_iquat[free][:, [1, 2, 3, 0]], model.body_inertia[free]
        axes = matrix_from_quaternion(turned)
        self.inertia = matrix_product(axes * principal[:, None, :], axes.transpose(0, 2, 1))
        """Inertia of each body about its centre of mass, body frame [kg m^2], shape (M, 3, 3)."""
        self._inverse = matrix_product(axes / principal[:, None, :], axes.transpose(0, 2, 1))
        self._orientation, self._momentum = np.zeros((count, 4)), np.zeros((count, 3))
        self._time = np.zeros(count)
        columns = {"axes": turned.copy(), "inertia": principal.copy(), "momentum": self._momentum}
        columns |= {"time": self._time, "orientation": self._orientation}
        self._columns, self._count = columns, count

    @cached_property
    def _turn(self) -> Callable[[int], None]:
        """The launch of `tumbled`, compiled when a body turns first."""
        kinds = {"axes": Quat, "inertia": Vec3, "momentum": Vec3, "time": float, "orientation": Quat}
        inputs = (column(name, kind) for name, kind in kinds.items())
        program = program_of(tumbled, *inputs, outputs=("orientation",), count=self._count)
        return program.launch(self._columns, self._count)

    def momentum(self, orientation: Array, spin: Array) -> Array:
        """Return the angular momenta about the centres of mass, world [N m s], shape (M, 3).

        Args:
            orientation: Unit quaternions xyzw, shape (M, 4).
            spin: Angular velocities, body frame [rad/s], shape (M, 3).
        """
        return rotate(matrix_from_quaternion(orientation), rotate(self.inertia, spin))

    def spin(self, orientation: Array, momentum: Array) -> Array:
        """Return the angular velocities, body frame [rad/s], shape (M, 3).

        Args:
            orientation: Unit quaternions xyzw, shape (M, 4).
            momentum: Angular momenta about the centres of mass, world [N m s], shape (M, 3).
        """
        return rotate(self._inverse, rotate_inverse(matrix_from_quaternion(orientation), momentum))

    def energies(self, spin: Array) -> Array:
        """Return the energy of the rotation of each body [J], given angular velocities (M, 3), shape (M,)."""
        energy: Array = 0.5 * (spin * rotate(self.inertia, spin)).sum(axis=1)
        return energy

    def turned(self, orientation: Array, momentum: Array, time: Array) -> Array:
        """Return the orientations of bodies that turn freely for a time [s] (M,), shape (M, 4)."""
        self._orientation[:], self._momentum[:], self._time[:] = orientation, momentum, time
        self._turn(_PARTS)
        return self._orientation.copy()
