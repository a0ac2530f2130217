"""Demands: the newest commands of each vehicle, and the paths that commands describe."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.model.machine import Channel

_POWERS = np.arange(6.0)
_SAMPLES = np.linspace(0.0, 1.0, 33)
"""Times at which the speed of a piece is looked at, in parts of its duration."""
_DERIVATIVES = np.array([[math.perm(k, d) for k in range(6)] for d in range(4)], dtype=np.float64)
"""Factors of the k-th coefficient in the d-th derivative, shape (4, 6)."""


class PathPoint(NamedTuple):
    """Point of a path in the world."""

    time: float
    """Time since the start of the path [s]."""
    position: Sequence[float]
    """Position [m], three numbers."""
    yaw: float
    """Heading, counter-clockwise from east [rad]."""
    velocity: Sequence[float] | None = None
    """Velocity [m/s], three numbers; None if not given."""
    acceleration: Sequence[float] | None = None
    """Acceleration [m/s^2], three numbers; None if not given."""


class PathState(NamedTuple):
    """State of a path at one instant."""

    motion: Array
    """Position, velocity, acceleration and jerk, shape (4, 3)."""
    yaw: float
    """Heading [rad]."""
    yaw_rate: float
    """Rate of the heading [rad/s]."""


def hermite_coefficients(start: Array, end: Array, duration: float) -> Array:
    """Return the coefficients of the polynomial of lowest degree between two states, shape (6, 3).

    With D rows given at each end its degree is 2 D - 1: linear for positions, cubic with velocities, quintic
    with accelerations. Powers are of the time since the start [s].

    Args:
        start: Position and derivatives at the start, shape (D, 3) with D from 1 to 3.
        end: The same at the end.
        duration: Time between them [s], above 0.
    """
    given = len(start)
    degree = 2 * given
    rows = np.zeros((degree, degree))
    powers = np.arange(float(degree))
    for d in range(given):
        rows[d, d] = _DERIVATIVES[d, d]
        # In units of the duration, so that the condition does not depend on it.
        rows[given + d] = _DERIVATIVES[d, :degree]
    scale = duration ** np.arange(float(given))[:, None]
    solved = np.linalg.solve(rows, np.concatenate([start * scale, end * scale]))
    coefficients = np.zeros((6, 3))
    coefficients[:degree] = solved / duration ** powers[:, None]
    return coefficients


class CommandedPath:
    """Path through timed points, interpolated as ROS interpolates joint trajectories.

    Pieces are quintic if all points have velocity and acceleration, cubic if all have velocities, else
    linear. Before the first and after the last point the path rests there.

    Args:
        points: The points, at increasing times.
    """

    def __init__(self, points: Sequence[PathPoint]) -> None:
        self._times = [point.time for point in points]
        given = 1
        if all(point.velocity is not None for point in points):
            given = 3 if all(point.acceleration is not None for point in points) else 2
        states = [
            np.array([point.position, point.velocity or (0, 0, 0), point.acceleration or (0, 0, 0)], float)
            for point in points
        ]
        self._pieces = [
            hermite_coefficients(states[k][:given], states[k + 1][:given], after - before)
            for k, (before, after) in enumerate(zip(self._times, self._times[1:], strict=False))
        ]
        self._yaws: list[float] = np.unwrap([point.yaw for point in points]).tolist()
        self._begin, self._end = np.zeros((4, 3)), np.zeros((4, 3))
        self._begin[0], self._end[0] = points[0].position, points[-1].position

    @property
    def duration(self) -> float:
        """Time of the last point [s]."""
        return self._times[-1]

    def peaks(self) -> tuple[float, float]:
        """Return the highest speed [m/s] and rate of the heading [rad/s] along the path."""
        if not self._pieces:
            return 0.0, 0.0
        durations = np.diff(self._times)
        since = durations[:, None] * _SAMPLES
        rows = _DERIVATIVES[1, 1:] * since[..., None] ** _POWERS[:5]
        velocity = rows @ np.stack(self._pieces)[:, 1:]
        speed = np.sqrt((velocity * velocity).sum(axis=-1)).max()
        return float(speed), float(np.abs(np.diff(self._yaws) / durations).max())

    def at(self, time: float) -> PathState:
        """Return the state at a time.

        Args:
            time: Time since the start of the path [s].
        """
        if time >= self._times[-1] or not self._pieces:
            return PathState(self._end, self._yaws[-1], 0.0)
        if time < self._times[0]:
            return PathState(self._begin, self._yaws[0], 0.0)
        k = bisect_right(self._times, time) - 1
        since = time - self._times[k]
        powers = np.zeros((4, 6))
        for d in range(4):
            powers[d, d:] = _DERIVATIVES[d, d:] * since ** _POWERS[: 6 - d]
        yaw_rate = (self._yaws[k + 1] - self._yaws[k]) / (self._times[k + 1] - self._times[k])
        return PathState(powers @ self._pieces[k], self._yaws[k] + yaw_rate * since, yaw_rate)


class Mode(Enum):
    """Kind of the newest command."""

    NONE = "none"
    CHANNELS = "channels"
    ATTITUDE = "attitude"
    VELOCITY = "velocity"
    PATH = "path"


@dataclass(eq=False)
class Demand:
    """Newest valid commands of one vehicle with U channels; the newest of all is followed."""

    channels: Sequence[Channel]
    """The channels."""
    mode: Mode = Mode.NONE
    """Kind of the newest command."""
    stamp: float = -math.inf
    """Simulation time of its arrival [s]; for a path, of the path's end."""
    command: Array = field(init=False)
    """Commands by channel, shape (U,)."""
    command_stamp: Array = field(init=False)
    """Simulation time of arrival of each [s], shape (U,)."""
    attitude: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Commanded roll, pitch and yaw (ZYX) [rad]."""
    thrust: float = 0.0
    """Commanded thrust along the body's z axis [N]."""
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Commanded velocity forward, left and up [m/s]."""
    yaw_rate: float = 0.0
    """Commanded rate of the heading [rad/s]."""
    path: CommandedPath | None = None
    """Commanded path."""
    path_begin: float = 0.0
    """Simulation time of its start [s]."""

    def __post_init__(self) -> None:
        self._idle = np.array([channel.idle for channel in self.channels])
        self.command = self._idle.copy()
        self.command_stamp = np.full(len(self._idle), -math.inf)

    def take_channels(self, commands: npt.ArrayLike, t: float, *, chosen: int | slice = slice(None)) -> None:
        """Take the commands of channels.

        Args:
            commands: The commands, in the units of the channels.
            t: Simulation time [s].
            chosen: The channel; all by default.
        """
        self.command[chosen], self.command_stamp[chosen] = commands, t
        self.mode, self.stamp = Mode.CHANNELS, t

    def of_channels(self, t: float, timeout: float) -> Array:
        """Return the commands by channel, those at rest for too old ones, shape (U,).

        Args:
            t: Simulation time [s].
            timeout: Maximum age of a command [s].
        """
        return np.where(t - self.command_stamp <= timeout, self.command, self._idle)

    def take_attitude(self, attitude: tuple[float, float, float], thrust: float, t: float) -> None:
        """Take an attitude and a thrust.

        Args:
            attitude: Roll, pitch and yaw (ZYX) [rad].
            thrust: Thrust along the body's z axis [N].
            t: Simulation time [s].
        """
        self.attitude, self.thrust = attitude, thrust
        self.mode, self.stamp = Mode.ATTITUDE, t

    def take_velocity(self, velocity: tuple[float, float, float], yaw_rate: float, t: float) -> None:
        """Take a velocity.

        Args:
            velocity: Velocity forward, left and up in the heading frame, independent of tilt [m/s].
            yaw_rate: Rate of the heading [rad/s].
            t: Simulation time [s].
        """
        self.velocity, self.yaw_rate = velocity, yaw_rate
        self.mode, self.stamp = Mode.VELOCITY, t

    def take_path(self, path: CommandedPath, begin: float) -> None:
        """Take a path, which is followed until its end.

        Args:
            path: The path.
            begin: Simulation time of its start [s].
        """
        self.path, self.path_begin = path, begin
        self.mode, self.stamp = Mode.PATH, begin + path.duration
