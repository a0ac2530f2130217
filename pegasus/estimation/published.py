"""Estimates of a filter as they are logged and shown: with standard deviations, biases and innovations."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import (
    conjugate,
    matrix_from_quaternion,
    multiply,
    rotate,
    rotation_vector_from_quaternion,
)
from pegasus.core.state import Estimate, VehicleState
from pegasus.estimation.filter_rows import (
    ALIGNING,
    ATTITUDE,
    DISTANCE,
    FIELD,
    FIX,
    FLOW,
    FORCE_BIAS,
    POSE,
    POSITION,
    PRESSURE,
    RATE_BIAS,
    VELOCITY,
)

if TYPE_CHECKING:
    from pegasus.estimation.ekf import EKF


@dataclass(eq=False)
class FilterEstimate(Estimate):
    """State estimates of N vehicles by their filters; world ENU, body FLU; NaN where unknown."""

    position_sigma: Array
    """Standard deviation of the position by the filter [m], shape (N, 3)."""
    velocity_sigma: Array
    """Standard deviation of the velocity by the filter [m/s], shape (N, 3)."""
    attitude_sigma: Array
    """Standard deviation of the attitude about x, y and z of the world by the filter [rad], shape (N, 3)."""
    rate_bias: Array
    """Estimated bias of the gyroscope, body frame [rad/s], shape (N, 3)."""
    force_bias: Array
    """Estimated bias of the accelerometer, body frame [m/s^2], shape (N, 3)."""
    gps_nis: Array
    """Normalized innovation squared of the last reading of the GPS, 6 numbers, shape (N,)."""
    barometer_nis: Array
    """That of the barometer, 1 number, shape (N,)."""
    magnetometer_nis: Array
    """That of the magnetometer, 3 numbers, shape (N,)."""

    range_nis: Array
    """That of the rangefinder, 1 number, shape (N,)."""
    flow_nis: Array
    """That of the optical flow, 2 numbers, shape (N,)."""
    odometry_nis: Array
    """That of the odometry, 9 numbers, shape (N,)."""


def filter_estimate(source: "EKF", true: VehicleState) -> FilterEstimate:
    """Return the present estimate of a filter.

    Args:
        source: The filter.
        true: True state of the same time.
    """
    columns, state = source.columns, source.state
    unknown = columns["phase"] == ALIGNING
    error = rotation_vector_from_quaternion(multiply(state.orientation, conjugate(true.orientation)))
    attitude, velocity, position = present_variances(source)
    nis = columns["nis"]
    made = FilterEstimate(
        np.full(len(unknown), source.received),
        state.position.copy(),
        state.velocity.copy(),
        state.orientation.copy(),
        state.position - true.position,
        state.velocity - true.velocity,
        np.sqrt((error * error).sum(axis=1)),
        np.sqrt(position),
        np.sqrt(velocity),
        np.sqrt(attitude),
        columns["rate_bias"].copy(),
        columns["force_bias"].copy(),
        nis[:, FIX].copy(),
        nis[:, PRESSURE].copy(),
        nis[:, FIELD].copy(),
        nis[:, DISTANCE].copy(),
        nis[:, FLOW].copy(),
        nis[:, POSE].copy(),
    )
    if unknown.any():
        for values in vars(made).values():
            values[unknown] = math.nan
    return made


def present_variances(source: "EKF") -> tuple[Array, Array, Array]:
    """Return the variances of attitude [rad^2], velocity and position of the present state, (N, 3) each.

    They are those of the filter's state, carried on by the motion since then; the noise of the readings of
    the IMU since then, which is much smaller, is left out.

    Args:
        source: The filter.
    """
    columns, count = source.columns, len(source.columns["phase"])
    size = source.parameters.size
    covariance = columns["covariance"].reshape(count, size, size)[:, :15, :15]
    time = columns["window_time"][:, None, None]
    matrix = matrix_from_quaternion(columns["q"])
    identity = np.eye(3)[None]
    gradients = []
    for reach, motion in ((time, "window_velocity"), (0.5 * time * time, "window_shift")):
        gradient = np.zeros((count, 3, 15))
        gradient[:, :, ATTITUDE : ATTITUDE + 3] = -_cross_matrix(rotate(matrix, columns[motion]))
        gradient[:, :, FORCE_BIAS : FORCE_BIAS + 3] = -matrix * reach
        gradient[:, :, VELOCITY : VELOCITY + 3] = identity if motion == "window_velocity" else identity * time
        if motion == "window_shift":
            gradient[:, :, POSITION : POSITION + 3] = identity
        gradients.append(gradient)
    turned = np.zeros((count, 3, 15))
    turned[:, :, ATTITUDE : ATTITUDE + 3] = identity
    turned[:, :, RATE_BIAS : RATE_BIAS + 3] = -matrix * time
    attitude, velocity, position = (
        np.maximum(np.einsum("nij,njk,nik->ni", g, covariance, g), 0.0) for g in (turned, *gradients)
    )
    return attitude, velocity, position


def _cross_matrix(v: Array) -> Array:
    """Return the matrices of the cross product with vectors, shape (N, 3, 3)."""
    matrix = np.zeros((len(v), 3, 3))
    for a, b, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        matrix[:, a, b], matrix[:, b, a] = -v[:, k], v[:, k]
    return matrix
