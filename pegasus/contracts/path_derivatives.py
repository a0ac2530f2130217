"""Derivatives of paths that are given by positions only."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from pegasus.base.arrays import Array

_SPACING = 0.02
"""Distance of the nodes of the polynomials [s]; less for paths shorter than eight of them."""
_HALF = 4
"""Nodes on either side of the middle of a polynomial, which has degree 8."""
_ROUGH = 1e-2
"""Eighth difference of the nodes above which a path counts as not smooth there [m or rad]."""

_NODES = range(-_HALF, _HALF + 1)
_OFFSETS = np.array(_NODES, dtype=np.float64)


def _basis(node: int) -> list[float]:
    """Return the coefficients, the constant first, of the polynomial that is 1 at a node and 0 at the others.

    By exact fractions: LAPACK's inverse has other bits on other processors.
    """
    found = [Fraction(1)]
    for other in _NODES:
        if other != node:
            risen, held = [Fraction(0), *found], [*found, Fraction(0)]
            found = [(a - other * b) / (node - other) for a, b in zip(risen, held, strict=True)]
    return [float(number) for number in found]


_FROM_NODES = np.array([_basis(node) for node in _NODES]).T
"""Coefficients of the polynomial, one row per power, from the values at the nodes."""
_EIGHTH = [(-1) ** k * math.comb(2 * _HALF, k) for k in range(2 * _HALF + 1)]


def path_motion(path: Callable[[Array], Array], times: Array, duration: float) -> Array:
    """Return a path and its first three derivatives, from polynomials through nine nodes around each time.

    The derivatives of an oscillation of 2 Hz are exact to 1e-5 of their amplitudes, to 1e-3 at the ends of
    the path; those of 1 Hz to 1e-7 and 1e-5. Near steps and corners, where the path is not smooth, the
    velocity is the median slope of the nodes, and acceleration and jerk are 0.

    Args:
        path: From times [s], shape (m,), to values, shape (m, D); called for times from 0 to `duration`.
        times: Times since the beginning [s], shape (n,).
        duration: Time from beginning to end [s]; may be infinite.

    Returns:
        Values and derivatives, shape (n, 4, D).
    """
    finite = math.isfinite(duration)
    spacing = min(_SPACING, duration / (2 * _HALF))
    last = math.floor(duration / spacing + 1e-9) if finite else math.inf
    inside = np.minimum(np.maximum(times, 0.0), duration)
    middle = np.minimum(np.maximum(np.rint(inside / spacing), _HALF), last - _HALF)
    windows, row = np.unique(middle, return_inverse=True)
    needed, place = np.unique(windows[:, None] + _OFFSETS, return_inverse=True)
    nodes = path(np.minimum(needed * spacing, duration))[place.reshape(len(windows), -1)]
    values = path(inside)
    center = nodes[:, _HALF]
    apart = nodes - center[:, None]
    # Sums in a fixed order: products of matrices differ between processors.
    factors = [
        sum(_FROM_NODES[i, k] * apart[:, k] for k in range(len(_OFFSETS))) for i in range(len(_OFFSETS))
    ]
    eighth = np.abs(np.asarray(sum(_EIGHTH[k] * apart[:, k] for k in range(len(_OFFSETS)))))
    rough = (eighth.max(axis=1) > _ROUGH)[row]
    s = (inside / spacing - middle)[:, None]
    motion = np.zeros((len(times), 4, values.shape[1]))
    motion[:, 0] = values
    scale = 1.0
    for order in (1, 2, 3):
        derivative = np.zeros_like(values)
        for i in range(8, order - 1, -1):
            derivative = derivative * s + math.perm(i, order) * np.asarray(factors[i])[row]
        scale *= spacing
        motion[:, order] = derivative / scale
    slope = np.median(np.diff(nodes, axis=1), axis=1) / spacing
    motion[rough, 1:] = 0.0
    motion[rough, 1] = slope[row][rough]
    return motion
