"""Tests of depth noise: its size, its limits, and its consistency among outputs."""

import math

import numpy as np
import pytest
from analytic_renderer import AnalyticRenderer, Plane

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.components import build
from pegasus.cameras import Camera, DepthNoise
from pegasus.cameras.imaging import depth_sigma
from pegasus.sensors import SENSORS, Sensor

WALL = Plane((1.0, 0.0, 0.0), 5.0, "/World/wall", "wall")
OUTPUTS = ("depth", "distance_to_camera", "point_cloud")


def seen(noise, *, count=1, step_count=1, resolution=(160, 120), **parameters):
    """Return the last reading of a camera that looks at a wall 5 m away."""
    camera = Camera(
        resolution=resolution,
        horizontal_fov=1.2,
        position=(0.0, 0.0, 0.0),
        hide_vehicle=True,
        outputs=OUTPUTS,
        depth_noise=noise,
        rate_hz=250.0,
        **parameters,
    )
    sim = Simulation("flat", seed=3, renderer=AnalyticRenderer(planes=(WALL,)))
    place = [(0.0, 3.0 * k, 2.0) for k in range(count)]
    iris = sim.add(Multirotor("iris", count=count, position=place, sensors={"front": camera}))
    sim.step(step_count)
    return iris.readings["front"]


def test_sigma_grows_with_the_square_of_depth():
    """The noise at long range would be too small: 1.425e-3 z^2 [m], 4 cm at 5 m for a Kinect."""
    found = depth_sigma(np.array([0.0, 1.0, 5.0]), sigma=0.001, quadratic=1.425e-3)
    np.testing.assert_allclose(found, [0.001, 0.002425, 0.036625])


def test_noise_has_its_sigma_along_the_axis_and_is_the_same_in_all_outputs():
    """Noise would be along the ray, biased, or differ between depth and points."""
    reading = seen(DepthNoise(sigma=0.01, quadratic=0.002))
    error = reading.depth[0].astype(float) - 5.0
    sigma, n = 0.01 + 0.002 * 25, error.size
    assert abs(error.mean()) < 5 * sigma / math.sqrt(n)
    assert abs(error.std() / sigma - 1) < 5 / math.sqrt(2 * n)
    assert abs(np.corrcoef(error[:, 1:].ravel(), error[:, :-1].ravel())[0, 1]) < 5 / math.sqrt(n)
    np.testing.assert_allclose(reading.point_cloud[0, ..., 2], reading.depth[0], rtol=1e-6)
    reach = np.sqrt((reading.point_cloud[0].astype(float) ** 2).sum(axis=-1))
    np.testing.assert_allclose(reach, reading.distance[0], rtol=1e-6)


def test_pictures_and_copies_have_their_own_noise_which_a_seed_fixes():
    """Copies or images would share their noise, or a run not be repeatable."""
    noise, size = DepthNoise(sigma=0.02), (32, 24)
    two = seen(noise, count=2, resolution=size)
    later = seen(noise, count=2, step_count=2, resolution=size)
    again = seen(noise, count=2, resolution=size)
    np.testing.assert_array_equal(two.image("depth", 1), again.image("depth", 1))
    assert not np.array_equal(two.image("depth", 0), two.image("depth", 1))
    # Not even by accident do single pixels agree.
    assert (two.image("depth", 0) != later.image("depth", 0)).mean() > 0.99


def test_what_is_lost_or_out_of_range_has_no_depth():
    """Depths out of range would be valid, or too many pixels be empty."""
    depth = seen(DepthNoise(dropout=0.3)).depth[0]
    n = depth.size
    assert abs(np.isinf(depth).mean() - 0.3) < 5 * math.sqrt(0.3 * 0.7 / n)
    np.testing.assert_allclose(depth[np.isfinite(depth)], 5.0, rtol=1e-6)
    for limits in ({"min_depth": 5.1}, {"max_depth": 4.9}):
        reading = seen(DepthNoise(**limits), resolution=(8, 6))
        assert np.isposinf(reading.depth).all()
        assert np.isposinf(reading.distance).all()
        assert np.isnan(reading.point_cloud).all()
    cut = seen(DepthNoise(sigma=0.1, min_depth=4.9, max_depth=5.1)).depth[0]
    told = cut[np.isfinite(cut)]
    assert 4.9 <= told.min() < 4.91
    assert 5.09 < told.max() <= 5.1


def test_without_errors_depth_is_exact():
    """Depth would have errors by default, or empty pixels get a depth."""
    assert DepthNoise().exact
    np.testing.assert_allclose(seen(DepthNoise()).depth, 5.0, rtol=1e-6)
    away = seen(DepthNoise(sigma=0.1), orientation=(0.0, 0.0, math.pi))
    assert np.isposinf(away.depth).all()


def test_from_yaml():
    """A vehicle's file could not define depth noise, or an invalid value pass."""
    spec = {"model": "camera", "outputs": ["depth"], "depth_noise": {"quadratic": 0.002, "max_depth": 8.0}}
    camera = build(Sensor, SENSORS, spec, field="sensors.front")
    assert camera.depth_noise == DepthNoise(quadratic=0.002, max_depth=8.0)
    for wrong, message in (
        ({"sigma": -0.1}, "depth_noise.sigma = -0.1: must be at least 0"),
        ({"dropout": 1.5}, "must be a probability"),
        ({"min_depth": 2.0, "max_depth": 1.0}, "max_depth = 1.0: must be above min_depth of 2 m"),
    ):
        with pytest.raises(ConfigError, match=message):
            build(Sensor, SENSORS, {**spec, "depth_noise": wrong}, field="sensors.front")
