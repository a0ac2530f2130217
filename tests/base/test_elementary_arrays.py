"""Tests of elementary functions of arrays against those of numbers."""

import math

import numpy as np
import pytest

from pegasus.base import elementary, elementary_arrays

RNG = np.random.default_rng(0)
NEAR = RNG.uniform(-1.0, 1.0, 2000) * 10.0 ** RNG.uniform(-12.0, 0.0, 2000)
WIDE = np.concatenate(
    [NEAR, RNG.uniform(-800.0, 800.0, 2000), [0.0, -0.0, math.pi / 4, -math.pi / 4, 0.4, math.nan]]
)
ABOVE_0 = np.concatenate([10.0 ** RNG.uniform(-308.0, 308.0, 2000), [5e-324, 1.0, math.sqrt(0.5)]])


@pytest.mark.parametrize("count", [3, None])
@pytest.mark.parametrize(("name", "values"), [("exp", WIDE), ("sin", WIDE), ("cos", WIDE), ("log", ABOVE_0)])
def test_arrays_have_the_bits_of_numbers(name, values, count):
    """A path that is sampled ahead would differ from the same path at one time."""
    values = values[-count:] if count else values
    expected = [getattr(elementary, name)(x) for x in values.tolist()]
    assert np.array_equal(getattr(elementary_arrays, name)(values), expected, equal_nan=True)


def test_angles_of_points_have_the_bits_of_numbers():
    """A heading along a path would depend on the number of points."""
    y = RNG.permutation(WIDE)
    expected = [elementary.atan2(*point) for point in zip(y.tolist(), WIDE.tolist(), strict=True)]
    assert np.array_equal(elementary_arrays.atan2(y, WIDE), expected, equal_nan=True)


def test_arc_cosine():
    """A turn would count as done too early or never."""
    cosines = RNG.uniform(-1.0, 1.0, 500)
    assert elementary_arrays.acos(cosines) == pytest.approx(np.arccos(cosines), rel=1e-14)
    assert elementary_arrays.acos(np.array([1.0, -1.0])).tolist() == [0.0, math.pi]
