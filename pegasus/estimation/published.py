"""Estimates of a filter as they are logged and shown: with standard deviations, biases and innovations."""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_math import Real, Vec3, cross, maximum, rotate, rotate_inverse, scaled, sqrt
from pegasus.contracts.state import Estimate, VehicleState
from pegasus.estimation.filter_rows import (
    AIRSPEED,
    ALIGNING,
    ANCHORS,
    ATTITUDE,
    DISTANCE,
    DRAG,
    FIELD,
    FIX,
    FLOW,
    FORCE_BIAS,
    POSE,
    POSITION,
    PRESSURE,
    RATE_BIAS,
    VELOCITY,
    FilterParameters,
    FilterRows,
)
from pegasus.estimation.measurements import unit

_SOURCES = (FIX, PRESSURE, FIELD, DISTANCE, FLOW, POSE, ANCHORS, AIRSPEED, DRAG)
"""Sources whose innovations an estimate has, in their order."""


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
    rate_scale: Array
    """Estimated relative error of the gyroscope's scale along the IMU's axes, (N, 3); NaN if no state."""
    force_scale: Array
    """That of the accelerometer."""
    wind: Array
    """Estimated velocity of the air in the world [m/s], whose vertical part is taken as 0, shape (N, 3); NaN
    if no state."""
    wind_sigma: Array
    """Standard deviation of it by the filter [m/s], shape (N, 3)."""
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
    uwb_nis: Array
    """That of the distances to anchors, as many numbers as anchors, shape (N,)."""
    airspeed_nis: Array
    """That of the airspeed sensor, 1 number, shape (N,)."""
    drag_nis: Array
    """That of the drag, 2 numbers, shape (N,)."""


class FilterSource(Protocol):
    """Filter of N vehicles, as an estimate is made of it."""

    wind_noise_density: float
    """Noise density of the change of the wind [m/s^2/sqrt(Hz)]."""
    parameters: FilterParameters
    """Parameters of its step."""
    columns: dict[str, Array]
    """Columns of `FilterRows` by name, N rows each."""

    @property
    def received(self) -> float:
        """Time of its last reading [s]."""


def filter_estimate(source: FilterSource, true: VehicleState) -> FilterEstimate:
    """Return the present estimate of a filter.

    Args:
        source: The filter, whose columns of standard deviations are those of now.
        true: True state of the same time.
    """
    columns, nis = source.columns, source.columns["nis"]
    unknown = columns["phase"] == ALIGNING
    # q and -q are the same attitude.
    overlap = np.abs((columns["orientation"] * true.orientation).sum(axis=1))
    made = FilterEstimate(
        np.full(len(unknown), source.received),
        columns["position"].copy(),
        columns["velocity"].copy(),
        columns["orientation"].copy(),
        columns["angular_velocity"].copy(),
        columns["position"] - true.position,
        columns["velocity"] - true.velocity,
        2.0 * np.arccos(np.minimum(overlap, 1.0)),
        columns["position_sigma"].copy(),
        columns["velocity_sigma"].copy(),
        columns["attitude_sigma"].copy(),
        columns["rate_bias"].copy(),
        columns["force_bias"].copy(),
        *_scales(source),
        *_wind(source),
        *(nis[:, number].copy() for number in _SOURCES),
    )
    if unknown.any():
        for values in vars(made).values():
            values[unknown] = math.nan
    return made


def _scales(source: FilterSource) -> tuple[Array, Array]:
    """Return the estimated errors of scale of gyroscope and accelerometer, shape (N, 3) each."""
    errors, first = source.columns["error"], source.parameters.scale
    if first < 0:
        errors, first = np.full((len(errors), 6), math.nan), 0
    return errors[:, first : first + 3].copy(), errors[:, first + 3 : first + 6].copy()


