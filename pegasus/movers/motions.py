"""Motions of movers: through waypoints at given times, about a hinge, to and fro, along a trajectory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import Vec3, finite_angles, finite_numbers, require, require_positive
from pegasus.base.components import require_vector as three_numbers
from pegasus.base.elementary import atan2, cos, sin
from pegasus.contracts.mover import Motion
from pegasus.contracts.trajectory import Trajectory
from pegasus.control.trajectories import trajectory_from_spec
from pegasus.environment import Environment
from pegasus.movers.keyframes import Keyframes


@dataclass(frozen=True, eq=False)
class TimedWaypoints(Motion):
    """Motion through points at given times, smooth, without overshoot.

    It rests at the first point before its time, and at the last one after it.
    """

    times: tuple[float, ...]
    """Times, rising [s]."""
    points: tuple[Vec3, ...]
    """Points at these times [m]."""
    headings: tuple[float, ...] | None = None
    """Headings at these times, counter-clockwise from east [rad]; 0 when left out."""
    repeat: bool = False
    """Whether it begins again at the last time, where it is as at the first time."""

    def __post_init__(self) -> None:
        for k, point in enumerate(self.points):
            three_numbers(f"points.{k}", point, unit="m")
        self._checked("points", self.points)
        if self.headings is not None:
            self._checked("headings", self.headings)

    def _checked(self, field: str, values: Sequence[Any] | Array) -> Keyframes:
        return Keyframes.checked(self.times, values, repeat=self.repeat, field=field)

    @cached_property
    def _frames(self) -> Keyframes:
        headings = (0.0,) * len(self.times) if self.headings is None else self.headings
        values = np.column_stack([np.array(self.points, dtype=np.float64), headings])
        return self._checked("points", values)

    def pose(self, t: float) -> tuple[Array, Array]:
        """Return the pose at a time; see `Motion.pose`."""
        x, y, z, heading = self._frames.at(t)
        return np.array([x, y, z]), _turned((0.0, 0.0, 1.0), heading)


@dataclass(frozen=True, eq=False)
class Hinge(Motion):
    """Rotation about a fixed axis by angles at given times, such as that of a door."""

    position: Vec3
    """A point of the axis, the origin of the moving frame [m]."""
    times: tuple[float, ...]
    """Times, rising [s]."""
    angles: tuple[float, ...]
    """Angles at these times [rad]; between them the motion is smooth, without overshoot."""
    axis: Vec3 = (0.0, 0.0, 1.0)
    """Axis in the world, of any length."""
    repeat: bool = False
    """Whether it begins again at the last time, where it is as at the first time."""

    def __post_init__(self) -> None:
        three_numbers("position", self.position, unit="m")
        three_numbers("axis", self.axis)
        require(any(self.axis), "axis", self.axis, "must not be zero")
        finite_angles("angles", self.angles, (len(self.angles),))
        Keyframes.checked(self.times, self.angles, repeat=self.repeat, field="angles")

    @cached_property
    def _frames(self) -> Keyframes:
        return Keyframes.checked(self.times, self.angles, repeat=self.repeat, field="angles")

    def pose(self, t: float) -> tuple[Array, Array]:
        """Return the pose at a time; see `Motion.pose`."""
        (angle,) = self._frames.at(t)
        return np.array(self.position, dtype=np.float64), _turned(self.axis, angle)


@dataclass(frozen=True, eq=False)
class Oscillation(Motion):
    """Motion to and fro, p = position + amplitude sin(2 pi t / period + phase)."""

    position: Vec3
    """Middle [m]."""
    amplitude: Vec3
    """Amplitude along x, y, z [m]."""
    period: float
    """Period [s]."""
    phase: float = 0.0
    """Phase at the time 0 [rad]."""
    heading: float = 0.0
    """Heading, counter-clockwise from east [rad]."""

    def __post_init__(self) -> None:
        three_numbers("position", self.position, unit="m")
        three_numbers("amplitude", self.amplitude, unit="m")
        require_positive("period", self.period, "s")
        for name in "phase", "heading":
            finite_angles(name, getattr(self, name), ())

    def pose(self, t: float) -> tuple[Array, Array]:
        """Return the pose at a time; see `Motion.pose`."""
        turns = t / self.period
        swing = sin(2.0 * math.pi * (turns - math.floor(turns)) + self.phase)
        position = np.array([p + a * swing for p, a in zip(self.position, self.amplitude, strict=True)])
        return position, _turned((0.0, 0.0, 1.0), self.heading)


@dataclass(frozen=True, eq=False)
class AlongTrajectory(Motion):
    """Motion along a trajectory as vehicles fly it: circles, lemniscates, waypoints, files."""

    trajectory: list[Any]
    """Parts as in a scenario file, such as `[{lemniscate: {radius: 5, laps: 3}}]`, or a `Trajectory`."""
    position: Vec3 = (0.0, 0.0, 0.0)
    """Origin of the trajectory in the world [m]."""
    heading: float = 0.0
    """Heading where the trajectory has none [rad]."""
    repeat: bool = False
    """Whether it begins again at its end, where it is as at its beginning."""

    def __post_init__(self) -> None:
        three_numbers("position", self.position, unit="m")
        finite_angles("heading", self.heading, ())
        path = self._path
        if self.repeat and math.isfinite(path.duration):
            first, last = (np.array(path.complete(t).position) for t in (0.0, path.duration))
            apart = float(np.abs(last - first).max())
            allowed = "must end where it begins to be repeated"
            require(apart < 1e-6, "trajectory", f"{apart:.3g} m apart", allowed, "or leave repeat out")

    @cached_property
    def _path(self) -> Trajectory:
        return trajectory_from_spec(self.trajectory)

    def pose(self, t: float) -> tuple[Array, Array]:
        """Return the pose at a time; see `Motion.pose`."""
        duration = self._path.duration
        point = self._path.complete(math.fmod(t, duration) if self.repeat else min(t, duration))
        heading = self.heading if point.yaw is None else point.yaw
        origin = finite_numbers("position", self.position, (3,))
        return origin + np.array(point.position), _turned((0.0, 0.0, 1.0), heading)


@dataclass(frozen=True, eq=False)
class Windsock(Motion):
    """Shape that hangs along -z in still air, and that the wind at its origin lifts and turns.

    Its weight and the drag of the wind keep balance: the tangent of its angle to the vertical is the square
    of wind speed over `half_speed`.
    """

    position: Vec3
    """Origin of the moving frame, where it hangs [m]."""
    half_speed: float = 3.0
    """Wind speed that lifts it by 45 degrees; by 81 degrees at 15 knots (FAA AC 150/5345-27) [m/s]."""
    _environment: Environment | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        three_numbers("position", self.position, unit="m")
        require_positive("half_speed", self.half_speed, "m/s")

    def bind(self, environment: Environment) -> None:
        """Hang in the wind of an environment; see `Motion.bind`."""
        object.__setattr__(self, "_environment", environment)

    def pose(self, t: float) -> tuple[Array, Array]:
        """Return the pose at a time; see `Motion.pose`."""
        position = np.array(self.position, dtype=np.float64)
        if self._environment is None:
            return position, np.array([0.0, 0.0, 0.0, 1.0])
        x, y, _ = self._environment.wind_velocity(position[None], t)[0].tolist()
        if x == 0.0 and y == 0.0:
            return position, np.array([0.0, 0.0, 0.0, 1.0])
        return position, _turned((y, -x, 0.0), atan2(x * x + y * y, self.half_speed * self.half_speed))


def _turned(axis: Vec3, angle: float) -> Array:
    """Return the quaternion xyzw of a rotation about an axis, shape (4,)."""
    x, y, z = axis
    scale = sin(0.5 * angle) / math.sqrt(x * x + y * y + z * z)
    return np.array([x * scale, y * scale, z * scale, cos(0.5 * angle)])
