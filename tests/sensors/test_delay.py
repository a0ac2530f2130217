"""What was: interpolation against closed forms, and a memory that does not grow."""

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.frames import multiply, quaternion_from_rotation_vector, rotation_vector_from_quaternion
from pegasus.sensors.delay import (
    History,
    hermite,
    hermite_orientation,
)
from pegasus.state import VehicleState


def test_formulas_follow_the_array_api() -> None:
    """The formulas would be bound to NumPy."""
    rng = np.random.default_rng(3)
    quaternions = quaternion_from_rotation_vector(rng.normal(size=(2, 5, 3)))
    rates = rng.normal(size=(2, 5, 3))
    x = array_api_strict.asarray
    for plain, strict in (
        (rotation_vector_from_quaternion(quaternions), rotation_vector_from_quaternion(x(quaternions))),
        (
            hermite_orientation(quaternions[0], rates[0], quaternions[1], rates[1], share=0.3, dt=0.1),
            hermite_orientation(
                *(x(a) for a in (quaternions[0], rates[0], quaternions[1], rates[1])), share=0.3, dt=0.1
            ),
        ),
    ):
        assert_allclose(np.asarray(strict), plain, atol=1e-14)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 1.0])
def test_cubics_are_met_exactly(share: float) -> None:
    """The polynomials of the interpolation would be wrong somewhere."""
    cubic = np.polynomial.Polynomial([1.0, -2.0, 0.5, 3.0])
    rate = cubic.deriv()
    ends = (np.array([f(t)]) for t in (0.4, 1.1) for f in (cubic, rate))
    assert hermite(*ends, share=share, dt=0.7)[0] == pytest.approx(cubic(0.4 + 0.7 * share), rel=1e-14)


def tumble(t: float) -> tuple[Any, Any]:
    """A cone that turns as it nods: orientation, and angular velocity in the body frame."""
    spin, nod = 2.0 * t + 1.5 * t * t, 0.8 * math.sin(3.0 * t)
    spin_rate, nod_rate = 2.0 + 3.0 * t, 2.4 * math.cos(3.0 * t)
    first = quaternion_from_rotation_vector(np.array([[0.0, 0.0, spin]]))
    orientation = multiply(first, quaternion_from_rotation_vector(np.array([[nod, 0.0, 0.0]])))
    rate = [nod_rate, spin_rate * math.sin(nod), spin_rate * math.cos(nod)]
    return orientation, np.array([rate])


def orientation_error(dt: float, share: float) -> float:
    start, end = tumble(0.5), tumble(0.5 + dt)
    between = hermite_orientation(*start, *end, share=share, dt=dt)
    true = tumble(0.5 + share * dt)[0]
    return float(np.linalg.norm(between - math.copysign(1.0, float(np.sum(between * true))) * true))


def test_orientation_between_is_of_fourth_order() -> None:
    """The rate at the end would not be the rotation vector's: errors would fall with the third power."""
    errors = [orientation_error(dt, 0.5) for dt in (0.1, 0.05, 0.025)]
    ratios = np.array(errors[:-1]) / errors[1:]
    assert errors[0] < 1e-3
    assert np.all((ratios > 13) & (ratios < 19))


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_orientation_meets_both_ends(share: float) -> None:
    """An instant that was seen would be told otherwise."""
    assert orientation_error(0.1, share) < 1e-15


def test_an_instant_between_is_interpolated_and_older_ones_are_forgotten() -> None:
    """The wrong pair of moments would be taken, or memory grow with time."""
    history, state = History(), VehicleState.at_rest(2, 4)
    for k in range(50):
        t = k / 10
        state.position[:] = [[t**3, 0.0, 1.0], [0.0, -t, t * t]]
        state.velocity[:] = [[3 * t * t, 0.0, 0.0], [0.0, -1.0, 2 * t]]
        state.angular_velocity[:, 0] = t
        history.add(t, state)
        instant = history.at(t - 0.25)
        then = max(t - 0.25, 0.0)
        position, velocity = instant.translation()
        assert instant.time == pytest.approx(then, abs=1e-15)
        assert_allclose(position, [[then**3, 0.0, 1.0], [0.0, -then, then * then]], atol=1e-12)
        assert_allclose(velocity[1], [0.0, -1.0, 2 * then], atol=1e-12)
        assert_allclose(instant.rotation()[1][:, 0], then, atol=1e-12)
        assert len(history) <= 4


def test_the_present_is_given_as_it_is() -> None:
    """Without latency, rounding would change the state; or the live state be kept in place of a copy."""
    history, state = History(), VehicleState.at_rest(1, 4)
    rng = np.random.default_rng(1)
    for t in (0.0, 0.1, 0.3):
        state.position[:], state.velocity[:] = rng.normal(size=(2, 1, 3))
        state.orientation[:] = quaternion_from_rotation_vector(rng.normal(size=(1, 3)))
        history.add(t, state)
        instant = history.at(t)
        expected = state.copy()
        state.position += 7.0
        state.orientation[:] = (0.0, 0.0, 0.0, 1.0)
        assert instant.time == t
        assert np.array_equal(instant.translation()[0], expected.position)
        assert np.array_equal(instant.rotation()[0], expected.orientation)
        assert len(history) == 1
