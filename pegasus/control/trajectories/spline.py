"""Septic splines: the smoothest curves through points (minimum snap)."""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.control.trajectories.chain import Chain, Ring, product

_DEGREE = 7
_EXPONENTS = np.arange(_DEGREE + 1)


def powers_of(values: Array, count: int) -> Array:
    """Return the powers from 0 by repeated products, the same on every processor, shape (count, ...).

    Args:
        values: Values, shape (...).
        count: How many powers.
    """
    powers = [np.ones_like(values)]
    for _ in range(count - 1):
        powers.append(powers[-1] * values)
    return np.stack(powers)


def derivative_rows(x: float) -> Array:
    """Return what each coefficient contributes to the derivatives 0 to 4, shape (5, 8).

    Args:
        x: Place in the piece, from 0 to 1.
    """
    rows = np.zeros((5, _DEGREE + 1))
    factor, powers = np.ones(_DEGREE + 1), powers_of(np.array(x), _DEGREE + 1)
    for k in range(5):
        rows[k, k:] = factor[k:] * powers[: _DEGREE + 1 - k]
        factor = factor * np.maximum(_EXPONENTS - k, 0)
    return rows


# Coefficients over a piece's own time from 0 to 1, from its states (position to jerk) at start and end: the
# exact inverse of the rows of `derivative_rows` at both ends.
HERMITE = (
    np.array(
        [
            [6, 0, 0, 0, 0, 0, 0, 0],
            [0, 6, 0, 0, 0, 0, 0, 0],
            [0, 0, 3, 0, 0, 0, 0, 0],
            [0, 0, 0, 1, 0, 0, 0, 0],
            [-210, -120, -30, -4, 210, -90, 15, -1],
            [504, 270, 60, 6, -504, 234, -42, 3],
            [-420, -216, -45, -4, 420, -204, 39, -3],
            [120, 60, 12, 1, -120, 60, -12, 1],
        ]
    )
    / 6.0
)
"""Coefficients of a piece by its states, shape (8, 8)."""


def piece_costs(durations: Array) -> Array:
    """Return the integral of squared snap over each piece as a form of its states, shape (8, 8, M).

    Args:
        durations: Time of each piece [s], shape (M,).
    """
    powers = powers_of(durations, 8)
    scale = np.concatenate([powers[:4], powers[:4]])
    costs: Array = _COST[:, :, None] * (scale[:, None] * scale / powers[7])
    return costs


def _snap_cost() -> Array:
    snap = derivative_rows(1.0)[4]
    powers = np.maximum(_EXPONENTS[:, None] + _EXPONENTS - 7, 1)
    form = (snap[:, None] * snap / powers)[:, :, None]
    return product(product(HERMITE.T[:, :, None], form), HERMITE[:, :, None])[:, :, 0]


_COST = _snap_cost()


