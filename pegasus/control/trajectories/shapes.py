"""Closed shapes: square, circle, lemniscate."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

from pegasus.components import require
from pegasus.control.trajectories.profile import Profile
from pegasus.control.trajectories.sequence import Sequence
from pegasus.control.trajectories.trajectory import Point, Trajectory, Yaw, check_yaw
from pegasus.control.trajectories.transfer import Transfer


@dataclass(frozen=True, eq=False)
class Square(Trajectory):
    """Fly around a square counter-clockwise from its south-western corner, at rest at every corner."""

    name = "square"

    side: float
    """Length of a side [m]."""
    height: float = 3.0
    """Height in the world [m]."""
    speed: float = 2.0
    """Largest speed [m/s]."""
    acceleration: float = 2.0
    """Largest acceleration [m/s^2]."""
    laps: int = 1
    """How many times around."""
    center: tuple[float, float] = (0.0, 0.0)
    """Its middle [m]."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; that of the part before when left out."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        require(0 < self.side < math.inf, "side", self.side, "must be above 0 m")
        require(self.laps >= 1, "laps", self.laps, "must be at least 1")
        _check_motion(self)
        object.__setattr__(self, "duration", self._sides.duration)

    @cached_property
    def _sides(self) -> Sequence:
        (cx, cy), h = self.center, 0.5 * self.side
        corners = [(cx + x, cy + y, self.height) for x, y in ((-h, -h), (h, -h), (h, h), (-h, h), (-h, -h))]
        legs = []
        for k in range(4):
            yaw = 0.5 * math.pi * k if isinstance(self.yaw, str) else self.yaw
            start, end = Point(corners[k], yaw=yaw), Point(corners[k + 1], yaw=yaw)
            legs.append(Transfer(start, end, speed=self.speed, acceleration=self.acceleration))
        return Sequence(*(legs * self.laps))

    def sample(self, t: float) -> Point:
        """Return the point at a time since the beginning [s]."""
        return self._sides.sample(t)


@dataclass(frozen=True, eq=False)
class _Curve(Trajectory):
    """Level curve over a phase that ramps up from rest, cruises and ramps down to rest."""

    radius: float
    """Radius, of the lemniscate half its length [m]."""
    height: float = 3.0
    """Height in the world [m]."""
    speed: float = 2.0
    """Largest speed [m/s]."""
    laps: float = 1.0
    """How many times around; may be infinite."""
    acceleration: float = 1.0
    """Largest acceleration along the path while speeding up and slowing down [m/s^2]."""
    center: tuple[float, float] = (0.0, 0.0)
    """Its middle [m]."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; that of the part before when left out."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        require(0 < self.radius < math.inf, "radius", self.radius, "must be above 0 m")
        require(self.laps > 0, "laps", self.laps, "must be above 0")
        _check_motion(self)
        object.__setattr__(self, "duration", self._phase.duration)

    @property
    @abstractmethod
    def _metres_per_radian(self) -> float:
        """Largest speed by phase rate [m/rad]."""

    @abstractmethod
    def _path(self, phase: float) -> tuple[tuple[float, float], ...]:
        """Return (x, y) and its first three derivatives by phase [m], at a phase [rad]."""

    @cached_property
    def _phase(self) -> Profile:
        metres = self._metres_per_radian
        return Profile(
            2 * math.pi * self.laps, rate=self.speed / metres, acceleration=self.acceleration / metres
        )

    def sample(self, t: float) -> Point:
        """Return the point at a time since the beginning [s]."""
        s, v, a, j = self._phase.at(t)
        (x, y), (x1, y1), (x2, y2), (x3, y3) = self._path(s)
        # Chain rule of the path over the phase.
        vv, va, vvv = v * v, 3.0 * v * a, v * v * v
        yaw, yaw_rate = self.yaw, 0.0
        if isinstance(yaw, str):
            yaw = math.atan2(y1, x1)
            yaw_rate = (x1 * y2 - y1 * x2) / (x1 * x1 + y1 * y1) * v
        return Point(
            (self.center[0] + x, self.center[1] + y, self.height),
            (x1 * v, y1 * v, 0.0),
            (x2 * vv + x1 * a, y2 * vv + y1 * a, 0.0),
            (x3 * vvv + x2 * va + x1 * j, y3 * vvv + y2 * va + y1 * j, 0.0),
            yaw,
            yaw_rate,
        )


@dataclass(frozen=True, eq=False)
class Circle(_Curve):
    """Fly around a circle counter-clockwise from its easternmost point."""

    name = "circle"

    @property
    def _metres_per_radian(self) -> float:
        return self.radius

    def _path(self, phase: float) -> tuple[tuple[float, float], ...]:
        c, s = self.radius * math.cos(phase), self.radius * math.sin(phase)
        return (c, s), (-s, c), (-c, -s), (s, -c)


@dataclass(frozen=True, eq=False)
class Lemniscate(_Curve):
    """Fly a figure of eight from its middle, x = r sin q, y = r sin q cos q (lemniscate of Gerono)."""

    name = "lemniscate"

    @property
    def _metres_per_radian(self) -> float:
        return math.sqrt(2.0) * self.radius

    def _path(self, phase: float) -> tuple[tuple[float, float], ...]:
        r = self.radius
        c, s = r * math.cos(phase), r * math.sin(phase)
        c2, s2 = r * math.cos(2.0 * phase), r * math.sin(2.0 * phase)
        return (s, 0.5 * s2), (c, c2), (-s, -2.0 * s2), (-c, -4.0 * c2)


def _check_motion(shape: Square | _Curve) -> None:
    require(math.isfinite(shape.height), "height", shape.height, "must be a finite number of metres")
    require(0 < shape.speed < math.inf, "speed", shape.speed, "must be above 0 m/s")
    require(0 < shape.acceleration < math.inf, "acceleration", shape.acceleration, "must be above 0 m/s^2")
    check_yaw(shape.yaw)
