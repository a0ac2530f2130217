"""The quickest minimum-snap flight through points that speed and thrust allow."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.control.trajectories.limits import Limits
from pegasus.control.trajectories.quickest import (
    SAMPLING_MARGIN,
    paced,
    quickest_times,
    slowdown_of,
)
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
from pegasus.errors import ConfigError


@dataclass(frozen=True, eq=False)
class MinimumSnap(Trajectory):
    """Fly smoothly through points with minimum snap, as fast as the limits allow.

    The times at the points are those with the shortest flight (Mellinger and Kumar 2011, sec. IV-C, under
    limits of speed and thrust): the curve between them is the one of minimum snap.
    """

    name = "minimum_snap"

    points: tuple[Vec3, ...]
    """Points [m], two or more, no two neighbours the same."""
    speed: float = 5.0
    """Largest speed [m/s]."""
    thrust: float = 1.5
    """Largest thrust by weight, |a - g| / |g|."""
    least_thrust: float = 0.3
    """Smallest upward part of the thrust by weight."""
    tilt: float = 0.8
    """Largest angle between thrust and vertical [rad]."""
    jerk: float = 40.0
    """Largest jerk [m/s^3]; it turns the thrust at up to jerk / 9.8 rad/s where that is the weight."""
    velocities: tuple[Vec3 | None, ...] | None = None
    """Velocity at each point [m/s], none where it is free; that of the ends is fixed anyway."""
    closed: bool = False
    """Whether to go around: from the last point back to the first, which is passed like all others."""
    laps: float = 1.0
    """How many times around where `closed`; may be infinite."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; that of the part before when left out."""
    ground: float = 0.0
    """Height that no point may lie below [m]."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        check_points(self.points, self.ground)
        for k, (a, b) in enumerate(pairwise(self._ring)):
            index = (k + 1) % len(self.points)
            require(
                math.dist(a, b) > 1e-6,
                f"points.{index}",
                self.points[index],
                "must differ from its neighbour",
            )
        self._limits.check()
        check_yaw(self.yaw)
        require(self.closed or self.laps == 1, "laps", self.laps, "must be 1 where closed is not set")
        require(not self.closed or len(self.points) >= 3, "points", self.points, "a ring needs three points")
        require(self.laps > 0, "laps", self.laps, "must be above 0")
        self._check_velocities()
        object.__setattr__(self, "duration", self._spline.duration * self.laps)

    @property
    def _limits(self) -> Limits:
        return Limits(self.speed, self.thrust, self.least_thrust, self.tilt, self.jerk)

    @property
    def _ring(self) -> tuple[Vec3, ...]:
        return (*self.points, self.points[0]) if self.closed else self.points

    @property
    def _passing(self) -> dict[int, Array]:
        given = enumerate(self.velocities or ())
        return {k: np.array(velocity) for k, velocity in given if velocity is not None}

    def _check_velocities(self) -> None:
        if self.velocities is None:
            return
        count = len(self.points)
        right = len(self.velocities) == count
        require(right, "velocities", self.velocities, f"must hold one entry for each of the {count} points")
        for k, velocity in self._passing.items():
            name = f"velocities.{k}"
            finite = len(velocity) == 3 and bool(np.isfinite(velocity).all())
            require(finite, name, self.velocities[k], "must be three finite numbers, or none")
            at_end = k == 0 or (k == count - 1 and not self.closed)
            require(
                not at_end, name, self.velocities[k], "must be none: the ends are at rest, or free in a ring"
            )
            fast = math.hypot(*velocity) > self.speed
            require(not fast, name, self.velocities[k], f"must not be faster than speed = {self.speed:g} m/s")

    @cached_property
    def _spline(self) -> Spline:
        points, passing = np.array(self._ring, dtype=np.float64), self._passing
        durations = quickest_times(points, self._limits, velocities=passing, closed=self.closed)
        if not passing:
            return paced(Spline(points, durations, closed=self.closed), self._limits)
        for factor in (0.8 * 5.0 ** (k / 399) for k in range(400)):
            spline = Spline(points, factor * durations, velocities=passing, closed=self.closed)
            if slowdown_of(spline, self._limits) <= 1.0 / SAMPLING_MARGIN:
                return spline
        raise ConfigError(
            "no flight through the points with these velocities keeps to the limits",
            field="velocities",
            value=self.velocities,
            remedy="lower them, leave some of them free, or raise speed and thrust",
        )

    def sample(self, t: float) -> Point:
        """Return the point at a time since the beginning [s]."""
        spline = self._spline
        around = t % spline.duration if self.closed else t
        position, velocity, acceleration, jerk = spline.at(around)
        yaw, yaw_rate = self.yaw, 0.0
        if isinstance(yaw, str):
            yaw, yaw_rate = heading_along(spline.at, around, spline.duration, at_rest=not self.closed)
        return Point(position, velocity, acceleration, jerk, yaw, yaw_rate)
