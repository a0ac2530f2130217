"""Rays of a lidar scan as step functions: poses when they fire, directions in the world, rosettes.

All sums have a fixed order and sines are those of `pegasus.base.fixed_sines`, so that the bits do not depend
on the processor.
"""

from dataclasses import dataclass

from pegasus.base.fixed_sines import cosine_of, sine_and_cosine, sine_ratio, wide_cosine_of, wide_sine_ratio
from pegasus.base.step_math import (
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


@dataclass(frozen=True)
class Pose:
    """Pose of a sensor in the world."""

    place: Vec3
    """Position [m]."""
    attitude: Mat33
    """Rotation from the sensor."""
    sensor: Quat
    """The same as a quaternion."""


def pose_between(
    start: Vec3, end: Vec3, heading: Quat, last_heading: Quat, share: Real, mount: Vec3, turn: Quat
) -> Pose:
    """Return the pose of a sensor between two poses of its body.

    The position is linear in time and the turn has a constant rate; both are constant beyond the ends.

    Args:
        start: Origin of the body frame at the first one, in the world [m].
        end: The same at the second one.
        heading: Unit quaternion of the first one, body to world.
        last_heading: That of the second one.
        share: Time since the first one by that between both.
        mount: Position of the sensor in the body frame [m].
        turn: Quaternion of the sensor to the body frame.
    """
    share = clamped(share, 0.0, 1.0)
    body = quaternion_product(heading, turned_by(half_turn(heading, last_heading) * share))
    sensor = quaternion_product(body, turn)
    return Pose(start + (end - start) * share + rotate(body, mount), matrix_of(sensor), sensor)


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


def rosette_ray(
    number: Real,
    quarter_fov: Real,
    first_start: Real,
    first_step: Real,
    second_start: Real,
    second_step: Real,
) -> Vec3:
    """Return the direction of a ray of a rosette in the sensor frame.

    Args:
        number: Number of the ray, from 1.
        quarter_fov: Quarter of the full opening angle [rad].
        first_start: Angle of the first prism one ray before the first [rad].
        first_step: Turn of the first prism from ray to ray [rad].
        second_start: Angle of the second prism one ray before the first [rad].
        second_step: Turn of the second prism from ray to ray [rad].
    """
    s1, c1 = sine_and_cosine(first_start + first_step * number)
    s2, c2 = sine_and_cosine(second_start + second_step * number)
    left = quarter_fov * (c1 + c2)
    up = quarter_fov * (s1 + s2)
    square = left * left + up * up
    ratio = wide_sine_ratio(square)
    return Vec3(wide_cosine_of(square), ratio * left, ratio * up)
