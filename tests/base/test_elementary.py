"""Tests of elementary functions against the C library, and of equal bits in Python and compiled code."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from pegasus.base.elementary import inverse_cube_root
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Real, asin, atan2, cos, exp, expm1, log, power, sin, tan
from pegasus.base.step_types import BUILTINS, floor, sqrt

RNG = np.random.default_rng(0)
SMALL = (RNG.uniform(-1.0, 1.0, 2000) * 10.0 ** RNG.uniform(-12.0, 0.0, 2000)).tolist()
ANGLES = RNG.uniform(-50.0, 50.0, 2000).tolist()
SIZES = (10.0 ** RNG.uniform(-300.0, 300.0, 2000)).tolist()
NEAR_ONE = RNG.uniform(0.4, 2.5, 2000).tolist()
EDGES = [0.0, 5e-324, 1.7e308, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize(
    ("function", "exact", "places", "bound"),
    [
        (exp, math.exp, [*SMALL, *RNG.uniform(-700.0, 700.0, 2000).tolist()], 1.5),
        (expm1, math.expm1, [*SMALL, *RNG.uniform(-40.0, 40.0, 2000).tolist()], 2.5),
        (log, math.log, [*SIZES, *NEAR_ONE], 1.5),
        (sin, math.sin, [*SMALL, *ANGLES], 2.0),
        (cos, math.cos, [*SMALL, *ANGLES], 2.0),
        (tan, math.tan, [*SMALL, *ANGLES], 4.0),
        (asin, math.asin, RNG.uniform(-1.0, 1.0, 2000).tolist(), 4.0),
    ],
)
def test_functions_are_those_of_the_c_library(function, exact, places, bound):
    """Rotors, air and noise would follow other laws; the bounds are in units of the last place."""
    errors = [abs(function(x) - exact(x)) / math.ulp(exact(x)) for x in places]
    assert max(errors) <= bound


def test_angles_and_powers_are_those_of_the_c_library():
    """A heading would be taken from the wrong quadrant, or a length scale would be off."""
    for y, x in zip(SMALL, ANGLES, strict=True):
        for angle, point in ((atan2(y, x), (y, x)), (atan2(x, y), (x, y))):
            assert abs(angle - math.atan2(*point)) <= 4 * math.ulp(math.atan2(*point))
    for base, exponent in zip(NEAR_ONE, ANGLES, strict=True):
        bound = 2e-16 * (2.0 + abs(exponent * math.log(base)))
        assert power(base, exponent) == pytest.approx(math.pow(base, exponent), rel=bound)


def test_inverse_cube_root():
    """The air would roll vehicles too much or too little."""
    for x in SIZES:
        assert inverse_cube_root(x) == pytest.approx(1.0 / x ** (1.0 / 3.0), rel=1e-13)
    for x in NEAR_ONE:
        assert x * inverse_cube_root(x) ** 3 == pytest.approx(1.0, rel=2e-15)


def test_angles_of_a_million_turns_keep_their_digits():
    """Vibration of a rotor that has turned for hours would be noise."""
    for x in RNG.uniform(-1e6, 1e6, 2000).tolist():
        assert sin(x) == pytest.approx(math.sin(x), abs=2.3e-16)
        assert cos(x) == pytest.approx(math.cos(x), abs=2.3e-16)


def test_limits():
    """A vehicle above the atmosphere or a filter without memory would not be a number."""
    assert (exp(-math.inf), exp(-800.0), exp(0.0), exp(-0.0)) == (0.0, 0.0, 1.0, 1.0)
    assert (exp(710.0), exp(math.inf)) == (math.inf, math.inf)
    assert exp(-745.0) == math.exp(-745.0)
    assert (log(0.0), log(1.0), log(math.inf)) == (-math.inf, 0.0, math.inf)
    assert log(5e-324) == pytest.approx(math.log(5e-324), rel=1e-15)
    assert log(1.7e308) == pytest.approx(math.log(1.7e308), rel=1e-15)
    assert (power(0.0, 2.0), power(0.0, 0.0), power(0.0, -1.0)) == (0.0, 1.0, math.inf)
    assert power(-2.0, 3.0) == pytest.approx(-8.0, rel=1e-15)
    assert power(-2.0, 2.0) == pytest.approx(4.0, rel=1e-15)
    quarters = [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0), (0.0, 0.0), (2.0, 2.0), (-2.0, -2.0)]
    assert [atan2(*point) for point in quarters] == [math.atan2(*point) for point in quarters]
    assert (asin(1.0), asin(-1.0)) == (math.pi / 2, -math.pi / 2)
    undefined = [exp(math.nan), log(-1.0), log(math.nan), sin(math.inf), cos(-math.inf), tan(math.nan)]
    undefined += [asin(1.1), power(-2.0, 0.5), atan2(math.nan, 1.0), atan2(0.0, math.nan)]
    assert all(math.isnan(value) for value in undefined)


@dataclass(frozen=True)
class Factor:
    """Parameter of `all_of`."""

    factor: float


def all_of(p: Factor, x: Real, y: Real) -> tuple[Real, Real, Real, Real, Real, Real, Real, Real]:
    """Return every function."""
    return exp(p.factor * x), log(x), sin(x), cos(x), tan(x), atan2(y, x), asin(y), power(x, y)


def test_compiled_functions_have_the_bits_of_python():
    """Fused operations in compiled code would make the bits depend on the processor."""
    x = np.array([*SMALL, *ANGLES, *SIZES, *EDGES])
    y = RNG.uniform(-1.2, 1.2, len(x))
    expected = np.array([all_of(Factor(1.7), *pair) for pair in zip(x.tolist(), y.tolist(), strict=True)])
    np.testing.assert_array_equal(np.stack(RowMap(all_of)(Factor(1.7), x, y), axis=1), expected)


def test_no_function_of_a_c_library_is_compiled():
    """Its bits may differ with the processor; roots and whole numbers are rounded alike everywhere."""
    assert {f for f in BUILTINS if not isinstance(f, type)} == {sqrt, floor}
