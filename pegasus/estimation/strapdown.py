"""Strapdown navigation by the readings of an IMU, and the motion since the delayed state of a filter."""

from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    conjugated,
    cross,
    matrix_of,
    normalized,
    quaternion_product,
    rotate,
    rotate_inverse,
    rotation_quaternion,
    scaled,
)
from pegasus.estimation.covariance import gain_of, predict_covariance
from pegasus.estimation.filter_rows import FilterRows


def in_the_middle(q: Quat, rate: Vec3, dt: Real) -> Quat:
    """Return the orientation in the middle of a reading.

    Args:
        q: Orientation before it.
        rate: Mean angular rate [rad/s].
        dt: Time [s].
    """
    return quaternion_product(q, rotation_quaternion(rate * (0.5 * dt)))


def after(q: Quat, rate: Vec3, dt: Real) -> Quat:
    """Return the orientation after a reading; see `in_the_middle`."""
    return normalized(quaternion_product(q, rotation_quaternion(rate * dt)))


def take_sample(i: int, rows: FilterRows) -> None:
    """Keep the newest reading of the IMU, as one at the origin of the body and in its frame.

    The velocity of a point at r is that of the origin plus omega x r: over a reading it changes by the force
    (omega' - omega) x r / dt + omega x (omega x r) more.
    """
    p = rows.p[0]
    slot = rows.newest[0]
    rate = rotate(p.mounting, rows.measured_rate[i])
    force = rotate(p.mounting, rows.measured_force[i])
    spin = rate - rows.rate_bias[i]
    dt = rows.dt[slot]
    if dt > 0.0:
        force = force - cross(rate - rows.last_rate[i], p.arm) * (1.0 / dt) - cross(spin, cross(spin, p.arm))
    rows.rate[i, slot] = rate
    rows.force[i, slot] = force
    rows.last_rate[i] = rate


def without_errors(rows: FilterRows, reading: Vec3, gain: Vec3, bias: Vec3) -> Vec3:
    """Return a reading in the body frame without bias and errors of scale, which are along the IMU's axes.

    Args:
        rows: Columns.
        reading: The reading, body frame.
        gain: Factors along the axes of the IMU; see `gain_of`.
        bias: Bias, body frame.
    """
    p = rows.p[0]
    if p.scale < 0:
        return reading - bias
    return rotate(p.mounting, scaled(gain, rotate_inverse(p.mounting, reading - bias)))


def navigate(i: int, rows: FilterRows) -> None:
    """Advance the state of the filter by its next reading of the IMU."""
    slot = rows.oldest[0]
    dt = rows.dt[slot]
    rate = without_errors(rows, rows.rate[i, slot], gain_of(i, rows, 0), rows.rate_bias[i])
    force = without_errors(rows, rows.force[i, slot], gain_of(i, rows, 3), rows.force_bias[i])
    q = rows.q[i]
    half = in_the_middle(q, rate, dt)
    push = rotate(half, force) * dt
    predict_covariance(i, rows, half, rate, force, dt)
    v = rows.v[i]
    faster = v + push + rows.gravity[i] * dt
    rows.r[i] = rows.r[i] + (v + faster) * (0.5 * dt)
    rows.v[i] = faster
    rows.q[i] = after(q, rate, dt)


def clear_window(i: int, rows: FilterRows) -> None:
    """Begin the motion since the state of the filter anew."""
    rows.lag[i] = 0
    rows.window_turn[i] = Quat(0.0, 0.0, 0.0, 1.0)
    rows.window_velocity[i] = Vec3(0.0, 0.0, 0.0)
    rows.window_shift[i] = Vec3(0.0, 0.0, 0.0)
    rows.window_time[i] = 0.0
    rows.window_rate_bias[i] = rows.rate_bias[i]
    rows.window_force_bias[i] = rows.force_bias[i]
    rows.window_rate_gain[i] = gain_of(i, rows, 0)
    rows.window_force_gain[i] = gain_of(i, rows, 3)


def append(i: int, rows: FilterRows, slot: int) -> None:
    """Add a reading at the end of the motion since the state of the filter."""
    dt = rows.dt[slot]
    rate = without_errors(rows, rows.rate[i, slot], rows.window_rate_gain[i], rows.window_rate_bias[i])
    force = without_errors(rows, rows.force[i, slot], rows.window_force_gain[i], rows.window_force_bias[i])
    turn = rows.window_turn[i]
    push = rotate(in_the_middle(turn, rate, dt), force) * dt
    v = rows.window_velocity[i]
    rows.window_shift[i] = rows.window_shift[i] + (v + push * 0.5) * dt
    rows.window_velocity[i] = v + push
    rows.window_turn[i] = after(turn, rate, dt)
    rows.window_time[i] = rows.window_time[i] + dt
    rows.lag[i] = rows.lag[i] + 1


def drop(i: int, rows: FilterRows, slot: int) -> None:
    """Remove the reading at the beginning of the motion since the state of the filter."""
    dt = rows.dt[slot]
    rate = without_errors(rows, rows.rate[i, slot], rows.window_rate_gain[i], rows.window_rate_bias[i])
    force = without_errors(rows, rows.force[i, slot], rows.window_force_gain[i], rows.window_force_bias[i])
    start = Quat(0.0, 0.0, 0.0, 1.0)
    push = rotate(in_the_middle(start, rate, dt), force) * dt
    turn = after(start, rate, dt)
    rest = rows.window_time[i] - dt
    shift = rows.window_shift[i] - push * (0.5 * dt) - push * rest
    rows.window_shift[i] = rotate_inverse(turn, shift)
    rows.window_velocity[i] = rotate_inverse(turn, rows.window_velocity[i] - push)
    rows.window_turn[i] = normalized(quaternion_product(conjugated(turn), rows.window_turn[i]))
    rows.window_time[i] = rest
    rows.lag[i] = rows.lag[i] - 1


def rebuild_window(i: int, rows: FilterRows) -> None:
    """Compute the motion since the state of the filter anew, with its present biases and without rounding."""
    n = rows.p[0].lag + 1
    count = rows.lag[i]
    clear_window(i, rows)
    for k in range(count):
        append(i, rows, (rows.newest[0] + n + 1 - count + k) % n)


def present_state(i: int, rows: FilterRows) -> None:
    """Write the estimate of the present state: that of the filter, carried on by the motion since then."""
    q = rows.q[i]
    g = rows.gravity[i]
    dt = rows.window_time[i]
    slot = rows.newest[0]
    v = rows.v[i]
    now = normalized(quaternion_product(q, rows.window_turn[i]))
    rate = without_errors(rows, rows.rate[i, slot], gain_of(i, rows, 0), rows.rate_bias[i])
    force = without_errors(rows, rows.force[i, slot], gain_of(i, rows, 3), rows.force_bias[i])
    rows.position[i] = rows.r[i] + (v + g * (0.5 * dt)) * dt + rotate(q, rows.window_shift[i])
    rows.velocity[i] = v + g * dt + rotate(q, rows.window_velocity[i])
    rows.orientation[i] = now
    rows.rotation[i] = matrix_of(now)
    rows.acceleration[i] = rotate(now, force) + g
    if rows.dt[slot] > 0.0:
        rows.angular_acceleration[i] = (rate - rows.angular_velocity[i]) * (1.0 / rows.dt[slot])
    rows.angular_velocity[i] = rate
