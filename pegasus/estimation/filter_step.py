"""Step of the error-state filter: first attitude at rest, prediction, measurements and present state."""

from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    cross,
    dot,
    norm,
    normalized,
    rotate,
    rotate_inverse,
    sqrt,
)
from pegasus.estimation.covariance import forget, tie
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
    READY,
    REST,
    VELOCITY,
    WAITING,
    FilterRows,
    MagnetometerErrors,
)
from pegasus.estimation.measurements import (
    STANDSTILL,
    advance_magnetometer,
    forget_gps,
    gate_of,
    unit,
    use_barometer,
    use_gps,
    use_magnetometer,
    use_rest,
    use_uwb,
)
from pegasus.estimation.relative import heading_of, use_flow, use_pose, use_range
from pegasus.estimation.strapdown import (
    append,
    clear_window,
    drop,
    navigate,
    present_state,
    rebuild_window,
    take_sample,
)
from pegasus.estimation.wind import use_airspeed, use_drag

_ANY_HEADING = 1.0
"""Variance of a heading before the first reading of the magnetometer [rad^2]."""
_KNOWN_ATTITUDE = 1e-6
"""Variance of the attitude of a vehicle whose start is known [rad^2]."""


def estimate_state(i: int, rows: FilterRows) -> None:
    """Take a reading of the IMU, and measurements of the same time as the delayed state of the filter."""
    p = rows.p[0]
    if rows.phase[i] == ALIGNING:
        take_sample(i, rows)
        if p.known == 1:
            start_known(i, rows)
        else:
            align(i, rows)
    else:
        take_sample(i, rows)
        append(i, rows, rows.newest[0])
        if rows.lag[i] > p.lag:
            navigate(i, rows)
            drop(i, rows, rows.oldest[0])
            measure(i, rows)
        if rows.newest[0] == 0:
            rebuild_window(i, rows)
    if rows.phase[i] != ALIGNING:
        present_state(i, rows)


def measure(i: int, rows: FilterRows) -> None:
    """Correct the state of the filter by the measurements that are due."""
    p = rows.p[0]
    if rows.due[REST] == 1 and rows.phase[i] == WAITING:
        use_rest(i, rows)
    if rows.due[FIELD] == 1:
        advance_magnetometer(i, rows)
        variance = rows.magnetometer[0].white_variance
        use_magnetometer(i, rows, rows.field[i], variance, gate_of(i, rows, FIELD))
    if rows.due[PRESSURE] == 1:
        use_barometer(i, rows)
    if rows.due[DISTANCE] == 1:
        use_range(i, rows)
    if rows.due[FLOW] == 1:
        use_flow(i, rows)
    if rows.due[POSE] == 1:
        use_pose(i, rows)
    if rows.due[ANCHORS] == 1 and rows.phase[i] == READY:
        use_uwb(i, rows)
    if rows.due[FIX] == 1:
        use_gps(i, rows)
    if rows.due[AIRSPEED] == 1:
        use_airspeed(i, rows)
    if rows.due[DRAG] == 1 and rows.airborne[i] == 1:
        use_drag(i, rows)
    placed = rows.used_count[i, FIX] > 0 or rows.used_count[i, POSE] > 0
    if rows.phase[i] == WAITING and (placed or p.used[FIX] + p.used[POSE] == 0.0):
        rows.phase[i] = READY
        rows.ready[i] = 1


def align(i: int, rows: FilterRows) -> None:
    """Add a reading to the means at rest, and start the filter when there are enough."""
    p = rows.p[0]
    slot = rows.newest[0]
    rate = rows.rate[i, slot]
    force = rows.force[i, slot]
    off = norm(force) - norm(rows.gravity[i])
    moves = norm(rate) > p.rest_rate or off > p.rest_force or off < -p.rest_force
    if moves:
        rows.sample_count[i] = 0
        rows.field_count[i] = 0
    else:
        if rows.sample_count[i] == 0:
            rows.mean_rate[i] = Vec3(0.0, 0.0, 0.0)
            rows.mean_force[i] = Vec3(0.0, 0.0, 0.0)
            rows.mean_field[i] = Vec3(0.0, 0.0, 0.0)
        rows.mean_rate[i] = rows.mean_rate[i] + rate
        rows.mean_force[i] = rows.mean_force[i] + force
        rows.sample_count[i] = rows.sample_count[i] + 1
        if rows.field_is_new[0] == 1:
            rows.mean_field[i] = rows.mean_field[i] + rows.newest_field[i]
            rows.field_count[i] = rows.field_count[i] + 1
    if rows.sample_count[i] >= p.samples and rows.field_count[i] > 0:
        start_at_rest(i, rows)


