"""Tests of trajectories from functions of time, and of derivatives that are found from positions."""

import math

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.contracts.path_derivatives import path_motion
from pegasus.control import GeometricController, trajectories
from pegasus.control.trajectories import Point, Trajectory

RADIUS = 3.0


def circle(t):
    return RADIUS * math.cos(t), RADIUS * math.sin(t), 2.0


class Bare(Trajectory):
    """Custom circle whose points have a position only."""

    duration = 20.0

    def sample(self, t):
        return Point(circle(t))


class Exact(Bare):
    """The same with its derivatives."""

    def sample(self, t):
        x, y, z = circle(t)
        return Point((x, y, z), velocity=(-y, x, 0.0), acceleration=(-x, -y, 0.0), jerk=(y, -x, 0.0))


class Frozen(Bare):
    """The same with derivatives of zero, which are the user's word."""

    def sample(self, t):
        return Point(circle(t), velocity=(0.0, 0.0, 0.0), acceleration=(0.0, 0.0, 0.0), jerk=(0.0, 0.0, 0.0))


def worst_error(trajectory):
    errors = []
    with Simulation("flat") as sim:
        controller = GeometricController(trajectory, relative=False, spin_up=0.2)
        iris = sim.add(Multirotor("iris", position=(RADIUS, 0.0, 0.1), backends=[controller]))
        for t in sim.stepping(18.0):
            if t > 10.0:
                errors.append(np.linalg.norm(iris.position[0] - controller.reference.position[0]))
    return max(errors)


def test_paths_without_derivatives_are_followed_as_well_as_exact_ones():
    """If this fails, zero derivatives of a bare path are fed forward, and the vehicle lags far behind.

    At 3 m/s drag, which the controller does not know, holds it 0.13 m off also the exact circle.
    """
    exact = worst_error(Exact())
    assert exact < 0.15
    for trajectory in (circle, Bare()):
        assert abs(worst_error(trajectory) - exact) < 1e-4


def test_given_derivatives_are_kept():
    """If this fails, derivatives of a user are replaced; or the test above cannot fail."""
    assert worst_error(Frozen()) > 0.5


@pytest.mark.parametrize(("frequency", "inner", "ends"), [(1.0, 1e-7, 1e-5), (2.0, 1e-5, 1e-3)])
def test_derivatives_are_as_exact_as_documented(frequency, inner, ends):
    """If this fails, the documented accuracy of derivatives does not hold."""
    w, times = 2.0 * math.pi * frequency, np.arange(0.0, 5.0, 0.0037)
    motion = path_motion(lambda t: np.sin(w * t)[:, None], times, 5.0)[:, :, 0]
    exact = np.stack([np.sin(w * times + k * math.pi / 2) * w**k for k in range(4)], axis=1)
    errors = np.abs(motion - exact) / w ** np.arange(4)
    assert errors.max() < ends
    assert errors[40:-40].max() < inner


def test_the_path_is_called_between_its_ends_only():
    """If this fails, a function such as a square root is called where it is not defined."""
    called = []

    def path(t):
        called.append(t)
        return math.sqrt(t), math.sqrt(3.0 - t), 1.0

    trajectories.function(path, duration=3.0).samples(np.linspace(0.0, 3.0, 50))
    assert min(called) >= 0.0
    assert max(called) <= 3.0


def test_steps_are_not_fed_forward():
    """If this fails, a setpoint that jumps gives velocities of many metres per second."""
    points, _ = trajectories.function(lambda t: (float(t >= 1.0), 0.0, 2.0)).samples(
        np.arange(0.8, 1.2, 0.01)
    )
    assert not points[:, 3:12].any()


def test_a_short_path_has_its_derivatives():
    """If this fails, a path shorter than nine nodes reads beyond its end."""
    points, _ = trajectories.function(lambda t: (t * t, t, 2.0), duration=0.05).samples(np.array([0.0, 0.05]))
    np.testing.assert_allclose(points[:, 3:5], [[0.0, 1.0], [0.1, 1.0]], atol=1e-9)
    np.testing.assert_allclose(points[:, 6], 2.0, atol=1e-6)


def test_a_heading_has_its_rate_also_where_it_wraps():
    """If this fails, a heading that jumps by a whole turn gives a huge yaw rate."""
    path = trajectories.function(lambda t: (0.0, 0.0, 2.0, math.remainder(t, 2.0 * math.pi)))
    points, _ = path.samples(np.arange(2.5, 4.0, 0.05))
    np.testing.assert_allclose(points[:, 13], 1.0, atol=1e-9)


@pytest.mark.parametrize("wrong", [lambda t: (t, 2.0), lambda t: (t, math.nan, 1.0), lambda: 0.0])
def test_a_function_of_another_kind_is_refused_at_the_door(wrong):
    """If this fails, a mistake in a function shows in flight, in words about arrays."""
    with pytest.raises(ConfigError, match="three or four"):
        GeometricController(wrong)
