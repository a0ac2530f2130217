"""Tests of random vehicle poses: visibility, clearance and velocities."""

import math

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion
from pegasus.cameras import Camera
from pegasus.dataset.randomizers import Clearance, InView, Moment, Mount, Poses
from pegasus.scene.scene import Scene


@pytest.fixture(scope="module")
def moment():
    """An Iris with a camera and two others in the flat world, one image after the start."""
    with Simulation("flat") as sim:
        camera = Camera(rate_hz=50.0, resolution=(96, 64), orientation=(0.0, -0.2, 0.0))
        sim.add(Multirotor("iris", name="eye", position=(0, 0, 5), extra_sensors={"front": camera}))
        sim.add(Multirotor("iris", name="a", position=(20, 0, 0.1)))
        sim.add(Multirotor("x500", name="b", position=(0, 20, 0.3)))
        sim.step(6)
        shot = sim.vehicles["eye"].readings["front"].capture
        mounts = (Mount("eye/front", "eye", 0, shot.optics),)
        clearance = Clearance(sim.scene)
        yield Moment(shot.snapshot, shot.previous, mounts, sim.engine, clearance, sim.world)


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_vehicles_are_in_view_all_over_the_image(moment):
    """Images would be empty, or show the target only in their middle."""
    (mount,) = moment.mounts
    optics, pixels, distances = mount.optics, [], []
    for seed in range(60):
        made = InView(vehicles=("a", "b"), distance=(2.0, 12.0)).moment(moment, rng(seed))
        np.testing.assert_array_equal(made.snapshot.position[0], moment.snapshot.position[0])
        turn = matrix_from_quaternion(made.snapshot.orientation[0])
        lens = made.snapshot.position[0] + turn @ optics.position
        for place in made.snapshot.position[1:]:
            seen = (turn @ optics.rotation).T @ (place - lens)
            pixels.append(optics.lens.project(seen, optics.resolution))
            distances.append(math.hypot(*seen))
            assert place[2] > 0.1
    x, y = np.array(pixels).T
    assert x.min() >= 0
    assert y.min() >= 0
    assert x.max() <= 96
    assert y.max() <= 64
    # Mean of 120 uniform draws: 96 / sqrt(12 * 120) pixels of standard deviation.
    assert abs(x.mean() - 48) < 4 * 96 / math.sqrt(12 * 120)
    assert min(distances) >= 2.0 - 1e-9
    assert max(distances) <= 12.0 + 1e-9


def test_vehicles_keep_clear_of_one_another_and_of_the_ground(moment):
    """Two vehicles would overlap, or one be in the ground."""
    for seed in range(30):
        made = InView(vehicles=("a", "b"), distance=(1.0, 2.5)).moment(moment, rng(seed)).snapshot.position
        assert math.dist(made[1], made[2]) > 0.5
        placed = Poses(vehicles=("a", "b"), extent=(2, 2), height=(0.0, 2.0), clearance=0.8)
        made = placed.moment(moment, rng(seed)).snapshot.position
        assert math.dist(made[1], made[2]) > 1.6
        assert made[1:, 2].min() >= 0.8


def test_motion_is_that_of_the_drawn_speed(moment):
    """Motion vectors would include the jump to the random pose."""
    assert moment.period == pytest.approx(1 / 50)
    speeds = []
    for seed in range(50):
        made = InView(vehicles=("a",), speed=4.0).moment(moment, rng(seed))
        moved = made.snapshot.position[1] - made.previous.position[1]
        np.testing.assert_allclose(moved / moment.period, made.snapshot.velocity[1], atol=1e-9)
        speeds.append(math.hypot(*made.snapshot.velocity[1]))
        np.testing.assert_array_equal(made.snapshot.orientation[1], made.previous.orientation[1])
    assert 3.0 < max(speeds) <= 4.0


def test_absent_vehicles_stay_and_others_are_refused(moment):
    """An absent vehicle would be moved, or an unknown name be ignored."""
    made = InView(vehicles=("a", "b"), presence=0.0).moment(moment, rng(0))
    np.testing.assert_array_equal(made.snapshot.position, moment.snapshot.position)
    with pytest.raises(ConfigError, match="must be among eye, a, b"):
        InView(vehicles=("c",)).moment(moment, rng(0))
    with pytest.raises(ConfigError, match="must not hold the one that carries the camera"):
        InView(vehicles=("eye",)).moment(moment, rng(0))
    with pytest.raises(ConfigError, match="must be one of eye/front"):
        InView(vehicles=("a",), camera="eye/back").moment(moment, rng(0))
    with pytest.raises(ConfigError, match="no free place"):
        Poses(vehicles=("a",), extent=(0.1, 0.1), height=(5.0, 5.0)).moment(moment, rng(0))
    assert Clearance(Scene("nothing")).free(np.zeros(3), 1.0)
