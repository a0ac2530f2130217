"""Tests of interpolation between two steps against closed forms."""

import math
from typing import Any

import numpy as np
import pytest

from pegasus.base.frames import multiply, quaternion_from_rotation_vector
from pegasus.base.step_math import Quat, Vec3
from pegasus.sensors.delay import (
    hermite,
    hermite_orientation,
)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_cubics_are_met_exactly(share: float) -> None:
    """A polynomial of the interpolation would be wrong."""
    cubic = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])
    rate = cubic.deriv()
    ends = (Vec3(f(t), 0.0, 0.0) for t in (0.4, 1.1) for f in (cubic, rate))
    assert hermite(*ends, share, 0.7)[0] == pytest.approx(cubic(0.4 + 0.7 * share), rel=1e-14)


def tumble(t: float) -> tuple[Any, Any]:
    """Return a coning motion: orientation, and angular velocity in the body frame."""
    spin, nod = 2.0 * t + 1.5 * t * t, 0.8 * math.sin(3.0 * t)
    spin_rate, nod_rate = 2.0 + 3.0 * t, 2.4 * math.cos(3.0 * t)
    first = quaternion_from_rotation_vector(np.array([[0.0, 0.0, spin]]))
    orientation = multiply(first, quaternion_from_rotation_vector(np.array([[nod, 0.0, 0.0]])))
    rate = [nod_rate, spin_rate * math.sin(nod), spin_rate * math.cos(nod)]
    return orientation, np.array([rate])


def orientation_error(dt: float, share: float) -> float:
    start, start_rate, end, end_rate = (row[0] for t in (0.5, 0.5 + dt) for row in tumble(t))
    found = hermite_orientation(Quat(*start), Vec3(*start_rate), Quat(*end), Vec3(*end_rate), share, dt)
    between = np.array([found[k] for k in range(4)])
    true = tumble(0.5 + share * dt)[0]
    return float(np.linalg.norm(between - math.copysign(1.0, float(np.sum(between * true))) * true))


def test_orientation_between_is_of_fourth_order() -> None:
    """The rotation vector's rate at the end would be wrong: errors would only fall with the third power."""
    errors = [orientation_error(dt, 0.5) for dt in (0.1, 0.05, 0.025)]
    ratios = np.array(errors[:-1]) / errors[1:]
    assert errors[0] < 1e-3
    assert np.all((ratios > 13) & (ratios < 19))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_orientation_meets_both_ends(share: float) -> None:
    """The orientation of a known instant would be changed."""
    assert orientation_error(0.1, share) < 1e-15
