"""Tests of the search for the quickest trajectory under limits."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.control.trajectories.limits import GRAVITY, Limits
from pegasus.control.trajectories.quickest import log_flight_time, minimize

LIMITS = Limits(speed=5.0, thrust=1.5, least_thrust=0.3, tilt=0.8, jerk=30.0)


def violation(velocity, acceleration, jerk, limits):
    """Return by how much the worst limit is exceeded, in units of its own; negative inside."""
    force = acceleration / GRAVITY + [0.0, 0.0, 1.0]
    return np.max(
        [
            np.linalg.norm(velocity, axis=-1) / limits.speed - 1.0,
            np.linalg.norm(force, axis=-1) / limits.thrust - 1.0,
            limits.least_thrust - force[..., 2],
            np.hypot(force[..., 0], force[..., 1]) - np.tan(limits.tilt) * force[..., 2],
            np.linalg.norm(jerk, axis=-1) / limits.jerk - 1.0,
        ],
        axis=0,
    )


def test_slowdown_is_exact():
    """If this fails, flights are slower than they need be, or break a limit."""
    rng = np.random.default_rng(1)
    motion = [scale * rng.normal(size=(500, 3)) for scale in (4.0, 15.0, 40.0)]
    k = LIMITS.slowdown(*motion)[0][:, None]
    for more in (1.0, 1.01, 1.5, 10.0):
        stretched = [part / (more * k) ** order for order, part in enumerate(motion, 1)]
        worst = violation(*stretched, LIMITS)
        if more == 1.0:
            np.testing.assert_allclose(worst, 0.0, atol=1e-9)
        else:
            assert (worst < 0).all()


@pytest.mark.parametrize("case", ["open", "closed", "velocity", "penalty"])
def test_slopes_are_exact(case):
    """If this fails, the search walks in a wrong direction and stops early."""
    rng = np.random.default_rng(0)
    points, durations = rng.normal(size=(6, 3)) * 4, rng.uniform(0.5, 2, 5)
    moved = np.eye(18).reshape(18, 6, 3)
    options = {}
    if case == "closed":
        options = {"closed": True}
        points[-1] = points[0]
        moved[:3, 5] = moved[:3, 0]
        moved = moved[:15]
    if case == "velocity":
        options = {"velocities": {2: np.array([1.0, 2.0, 0.0])}}
    if case == "penalty":
        options = {"penalty": lambda states: (1e-6 * float((states**2).sum()), 2e-6 * states)}

    def value(points, durations):
        return log_flight_time(points, durations, limits=LIMITS, sharpness=30, **options)[0]

    h = 1e-6
    _, by_points, by_duration = log_flight_time(points, durations, limits=LIMITS, sharpness=30, **options)
    times = [
        (value(points, durations + h * e) - value(points, durations - h * e)) / (2 * h) for e in np.eye(5)
    ]
    places = [(value(points + h * e, durations) - value(points - h * e, durations)) / (2 * h) for e in moved]
    np.testing.assert_allclose(by_duration, times, atol=1e-6)
    np.testing.assert_allclose(by_points.ravel()[: len(moved)], places, atol=1e-6)


def test_minimize_finds_a_minimum():
    """If this fails, quick flights are not quick."""

    def rosenbrock(x, sharpness):
        a, b = 1.0 - x[0], sharpness * (x[1] - x[0] ** 2)
        return a * a + 100 * b * b, np.array([-2 * a - 400 * sharpness * b * x[0], 200 * sharpness * b])

    found = minimize(rosenbrock, np.array([-1.2, 1.0]), iterations=200, sharpnesses=(1,))
    np.testing.assert_allclose(found, 1.0, atol=1e-3)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(0.0, 1.5, 0.3, 0.8, 30.0), "speed = 0.0: must be above 0 m/s"),
        (Limits(5.0, 1.0, 0.3, 0.8, 30.0), "thrust = 1.0: must be above 1, the weight itself"),
        (
            Limits(5.0, 1.5, 1.0, 0.8, 30.0),
            "least_thrust = 1.0: must be at least 0 and below 1, the weight itself",
        ),
        (Limits(5.0, 1.5, 0.3, 1.6, 30.0), "tilt = 1.6: must be above 0 and at most 1.4 rad (80 degrees)"),
        (Limits(5.0, 1.5, 0.3, 0.8, 0.0), "jerk = 0.0: must be above 0 m/s^3"),
    ],
)
def test_bad_limits_are_named(limits, message):
    """If this fails, limits that allow no flight give NaN."""
    with pytest.raises(ConfigError) as caught:
        limits.check()
    assert str(caught.value) == message
