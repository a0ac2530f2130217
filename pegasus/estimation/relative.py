"""Measurements relative to the ground and to a drifting frame: range, optical flow and odometry."""

from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    atan2,
    conjugated,
    cos,
    cross,
    dot,
    maximum,
    quaternion_product,
    rotate,
    rotate_inverse,
    rotation_quaternion,
    rotation_vector,
    sin,
    sqrt,
)
from pegasus.estimation.covariance import Gradient, forget, markov, observe
from pegasus.estimation.filter_rows import DISTANCE, FLOW, POSE, POSITION, FilterRows
from pegasus.estimation.measurements import gate_of

_STEEPEST = 0.5
"""Cosine of the largest angle of a beam to the vertical at which a range is used."""
_CONE_ERROR = 0.02
"""Error of a range by a cone of few rays, relative to it."""
_MARGIN = 4.0
"""Distance to the limits of a sensor, in standard deviations; nearer ones have errors inwards only."""
_KNOWN_HEIGHT = 0.1
"""Standard deviation of the height over the ground, relative to it, up to which a flow is used."""
_REFUSALS = 20
"""Ranges beyond the gate in a row after which the ground is another one."""
_ANY_GROUND = 1e4
"""Variance of the height of another ground [m^2]."""


def beam(i: int, rows: FilterRows, place: Vec3, direction: Vec3, half_cone: Real) -> tuple[Real, Real, Vec3]:
    """Return the expected distance to the ground along a beam, its slope by height, and that by attitude.

    The height over the ground is divided by the cosine of the beam's angle to the vertical. In a cone the
    nearest point counts: the height itself as long as the vertical is in the cone.

    Args:
        i: Number of the row.
        rows: Columns.
        place: Position of the sensor in the body frame [m].
        direction: Direction of the beam in the body frame.
        half_cone: Angle from the axis of the cone to its rim [rad]; 0 for a beam.
    """
    arm = rotate(rows.q[i], place)
    down = rotate(rows.q[i], direction)
    height = rows.r[i][2] + arm[2] - rows.error[i, rows.ground[0].first]
    cosine = maximum(-down[2], 1e-3)
    sine = sqrt(maximum(1.0 - cosine * cosine, 0.0))
    angle = maximum(atan2(sine, cosine) - half_cone, 0.0)
    part = 1.0
    if half_cone > 0.0:
        part = sin(angle) / maximum(sine, 1e-6)
        cosine = cos(angle)
    slope = 1.0 / cosine
    tilt = Vec3(down[1], -down[0], 0.0) * (part * height * slope * slope)
    return height * slope, slope, Vec3(arm[1], -arm[0], 0.0) * slope + tilt


def advance_ground(i: int, rows: FilterRows, time: Real) -> None:
    """Add the roughness of the ground that a vehicle has passed in a time [s] to its variance."""
    e = rows.ground[0]
    v = rows.v[i]
    n = rows.p[0].size
    k = e.first * n + e.first
    passed = sqrt(v[0] * v[0] + v[1] * v[1]) * time
    rows.covariance[i, k] = rows.covariance[i, k] + e.roughness * passed


def use_distance(
    i: int,
    rows: FilterRows,
    source: int,
    measured: Real,
    place: Vec3,
    direction: Vec3,
    cone: Real,
    variance: Real,
) -> Real:
    """Correct the state by a distance to the ground, and return its normalized innovation squared.

    Args:
        i: Number of the row.
        rows: Columns.
        source: Source of the measurement.
        measured: Distance [m].
        place: Position of the sensor in the body frame [m].
        direction: Direction of the beam in the body frame.
        cone: Angle from the axis of the cone to its rim [rad]; 0 for a beam.
        variance: Variance of its noise [m^2].
    """
    expected, slope, turn = beam(i, rows, place, direction, cone)
    state = rows.ground[0].first
    none = Vec3(0.0, 0.0, 0.0)
    h = Gradient(turn, none, Vec3(0.0, 0.0, slope), state, -slope, -1, 0.0, -1)
    before = rows.rejected_count[i, source]
    square = observe(i, rows, source, measured - expected, h, variance, gate_of(i, rows, source))
    if rows.rejected_count[i, source] > before:
        rows.refusals[i] = rows.refusals[i] + 1
        if rows.refusals[i] >= _REFUSALS:
            # A roof, or the edge of one: the ground is found anew.
            rows.refusals[i] = 0
            forget(i, rows, state, _ANY_GROUND)
    else:
        rows.refusals[i] = 0
    return square


