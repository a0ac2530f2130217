"""Septic splines: the smoothest curves through points (minimum snap)."""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array

_DEGREE = 7
_EXPONENTS = np.arange(_DEGREE + 1)


def derivative_rows(x: float) -> Array:
    """Return what each coefficient contributes to the derivatives 0 to 4, shape (5, 8).

    Args:
        x: Place in the piece, from 0 to 1.
    """
    rows = np.zeros((5, _DEGREE + 1))
    factor = np.ones(_DEGREE + 1)
    for k in range(5):
        rows[k, k:] = factor[k:] * x ** (_EXPONENTS[k:] - k)
        factor = factor * np.maximum(_EXPONENTS - k, 0)
    return rows


HERMITE = np.linalg.inv(np.concatenate([derivative_rows(0.0)[:4], derivative_rows(1.0)[:4]]))
"""Coefficients over a piece's own time from 0 to 1, from its states (position to jerk) at start and end."""


def piece_costs(durations: Array) -> Array:
    """Return the integral of squared snap over each piece as a form of its states, shape (M, 8, 8).

    Args:
        durations: Time of each piece [s], shape (M,).
    """
    scale = durations[:, None] ** np.tile(np.arange(4.0), 2)
    costs: Array = _COST * (scale[:, :, None] * scale[:, None, :] / durations[:, None, None] ** 7)
    return costs


def _snap_cost() -> Array:
    snap = derivative_rows(1.0)[4]
    powers = np.maximum(_EXPONENTS[:, None] + _EXPONENTS - 7, 1)
    cost: Array = HERMITE.T @ (snap[:, None] * snap / powers) @ HERMITE
    return cost


_COST = _snap_cost()


def knot_states(
    points: Array,
    durations: Array,
    *,
    start: Array | None = None,
    end: Array | None = None,
    velocities: dict[int, Array] | None = None,
    closed: bool = False,
    free_ends: bool = False,
) -> Array:
    """Return position, velocity, acceleration and jerk at the points of minimum-snap curves.

    Among all curves with given times at the points the one with the least integral of squared snap is
    piecewise of degree seven (Mellinger and Kumar 2011); the states at the points minimise a quadratic form
    whose matrix is block-tridiagonal (Richter, Bry and Roy 2013, in the form without constraints).

    Args:
        points: Points [m], shape (M + 1, 3).
        durations: Time of each piece [s], shape (M,).
        start: Velocity, acceleration and jerk at the first point, shape (3, 3); at rest when left out.
        end: The same at the last point.
        velocities: Velocities [m/s] at points between the ends by their index, shape (3,) each.
        closed: Whether the last point, the same as the first, is passed like all others.
        free_ends: Whether nothing is asked at the ends but the position.

    Returns:
        States, shape (M + 1, 4, 3).
    """
    unit = float(durations.mean())
    cost = piece_costs(durations / unit).reshape(-1, 2, 4, 2, 4)
    before, after = cost[:, 1, 1:], cost[:, 0, 1:]
    count = len(points)
    diagonal, lower, upper, right = np.zeros((4, count, 3, 3))
    # Each piece adds to the rows of the point that it ends at, and to those of the one that it starts from.
    diagonal[1:] += before[:, :, 1, 1:]
    diagonal[:-1] += after[:, :, 0, 1:]
    lower[1:] = before[:, :, 0, 1:]
    upper[:-1] = after[:, :, 1, 1:]
    first, last = points[:-1, None], points[1:, None]
    right[1:] -= before[:, :, 0, :1] * first + before[:, :, 1, :1] * last
    right[:-1] -= after[:, :, 0, :1] * first + after[:, :, 1, :1] * last
    powers = unit ** np.arange(1.0, 4.0)[:, None]

    def fix(index: int, rows: slice, value: Array) -> None:
        diagonal[index, rows] = np.eye(3)[rows]
        lower[index, rows] = upper[index, rows] = 0.0
        right[index, rows] = powers[rows] * value

    for index, velocity in (velocities or {}).items():
        fix(index, slice(0, 1), velocity)
    if closed:
        derivatives = _solve_ring(lower, diagonal, upper, right)
    else:
        if not free_ends:
            fix(0, slice(None), np.zeros((3, 3)) if start is None else start)
            fix(count - 1, slice(None), np.zeros((3, 3)) if end is None else end)
        derivatives = _solve_chain(lower, diagonal, upper, right)
    return np.concatenate([points[:, None], derivatives / powers], axis=1)