def quaternion_of(x: Vec3, y: Vec3, z: Vec3) -> Quat:
    """Return the unit quaternion of a rotation matrix, given by its rows.

    Source: Shepperd 1978, "Quaternion from rotation matrix": the largest component is computed first.
    """
    trace = x[0] + y[1] + z[2]
    if trace > 0.0:
        s = 2.0 * sqrt(1.0 + trace)
        return normalized(Quat((z[1] - y[2]) / s, (x[2] - z[0]) / s, (y[0] - x[1]) / s, 0.25 * s))
    if x[0] > y[1] and x[0] > z[2]:
        s = 2.0 * sqrt(1.0 + x[0] - y[1] - z[2])
        return normalized(Quat(0.25 * s, (x[1] + y[0]) / s, (x[2] + z[0]) / s, (z[1] - y[2]) / s))
    if y[1] > z[2]:
        s = 2.0 * sqrt(1.0 + y[1] - x[0] - z[2])
        return normalized(Quat((x[1] + y[0]) / s, 0.25 * s, (y[2] + z[1]) / s, (x[2] - z[0]) / s))
    s = 2.0 * sqrt(1.0 + z[2] - x[0] - y[1])
    return normalized(Quat((x[2] + z[0]) / s, (y[2] + z[1]) / s, 0.25 * s, (y[0] - x[1]) / s))


def level(force: Vec3, field: Vec3, earth: Vec3) -> Quat:
    """Return the orientation in which a force points up, and a field horizontally as that of the Earth.

    Source: Black 1964, "A passive system for determining the attitude of a satellite" (TRIAD).

    Args:
        force: Specific force at rest, body frame [m/s^2].
        field: Magnetic field without iron, body frame [T].
        earth: Magnetic field in the world [T].
    """
    up = force * (1.0 / norm(force))
    flat = field - up * dot(up, field)
    flat = flat * (1.0 / norm(flat))
    aside = cross(up, flat)
    size = sqrt(earth[0] * earth[0] + earth[1] * earth[1])
    c = earth[0] / size
    s = earth[1] / size
    return quaternion_of(flat * c - aside * s, flat * s + aside * c, up)


def without_iron(e: MagnetometerErrors, field: Vec3) -> Vec3:
    """Return a field without the iron of the vehicle: S^-1 (m - h), by Cramer's rule."""
    m = field - e.hard
    a = cross(e.soft_y, e.soft_z)
    b = cross(e.soft_z, e.soft_x)
    c = cross(e.soft_x, e.soft_y)
    return (a * m[0] + b * m[1] + c * m[2]) * (1.0 / dot(e.soft_x, a))


def start_at_rest(i: int, rows: FilterRows) -> None:
    """Start the filter of a vehicle that stands: level by gravity, heading by the magnetometer."""
    p = rows.p[0]
    n = p.size
    count = Real(rows.sample_count[i])
    fields = Real(rows.field_count[i])
    force = rows.mean_force[i] * (1.0 / count)
    field = rows.mean_field[i] * (1.0 / fields)
    # By odometry, the direction of its x axis takes the place of the field.
    q = level(force, Vec3(1.0, 0.0, 0.0), heading_of(rows.newest_pose[i]))
    if p.used[FIELD] > 0.0:
        q = level(force, without_iron(rows.magnetometer[0], field), rows.earth_field[i])
    start(i, rows, q, rows.start_position[i], Vec3(0.0, 0.0, 0.0))
    rows.rate_bias[i] = rows.mean_rate[i] * (1.0 / count)
    rows.window_rate_bias[i] = rows.rate_bias[i]
    for k in range(RATE_BIAS, RATE_BIAS + 3):
        rows.covariance[i, k * n + k] = p.rate_variance / count
    # The error of the level follows from that of the accelerometer: R b = theta x g.
    size = norm(rows.gravity[i])
    bias = p.force_bias_variance
    tilt = (bias + p.force_variance / count) / (size * size)
    for k in range(2):
        rows.covariance[i, (ATTITUDE + k) * n + ATTITUDE + k] = tilt
    if p.scale >= 0:
        tilt_by_scale(i, rows, q, force, size)
    for k in range(3):
        column = rotated_axis(q, k)
        tie(i, rows, ATTITUDE, FORCE_BIAS + k, -column[1] * bias / size)
        tie(i, rows, ATTITUDE + 1, FORCE_BIAS + k, column[0] * bias / size)
    rows.covariance[i, (ATTITUDE + 2) * n + ATTITUDE + 2] = _ANY_HEADING
    if p.used[FIELD] > 0.0:
        variance = rows.magnetometer[0].white_variance / fields
        use_magnetometer(i, rows, field, variance, 1e300)