def use_range(i: int, rows: FilterRows) -> None:
    """Correct the state by the distance of a rangefinder that looks down."""
    e = rows.range[0]
    advance_ground(i, rows, Real(rows.passed[DISTANCE]) * e.period)
    measured = rows.range_distance[i]
    sigma = e.noise + e.proportional * measured
    within = measured - _MARGIN * sigma > e.least and measured + _MARGIN * sigma < e.most
    if within and rows.range_valid[i] == 1 and -rotate(rows.q[i], e.direction)[2] > _STEEPEST:
        variance = sigma * sigma
        if e.half_cone > 0.0:
            variance += _CONE_ERROR * _CONE_ERROR * measured * measured
        square = use_distance(i, rows, DISTANCE, measured, e.place, e.direction, e.half_cone, variance)
        rows.nis[i, DISTANCE] = square


def expected_flow(i: int, rows: FilterRows) -> Vec3:
    """Return the expected flow about x and y by translation, and the distance along the camera's axis."""
    e = rows.flow[0]
    distance, _slope, _turn = beam(i, rows, e.place, Vec3(0.0, 0.0, -1.0), 0.0)
    spin = rows.rate[i, rows.oldest[0]] - rows.rate_bias[i]
    speed = rotate_inverse(rows.q[i], rows.v[i]) + cross(spin, e.place)
    d = maximum(distance, e.least)
    return Vec3(speed[1] / d, -speed[0] / d, d)


def height_is_known(i: int, rows: FilterRows) -> bool:
    """Return whether the height over the ground, which flow is relative to, is known well."""
    n = rows.p[0].size
    z = POSITION + 2
    g = rows.ground[0].first
    height = rows.r[i][2] - rows.error[i, g]
    both = rows.covariance[i, z * n + z] + rows.covariance[i, g * n + g]
    variance = both - 2.0 * rows.covariance[i, z * n + g]
    return height > 0.0 and variance < _KNOWN_HEIGHT * _KNOWN_HEIGHT * height * height


def use_flow(i: int, rows: FilterRows) -> None:
    """Correct the state by an optical flow less the rotation, the mean of the flows at both its readings."""
    e = rows.flow[0]
    time = rows.flow_time[0]
    down = Vec3(0.0, 0.0, -1.0)
    if rows.p[0].used[DISTANCE] == 0.0:
        advance_ground(i, rows, time)
    level = rotate(rows.q[i], Vec3(0.0, 0.0, 1.0))[2]
    margin = _MARGIN * sqrt(e.distance_variance)
    within = rows.flow_distance[i] - margin > e.least and rows.flow_distance[i] + margin < e.most
    if within and level > _STEEPEST:
        use_distance(i, rows, FLOW, rows.flow_distance[i], e.place, down, 0.0, e.distance_variance)
    usable = rows.flow_valid[i] == 1 and level > _STEEPEST and height_is_known(i, rows)
    if usable and rows.flow_before[i][2] > 0.0:
        total = 0.0
        gate = rows.p[0].gate
        for axis in range(2):
            expected = expected_flow(i, rows)
            d = expected[2]
            _distance, slope, turn = beam(i, rows, e.place, down, 0.0)
            aside = rotate(rows.q[i], Vec3(-1.0, 0.0, 0.0))
            if axis == 0:
                aside = rotate(rows.q[i], Vec3(0.0, 1.0, 0.0))
            share = -time * expected[axis] / d
            h = Gradient(
                cross(aside, rows.v[i]) * (time / d) + turn * share,
                aside * (time / d),
                Vec3(0.0, 0.0, slope * share),
                rows.ground[0].first,
                -slope * share,
                -1,
                0.0,
                -1,
            )
            mean = 0.5 * (rows.flow_before[i][axis] + expected[axis])
            innovation = rows.flow_angle[i][axis] - mean * time
            total += observe(i, rows, FLOW, innovation, h, e.variance * time, gate)
        rows.nis[i, FLOW] = total
    rows.flow_before[i] = Vec3(0.0, 0.0, 0.0)
    if usable:
        rows.flow_before[i] = expected_flow(i, rows)


