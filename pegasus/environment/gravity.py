"""Gravity models over altitude and, for WGS84, latitude."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.row_map import StepModel
from pegasus.base.step_math import Real, sin
from pegasus.environment.ellipsoid import SEMI_MAJOR_AXIS, WGS84_FLATTENING
from pegasus.environment.geodesy import EARTH_RADIUS

STANDARD_GRAVITY = 9.80665
"""Standard acceleration of free fall [m/s^2]."""
EQUATORIAL_GRAVITY = 9.7803253359
"""Normal gravity of WGS84 at the equator [m/s^2] (NIMA TR8350.2, 3rd ed., table 3.4)."""
_SOMIGLIANA = 0.00193185265241
"""Constant k of Somigliana's formula for WGS84 (the same table)."""
_CENTRIFUGAL = 0.00344978650684
"""Constant m of WGS84, omega^2 a^2 b / GM (the same table)."""


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

    @property
    def compiled_law(self) -> Callable[..., Real] | None:
        """Its law; None for a model that overrides `magnitude` in NumPy."""
        return self.step_function if type(self).magnitude is Gravity.magnitude else None

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


@dataclass(frozen=True)
class NormalGravity(Gravity):
    """Normal gravity of WGS84: Somigliana's formula on the ellipsoid, and its gradient above it.

    Source: NIMA TR8350.2, 3rd ed. (2000), eq. 4-1 and 4-3. The latter is the series of second order
    g (1 - 2 c h + 3 h^2 / a^2) with c = (1 + f + m - 2 f sin^2(latitude)) / a; here it is g / (1 + c h)^2,
    which differs from it by less than 1e-7 up to 10 km. The altitude is taken as that above the ellipsoid.
    """

    law: ClassVar = staticmethod(gravity_at)
    latitude: float
    """Geodetic latitude, of the whole world [deg]."""

    def __post_init__(self) -> None:
        require(-90 <= self.latitude <= 90, "latitude", self.latitude, "must be from -90 to 90 deg")

    @cached_property
    def parameters(self) -> GravityParameters:
        """Return the parameters of `gravity_at`."""
        f = WGS84_FLATTENING
        sine = sin(math.radians(self.latitude))
        square = sine * sine
        ground = EQUATORIAL_GRAVITY * (1.0 + _SOMIGLIANA * square) / math.sqrt(1.0 - f * (2.0 - f) * square)
        return GravityParameters(ground, (1.0 + f + _CENTRIFUGAL - 2.0 * f * square) / SEMI_MAJOR_AXIS)
