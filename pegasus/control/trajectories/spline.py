"""Septic splines: the smoothest curves through points (minimum snap)."""

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array

_DEGREE = 7
_EXPONENTS = np.arange(_DEGREE + 1)


def _derivative_rows(x: float) -> Array:
    """Return what each coefficient contributes to the derivatives 0 to 6 at x, shape (7, 8)."""
    rows = np.zeros((7, _DEGREE + 1))
    factor = np.ones(_DEGREE + 1)
    for k in range(7):
        rows[k, k:] = factor[k:] * x ** (_EXPONENTS[k:] - k)
        factor = factor * np.maximum(_EXPONENTS - k, 0)
    return rows


_START, _END = _derivative_rows(0.0), _derivative_rows(1.0)


class Spline:
    """Curve through points with the least integral of squared snap (Mellinger and Kumar 2011).

    Among all curves with given times at the points the optimum is piecewise of degree seven with
    continuous derivatives up to the sixth.

    Args:
        points: Points [m], shape (M + 1, 3).
        durations: Time of each piece [s], shape (M,).
        start: Velocity, acceleration and jerk at the first point, shape (3, 3); at rest when left out.
        end: The same at the last point.
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        durations: npt.ArrayLike,
        *,
        start: Array | None = None,
        end: Array | None = None,
    ) -> None:
        points = np.asarray(points, dtype=np.float64)
        durations = np.asarray(durations, dtype=np.float64)
        rest = np.zeros((3, 3))
        coefficients = _solve(
            points, durations, rest if start is None else start, rest if end is None else end
        )
        self._durations: list[float] = durations.tolist()
        self._starts: list[float] = [0.0, *np.cumsum(durations)[:-1].tolist()]
        self.duration = float(durations.sum())
        # Row block k of a table gives the k-th derivative of x, y, z from the powers of the piece's own time.
        tables = np.zeros((len(durations), 4, 3, _DEGREE + 1))
        for k in range(4):
            tables[:, k, :, : _DEGREE + 1 - k] = (
                coefficients.transpose(0, 2, 1) / durations[:, None, None] ** k
            )
            coefficients = (_EXPONENTS[1 : len(coefficients[0])])[:, None] * coefficients[:, 1:]
        self._tables: Array = tables.reshape(len(durations), 12, _DEGREE + 1)

    def at(self, t: float) -> Array:
        """Return position, velocity, acceleration and jerk, shape (4, 3).

        Args:
            t: Time since the first point [s]; held at the ends beyond them.
        """
        piece = max(bisect_right(self._starts, t) - 1, 0)
        x = min(max((t - self._starts[piece]) / self._durations[piece], 0.0), 1.0)
        block: Array = (self._tables[piece] @ x**_EXPONENTS).reshape(4, 3)
        return block

    def peaks(self) -> tuple[float, float]:
        """Return the largest speed [m/s] and acceleration [m/s^2], found on 200 instants of each piece."""
        powers = np.linspace(0.0, 1.0, 200) ** _EXPONENTS[:, None]
        values = (self._tables @ powers).reshape(len(self._tables), 4, 3, -1)
        speed, acceleration = np.linalg.norm(values[:, 1:3], axis=2).max(axis=(0, 2))
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


def _solve(points: Array, durations: Array, start: Array, end: Array) -> Array:
    """Return the coefficients over each piece's own time from 0 to 1, shape (M, 8, 3)."""
    count, width = len(durations), _DEGREE + 1
    matrix, right = np.zeros((count * width, count * width)), np.zeros((count * width, 3))
    row = 0

    def add(block: Array, piece: int, value: Array | float = 0.0) -> None:
        nonlocal row
        matrix[row : row + len(block), piece * width : (piece + 1) * width] += block
        right[row : row + len(block)] += value
        row += len(block)

    scale = durations[:, None] ** -np.arange(7.0)
    for piece in range(count):
        add(_START[:1], piece, points[piece])
        add(_END[:1], piece, points[piece + 1])
    # A piece's own derivatives are those in time multiplied by powers of its duration.
    add(_START[1:4], 0, start / scale[0, 1:4, None])
    add(_END[1:4], count - 1, end / scale[-1, 1:4, None])
    for piece in range(count - 1):
        ratio = (scale[piece + 1, 1:] / scale[piece, 1:])[:, None]
        add(_END[1:], piece)
        row -= 6
        add(-_START[1:] * ratio, piece + 1)
    coefficients = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    return coefficients.reshape(count, width, 3)
