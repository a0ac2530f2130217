"""Analytic paths: square, circle, lemniscate, and the relay manoeuvre."""

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pegasus.base import elementary
from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.elementary_arrays import atan2, sine_and_cosine
from pegasus.contracts.trajectory import Point, TimedPath, Trajectory, Yaw, check_yaw, points_of
from pegasus.control.trajectories.maneuvers import Profile, Transfer
from pegasus.control.trajectories.sequence import Sequence


@dataclass(frozen=True, eq=False)
class Square(TimedPath):
    """Square, counter-clockwise from the south-western corner, at rest at every corner."""

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
    """Number of laps."""
    center: tuple[float, float] = (0.0, 0.0)
    """Centre [m]."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; by default that of the previous part."""
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

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        return self._sides.samples(times)


@dataclass(frozen=True, eq=False)
class _Curve(TimedPath):
    """Horizontal curve over a phase that moves from rest to rest."""

    radius: float
    """Radius; half the length of a lemniscate [m]."""
    height: float = 3.0
    """Height in the world [m]."""
    speed: float = 2.0
    """Largest speed [m/s]."""
    laps: float = 1.0
    """Number of laps; may be infinite."""
    acceleration: float = 1.0
    """Largest acceleration along the path at start and end [m/s^2]."""
    center: tuple[float, float] = (0.0, 0.0)
    """Centre [m]."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; by default that of the previous part."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        require(0 < self.radius < math.inf, "radius", self.radius, "must be above 0 m")
        require(self.laps > 0, "laps", self.laps, "must be above 0")
        _check_motion(self)
        object.__setattr__(self, "duration", self._phase.duration)

    @property
    @abstractmethod
    def _metres_per_radian(self) -> float:
        """Largest speed per phase rate [m/rad]."""

    @abstractmethod
    def _path(self, phase: Array) -> tuple[tuple[Array, Array], ...]:
        """Return (x, y) and its first three derivatives by phase [m], at phases [rad]."""

    @cached_property
    def _phase(self) -> Profile:
        metres = self._metres_per_radian
        return Profile(
            2 * math.pi * self.laps, rate=self.speed / metres, acceleration=self.acceleration / metres
        )

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        s, v, a, j = self._phase.at(times)
        (x, y), (x1, y1), (x2, y2), (x3, y3) = self._path(s)
        # Chain rule of the path over the phase.
        vv, va, vvv = v * v, 3.0 * v * a, v * v * v
        yaw: Array | float | None = None if isinstance(self.yaw, str) else self.yaw
        yaw_rate: Array | float = 0.0
        if isinstance(self.yaw, str):
            yaw = atan2(y1, x1)
            yaw_rate = (x1 * y2 - y1 * x2) / (x1 * x1 + y1 * y1) * v
        motion = np.zeros((12, len(times)))
        motion[0], motion[1], motion[2] = self.center[0] + x, self.center[1] + y, self.height
        motion[3], motion[4] = x1 * v, y1 * v
        motion[6], motion[7] = x2 * vv + x1 * a, y2 * vv + y1 * a
        motion[9], motion[10] = x3 * vvv + x2 * va + x1 * j, y3 * vvv + y2 * va + y1 * j
        return points_of(len(times), [motion.T], yaw, yaw_rate)


@dataclass(frozen=True, eq=False)
class Circle(_Curve):
    """Circle, counter-clockwise from the easternmost point."""

    name = "circle"

    @property
    def _metres_per_radian(self) -> float:
        return self.radius

    def _path(self, phase: Array) -> tuple[tuple[Array, Array], ...]:
        s, c = (self.radius * part for part in sine_and_cosine(phase))
        return (c, s), (-s, c), (-c, -s), (s, -c)


@dataclass(frozen=True, eq=False)
class Lemniscate(_Curve):
    """Figure of eight from its centre, x = r sin q, y = r sin q cos q (lemniscate of Gerono)."""

    name = "lemniscate"

    @property
    def _metres_per_radian(self) -> float:
        return math.sqrt(2.0) * self.radius

    def _path(self, phase: Array) -> tuple[tuple[Array, Array], ...]:
        r = self.radius
        s, c = (r * part for part in sine_and_cosine(phase))
        s2, c2 = (r * part for part in sine_and_cosine(2.0 * phase))
        return (s, 0.5 * s2), (c, c2), (-s, -2.0 * s2), (-c, -4.0 * c2)


def _check_motion(shape: Square | _Curve) -> None:
    require(math.isfinite(shape.height), "height", shape.height, "must be a finite number of metres")
    require(0 < shape.speed < math.inf, "speed", shape.speed, "must be above 0 m/s")
    require(0 < shape.acceleration < math.inf, "acceleration", shape.acceleration, "must be above 0 m/s^2")
    check_yaw(shape.yaw)


@dataclass(frozen=True, eq=False)
class Relay(Trajectory):
    """Relay manoeuvre: x = q, y = b, z = h + b with the bell curve b = exp(-(q / s)^2 / 2) / s.

    Jacinto et al. 2024, eq. 17. The phase q runs from -span to span, from rest to rest.
    A second vehicle with `mirrored` and a centre further along y swerves towards the first.
    """

    name = "relay"

    s: float = 0.6
    """Width of the swerve and inverse of its size; smaller is more aggressive [m]."""
    span: float = 5.0
    """Half length along x [m]."""
    speed: float = 1.0
    """Speed along x [m/s]."""
    acceleration: float = 1.0
    """Largest acceleration along x at start and end [m/s^2]."""
    height: float = 1.0
    """Height in the world outside the swerve [m]."""
    mirrored: bool = False
    """Whether to swerve to -y instead of y; both swerve up."""
    center: tuple[float, float] = (0.0, 0.0)
    """Position of q = 0 without the swerve [m]."""
    heading: float = 0.0
    """Direction of the manoeuvre's x axis, counter-clockwise from east [rad]."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; by default that of the previous part."""
    duration: float = field(init=False)

    def __post_init__(self) -> None:
        for name in ("s", "span", "speed", "acceleration"):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, "must be above 0 and finite")
        for name in ("height", "heading"):
            require(math.isfinite(getattr(self, name)), name, getattr(self, name), "must be a finite number")
        check_yaw(self.yaw)
        object.__setattr__(self, "duration", self._phase.duration)

    @cached_property
    def _phase(self) -> Profile:
        return Profile(2 * self.span, rate=self.speed, acceleration=self.acceleration)

    @cached_property
    def _direction(self) -> tuple[float, float]:
        return elementary.cos(self.heading), elementary.sin(self.heading)

    def sample(self, t: float) -> Point:
        """Return the point at a time since the start [s]."""
        covered, v, a, j = (float(part) for part in self._phase.at(t))
        q = covered - self.span
        u = q / self.s
        # Derivatives of the bell curve by phase are Hermite polynomials times the bell curve.
        bell = elementary.exp(-0.5 * u * u) / self.s
        first, second, third = (
            -bell * u / self.s,
            bell * (u * u - 1.0) / (self.s * self.s),
            -bell * u * (u * u - 3.0) / (self.s * self.s * self.s),
        )
        along = (q, v, a, j)
        swerve = (
            bell,
            first * v,
            second * v * v + first * a,
            third * v * v * v + 3.0 * second * v * a + first * j,
        )
        side = -1.0 if self.mirrored else 1.0
        c, s = self._direction
        motion = [(c * p - s * side * b, s * p + c * side * b, b) for p, b in zip(along, swerve, strict=True)]
        x, y, z = motion[0]
        position = (self.center[0] + x, self.center[1] + y, self.height + z)
        yaw, yaw_rate = self.yaw, 0.0
        if isinstance(yaw, str):
            yaw = self.heading + elementary.atan2(side * first, 1.0)
            yaw_rate = side * second / (1.0 + first * first) * v
        return Point(position, motion[1], motion[2], motion[3], yaw, yaw_rate)
