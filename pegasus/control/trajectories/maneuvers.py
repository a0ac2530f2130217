"""Manoeuvres (idle, take-off, hold, land), transfers between trajectories, and sequences of them."""

import math
from bisect import bisect_right
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import finite_angles, require
from pegasus.base.errors import ConfigError
from pegasus.control.trajectories.spline import bridge
from pegasus.core.trajectory import ZERO, Point, TimedPath, Trajectory, Vec3, of_each, points_of

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
        covered = rate * ramp * _power(x, 4.0) * (2.5 - 3.0 * x + x * x)
        slope = 30.0 * _power(x * y, 2.0) * rate / ramp
        covered = np.where(rising, covered, self.distance - covered)
        jerk = 60.0 * x * y * (y - x) * rate / (ramp * ramp)
        return (
            np.where(ramping, covered, np.where(moving, cruised, np.where(t <= 0.0, 0.0, self.distance))),
            np.where(ramping, rate * _power(x, 3.0) * (10.0 - 15.0 * x + 6.0 * x * x), moving * rate),
            np.where(ramping, np.where(rising, slope, -slope), 0.0),
            np.where(ramping, jerk, 0.0),
        )


def _power(x: Array, exponent: float) -> Array:
    return of_each(math.pow, x, np.full_like(x, exponent))


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

    def __post_init__(self) -> None:
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
        return points_of(len(times), [self.position or (0.0, 0.0, self.height or 0.0)], self.yaw)


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


_MEETING = 1e-6
"""Tolerance of states and headings below which no transfer is needed."""


class Sequence(TimedPath):
    """Sequence of trajectories with transfers between them.

    A part without a position (take-off, land, idle, hold) starts at the end of the previous one. A transfer
    joins parts that differ in position, motion or heading; from the ground it climbs first. A part without a
    heading keeps the last one. A landing without a height ends at the height of the sequence's start.

    Args:
        parts: Trajectories in order; only the last may be endless. Nested sequences are flattened.
        speed: Largest speed of the transfers [m/s].
        acceleration: Largest acceleration of the transfers [m/s^2].
        start: Start of the first part; by default the part's own start.

    Raises:
        ConfigError: If there are no parts, one before the last never ends, or a limit is not positive.
    """

    name = "sequence"

    def __init__(
        self, *parts: Trajectory, speed: float = 2.0, acceleration: float = 2.0, start: Point | None = None
    ) -> None:
        require(speed > 0, "speed", speed, "must be above 0 m/s")
        require(acceleration > 0, "acceleration", acceleration, "must be above 0 m/s^2")
        self._given: list[Trajectory] = []
        for index, part in enumerate(parts):
            trajectory = isinstance(part, Trajectory)
            require(trajectory, f"parts.{index}", part, "must be a trajectory", "such as takeoff(height=2.0)")
            self._given += part._given if isinstance(part, Sequence) else [part]
        self._speed, self._acceleration = speed, acceleration
        if not self._given:
            raise ConfigError("must have at least one part", field="parts")
        for index, part in enumerate(self._given[:-1]):
            if math.isinf(part.duration):
                raise ConfigError(
                    f"is endless, so the parts after it are never flown: {part.name}",
                    field=f"parts.{index}",
                    remedy="give it a duration or a number of laps, or put it last",
                )
        self.parts: list[Trajectory] = []
        """Parts and transfers in order of flight."""
        self._yaws: list[float | None] = []
        self._join(start)
        self._starts = [0.0, *accumulate(part.duration for part in self.parts)]
        self.duration = self._starts.pop()

    @property
    def lands(self) -> bool:
        """Whether it ends with a landing."""
        return isinstance(self.parts[-1], Land)

    def starting_at(self, point: Point) -> "Sequence":
        """Return the same parts from another start."""
        return Sequence(*self._given, speed=self._speed, acceleration=self._acceleration, start=point)

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        found, first = [], 0
        while first < len(times):
            points, idle, _ = self.ahead(times[first:])
            found.append((points, idle))
            first += len(points)
        return np.concatenate([points for points, _ in found]), np.concatenate([idle for _, idle in found])

    def segment(self, t: float) -> str:
        """Return the name of the part at a time since the start [s]."""
        index = self._index(t)
        return self.parts[index].segment(t - self._starts[index])

    def ahead(self, times: Array) -> tuple[Array, Array, str]:
        """Return the points at the leading times that belong to one part, and the name of the part.

        Args:
            times: Rising times since the start [s], shape (n,).

        Returns:
            The points as by `samples`, and the name.
        """
        index = self._index(float(times[0]))
        part = self.parts[index]
        if index + 1 < len(self.parts):
            times = times[times < self._starts[index + 1]]
        elapsed = times - self._starts[index]
        name = part.segment(float(elapsed[0]))
        if type(part).segment is not Trajectory.segment:
            names = [part.segment(t) for t in elapsed.tolist()]
            elapsed = elapsed[: next((k for k, other in enumerate(names) if other != name), None)]
        points, idle = part.samples(np.minimum(np.maximum(elapsed, 0.0), part.duration))
        yaw = self._yaws[index]
        if yaw is not None:
            points[:, 12] = yaw
        return points, idle, name

    def _index(self, t: float) -> int:
        return max(bisect_right(self._starts, t) - 1, 0)

    def _join(self, start: Point | None) -> None:
        ground = 0.0 if start is None else float(start.position[2])
        headed = any(part.sample(0.0).yaw is not None for part in self._given)
        here = start
        if here is not None:
            here = here._replace(yaw=(here.yaw or 0.0) if headed else None)
        for part in self._given:
            if isinstance(part, Land) and part.height is None:
                part = replace(part, height=ground)
            if here is not None:
                part = part.starting_at(here)
            first = part.complete(0.0)
            if here is None:
                here = first._replace(yaw=first.yaw or 0.0) if headed else first
            if first.yaw is None:
                first = first._replace(yaw=here.yaw)
            here = self._lead(here, first)
            here = self._fly(part, here)

    def _lead(self, here: Point, there: Point) -> Point:
        """Append the transfer between two points, if one is needed; return its end."""
        if here.idle and not there.idle and there.position[2] > here.position[2] + _MEETING:
            climb = Takeoff(float(there.position[2])).starting_at(here)
            if _differ(climb.sample(climb.duration), there) and _differ(here, there):
                here = self._fly(climb, here)
        turn = 0.0 if here.yaw is None or there.yaw is None else turn_between(here.yaw, there.yaw)
        if abs(turn) > _MEETING or _differ(here, there):
            leg = Transfer(here, there, speed=self._speed, acceleration=self._acceleration)
            here = self._fly(leg, here)
        return here

    def _fly(self, part: Trajectory, here: Point) -> Point:
        """Append a part; return its end."""
        self.parts.append(part)
        heading = here.yaw if part.sample(0.0).yaw is None else None
        self._yaws.append(heading)
        if math.isinf(part.duration):
            return here
        end = part.complete(part.duration)
        if heading is not None:
            end = end._replace(yaw=heading)
        return end._replace(idle=True) if isinstance(part, Land) else end


def _differ(a: Point, b: Point) -> bool:
    return any(abs(x - y) > _MEETING for k in range(3) for x, y in zip(a.motion[k], b.motion[k], strict=True))
