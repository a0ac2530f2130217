"""Base of wing models: force and torque of a lifting surface or an airframe in its own local flow."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.step_math import NOTHING, Real, Reals, Vec3, exp

Triple = tuple[float, float, float]
Derivative = float | tuple[float, ...]
"""Derivative by the deflection of one control surface, or of each."""


@dataclass(frozen=True, kw_only=True)
class Wing:
    """Base of a wing model.

    The frame of a wing has x forward along its chord, y along its span to the left, and z upward; a vertical
    tail is a wing turned about x. The origin is the reference point of the wing. A deflection counts with the
    sign of the model's own derivative: a positive derivative means that a positive deflection raises the lift
    coefficient along z.

    A custom wing is a frozen dataclass derived from this one, with a `law` that is compiled with the step. It
    must dissipate energy: force . velocity + torque . angular velocity <= 0 in still air.
    """

    law: ClassVar[Callable[..., tuple[Vec3, Vec3]] | None] = None
    """Step function (parameters, velocity [m/s], angular velocity [rad/s], deflections [rad], air density
    [kg/m^3]) -> (force [N], torque about the reference point [N m]) in the frame of the wing. The velocity is
    that of the reference point through the local air; deflections are in the order of the wing's controls."""

    area: float
    """Planform area S [m^2]."""

    def __post_init__(self) -> None:
        require(self.area > 0, "area", self.area, "must be above 0 m^2")

    @property
    def control_count(self) -> int:
        """Number of control surfaces, and of deflections that the law takes."""
        return 0

    def parameters(self) -> Any:
        """Return the dataclass of numbers that the law takes; by default this one."""
        return self

    def polar(self, angles: Array, deflection: Reals = ()) -> tuple[Array, Array, Array]:
        """Return the coefficients of lift, drag and nose-up moment in steady flow without sideslip.

        The moment coefficient is by area and metre, about the reference point.

        Args:
            angles: Angles of attack [rad], shape (N,).
            deflection: Angles of the control surfaces [rad], 0 by default.

        Returns:
            Three arrays of shape (N,).
        """
        law = type(self).law
        if law is None:
            raise NotImplementedError("a wing has a law")
        p, turned = self.parameters(), deflection or (0.0,) * self.control_count
        still = Vec3(0.0, 0.0, 0.0)
        found = np.empty((3, len(angles)))
        for k, alpha in enumerate(np.asarray(angles, dtype=np.float64).tolist()):
            x, z = math.cos(alpha), -math.sin(alpha)
            # With this density the dynamic pressure of 1 m/s times the area is 1 N.
            force, torque = law(p, Vec3(x, 0.0, z), still, turned, 2.0 / self.area)
            found[:, k] = force[2] * x - force[0] * z, -force[0] * x - force[2] * z, -torque[1]
        return found[0], found[1], found[2]


def known(value: float) -> float:
    """Return a parameter whose zero costs no operation."""
    return NOTHING if value == 0.0 else float(value)


def each(value: Derivative) -> tuple[float, ...]:
    """Return a derivative by each control surface."""
    return value if isinstance(value, tuple) else (value,)


def unstalled(alpha: Real, alpha_stall: Real, sharpness: Real) -> Real:
    """Return the share of attached flow, 1 - sigma(alpha) (Beard and McLain 2012, eq. 4.10).

    Args:
        alpha: Angle of attack [rad].
        alpha_stall: Angle of attack at stall [rad].
        sharpness: Rate of the transition M [1/rad].
    """
    above = 1.0 + exp(sharpness * (alpha - alpha_stall))
    below = 1.0 + exp(-sharpness * (alpha + alpha_stall))
    return 1.0 / (above * below)
