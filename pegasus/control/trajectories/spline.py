"""Minimum-snap septic splines through points, and the block-tridiagonal systems behind them.

The systems are solved by fixed operations in a fixed order. SciPy's banded solvers are not used: they call
LAPACK, whose rounding differs between processors.
"""

import math
from collections.abc import Iterable, Sequence
from copy import copy

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.elementary import power
from pegasus.contracts.trajectory import Yaw, heading_along, points_of


def product(a: Array, b: Array) -> Array:
    """Return the products of matrices without BLAS, whose sums differ between processors, shape (i, j, n).

    Args:
        a: Matrices, shape (i, k, n).
        b: Matrices, shape (k, j, n).
    """
    total: Array = (a[:, :, None] * b).sum(axis=1)
    return total


def inverses(blocks: Array) -> Array:
    """Return the inverses of matrices by Gauss-Jordan elimination without pivoting.

    Args:
        blocks: Matrices, shape (m, m, n); positive definite except for rows of the identity.
    """
    size = len(blocks)
    unit = np.broadcast_to(np.eye(size)[:, :, None], blocks.shape)
    work = np.concatenate([blocks, unit], axis=1)
    for k in range(size):
        row = work[k] / work[k, k]
        work = work - work[:, k, None] * row
        work[k] = row
    return work[:, size:]


class BlockTridiagonal:
    """Block-tridiagonal matrix, factored by cyclic reduction (Heller 1976, SIAM J. Numer. Anal. 13).

    All rows of odd index are eliminated together, then those of odd index among the rest, until one is left.
    For positive definite matrices that is as accurate as elimination row by row. Blocks and vectors of all
    rows share an array whose last axis counts the rows.

    Args:
        lower: Blocks left of the diagonal, shape (m, m, n); the first is not used.
        diagonal: Blocks on the diagonal, shape (m, m, n).
        upper: Blocks right of the diagonal, shape (m, m, n); the last is not used.
    """

    def __init__(self, lower: Array, diagonal: Array, upper: Array) -> None:
        self._levels: list[tuple[Array, Array, Array, Array, Array]] = []
        while diagonal.shape[2] > 1:
            odd, inner = diagonal.shape[2] // 2, (diagonal.shape[2] - 1) // 2
            inverse, before, after = inverses(diagonal[..., 1::2]), lower[..., 1::2], upper[..., 1::2]
            left = product(lower[..., 2::2], inverse[..., :inner])
            right = product(upper[..., : 2 * odd : 2], inverse)
            self._levels.append((inverse, before, after[..., :inner], left, right))
            diagonal = diagonal[..., ::2].copy()
            diagonal[..., 1:] -= product(left, after[..., :inner])
            diagonal[..., :odd] -= product(right, before)
            lower, upper = np.zeros((2, *diagonal.shape))
            lower[..., 1:] = -product(left, before[..., :inner])
            upper[..., :odd] = -product(right, after)
        self._last = inverses(diagonal)

    def solve(self, right: Array) -> Array:
        """Return the solution.

        Args:
            right: Right-hand sides, shape (m, k, n).
        """
        odds: list[Array] = []
        for _, _, after, left, onward in self._levels:
            odd, rest = right[..., 1::2], right[..., ::2].copy()
            rest[..., 1:] -= product(left, odd[..., : after.shape[2]])
            rest[..., : odd.shape[2]] -= product(onward, odd)
            odds.append(odd)
            right = rest
        solution = product(self._last, right)
        for (inverse, before, after, _, _), odd in zip(reversed(self._levels), reversed(odds), strict=True):
            rest = odd - product(before, solution[..., : odd.shape[2]])
            rest[..., : after.shape[2]] -= product(after, solution[..., 1:])
            both = np.empty((*odd.shape[:2], odd.shape[2] + solution.shape[2]))
            both[..., ::2], both[..., 1::2] = solution, product(inverse, rest)
            solution = both
        return solution


class CyclicBlockTridiagonal:
    """Cyclic block-tridiagonal matrix of at least three block rows: first and last rows are neighbours.

    Args:
        lower: Blocks left of the diagonal, shape (m, m, n); that of the first row multiplies the last
            unknown.
        diagonal: Blocks on the diagonal, shape (m, m, n).
        upper: Blocks right of the diagonal, shape (m, m, n); that of the last row multiplies the first
            unknown.
    """

    def __init__(self, lower: Array, diagonal: Array, upper: Array) -> None:
        self._chain = BlockTridiagonal(lower[..., 1:], diagonal[..., 1:], upper[..., 1:])
        self._left, self._right = lower[..., :1], upper[..., :1]
        to_first = np.zeros_like(diagonal[..., 1:])
        to_first[..., 0], to_first[..., -1] = lower[..., 1], upper[..., -1]
        self._by_first = self._chain.solve(to_first)
        self._first = inverses(diagonal[..., :1] - self._onto_first(self._by_first))

    def solve(self, right: Array) -> Array:
        """Return the solution.

        Args:
            right: Right-hand sides, shape (m, k, n).
        """
        rest = self._chain.solve(right[..., 1:])
        first = product(self._first, right[..., :1] - self._onto_first(rest))
        return np.concatenate([first, rest - product(self._by_first, first)], axis=2)

    def _onto_first(self, rest: Array) -> Array:
        """Return the contribution of the other unknowns to the first row."""
        return product(self._right, rest[..., :1]) + product(self._left, rest[..., -1:])


