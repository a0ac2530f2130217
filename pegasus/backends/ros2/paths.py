"""A path that somebody else gives as points in time, and where on it a vehicle is to be."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pegasus.arrays import Array

_POWERS = np.arange(6.0)
_DERIVATIVES = np.array([[math.perm(k, d) for k in range(6)] for d in range(4)], dtype=np.float64)
"""Factors that the d-th derivative puts before the k-th coefficient, shape (4, 6)."""


class PathPoint(NamedTuple):
    """One point of a path, in the world."""

    time: float
    """Time since the path began [s]."""
    position: Sequence[float]
    """Position [m], three numbers."""
    yaw: float
    """Heading of the body's x axis, counter-clockwise from east [rad]."""
    velocity: Sequence[float] | None = None
    """Velocity [m/s], three numbers; None where it is not given."""
    acceleration: Sequence[float] | None = None
    """Acceleration [m/s^2], three numbers; None where it is not given."""


class PathState(NamedTuple):
    """Where a path is at one instant."""

    motion: Array
    """Position, velocity, acceleration and jerk, shape (4, 3)."""
    yaw: float
    """Heading [rad]."""
    yaw_rate: float
    """Rate of the heading [rad/s]."""


def hermite_coefficients(start: Array, end: Array, duration: float) -> Array:
    """Return the coefficients of the polynomial of least degree between two states, shape (6, 3).

    With D derivatives given at each end it has degree 2 D - 1: a line for positions, a cubic for velocities
    too, a quintic for accelerations too. Powers are of the time since the start [s].

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
        # In units of the duration, so that the system is as well conditioned for a short piece as for a long.
        rows[given + d] = _DERIVATIVES[d, :degree]
    scale = duration ** np.arange(float(given))[:, None]
    solved = np.linalg.solve(rows, np.concatenate([start * scale, end * scale]))
    coefficients = np.zeros((6, 3))
    coefficients[:degree] = solved / duration ** powers[:, None]
    return coefficients


class CommandedPath:
    """Points in time, joined as ROS joins the points of a joint trajectory.

    Where all points have velocity and acceleration the pieces are quintics, where they have velocities they
    are cubics, else lines. Before the first point it stays there, at rest, and so it does after the last.

    Args:
        points: The points, at times that grow from one to the next.
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

    def at(self, time: float) -> PathState:
        """Return the state at a time; at rest at the first point before it, and at the last after it.

        Args:
            time: Time since the path began [s].
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
