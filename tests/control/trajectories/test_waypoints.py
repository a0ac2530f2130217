"""Tests of trajectories through waypoints under limits."""

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories
from pegasus.control.trajectories.quickest import paced
from pegasus.control.trajectories.spline import Spline

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


def heart(count):
    """Return points of a heart of 30 m, from its notch and back, at even steps of the curve's parameter."""

    def curve(t):
        y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
        return np.stack([16 * np.sin(t) ** 3, y], axis=1)

    length = np.linalg.norm(np.diff(curve(np.linspace(0, 2 * math.pi, 20001)), axis=0), axis=1).sum()
    places = 30.0 / length * curve(np.linspace(0, 2 * math.pi, count))
    return tuple((float(x), float(y) + 5.0, 3.0) for x, y in places)


@pytest.fixture(scope="module")
def hearts():
    """The same heart through 9, 33, 129 and 513 points."""
    return {count: trajectories.waypoints(heart(count), speed=3.0) for count in (9, 33, 129, 513)}


@pytest.mark.parametrize("count", [9, 33, 129, 513])
def test_any_number_of_points_is_flown_within_the_limits(hearts, count):
    """If this fails, a path of many points breaks the limits between them, or misses some of them."""
    path = hearts[count]
    spline = path._spline
    motion = spline.on_grid(101).reshape(-1, 4, 3)
    speed, acceleration = np.linalg.norm(motion[:, 1:3], axis=2).max(axis=0)
    assert speed <= 3.0
    assert acceleration <= 2.0
    assert max(speed / 3.0, acceleration / 2.0) > 0.995
    for point, t in zip(path.points, [*spline.starts, spline.duration], strict=True):
        np.testing.assert_allclose(path.sample(t).position, point, atol=1e-9)
    for t in spline.starts[1:]:
        before, after = (np.array(path.sample(t + step).motion) for step in (-1e-9, 1e-9))
        np.testing.assert_allclose(before, after, atol=1e-5)
    np.testing.assert_allclose(motion[[0, -1], 1:], 0.0, atol=1e-6)


def test_the_time_depends_little_on_the_number_of_points(hearts):
    """If this fails, a path is flown slower the more points describe it: 27 s with 9, 430 s with 129."""
    times = [path.duration for path in hearts.values()]
    # Nine points are 3.7 m apart, too few to brake as late as possible before the heart's two corners.
    assert max(times) < 1.15 * min(times)
    assert max(times[1:]) < 1.04 * min(times[1:])
    # At 3 m/s throughout it would take 10 s; from a stop and to one, and around the tip, 15.
    assert max(times) < 17.5


def test_jerk_does_not_grow_with_the_number_of_points(hearts):
    """If this fails, a path of many points is flown in jolts."""
    jerk = {n: np.linalg.norm(h._spline.on_grid(101)[:, :, 3], axis=-1).max() for n, h in hearts.items()}
    assert max(jerk.values()) < 1.1 * 10.0 * 2.0**2 / 3.0


def test_a_thousand_points_take_hardly_longer():
    """If this fails, a path out of another program's fine grid is flown at a crawl."""
    path = trajectories.waypoints(heart(1025), speed=3.0)
    speed, acceleration = np.linalg.norm(path._spline.on_grid(51)[:, :, 1:3], axis=-1).max(axis=(0, 1))
    assert speed <= 3.0
    assert acceleration <= 2.0
    assert path.duration < 18.0


def test_a_straight_leg_is_the_septic_from_rest_to_rest():
    """If this fails, the simplest path of all is flown slower or faster than its limits ask (35/16 d / T)."""
    assert trajectories.waypoints(((0, 0, 1), (30, 0, 1)), speed=3.0).duration == pytest.approx(
        35 / 16 * 30 / 3, rel=1e-3
    )
    # A short one is limited by its acceleration, 84 sqrt(5) / 25 d / T^2.
    assert trajectories.waypoints(((0, 0, 1), (0.5, 0, 1))).duration == pytest.approx(
        math.sqrt(84 * 5**0.5 / 25 * 0.5 / 2.0), rel=1e-3
    )


