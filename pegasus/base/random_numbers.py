"""Random numbers by counter: step functions whose numbers depend on no order, count or device."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.elementary import cos
from pegasus.base.elementary_arrays import log
from pegasus.base.step_math import Real, Vec3, Word
from pegasus.base.step_types import bits_of, number_of

_LOW = Word(0xFFFFFFFF)
_HALF = Word(32)
_FACTOR_0, _FACTOR_1 = Word(0xD2511F53), Word(0xCD9E8D57)
_STEP_0, _STEP_1 = Word(0x9E3779B9), Word(0xBB67AE85)
_UNIT = 2.0**-32
_SIGN, _TAIL = Word(31), Word(0x7FFFFFFF)
_WITHIN, _REST, _ONE = Word(49), Word((1 << 49) - 1), Word(1023 << 52)
_FIRST_PART = 1022 * 8
_MIDDLE = 1.0625


def draw_key(rng: np.random.Generator) -> int:
    """Return the key of a consumer of random numbers, for `normals`.

    Args:
        rng: Its stream, of seed and names (`pegasus.base.streams.stream`).
    """
    return int(rng.integers(2**64, dtype=np.uint64))


def next_keys(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return keys for the next episode, whose numbers are independent of those before.

    Source: Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators", SplitMix64.

    Args:
        keys: Keys of the last episode, shape (N,).
    """
    mixed = keys + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def philox(key: Word, a: Word, b: Word, c: Word, d: Word) -> tuple[Word, Word, Word, Word]:
    """Return four random words of 32 bits: Philox4x32-10.

    Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".

    Args:
        key: Key of 64 bits; other keys give independent numbers.
        a: First word of the counter, of 32 bits.
        b: Second word.
        c: Third word.
        d: Fourth word.
    """
    low = key & _LOW
    high = key >> _HALF
    for _ in range(10):
        first = _FACTOR_0 * a
        second = _FACTOR_1 * c
        a = (second >> _HALF) ^ b ^ low
        b = second & _LOW
        c = (first >> _HALF) ^ d ^ high
        d = first & _LOW
        low = (low + _STEP_0) & _LOW
        high = (high + _STEP_1) & _LOW
    return a, b, c, d


def uniform(word: Word) -> Real:
    """Return a word of 32 bits as a number between 0 and 1, both excluded."""
    return (Real(word) + 0.5) * _UNIT


def percentage_points(p: Array) -> Array:
    """Return the standard normal numbers below which shares of all lie.

    Source: Wichura 1988, "Algorithm AS 241: the percentage points of the normal distribution", PPND16, exact
    to 1e-15.

    Args:
        p: Shares, from 1e-11 to 1 - 1e-11.
    """
    q: Any = p - 0.5
    r = 0.180625 - q * q
    top = _septic(r, 2509.0809287301226727, 33430.575583588128105, 67265.770927008700853,
                  45921.953931549871457, 13731.693765509461125, 1971.5909503065514427,
                  133.14166789178437745, 3.387132872796366608)  # fmt: skip
    bottom = _septic(r, 5226.495278852854561, 28729.085735721942674, 39307.89580009271061,
                     21213.794301586595867, 5394.1960214247511077, 687.1870074920579083,
                     42.313330701600911252, 1.0)  # fmt: skip
    central = q * top / bottom
    r = np.sqrt(-log(np.where(q > 0.0, 1.0 - p, p))) - 1.6
    top = _septic(r, 7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
                  1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055,
                  4.6303378461565452959, 1.42343711074968357734)  # fmt: skip
    bottom = _septic(r, 1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
                     0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
                     2.05319162663775882187, 1.0)  # fmt: skip
    far = np.where(q < 0.0, -top, top) / bottom
    points: Array = np.where(np.abs(q) <= 0.425, central, far)
    return points


def _septic(x: Any, a: Real, b: Real, c: Real, d: Real, e: Real, f: Real, g: Real, h: Real) -> Any:
    """Return polynomials of the seventh degree, their highest coefficient first."""
    return ((((((a * x + b) * x + c) * x + d) * x + e) * x + f) * x + g) * x + h


def _fitted() -> tuple[float, ...]:
    """Return the coefficients of `normal`: eight for each of eight parts of each octave of the tail.

    They interpolate the percentage points at the places of Chebyshev, by Newton's divided differences.
    """
    place = np.array([cos(math.pi * (k + 0.5) / _TERMS) * _WIDEST for k in range(_TERMS)])
    mantissa = 1.0 + _WIDEST * (2.0 * np.arange(_PARTS) + 1.0)
    tail = np.ldexp(mantissa, np.arange(-1, 31)[:, None] - 32).ravel()
    scale = np.repeat(np.ldexp(1.0, np.arange(-1, 31) - 32), _PARTS)
    divided = [-percentage_points(tail + scale * t) for t in place]
    for order in range(1, _TERMS):
        for k in reversed(range(order, _TERMS)):
            divided[k] = (divided[k] - divided[k - 1]) / (place[k] - place[k - order])
    made = [divided[-1]]
    for k in reversed(range(_TERMS - 1)):
        shifted = [np.zeros(tail.size), *made]
        made = [a - place[k] * b for a, b in zip(shifted, [*made, np.zeros(tail.size)], strict=True)]
        made[0] = made[0] + divided[k]
    return tuple(np.stack(made, axis=-1).ravel().tolist())


_TERMS, _PARTS = 8, 8
_WIDEST = 0.5 / _PARTS
"""Largest distance from the middle of a part, by the octave's beginning."""
_COEFFICIENTS = _fitted()


def normal(word: Word) -> Real:
    """Return a word of 32 bits as a standard normal number, that below which `uniform(word)` of all lie.

    To 1e-12, without a branch: one that depends on random numbers is mispredicted. The octaves of the nearer
    tail are cut into parts with a polynomial for each, of which the leading bits are the number.
    """
    upper = word >> _SIGN
    tail = Real(int((word & _TAIL) ^ (upper * _TAIL))) + 0.5
    bits = bits_of(tail)
    first = 8 * (int(bits >> _WITHIN) - _FIRST_PART)
    t = number_of((bits & _REST) + _ONE) - _MIDDLE
    square = t * t
    low = _COEFFICIENTS[first] + t * _COEFFICIENTS[first + 1]
    low += square * (_COEFFICIENTS[first + 2] + t * _COEFFICIENTS[first + 3])
    high = _COEFFICIENTS[first + 4] + t * _COEFFICIENTS[first + 5]
    high += square * (_COEFFICIENTS[first + 6] + t * _COEFFICIENTS[first + 7])
    return (2.0 * Real(int(upper)) - 1.0) * (low + square * square * high)


def normals(key: Word, copy: int, reading: int, block: int) -> tuple[Real, Real, Real, Real]:
    """Return four independent standard normal numbers of a reading.

    Args:
        key: Key of the sensor.
        copy: Index of the vehicle among its copies.
        reading: Number of the reading; each has numbers of its own.
        block: Number of the block of four among those of the reading.
    """
    a, b, c, d = philox(key, Word(reading), Word(copy), Word(block), Word(0))
    return (
        normal(a),
        normal(b),
        normal(c),
        normal(d),
    )


def normal_vector(key: Word, copy: int, reading: int, block: int) -> Vec3:
    """Return the first three numbers of `normals` as a vector."""
    a, b, c, _ = philox(key, Word(reading), Word(copy), Word(block), Word(0))
    return Vec3(normal(a), normal(b), normal(c))
