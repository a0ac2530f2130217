"""Trajectories through given points."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from pegasus.components import require
from pegasus.control.trajectories.limits import MotionLimits
from pegasus.control.trajectories.quickest import paced, quickest_times
from pegasus.control.trajectories.sequence import Sequence
from pegasus.control.trajectories.spline import Spline
from pegasus.control.trajectories.trajectory import (
    Point,
    Trajectory,
    Vec3,
    Yaw,
    check_points,
    check_yaw,
    heading_along,
)
from pegasus.control.trajectories.transfer import Transfer

_JERK = 10.0
"""Largest jerk that the times are chosen for, by acceleration^2 / speed: six times that of a smooth ramp."""


@dataclass(frozen=True, eq=False)
class Waypoints(Trajectory):
    """Fly through points, smoothly with minimum snap, or straight with a stop at each."""

    name = "waypoints"

    points: tuple[Vec3, ...]
    """Points [m], two or more, no two neighbours the same."""
    speed: float = 2.0
    """Largest speed [m/s]."""
    acceleration: float = 2.0
    """Largest acceleration [m/s^2]."""
    stop: bool = False
    """Whether to fly straight and come to rest at every point."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; that of the part before when left out."""
    ground: float = 0.0
    """Height that no point may lie below [m]."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        check_points(self.points, self.ground)
        for k, (a, b) in enumerate(pairwise(self.points)):
            require(math.dist(a, b) > 1e-6, f"points.{k + 1}", b, "must differ from the point before it")
        require(0 < self.speed < math.inf, "speed", self.speed, "must be above 0 m/s")
        require(0 < self.acceleration < math.inf, "acceleration", self.acceleration, "must be above 0 m/s^2")
        check_yaw(self.yaw)
        object.__setattr__(self, "duration", self._legs.duration if self.stop else self._spline.duration)

    @cached_property
    def _legs(self) -> Sequence:
        legs, heading = [], 0.0
        for a, b in pairwise(self.points):
            if math.hypot(b[0] - a[0], b[1] - a[1]) > 1e-6:
                heading = math.atan2(b[1] - a[1], b[0] - a[0])
            yaw = heading if isinstance(self.yaw, str) else self.yaw
            start, end = Point(a, yaw=yaw), Point(b, yaw=yaw)
            legs.append(Transfer(start, end, speed=self.speed, acceleration=self.acceleration))
        return Sequence(*legs)

    @cached_property
    def _spline(self) -> Spline:
        points = np.array(self.points, dtype=np.float64)
        gentle = MotionLimits(self.speed, self.acceleration, _JERK * self.acceleration**2 / self.speed)
        times = quickest_times(points, gentle)
        return paced(Spline(points, times), MotionLimits(self.speed, self.acceleration))

    def sample(self, t: float) -> Point:
        """Return the point at a time since the beginning [s]."""
        if self.stop:
            return self._legs.sample(t)
        position, velocity, acceleration, jerk = self._spline.at(t)
        yaw, yaw_rate = self.yaw, 0.0
        if isinstance(yaw, str):
            yaw, yaw_rate = heading_along(self._spline.at, t, self.duration)
        return Point(position, velocity, acceleration, jerk, yaw, yaw_rate)