@pytest.mark.parametrize(
    "points", [((0, 0, 1), (4, 0, 1)) * 80, ((0, 0, 1), (0, 0, 2), (0.01, 0, 1), (9, 0, 1)) * 40]
)
def test_paths_that_turn_back_again_and_again(points):
    """If this fails, leaving out every other point of a long path leaves a path of no length."""
    path = trajectories.waypoints(points, ground=-5.0)
    speed, acceleration = np.linalg.norm(path._spline.on_grid(51)[:, :, 1:3], axis=-1).max(axis=(0, 1))
    assert speed <= 2.0
    assert acceleration <= 2.0
    assert path.duration < 6.0 * len(points)


def test_legs_of_very_different_length():
    """If this fails, rounding in the times' equations breaks a limit where a long leg meets a short one."""
    path = trajectories.waypoints(((0, 0, 1), (1000, 0, 1), (1001, 0, 1), (2000, 0, 1)))
    speed, acceleration = np.linalg.norm(path._spline.on_grid(101)[:, :, 1:3], axis=-1).max(axis=(0, 1))
    assert speed <= 2.0
    assert acceleration <= 2.0
    assert path.duration < 2.2 * 2000 / 2.0


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
        (5, "points = 5: must hold at least two points"),
        (((0, 0, 1), (1e200, 0, 1)), "points.1 = (1e+200, 0, 1): must lie within 1e+07 m of the origin"),
        ((1, 2, 3), "points.0 = 1: must be three finite numbers"),
        (((0, 0, 1), ("1", 0, 1)), "points.1 = ('1', 0, 1): must be three finite numbers"),
        (((0, 0, 1), (0, 0, 1)), "points.1 = (0, 0, 1): must differ from the point before it"),
        (
            ((0, 0, 1), (math.nan, 0, 1)),
            "points.1 = (nan, 0, 1): must be three finite numbers",
        ),
        (
            ((0, 0, 1), (1, 0, -0.1)),
            "points.1 = (1, 0, -0.1): is below the ground, z = 0 m; "
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


@pytest.mark.parametrize(
    ("plan", "points", "figure"),
    [
        (
            partial(trajectories.minimum_snap, speed=10.0, thrust=2.0),
            ((0, 0, 3.5), (0, 0, 0.8), (9, 5, 1.2)),
            "z = -0.266 m",
        ),
        (trajectories.minimum_snap, ((0, 0, 3.5), (0, 0, 0.8), (9, 5, 1.2)), "z = -1.58 m"),
        (trajectories.waypoints, ((0, 0, 3.5), (0, 0, 0.3), (9, 5, 0.5)), "z = -2.35 m"),
    ],
)
def test_a_path_below_the_ground_between_points(plan, points, figure):
    """If this fails, a path whose points are all above the ground is flown into it."""
    with pytest.raises(ConfigError, match=r"points\.1 = .*: the path to the next point sinks to") as caught:
        plan(points)
    assert figure in str(caught.value)
    assert plan(points, ground=-3.0).duration > 1.0
    # A straight line down to the ground is not below it.
    assert plan(((0, 0, 2), (0, 0, 0))).duration > 1.0


def test_minimum_snap_takes_the_least_time():
    """If this fails, a path is flown slower than its limits ask: scan of all shares of its two pieces."""
    points = np.array(((0, 0, 3.5), (0, 0, 0.8), (9, 5, 1.2)))
    path = trajectories.minimum_snap(points.tolist(), ground=-5.0)
    shares = np.linspace(0.1, 0.7, 121)
    times = [paced(Spline(points, [share, 1.0 - share]), path._limits).duration for share in shares]
    assert path.duration == pytest.approx(min(times), rel=1e-3)