def _wind(source: FilterSource) -> tuple[Array, Array]:
    """Return the estimated wind and its standard deviation [m/s], shape (N, 3) each."""
    columns, first, size = source.columns, source.parameters.wind, source.parameters.size
    wind, sigma = np.zeros((2, len(columns["error"]), 3))
    if first < 0:
        wind[...] = sigma[...] = math.nan
        return wind, sigma
    wind[:, :2] = columns["error"][:, first : first + 2]
    for k in range(2):
        # The wind may have changed since the time that the filter's state is of.
        change = source.wind_noise_density**2 * columns["window_time"]
        sigma[:, k] = np.sqrt(columns["covariance"][:, (first + k) * (size + 1)] + change)
    return wind, sigma


def spread(i: int, rows: FilterRows) -> Real:
    """Return the standard deviation of a linear function of the errors, whose derivatives are in `gain`."""
    n = rows.p[0].size
    total = 0.0
    for k in range(n):
        for m in range(n):
            total += rows.gain[i, k] * rows.covariance[i, k * n + m] * rows.gain[i, m]
    return sqrt(maximum(total, 0.0))


def derive(i: int, rows: FilterRows, state: int, slope: Vec3) -> None:
    """Set the derivatives by three states."""
    rows.gain[i, state] = slope[0]
    rows.gain[i, state + 1] = slope[1]
    rows.gain[i, state + 2] = slope[2]


def derive_scale(i: int, rows: FilterRows, which: int, slope: Vec3) -> None:
    """Set the derivatives by the scales of the gyroscope (0) or the accelerometer (3), if they are states."""
    if rows.p[0].scale >= 0:
        derive(i, rows, rows.p[0].scale + which, slope)


def present_spreads(i: int, rows: FilterRows) -> None:
    """Write the standard deviations of attitude, velocity and position of the present state.

    They are those of the filter's state, carried on by the motion since then; the noise of the readings of
    the IMU since then, which is much smaller, is left out.
    """
    q = rows.q[i]
    time = rows.window_time[i]
    pushed = rotate(q, rows.window_velocity[i])
    shifted = rotate(q, rows.window_shift[i])
    p = rows.p[0]
    # Rotation and specific force over the window in the frame of the IMU, by which its scales act.
    turn = rows.window_turn[i]
    turning = rotate_inverse(p.mounting, Vec3(2.0 * turn[0], 2.0 * turn[1], 2.0 * turn[2]))
    pull = rotate_inverse(p.mounting, rows.window_velocity[i])
    none = Vec3(0.0, 0.0, 0.0)
    attitude = none
    velocity = none
    position = none
    for k in range(p.size):
        rows.gain[i, k] = 0.0
    for k in range(3):
        axis = unit(k)
        # Row k of R; that of the cross product with v is v x axis.
        turned = rotate_inverse(q, axis)
        along = rotate_inverse(p.mounting, turned) * -1.0
        derive(i, rows, ATTITUDE, axis)
        derive(i, rows, RATE_BIAS, turned * (-time))
        derive_scale(i, rows, 0, scaled(turning, along))
        attitude += axis * spread(i, rows)
        derive(i, rows, RATE_BIAS, none)
        derive_scale(i, rows, 0, none)
        derive(i, rows, ATTITUDE, cross(pushed, axis))
        derive(i, rows, VELOCITY, axis)
        derive(i, rows, FORCE_BIAS, turned * (-time))
        derive_scale(i, rows, 3, scaled(pull, along))
        velocity += axis * spread(i, rows)
        derive(i, rows, ATTITUDE, cross(shifted, axis))
        derive(i, rows, VELOCITY, axis * time)
        derive(i, rows, POSITION, axis)
        derive(i, rows, FORCE_BIAS, turned * (-0.5 * time * time))
        derive_scale(i, rows, 3, scaled(pull, along) * (0.5 * time))
        position += axis * spread(i, rows)
        derive(i, rows, ATTITUDE, none)
        derive(i, rows, VELOCITY, none)
        derive(i, rows, POSITION, none)
        derive(i, rows, FORCE_BIAS, none)
        derive_scale(i, rows, 3, none)
    rows.attitude_sigma[i] = attitude
    rows.velocity_sigma[i] = velocity
    rows.position_sigma[i] = position
