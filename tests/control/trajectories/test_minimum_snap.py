"""Tests of minimum-snap trajectories under limits."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline
from scipy.optimize import minimize

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories
from pegasus.control.trajectories.limits import GRAVITY, Limits
from pegasus.control.trajectories.quickest import slowdown_of
from pegasus.control.trajectories.spline import Spline

POINTS = ((0.0, 0.0, 1.0), (5.0, 0.0, 2.0), (5.0, 6.0, 2.0), (-1.0, 4.0, 3.0), (0.0, 0.0, 1.5))
PASSING = (None, (1.0, 3.0, 0.0), None, (0.0, -3.0, 0.0), None)
CASES = [
    {},
    {"closed": True},
    {"velocities": PASSING},
    {"speed": 2.0},
    {"thrust": 2.2, "tilt": 1.1, "speed": 20.0},
    {"jerk": 8.0},
]


@pytest.mark.parametrize("case", CASES)
def test_keeps_to_its_limits_and_uses_them(case, oracle):
    """If this fails, a vehicle is asked for more than its rotors give, or for less than it could."""
    flight = trajectories.minimum_snap(POINTS, **case)
    motion = oracle.samples(flight, 20001)
    force = motion[:, 2] / GRAVITY + [0, 0, 1]
    level = np.hypot(force[:, 0], force[:, 1])
    used = [
        np.linalg.norm(motion[:, 1], axis=1).max() / flight.speed,
        np.linalg.norm(force, axis=1).max() / flight.thrust,
        np.arctan2(level, force[:, 2]).max() / flight.tilt,
        np.linalg.norm(motion[:, 3], axis=1).max() / flight.jerk,
    ]
    assert max(used) <= 1.0
    assert force[:, 2].min() >= flight.least_thrust
    assert max(used) > 0.98 or force[:, 2].min() < 1.02 * flight.least_thrust


@pytest.mark.parametrize(
    "case", [*CASES, {"yaw": "forward"}, {"closed": True, "yaw": "forward", "laps": 2.0}]
)
def test_derivatives_are_exact(case, oracle):
    """If this fails, feed-forward pulls the vehicle off the path."""
    oracle.assert_exact_derivatives(trajectories.minimum_snap(POINTS, **case), tolerance=1e-4)


def test_passes_points_at_the_given_velocities(oracle):
    """If this fails, a point is missed, or passed otherwise than asked."""
    flight = trajectories.minimum_snap(POINTS, velocities=PASSING)
    motion = oracle.samples(flight, 40001)
    for point, velocity in zip(POINTS, PASSING, strict=True):
        nearest = np.linalg.norm(motion[:, 0] - point, axis=1).argmin()
        np.testing.assert_allclose(motion[nearest, 0], point, atol=1e-3)
        if velocity is not None:
            np.testing.assert_allclose(motion[nearest, 1], velocity, atol=3e-3)
    np.testing.assert_allclose(motion[[0, -1], 1:], 0.0, atol=1e-6)


@pytest.mark.parametrize("points", [((0, 0, 1), (6, 2, 3)), ((0, 0, 1), (3, 1, 2), (6, 2, 3)), POINTS[:3]])
@pytest.mark.parametrize("case", [{}, {"yaw": "forward"}])
def test_two_or_three_points_fly_from_rest_to_rest(points, case, oracle):
    """If this fails, the shortest flights of all end in an error, or break their limits."""
    flight = trajectories.minimum_snap(points, **case)
    motion = oracle.samples(flight, 4001)
    np.testing.assert_allclose(motion[[0, -1], 0], [points[0], points[-1]], atol=1e-9)
    np.testing.assert_allclose(motion[[0, -1], 1:], 0.0, atol=1e-6)
    for point in points:
        assert np.linalg.norm(motion[:, 0] - point, axis=1).min() < 5e-3
    limits = Limits(flight.speed, flight.thrust, flight.least_thrust, flight.tilt, flight.jerk)
    worst = limits.slowdown(motion[:, 1], motion[:, 2], motion[:, 3])[0].max()
    assert 0.998 < worst <= 1.0
    if points[1] != POINTS[1]:
        way = motion[:, 0] - points[0]
        np.testing.assert_allclose(np.cross(way, np.subtract(points[-1], points[0])), 0.0, atol=1e-8)


def test_times_are_the_best_that_another_search_finds():
    """If this fails, the flight takes longer than minimum snap under the limits must."""
    flight = trajectories.minimum_snap(POINTS)
    limits = Limits(flight.speed, flight.thrust, flight.least_thrust, flight.tilt, flight.jerk)

    def duration(logs):
        spline = Spline(POINTS, np.exp(logs))
        return spline.duration * slowdown_of(spline, limits)

    best = minimize(duration, np.zeros(4), method="Nelder-Mead", options={"maxiter": 400})
    assert flight.duration <= best.fun * 1.002
    chords = [math.dist(a, b) for a, b in pairwise(POINTS)]
    assert flight.duration < 0.95 * duration(np.log(chords))


def test_a_ring_is_the_periodic_spline_of_scipy():
    """If this fails, a lap does not meet itself, or is not the one of minimum snap."""
    flight = trajectories.minimum_snap(POINTS, closed=True, laps=3.0)
    spline = flight._spline
    times = np.array([*spline.starts, spline.duration])
    expected = make_interp_spline(times, np.array([*POINTS, POINTS[0]]), k=7, bc_type="periodic")
    for t in np.linspace(0.0, spline.duration, 61):
        np.testing.assert_allclose(flight.sample(t).position, expected(t), atol=1e-7)
        np.testing.assert_allclose(flight.sample(t + spline.duration).jerk, expected(t, 3), atol=1e-4)
    assert flight.duration == 3 * spline.duration


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"points": ((0, 0, 1),)}, "points = ((0, 0, 1),): must hold at least two points"),
        (
            {"points": ((0, 0, 1), (3, 0, -0.5))},
            "points.1 = (3, 0, -0.5): is below the ground, z = 0 m; "
            "raise it, or set ground to the lowest height of the world's terrain",
        ),
        ({"points": ((0, 0, 1), (0, 0, 1))}, "points.1 = (0, 0, 1): must differ from its neighbour"),
        ({"points": ((0, 0, 1), (math.nan, 0, 1))}, "points.1 = (nan, 0, 1): must be three finite numbers"),
        (
            {"points": ((0, 0, 1), (1, 0, 1)), "velocities": ((1, 0, 0), None)},
            "velocities.0 = (1, 0, 0): must be none: the ends are at rest, or free if closed",
        ),
        ({"velocities": (None,)}, "velocities = (None,): must hold one entry for each of the 5 points"),
        (
            {"velocities": ((1.0, 0.0, 0.0), None, None, None, None)},
            "velocities.0 = (1.0, 0.0, 0.0): must be none: the ends are at rest, or free if closed",
        ),
        (
            {"velocities": (None, (9.0, 0.0, 0.0), None, None, None)},
            "velocities.1 = (9.0, 0.0, 0.0): must not be faster than speed = 5 m/s",
        ),
        ({"laps": 2.0}, "laps = 2.0: must be 1 unless closed is set"),
        ({"yaw": "back"}, "yaw = 'back': must be an angle in radians, or \"forward\""),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    """If this fails, a mistake in a list of points shows up in the air."""
    with pytest.raises(ConfigError) as caught:
        trajectories.minimum_snap(**{"points": POINTS, **parameters})
    assert str(caught.value) == message


def test_velocities_that_cannot_be_met_are_refused():
    """If this fails, a flight that breaks its limits is flown."""
    points = ((0, 0, 1), (0.5, 0, 1), (1, 0, 1), (1.5, 0, 1))
    velocities = (None, (4.9, 0, 0), (-4.9, 0, 0), None)
    with pytest.raises(
        ConfigError, match="no flight through the points with these velocities keeps to the lim"
    ):
        trajectories.minimum_snap(points, velocities=velocities)
