"""Tests of paths through points: the polynomials between them, and the times before and after."""

import numpy as np
import pytest

from pegasus.backends.ros2.demand import CommandedPath, PathPoint, hermite_coefficients


@pytest.mark.parametrize("degree", [1, 3, 5])
def test_a_polynomial_is_found_again_from_its_ends(degree):
    """A segment would miss the position, velocity or acceleration at its ends."""
    rng = np.random.default_rng(degree)
    curve = [np.polynomial.Polynomial(rng.normal(size=degree + 1)) for _ in range(3)]
    duration = 1.7
    ends = [
        np.array([[c.deriv(d)(t) if d else c(t) for c in curve] for d in range((degree + 1) // 2)])
        for t in (0.0, duration)
    ]
    found = hermite_coefficients(*ends, duration)
    np.testing.assert_allclose(found[: degree + 1], np.stack([c.coef for c in curve], axis=1), atol=1e-10)
    assert not found[degree + 1 :].any()


def test_derivatives_are_those_of_the_position():
    """Wrong feed-forward derivatives would push the vehicle off its path."""
    points = [
        PathPoint(0.0, (0, 0, 1), 0.0, (1, 0, 0), (0, 0, 0)),
        PathPoint(2.0, (2, 1, 2), 1.0, (0, 1, 0), (0.5, 0, 0)),
        PathPoint(3.0, (2, 3, 2), 1.5, (0, 0, 0), (0, 0, 0)),
    ]
    path, h = CommandedPath(points), 1e-4
    for t in (0.3, 1.2, 2.5):
        before, here, after = (path.at(t + k * h) for k in (-1, 0, 1))
        slope = (after.motion[:3] - before.motion[:3]) / (2 * h)
        np.testing.assert_allclose(here.motion[1:], slope, atol=1e-5)
        assert here.yaw_rate == pytest.approx((after.yaw - before.yaw) / (2 * h))
    for point in points[:-1]:
        state = path.at(point.time)
        np.testing.assert_allclose(
            state.motion[:3], [point.position, point.velocity, point.acceleration], atol=1e-9
        )


def test_positions_alone_are_joined_by_lines():
    """Points without velocities would be given invented ones."""
    path = CommandedPath([PathPoint(1.0, (0, 0, 0), 0.0), PathPoint(3.0, (4, 0, 2), 0.0, (9, 9, 9))])
    np.testing.assert_allclose(path.at(2.0).motion, [[2, 0, 1], [2, 0, 1], [0, 0, 0], [0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(path.at(0.5).motion[0], 0.0)


def test_it_waits_at_its_beginning():
    """A vehicle that waits for its path to begin would get the first segment's velocity."""
    path = CommandedPath([PathPoint(1.0, (1, 2, 3), 0.5), PathPoint(2.0, (5, 2, 3), 1.5)])
    before = path.at(0.9)
    np.testing.assert_array_equal(before.motion, [[1, 2, 3], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert (before.yaw, before.yaw_rate) == (0.5, 0.0)
    np.testing.assert_allclose(path.at(1.0).motion[1], [4, 0, 0])


def test_it_stays_at_its_end():
    """The polynomial would be extrapolated beyond the last point."""
    path = CommandedPath([PathPoint(0.0, (0, 0, 0), 0.0), PathPoint(1.0, (1, 0, 0), 0.5)])
    end = path.at(1.0)
    np.testing.assert_array_equal(end.motion, [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert (end.yaw, end.yaw_rate, path.duration) == (0.5, 0.0, 1.0)


def test_headings_turn_the_short_way():
    """A turn from 170 to -170 degrees would go through 340 degrees."""
    path = CommandedPath(
        [PathPoint(0.0, (0, 0, 0), np.radians(170)), PathPoint(1.0, (1, 0, 0), np.radians(-170))]
    )
    assert path.at(0.5).yaw == pytest.approx(np.pi)


def test_the_highest_speed_and_turn_of_a_path():
    """A path would be refused or flown by the speed between its ends, not by that within a piece."""
    still = (0.0, 0.0, 0.0)
    ends = [PathPoint(0.0, (0, 0, 0), 0.0, still, still), PathPoint(2.0, (4, 0, 0), 1.0, still, still)]
    # A quintic from rest to rest is fastest at its middle, at 15/8 of its mean speed.
    assert CommandedPath(ends).peaks() == pytest.approx((15 / 8 * 2.0, 0.5))
    assert CommandedPath(ends[:1]).peaks() == (0.0, 0.0)
