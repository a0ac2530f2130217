"""Solution of equations nearest to given values within bounds, with the same bits on every processor."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, sum_along
from pegasus.base.pseudo_inverse import pseudo_inverse

_MOST_STEPS = 20
_COST_STEPS = 12
"""Steps in which the cost counts; the last ones only solve the equations."""
_EXACT = 1e-11
"""Size of what is left at a solution."""
_NEAR = 1e-4
"""Size of what is left near a solution."""
_LONGEST_STEP = 0.3


@dataclass(frozen=True, eq=False)
class Search:
    """Bounds of the unknowns, and what they are kept near to."""

    low: Array
    high: Array
    start: Array
    rest: Array
    """Values without a need for others."""
    cost: Array
    """Cost of the distance from there."""


def solved(left: Callable[[Array], Array], search: Search) -> tuple[Array, Array]:
    """Return the solution of equations nearest to rest within bounds, and what is left of them.

    Newton's method with the step of least cost, by the pseudo-inverse of the Jacobian; unknowns that reach a
    bound stay there for the step. The Jacobian is updated by Broyden's formula, and found anew after a step
    that gained little.

    Args:
        left: Function of the unknowns, 0 where they solve the equations.
        search: Bounds and costs of the unknowns.
    """
    x = np.clip(search.start, search.low, search.high)
    value = left(x)
    jacobian, is_new = _jacobian(left, x, value, search), True
    for n in range(_MOST_STEPS):
        rest = search.rest if n < _COST_STEPS else x
        step = _step(jacobian, value, x, rest, search)
        size = float(np.abs(step).max())
        step *= min(1.0, _LONGEST_STEP / max(size, 1e-12))
        share = 1.0
        while True:
            trial = np.clip(x + share * step, search.low, search.high)
            new = left(trial)
            if size_of(new) <= max((1.0 - 0.1 * share) * size_of(value), _NEAR) or share < 0.1:
                break
            share *= 0.5
        before, after = size_of(value), size_of(new)
        # Near a solution only the cost falls; far from one a slow step means that there is none.
        slow = after > max(0.5 * before, _EXACT)
        if after <= max(before, _NEAR):
            change = trial - x
            error = new - value - product(jacobian, change)
            jacobian += error[:, None] * change / max(size_of(change) ** 2, 1e-300)
            x, value = trial, new
        done = after < _EXACT and (size < 1e-6 or n >= _COST_STEPS)
        if done or (slow and is_new and after > max(0.98 * before, _NEAR)):
            break
        is_new = slow
        if slow:
            jacobian = _jacobian(left, x, value, search)
    return x, value


def product(matrix: Array, vector: Array) -> Array:
    """Return matrix @ vector, each sum in the order of its terms, of shapes (K, M) and (M,)."""
    return sum_along(matrix.T * vector[:, None], 0)


def size_of(value: Array) -> float:
    """Return the length of a vector."""
    return math.sqrt(math.fsum((value * value).tolist()))


def _jacobian(left: Callable[[Array], Array], x: Array, value: Array, search: Search) -> Array:
    """Return the derivatives by unknowns that are free, 0 by the others."""
    jacobian = np.zeros((len(value), len(x)))
    for k in np.flatnonzero(search.high > search.low):
        change = 1e-6 if x[k] + 1e-6 <= search.high[k] else -1e-6
        moved = x.copy()
        moved[k] += change
        jacobian[:, k] = (left(moved) - value) / change
    return jacobian


def _step(jacobian: Array, value: Array, x: Array, rest: Array, search: Search) -> Array:
    """Return the step of least cost that solves the linear equations within the bounds."""
    step, free = np.zeros(len(x)), search.high > search.low
    while free.any():
        toward: Array = (rest - x)[free]
        ease: Array = 1.0 / search.cost[free]
        missing = -value - product(jacobian[:, ~free], step[~free]) - product(jacobian[:, free], toward)
        inverse = pseudo_inverse(jacobian[:, free] * ease, cutoff=1e-9)
        whole = toward + ease * product(inverse, missing)
        step[free] = np.clip(whole, search.low[free] - x[free], search.high[free] - x[free])
        beyond = np.abs(step[free] - whole) > 1e-12
        if not beyond.any():
            break
        free[np.flatnonzero(free)[beyond]] = False
    return step
