"""Time-optimal minimum-snap curves: flight time with its gradient, and its minimisation by BFGS.

SciPy's BFGS is not used: it calls BLAS, whose rounding differs between processors.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np

from pegasus.base import elementary
from pegasus.base.arrays import Array
from pegasus.base.elementary_arrays import exp, log
from pegasus.control.trajectories.limits import Limited
from pegasus.control.trajectories.spline import (
    HERMITE,
    KnotSystem,
    Spline,
    derivative_rows,
    powers_of,
    product,
)

SAMPLING_MARGIN = 1.0005
"""Margin for peaks between the sampled instants."""

Penalty = Callable[[Array], tuple[float, Array]]
"""Function of states (M + 1, 4, 3) that returns a cost and its gradient."""


class Objective(Protocol):
    """Objective of `minimize`: function of variables (n,) and a sharpness."""

    def __call__(self, x: Array, sharpness: int) -> tuple[float, Array]:
        """Return the value and its gradient (n,)."""


_GRID = [derivative_rows(k / 13) for k in range(14)]
# Map from the states of a piece, scaled by its time, to velocities, accelerations, jerks, shape (42, 8, 1).
_MOTION = product(
    np.stack([rows[order] for order in (1, 2, 3) for rows in _GRID])[:, :, None], HERMITE[:, :, None]
)
_ORDERS = np.concatenate([np.arange(4.0), np.arange(4.0)])[:, None, None]
_LARGEST_STEP = 0.6
_LATE = 3.0
_SHARPNESSES: Sequence[int] = (8, 30, 100, 300)
_ITERATIONS = 60
_MANY = 128
"""Number of pieces above which the descent needs a good initial guess."""
_TOO_MANY = 600
"""Number of pieces above which the initial guess is not optimised."""
_STEPS = 32


def log_flight_time(
    points: Array,
    durations: Array,
    *,
    limits: Limited,
    sharpness: int,
    velocities: dict[int, Array] | None = None,
    closed: bool = False,
    penalty: Penalty | None = None,
) -> tuple[float, Array, Array]:
    """Return the logarithm of the scaled flight time of a minimum-snap curve, and its gradient.

    The largest slowdown is smoothed by a power mean of high exponent. The gradient uses the adjoint of the
    minimum-snap system, at the cost of one more solution.

    Args:
        points: Points [m], shape (M + 1, 3).
        durations: Time of each piece [s], shape (M,).
        limits: Limits of the flight.
        sharpness: Exponent of the mean.
        velocities: Velocities [m/s] at points between the ends by their index.
        closed: Whether the last point is the first one, whose gradients then are sums of both.
        penalty: Additional cost of the states.

    Returns:
        The value, and its gradients by points (M + 1, 3) and by durations (M,).
    """
    count = len(durations)
    given = np.zeros((3, 3, count + 1))
    for k, velocity in (velocities or {}).items():
        given[0, :, k] = velocity
    system = KnotSystem(durations, passing=velocities or (), closed=closed)
    states = system.states(points.T, given)

    ends, powers = np.concatenate([states[..., :-1], states[..., 1:]]), powers_of(durations, 4)
    scale = np.concatenate([powers, powers])[:, None]
    # Shape (3 for velocity to jerk, instants, 3, M).
    rates = product(_MOTION, scale * ends).reshape(3, len(_GRID), 3, count) / powers[1:, None, None]
    velocity, acceleration, jerk = rates.transpose(0, 3, 1, 2)
    slowdown, by_velocity, by_acceleration, by_jerk = limits.slowdown(velocity, acceleration, jerk)
    largest = slowdown.max()
    shares = _to_the(slowdown / largest, sharpness)
    sum_of_shares = float(shares.sum())
    pace = elementary.log(float(largest)) + elementary.log(sum_of_shares) / sharpness
    weights = shares / slowdown / sum_of_shares
    total = float(durations.sum())
    # Without given velocities the path is independent of the time scale; with them, excess speed is
    # penalised.
    late, by_pace = pace, 1.0
    if velocities:
        small = elementary.exp(-50.0 * abs(pace))
        by_pace = _LATE / (1.0 + small) * (1.0 if pace > 0 else small)
        late = _LATE * (max(pace, 0.0) + elementary.log(1.0 + small) / 50.0)
    value = elementary.log(total) + late

    weights *= by_pace
    by_rates = np.stack([by_velocity, by_acceleration, by_jerk]) * weights[:, :, None]
    by_rates = by_rates.transpose(0, 2, 3, 1) / powers[1:, None, None]
    by_ends = scale * product(_MOTION.transpose(1, 0, 2), by_rates.reshape(-1, 3, count))
    order = np.array([1.0, 2.0, 3.0])[:, None]
    by_duration = (
        1.0 / total
        + (
            (_ORDERS * ends * by_ends).sum(axis=(0, 1))
            - (order * (by_rates * rates * powers[1:, None, None]).sum(axis=(1, 2))).sum(axis=0)
        )
        / durations
    )
    by_state = _at_points(by_ends)
    if penalty is not None:
        more, by_more = penalty(states.transpose(2, 0, 1))
        value += more
        by_state += by_more.transpose(1, 2, 0)

    adjoint = system.adjoint(by_state)
    at_ends = np.concatenate([adjoint[..., :-1], adjoint[..., 1:]])
    forward, backward = product(system.costs, ends), product(system.costs, at_ends)
    # The cost of a piece is D C D / d^7 with D made of powers of d.
    by_duration -= (_ORDERS * (at_ends * forward + backward * ends) - 7.0 * at_ends * forward).sum(
        axis=(0, 1)
    ) / durations
    by_points = (by_state - _at_points(backward))[0].T
    if closed:
        by_points[0] += by_points[-1]
        by_points[-1] = 0.0
    return value, by_points, by_duration


def _at_points(of_pieces: Array) -> Array:
    """Return the sums of piece values (8, 3, M) at the points between them, shape (4, 3, M + 1)."""
    total = np.zeros((4, 3, of_pieces.shape[2] + 1))
    total[..., :-1] += of_pieces[:4]
    total[..., 1:] += of_pieces[4:]
    return total


def _to_the(values: Array, exponent: int) -> Array:
    """Return an integer power by squaring, bit-identical on every processor."""
    total = np.ones_like(values)
    while exponent:
        if exponent & 1:
            total = total * values
        values, exponent = values * values, exponent >> 1
    return total


def quickest_times(
    points: Array, limits: Limited, *, velocities: dict[int, Array] | None = None, closed: bool = False
) -> Array:
    """Return the times of the pieces of a time-optimal minimum-snap curve through points, shape (M,).

    They are a local minimum of the flight time under the limits (Mellinger and Kumar 2011, sec. IV-C, who
    minimise the snap at a fixed flight time). For many pieces the curve through every other point is solved
    first and gives the initial guess.

    Args:
        points: Points [m], shape (M + 1, 3).
        limits: Limits of the flight.
        velocities: Velocities [m/s] at points between the ends by their index.
        closed: Whether the last point is the first one.
    """
    lengths = lengths_between(points)
    times, sharpnesses, iterations = lengths / (0.5 * limits.speed), _SHARPNESSES, _ITERATIONS
    if len(lengths) > _MANY and not velocities and not closed:
        kept = _every_other(points)
        if len(kept) < 0.75 * len(points):
            curve = Spline(points[kept], quickest_times(points[kept], limits))
            times = _times_along(curve, lengths, kept)
            sharpnesses, iterations = _SHARPNESSES[1::2], _ITERATIONS // 3
    if len(lengths) > _TOO_MANY:
        return times

    def objective(x: Array, sharpness: int) -> tuple[float, Array]:
        durations = exp(x)
        value, _, slopes = log_flight_time(
            points, durations, limits=limits, sharpness=sharpness, velocities=velocities, closed=closed
        )
        return value, slopes * durations

    first = log(times)
    return exp(minimize(objective, first, iterations=iterations, sharpnesses=sharpnesses))


def lengths_between(points: Array) -> Array:
    """Return the distances between consecutive points [m], shape (M,).

    Args:
        points: Points [m], shape (M + 1, 3).
    """
    steps = np.diff(points, axis=0)
    lengths: Array = np.sqrt((steps * steps).sum(axis=1))
    return lengths


def _every_other(points: Array) -> list[int]:
    """Return the indices of about every other point; points where the path turns back are kept."""
    lengths, last = lengths_between(points), len(points) - 1
    kept = [0]
    for k in range(1, last):
        across = math.dist(points[k - 1], points[k + 1])
        if kept[-1] < k - 1 or across < 0.5 * (lengths[k - 1] + lengths[k]):
            kept.append(k)
    return [*kept, last]


def _times_along(curve: Spline, lengths: Array, kept: list[int]) -> Array:
    """Return the times of all pieces from a curve through some of the points."""
    steps = np.diff(curve.on_grid(_STEPS + 1)[:, :, 0], axis=1)
    arcs = np.cumsum(np.sqrt((steps * steps).sum(axis=2)), axis=1)
    times = []
    for k, (start, end) in enumerate(pairwise(kept)):
        along = np.cumsum(lengths[start:end])
        shares = np.interp(
            along / along[-1], [0.0, *(arcs[k] / arcs[k, -1])], np.linspace(0.0, 1.0, _STEPS + 1)
        )
        # The path through the omitted points is longer than the curve.
        stretch = max(1.0, float(along[-1] / arcs[k, -1]))
        times.append(np.diff(shares, prepend=0.0) * curve.durations[k] * stretch)
    return np.concatenate(times)


def minimize(
    objective: Objective,
    x: Array,
    *,
    iterations: int,
    sharpnesses: Sequence[int],
) -> Array:
    """Return a local minimum by quasi-Newton steps (BFGS), for each sharpness in turn.

    Args:
        objective: The objective.
        x: Initial guess, shape (n,).
        iterations: Largest number of steps for each sharpness.
        sharpnesses: Exponents of the power mean of slowdowns, from smooth to nearly exact.
    """
    for sharpness in sharpnesses:
        x = _descend(partial(objective, sharpness=sharpness), x, iterations)
    return x


def _descend(objective: Callable[[Array], tuple[float, Array]], x: Array, iterations: int) -> Array:
    value, slope = objective(x)
    unit = np.eye(len(x))
    inverse, fresh = unit * 0.1 / max(math.sqrt(_dot(slope, slope)), 1e-12), True
    for _ in range(iterations):
        direction = -_times(inverse, slope)
        direction *= min(1.0, _LARGEST_STEP / max(float(np.abs(direction).max()), 1e-12))
        descent = _dot(direction, slope)
        length, before, old = 1.0, slope, value
        while length > 1e-5:
            value, slope = objective(x + length * direction)
            if value <= old + 1e-4 * length * descent:
                break
            length *= 0.4
        else:
            value, slope = old, before
            if fresh:
                break
            inverse, fresh = unit * 0.1 / max(math.sqrt(_dot(slope, slope)), 1e-12), True
            continue
        step, change = length * direction, slope - before
        x = x + step
        if old - value < 1e-9 and not fresh:
            break
        curvature = _dot(step, change)
        if curvature > 1e-14:
            if fresh:
                inverse = unit * curvature / _dot(change, change)
            fresh = False
            image = _times(inverse, change)
            cross = np.outer(step, image)
            weight = (1.0 + _dot(change, image) / curvature) / curvature
            inverse = inverse - (cross + cross.T) / curvature + weight * np.outer(step, step)
    return x


def _dot(a: Array, b: Array) -> float:
    """Return the inner product, without BLAS."""
    return float((a * b).sum())


def _times(matrix: Array, vector: Array) -> Array:
    """Return the product, without BLAS, whose rounding differs between processors."""
    total: Array = (matrix * vector).sum(axis=1)
    return total


def slowdown_of(spline: Spline, limits: Limited) -> float:
    """Return the factor of time at which a curve reaches a limit, from 400 instants of each piece."""
    motion = spline.on_grid(400)
    return float(limits.slowdown(motion[:, :, 1], motion[:, :, 2], motion[:, :, 3])[0].max())


def paced(spline: Spline, limits: Limited) -> Spline:
    """Return the same curve, scaled in time to reach a limit.

    Args:
        spline: The curve, from rest to rest or closed.
        limits: The limits.
    """
    return spline.slowed(slowdown_of(spline, limits) * SAMPLING_MARGIN)