class KnotSystem:
    """The linear system of velocity, acceleration and jerk at the points of minimum-snap curves.

    Among all curves with given times at the points the one with the least integral of squared snap is
    piecewise of degree seven (Mellinger and Kumar 2011); the states at the points minimise a quadratic form
    whose matrix is block-tridiagonal (Richter, Bry and Roy 2013, in the form without constraints).

    Args:
        durations: Time of each piece [s], shape (M,).
        passing: Points between the ends whose velocity is given, by their index.
        closed: Whether the last point, the same as the first, is passed like all others.
        free_ends: Whether nothing is asked at the ends but the position.
    """

    def __init__(
        self,
        durations: Array,
        *,
        passing: Iterable[int] = (),
        closed: bool = False,
        free_ends: bool = False,
    ) -> None:
        self.costs = piece_costs(durations)
        """Integral of squared snap over each piece as a form of its states, shape (8, 8, M)."""
        before, after = self.costs[5:], self.costs[1:4]
        count = len(durations) + 1
        self._given = np.zeros((3, 1, count), dtype=bool)
        self._given[0, :, list(passing)] = True
        self._closed = closed
        if not closed and not free_ends:
            self._given[..., [0, -1]] = True
        diagonal, lower, upper = np.zeros((3, 3, 3, count))
        # Each piece adds to the rows of the point that it ends at, and to those of the one it starts from.
        diagonal[..., 1:] += before[:, 5:]
        diagonal[..., :-1] += after[:, 1:4]
        lower[..., 1:] = before[:, 1:4]
        upper[..., :-1] = after[:, 5:]
        if closed:
            diagonal[..., 0] += diagonal[..., -1]
            lower[..., 0] = lower[..., -1]
            diagonal, lower, upper = diagonal[..., :-1], lower[..., :-1], upper[..., :-1]
        given = self._given[..., : diagonal.shape[2]]
        diagonal = np.where(given, np.eye(3)[:, :, None], diagonal)
        lower, upper = np.where(given, 0.0, lower), np.where(given, 0.0, upper)
        self._matrix = Ring(lower, diagonal, upper) if closed else Chain(lower, diagonal, upper)

    def states(self, points: Array, derivatives: Array) -> Array:
        """Return position, velocity, acceleration and jerk at the points, shape (4, 3, M + 1).

        Args:
            points: Points [m], shape (3, M + 1).
            derivatives: What is given of velocity, acceleration and jerk, shape (3, 3, M + 1).
        """
        first, last = points[:, :-1], points[:, 1:]
        right = np.zeros(derivatives.shape)
        right[..., 1:] -= self.costs[5:, 0, None] * first + self.costs[5:, 4, None] * last
        right[..., :-1] -= self.costs[1:4, 0, None] * first + self.costs[1:4, 4, None] * last
        return np.concatenate([points[None], self._solve(np.where(self._given, derivatives, right))])

    def adjoint(self, slopes: Array) -> Array:
        """Return the solution for slopes of a cost by the states; zero where the state is given.

        Args:
            slopes: Slopes by position, velocity, acceleration and jerk, shape (4, 3, M + 1).
        """
        solution = self._solve(np.where(self._given, 0.0, slopes[1:]))
        return np.concatenate([np.zeros_like(slopes[:1]), solution])

    def _solve(self, right: Array) -> Array:
        if not self._closed:
            return self._matrix.solve(right)
        ring = right[..., :-1].copy()
        ring[..., 0] += right[..., -1]
        solution = self._matrix.solve(ring)
        return np.concatenate([solution, solution[..., :1]], axis=2)


def piece_tables(states: Array, durations: Array) -> Array:
    """Return what gives position to jerk from the powers of a piece's own time, shape (M, 4, 3, 8).

    Args:
        states: Position, velocity, acceleration and jerk at the points, shape (4, 3, M + 1).
        durations: Time of each piece [s], shape (M,).
    """
    scale = powers_of(durations, 4)
    ends = np.concatenate([states[..., :-1] * scale[:, None], states[..., 1:] * scale[:, None]])
    coefficients = product(HERMITE[:, :, None], ends)
    tables = np.zeros((4, _DEGREE + 1, 3, len(durations)))
    for k in range(4):
        tables[k, : _DEGREE + 1 - k] = coefficients / scale[k]
        coefficients = coefficients[1:] * _EXPONENTS[1 : len(coefficients), None, None]
    return tables.transpose(3, 0, 2, 1)


