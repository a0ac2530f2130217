"""Manoeuvres (idle, take-off, hold, land), and transfers between trajectories."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import finite_angles, require
from pegasus.contracts.trajectory import (
    ZERO,
    Point,
    TimedPath,
    Vec3,
    check_attitude,
    heading_of,
    held_attitude,
    points_of,
)
from pegasus.control.trajectories.spline import bridge

# Largest slope of the quintic smoothstep.
_STEEPEST = 15 / 8


class Profile:
    """Rest-to-rest motion profile along a distance: ramp up, cruise, ramp down.

    The rate follows the smoothstep s(x) = 10 x^3 - 15 x^4 + 6 x^5 over each ramp, so that rate, acceleration
    and jerk are continuous and zero at both ends. Short distances have a lower cruise rate.

    Args:
        distance: Distance in metres or radians; not negative, may be infinite.
        rate: Cruise rate per second.
        acceleration: Largest acceleration per second squared.
    """

    def __init__(self, distance: float, *, rate: float, acceleration: float) -> None:
        self.distance = distance
        self._rate = min(rate, math.sqrt(distance * acceleration / _STEEPEST))
        self._ramp = _STEEPEST * self._rate / acceleration
        self.duration = distance / self._rate + self._ramp if distance > 0 else 0.0

    def at(self, times: npt.ArrayLike) -> tuple[Array, Array, Array, Array]:
        """Return progress, rate, acceleration and jerk; at rest before 0 and after `duration`.

        Args:
            times: Times since the start [s], any shape.
        """
        t = np.asarray(times, dtype=np.float64)
        left, none = self.duration - t, np.zeros_like(t)
        ramp, rate = self._ramp, self._rate
        cruising = (t >= ramp) & (left >= ramp)
        cruised = rate * (t - 0.5 * ramp)
        if self.distance > 0 and cruising.all():
            return cruised, none + rate, none, none
        moving = (t > 0.0) & (left > 0.0)
        if not moving.any():
            return np.where(t <= 0.0, 0.0, self.distance), none, none, none
        rising, ramping = t < left, moving & ~cruising
        x = np.where(ramping, np.where(rising, t, left), 0.0) / ramp
        y = 1.0 - x
        square = x * x
        covered = rate * ramp * square * square * (2.5 - 3.0 * x + x * x)
        slope = 30.0 * square * (y * y) * rate / ramp
        covered = np.where(rising, covered, self.distance - covered)
        jerk = 60.0 * x * y * (y - x) * rate / (ramp * ramp)
        return (
            np.where(ramping, covered, np.where(moving, cruised, np.where(t <= 0.0, 0.0, self.distance))),
            np.where(ramping, rate * (square * x) * (10.0 - 15.0 * x + 6.0 * x * x), moving * rate),
            np.where(ramping, np.where(rising, slope, -slope), 0.0),
            np.where(ramping, jerk, 0.0),
        )


_TURN_RATE = 1.5
"""Largest yaw rate of a transfer [rad/s]."""
_TURN_ACCELERATION = 2.0
"""Largest yaw acceleration of a transfer [rad/s^2]."""


def turn_between(start: float, end: float) -> float:
    """Return the shortest turn from one heading to another [rad], in [-pi, pi].

    Args:
        start: Initial heading [rad].
        end: Final heading [rad].
    """
    return math.remainder(end - start, 2 * math.pi)


class Transfer(TimedPath):
    """Transfer between two points: a straight line at rest, a minimum-snap spline in motion.

    The heading turns in the shorter direction at up to 1.5 rad/s; if that takes longer than the motion, the
    vehicle waits at the end.

    Args:
        start: First point.
        end: Last point; without a heading the initial one is kept.
        speed: Largest speed [m/s].
        acceleration: Largest acceleration [m/s^2].
        name: Name of the segment.
    """

    def __init__(
        self, start: Point, end: Point, *, speed: float, acceleration: float, name: str = "transfer"
    ) -> None:
        self.name = name
        self._start, self._end = start, end
        way = [b - a for a, b in zip(start.position, end.position, strict=True)]
        length = math.hypot(*way)
        self._direction = np.array([w / length for w in way] if length > 0 else [0.0, 0.0, 0.0])
        self._line = Profile(length, rate=speed, acceleration=acceleration)
        straight = start.at_rest and end.at_rest
        self._spline = (
            None if straight else bridge(start.motion, end.motion, speed=speed, acceleration=acceleration)
        )
        turn = 0.0
        if start.yaw is not None and end.yaw is not None:
            turn = turn_between(start.yaw, end.yaw)
        self._side = math.copysign(1.0, turn)
        self._turn = Profile(abs(turn), rate=_TURN_RATE, acceleration=_TURN_ACCELERATION)
        moving = self._line.duration if self._spline is None else self._spline.duration
        self.duration = max(moving, self._turn.duration)
        self._turn_pace = 1.0
        if self._spline is not None:
            # A moving end cannot wait for the heading: the turn takes at most the spline's time.
            self.duration = moving
            self._turn_pace = max(1.0, self._turn.duration / moving)

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        yaw: Array | float | None = self._start.yaw
        yaw_rate: Array | float = 0.0
        if yaw is not None and self._turn.distance > 0:
            turned, rate, _, _ = self._turn.at(times * self._turn_pace)
            yaw, yaw_rate = yaw + self._side * turned, self._side * rate * self._turn_pace
        if self._spline is not None:
            motion = self._spline.at(times)
            return points_of(len(times), [motion[:, k] for k in range(4)], yaw, yaw_rate)
        along = [part[:, None] * self._direction for part in self._line.at(times)]
        along[0] = np.array(self._start.position, dtype=np.float64) + along[0]
        return points_of(len(times), along, yaw, yaw_rate)

    def attitudes(self, times: Array) -> Array | None:
        """Return that of the last point, if both have one; see `Trajectory.attitudes`."""
        return None if self._start.attitude is None else held_attitude(self._end.attitude, times)


@dataclass(frozen=True, eq=False)
class Idle(TimedPath):
    """Stand on the ground, armed, rotors idling."""

    name = "idle"

    duration: float = 1.0
    """Duration [s]."""
    start: Vec3 = ZERO
    """Position [m]; a sequence sets the end of the previous part."""

    def __post_init__(self) -> None:
        require(self.duration > 0, "duration", self.duration, "must be above 0 s")

    def starting_at(self, point: Point) -> "Idle":
        """Return a copy at the position of a point."""
        return replace(self, start=_place(point))

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the position, idle."""
        return points_of(len(times), [self.start], None, idle=True)


