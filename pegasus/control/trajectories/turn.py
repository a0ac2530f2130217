"""Turn on the spot about any axis, of machines whose rotors push sideways."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_vector
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.base.frames import multiply, quaternion_from_euler
from pegasus.contracts.trajectory import ZERO, Point, TimedPath, Vec3, heading_of, points_of, unit_attitude
from pegasus.control.trajectories.maneuvers import Profile


@dataclass(frozen=True, eq=False)
class Turn(TimedPath):
    """Turn on the spot about an axis of the body, from rest to rest.

    It begins at the attitude in which the previous part ends, or upright. A part after it that asks for no
    attitude is flown upright again, with the heading from before the turn.
    """

    name = "turn"

    axis: Vec3
    """Axis in the body frame."""
    angle: float = 2.0 * math.pi
    """Angle by the right-hand rule [rad]."""
    rate: float = 1.0
    """Largest rate [rad/s]."""
    acceleration: float = 1.0
    """Largest angular acceleration [rad/s^2]."""
    start: Vec3 = ZERO
    """Position [m]; a sequence sets the end of the previous part."""
    attitude: tuple[float, ...] = (0.0, 0.0, 0.0)
    """Attitude at the start: roll, pitch and yaw [rad], or a quaternion; a sequence sets that of before."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        require_vector("axis", self.axis)
        require(math.hypot(*self.axis) > 0, "axis", self.axis, "must have a direction")
        finite = math.isfinite(self.angle) and self.angle != 0
        require(finite, "angle", self.angle, "must be finite and not 0 rad")
        require(0 < self.rate < math.inf, "rate", self.rate, "must be above 0 rad/s")
        some = 0 < self.acceleration < math.inf
        require(some, "acceleration", self.acceleration, "must be above 0 rad/s^2")
        object.__setattr__(self, "duration", self._profile.duration)

    @property
    def _profile(self) -> Profile:
        return Profile(abs(self.angle), rate=self.rate, acceleration=self.acceleration)

    def starting_at(self, point: Point) -> "Turn":
        """Return a copy at the position and the attitude of a point."""
        x, y, z = point.position
        attitude = point.attitude
        if attitude is None:
            attitude = quaternion_from_euler(0.0, 0.0, point.yaw or 0.0).tolist()
        return replace(self, start=(float(x), float(y), float(z)), attitude=tuple(attitude))

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the position, at rest, with the heading of the start; see `Trajectory.samples`."""
        return points_of(len(times), [self.start], heading_of(self.attitude))

    def attitudes(self, times: Array) -> Array:
        """Return attitudes and body rates; see `Trajectory.attitudes`."""
        turned, rate, _, _ = self._profile.at(times)
        axis = np.array(self.axis) * (math.copysign(1.0, self.angle) / math.hypot(*self.axis))
        sine, cosine = sine_and_cosine(0.5 * turned)
        way = np.concatenate([sine[:, None] * axis, cosine[:, None]], axis=1)
        first = unit_attitude("attitude", self.attitude)
        return np.concatenate([multiply(first, way), rate[:, None] * axis], axis=1)
