"""Smoothing of recorded tables by their own noise."""

import math

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.elementary import power
from pegasus.control.trajectories.spline import (
    HERMITE,
    BlockTridiagonal,
    piece_costs,
    piece_tables,
    powers_of,
    product,
)

_SAMPLED = 0.11
"""Largest usual time between rows that sample a motion [s]; rows farther apart are points to fly through."""
_HARMLESS = 1.0
"""Noise of the highest derivative in use that needs no smoothing [m/s^3 or rad/s^2]."""
_WINDOW = 9
"""Rows whose polynomial of degree 7 leaves one number, their noise; a piece has at least one row less."""
_MEDIAN = 0.6745
"""Median size of normal noise, by its standard deviation."""
_EXACT = 2e-4
"""Noise that is taken for granted in tables with harmful noise [m or rad]: that of filtered tracks is not
white, and hardly seen from row to row."""
_EXCESS = 1.1
"""Largest residual by the noise."""
_WEIGHTS = (-9.0, 5.0)
"""Logarithms of the least and the largest weight of snap."""
_HALVINGS = 8


def is_smooth(time: Array, values: Array, resolution: Array, *, order: int) -> bool:
    """Return whether the noise of rows is harmless in their derivatives, or unknown.

    The noise of a column is the larger one of its rounding and of what polynomials through nine rows leave.

    Args:
        time: Rising times [s], shape (K,).
        values: Values, shape (K, D).
        resolution: Values of the last digits of the columns, shape (D,).
        order: Order of the highest derivative in use.
    """
    step = float(np.median(np.diff(time)))
    if step > _SAMPLED or len(time) <= _WINDOW:
        return True
    rate = math.pi / step
    factors = (1.0, rate, rate * rate, rate * rate * rate)
    return float(_noise(time, values, resolution).max()) * factors[order] < _HARMLESS


def smoothed(time: Array, values: Array, resolution: Array) -> Array | None:
    """Return values without noise and their first three derivatives; None if a spline leaves more than it.

    The curve is the smoothing spline of degree 7 with the least integrated squared snap that leaves no more
    than the noise (Reinsch 1967), in pieces of at least 0.11 s and 8 rows.

    Args:
        time: Rising times [s], shape (K,).
        values: Values, shape (K, D).
        resolution: Values of the last digits of the columns, shape (D,).

    Returns:
        Values and derivatives, shape (4, K, D).
    """
    allowed = _EXCESS * np.maximum(_noise(time, values, resolution), _EXACT)
    fit = _Fit(time, values)
    low, high = _WEIGHTS
    motion = fit.motion(power(10.0, low))
    if not fit.leaves(motion, allowed):
        return None
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        other = fit.motion(power(10.0, middle))
        if fit.leaves(other, allowed):
            low, motion = middle, other
        else:
            high = middle
    return motion


def _noise(time: Array, values: Array, resolution: Array) -> Array:
    """Return the standard deviation of white noise in each column, shape (D,)."""
    count = len(time) - _WINDOW + 1
    times = time / float(np.median(np.diff(time)))
    windows = [slice(k, k + count) for k in range(_WINDOW)]
    weights = np.ones((_WINDOW, count))
    for k, own in enumerate(windows):
        for other in windows:
            if other != own:
                weights[k] /= times[own] - times[other]
    weights /= np.sqrt((weights * weights).sum(axis=0))
    left = sum(weights[k][:, None] * values[own] for k, own in enumerate(windows))
    noise: Array = np.maximum(np.median(np.abs(left), axis=0) / _MEDIAN, resolution / math.sqrt(12.0))
    return noise


class _Fit:
    """Least-squares splines of rows with a weight of snap."""

    def __init__(self, time: Array, values: Array) -> None:
        rows = len(time) - 1
        longest = float(time[-1] - time[0])
        pieces = max(min(rows // (_WINDOW - 1), int(longest / _SAMPLED)), 1)
        edges = np.arange(pieces + 1) * rows // pieces
        numbers = np.arange(rows + 1)
        self._values = values
        self._piece = np.minimum(np.searchsorted(edges, numbers, side="right") - 1, pieces - 1)
        self._durations = np.diff(time[edges])
        self._x = (time - time[edges][self._piece]) / self._durations[self._piece]
        self._unit = longest / pieces
        scale = powers_of(self._durations / self._unit, 4)
        # Values as sums of the states at both ends of their pieces, shape (8, K).
        by_state = product(HERMITE.T[:, :, None], powers_of(self._x, 8)[:, None])[:, 0]
        by_state = by_state * np.concatenate([scale, scale])[:, self._piece]
        self._normal = np.add.reduceat(by_state[:, None] * by_state, edges[:-1], axis=2)
        self._snap = rows / pieces * piece_costs(self._durations / self._unit)
        sums = np.add.reduceat(by_state[:, None] * values.T, edges[:-1], axis=2)
        self._right = np.zeros((4, values.shape[1], pieces + 1))
        self._right[..., :-1] += sums[:4]
        self._right[..., 1:] += sums[4:]

    def motion(self, weight: float) -> Array:
        """Return values and three derivatives at the rows, shape (4, K, D)."""
        form = self._normal + weight * self._snap
        lower, diagonal, upper = np.zeros((3, 4, 4, form.shape[2] + 1))
        diagonal[..., :-1] += form[:4, :4]
        diagonal[..., 1:] += form[4:, 4:]
        upper[..., :-1], lower[..., 1:] = form[:4, 4:], form[4:, :4]
        states = BlockTridiagonal(lower, diagonal, upper).solve(self._right)
        states /= powers_of(np.array(self._unit), 4)[:, None, None]
        tables = piece_tables(states, self._durations)[self._piece]
        found = tables[..., -1]
        for k in range(tables.shape[-1] - 2, -1, -1):
            found = found * self._x[:, None, None] + tables[..., k]
        return found.transpose(1, 0, 2)

    def leaves(self, motion: Array, allowed: Array) -> bool:
        """Return whether the residual of each column is within what is allowed, shape (D,)."""
        rest = motion[0] - self._values
        return bool(((rest * rest).sum(axis=0) <= len(rest) * allowed * allowed).all())