@dataclass(frozen=True, eq=False)
class Hold(TimedPath):
    """Hover at a position, at a height above the end of the previous part, or at that end."""

    name = "hold"

    height: float | None = None
    """Height in the world [m]."""
    position: Vec3 | None = None
    """Position [m]; replaces `height`."""
    duration: float = math.inf
    """Duration [s]."""
    yaw: float | None = None
    """Heading [rad]; by default that of the previous part."""
    attitude: tuple[float, ...] | None = None
    """Attitude of a machine whose rotors push sideways: roll, pitch and yaw [rad], or a quaternion."""

    def __post_init__(self) -> None:
        check_attitude(self.attitude, self.yaw)
        require(self.duration > 0, "duration", self.duration, "must be above 0 s")
        both = self.height is not None and self.position is not None
        require(not both, "height", self.height, "must be left out when a position is given")
        if self.yaw is not None:
            finite_angles("yaw", self.yaw, ())
        place = (self.height or 0.0,) if self.position is None else tuple(self.position)
        require(all(map(math.isfinite, place)), "height or position", place, "must be finite [m]")

    def starting_at(self, point: Point) -> "Hold":
        """Return a copy with the open coordinates of a point."""
        if self.position is not None:
            return self
        x, y, z = _place(point)
        return replace(self, height=None, position=(x, y, z if self.height is None else self.height))

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the position, at rest."""
        yaw = self.yaw if self.attitude is None else heading_of(self.attitude)
        return points_of(len(times), [self.position or (0.0, 0.0, self.height or 0.0)], yaw)

    def attitudes(self, times: Array) -> Array | None:
        """Return the attitude, at rest; see `Trajectory.attitudes`."""
        return held_attitude(self.attitude, times)


@dataclass(frozen=True, eq=False)
class Takeoff(TimedPath):
    """Climb straight up to a height and come to rest."""

    name = "takeoff"

    height: float
    """Height in the world [m]."""
    speed: float = 1.0
    """Largest speed [m/s]."""
    acceleration: float = 1.0
    """Largest acceleration [m/s^2]."""
    start: Vec3 = ZERO
    """Start position [m]; a sequence sets the end of the previous part."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        require(math.isfinite(self.height), "height", self.height, "must be a finite number of metres")
        require(self.speed > 0, "speed", self.speed, "must be above 0 m/s")
        require(self.acceleration > 0, "acceleration", self.acceleration, "must be above 0 m/s^2")
        object.__setattr__(self, "duration", self._path.duration)

    @cached_property
    def _path(self) -> Transfer:
        return _straight(self.start, self.height, self.speed, self.acceleration)

    def starting_at(self, point: Point) -> "Takeoff":
        """Return a copy that starts at the position of a point."""
        return replace(self, start=_place(point))

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        return self._path.samples(times)


@dataclass(frozen=True, eq=False)
class Land(TimedPath):
    """Descend straight down and come to rest on the ground."""

    name = "land"

    height: float | None = None
    """Ground height in the world [m]; by default that of the mission's start."""
    speed: float = 0.7
    """Largest speed [m/s]."""
    acceleration: float = 0.5
    """Largest acceleration [m/s^2]."""
    start: Vec3 = ZERO
    """Start position [m]; a sequence sets the end of the previous part."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        finite = self.height is None or math.isfinite(self.height)
        require(finite, "height", self.height, "must be a finite number of metres")
        require(self.speed > 0, "speed", self.speed, "must be above 0 m/s")
        require(self.acceleration > 0, "acceleration", self.acceleration, "must be above 0 m/s^2")
        object.__setattr__(self, "duration", self._path.duration)

    @cached_property
    def _path(self) -> Transfer:
        return _straight(self.start, self.height or 0.0, self.speed, self.acceleration)

    def starting_at(self, point: Point) -> "Land":
        """Return a copy that starts at the position of a point."""
        return replace(self, start=_place(point))

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        return self._path.samples(times)


def _place(point: Point) -> Vec3:
    x, y, z = point.position
    return float(x), float(y), float(z)


def _straight(start: Vec3, height: float, speed: float, acceleration: float) -> Transfer:
    end = Point((start[0], start[1], height))
    return Transfer(Point(start), end, speed=speed, acceleration=acceleration)
