"""Search for the quickest curve: flight time of a minimum-snap curve with its slopes, and descent on it."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

import numpy as np

from pegasus.arrays import Array
from pegasus.control.trajectories.limits import Limits
from pegasus.control.trajectories.spline import HERMITE, Spline, derivative_rows, piece_costs

SAMPLING_MARGIN = 1.0005
"""Covers what peaks found on a grid of instants miss."""

Penalty = Callable[[Array], tuple[float, Array]]
"""From states (M + 1, 4, 3) to a cost and its slopes by the states."""


class Objective(Protocol):
    """What `minimize` takes: from variables (n,) and a sharpness to a value and its slopes (n,)."""

    def __call__(self, x: Array, sharpness: float) -> tuple[float, Array]:
        """Return the value and its slopes."""


_GRID = np.linspace(0.0, 1.0, 14)
_VELOCITY = np.stack([derivative_rows(x)[1] for x in _GRID]) @ HERMITE
_ACCELERATION = np.stack([derivative_rows(x)[2] for x in _GRID]) @ HERMITE
_JERK = np.stack([derivative_rows(x)[3] for x in _GRID]) @ HERMITE
_ORDERS = np.tile(np.arange(4.0), 2)
_LARGEST_STEP = 0.6
_LATE = 3.0
_BLOCK = 48


def log_flight_time(
    points: Array,
    durations: Array,
    *,
    limits: Limits,
    sharpness: float,
    velocities: dict[int, Array] | None = None,
    closed: bool = False,
    penalty: Penalty | None = None,
) -> tuple[float, Array, Array]:
    """Return the logarithm of the flight time of a minimum-snap curve at its pace, and the slopes of it.

    The largest slowdown is taken as a mean of high exponent, so that it has slopes. Those go through the
    linear system of the minimum-snap curve by its adjoint, at the cost of one more solution.

    Args:
        points: Points [m], shape (M + 1, 3).
        durations: Time of each piece [s], shape (M,).
        limits: What is kept to.
        sharpness: Exponent of the mean.
        velocities: Velocities [m/s] at points between the ends by their index.
        closed: Whether the last point is the first one.
        penalty: Further cost of the states.

    Returns:
        The value, and its slopes by points (M + 1, 3) and by durations (M,).
    """
    count = len(durations)
    size = 4 * (count if closed else count + 1)
    index = (4 * np.arange(count)[:, None] + np.arange(8)) % size
    costs = piece_costs(durations)
    matrix = np.zeros((size, size))
    np.add.at(matrix, (index[:, :, None], index[:, None, :]), costs)

    states = np.zeros((size, 3))
    states[::4] = points[: size // 4]
    free = np.ones(size, dtype=bool)
    free[::4] = False
    for k, velocity in (velocities or {}).items():
        free[4 * k + 1], states[4 * k + 1] = False, velocity
    if not closed:
        free[:4] = free[-4:] = False
    unknown = np.flatnonzero(free)
    system = matrix[np.ix_(unknown, unknown)]
    solve = np.linalg.solve if closed else _solve_banded
    states[unknown] = -solve(system, matrix[unknown] @ states)

    ends, time = states[index], durations[:, None, None]
    scale = durations[:, None] ** _ORDERS
    scaled = scale[:, :, None] * ends
    velocity, acceleration = _VELOCITY @ scaled / time, _ACCELERATION @ scaled / time**2
    jerk = _JERK @ scaled / time**3
    slowdown, by_velocity, by_acceleration, by_jerk = limits.slowdown(velocity, acceleration, jerk)
    largest = slowdown.max()
    shares = (slowdown / largest) ** sharpness
    pace = float(np.log(largest) + np.log(shares.sum()) / sharpness)
    weights = (shares / slowdown / shares.sum())[:, :, None]
    total = float(durations.sum())
    # A curve without given velocities is the same at any pace; with them, too fast costs more than it gains.
    late, by_pace = pace, 1.0
    if velocities:
        by_pace = _LATE / (1.0 + np.exp(-50.0 * pace))
        late = _LATE * float(np.logaddexp(0.0, 50.0 * pace)) / 50.0
    value = np.log(total) + late

    weights *= by_pace
    by_velocity, by_acceleration, by_jerk = (
        weights * by_velocity,
        weights * by_acceleration,
        weights * by_jerk,
    )
    by_ends = scale[:, :, None] * (
        _VELOCITY.T @ by_velocity / time
        + _ACCELERATION.T @ by_acceleration / time**2
        + _JERK.T @ by_jerk / time**3
    )
    by_duration = (
        1.0 / total
        + (
            (_ORDERS[:, None] * ends * by_ends).sum(axis=(1, 2))
            - (by_velocity * velocity).sum(axis=(1, 2))
            - 2.0 * (by_acceleration * acceleration).sum(axis=(1, 2))
            - 3.0 * (by_jerk * jerk).sum(axis=(1, 2))
        )
        / durations
    )
    by_state = np.zeros((size, 3))
    np.add.at(by_state, index, by_ends)
    if penalty is not None:
        more, by_more = penalty(states.reshape(-1, 4, 3))
        value += more
        by_state += by_more.reshape(-1, 3)

    adjoint = np.zeros((size, 3))
    adjoint[unknown] = solve(system, by_state[unknown])
    at_ends = adjoint[index]
    forward, backward = costs @ ends, costs @ at_ends
    # The cost of a piece is D C D / d^7 with D made of powers of d.
    by_duration -= (_ORDERS[:, None] * (at_ends * forward + backward * ends) - 7.0 * at_ends * forward).sum(
        axis=(1, 2)
    ) / durations
    by_points = (by_state - matrix @ adjoint)[::4]
    if closed:
        by_points = np.concatenate([by_points, np.zeros((1, 3))])
    return float(value), by_points, by_duration


def minimize(
    objective: Objective,
    x: Array,
    *,
    iterations: int,
    sharpnesses: Sequence[float],
) -> Array:
    """Return where an objective has a local minimum, by quasi-Newton steps (BFGS) for each sharpness in turn.

    Args:
        objective: What has the minimum.
        x: Where to begin, shape (n,).
        iterations: Most steps at each sharpness.
        sharpnesses: Exponents of the means that stand for the largest slowdown, from smooth to nearly exact.
    """
    for sharpness in sharpnesses:
        x = _descend(partial(objective, sharpness=sharpness), x, iterations)
    return x


def _descend(objective: Callable[[Array], tuple[float, Array]], x: Array, iterations: int) -> Array:
    value, slope = objective(x)
    unit = np.eye(len(x))
    inverse, fresh = unit * 0.1 / max(float(np.linalg.norm(slope)), 1e-12), True
    for _ in range(iterations):
        way = -_times(inverse, slope)
        way *= min(1.0, _LARGEST_STEP / max(float(np.abs(way).max()), 1e-12))
        descent = float(way @ slope)
        length, before, old = 1.0, slope, value
        while length > 1e-5:
            value, slope = objective(x + length * way)
            if value <= old + 1e-4 * length * descent:
                break
            length *= 0.4
        else:
            value, slope = old, before
            if fresh:
                break
            inverse, fresh = unit * 0.1 / max(float(np.linalg.norm(slope)), 1e-12), True
            continue
        step, change = length * way, slope - before
        x = x + step
        if old - value < 1e-9 and not fresh:
            break
        curvature = float(step @ change)
        if curvature > 1e-14:
            if fresh:
                inverse = unit * curvature / float(change @ change)
            fresh = False
            seen = _times(inverse, change)
            both = np.outer(step, seen)
            again = (1.0 + float(change @ seen) / curvature) / curvature
            inverse = inverse - (both + both.T) / curvature + again * np.outer(step, step)
    return x


def _times(matrix: Array, vector: Array) -> Array:
    """Return the product, without BLAS: its threads cost more than they bring here, and change rounding."""
    product: Array = (matrix * vector).sum(axis=1)
    return product


def _solve_banded(matrix: Array, right: Array) -> Array:
    """Return the solution of a system that is zero but near its diagonal, in blocks too small for threads."""
    count, columns = right.shape
    starts = range(0, count, _BLOCK)
    eliminated: list[Array] = []
    for start in starts:
        rows, after = slice(start, start + _BLOCK), slice(start + _BLOCK, start + 2 * _BLOCK)
        pivot, rest = matrix[rows, rows], right[rows]
        if start > 0:
            before = matrix[rows, start - _BLOCK : start]
            pivot = pivot - before @ eliminated[-1][:, :-columns]
            rest = rest - before @ eliminated[-1][:, -columns:]
        eliminated.append(np.linalg.solve(pivot, np.concatenate([matrix[rows, after], rest], axis=1)))
    solution = eliminated[-1]
    parts = [solution]
    for block in reversed(eliminated[:-1]):
        solution = block[:, -columns:] - block[:, :-columns] @ solution
        parts.append(solution)
    return np.concatenate(parts[::-1])


def slowdown_of(spline: Spline, limits: Limits) -> float:
    """Return the factor of time at which a curve just keeps to the limits, from 400 instants of each piece.

    Args:
        spline: The curve.
        limits: The limits.
    """
    motion = spline.on_grid(400)
    return float(limits.slowdown(motion[:, :, 1], motion[:, :, 2], motion[:, :, 3])[0].max())


def paced(spline: Spline, limits: Limits, *, closed: bool = False) -> Spline:
    """Return the same curve at the pace at which it just keeps to the limits.

    Args:
        spline: The curve, from rest to rest or closed.
        limits: The limits.
        closed: Whether it is closed.
    """
    factor = slowdown_of(spline, limits) * SAMPLING_MARGIN
    return Spline(spline.states[:, 0], factor * np.array(spline.durations), closed=closed)
