"""Rangefinders: distance to the nearest obstacle in a laser beam or a sonar cone."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require, require_vector
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import NoiseBlock, Sensor
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.environment import Environment

_GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))


def cone_directions(axis: Array, *, angle: float, count: int) -> Array:
    """Return unit vectors that fill a cone evenly, the first along its axis and the last on its rim.

    They lie on a spiral of golden angles (Vogel 1979, "A better way to construct the sunflower head").

    Args:
        axis: Axis of the cone, of any length but zero, shape (3,).
        angle: Opening angle, from rim to rim [rad].
        count: Number of vectors K.

    Returns:
        The vectors, shape (K, 3).
    """
    axis = axis / np.linalg.norm(axis)
    aside = np.array([1.0, 0.0, 0.0]) if abs(axis[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    first = np.cross(aside, axis)
    first /= np.linalg.norm(first)
    second = np.cross(axis, first)
    k = np.arange(count, dtype=np.float64)
    off_axis = (angle / 2 * np.sqrt(k / max(count - 1, 1)))[:, None]
    around = (k * _GOLDEN_ANGLE)[:, None]
    sine, cosine = sine_and_cosine(around)
    ring = cosine * first + sine * second
    sine, cosine = sine_and_cosine(off_axis)
    directions: Array = cosine * axis + sine * ring
    return directions


@dataclass(frozen=True, eq=False)
class RangeReading(Reading):
    """Distance to the nearest obstacle in the beam."""

    distance: Array
    """Distance along the nearest ray, from `min_range` to `max_range` [m], shape (N,).

    It is `max_range` without an echo, and saturates at both limits.
    """
    valid: BoolArray
    """Whether an obstacle was found within the limits, shape (N,)."""
    min_range: float
    """Shortest measurable distance [m]."""
    max_range: float
    """Longest measurable distance [m]."""


@dataclass(kw_only=True, eq=False)
class Rangefinder(Sensor):
    """Laser or sonar rangefinder; its rays pass through the body of its vehicle.

    A laser is one ray. A sonar measures the first echo in its cone: the shortest of several rays
    (Hector 2012, sec. 3.3, with nine rays and a range of 3 to 6 m).
    """

    rate_hz: float = 20.0
    """Readings per second [Hz]."""
    direction: tuple[float, float, float] = (0.0, 0.0, -1.0)
    """Direction of the beam in the body frame; of any length but zero."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the sensor in the body frame [m]."""
    min_range: float = 0.05
    """Shortest measurable distance [m]."""
    max_range: float = 40.0
    """Longest measurable distance [m]."""
    ray_count: int = 1
    """Number of rays in the cone; 1 for a beam without width."""
    cone_angle: float = 0.0
    """Opening angle of the cone, from rim to rim [rad]; above 0 for several rays."""
    noise_sigma: float = 0.01
    """Standard deviation of the noise at a distance of zero [m]."""
    proportional_noise: float = 0.001
    """Increase of the standard deviation per metre of distance."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        require_vector("direction", self.direction)
        require(math.hypot(*self.direction) > 0, "direction", self.direction, "must be longer than 0")
        require_vector("position", self.position, unit="m")
        require(
            0 <= self.min_range < math.inf, "min_range", self.min_range, "must be at least 0 m and finite"
        )
        allowed = f"must be above min_range of {self.min_range:g} m and finite"
        require(self.min_range < self.max_range < math.inf, "max_range", self.max_range, allowed)
        whole = isinstance(self.ray_count, int) and self.ray_count >= 1
        require(whole, "ray_count", self.ray_count, "must be a whole number from 1 up")
        angle = self.cone_angle
        if self.ray_count == 1:
            require(angle == 0, "cone_angle", angle, "must be 0 rad for one ray", "set ray_count, such as 9")
        else:
            require(0 < angle < math.pi, "cone_angle", angle, "must be above 0 and below pi rad")
        for name in ("noise_sigma", "proportional_noise"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Join a vehicle.

        Args:
            vehicle: The vehicle, whose rays are cast.
            environment: Not used.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        axis = np.array(self.direction)
        self._directions = cone_directions(axis, angle=self.cone_angle, count=self.ray_count)
        self._normals = NoiseBlock(self.rngs, ())

    def measure(self, state: VehicleState, t: float) -> RangeReading:
        """Return the distance; the vehicle must be in a simulation.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        hits = self.vehicle.raycast(self._directions, self.max_range, origin=self.position)
        nearest = hits.distance
        if self.ray_count > 1:
            nearest = nearest.reshape(self.count, self.ray_count).min(axis=1)
        found = nearest <= self.max_range
        distance = np.minimum(nearest, self.max_range)
        distance += (self.noise_sigma + self.proportional_noise * distance) * self._normals.take()
        valid = found & (distance >= self.min_range) & (distance <= self.max_range)
        distance = np.maximum(np.where(found, distance, self.max_range), self.min_range)
        return RangeReading(t, np.minimum(distance, self.max_range), valid, self.min_range, self.max_range)


@dataclass(kw_only=True, eq=False)
class Sonar(Rangefinder):
    """Downward ultrasonic rangefinder: the shortest of nine rays (Hector 2012, sec. 3.3).

    A `Rangefinder` with a range of 3 m and a cone of 40 degrees.
    """

    rate_hz: float = 10.0
    """Readings per second [Hz]."""
    min_range: float = 0.03
    """Shortest measurable distance [m]."""
    max_range: float = 3.0
    """Longest measurable distance [m]."""
    ray_count: int = 9
    """Rays in the cone."""
    cone_angle: float = math.radians(40.0)
    """Opening angle of the cone, from rim to rim [rad]."""