class Spline:
    """Curve through points with the least integral of squared snap; see `KnotSystem`.

    Args:
        points: Points [m], shape (M + 1, 3).
        durations: Time of each piece [s], shape (M,).
        start: Velocity, acceleration and jerk at the first point, shape (3, 3); at rest when left out.
        end: The same at the last point.
        velocities: Velocities [m/s] at points between the ends by their index, shape (3,) each.
        closed: Whether the last point, the same as the first, is passed like all others.
        free_ends: Whether nothing is asked at the ends but the position.
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        durations: npt.ArrayLike,
        *,
        start: Array | None = None,
        end: Array | None = None,
        velocities: dict[int, Array] | None = None,
        closed: bool = False,
        free_ends: bool = False,
    ) -> None:
        pieces = np.asarray(durations, dtype=np.float64)
        places = np.asarray(points, dtype=np.float64)
        given = np.zeros((3, 3, len(places)))
        for index, velocity in (velocities or {}).items():
            given[0, :, index] = velocity
        if start is not None:
            given[..., 0] = start
        if end is not None:
            given[..., -1] = end
        system = KnotSystem(pieces, passing=velocities or (), closed=closed, free_ends=free_ends)
        self._lay(system.states(places.T, given), pieces)

    def _lay(self, states: Array, pieces: Array) -> None:
        """Take over the states at the points, shape (4, 3, M + 1), and the times of the pieces."""
        self.states = states.transpose(2, 0, 1)
        """Position, velocity, acceleration and jerk at the points, shape (M + 1, 4, 3)."""
        self.durations: list[float] = pieces.tolist()
        """Time of each piece [s]."""
        self.starts: list[float] = [0.0, *np.cumsum(pieces)[:-1].tolist()]
        """When each piece begins [s]."""
        self.duration = float(pieces.sum())
        self._tables: Array = piece_tables(states, pieces).reshape(len(pieces), 12, _DEGREE + 1)

    def slowed(self, factor: float) -> "Spline":
        """Return the same curve, flown in a longer time.

        Args:
            factor: Factor of the time; below 1 for a shorter one.
        """
        slowed = copy(self)
        powers = powers_of(np.array(factor), 4)[:, None, None]
        slowed._lay(self.states.transpose(1, 2, 0) / powers, factor * np.array(self.durations))
        return slowed

    def at(self, t: float) -> Array:
        """Return position, velocity, acceleration and jerk, shape (4, 3).

        Args:
            t: Time since the first point [s]; held at the ends beyond them.
        """
        piece = max(bisect_right(self.starts, t) - 1, 0)
        x = min(max((t - self.starts[piece]) / self.durations[piece], 0.0), 1.0)
        powers = [1.0, x, x * x]
        for _ in range(_DEGREE - 2):
            powers.append(powers[-1] * x)
        block: Array = (self._tables[piece] * powers).sum(axis=1).reshape(4, 3)
        return block

    def on_grid(self, count: int) -> Array:
        """Return position to jerk at instants spread over each piece, ends included, (M, count, 4, 3).

        Args:
            count: Number of instants in each piece.
        """
        x = np.array([k / (count - 1) for k in range(count)])
        values = self._tables[:, :, -1:]
        for k in range(_DEGREE - 1, -1, -1):
            values = values * x + self._tables[:, :, k : k + 1]
        return values.reshape(len(values), 4, 3, count).transpose(0, 3, 1, 2)

    def peaks(self) -> tuple[float, float]:
        """Return the largest speed [m/s] and acceleration [m/s^2], found on 200 instants of each piece."""
        sizes = np.sqrt((self.on_grid(200)[:, :, 1:3] ** 2).sum(axis=-1))
        speed, acceleration = sizes.max(axis=(0, 1))
        return float(speed), float(acceleration)


def bridge(
    here: Sequence[Sequence[float]],
    there: Sequence[Sequence[float]],
    *,
    speed: float,
    acceleration: float,
) -> Spline:
    """Return the quickest tried spline between two moving states that keeps to the limits.

    Args:
        here: Position, velocity, acceleration and jerk at its start, three numbers each.
        there: The same at its end.
        speed: Largest speed [m/s]; raised to those of the ends.
        acceleration: Largest acceleration [m/s^2]; raised to those of the ends.
    """
    start, end = np.asarray(here, dtype=np.float64), np.asarray(there, dtype=np.float64)
    fastest, hardest = (
        max(limit, *(math.hypot(*e[k]) for e in (here, there)))
        for k, limit in ((1, speed), (2, acceleration))
    )
    best, least = None, np.inf
    for duration in (0.1 * 2000.0 ** (k / 59) for k in range(60)):
        spline = Spline([start[0], end[0]], [duration], start=start[1:], end=end[1:])
        peak_speed, peak_acceleration = spline.peaks()
        excess = max(peak_speed / fastest, peak_acceleration / hardest)
        if excess < least:
            best, least = spline, excess
        if excess <= 1.0 + 1e-9:
            break
    assert best is not None
    return best
