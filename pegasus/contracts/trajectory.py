"""Contract of trajectories: functions of time that controllers sample."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import finite_angles, finite_numbers, require
from pegasus.base.elementary_arrays import atan2
from pegasus.base.frames import quaternion_from_euler
from pegasus.contracts.path_derivatives import path_motion

Vec3: TypeAlias = tuple[float, float, float]

Motion: TypeAlias = tuple[Vec3, Vec3, Vec3, Vec3]
"""Position [m], velocity [m/s], acceleration [m/s^2] and jerk [m/s^3]."""

Yaw: TypeAlias = float | str | None
"""A fixed heading [rad], "forward" for along the path, or None for that of the part before."""

ZERO: Vec3 = (0.0, 0.0, 0.0)

_FARTHEST = 1e7
"""Largest coordinate of a point [m], a quarter of the way around the Earth."""


class Point(NamedTuple):
    """One instant of a trajectory, in its own frame."""

    position: Sequence[float]
    """Position [m], three numbers."""
    velocity: Sequence[float] = ZERO
    """Velocity [m/s], three numbers."""
    acceleration: Sequence[float] = ZERO
    """Acceleration [m/s^2], three numbers."""
    jerk: Sequence[float] = ZERO
    """Jerk [m/s^3], three numbers."""
    yaw: float | None = None
    """Heading of the body's x axis, counter-clockwise from east [rad]; None keeps the previous heading."""
    yaw_rate: float = 0.0
    """Rate of the heading [rad/s]."""
    idle: bool = False
    """The rotors idle: armed, on the ground."""
    attitude: Sequence[float] | None = None
    """Attitude, unit quaternion xyzw, body to world; None without one."""

    @property
    def motion(self) -> tuple[Sequence[float], Sequence[float], Sequence[float], Sequence[float]]:
        """Position, velocity, acceleration and jerk."""
        return self.position, self.velocity, self.acceleration, self.jerk

    @property
    def at_rest(self) -> bool:
        """Whether velocity, acceleration and jerk are zero but for rounding."""
        return all(abs(part) < 1e-6 for derivative in self.motion[1:] for part in derivative)


class Trajectory(ABC):
    """Base class of trajectories; a custom one sets `duration` and implements `sample`.

    A trajectory is a function of time alone: `sample` is called for many steps ahead.

    The frame has the axes of the world and z = 0 at the world's origin. Its horizontal origin is the start
    position of the vehicle, or the world's origin for a controller with `relative=False`. A hundred vehicles
    therefore fly a hundred copies, and a vehicle that starts at the world's origin flies in world
    coordinates. Either all points have a heading, or none has.
    """

    saved_as = "value"
    name = "trajectory"
    """Name of the segment in references and summaries."""

    duration: float
    """Time from beginning to end [s]; may be infinite."""

    @abstractmethod
    def sample(self, t: float) -> Point:
        """Return the point at a time; the derivatives must be those of the position.

        Where a point has neither velocity, acceleration nor jerk, `samples` finds them; see `path_motion`.

        Args:
            t: Time since the beginning [s], from 0 to `duration`.
        """

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times, by default by `sample`.

        Args:
            times: Times since the beginning [s], shape (n,).

        Returns:
            Position, velocity, acceleration, jerk, heading (NaN for none) and its rate, shape (n, 14); and
            whether the rotors idle, shape (n,).
        """
        points = [self.sample(t) for t in times.tolist()]
        numbers = [
            (*p, *v, *a, *j, math.nan if yaw is None else yaw, rate) for p, v, a, j, yaw, rate, *_ in points
        ]
        table, idle = np.array(numbers, dtype=np.float64), np.array([point.idle for point in points])
        bare = [
            k
            for k, p in enumerate(points)
            if p.velocity is ZERO and p.acceleration is ZERO and p.jerk is ZERO and not p.idle
        ]
        if bare:
            motion = path_motion(self._positions, times[bare], self.duration)
            table[bare, 3:12] = motion[:, 1:].reshape(-1, 9)
        return table, idle

    def attitudes(self, times: Array) -> Array | None:
        """Return the attitudes that are asked of a machine whose rotors push sideways; None for none.

        Args:
            times: Times since the beginning [s], shape (n,).

        Returns:
            Unit quaternion xyzw, body to world, and body rates [rad/s], shape (n, 7).
        """
        return None

    def complete(self, t: float) -> Point:
        """Return the point at a time since the beginning [s], with the derivatives that `samples` finds."""
        times = np.array([t], dtype=np.float64)
        ((numbers,), (idle,)), turned = self.samples(times), self.attitudes(times)
        attitude = None if turned is None or not turned[0, :4].any() else tuple(turned[0, :4].tolist())
        p, v, a, j = (tuple(part) for part in numbers[:12].reshape(4, 3).tolist())
        yaw, yaw_rate = numbers[12:].tolist()
        return Point(p, v, a, j, None if math.isnan(yaw) else yaw, yaw_rate, bool(idle), attitude)

    def _positions(self, times: Array) -> Array:
        return np.array([self.sample(t).position for t in times.tolist()], dtype=np.float64)

    def starting_at(self, point: Point) -> "Trajectory":
        """Return this trajectory as it is flown from a point; one that has a place of its own stays there.

        Args:
            point: Where the part before it ended.
        """
        return self

    def segment(self, t: float) -> str:
        """Return the name of the part of the flight that a time belongs to.

        Args:
            t: Time since the beginning [s].
        """
        return self.name


class TimedPath(Trajectory):
    """Trajectory whose formula takes arrays of times; a subclass implements `samples`."""

    @abstractmethod
    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`.

        Args:
            times: Times since the beginning [s], shape (n,).
        """

    def sample(self, t: float) -> Point:
        """Return the point at a time since the start [s]."""
        return self.complete(t)


