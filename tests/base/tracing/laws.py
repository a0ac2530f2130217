# ruff: noqa: ARG001
"""Laws that tests trace."""

import functools
from collections.abc import Callable
from typing import Any

from pegasus.base.random_numbers import normal_vector
from pegasus.base.step_math import (
    Quat,
    Real,
    Reals,
    Vec3,
    Word,
    clamped,
    exp,
    floor,
    interpolate,
    length,
    magnitude,
    maximum,
    minimum,
    sin,
)
from pegasus.environment.gravity import GravityParameters, gravity_at

MASK = Word(0xFFFFFF)


def moon_gravity(p: GravityParameters, altitude: Real) -> Real:
    """Return the gravity of the Moon."""
    return 1.62


def wind_by_weight(p: GravityParameters, position: Vec3, t: Real) -> Vec3:
    """Return a wind whose law calls the shipped gravity."""
    return Vec3(gravity_at(p, position[2]), sin(t), 0.0)


def environment(
    p: GravityParameters, gravity: Callable[..., Real], wind: Callable[..., Vec3], position: Vec3, t: Real
) -> tuple[Real, Vec3]:
    """Return gravity and wind by laws handed over."""
    return gravity(p, position[2]), wind(p, position, t)


def heavier_gravity(p: GravityParameters, altitude: Real) -> Real:
    """Return the shipped gravity and one percent."""
    return 1.01 * gravity_at(p, altitude)


def drag_wrench(v: Vec3) -> Vec3:
    """Return a force: a helper with the name of a function of the step."""
    return v * -0.5


def odd_drag(
    p: Any, air_velocity: Vec3, angular_velocity: Vec3, speeds: Reals, density: Real
) -> tuple[Vec3, Vec3]:
    """Return force and torque of a drag with that helper."""
    return drag_wrench(air_velocity), Vec3(0.0, 0.0, 0.0)


def early_returns(x: Real) -> Real:
    """Return by several ways, some of them within a loop."""
    if x != x:
        return -1.0
    for k in range(6):
        if x < float(k):
            return float(k) + x
        if x > 1e3:
            break
    if x > 4.0:
        if x > 1e6:
            return 7.0
        x = x - 4.0
    return x * 2.0


def skips(x: Real) -> Real:
    """Return a sum of which some parts are skipped."""
    total = 0.0
    k = 0
    while k < 8:
        k += 1
        if magnitude(x) < k and k != 3 and not x > 6.5:
            continue
        total += floor(x * k) if x > 0 else -x
    return total


def chosen(table: Reals, x: Real) -> Real:
    """Return a number of a table by an index that is computed, and one of a table of its own."""
    k = int(min(max(x, 0.0), length(table) - 1.0))
    return table[k] + (2.0, -1.0, 0.5)[min(k, 2)]


def between(x: Real) -> Real:
    """Return a choice by comparisons that are joined."""
    return 1.0 if -1.0 < x <= 2.0 or x == 5.0 else exp(-x * x)


def held(x: Real, table: Reals, values: Reals) -> Real:
    """Return a number of a piecewise linear function."""
    return interpolate(x, table, values)


def closures(x: Real) -> Real:
    """Return what functions made within a function give."""
    factor = 3.0

    def inner(y: Real) -> Real:
        if y > 0:
            return y * factor
        return -y

    def twice(f: Callable[[Real], Real], y: Real) -> Real:
        return f(f(y))

    parts = [twice(inner, x + k) for k in range(3)]
    return parts[0] + parts[1] + parts[2] + twice(lambda y: y if y > 1 else y + 0.5, x)


def has_sum(x: Real) -> Real:
    """Return a sum whose bits depend on the version of Python."""
    return sum([x, 2.0 * x, 1e-3])


def stores(x: Real) -> Real:
    """Return a sum of places that are written under conditions."""
    places = [0.0, 1.0, 2.0]
    same = places
    if x > 0:
        places[1] = x
        places[2] += 1.0
    elif x < -1:
        same[0] = places[2]
    return places[0] + same[1] * 2.0 + places[2] * 3.0


def turned_vectors(q: Quat, flag: Real) -> tuple[Quat, Vec3]:
    """Return vectors chosen by a condition."""
    v = Vec3(q[0], q[1], q[2])
    if flag > 0:
        q = q * 2.0
        v = -v
    return q, v


def loose_truths(x: Real, y: Real) -> tuple[Real, Real, Real]:
    """Return numbers by conditions that are numbers."""
    either = x or y
    both = (x and y) or 3.0
    if not y:
        either = either + 1.0
    return either, both, 1.0 if x else 2.0


def many_names(x: Real) -> Real:
    """Return a number of several names that a condition sets."""
    first, second, third, fourth = x, x, x, x
    if x > 0:
        first, second, third, fourth = x + 1.0, x + 2.0, x + 3.0, x + 4.0
    return first * second - third / fourth


class Scale:
    """Object that can be called, with a method."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def __call__(self, x: Real) -> Real:
        if x > 0:
            return x * self._factor
        return x

    def shifted(self, x: Real, *, by: Real = 1.0) -> Real:
        """Return the value of a number further on."""
        return self(x + by)


def handed_over(x: Real, *functions: Callable[[Real], Real]) -> Real:
    """Return the sum of what functions give."""
    total = 0.0
    for f in functions:
        total += f(x)
    return total


HANDED = (
    lambda y: magnitude(y) if y < 3.0 else y, lambda y: clamped(y, -1.0, 1.0) * 0.25,
    Scale(3.0), Scale(2.0).shifted, functools.partial(Scale(5.0).shifted, by=-2.0),
)  # fmt: skip
"""Functions of every kind, two of them in one line."""


def inner_constant(x: Real) -> Real:
    """Return what an inner function gives for a constant by a number of the outer one."""

    def inner(y: Real) -> Real:
        if x > y:
            return x
        return y * 2.0

    return inner(0.5)


def whole_numbers(x: Real) -> Real:
    """Return a number by whole ones and words."""
    k = int(minimum(maximum(x, -1e3), 1e3))
    word = Word(k * k) * MASK ^ Word(k // 3 + 1000)
    if k % 2 == 1:
        word = word >> Word(3)
    return Real(word) + k % 7 + k // 4


def counted(key: Word, count: int, x: Real) -> tuple[Word, int, Real]:
    """Return the next key and count, and a number drawn by them."""
    drawn = x
    if count > 2:
        drawn = normal_vector(key, count, 7, 0)[1]
    return (key ^ Word(count)) >> Word(1), count - 3, drawn


def has_loop_else(x: Real) -> Real:
    """Have an `else` of a loop."""
    for k in range(3):
        if x > k:
            break
    else:
        return 0.0
    return x


def has_length(x: Real) -> Real:
    """Bound a loop by a number that differs."""
    total = 0.0
    for k in range(int(x)):
        total += k
    return total


def has_while(x: Real) -> Real:
    """Loop for a number of times that differs."""
    while x > 1.0:
        x = x - 1.0
    return x


def has_power(x: Real) -> Real:
    """Use the power operator."""
    return x**3


def has_array_call(x: Real) -> Real:
    """Call a function of C."""
    import math

    return math.sin(x)


def has_half_return(x: Real) -> Real:  # noqa: RET503
    """Return on one way only."""
    if x > 0:
        return x


def has_raise(x: Real) -> Real:
    """Raise an error for some rows."""
    if x < 0:
        raise ValueError("below 0")
    return x


def calls_bad(x: Real) -> Real:
    """Call a function that cannot be traced."""
    return 1.0 + has_power(x)