def piece_tables(states: Array, durations: Array) -> Array:
    """Return what gives position to jerk from the powers of a piece's own time, shape (M, 4, 3, 8).

    Args:
        states: Position, velocity, acceleration and jerk at the points, shape (M + 1, 4, 3).
        durations: Time of each piece [s], shape (M,).
    """
    scale = durations[:, None, None] ** np.arange(4.0)[:, None]
    ends = np.concatenate([states[:-1] * scale, states[1:] * scale], axis=1)
    coefficients = (HERMITE @ ends).swapaxes(1, 2)
    tables = np.zeros((len(durations), 4, 3, _DEGREE + 1))
    for k in range(4):
        tables[:, k, :, : _DEGREE + 1 - k] = coefficients / durations[:, None, None] ** k
        coefficients = coefficients[:, :, 1:] * _EXPONENTS[1 : coefficients.shape[2]]
    return tables


class Spline:
    """Curve through points with the least integral of squared snap; see `knot_states`.

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
        self.states = knot_states(
            np.asarray(points, dtype=np.float64),
            pieces,
            start=start,
            end=end,
            velocities=velocities,
            closed=closed,
            free_ends=free_ends,
        )
        """Position, velocity, acceleration and jerk at the points, shape (M + 1, 4, 3)."""
        self.durations: list[float] = pieces.tolist()
        """Time of each piece [s]."""
        self.starts: list[float] = [0.0, *np.cumsum(pieces)[:-1].tolist()]
        """When each piece begins [s]."""
        self.duration = float(pieces.sum())
        self._tables: Array = piece_tables(self.states, pieces).reshape(len(pieces), 12, _DEGREE + 1)

    def at(self, t: float) -> Array:
        """Return position, velocity, acceleration and jerk, shape (4, 3).

        Args:
            t: Time since the first point [s]; held at the ends beyond them.
        """
        piece = max(bisect_right(self.starts, t) - 1, 0)
        x = min(max((t - self.starts[piece]) / self.durations[piece], 0.0), 1.0)
        block: Array = (self._tables[piece] @ x**_EXPONENTS).reshape(4, 3)
        return block

    def on_grid(self, count: int) -> Array:
        """Return position to jerk at instants spread over each piece, ends included, (M, count, 4, 3).

        Args:
            count: Number of instants in each piece.
        """
        powers = np.linspace(0.0, 1.0, count) ** _EXPONENTS[:, None]
        values: Array = (self._tables @ powers).reshape(len(self._tables), 4, 3, count)
        return values.transpose(0, 3, 1, 2)

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
        max(limit, *(float(np.linalg.norm(e[k])) for e in (start, end)))
        for k, limit in ((1, speed), (2, acceleration))
    )
    best, least = None, np.inf
    for duration in np.geomspace(0.1, 200.0, 60):
        spline = Spline([start[0], end[0]], [duration], start=start[1:], end=end[1:])
        peak_speed, peak_acceleration = spline.peaks()
        excess = max(peak_speed / fastest, peak_acceleration / hardest)
        if excess < least:
            best, least = spline, excess
        if excess <= 1.0 + 1e-9:
            break
    assert best is not None
    return best


def _solve_chain(lower: Array, diagonal: Array, upper: Array, right: Array) -> Array:
    """Return the solution of a block-tridiagonal system; blocks of shape (n, 3, 3)."""
    count = len(diagonal)
    pivot, rest = diagonal[0], right[0]
    eliminated: list[Array] = []
    for i in range(count):
        if i > 0:
            pivot = diagonal[i] - lower[i] @ eliminated[-1][:, :3]
            rest = right[i] - lower[i] @ eliminated[-1][:, 3:]
        eliminated.append(np.linalg.solve(pivot, np.concatenate([upper[i], rest], axis=1)))
    solution = np.zeros((count + 1, 3, 3))
    for i in range(count - 1, -1, -1):
        solution[i] = eliminated[i][:, 3:] - eliminated[i][:, :3] @ solution[i + 1]
    return solution[:-1]


def _solve_ring(lower: Array, diagonal: Array, upper: Array, right: Array) -> Array:
    """Return the solution of such a system whose last block row belongs to the same point as the first."""
    count = len(diagonal) - 1
    matrix = np.zeros((count, 3, count, 3))
    values = right[:-1].copy()
    values[0] += right[-1]
    for i in range(count + 1):
        row = i % count
        matrix[row, :, row] += diagonal[i]
        if i > 0:
            matrix[row, :, i - 1] += lower[i]
        if i < count:
            matrix[row, :, (i + 1) % count] += upper[i]
    ring = np.linalg.solve(matrix.reshape(3 * count, -1), values.reshape(3 * count, 3)).reshape(-1, 3, 3)
    return np.concatenate([ring, ring[:1]])
