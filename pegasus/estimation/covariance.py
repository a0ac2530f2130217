"""Covariance of the error state: prediction over a reading of the IMU, and update by a measured number."""

from dataclasses import dataclass

from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    cross,
    dot,
    normalized,
    quaternion_product,
    rotate,
    rotate_inverse,
    rotation_quaternion,
    scaled,
)
from pegasus.estimation.filter_rows import (
    ATTITUDE,
    CORE,
    FORCE_BIAS,
    POSITION,
    RATE_BIAS,
    VELOCITY,
    FilterRows,
)


@dataclass
class Gradient:
    """Derivatives of a measured number by the states: three vectors, two other states, and the wind."""

    attitude: Vec3
    velocity: Vec3
    position: Vec3
    state: int
    """State of an error of the sensor; below 0 for none."""
    slope: Real
    """Derivative by it."""
    other_state: int
    """Another state; below 0 for none."""
    other_slope: Real
    """Derivative by it."""
    wind: int
    """First state of the wind for a number by the velocity through the air, whose derivative by the wind is
    that by velocity with the opposite sign; below 0 for others."""


def propagate_block(
    i: int,
    rows: FilterRows,
    n: int,
    down: int,
    along: int,
    q: Quat,
    push: Vec3,
    rate: Vec3,
    force: Vec3,
    dt: Real,
) -> None:
    """Multiply each column of the covariance by the transition of a reading of the IMU, or each row.

    The errors go on by theta' = theta - R b_g dt, v' = v - (f dt) x theta - R b_a dt, with theta in the
    middle, and p' = p + v dt, with v in the middle. Source: Sola 2017, "Quaternion kinematics for the
    error-state Kalman filter", sec. 7 (global angular errors). With relative errors s of the scales of an IMU
    with the mounting M, M (M' b + s w) / (1 + s) takes the place of the bias b, element by element.

    Args:
        i: Number of the row.
        rows: Columns.
        n: Number of states.
        down: Distance from one state to the next in a column.
        along: Distance from one column to the next.
        q: Orientation in the middle.
        push: Specific force in the world, times dt [m/s].
        rate: Angular rate in the frame of the IMU [rad/s].
        force: Specific force in that frame [m/s^2].
        dt: Time [s].
    """
    p = rows.p[0]
    # Columns of the rotation matrix, times dt.
    x = rotate(q, Vec3(dt, 0.0, 0.0))
    y = rotate(q, Vec3(0.0, dt, 0.0))
    z = rotate(q, Vec3(0.0, 0.0, dt))
    half = 0.5 * dt
    rate_gain = gain_of(i, rows, 0)
    force_gain = gain_of(i, rows, 3)
    for k in range(n):
        at = k * along
        turn = entry(i, rows, at, down, ATTITUDE)
        bias = entry(i, rows, at, down, RATE_BIAS)
        if p.scale >= 0:
            own = rotate_inverse(p.mounting, bias) + scaled(rate, entry(i, rows, at, down, p.scale))
            bias = rotate(p.mounting, scaled(rate_gain, own))
        turned = turn - (x * bias[0] + y * bias[1] + z * bias[2])
        speed = entry(i, rows, at, down, VELOCITY)
        bias = entry(i, rows, at, down, FORCE_BIAS)
        if p.scale >= 0:
            own = rotate_inverse(p.mounting, bias) + scaled(force, entry(i, rows, at, down, p.scale + 3))
            bias = rotate(p.mounting, scaled(force_gain, own))
        faster = speed + cross((turn + turned) * 0.5, push) - (x * bias[0] + y * bias[1] + z * bias[2])
        moved = entry(i, rows, at, down, POSITION) + (speed + faster) * half
        put(i, rows, at, down, ATTITUDE, turned)
        put(i, rows, at, down, VELOCITY, faster)
        put(i, rows, at, down, POSITION, moved)


def gain_of(i: int, rows: FilterRows, which: int) -> Vec3:
    """Return the factors 1 / (1 + s) by the errors of scale of the gyroscope (0) or the accelerometer (3).

    They are 1 if the errors are no states.
    """
    first = rows.p[0].scale + which
    if rows.p[0].scale < 0:
        return Vec3(1.0, 1.0, 1.0)
    return Vec3(
        1.0 / (1.0 + rows.error[i, first]),
        1.0 / (1.0 + rows.error[i, first + 1]),
        1.0 / (1.0 + rows.error[i, first + 2]),
    )


def entry(i: int, rows: FilterRows, at: int, down: int, state: int) -> Vec3:
    """Return three states of a column of the covariance."""
    k = at + state * down
    return Vec3(rows.covariance[i, k], rows.covariance[i, k + down], rows.covariance[i, k + 2 * down])


