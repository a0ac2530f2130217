"""Drag of the airframe: force and torque about the centre of mass, in the body frame."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pegasus.arrays import Array, namespace
from pegasus.components import require
from pegasus.vectors import require_vector

Vec3 = tuple[float, float, float]


def quadratic_resistance(velocity: Array, *, coefficients: Array) -> Array:
    """Return -C |v| v, shape (N, 3) (Hector 2012, eq. 2).

    Args:
        velocity: Velocity through the air, or angular velocity, in the body frame, shape (N, 3).
        coefficients: Diagonal of C, broadcast over (N, 3).
    """
    xp = namespace(velocity)
    magnitude = xp.sqrt(xp.sum(velocity * velocity, axis=-1, keepdims=True))
    resistance: Array = velocity * (magnitude * -coefficients)
    return resistance


@dataclass(frozen=True, kw_only=True)
class Drag(ABC):
    """Base of a drag model.

    A user's own drag is a frozen dataclass that derives from this one and implements `wrench`. It must
    only take energy out: force . velocity + torque . angular velocity <= 0 in still air.
    """

    uses_air_density: ClassVar[bool] = True
    """Whether `wrench` looks at the air density; where nothing does, it is not computed."""

    @abstractmethod
    def wrench(
        self, velocity: Array, angular_velocity: Array, air_density: Array
    ) -> tuple[Array, Array | None]:
        """Return the force [N] and the torque [N m] in the body frame, each of shape (N, 3).

        A torque of None stands for none.

        Args:
            velocity: Velocity of the centre of mass through the air, body frame [m/s], shape (N, 3).
            angular_velocity: Angular velocity, body frame [rad/s], shape (N, 3).
            air_density: Air density [kg/m^3], shape (N, 1).
        """


@dataclass(frozen=True, kw_only=True)
class LinearDrag(Drag):
    """Force linear in the velocity through the air: F = -D v (Pegasus paper, eq. 2)."""

    uses_air_density: ClassVar[bool] = False

    coefficients: Vec3
    """Diagonal of D [N s/m]."""

    def __post_init__(self) -> None:
        require_vector("coefficients", self.coefficients, unit="N s/m", negative_allowed=False)

    @cached_property
    def _negative(self) -> Array:
        return -np.asarray(self.coefficients)

    def wrench(
        self, velocity: Array, angular_velocity: Array, air_density: Array
    ) -> tuple[Array, Array | None]:
        """Return -D v and no torque."""
        return velocity * self._negative, None


@dataclass(frozen=True, kw_only=True)
class QuadraticDrag(Drag):
    """Force by areas: F_i = -(1/2) rho C_d A_i |v| v_i, and torque M = -C_m |w| w.

    Source: AirSim technical report, sec. 3.3.1, in the vector form of Hector 2012, eq. 2, so that the
    force opposes the motion through the air from whatever side it comes.
    """

    areas: Vec3
    """Cross sections A seen along x, y, z [m^2]."""
    drag_coefficient: float = 1.0
    """C_d, common to all axes."""
    angular_coefficients: Vec3 = (0.0, 0.0, 0.0)
    """Diagonal of C_m [N m s^2]."""

    def __post_init__(self) -> None:
        require_vector("areas", self.areas, unit="m^2", negative_allowed=False)
        require(self.drag_coefficient >= 0, "drag_coefficient", self.drag_coefficient, "must not be negative")
        require_vector("angular_coefficients", self.angular_coefficients, negative_allowed=False)

    @cached_property
    def _linear(self) -> Array:
        return 0.5 * self.drag_coefficient * np.asarray(self.areas)

    @cached_property
    def _angular(self) -> Array:
        return np.asarray(self.angular_coefficients)

    def wrench(
        self, velocity: Array, angular_velocity: Array, air_density: Array
    ) -> tuple[Array, Array | None]:
        """Return the force and, where it has coefficients, the torque."""
        force = quadratic_resistance(velocity, coefficients=self._linear * air_density)
        if not any(self.angular_coefficients):
            return force, None
        return force, quadratic_resistance(angular_velocity, coefficients=self._angular)
