"""Elementary functions of arrays, with the bits of `pegasus.base.elementary`: the same on every processor.

NumPy's own sines and exponentials differ in their last bits with the instructions that it chooses.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pegasus.base import elementary
from pegasus.base.arrays import Array
from pegasus.base.elementary import (
    BY_HALF_PI,
    BY_LN_2,
    HALF_LN_2,
    HALF_PI,
    HALF_PI_1,
    HALF_PI_2,
    HALF_PI_3,
    LN_2_HIGH,
    LN_2_LOW,
    NARROW,
    QUARTER_PI,
    ROOT_2,
    expm1_series,
    logarithm,
    near_arc_tangent,
    near_sine_and_cosine,
)

_FEW = 8
"""Largest number of values for which the functions of numbers are faster."""


def _of_each(function: Callable[..., float], *values: Array) -> Array:
    """Return a function of numbers for each value."""
    lists = (value.ravel().tolist() for value in values)
    return np.fromiter(map(function, *lists), np.float64, values[0].size).reshape(values[0].shape)


def exp(x: Array) -> Array:
    """Return the exponential of each number."""
    if x.size <= _FEW:
        return _of_each(elementary.exp, x)
    far = np.abs(x) > HALF_LN_2
    near = np.minimum(np.maximum(x, -760.0), 720.0)
    k = np.where(far, np.floor(np.where(far, near, 0.0) * BY_LN_2 + 0.5), 0.0)
    r: Any = np.where(far, near, x) - k * LN_2_HIGH - k * LN_2_LOW
    half = np.floor(0.5 * k)
    with np.errstate(over="ignore", under="ignore"):
        grew: Array = np.ldexp(1.0 + expm1_series(r), half.astype(np.int64))
        result: Array = np.ldexp(grew, (k - half).astype(np.int64))
    return result


def log(x: Array) -> Array:
    """Return the natural logarithm of each number above 0."""
    if x.size <= _FEW:
        return _of_each(elementary.log, x)
    halved, exponent = np.frexp(x)
    mantissa: Any = 2.0 * halved
    k: Any = exponent - 1.0
    large = mantissa > ROOT_2
    mantissa, k = np.where(large, 0.5 * mantissa, mantissa), np.where(large, k + 1.0, k)
    result: Any = logarithm(mantissa, k)
    return result  # type: ignore[no-any-return]


def sine_and_cosine(x: Array) -> tuple[Array, Array]:
    """Return sine and cosine of each angle [rad]."""
    if x.size <= _FEW:
        return _of_each(elementary.sin, x), _of_each(elementary.cos, x)
    k = np.where(np.abs(x) > QUARTER_PI, np.floor(x * BY_HALF_PI + 0.5), 0.0)
    r: Any = x - k * HALF_PI_1 - k * HALF_PI_2 - k * HALF_PI_3
    quadrant = k - 4.0 * np.floor(0.25 * k)
    sine, cosine = near_sine_and_cosine(r)
    across = (quadrant == 1.0) | (quadrant == 3.0)
    sines, cosines = np.where(across, cosine, sine), np.where(across, sine, cosine)
    sines = np.where(quadrant >= 2.0, -sines, sines)
    return sines, np.where((quadrant == 1.0) | (quadrant == 2.0), -cosines, cosines)


def sin(x: Array) -> Array:
    """Return the sine of each angle [rad]."""
    return sine_and_cosine(x)[0]


def cos(x: Array) -> Array:
    """Return the cosine of each angle [rad]."""
    return sine_and_cosine(x)[1]


def atan2(y: Array, x: Array) -> Array:
    """Return the angle of each point (x, y) [rad], 0 at the origin."""
    if x.size <= _FEW:
        return _of_each(elementary.atan2, y, x)
    wide, high = np.abs(x), np.abs(y)
    larger = np.maximum(wide, high)
    ratio: Any = np.minimum(wide, high) / np.where(larger == 0.0, 1.0, larger)
    steep = ratio > NARROW
    ratio = np.where(steep, (ratio - 1.0) / (ratio + 1.0), ratio)
    angle = np.where(steep, QUARTER_PI, 0.0) + near_arc_tangent(ratio)
    angle = np.where(high > wide, HALF_PI - angle, angle)
    angle = np.where(x < 0.0, math.pi - angle, angle)
    angle = np.where(y < 0.0, -angle, angle)
    return np.where(larger == 0.0, 0.0, angle)


def acos(x: Array) -> Array:
    """Return the arc cosine of each number from -1 to 1 [rad]."""
    return atan2(np.sqrt((1.0 - x) * (1.0 + x)), x)