def put(i: int, rows: FilterRows, at: int, down: int, state: int, value: Vec3) -> None:
    """Set three states of a column of the covariance."""
    k = at + state * down
    rows.covariance[i, k] = value[0]
    rows.covariance[i, k + down] = value[1]
    rows.covariance[i, k + 2 * down] = value[2]


def add(i: int, rows: FilterRows, n: int, state: int, variance: Real) -> None:
    """Add a variance to three states."""
    for k in range(state, state + 3):
        rows.covariance[i, k * n + k] = rows.covariance[i, k * n + k] + variance


def predict_covariance(i: int, rows: FilterRows, q: Quat, rate: Vec3, force: Vec3, dt: Real) -> None:
    """Predict the covariance over a reading of the IMU.

    Args:
        i: Number of the row.
        rows: Columns.
        q: Orientation in the middle.
        rate: Angular rate, body frame [rad/s].
        force: Specific force, body frame [m/s^2].
        dt: Time [s].
    """
    p = rows.p[0]
    n = p.size
    push = rotate(q, force) * dt
    in_imu = rotate_inverse(p.mounting, rate)
    pull = rotate_inverse(p.mounting, force)
    propagate_block(i, rows, n, n, 1, q, push, in_imu, pull, dt)
    propagate_block(i, rows, n, 1, n, q, push, in_imu, pull, dt)
    speed = p.force_variance * dt * dt
    add(i, rows, n, ATTITUDE, p.rate_variance * dt * dt)
    add(i, rows, n, VELOCITY, speed)
    add(i, rows, n, POSITION, speed * 0.25 * dt * dt)
    for k in range(3):
        a = VELOCITY + k
        b = POSITION + k
        rows.covariance[i, a * n + b] = rows.covariance[i, a * n + b] + 0.5 * dt * speed
        rows.covariance[i, b * n + a] = rows.covariance[i, b * n + a] + 0.5 * dt * speed
    add(i, rows, n, RATE_BIAS, p.rate_drive)
    add(i, rows, n, FORCE_BIAS, p.force_drive)
    if p.wind >= 0:
        for k in range(p.wind, p.wind + 2):
            rows.covariance[i, k * n + k] = rows.covariance[i, k * n + k] + rows.air[0].drive


def markov(i: int, rows: FilterRows, state: int, phi: Real, drive: Real) -> None:
    """Predict the covariance of an error of a sensor over one of its readings: e' = phi e + noise.

    Args:
        i: Number of the row.
        rows: Columns.
        state: The state.
        phi: Share of the error that remains.
        drive: Variance of the noise.
    """
    n = rows.p[0].size
    for k in range(n):
        rows.covariance[i, state * n + k] = rows.covariance[i, state * n + k] * phi
    for k in range(n):
        rows.covariance[i, k * n + state] = rows.covariance[i, k * n + state] * phi
    rows.covariance[i, state * n + state] = rows.covariance[i, state * n + state] + drive
    rows.error[i, state] = rows.error[i, state] * phi


def forget(i: int, rows: FilterRows, state: int, variance: Real) -> None:
    """Begin a state anew: without correlations, and with a variance.

    Args:
        i: Number of the row.
        rows: Columns.
        state: The state.
        variance: Its variance.
    """
    n = rows.p[0].size
    for k in range(n):
        rows.covariance[i, state * n + k] = 0.0
        rows.covariance[i, k * n + state] = 0.0
    rows.covariance[i, state * n + state] = variance


def tie(i: int, rows: FilterRows, a: int, b: int, covariance: Real) -> None:
    """Set the covariance of two states."""
    n = rows.p[0].size
    rows.covariance[i, a * n + b] = covariance
    rows.covariance[i, b * n + a] = covariance


def sloped(i: int, rows: FilterRows, k: int, n: int, h: Gradient) -> Real:
    """Return row k of the covariance times a gradient, without its part by the wind."""
    first = k * n
    value = (
        dot(entry(i, rows, first, 1, ATTITUDE), h.attitude)
        + dot(entry(i, rows, first, 1, VELOCITY), h.velocity)
        + dot(entry(i, rows, first, 1, POSITION), h.position)
    )
    if h.state >= 0:
        value += h.slope * rows.covariance[i, first + h.state]
    if h.other_state >= 0:
        value += h.other_slope * rows.covariance[i, first + h.other_state]
    return value


def write_cross(i: int, rows: FilterRows, n: int, h: Gradient) -> None:
    """Write the covariance times a gradient to `cross`."""
    for k in range(n):
        rows.cross[i, k] = sloped(i, rows, k, n, h)
    if h.wind >= 0:
        for k in range(n):
            east = k * n + h.wind
            by_east = h.velocity[0] * rows.covariance[i, east]
            rows.cross[i, k] = rows.cross[i, k] - by_east - h.velocity[1] * rows.covariance[i, east + 1]


