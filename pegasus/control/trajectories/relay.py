"""The relay manoeuvre: a swerve along a bell curve, flown by two vehicles that nearly meet."""

import math
from dataclasses import dataclass, field
from functools import cached_property

from pegasus.components import require
from pegasus.control.trajectories.profile import Profile
from pegasus.control.trajectories.trajectory import Point, Trajectory, Yaw, check_yaw


@dataclass(frozen=True, eq=False)
class Relay(Trajectory):
    """Swerve aside and up while passing: x = q, y = b, z = h + b with b = exp(-(q / s)^2 / 2) / s.

    Jacinto et al. 2024, eq. 17. The phase q runs from -span to span, ramps up from rest and down to rest.
    A second vehicle with `mirrored` and a centre further along y swerves towards the first.
    """

    name = "relay"

    s: float = 0.6
    """Width of the swerve, and one by its size; the smaller, the more aggressive [m]."""
    span: float = 5.0
    """Where it ends, and begins on the other side, along x [m]."""
    speed: float = 1.0
    """Speed along x [m/s]."""
    acceleration: float = 1.0
    """Largest acceleration along x while speeding up and slowing down [m/s^2]."""
    height: float = 1.0
    """Height in the world away from the swerve [m]."""
    mirrored: bool = False
    """Whether it swerves to -y in place of y; both swerve up."""
    center: tuple[float, float] = (0.0, 0.0)
    """Where q is zero, away from the swerve [m]."""
    heading: float = 0.0
    """Direction of the manoeuvre's x axis, counter-clockwise from east [rad]."""
    yaw: Yaw = None
    """Heading [rad]; "forward" for along the path; that of the part before when left out."""
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

    def sample(self, t: float) -> Point:
        """Return the point at a time since the beginning [s]."""
        covered, v, a, j = self._phase.at(t)
        q = covered - self.span
        u = q / self.s
        # Derivatives of the bell by its phase are Hermite polynomials times the bell.
        bell = math.exp(-0.5 * u * u) / self.s
        first, second, third = (
            -bell * u / self.s,
            bell * (u * u - 1.0) / self.s**2,
            -bell * u * (u * u - 3.0) / self.s**3,
        )
        along = (q, v, a, j)
        swerve = (
            bell,
            first * v,
            second * v * v + first * a,
            third * v * v * v + 3.0 * second * v * a + first * j,
        )
        side = -1.0 if self.mirrored else 1.0
        c, s = math.cos(self.heading), math.sin(self.heading)
        motion = [(c * p - s * side * b, s * p + c * side * b, b) for p, b in zip(along, swerve, strict=True)]
        x, y, z = motion[0]
        position = (self.center[0] + x, self.center[1] + y, self.height + z)
        yaw, yaw_rate = self.yaw, 0.0
        if isinstance(yaw, str):
            yaw = self.heading + math.atan2(side * first, 1.0)
            yaw_rate = side * second / (1.0 + first * first) * v
        return Point(position, motion[1], motion[2], motion[3], yaw, yaw_rate)
