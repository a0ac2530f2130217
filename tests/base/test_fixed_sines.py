"""Tests of sines and cosines by additions and multiplications alone."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from pegasus.base.fixed_sines import cosine_of, sine_and_cosine, sine_ratio, wide_cosine_of, wide_sine_ratio
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Real

WIDEST = {math.pi / 2: (sine_ratio, cosine_of), math.pi: (wide_sine_ratio, wide_cosine_of)}


@pytest.mark.parametrize("widest", WIDEST)
def test_series_are_exact_within_their_range(widest):
    """A term left out would bend the rays of a lidar."""
    angles = np.linspace(-widest, widest, 2001)
    ratio, cosine = (function(angles * angles) for function in WIDEST[widest])
    np.testing.assert_allclose(angles * ratio, np.sin(angles), atol=4e-16)
    np.testing.assert_allclose(cosine, np.cos(angles), atol=6e-16)


def test_any_angle_is_taken_less_whole_turns():
    """A prism that has turned for hours would point elsewhere."""
    for angle in [*np.linspace(-20.0, 20.0, 333).tolist(), 7.6e6, -1.3e5]:
        sine, cosine = sine_and_cosine(angle)
        size = 1e-15 + 2.0**-52 * abs(angle)
        assert (sine, cosine) == pytest.approx((math.sin(angle), math.cos(angle)), abs=size)


@dataclass(frozen=True)
class Factor:
    """Parameter of `of_multiple`."""

    factor: float


def of_multiple(p: Factor, angle: Real) -> tuple[Real, Real]:
    """Return sine and cosine of a multiple of an angle."""
    return sine_and_cosine(p.factor * angle)


def test_compiled_sines_have_the_bits_of_python():
    """Fused operations in compiled code would make the bits depend on the processor."""
    angles = np.linspace(-30.0, 30.0, 999)
    sine, cosine = RowMap(of_multiple)(Factor(1.7), angles)
    expected = np.array([of_multiple(Factor(1.7), angle) for angle in angles.tolist()])
    np.testing.assert_array_equal(np.stack([sine, cosine], axis=1), expected)
