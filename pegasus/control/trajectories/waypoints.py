"""Trajectories through points: waypoints with motion limits, and minimum snap with thrust limits."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.elementary import atan2, power
from pegasus.base.errors import ConfigError
from pegasus.contracts.trajectory import (
    Point,
    TimedPath,
    Vec3,
    Yaw,
    check_attitude,
    check_points,
    check_yaw,
    heading_of,
    held_attitude,
)
from pegasus.control.trajectories.limits import Limits, MotionLimits
from pegasus.control.trajectories.maneuvers import Transfer
from pegasus.control.trajectories.quickest import (
    SAMPLING_MARGIN,
    paced,
    quickest_times,
    slowdown_of,
)
from pegasus.control.trajectories.sequence import Sequence
from pegasus.control.trajectories.spline import Spline

_JERK = 10.0
"""Largest jerk in the optimisation of times, by acceleration^2 / speed: six times that of a smooth ramp."""

_WITHIN = 50
"""Instants of each piece whose height is compared with the ground."""
_TOUCH = 1e-3
"""Depth below the ground that is rounding [m]."""


def check_path(spline: Spline, points: tuple[Vec3, ...], ground: float) -> None:
    """Raise a ConfigError if a curve sinks below the ground between its points.

    Args:
        spline: The curve.
        points: Its points [m].
        ground: Height of the ground in the trajectory's frame [m].
    """
    lowest = spline.on_grid(_WITHIN)[:, :, 0, 2].min(axis=1)
    k = int(lowest.argmin())
    if lowest[k] < ground - _TOUCH:
        raise ConfigError(
            f"the path to the next point sinks to z = {lowest[k]:.3g} m, below the ground, z = {ground:g} m",
            field=f"points.{k}",
            value=points[k],
            remedy="raise it or its neighbours, or add a point between them",
        )


@dataclass(frozen=True, eq=False)
class Waypoints(TimedPath):
    """Flight through points, smooth with minimum snap, or straight with a stop at each."""

    name = "waypoints"

    points: tuple[Vec3, ...]
    """Points [m], at least two, consecutive ones distinct."""
    speed: float = 2.0
    """Largest speed [m/s]."""
    acceleration: float = 2.0
    """Largest acceleration [m/s^2]."""
    stop: bool = False
    """Whether to fly straight lines and stop at every point."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; by default that of the previous part."""
    ground: float = 0.0
    """Least height of the path [m]."""
    attitude: tuple[float, ...] | None = None
    """Attitude of a machine whose rotors push sideways: roll, pitch and yaw [rad], or a quaternion."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        check_attitude(self.attitude, self.yaw)
        check_points(self.points, self.ground)
        for k, (a, b) in enumerate(pairwise(self.points)):
            require(math.dist(a, b) > 1e-6, f"points.{k + 1}", b, "must differ from the point before it")
        require(0 < self.speed < math.inf, "speed", self.speed, "must be above 0 m/s")
        require(0 < self.acceleration < math.inf, "acceleration", self.acceleration, "must be above 0 m/s^2")
        check_yaw(self.yaw)
        if not self.stop:
            check_path(self._spline, self.points, self.ground)
        object.__setattr__(self, "duration", self._legs.duration if self.stop else self._spline.duration)

    @cached_property
    def _legs(self) -> Sequence:
        legs, heading = [], 0.0
        for a, b in pairwise(self.points):
            if math.hypot(b[0] - a[0], b[1] - a[1]) > 1e-6:
                heading = atan2(b[1] - a[1], b[0] - a[0])
            yaw = heading if isinstance(self._yaw, str) else self._yaw
            start, end = Point(a, yaw=yaw), Point(b, yaw=yaw)
            legs.append(Transfer(start, end, speed=self.speed, acceleration=self.acceleration))
        return Sequence(*legs)

    @cached_property
    def _spline(self) -> Spline:
        points = np.array(self.points, dtype=np.float64)
        gentle = MotionLimits(
            self.speed, self.acceleration, _JERK * self.acceleration * self.acceleration / self.speed
        )
        times = quickest_times(points, gentle)
        return paced(Spline(points, times), MotionLimits(self.speed, self.acceleration))

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        return self._legs.samples(times) if self.stop else self._spline.samples(times, self._yaw)

    def attitudes(self, times: Array) -> Array | None:
        """Return the attitude, at rest; see `Trajectory.attitudes`."""
        return held_attitude(self.attitude, times)

    @property
    def _yaw(self) -> Yaw:
        return self.yaw if self.attitude is None else heading_of(self.attitude)


@dataclass(frozen=True, eq=False)
class MinimumSnap(TimedPath):
    """Time-optimal minimum-snap flight through points within limits of speed and thrust.

    The times at the points minimise the flight time (Mellinger and Kumar 2011, sec. IV-C, with limits of
    speed and thrust); the curve between them has minimum snap.
    """

    name = "minimum_snap"

    points: tuple[Vec3, ...]
    """Points [m], at least two, consecutive ones distinct."""
    speed: float = 5.0
    """Largest speed [m/s]."""
    thrust: float = 1.5
    """Largest thrust-to-weight ratio, |a - g| / |g|."""
    least_thrust: float = 0.3
    """Least vertical thrust-to-weight ratio."""
    tilt: float = 0.8
    """Largest angle between thrust and vertical [rad]."""
    jerk: float = 40.0
    """Largest jerk [m/s^3]; at hover thrust it corresponds to a body rate of jerk / 9.8 rad/s."""
    velocities: tuple[Vec3 | None, ...] | None = None
    """Velocity at each point [m/s], None if free; the ends are fixed."""
    closed: bool = False
    """Whether the path is closed from the last point to the first."""
    laps: float = 1.0
    """Number of laps if `closed`; may be infinite."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; by default that of the previous part."""
    ground: float = 0.0
    """Least height of the path [m]."""
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
        require(self.closed or self.laps == 1, "laps", self.laps, "must be 1 unless closed is set")
        require(
            not self.closed or len(self.points) >= 3,
            "points",
            self.points,
            "a closed path needs three points",
        )
        require(self.laps > 0, "laps", self.laps, "must be above 0")
        self._check_velocities()
        check_path(self._spline, self._ring, self.ground)
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
                not at_end, name, self.velocities[k], "must be none: the ends are at rest, or free if closed"
            )
            fast = math.hypot(*velocity) > self.speed
            require(not fast, name, self.velocities[k], f"must not be faster than speed = {self.speed:g} m/s")

    @cached_property
    def _spline(self) -> Spline:
        points, passing = np.array(self._ring, dtype=np.float64), self._passing
        durations = quickest_times(points, self._limits, velocities=passing, closed=self.closed)
        if not passing:
            return paced(Spline(points, durations, closed=self.closed), self._limits)
        for factor in (0.8 * power(5.0, k / 399) for k in range(400)):
            spline = Spline(points, factor * durations, velocities=passing, closed=self.closed)
            if slowdown_of(spline, self._limits) <= 1.0 / SAMPLING_MARGIN:
                return spline
        raise ConfigError(
            "no flight through the points with these velocities keeps to the limits",
            field="velocities",
            value=self.velocities,
            remedy="lower them, leave some of them free, or raise speed and thrust",
        )

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        spline = self._spline
        around = np.fmod(times, spline.duration) if self.closed else times
        return spline.samples(around, self.yaw, at_rest=not self.closed)
