"""Tests of the frames below `map`: they agree with the sensors' poses."""

import numpy as np
import pytest
from analytic_renderer import AnalyticRenderer
from scipy.spatial.transform import Rotation

from pegasus import Multirotor, Simulation
from pegasus.backends.ros2.frames import mountings, x_axis_along
from pegasus.cameras import Camera, Lidar, StereoCamera
from pegasus.sensors import IMU, Airspeed, Barometer, OpticalFlow, Rangefinder
from tests.flyers import PLAIN_IRIS


def test_frames_of_pictures_are_those_of_their_readings():
    """Points in an optical frame would be shown at a wrong position."""
    sensors = {
        "eye": Camera(position=(0.1, 0.2, 0.3), orientation=(0.1, 0.4, -0.5)),
        "nose": Camera(),
        "pair": StereoCamera(position=(0.2, 0.0, 0.1), orientation=(0.0, 0.3, 1.0), baseline=0.2),
        "top": Lidar(position=(0.0, 0.0, 0.2), orientation=(0.0, 0.2, 0.7)),
    }
    seen = {}

    class Witness:
        def start(self, simulation):
            """Do nothing."""

        def record(self, simulation):
            seen.update(next(iter(simulation.vehicles)).new_readings)

        def stop(self):
            """Do nothing."""

    with Simulation("flat", renderer=AnalyticRenderer(), observers=[Witness()]) as sim:
        iris = sim.add(Multirotor(PLAIN_IRIS, position=(3, 4, 5), heading=0.6, sensors=sensors))
        frames = {item.frame: item for item in mountings(iris)}
        body = iris.state.copy()
        sim.step()
    pair = seen["pair"]
    placed = {"eye_optical": seen["eye"], "nose_optical": seen["nose"], "top": seen["top"]}
    placed |= {"pair_left_optical": pair.left, "pair_right_optical": pair.right}
    assert frames.keys() == {"base_link_frd", *placed}
    turn = Rotation.from_quat(body.orientation[0])
    for name, reading in placed.items():
        frame = frames[name]
        np.testing.assert_allclose(
            body.position[0] + turn.apply(frame.position), reading.position[0], atol=1e-9
        )
        difference = (
            turn * Rotation.from_quat(frame.orientation) * Rotation.from_quat(reading.orientation[0]).inv()
        )
        assert difference.magnitude() < 1e-7


def test_frames_of_other_sensors():
    """A frame would differ from its sensor's pose, or a beam not be along its x axis."""
    sensors = {
        "imu": IMU(position=(0.1, 0.0, 0.0), orientation=(1.0, 0.0, 0.0, 0.0)),
        "down": Rangefinder(position=(0.0, 0.1, 0.0), direction=(0.0, 0.0, -2.0)),
        "barometer": Barometer(),
        "flow": OpticalFlow(position=(0.0, 0.0, -0.1)),
        "pitot": Airspeed(axis=(0.0, 2.0, 0.0)),
    }
    frames = {item.frame: item for item in mountings(Multirotor(PLAIN_IRIS, sensors=sensors))}
    assert frames["imu"].position.tolist() == [0.1, 0.0, 0.0]
    assert frames["imu"].orientation.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert frames["down"].position.tolist() == [0.0, 0.1, 0.0]
    beam = Rotation.from_quat(frames["down"].orientation).apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(beam, [0.0, 0.0, -1.0], atol=1e-12)
    tube = Rotation.from_quat(frames["pitot"].orientation).apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(tube, [0.0, 1.0, 0.0], atol=1e-12)
    assert frames["flow"].position.tolist() == [0.0, 0.0, -0.1]
    assert frames["barometer"].position.tolist() == [0.0, 0.0, 0.0]
    for name in ("barometer", "flow"):
        assert frames[name].orientation.tolist() == [0.0, 0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "direction",
    [(1, 0, 0), (-1, 0, 0), (0, 3, 0), (0, 0, -1), (-1, 1e-3, 0), (0.3, -0.4, 0.5), (-1, 1e-9, 0)],
)
def test_x_axis_along_any_direction(direction):
    """A beam straight back would have no frame, or a quaternion of length zero."""
    direction = np.array(direction, dtype=float)
    quaternion = x_axis_along(direction)
    assert np.linalg.norm(quaternion) == pytest.approx(1.0)
    turned = Rotation.from_quat(quaternion).apply([1.0, 0.0, 0.0])
    np.testing.assert_allclose(turned, direction / np.linalg.norm(direction), atol=1e-8)
