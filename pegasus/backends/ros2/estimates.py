"""Content of the topic of a vehicle's state estimate (REP 103, REP 105)."""

import math

import numpy as np

from pegasus.backends.ros2.contents import STATE_RATE, Content, Numbers
from pegasus.backends.ros2.frames import FrameNames
from pegasus.backends.ros2.graph import RELIABLE
from pegasus.backends.ros2.messages import Message, message
from pegasus.backends.ros2.publications import stamp_of
from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion, rotate_inverse
from pegasus.contracts.state import Estimate, VehicleState
from pegasus.core.aircraft import Aircraft
from pegasus.estimation import FilterEstimate
from pegasus.sensors import IMU


def estimate_contents(vehicle: Aircraft) -> list[Content]:
    """Return the topic of a vehicle's state estimate, by its autopilot or its estimator; none without one.

    A copy sends nothing until its state is known, and each estimate once. The stamp is the time of the
    estimate. Covariances of an estimate without standard deviations, as of autopilots, are zero: unknown.
    """
    driver, estimator = vehicle.backends.driver, vehicle.estimator
    if estimator is None and (driver is None or not driver.estimates):
        return []
    sent = np.full(vehicle.count, math.nan)
    imu = next((sensor for sensor in vehicle.sensors.values() if isinstance(sensor, IMU)), None)
    rate_variance = 0.0 if imu is None else imu.gyroscope.noise_density**2 * imu.rate_hz

    def make(frames: FrameNames) -> Message:
        return message(
            "nav_msgs/msg/Odometry", header={"frame_id": frames.map}, child_frame_id=frames.base_link
        )

    def numbers(_: VehicleState) -> Numbers:
        estimate = vehicle.estimate
        if estimate is None:
            return [[]] * vehicle.count
        turn = matrix_from_quaternion(estimate.orientation)
        pose, twist = _covariances(estimate, turn, rate_variance)
        rows = np.concatenate(
            (
                estimate.position,
                estimate.orientation,
                pose.reshape(-1, 36),
                rotate_inverse(turn, estimate.velocity),
                estimate.angular_velocity,
                twist.reshape(-1, 36),
            ),
            axis=1,
        )
        due = np.isfinite(rows).all(axis=1) & (estimate.received != sent)
        sent[due] = estimate.received[due]
        times = estimate.received.tolist()
        return [
            [*stamp_of(t), *row] if new else []
            for t, row, new in zip(times, rows.tolist(), due.tolist(), strict=True)
        ]

    fields = ("header.stamp", "pose.pose", "pose.covariance", "twist.twist", "twist.covariance")
    return [Content("estimate", make, fields, numbers, RELIABLE, STATE_RATE, stamp_count=0)]


def _covariances(estimate: Estimate, turn: Array, rate_variance: float) -> tuple[Array, Array]:
    """Return the covariances of pose and twist, each of shape (N, 6, 6); zero if unknown.

    Args:
        estimate: The estimate.
        turn: Estimated orientations, shape (N, 3, 3).
        rate_variance: Variance of the noise on a measured angular velocity [rad^2/s^2].
    """
    pose, twist = np.zeros((2, len(turn), 6, 6))
    if isinstance(estimate, FilterEstimate):
        pose[:, :3, :3] = _diagonals(estimate.position_sigma)
        pose[:, 3:, 3:] = _diagonals(estimate.attitude_sigma)
        twist[:, :3, :3] = turn.swapaxes(1, 2) @ _diagonals(estimate.velocity_sigma) @ turn
        twist[:, 3:, 3:] = rate_variance * np.eye(3)
    return pose, twist


def _diagonals(sigma: Array) -> Array:
    """Return the covariance matrices of standard deviations, shape (N, 3, 3)."""
    return sigma[:, :, None] ** 2 * np.eye(3)