def points_of(
    count: int,
    motion: Sequence[Array | Sequence[float]],
    yaw: Array | float | None,
    yaw_rate: Array | float = 0.0,
    *,
    idle: bool = False,
) -> tuple[Array, Array]:
    """Return points as `Trajectory.samples` does.

    Args:
        count: Number of points n.
        motion: Position and its derivatives from the lowest up, broadcast to (n, 3) each, or all of them in
            one array, shape (n, 12); the others are 0.
        yaw: Heading [rad], broadcast to (n,); None for none.
        yaw_rate: Its rate [rad/s].
        idle: Whether the rotors idle.
    """
    points = np.zeros((count, 14))
    for k, part in enumerate(motion):
        points[:, 3 * k : 3 * k + np.shape(part)[-1]] = part
    points[:, 12] = math.nan if yaw is None else yaw
    points[:, 13] = yaw_rate
    return points, np.full(count, idle)


def check_yaw(yaw: Yaw) -> None:
    """Raise a ConfigError unless a heading is an angle, "forward" or left out."""
    if isinstance(yaw, str):
        require(yaw == "forward", "yaw", yaw, 'must be an angle in radians, or "forward"')
    elif yaw is not None:
        finite_angles("yaw", yaw, ())


def unit_attitude(field: str, value: Any) -> Array:
    """Return attitudes as unit quaternions xyzw, body to world, shape (..., 4).

    Args:
        field: Name of the parameter that holds them.
        value: Roll, pitch and yaw [rad], shape (..., 3), or quaternions, shape (..., 4).

    Raises:
        ConfigError: If they are neither.
    """
    shape: tuple[int, ...] = np.shape(value)
    allowed = "must be roll, pitch and yaw [rad], or a quaternion x, y, z, w"
    require(shape[-1:] in ((3,), (4,)), field, value, allowed)
    if shape[-1:] == (3,):
        return quaternion_from_euler(*np.moveaxis(finite_angles(field, value, shape), -1, 0))
    attitude: Array = finite_numbers(field, value, shape)
    size = np.sqrt((attitude * attitude).sum(axis=-1, keepdims=True))
    require(bool((np.abs(size - 1.0) < 0.01).all()), field, value, f"{allowed} of length 1")
    unit: Array = attitude / size
    return unit


def held_attitude(attitude: Sequence[float] | None, times: Array) -> Array | None:
    """Return rows of an attitude, as `unit_attitude` takes it, at rest, for `Trajectory.attitudes`."""
    if attitude is None:
        return None
    rows = np.zeros((len(times), 7))
    rows[:, :4] = unit_attitude("attitude", attitude)
    return rows


def heading_of(attitude: Sequence[float]) -> float:
    """Return the heading of an attitude [rad], as `unit_attitude` takes it."""
    x, y, z, w = unit_attitude("attitude", attitude)[:, None]
    return float(atan2(2.0 * (x * y + z * w), 1.0 - 2.0 * (y * y + z * z))[0])


def check_attitude(attitude: Any, yaw: Yaw) -> None:
    """Raise a ConfigError unless an attitude is left out, or is one, and no heading is given beside it."""
    if attitude is not None:
        unit_attitude("attitude", attitude)
        one = len(np.shape(attitude)) == 1
        require(one, "attitude", attitude, "must be one attitude")
        require(yaw is None, "yaw", yaw, "must be left out: an attitude has a heading")


def check_points(points: Sequence[Sequence[float]], ground: float) -> None:
    """Raise a ConfigError unless there are at least two points that satisfy `check_above_ground`.

    Args:
        points: Points [m].
        ground: Height of the ground in the trajectory's frame [m].
    """
    several = isinstance(points, list | tuple | np.ndarray) and len(points) >= 2
    require(several, "points", points, "must hold at least two points")
    check_above_ground("points", points, ground)


def check_above_ground(field: str, points: Sequence[Sequence[float]], ground: float) -> None:
    """Raise a ConfigError unless all points are three finite numbers and none is below the ground.

    Args:
        field: Name of the parameter that holds the points.
        points: Points [m].
        ground: Height of the ground in the trajectory's frame [m].
    """
    for k, point in enumerate(points):
        three = isinstance(point, list | tuple | np.ndarray) and len(point) == 3
        finite = three and all(isinstance(c, float | int | np.number) and math.isfinite(c) for c in point)
        require(finite, f"{field}.{k}", point, "must be three finite numbers")
        near = max(map(abs, point)) <= _FARTHEST
        require(near, f"{field}.{k}", point, f"must lie within {_FARTHEST:g} m of the origin")
        require(
            point[2] >= ground,
            f"{field}.{k}",
            point,
            f"is below the ground, z = {ground:g} m",
            "raise it, or set ground to the lowest height of the world's terrain",
        )


def heading_along(
    at: Callable[[Array], Array], times: Array, duration: float, *, at_rest: bool = True
) -> tuple[Array, Array]:
    """Return the headings along a path [rad] and their rates [rad/s]; near ends at rest they are held.

    Args:
        at: From times [s] to the motion, shape (n, 4, 3).
        times: Times since the beginning [s], shape (n,).
        duration: Time from beginning to end [s].
        at_rest: Whether the path begins and ends at rest.
    """
    margin = 1e-2 * duration if at_rest else 0.0
    inside = np.minimum(np.maximum(times, margin), duration - margin)
    motion = at(inside)
    vx, vy, ax, ay = motion[:, 1, 0], motion[:, 1, 1], motion[:, 2, 0], motion[:, 2, 1]
    square = vx * vx + vy * vy
    moving = (square > 1e-12) & (inside == times)
    rate = np.divide(vx * ay - vy * ax, square, out=np.zeros_like(square), where=moving)
    return atan2(vy, vx), rate