def tilt_by_scale(i: int, rows: FilterRows, q: Quat, force: Vec3, gravity: Real) -> None:
    """Add the error of the level by the scales of the accelerometer, which act like biases: R M (s f).

    Args:
        i: Number of the row.
        rows: Columns.
        q: Orientation.
        force: Mean specific force at rest, body frame [m/s^2].
        gravity: Acceleration of free fall [m/s^2].
    """
    p = rows.p[0]
    n = p.size
    pull = rotate_inverse(p.mounting, force)
    for k in range(3):
        variance = p.scale_variance[3 + k]
        axis = rotate(q, rotate(p.mounting, unit(k))) * (pull[k] / gravity)
        state = p.scale + 3 + k
        tie(i, rows, ATTITUDE, state, -axis[1] * variance)
        tie(i, rows, ATTITUDE + 1, state, axis[0] * variance)
        slopes = Vec3(-axis[1], axis[0], 0.0)
        for a in range(2):
            for b in range(2):
                place = (ATTITUDE + a) * n + ATTITUDE + b
                rows.covariance[i, place] = rows.covariance[i, place] + slopes[a] * slopes[b] * variance


def start_known(i: int, rows: FilterRows) -> None:
    """Start the filter of a vehicle whose state is known."""
    n = rows.p[0].size
    start(i, rows, rows.start_orientation[i], rows.start_position[i], rows.start_velocity[i])
    for k in range(ATTITUDE, ATTITUDE + 3):
        rows.covariance[i, k * n + k] = _KNOWN_ATTITUDE
    rows.phase[i] = READY
    rows.ready[i] = 1


def start(i: int, rows: FilterRows, q: Quat, r: Vec3, v: Vec3) -> None:
    """Start the filter with a state, and with the variances of all errors but that of the attitude.

    Args:
        i: Number of the row.
        rows: Columns.
        q: Orientation.
        r: Position [m].
        v: Velocity [m/s].
    """
    p = rows.p[0]
    n = p.size
    rows.q[i] = q
    rows.r[i] = r
    rows.v[i] = v
    rows.rate_bias[i] = Vec3(0.0, 0.0, 0.0)
    rows.force_bias[i] = Vec3(0.0, 0.0, 0.0)
    clear_window(i, rows)
    for k in range(n):
        rows.error[i, k] = 0.0
        forget(i, rows, k, 0.0)
    for k in range(3):
        rows.covariance[i, (VELOCITY + k) * n + VELOCITY + k] = STANDSTILL
        rows.covariance[i, (POSITION + k) * n + POSITION + k] = p.position_variance[k]
        rows.covariance[i, (RATE_BIAS + k) * n + RATE_BIAS + k] = p.rate_bias_variance
        rows.covariance[i, (FORCE_BIAS + k) * n + FORCE_BIAS + k] = p.force_bias_variance
    if p.scale >= 0:
        for k in range(6):
            forget(i, rows, p.scale + k, p.scale_variance[k])
    if p.wind >= 0:
        for k in range(2):
            forget(i, rows, p.wind + k, rows.air[0].variance)
    if p.used[AIRSPEED] > 0.0:
        forget(i, rows, rows.airspeed[0].first, rows.airspeed[0].variance)
    if p.used[FIX] > 0.0:
        forget_gps(i, rows)
    if p.used[PRESSURE] > 0.0:
        forget(i, rows, rows.barometer[0].first, rows.barometer[0].variance)
    if p.used[FIELD] > 0.0:
        for k in range(3):
            forget(i, rows, rows.magnetometer[0].first + k, rows.magnetometer[0].variance)
    if p.used[POSE] > 0.0:
        for k in range(3):
            forget(i, rows, rows.pose[0].first + k, rows.pose[0].variance[k])
        forget(i, rows, rows.pose[0].first + 3, rows.pose[0].yaw_variance)
    if p.used[DISTANCE] + p.used[FLOW] > 0.0:
        # The vehicle stands on the ground, however high that is.
        g = rows.ground[0]
        rows.error[i, g.first] = r[2] - g.clearance
        forget(i, rows, g.first, g.variance)
        if p.known == 0:
            forget(i, rows, g.first, p.position_variance[2] + g.variance)
            tie(i, rows, g.first, POSITION + 2, p.position_variance[2])
    rows.phase[i] = WAITING


def rotated_axis(q: Quat, k: int) -> Vec3:
    """Return an axis of the body in the world."""
    if k == 0:
        return Vec3(1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2]), 2.0 * (q[0] * q[1] + q[2] * q[3]),
                    2.0 * (q[0] * q[2] - q[1] * q[3]))  # fmt: skip
    if k == 1:
        return Vec3(2.0 * (q[0] * q[1] - q[2] * q[3]), 1.0 - 2.0 * (q[0] * q[0] + q[2] * q[2]),
                    2.0 * (q[1] * q[2] + q[0] * q[3]))  # fmt: skip
    return Vec3(2.0 * (q[0] * q[2] + q[1] * q[3]), 2.0 * (q[1] * q[2] - q[0] * q[3]),
                1.0 - 2.0 * (q[0] * q[0] + q[1] * q[1]))  # fmt: skip
