"""Tests of septic splines against SciPy and closed forms."""

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from pegasus.control.trajectories.spline import Spline, bridge

POINTS = np.array([[0, 0, 1], [4, 1, 2], [5, 5, 2.5], [-1, 4, 1], [0, 0, 3]], dtype=float)
DURATIONS = np.array([2.0, 1.5, 4.0, 3.0])


def test_matches_the_septic_spline_of_scipy():
    """If this fails, the path through the waypoints is not the one of minimum snap."""
    rest = [(k, np.zeros(3)) for k in (1, 2, 3)]
    knots = np.concatenate([[0.0], np.cumsum(DURATIONS)])
    expected = make_interp_spline(knots, POINTS, k=7, bc_type=(rest, rest))
    spline = Spline(POINTS, DURATIONS)
    for t in np.linspace(0.0, knots[-1], 97):
        for k, row in enumerate(spline.at(t)):
            np.testing.assert_allclose(row, expected.derivative(k)(t) if k else expected(t), atol=1e-8)


def test_one_piece_from_rest_to_rest_is_the_known_polynomial():
    """If this fails, end conditions or the scaling by time are wrong."""
    spline = Spline([[0, 0, 0], [2, -1, 3]], [4.0])
    for x in (0.0, 0.2, 0.5, 0.9, 1.0):
        share = 35 * x**4 - 84 * x**5 + 70 * x**6 - 20 * x**7
        np.testing.assert_allclose(spline.at(4.0 * x)[0], share * np.array([2, -1, 3]), atol=1e-12)
    # Largest slope 35/16 and largest second derivative 84 sqrt(5) / 25 of that polynomial.
    length = np.sqrt(14.0)
    assert spline.peaks() == pytest.approx((35 / 16 * length / 4, 84 * 5**0.5 / 25 * length / 16), rel=1e-4)


def test_meets_moving_ends():
    """If this fails, a transfer to a trajectory that begins in motion makes the reference jump."""
    start, end = np.array([[1, 2, 3], [0.5, 0, -1], [0, 1, 0]]), np.array([[0, 2, 0], [1, 0, 0], [0, 0, 2]])
    spline = Spline([[0, 0, 1], [3, 1, 2]], [1.7], start=start, end=end)
    np.testing.assert_allclose(spline.at(0.0), [[0, 0, 1], *start], atol=1e-9)
    np.testing.assert_allclose(spline.at(1.7), [[3, 1, 2], *end], atol=1e-9)


def test_bridge_keeps_to_the_limits_where_that_is_possible():
    """If this fails, transfers are flown faster or harder than allowed."""
    here, there = [[0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]], [[6, 2, 2], [1, 0, 0], [0, 0.5, 0], [0, 0, 0]]
    spline = bridge(here, there, speed=2.0, acceleration=2.0)
    speed, acceleration = spline.peaks()
    assert speed <= 2.0 + 1e-6
    assert acceleration <= 2.0 + 1e-6
    np.testing.assert_allclose(spline.at(spline.duration), there, atol=1e-9)


def snap_cost(spline):
    """Return the integral of squared snap by the trapezoidal rule, from differences of the jerk."""
    t = np.linspace(0.0, spline.duration, 4001)
    jerk = np.array([spline.at(x)[3] for x in t])
    return float((np.diff(jerk, axis=0) ** 2).sum() / (t[1] - t[0]))


def test_a_given_velocity_costs_the_least_snap():
    """If this fails, a velocity at a point is met by a rougher curve than needed."""
    velocity = np.array([1.0, 2.0, 0.0])
    spline = Spline(POINTS, DURATIONS, velocities={2: velocity})
    np.testing.assert_allclose(spline.at(3.5)[1], velocity, atol=1e-9)

    def two_halves(x):
        """Join two free curves at the same velocity, and any acceleration and jerk."""
        there = np.stack([velocity, x[:3], x[3:]])
        first = Spline(POINTS[:3], DURATIONS[:2], end=there)
        return snap_cost(first) + snap_cost(Spline(POINTS[2:], DURATIONS[2:], start=there))

    best = two_halves(np.ravel(spline.at(3.5)[2:]))
    assert best == pytest.approx(snap_cost(spline), rel=1e-2)
    rng = np.random.default_rng(4)
    for change in 0.3 * rng.normal(size=(6, 6)):
        assert two_halves(np.ravel(spline.at(3.5)[2:]) + change) > best


def test_free_ends_are_natural():
    """If this fails, a table of positions that begins in motion is bent to rest at its ends."""
    knots = np.concatenate([[0.0], np.cumsum(DURATIONS)])
    natural = [(k, np.zeros(3)) for k in (4, 5, 6)]
    expected = make_interp_spline(knots, POINTS, k=7, bc_type=(natural, natural))
    spline = Spline(POINTS, DURATIONS, free_ends=True)
    for t in np.linspace(0.0, knots[-1], 61):
        np.testing.assert_allclose(spline.at(t)[:2], [expected(t), expected(t, 1)], atol=1e-7)
