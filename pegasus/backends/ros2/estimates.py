"""Content of the topic of a vehicle's own state estimate (REP 103, REP 105)."""

import math
from typing import TYPE_CHECKING

import numpy as np

from pegasus.backends.ros2.contents import STATE_RATE, Content, Numbers
from pegasus.backends.ros2.frames import FrameNames
from pegasus.backends.ros2.graph import RELIABLE
from pegasus.backends.ros2.messages import Message, message
from pegasus.backends.ros2.publications import stamp_of
from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion, rotate_inverse
from pegasus.core.state import VehicleState
from pegasus.estimation import FilterEstimate
from pegasus.sensors import IMU

if TYPE_CHECKING:
    from pegasus.core.multirotor import Multirotor


def estimate_contents(vehicle: "Multirotor") -> list[Content]:
    """Return the topic of the estimate of a vehicle's estimator; none without one.

    Copies whose state is not known yet send nothing. The stamp is the time of the estimate.
    """
    estimator = vehicle.estimator
    if estimator is None:
        return []
    imu = next(sensor for sensor in vehicle.sensors.values() if isinstance(sensor, IMU))
    rate_variance = imu.gyroscope.noise_density**2 * imu.rate_hz

    def make(frames: FrameNames) -> Message:
        return message(
            "nav_msgs/msg/Odometry", header={"frame_id": frames.map}, child_frame_id=frames.base_link
        )

    def numbers(_: VehicleState) -> Numbers:
        state, estimate = estimator.state, estimator.estimate
        turn = matrix_from_quaternion(state.orientation)
        pose, twist = np.zeros((2, len(turn), 6, 6))
        if isinstance(estimate, FilterEstimate):
            pose[:, :3, :3] = _diagonals(estimate.position_sigma)
            pose[:, 3:, 3:] = _diagonals(estimate.attitude_sigma)
            twist[:, :3, :3] = turn.swapaxes(1, 2) @ _diagonals(estimate.velocity_sigma) @ turn
            twist[:, 3:, 3:] = rate_variance * np.eye(3)
        rows = np.concatenate(
            (
                state.position,
                state.orientation,
                pose.reshape(-1, 36),
                rotate_inverse(turn, state.velocity),
                state.angular_velocity,
                twist.reshape(-1, 36),
            ),
            axis=1,
        ).tolist()
        # The time of a state that is not known yet is NaN.
        times = estimate.received.tolist()
        return [[] if math.isnan(t) else [*stamp_of(t), *row] for t, row in zip(times, rows, strict=True)]

    fields = ("header.stamp", "pose.pose", "pose.covariance", "twist.twist", "twist.covariance")
    return [Content("estimate", make, fields, numbers, RELIABLE, STATE_RATE, stamp_count=0)]


def _diagonals(sigma: Array) -> Array:
    """Return the covariance matrices of standard deviations, shape (N, 3, 3)."""
    return sigma[:, :, None] ** 2 * np.eye(3)
