"""Names of step functions: numbers, small vectors, elementary functions, and columns of rows.

A step function is a plain function of numbers and small vectors. Python runs it as it stands; traced
(`pegasus.base.tracing`) and compiled it has the same bits.
"""

from pegasus.base.elementary import (
    NARROW,
    asin,
    atan2,
    bent_arc_tangent,
    cos,
    exp,
    expm1,
    log,
    power,
    sin,
    tan,
)
from pegasus.base.step_types import (
    NOTHING,
    TURN,
    Column,
    Known,
    Mat33,
    Quat,
    Real,
    Reals,
    Table,
    Vec3,
    Word,
    clamped,
    floor,
    length,
    magnitude,
    maximum,
    minimum,
    sqrt,
    wrapped,
)

__all__ = [
    "NOTHING",
    "TURN",
    "Column",
    "Known",
    "Mat33",
    "Quat",
    "Real",
    "Reals",
    "Table",
    "Vec3",
    "Word",
    "asin",
    "atan2",
    "clamped",
    "conjugated",
    "cos",
    "cross",
    "dot",
    "exp",
    "expm1",
    "floor",
    "interpolate",
    "interval",
    "length",
    "log",
    "magnitude",
    "matrix_of",
    "maximum",
    "minimum",
    "norm",
    "normalized",
    "power",
    "quaternion_product",
    "rotate",
    "rotate_inverse",
    "rotation_quaternion",
    "rotation_vector",
    "scaled",
    "sin",
    "sqrt",
    "tan",
    "vector",
    "wrapped",
]


_NARROW = NARROW * NARROW
"""Largest squared tangent of half an angle for which the series of the arc tangent is used."""


def vector(triple: tuple[float, float, float]) -> Vec3:
    """Return the vector of a parameter of three numbers."""
    return Vec3(triple[0], triple[1], triple[2])


def scaled(a: Vec3, b: Vec3) -> Vec3:
    """Return the products of the components."""
    return Vec3(a[0] * b[0], a[1] * b[1], a[2] * b[2])


def dot(a: Vec3, b: Vec3) -> Real:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vec3, b: Vec3) -> Vec3:
    """Return the cross product a x b."""
    return Vec3(a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(a: Vec3) -> Real:
    """Return the length of a vector."""
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def matrix_of(q: Quat) -> Mat33:
    """Return the rotation matrix of a unit quaternion."""
    xx = q[0] * q[0]
    yy = q[1] * q[1]
    zz = q[2] * q[2]
    xy = q[0] * q[1]
    xz = q[0] * q[2]
    yz = q[1] * q[2]
    xw = q[0] * q[3]
    yw = q[1] * q[3]
    zw = q[2] * q[3]
    return Mat33(
        1.0 - 2.0 * (yy + zz),
        2.0 * (xy - zw),
        2.0 * (xz + yw),
        2.0 * (xy + zw),
        1.0 - 2.0 * (xx + zz),
        2.0 * (yz - xw),
        2.0 * (xz - yw),
        2.0 * (yz + xw),
        1.0 - 2.0 * (xx + yy),
    )


def rotate(q: Quat, v: Vec3) -> Vec3:
    """Return R v, a body vector in the world frame, with the rotation R of a unit quaternion."""
    xx = q[0] * q[0]
    yy = q[1] * q[1]
    zz = q[2] * q[2]
    xy = q[0] * q[1]
    xz = q[0] * q[2]
    yz = q[1] * q[2]
    xw = q[0] * q[3]
    yw = q[1] * q[3]
    zw = q[2] * q[3]
    return Vec3(
        (1.0 - 2.0 * (yy + zz)) * v[0] + 2.0 * (xy - zw) * v[1] + 2.0 * (xz + yw) * v[2],
        2.0 * (xy + zw) * v[0] + (1.0 - 2.0 * (xx + zz)) * v[1] + 2.0 * (yz - xw) * v[2],
        2.0 * (xz - yw) * v[0] + 2.0 * (yz + xw) * v[1] + (1.0 - 2.0 * (xx + yy)) * v[2],
    )


def rotate_inverse(q: Quat, v: Vec3) -> Vec3:
    """Return R^T v, a world vector in the body frame, with the rotation R of a unit quaternion."""
    return rotate(Quat(-q[0], -q[1], -q[2], q[3]), v)


def quaternion_product(a: Quat, b: Quat) -> Quat:
    """Return the quaternion product a b: the rotation b followed by the rotation a."""
    return Quat(
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


def normalized(q: Quat) -> Quat:
    """Return a quaternion scaled to unit length."""
    return q * (1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]))


def conjugated(q: Quat) -> Quat:
    """Return the inverse of a unit quaternion."""
    return Quat(-q[0], -q[1], -q[2], q[3])


def rotation_vector(q: Quat) -> Vec3:
    """Return the rotation vector of a unit quaternion, of a length up to pi [rad]."""
    axis = Vec3(q[0], q[1], q[2])
    square = dot(axis, axis)
    cosine = magnitude(q[3])
    ratio = 1.0
    if square < _NARROW * cosine * cosine:
        # atan(x) / x needs no root.
        by_cosine = 1.0 / cosine
        ratio = by_cosine * (1.0 - bent_arc_tangent(square * by_cosine * by_cosine))
    elif square > 0.0:
        sine = sqrt(square)
        ratio = atan2(sine, cosine) / sine
    # q and -q are the same rotation; the one with w >= 0 has the smaller angle.
    if q[3] < 0.0:
        ratio = -ratio
    return axis * (2.0 * ratio)


def rotation_quaternion(v: Vec3) -> Quat:
    """Return the unit quaternion of a rotation vector [rad], the inverse of `rotation_vector`."""
    angle = norm(v)
    scale = 0.5 - angle * angle / 48.0
    if angle >= 1e-6:
        scale = sin(0.5 * angle) / angle
    return Quat(v[0] * scale, v[1] * scale, v[2] * scale, cos(0.5 * angle))


def interpolate(x: Real, points: Reals, values: Reals) -> Real:
    """Return the value at x of a piecewise linear function, held beyond its ends.

    Args:
        x: Where.
        points: Rising places of the given values, from 2 to 65536.
        values: Values there.
    """
    last = length(points) - 1
    if x <= points[0]:
        return values[0]
    if x >= points[last]:
        return values[last]
    k = interval(points, x)
    share = (x - points[k]) / (points[k + 1] - points[k])
    return values[k] + share * (values[k + 1] - values[k])


def interval(points: Reals, x: Real) -> int:
    """Return the number of the interval of rising points that holds x, the first or last one beyond them.

    Args:
        points: Rising numbers, from 2 to 65536.
        x: Where.
    """
    k = 0
    end = length(points) - 1
    for _ in range(halvings(end)):
        if end - k > 1:
            middle = (k + end) // 2
            if points[middle] <= x:
                k = middle
            else:
                end = middle
    return k


def halvings(count: int) -> int:
    """Return how many halvings leave one of a number of intervals.

    Args:
        count: Number of intervals, up to 65536.
    """
    steps = 0
    size = 1
    for _ in range(16):
        if size < count:
            size = 2 * size
            steps = steps + 1
    return steps
