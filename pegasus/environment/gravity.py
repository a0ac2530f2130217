"""Gravity over altitude."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from pegasus.arrays import Array, namespace
from pegasus.components import require
from pegasus.environment.geodesy import EARTH_RADIUS

STANDARD_GRAVITY = 9.80665
"""Standard acceleration of free fall [m/s^2]."""


def inverse_square_gravity(altitude: Array, *, acceleration: float, earth_radius: float) -> Array:
    """Return the acceleration of free fall over altitude [m/s^2], shape (...).

    Source: AirSim 2017, sec. 3.2.1, in its exact form.

    Args:
        altitude: Geometric altitude above mean sea level [m], shape (...).
        acceleration: Acceleration of free fall at sea level [m/s^2].
        earth_radius: Radius of the Earth [m].
    """
    ratio = earth_radius / (earth_radius + altitude)
    return acceleration * (ratio * ratio)


@dataclass(frozen=True)
class Gravity(ABC):
    """Base of gravity models; a subclass gives the magnitude, the direction is down."""

    @abstractmethod
    def magnitude(self, altitude: Array) -> Array:
        """Return the acceleration of free fall [m/s^2], shape (N,).

        Args:
            altitude: Geometric altitude above mean sea level [m], shape (N,).
        """


@dataclass(frozen=True)
class InverseSquareGravity(Gravity):
    """Gravity that falls off with the square of the distance from the Earth's centre."""

    acceleration: float = STANDARD_GRAVITY
    """Acceleration of free fall at sea level [m/s^2]."""
    earth_radius: float = EARTH_RADIUS
    """Radius of the Earth [m]."""

    def __post_init__(self) -> None:
        allowed = "must be at least 0 m/s^2 and finite"
        require(0 <= self.acceleration < math.inf, "acceleration", self.acceleration, allowed)
        require(self.earth_radius > 0, "earth_radius", self.earth_radius, "must be above 0 m")

    def magnitude(self, altitude: Array) -> Array:
        """Return the acceleration of free fall [m/s^2]; see `Gravity.magnitude`."""
        return inverse_square_gravity(
            altitude, acceleration=self.acceleration, earth_radius=self.earth_radius
        )


@dataclass(frozen=True)
class UniformGravity(Gravity):
    """Gravity that is the same everywhere."""

    acceleration: float = STANDARD_GRAVITY
    """Acceleration of free fall [m/s^2]."""

    def __post_init__(self) -> None:
        allowed = "must be at least 0 m/s^2 and finite"
        require(0 <= self.acceleration < math.inf, "acceleration", self.acceleration, allowed)

    def magnitude(self, altitude: Array) -> Array:
        """Return the acceleration of free fall [m/s^2]; see `Gravity.magnitude`."""
        magnitude: Array = namespace(altitude).full_like(altitude, self.acceleration)
        return magnitude
