"""Manoeuvres that begin wherever the part before them ended: idle, take-off, hold, land."""

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

from pegasus.components import require
from pegasus.control.trajectories.trajectory import ZERO, Point, Trajectory, Vec3
from pegasus.control.trajectories.transfer import Transfer


@dataclass(frozen=True, eq=False)
class Idle(Trajectory):
    """Stand on the ground, armed, rotors idling."""

    name = "idle"

    duration: float = 1.0
    """How long [s]."""
    start: Vec3 = ZERO
    """Where it stands [m]; a sequence puts in where the part before ended."""

    def __post_init__(self) -> None:
        require(self.duration > 0, "duration", self.duration, "must be above 0 s")

    def starting_at(self, point: Point) -> "Idle":
        """Return the same at the place of a point."""
        return replace(self, start=_place(point))

    def sample(self, t: float) -> Point:
        """Return the place, idle."""
        return Point(self.start, idle=True)


@dataclass(frozen=True, eq=False)
class Hold(Trajectory):
    """Hover at a position, at a height above or below where the part before ended, or just there."""

    name = "hold"

    height: float | None = None
    """Height in the world [m]."""
    position: Vec3 | None = None
    """Position [m]; in place of `height`."""
    duration: float = math.inf
    """How long [s]."""
    yaw: float | None = None
    """Heading [rad]; that of the part before when left out."""

    def __post_init__(self) -> None:
        require(self.duration > 0, "duration", self.duration, "must be above 0 s")
        both = self.height is not None and self.position is not None
        require(not both, "height", self.height, "must be left out when a position is given")
        angle = self.yaw is None or (not isinstance(self.yaw, str) and math.isfinite(self.yaw))
        require(angle, "yaw", self.yaw, "must be a finite angle in radians")
        place = (self.height or 0.0,) if self.position is None else tuple(self.position)
        require(all(map(math.isfinite, place)), "height or position", place, "must be finite [m]")

    def starting_at(self, point: Point) -> "Hold":
        """Return the same with what was left open taken from a point."""
        if self.position is not None:
            return self
        x, y, z = _place(point)
        return replace(self, height=None, position=(x, y, z if self.height is None else self.height))

    def sample(self, t: float) -> Point:
        """Return the place, at rest."""
        return Point(self.position or (0.0, 0.0, self.height or 0.0), yaw=self.yaw)


@dataclass(frozen=True, eq=False)
class Takeoff(Trajectory):
    """Climb straight up to a height and come to rest."""

    name = "takeoff"

    height: float
    """Height in the world [m]."""
    speed: float = 1.0
    """Largest speed [m/s]."""
    acceleration: float = 1.0
    """Largest acceleration [m/s^2]."""
    start: Vec3 = ZERO
    """Where it begins [m]; a sequence puts in where the part before ended."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        require(math.isfinite(self.height), "height", self.height, "must be a finite number of metres")
        require(self.speed > 0, "speed", self.speed, "must be above 0 m/s")
        require(self.acceleration > 0, "acceleration", self.acceleration, "must be above 0 m/s^2")
        object.__setattr__(self, "duration", self._way.duration)

    @cached_property
    def _way(self) -> Transfer:
        return _straight(self.start, self.height, self.speed, self.acceleration)

    def starting_at(self, point: Point) -> "Takeoff":
        """Return the same from the place of a point."""
        return replace(self, start=_place(point))

    def sample(self, t: float) -> Point:
        """Return the point at a time since the beginning [s]."""
        return self._way.sample(t)


@dataclass(frozen=True, eq=False)
class Land(Trajectory):
    """Descend straight down and come to rest on the ground."""

    name = "land"

    height: float | None = None
    """Height in the world at which the vehicle stands [m]; that of the mission's start when left out."""
    speed: float = 0.7
    """Largest speed [m/s]."""
    acceleration: float = 0.5
    """Largest acceleration [m/s^2]."""
    start: Vec3 = ZERO
    """Where it begins [m]; a sequence puts in where the part before ended."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        finite = self.height is None or math.isfinite(self.height)
        require(finite, "height", self.height, "must be a finite number of metres")
        require(self.speed > 0, "speed", self.speed, "must be above 0 m/s")
        require(self.acceleration > 0, "acceleration", self.acceleration, "must be above 0 m/s^2")
        object.__setattr__(self, "duration", self._way.duration)

    @cached_property
    def _way(self) -> Transfer:
        return _straight(self.start, self.height or 0.0, self.speed, self.acceleration)

    def starting_at(self, point: Point) -> "Land":
        """Return the same from the place of a point."""
        return replace(self, start=_place(point))

    def sample(self, t: float) -> Point:
        """Return the point at a time since the beginning [s]."""
        return self._way.sample(t)


def _place(point: Point) -> Vec3:
    x, y, z = point.position
    return float(x), float(y), float(z)


def _straight(start: Vec3, height: float, speed: float, acceleration: float) -> Transfer:
    end = Point((start[0], start[1], height))
    return Transfer(Point(start), end, speed=speed, acceleration=acceleration)
