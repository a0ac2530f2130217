import math
from itertools import pairwise

import numpy as np
import pytest

from pegasus.control import trajectories
from pegasus.errors import ConfigError

POINTS = ((0.0, 0.0, 1.0), (5.0, 0.0, 2.0), (5.0, 6.0, 2.0), (-1.0, 4.0, 3.0))


@pytest.mark.parametrize("stop", [False, True])
@pytest.mark.parametrize("yaw", [None, 0.4, "forward"])
def test_derivatives_are_exact(stop, yaw, oracle):
    """If this fails, feed-forward pulls the vehicle off the path."""
    oracle.assert_exact_derivatives(trajectories.waypoints(POINTS, stop=stop, yaw=yaw), tolerance=1e-5)


@pytest.mark.parametrize("stop", [False, True])
def test_passes_all_points_within_the_limits(stop, oracle):
    """If this fails, a point is missed, or the way there is flown too fast or too hard."""
    path = trajectories.waypoints(POINTS, speed=3.0, acceleration=1.5, stop=stop)
    motion = oracle.samples(path, 20001)
    for point in POINTS:
        assert np.linalg.norm(motion[:, 0] - point, axis=1).min() < 2e-3
    np.testing.assert_allclose(motion[[0, -1], 0], [POINTS[0], POINTS[-1]], atol=1e-9)
    np.testing.assert_allclose(motion[[0, -1], 1:], 0.0, atol=1e-6)
    speed, acceleration = np.linalg.norm(motion[:, 1:3], axis=2).max(axis=0)
    assert speed <= 3.0 + 1e-9
    assert acceleration <= 1.5 + 1e-9
    # One of the two limits is used up.
    assert max(speed / 3.0, acceleration / 1.5) > 0.995


def test_stopping_flies_straight(oracle):
    """If this fails, the path between two points cuts corners."""
    path = trajectories.waypoints(POINTS, stop=True)
    length = np.linalg.norm(np.diff(oracle.samples(path)[:, 0], axis=0), axis=1).sum()
    assert length == pytest.approx(sum(math.dist(a, b) for a, b in pairwise(POINTS)), rel=1e-3)


def test_passing_through_does_not_stop(oracle):
    """If this fails, the smooth path has needless stops."""
    motion = oracle.samples(trajectories.waypoints(POINTS), 2001)
    for point in POINTS[1:-1]:
        nearest = np.linalg.norm(motion[:, 0] - point, axis=1).argmin()
        assert np.linalg.norm(motion[nearest, 1]) > 0.5


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (((0, 0, 1),), "points = ((0, 0, 1),): must hold at least two points"),
        (((0, 0, 1), (0, 0, 1)), "points.1 = (0, 0, 1): must differ from the point before it"),
        (
            ((0, 0, 1), (math.nan, 0, 1)),
            "points.1 = (nan, 0, 1): must be three finite numbers",
        ),
        (
            ((0, 0, 1), (1, 0, -0.1)),
            "points.1 = (1, 0, -0.1): lies below the ground, z = 0 m; "
            "raise it, or set ground to the lowest height of the world's terrain",
        ),
    ],
)
def test_bad_points_are_named(points, message):
    """If this fails, the spline blows up instead of saying which point is wrong."""
    with pytest.raises(ConfigError) as caught:
        trajectories.waypoints(points)
    assert str(caught.value) == message


def test_ground_may_lie_lower():
    """If this fails, nothing can be flown in a valley below the world's origin."""
    assert trajectories.waypoints(((0, 0, 1), (1, 0, -3)), ground=-5.0).duration > 0
