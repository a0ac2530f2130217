"""Rays of a lidar scan as step functions: poses when they fire, directions in the world, rosettes.

All sums have a fixed order and sines are those of `pegasus.base.fixed_sines`, so that the bits do not depend
on the processor.
"""

from dataclasses import dataclass

from pegasus.base.fixed_sines import cosine_of, sine_and_cosine, sine_ratio, wide_cosine_of, wide_sine_ratio
from pegasus.base.step_math import (
    Column,
    Mat33,
    Quat,
    Real,
    Vec3,
    clamped,
    conjugated,
    magnitude,
    matrix_of,
    norm,
    quaternion_product,
    rotate,
)

BLOCK = 128
"""Points of a rosette per row of a launch."""


@dataclass
class AimRows:
    """Body poses at S instants, and C columns of R rays that fire between them."""

    stamp: Column[Real]
    """The instants, in order [s], S rows."""
    body_position: Column[Vec3]
    """Origins of the body frame in the world [m], S rows."""
    body_orientation: Column[Quat]
    """Unit quaternions, body to world, S rows."""
    first: Column[int]
    """First column that fires in each interval between instants, and the number of columns, S rows."""
    firing: Column[Real]
    """Firing times of the columns [s], C rows."""
    local: Column[Vec3]
    """Unit directions in the sensor frame, column by column, C R rows."""
    place: Column[Vec3]
    """Positions of the sensor in the world at each firing [m], C rows."""
    attitude: Column[Mat33]
    """Sensor to world at each firing, C rows."""
    direction: Column[Vec3]
    """Unit directions in the world, C R rows."""


@dataclass
class RosetteRows:
    """Points of a rosette."""

    direction: Column[Vec3]
    """Unit directions in the sensor frame."""


def aim(
    i: int,
    rows: AimRows,
    ring_count: int,
    mount_x: Real,
    mount_y: Real,
    mount_z: Real,
    turn_x: Real,
    turn_y: Real,
    turn_z: Real,
    turn_w: Real,
) -> None:
    """Compute the poses and the rays of the columns that fire in an interval between known poses.

    The position is linear in time and the turn has a constant rate; both are constant beyond the ends.

    Args:
        i: Number of the interval.
        rows: Poses and columns.
        ring_count: Number of rings R.
        mount_x: Position of the sensor in the body frame, x [m].
        mount_y: The same, y.
        mount_z: The same, z.
        turn_x: Quaternion of the sensor to the body frame, x.
        turn_y: The same, y.
        turn_z: The same, z.
        turn_w: The same, w.
    """
    mount = Vec3(mount_x, mount_y, mount_z)
    turn = Quat(turn_x, turn_y, turn_z, turn_w)
    start = rows.body_position[i]
    move = rows.body_position[i + 1] - start
    heading = rows.body_orientation[i]
    half = half_turn(heading, rows.body_orientation[i + 1])
    begin = rows.stamp[i]
    duration = rows.stamp[i + 1] - begin
    for column in range(rows.first[i], rows.first[i + 1]):
        share = clamped((rows.firing[column] - begin) / duration, 0.0, 1.0)
        body = quaternion_product(heading, turned_by(half * share))
        sensor = quaternion_product(body, turn)
        rows.place[column] = start + move * share + rotate(body, mount)
        rows.attitude[column] = matrix_of(sensor)
        for ray in range(column * ring_count, (column + 1) * ring_count):
            rows.direction[ray] = rotate(sensor, rows.local[ray])


def half_turn(a: Quat, b: Quat) -> Vec3:
    """Return half the rotation vector from one attitude to another, in the frame of the first [rad].

    The angle h is the root of w sin(h) - s cos(h) for a quaternion with the vector part s and the real part
    w; each step of Newton's method leaves a sixth of the cube of its error.

    Args:
        a: Unit quaternion of the first attitude.
        b: That of the second.
    """
    turn = quaternion_product(conjugated(a), b)
    axis = Vec3(turn[0], turn[1], turn[2])
    sine = norm(axis)
    ratio = 1.0
    if sine >= 1e-8:
        cosine = magnitude(turn[3])
        angle = sine
        for _ in range(4):
            square = angle * angle
            angle = angle - (cosine * angle * sine_ratio(square) - sine * cosine_of(square))
        ratio = angle / sine
    # q and -q are the same rotation; the one with w >= 0 has the smaller angle.
    if turn[3] < 0.0:
        ratio = -ratio
    return axis * ratio


def turned_by(half: Vec3) -> Quat:
    """Return the unit quaternion of a rotation by at most pi.

    Args:
        half: Half its rotation vector [rad].
    """
    square = half[0] * half[0] + half[1] * half[1] + half[2] * half[2]
    ratio = sine_ratio(square)
    return Quat(half[0] * ratio, half[1] * ratio, half[2] * ratio, cosine_of(square))


def euler_turn(roll: Real, pitch: Real, yaw: Real) -> Quat:
    """Return the quaternion of the rotations yaw about z, then pitch about y, then roll about x (ZYX).

    Args:
        roll: Roll angle [rad].
        pitch: Pitch angle [rad].
        yaw: Yaw angle [rad].
    """
    sr, cr = sine_and_cosine(0.5 * roll)
    sp, cp = sine_and_cosine(0.5 * pitch)
    sy, cy = sine_and_cosine(0.5 * yaw)
    about_y = quaternion_product(Quat(0.0, sp, 0.0, cp), Quat(sr, 0.0, 0.0, cr))
    return quaternion_product(Quat(0.0, 0.0, sy, cy), about_y)


def trace_rosette(
    i: int,
    rows: RosetteRows,
    count: int,
    quarter_fov: Real,
    first_start: Real,
    first_step: Real,
    second_start: Real,
    second_step: Real,
) -> None:
    """Compute one block of the directions of a rosette.

    Args:
        i: Number of the block.
        rows: The points.
        count: Number of all points.
        quarter_fov: Quarter of the full opening angle [rad].
        first_start: Angle of the first prism one point before the first [rad].
        first_step: Turn of the first prism from point to point [rad].
        second_start: Angle of the second prism one point before the first [rad].
        second_step: Turn of the second prism from point to point [rad].
    """
    begin = i * BLOCK
    end = begin + BLOCK
    if end > count:
        end = count
    s1, c1 = sine_and_cosine(first_start + first_step * Real(begin))
    s2, c2 = sine_and_cosine(second_start + second_step * Real(begin))
    # From point to point the prisms turn by the same angles.
    t1, d1 = sine_and_cosine(first_step)
    t2, d2 = sine_and_cosine(second_step)
    for k in range(begin, end):
        next_1 = s1 * d1 + c1 * t1
        c1 = c1 * d1 - s1 * t1
        s1 = next_1
        next_2 = s2 * d2 + c2 * t2
        c2 = c2 * d2 - s2 * t2
        s2 = next_2
        left = quarter_fov * (c1 + c2)
        up = quarter_fov * (s1 + s2)
        square = left * left + up * up
        ratio = wide_sine_ratio(square)
        rows.direction[k] = Vec3(wide_cosine_of(square), ratio * left, ratio * up)
