"""Tests of HIL messages of optional sensors, against the conventions of MAVLink."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus.backends.mavlink.airframe import orientation_of
from pegasus.backends.mavlink.local_axes import LocalAxes
from pegasus.backends.mavlink.messages import Decoder, encode
from pegasus.backends.px4.hil import flow_message, odometry_message, range_message, rc_message
from pegasus.sensors import OdometryReading, OpticalFlowReading, RangeReading


def over_the_wire(message):
    """Return a message after encoding and decoding."""
    (received,) = Decoder().feed(encode(message, sequence=0))
    return received


@pytest.mark.parametrize(
    ("direction", "orientation"),
    [((0, 0, -1), 25), ((0, 0, 1), 24), ((1, 0, 0), 0), ((0, -1, 0), 2), ((-2, 0.1, 0), 4), ((0, 3, 1), 6)],
)
def test_orientation_of_a_beam(direction, orientation):
    """A downward beam would not be sent as 25, or one to the right not as a yaw of 90 degrees (2)."""
    assert orientation_of(direction) == orientation


def test_range_in_centimetres():
    """Ranges in metres would be read as centimetres, and the vehicle land far too early."""
    reading = RangeReading(
        1.0, np.array([3.456, 40.0]), np.array([True, False]), min_range=0.05, max_range=40.0
    )
    near = over_the_wire(range_message(1_234_567, reading, 0, orientation=25))
    assert (near.time_boot_ms, near.min_distance, near.max_distance, near.current_distance) == (
        1234,
        5,
        4000,
        346,
    )
    assert (near.orientation, near.signal_quality) == (25, 100)
    assert over_the_wire(range_message(0, reading, 1, orientation=25)).signal_quality == 1


def test_flow_in_frd():
    """Flow about y with the FLU sign would make PX4 estimate backward motion."""
    reading = OpticalFlowReading(
        1.0, 0.02, np.array([[0.01, 0.03]]), np.array([[0.1, 0.2, 0.3]]), np.array([2.5]), np.array([200])
    )
    sent = over_the_wire(flow_message(5_000, reading, 0))
    assert (sent.time_usec, sent.integration_time_us, sent.quality) == (5000, 20000, 200)
    flows = (
        sent.integrated_x,
        sent.integrated_y,
        sent.integrated_xgyro,
        sent.integrated_ygyro,
        sent.integrated_zgyro,
    )
    np.testing.assert_allclose(flows, [0.01, -0.03, 0.1, -0.2, -0.3], rtol=1e-6)
    assert sent.distance == 2.5


def test_odometry_in_ned_and_frd():
    """Pose or twist in ENU and FLU would rotate the estimate by a quarter turn and upside down."""
    rotation = Rotation.from_euler("ZYX", [0.7, -0.2, 0.4])
    velocity = np.array([[3.0, -1.0, 0.5]])
    reading = OdometryReading(
        2.0,
        1.9,
        np.array([[10.0, 20.0, 30.0]]),
        rotation.as_quat()[None],
        velocity,
        np.array([[0.1, 0.2, 0.3]]),
        np.array([[0.01, 0.02, 0.03]]),
        np.array([[0.1, 0.2, 0.3]]),
        np.array([7]),
    )
    sent = over_the_wire(odometry_message(2_000_000, reading, 0, axes=LocalAxes()))
    assert (sent.x, sent.y, sent.z) == (20.0, 10.0, -30.0)
    w, x, y, z = sent.q
    flip = np.diag([1.0, -1.0, -1.0])
    swap = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, -1]])
    np.testing.assert_allclose(
        Rotation.from_quat([x, y, z, w]).as_matrix(), swap @ rotation.as_matrix() @ flip, atol=1e-6
    )
    body = flip @ rotation.inv().apply(velocity[0])
    np.testing.assert_allclose([sent.vx, sent.vy, sent.vz], body, rtol=1e-6)
    np.testing.assert_allclose([sent.rollspeed, sent.pitchspeed, sent.yawspeed], [0.1, -0.2, -0.3], rtol=1e-6)
    diagonal = [sent.pose_covariance[k] for k in (0, 6, 11, 15, 18, 20)]
    np.testing.assert_allclose(diagonal, [0.02, 0.01, 0.03, 0.2, 0.1, 0.3], rtol=1e-6)
    assert np.count_nonzero(sent.pose_covariance) == 6
    assert np.isnan(sent.velocity_covariance[0])
    assert (sent.frame_id, sent.child_frame_id, sent.reset_counter) == (1, 12, 7)


def test_odometry_is_aligned_with_north():
    """PX4 would turn its heading away from its compass far from the origin of the world."""
    reading = OdometryReading(
        2.0,
        1.9,
        np.array([[100.0, 0.0, 30.0]]),
        Rotation.from_euler("z", 90, degrees=True).as_quat()[None],
        *(np.zeros((1, 3)) for _ in range(4)),
        np.array([0]),
    )
    # North is 0.1 rad on the left of y.
    axes = LocalAxes(np.cos(0.1), np.sin(0.1))
    sent = over_the_wire(odometry_message(2_000_000, reading, 0, axes=axes))
    np.testing.assert_allclose([sent.x, sent.y], [-100 * np.sin(0.1), 100 * np.cos(0.1)], rtol=1e-6)
    w, x, y, z = sent.q
    assert Rotation.from_quat([x, y, z, w]).as_euler("zyx")[0] == pytest.approx(0.1, abs=1e-6)


def test_receiver():
    """Absent channels would be read as sticks at their end."""
    sent = over_the_wire(rc_message(3_000_000, [1500, 1500, 1000, 1500, 2000]))
    pulses = [getattr(sent, f"chan{number}_raw") for number in range(1, 19)]
    assert pulses == [1500, 1500, 1000, 1500, 2000, *[65535] * 13]
    assert (sent.chancount, sent.time_boot_ms) == (5, 3000)
