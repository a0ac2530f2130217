"""Tests of geometric paths: square, circle and lemniscate."""

import math

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories

SHAPES = [
    trajectories.square(5.0, speed=2.0, laps=2, center=(1.0, -2.0)),
    trajectories.square(5.0, yaw="forward"),
    trajectories.circle(10.0, speed=4.0),
    trajectories.circle(2.0, height=1.5, speed=1.0, laps=2.5, center=(3.0, 1.0), yaw="forward"),
    trajectories.lemniscate(5.0, speed=3.0, yaw="forward"),
    trajectories.lemniscate(1.0, height=2.0, speed=1.0, laps=3, yaw=0.3),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_derivatives_are_exact(shape, oracle):
    """If this fails, feed-forward pulls the vehicle off the path."""
    oracle.assert_exact_derivatives(shape)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_begins_and_ends_at_rest_without_steps(shape, oracle):
    """If this fails, the vehicle is jerked at the beginning, the end, or in between."""
    motion = oracle.samples(shape, 8001)
    for end in (motion[0], motion[-1]):
        np.testing.assert_allclose(end[1:], 0.0, atol=1e-9)
    step = shape.duration / 8000
    for k in range(3):
        # What a derivative changes in a step is what the next one adds up to.
        grown = 0.5 * (motion[1:, k + 1] + motion[:-1, k + 1]) * step
        np.testing.assert_allclose(np.diff(motion[:, k], axis=0), grown, atol=2e-4)
    np.testing.assert_allclose(motion[:, 0, 2], shape.height, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_flies_at_its_speed(shape, oracle):
    """If this fails, the flown speed differs from the parameter `speed`."""
    speed = np.linalg.norm(oracle.samples(shape, 8001)[:, 1], axis=1)
    assert speed.max() <= shape.speed + 1e-9
    assert speed.max() == pytest.approx(shape.speed, rel=2e-3)


def test_square_has_its_side(oracle):
    """If this fails, a 5 m square does not measure 5 m."""
    square = trajectories.square(5.0, speed=2.0)
    points = oracle.samples(square, 4001)[:, 0]
    np.testing.assert_allclose(np.abs(points[:, :2]).max(axis=1), 2.5, atol=1e-9)
    assert np.abs(np.diff(points, axis=0)).sum() == pytest.approx(20.0, abs=1e-9)
    np.testing.assert_allclose(points[[0, -1]], [[-2.5, -2.5, 3.0]] * 2, atol=1e-12)
    corner = square.duration / 4
    np.testing.assert_allclose(square.sample(corner).position, [2.5, -2.5, 3.0], atol=1e-9)


def test_circle_has_its_radius(oracle):
    """If this fails, the circle does not have its radius."""
    circle = trajectories.circle(10.0, speed=4.0, center=(2.0, 1.0), laps=1)
    points = oracle.samples(circle, 1001)[:, 0]
    np.testing.assert_allclose(np.hypot(points[:, 0] - 2, points[:, 1] - 1), 10.0, rtol=1e-12)
    assert np.linalg.norm(np.diff(points, axis=0), axis=1).sum() == pytest.approx(20 * math.pi, rel=1e-4)
    cruise = circle.sample(circle.duration / 2)
    assert np.linalg.norm(cruise.acceleration) == pytest.approx(4.0**2 / 10.0)


def test_lemniscate_is_that_of_gerono(oracle):
    """If this fails, the figure of eight is bent."""
    eight = trajectories.lemniscate(5.0, speed=3.0)
    points = oracle.samples(eight, 1001)[:, 0]
    x, y = points[:, 0] / 5.0, points[:, 1] / 5.0
    np.testing.assert_allclose(y * y, x * x - x**4, atol=1e-12)
    assert x.max() == pytest.approx(1.0, abs=1e-4)
    assert x.min() == pytest.approx(-1.0, abs=1e-4)


@pytest.mark.parametrize("shape", SHAPES[1:5:1], ids=lambda shape: shape.name)
def test_forward_looks_along_the_velocity(shape):
    """If this fails, a camera that should look ahead looks sideways."""
    if shape.yaw != "forward":
        assert shape.sample(1.0).yaw is None
        return
    for t in np.linspace(0.5, shape.duration - 0.5, 300):
        point = shape.sample(t)
        if np.hypot(*point.velocity[:2]) > 1e-3:
            along = math.atan2(point.velocity[1], point.velocity[0])
            assert math.remainder(point.yaw - along, 2 * math.pi) == pytest.approx(0.0, abs=1e-9)


def test_can_go_on_for_ever():
    """If this fails, an endless trajectory ends."""
    circle = trajectories.circle(3.0, laps=math.inf)
    assert circle.duration == math.inf
    assert np.linalg.norm(circle.sample(12345.0).velocity) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: trajectories.square(-5.0), "side = -5.0: must be above 0 m"),
        (lambda: trajectories.square(5.0, laps=0), "laps = 0: must be at least 1"),
        (lambda: trajectories.circle(0.0), "radius = 0.0: must be above 0 m"),
        (lambda: trajectories.circle(1.0, laps=-1), "laps = -1: must be above 0"),
        (lambda: trajectories.circle(1.0, speed=math.nan), "speed = nan: must be above 0 m/s"),
        (lambda: trajectories.circle(1.0, acceleration=0.0), "acceleration = 0.0: must be above 0 m/s^2"),
        (
            lambda: trajectories.lemniscate(1.0, height=math.inf),
            "height = inf: must be a finite number of metres",
        ),
        (
            lambda: trajectories.lemniscate(1.0, yaw="foward"),
            "yaw = 'foward': must be an angle in radians, or \"forward\"",
        ),
        (
            lambda: trajectories.circle(1.0, yaw=math.nan),
            "yaw = nan: must be an angle in radians, from -4 pi to 4 pi",
        ),
    ],
)
def test_bad_parameters_are_named(make, message):
    """If this fails, a mistake in a mission shows up in the air."""
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value) == message