def innovation_variance(i: int, rows: FilterRows, h: Gradient, variance: Real) -> Real:
    """Return the variance of an innovation, and write the covariances of all states with it to `cross`.

    Args:
        i: Number of the row.
        rows: Columns.
        h: Gradient of the expected value.
        variance: Variance of the noise.
    """
    n = rows.p[0].size
    write_cross(i, rows, n, h)
    expected = variance
    for k in range(3):
        expected += h.attitude[k] * rows.cross[i, ATTITUDE + k]
        expected += h.velocity[k] * rows.cross[i, VELOCITY + k]
        expected += h.position[k] * rows.cross[i, POSITION + k]
    if h.state >= 0:
        expected += h.slope * rows.cross[i, h.state]
    if h.other_state >= 0:
        expected += h.other_slope * rows.cross[i, h.other_state]
    if h.wind >= 0:
        expected -= h.velocity[0] * rows.cross[i, h.wind] + h.velocity[1] * rows.cross[i, h.wind + 1]
    return expected


def observe(
    i: int, rows: FilterRows, source: int, innovation: Real, h: Gradient, variance: Real, gate: Real
) -> Real:
    """Correct the state by a measured number, and return its normalized innovation squared.

    The covariance is updated in Joseph's form, (I - K H) P (I - K H)^T + K R K^T, which stays symmetric and
    positive when rounded. Nothing is corrected beyond the gate.

    Args:
        i: Number of the row.
        rows: Columns.
        source: Source of the measurement, such as `FIX`.
        innovation: Measured less expected value.
        h: Gradient of the expected value.
        variance: Variance R of the noise.
        gate: Largest square of the innovation over its standard deviation.
    """
    expected = innovation_variance(i, rows, h, variance)
    return assimilate(i, rows, source, innovation, h, variance, expected, gate)


def assimilate(
    i: int,
    rows: FilterRows,
    source: int,
    innovation: Real,
    h: Gradient,
    variance: Real,
    expected: Real,
    gate: Real,
) -> Real:
    """Do the work of `observe` after `innovation_variance`, whose `cross` must be that of the gradient.

    Args:
        i: Number of the row.
        rows: Columns.
        source: Source of the measurement.
        innovation: Measured less expected value.
        h: Gradient of the expected value.
        variance: Variance R of the noise.
        expected: Variance of the innovation with that of the noise.
        gate: Largest square of the innovation over its standard deviation.
    """
    n = rows.p[0].size
    square = innovation * innovation / expected
    # Not-a-number is no measurement either.
    if not square <= gate:
        rows.rejected_count[i, source] = rows.rejected_count[i, source] + 1
        return square
    rows.used_count[i, source] = rows.used_count[i, source] + 1
    for k in range(n):
        rows.gain[i, k] = rows.cross[i, k] / expected
    for k in range(n):
        gain = rows.gain[i, k]
        for m in range(n):
            rows.covariance[i, k * n + m] = rows.covariance[i, k * n + m] - gain * rows.cross[i, m]
    write_cross(i, rows, n, h)
    for k in range(n):
        left = rows.cross[i, k]
        noise = rows.gain[i, k] * variance
        for m in range(k, n):
            value = rows.covariance[i, k * n + m] + (noise - left) * rows.gain[i, m]
            rows.covariance[i, k * n + m] = value
            rows.covariance[i, m * n + k] = value
    correct(i, rows, n, innovation)
    return square


def correct(i: int, rows: FilterRows, n: int, innovation: Real) -> None:
    """Add the gains times an innovation to the state."""
    turn = gained(i, rows, ATTITUDE) * innovation
    rows.q[i] = normalized(quaternion_product(rotation_quaternion(turn), rows.q[i]))
    rows.v[i] = rows.v[i] + gained(i, rows, VELOCITY) * innovation
    rows.r[i] = rows.r[i] + gained(i, rows, POSITION) * innovation
    rows.rate_bias[i] = rows.rate_bias[i] + gained(i, rows, RATE_BIAS) * innovation
    rows.force_bias[i] = rows.force_bias[i] + gained(i, rows, FORCE_BIAS) * innovation
    for k in range(CORE, n):
        rows.error[i, k] = rows.error[i, k] + rows.gain[i, k] * innovation


def gained(i: int, rows: FilterRows, state: int) -> Vec3:
    """Return the gains of three states."""
    return Vec3(rows.gain[i, state], rows.gain[i, state + 1], rows.gain[i, state + 2])
