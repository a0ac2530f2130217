"""Local east and north at a place of the map, in which autopilots navigate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from pegasus.base.step_math import Vec3
from pegasus.environment.geodesy import Geodetic, convergence


@dataclass(frozen=True)
class LocalAxes:
    """Horizontal axes that are turned against those of the world; see `geodesy.convergence`."""

    cosine: float = 1.0
    sine: float = 0.0
    """Cosine and sine of the angle from y to true north, counter-clockwise."""

    @classmethod
    def at(cls, origin: Geodetic, position: Sequence[float]) -> Self:
        """Return the axes at a place.

        Args:
            origin: Geographic position of the world's origin.
            position: The place in the world [m].
        """
        return cls(*convergence(origin, Vec3(*position)))

    @cached_property
    def reverse(self) -> "LocalAxes":
        """The world's axes as seen from these."""
        return LocalAxes(self.cosine, -self.sine)

    @property
    def angle(self) -> float:
        """Angle from y to true north, counter-clockwise [rad]."""
        return math.atan2(self.sine, self.cosine)

    def vector(self, vector: Sequence[float]) -> tuple[float, float, float]:
        """Return a vector of the world as local east, north and up; it is `geodesy.level_turn` in numbers."""
        x, y, z = vector
        return self.cosine * x + self.sine * y, self.cosine * y - self.sine * x, z

    def attitude(self, quaternion: Sequence[float]) -> tuple[float, float, float, float]:
        """Return an orientation xyzw, body to world, as body to local east, north and up."""
        x, y, z, w = quaternion
        sine, cosine = self._half
        return cosine * x - sine * y, cosine * y + sine * x, cosine * z + sine * w, cosine * w - sine * z

    @cached_property
    def _half(self) -> tuple[float, float]:
        """Sine and cosine of half the angle by which attitudes turn."""
        half = -0.5 * self.angle
        return math.sin(half), math.cos(half)
