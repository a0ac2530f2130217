"""Limits of speed, thrust, tilt and jerk, and the time scaling that satisfies them."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.elementary import tan
from pegasus.base.elementary_arrays import exp, log

GRAVITY = 9.80665
"""Standard gravity [m/s^2], the unit of thrusts."""

_SMALLEST = 1e-12


class Limited(Protocol):
    """Protocol of limits with a time scaling."""

    @property
    def speed(self) -> float:
        """Largest speed [m/s]."""

    def slowdown(
        self, velocity: Array, acceleration: Array, jerk: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return the factor of time at each instant that satisfies all limits.

        A factor k divides velocities by k, accelerations by k^2 and jerks by k^3; gravity is unchanged. Each
        limit has a least k, so the largest k over a curve is exact for the whole curve.

        Args:
            velocity: Velocity [m/s], shape (..., 3).
            acceleration: Acceleration [m/s^2], shape (..., 3).
            jerk: Jerk [m/s^3], shape (..., 3).

        Returns:
            k, shape (...), and its gradients by velocity, acceleration and jerk, shape (..., 3).
        """


@dataclass(frozen=True)
class MotionLimits:
    """Isotropic limits of speed, acceleration and jerk."""

    speed: float
    """Largest speed [m/s]."""
    acceleration: float
    """Largest acceleration [m/s^2]."""
    jerk: float = math.inf
    """Largest jerk [m/s^3]."""

    def slowdown(
        self, velocity: Array, acceleration: Array, jerk: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return the factor of time and its gradients; see `Limited.slowdown`."""
        size = np.maximum(np.sqrt((acceleration * acceleration).sum(axis=-1)), _SMALLEST)
        square_of_jerk = np.maximum((jerk * jerk).sum(axis=-1), _SMALLEST)
        squares = np.stack(
            [
                (velocity * velocity).sum(axis=-1) / (self.speed * self.speed),
                size / self.acceleration,
                _cube_root(square_of_jerk / (self.jerk * self.jerk)),
            ]
        )
        strictest = squares.argmax(axis=0)
        k = np.sqrt(np.maximum(squares.max(axis=0), _SMALLEST))
        by_velocity = (strictest == 0) / (k * (self.speed * self.speed))
        by_acceleration = (strictest == 1) * 0.5 / (k * size * self.acceleration)
        by_jerk = (strictest == 2) * k / (3.0 * square_of_jerk)
        return (
            k,
            by_velocity[..., None] * velocity,
            by_acceleration[..., None] * acceleration,
            by_jerk[..., None] * jerk,
        )


@dataclass(frozen=True)
class Limits:
    """Limits of a multirotor flight; thrusts are in units of the weight."""

    speed: float
    """Largest speed [m/s]."""
    thrust: float
    """Largest thrust-to-weight ratio."""
    least_thrust: float
    """Least vertical thrust-to-weight ratio."""
    tilt: float
    """Largest angle between thrust and vertical [rad]."""
    jerk: float
    """Largest jerk [m/s^3]."""

    def check(self) -> None:
        """Raise a ConfigError if the limits are infeasible."""
        require(0 < self.speed < math.inf, "speed", self.speed, "must be above 0 m/s")
        require(1 < self.thrust < math.inf, "thrust", self.thrust, "must be above 1, the weight itself")
        least = self.least_thrust
        require(0 <= least < 1, "least_thrust", least, "must be at least 0 and below 1, the weight itself")
        require(0 < self.tilt <= 1.4, "tilt", self.tilt, "must be above 0 and at most 1.4 rad (80 degrees)")
        require(0 < self.jerk < math.inf, "jerk", self.jerk, "must be above 0 m/s^3")

    def slowdown(
        self, velocity: Array, acceleration: Array, jerk: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return the factor of time and its gradients; see `Limited.slowdown`."""
        scaled = acceleration / GRAVITY
        x, y, z = scaled[..., 0], scaled[..., 1], scaled[..., 2]
        level = np.sqrt(x * x + y * y)
        # |a / k^2 + 1| <= thrust, a quadratic in 1 / k^2.
        spare = self.thrust * self.thrust - 1.0
        root = np.sqrt(level * level * spare + z * z * (1.0 + spare))
        square_of_jerk = (jerk * jerk).sum(axis=-1) / (self.jerk * self.jerk)
        squares = np.stack(
            [
                (velocity * velocity).sum(axis=-1) / (self.speed * self.speed),
                (z + root) / spare,
                -z / (1.0 - self.least_thrust),
                level / tan(self.tilt) - z,
                _cube_root(square_of_jerk),
            ]
        )
        strictest = squares.argmax(axis=0)
        k = np.sqrt(np.maximum(squares.max(axis=0), _SMALLEST))
        by_square = 0.5 / k
        root, level = np.maximum(root, _SMALLEST), np.maximum(level, _SMALLEST)
        by_level = np.choose(strictest, [0.0, level / root, 0.0, 1.0 / tan(self.tilt), 0.0]) / level
        rising = (1.0 + z * (1.0 + spare) / root) / spare
        by_z = np.choose(strictest, [0.0, rising, -1.0 / (1.0 - self.least_thrust), -1.0, 0.0])
        by_acceleration = np.stack([by_level * x, by_level * y, by_z], axis=-1)
        by_velocity = (strictest == 0)[..., None] * 2.0 * velocity / (self.speed * self.speed)
        by_jerk = (
            (strictest == 4) * k / (3.0 * np.maximum(square_of_jerk, _SMALLEST) * (self.jerk * self.jerk))
        )
        return (
            k,
            by_square[..., None] * by_velocity,
            by_square[..., None] * by_acceleration / GRAVITY,
            by_jerk[..., None] * jerk,
        )


def _cube_root(values: Array) -> Array:
    """Return the cube roots of numbers not below 0; those of NumPy and C differ between processors."""
    above = values > 0.0
    return np.where(above, exp(log(np.where(above, values, 1.0)) / 3.0), 0.0)
