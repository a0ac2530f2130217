"""Motion at an instant between two physics steps, for sensors with latency."""

from pegasus.base.step_math import (
    Quat,
    Real,
    Vec3,
    conjugated,
    cross,
    quaternion_product,
    rotation_quaternion,
    rotation_vector,
)


def between(start: Vec3, end: Vec3, share: Real) -> Vec3:
    """Return the linear interpolation of two vectors.

    Args:
        start: Value at the start.
        end: Value at the end.
        share: Elapsed fraction of the interval, 0 to 1.
    """
    return start + (end - start) * share


def hermite(start: Vec3, start_rate: Vec3, end: Vec3, end_rate: Vec3, share: Real, dt: Real) -> Vec3:
    """Return the cubic Hermite interpolation of values and rates at both ends of an interval.

    Args:
        start: Value at the start.
        start_rate: Its rate there.
        end: Value at the end.
        end_rate: Its rate there.
        share: Elapsed fraction of the interval, 0 to 1.
        dt: Length of the interval [s].
    """
    left = 1.0 - share
    values = start * ((1.0 + 2.0 * share) * left * left) + end * ((1.0 + 2.0 * left) * share * share)
    return values + start_rate * (share * left * left * dt) - end_rate * (share * share * left * dt)


def hermite_orientation(
    start: Quat, start_rate: Vec3, end: Quat, end_rate: Vec3, share: Real, dt: Real
) -> Quat:
    """Return the Hermite interpolation of two orientations by their rotation vector.

    The rate of the rotation vector v at the end is w + v x w / 2 + ... with the angular velocity w; the terms
    left out make an error of the order of the cubic.

    Args:
        start: Orientation at the start.
        start_rate: Angular velocity there, in the body frame [rad/s].
        end: Orientation at the end.
        end_rate: Angular velocity there, in the body frame [rad/s].
        share: Elapsed fraction of the interval, 0 to 1.
        dt: Length of the interval [s].
    """
    turn = rotation_vector(quaternion_product(conjugated(start), end))
    turn_rate = end_rate + cross(turn, end_rate) * 0.5
    vector = hermite(turn * 0.0, start_rate, turn, turn_rate, share, dt)
    return quaternion_product(start, rotation_quaternion(vector))