def turned_row(k: int, yaw: Real) -> Vec3:
    """Return a row of the rotation about the vertical."""
    if k == 0:
        return Vec3(cos(yaw), -sin(yaw), 0.0)
    if k == 1:
        return Vec3(sin(yaw), cos(yaw), 0.0)
    return Vec3(0.0, 0.0, 1.0)


def yaw_slope(k: int, yaw: Real, v: Vec3) -> Real:
    """Return the derivative of a component of a vector, rotated about the vertical, by the angle."""
    if k == 0:
        return -sin(yaw) * v[0] - cos(yaw) * v[1]
    if k == 1:
        return cos(yaw) * v[0] - sin(yaw) * v[1]
    return 0.0


def use_pose(i: int, rows: FilterRows) -> None:
    """Correct the state by an odometry, whose frame is displaced and rotated about where it began."""
    e = rows.pose[0]
    heading = e.first + 3
    for _ in range(rows.passed[POSE]):
        for k in range(3):
            markov(i, rows, e.first + k, e.phi, e.drive[k])
        markov(i, rows, heading, e.phi, e.yaw_drive)
    if rows.pose_reset[0] == 1:
        for k in range(3):
            forget(i, rows, e.first + k, e.variance[k])
            rows.error[i, e.first + k] = 0.0
        forget(i, rows, heading, e.yaw_variance)
        rows.error[i, heading] = 0.0
    age = rows.age[POSE]
    spin = rows.rate[i, rows.oldest[0]] - rows.rate_bias[i]
    none = Vec3(0.0, 0.0, 0.0)
    gate = gate_of(i, rows, POSE)
    total = 0.0
    for k in range(3):
        yaw = rows.error[i, heading]
        axis = turned_row(k, yaw)
        offset = rows.r[i] - rows.v[i] * age - rows.pivot[i]
        expected = rows.pivot[i][k] + dot(axis, offset) + rows.error[i, e.first + k]
        h = Gradient(none, axis * (-age), axis, e.first + k, 1.0, heading, yaw_slope(k, yaw, offset), -1)
        total += observe(i, rows, POSE, rows.pose_position[i][k] - expected, h, e.position_variance, gate)
    for k in range(3):
        yaw = rows.error[i, heading]
        axis = turned_row(k, yaw)
        slope = yaw_slope(k, yaw, rows.v[i])
        h = Gradient(none, axis, none, heading, slope, -1, 0.0, -1)
        innovation = rows.pose_velocity[i][k] - dot(axis, rows.v[i])
        total += observe(i, rows, POSE, innovation, h, e.velocity_variance, gate)
    for k in range(3):
        yaw = rows.error[i, heading]
        then = quaternion_product(rows.q[i], rotation_quaternion(spin * (-age)))
        expected_turn = quaternion_product(rotation_quaternion(Vec3(0.0, 0.0, yaw)), then)
        off = rotation_vector(quaternion_product(rows.pose_orientation[i], conjugated(expected_turn)))
        slope = 0.0
        if k == 2:
            slope = 1.0
        h = Gradient(turned_row(k, yaw), none, none, heading, slope, -1, 0.0, -1)
        total += observe(i, rows, POSE, off[k], h, e.orientation_variance, gate)
    rows.nis[i, POSE] = total


def heading_of(q: Quat) -> Vec3:
    """Return the horizontal direction of the x axis, of length 1."""
    x = 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])
    y = 2.0 * (q[0] * q[1] + q[2] * q[3])
    size = maximum(sqrt(x * x + y * y), 1e-9)
    return Vec3(x / size, y / size, 0.0)
