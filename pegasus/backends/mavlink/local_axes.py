"""Local east and north at a place of the map, in which autopilots navigate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from pegasus.base.step_math import Quat, Vec3, quaternion_product
from pegasus.environment.geodesy import Geodetic, convergence, level_turn


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

    @property
    def reverse(self) -> "LocalAxes":
        """The world's axes as seen from these."""
        return LocalAxes(self.cosine, -self.sine)

    @property
    def angle(self) -> float:
        """Angle from y to true north, counter-clockwise [rad]."""
        return math.atan2(self.sine, self.cosine)

    def vector(self, vector: Sequence[float]) -> tuple[float, float, float]:
        """Return a vector of the world as local east, north and up."""
        turned = level_turn(Vec3(*vector), self.cosine, self.sine)
        return turned.x, turned.y, turned.z

    def attitude(self, quaternion: Sequence[float]) -> tuple[float, float, float, float]:
        """Return an orientation xyzw, body to world, as body to local east, north and up."""
        half = -0.5 * self.angle
        turn = Quat(0.0, 0.0, math.sin(half), math.cos(half))
        turned = quaternion_product(turn, Quat(*quaternion))
        return turned.x, turned.y, turned.z, turned.w
