"""Gravity models over altitude."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.row_map import StepModel
from pegasus.base.step_math import Real
from pegasus.environment.geodesy import EARTH_RADIUS

STANDARD_GRAVITY = 9.80665
"""Standard acceleration of free fall [m/s^2]."""


@dataclass(frozen=True)
class GravityParameters:
    """Parameters of `gravity_at`."""

    acceleration: float
    """Acceleration of free fall at sea level [m/s^2]."""
    curvature: float
    """Inverse of the radius of the Earth [1/m]; 0 for constant gravity."""


def gravity_at(p: GravityParameters, altitude: Real) -> Real:
    """Return the acceleration of free fall [m/s^2].

    Source: AirSim 2017, sec. 3.2.1, in its exact form.

    Args:
        p: Parameters.
        altitude: Geometric altitude above mean sea level [m].
    """
    ratio = 1.0 / (1.0 + altitude * p.curvature)
    return p.acceleration * (ratio * ratio)


@dataclass(frozen=True)
class Gravity(StepModel):
    """Base of gravity models; the direction is down.

    A subclass has a step function `law(parameters, altitude) -> magnitude`, or overrides `magnitude`.
    """

    def magnitude(self, altitude: Array) -> Array:
        """Return the acceleration of free fall [m/s^2], shape (N,).

        Args:
            altitude: Geometric altitude above mean sea level [m], shape (N,).
        """
        magnitude: Array = self._rows(self.parameters, altitude)
        return magnitude


@dataclass(frozen=True)
class InverseSquareGravity(Gravity):
    """Gravity by the inverse square of the distance from the Earth's centre."""

    law: ClassVar = staticmethod(gravity_at)
    acceleration: float = STANDARD_GRAVITY
    """Acceleration of free fall at sea level [m/s^2]."""
    earth_radius: float = EARTH_RADIUS
    """Radius of the Earth [m]."""

    def __post_init__(self) -> None:
        allowed = "must be at least 0 m/s^2 and finite"
        require(0 <= self.acceleration < math.inf, "acceleration", self.acceleration, allowed)
        require(self.earth_radius > 0, "earth_radius", self.earth_radius, "must be above 0 m")

    @cached_property
    def parameters(self) -> GravityParameters:
        """Return the parameters of `gravity_at`."""
        return GravityParameters(self.acceleration, 1.0 / self.earth_radius)


@dataclass(frozen=True)
class UniformGravity(Gravity):
    """Constant gravity."""

    law: ClassVar = staticmethod(gravity_at)
    acceleration: float = STANDARD_GRAVITY
    """Acceleration of free fall [m/s^2]."""

    def __post_init__(self) -> None:
        allowed = "must be at least 0 m/s^2 and finite"
        require(0 <= self.acceleration < math.inf, "acceleration", self.acceleration, allowed)

    @cached_property
    def parameters(self) -> GravityParameters:
        """Return the parameters of `gravity_at`."""
        return GravityParameters(self.acceleration, 0.0)