_DEGREE = 7
_EXPONENTS = np.arange(_DEGREE + 1)


def powers_of(values: Array, count: int) -> Array:
    """Return the powers from 0 by repeated products, bit-identical on every processor, shape (count, ...).

    Args:
        values: Values, shape (...).
        count: Number of powers.
    """
    powers = [np.ones_like(values)]
    for _ in range(count - 1):
        powers.append(powers[-1] * values)
    return np.stack(powers)


def derivative_rows(x: float) -> Array:
    """Return the factors of the coefficients in derivatives 0 to 4, shape (5, 8).

    Args:
        x: Position in the piece, 0 to 1.
    """
    rows = np.zeros((5, _DEGREE + 1))
    factor, powers = np.ones(_DEGREE + 1), powers_of(np.array(x), _DEGREE + 1)
    for k in range(5):
        rows[k, k:] = factor[k:] * powers[: _DEGREE + 1 - k]
        factor = factor * np.maximum(_EXPONENTS - k, 0)
    return rows


# Map from the states (position to jerk) at start and end of a piece to its coefficients over time 0 to 1: the
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
"""Map from the states of a piece to its coefficients, shape (8, 8)."""


def piece_costs(durations: Array) -> Array:
    """Return the integral of squared snap over each piece as a quadratic form of its states, shape (8, 8, M).

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
    """Linear system of velocity, acceleration and jerk at the points of a minimum-snap curve.

    For given times at the points the curve of least integrated squared snap is piecewise of degree seven
    (Mellinger and Kumar 2011). The states at the points minimise a quadratic form with a block-tridiagonal
    matrix (Richter, Bry and Roy 2013, unconstrained form).

    Args:
        durations: Time of each piece [s], shape (M,).
        passing: Indices of inner points with given velocity.
        closed: Whether the curve is periodic; the last point equals the first.
        free_ends: Whether only the position is given at the ends.
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
        """Integral of squared snap over each piece as a quadratic form of its states, shape (8, 8, M)."""
        before, after = self.costs[5:], self.costs[1:4]
        count = len(durations) + 1
        self._given = np.zeros((3, 1, count), dtype=bool)
        self._given[0, :, list(passing)] = True
        self._closed = closed
        if not closed and not free_ends:
            self._given[..., [0, -1]] = True
        diagonal, lower, upper = np.zeros((3, 3, 3, count))
        # Each piece adds to the rows of its last and of its first point.
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
        self._matrix = (
            CyclicBlockTridiagonal(lower, diagonal, upper)
            if closed
            else BlockTridiagonal(lower, diagonal, upper)
        )

    def states(self, points: Array, derivatives: Array) -> Array:
        """Return position, velocity, acceleration and jerk at the points, shape (4, 3, M + 1).

        Args:
            points: Points [m], shape (3, M + 1).
            derivatives: Given velocity, acceleration and jerk, shape (3, 3, M + 1).
        """
        first, last = points[:, :-1], points[:, 1:]
        right = np.zeros(derivatives.shape)
        right[..., 1:] -= self.costs[5:, 0, None] * first + self.costs[5:, 4, None] * last
        right[..., :-1] -= self.costs[1:4, 0, None] * first + self.costs[1:4, 4, None] * last
        return np.concatenate([points[None], self._solve(np.where(self._given, derivatives, right))])

    def adjoint(self, slopes: Array) -> Array:
        """Return the adjoint solution for the gradient of a cost by states; zero for given states.

        Args:
            slopes: Gradient by position, velocity, acceleration and jerk, shape (4, 3, M + 1).
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
    """Return the polynomials of position to jerk over each piece's time from 0 to 1, shape (M, 4, D, 8).

    Args:
        states: Position, velocity, acceleration and jerk at the points, shape (4, D, M + 1).
        durations: Time of each piece [s], shape (M,).
    """
    scale = powers_of(durations, 4)
    ends = np.concatenate([states[..., :-1] * scale[:, None], states[..., 1:] * scale[:, None]])
    coefficients = product(HERMITE[:, :, None], ends)
    tables = np.zeros((4, _DEGREE + 1, *ends.shape[1:]))
    for k in range(4):
        tables[k, : _DEGREE + 1 - k] = coefficients / scale[k]
        coefficients = coefficients[1:] * _EXPONENTS[1 : len(coefficients), None, None]
    return tables.transpose(3, 0, 2, 1)


class Spline:
    """Minimum-snap curve through points; see `KnotSystem`.

    Args:
        points: Points [m], shape (M + 1, 3).
        durations: Time of each piece [s], shape (M,).
        start: Velocity, acceleration and jerk at the first point, shape (3, 3); by default at rest.
        end: The same at the last point.
        velocities: Velocities [m/s] at points between the ends by their index, shape (3,) each.
        closed: Whether the curve is periodic; the last point equals the first.
        free_ends: Whether only the position is given at the ends.
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
        """Set the states at the points, shape (4, 3, M + 1), and the times of the pieces."""
        self.states = states.transpose(2, 0, 1)
        """Position, velocity, acceleration and jerk at the points, shape (M + 1, 4, 3)."""
        self.durations: list[float] = pieces.tolist()
        """Time of each piece [s]."""
        self.starts: list[float] = [0.0, *np.cumsum(pieces)[:-1].tolist()]
        """Start time of each piece [s]."""
        self.duration = float(pieces.sum())
        tables = piece_tables(states, pieces)
        self._tables: Array = tables.reshape(len(pieces), 12, _DEGREE + 1)

    def slowed(self, factor: float) -> "Spline":
        """Return the same curve, scaled in time.

        Args:
            factor: Factor of the time; below 1 for a shorter one.
        """
        slowed = copy(self)
        powers = powers_of(np.array(factor), 4)[:, None, None]
        slowed._lay(self.states.transpose(1, 2, 0) / powers, factor * np.array(self.durations))
        return slowed

    def at(self, times: npt.ArrayLike) -> Array:
        """Return position, velocity, acceleration and jerk, shape (..., 4, 3).

        Args:
            times: Times since the first point [s], shape (...); held at the ends beyond them.
        """
        t = np.asarray(times, dtype=np.float64)
        piece = np.maximum(np.searchsorted(self.starts, t, side="right") - 1, 0)
        x = (t - np.array(self.starts)[piece]) / np.array(self.durations)[piece]
        x = np.minimum(np.maximum(x, 0.0), 1.0)[..., None]
        tables = self._tables[piece]
        values = tables[..., -1]
        for k in range(_DEGREE - 1, -1, -1):
            values = values * x + tables[..., k]
        return values.reshape(*t.shape, 4, 3)

    def samples(self, times: Array, yaw: Yaw, *, at_rest: bool = True) -> tuple[Array, Array]:
        """Return the points of a flight along the curve; see `Trajectory.samples`.

        Args:
            times: Times since the first point [s], shape (n,).
            yaw: Heading.
            at_rest: Whether the curve begins and ends at rest.
        """
        motion, rate = self.at(times), np.zeros(len(times))
        heading: Array | float | None = None if isinstance(yaw, str) else yaw
        if isinstance(yaw, str):
            heading, rate = heading_along(self.at, times, self.duration, at_rest=at_rest)
        return points_of(len(times), [motion[:, k] for k in range(4)], heading, rate)

    def on_grid(self, count: int) -> Array:
        """Return position to jerk at equidistant instants of each piece, ends included, (M, count, 4, 3)."""
        x = np.array([k / (count - 1) for k in range(count)])
        values = self._tables[:, :, -1:]
        for k in range(_DEGREE - 1, -1, -1):
            values = values * x + self._tables[:, :, k : k + 1]
        return values.reshape(len(values), 4, 3, count).transpose(0, 3, 1, 2)

    def peaks(self) -> tuple[float, float]:
        """Return the largest speed [m/s] and acceleration [m/s^2] at 200 instants of each piece."""
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
    """Return the fastest tried spline between two moving states within the limits.

    Args:
        here: Position, velocity, acceleration and jerk at the start, three numbers each.
        there: The same at the end.
        speed: Largest speed [m/s]; at least those of the ends.
        acceleration: Largest acceleration [m/s^2]; at least those of the ends.
    """
    start, end = np.asarray(here, dtype=np.float64), np.asarray(there, dtype=np.float64)
    fastest, hardest = (
        max(limit, *(math.hypot(*e[k]) for e in (here, there)))
        for k, limit in ((1, speed), (2, acceleration))
    )
    best, least = None, np.inf
    for duration in (0.1 * power(2000.0, k / 59) for k in range(60)):
        spline = Spline([start[0], end[0]], [duration], start=start[1:], end=end[1:])
        peak_speed, peak_acceleration = spline.peaks()
        excess = max(peak_speed / fastest, peak_acceleration / hardest)
        if excess < least:
            best, least = spline, excess
        if excess <= 1.0 + 1e-9:
            break
    assert best is not None
    return best
