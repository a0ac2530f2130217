"""Rotations and frames: quaternions in xyzw, ENU/FLU against NED/FRD.

All functions are pure, accept any array-API namespace and broadcast over leading axes. A quaternion
(x, y, z, w) is of unit length and rotates vectors of the body frame into the world frame.
"""

import math
from typing import Any

import numpy as np

from pegasus.base.arrays import MANY, Array, namespace, sum_along
from pegasus.base.elementary_arrays import sine_and_cosine

# The nine entries of a rotation matrix, row by row: each is the sum of two products c q_i q_j, and of 1 on
# the diagonal. The products of all pairs are numbered 4 i + j.
_FIRST = np.array([5, 1, 2, 1, 0, 6, 2, 6, 0])
_SECOND = np.array([10, 11, 7, 11, 10, 3, 7, 3, 5])
_FIRST_COEFFICIENT = np.array([-2.0, 2.0, 2.0, 2.0, -2.0, 2.0, 2.0, 2.0, -2.0])
_SECOND_COEFFICIENT = np.array([-2.0, -2.0, 2.0, 2.0, -2.0, -2.0, -2.0, 2.0, -2.0])
_DIAGONAL = np.eye(3).reshape(9)
_PAIRS = np.stack([_FIRST, _SECOND])
_COEFFICIENTS = np.stack([_FIRST_COEFFICIENT, _SECOND_COEFFICIENT])[:, :, None]


def multiply(a: Array, b: Array) -> Array:
    """Return the quaternion product a b: the rotation b followed by the rotation a.

    Args:
        a: Left quaternion, shape (..., 4).
        b: Right quaternion, shape (..., 4).
    """
    xp = namespace(a)
    ax, ay, az, aw = (a[..., k] for k in range(4))
    bx, by, bz, bw = (b[..., k] for k in range(4))
    product: Array = xp.stack(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ],
        axis=-1,
    )
    return product


def conjugate(quaternion: Array) -> Array:
    """Return the inverse rotation of a unit quaternion.

    Args:
        quaternion: Unit quaternion, shape (..., 4).
    """
    xp = namespace(quaternion)
    conjugated: Array = xp.concat([-quaternion[..., :3], quaternion[..., 3:]], axis=-1)
    return conjugated


def normalize(vector: Array) -> Array:
    """Return vectors or quaternions scaled to unit length.

    Args:
        vector: Vector of any length but zero, shape (..., K).
    """
    xp = namespace(vector)
    unit: Array = vector / xp.sqrt(xp.sum(vector * vector, axis=-1, keepdims=True))
    return unit


def matrix_from_quaternion(quaternion: Array) -> Array:
    """Return the rotation matrix of a unit quaternion, shape (..., 3, 3).

    Args:
        quaternion: Unit quaternion, shape (..., 4).
    """
    if type(quaternion) is np.ndarray:
        rows = np.ascontiguousarray(quaternion.reshape(-1, 4).T)
        terms = (rows[:, None] * rows).reshape(16, -1)[_PAIRS]
        terms *= _COEFFICIENTS
        entries = terms[0]
        entries += terms[1]
        entries += _DIAGONAL[:, None]
        return np.reshape(entries.T, (*quaternion.shape[:-1], 3, 3))
    xp = namespace(quaternion)
    products = xp.reshape(quaternion[..., :, None] * quaternion[..., None, :], (*quaternion.shape[:-1], 16))
    dtype = quaternion.dtype
    first = xp.take(products, xp.asarray(_FIRST), axis=-1) * xp.asarray(_FIRST_COEFFICIENT, dtype=dtype)
    second = xp.take(products, xp.asarray(_SECOND), axis=-1) * xp.asarray(_SECOND_COEFFICIENT, dtype=dtype)
    diagonal = xp.asarray(_DIAGONAL, dtype=dtype)
    matrix: Array = xp.reshape(first + second + diagonal, (*quaternion.shape[:-1], 3, 3))
    return matrix


def quaternion_from_matrix(matrix: Array) -> Array:
    """Return the unit quaternion (w >= 0) of a rotation matrix, shape (..., 4).

    The largest of the four components is computed first and the others divided by it, which is exact to
    rounding for every rotation (Shepperd 1978).

    Args:
        matrix: Rotation matrix, shape (..., 3, 3).
    """
    xp = namespace(matrix)
    m = [[matrix[..., i, j] for j in range(3)] for i in range(3)]
    xx, yy, zz = m[0][0], m[1][1], m[2][2]
    xw, yw, zw = m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]
    xy, xz, yz = m[0][1] + m[1][0], m[0][2] + m[2][0], m[1][2] + m[2][1]
    # Row k is 4 q_k times the whole quaternion: the row of the largest component is far from zero.
    rows = xp.stack(
        [
            xp.stack([1 + xx - yy - zz, xy, xz, xw], axis=-1),
            xp.stack([xy, 1 - xx + yy - zz, yz, yw], axis=-1),
            xp.stack([xz, yz, 1 - xx - yy + zz, zw], axis=-1),
            xp.stack([xw, yw, zw, 1 + xx + yy + zz], axis=-1),
        ],
        axis=-2,
    )
    squares = xp.stack([rows[..., k, k] for k in range(4)], axis=-1)
    best = xp.argmax(squares, axis=-1, keepdims=True)
    quaternion = xp.where(best == 0, rows[..., 0, :], xp.where(best == 1, rows[..., 1, :], rows[..., 2, :]))
    quaternion = normalize(xp.where(best == 3, rows[..., 3, :], quaternion))
    positive: Array = xp.where(quaternion[..., 3:] < 0, -quaternion, quaternion)
    return positive


def quaternion_from_euler(roll: Any, pitch: Any, yaw: Any) -> Array:
    """Return the quaternion of the rotations yaw about z, then pitch about y, then roll about x (ZYX).

    Args:
        roll: Roll angle [rad], scalar or shape (...).
        pitch: Pitch angle [rad], scalar or shape (...).
        yaw: Yaw angle [rad], scalar or shape (...).
    """
    roll, pitch, yaw = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (roll, pitch, yaw)))
    sr, cr = sine_and_cosine(roll / 2)
    sp, cp = sine_and_cosine(pitch / 2)
    sy, cy = sine_and_cosine(yaw / 2)
    x, y = sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy
    z, w = cr * cp * sy - sr * sp * cy, cr * cp * cy + sr * sp * sy
    return np.stack([x, y, z, w], axis=-1)


def euler_from_quaternion(quaternion: Array) -> Array:
    """Return roll, pitch and yaw (ZYX) of a unit quaternion [rad], shape (..., 3).

    At a pitch of +-90 degrees roll and yaw turn about the same axis; only their sum or difference is
    determined there.

    Args:
        quaternion: Unit quaternion, shape (..., 4).
    """
    xp = namespace(quaternion)
    x, y, z, w = (quaternion[..., k] for k in range(4))
    roll = xp.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = xp.asin(xp.clip(2 * (w * y - z * x), -1.0, 1.0))
    yaw = xp.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    angles: Array = xp.stack([roll, pitch, yaw], axis=-1)
    return angles


def quaternion_from_rotation_vector(vector: Array) -> Array:
    """Return the quaternion of a rotation by |v| about v (the exponential map), exact down to zero.

    Args:
        vector: Rotation vector [rad], shape (..., 3).
    """
    xp = namespace(vector)
    angle = xp.sqrt(xp.sum(vector * vector, axis=-1, keepdims=True))
    small = angle < 1e-6
    scale = xp.where(small, 0.5 - angle * angle / 48, xp.sin(angle / 2) / xp.where(small, 1.0, angle))
    quaternion: Array = xp.concat([vector * scale, xp.cos(angle / 2)], axis=-1)
    return quaternion


def rotation_vector_from_quaternion(quaternion: Array) -> Array:
    """Return the rotation vector of a unit quaternion, of a length up to pi [rad], shape (..., 3).

    The inverse of `quaternion_from_rotation_vector`, exact down to zero.

    Args:
        quaternion: Unit quaternion, shape (..., 4).
    """
    xp = namespace(quaternion)
    vector, w = quaternion[..., :3], quaternion[..., 3:]
    sine = xp.sqrt(xp.sum(vector * vector, axis=-1, keepdims=True))
    small = sine < 1e-8
    ratio = xp.where(small, 1.0, xp.atan2(sine, xp.abs(w)) / xp.where(small, 1.0, sine))
    # q and -q are the same rotation; the one with w >= 0 has the smaller angle.
    scale = xp.where(w < 0, -2 * ratio, 2 * ratio)
    rotation: Array = vector * scale
    return rotation


def rotate(matrix: Array, vector: Array) -> Array:
    """Return R v, the body vector v in the world frame, shape (..., 3).

    Args:
        matrix: Rotation matrix body to world, shape (..., 3, 3).
        vector: Vector in the body frame, shape (..., 3).
    """
    if type(matrix) is np.ndarray and matrix.ndim == 3 and vector.ndim == 2 and len(matrix) >= MANY:
        return sum_along(np.multiply(matrix.T, vector.T[:, None, :], order="C"), 0).T
    return sum_along(matrix * vector[..., None, :], -1)


def rotate_inverse(matrix: Array, vector: Array) -> Array:
    """Return R^T v, the world vector v in the body frame, shape (..., 3).

    Args:
        matrix: Rotation matrix body to world, shape (..., 3, 3).
        vector: Vector in the world frame, shape (..., 3).
    """
    if type(matrix) is np.ndarray and matrix.ndim == 3 and vector.ndim == 2 and len(matrix) >= MANY:
        return sum_along(np.multiply(matrix.transpose(1, 2, 0), vector.T[:, None, :], order="C"), 0).T
    return sum_along(matrix * vector[..., :, None], -2)


def matrix_product(a: Array, b: Array) -> Array:
    """Return the products of matrices A B, each sum taken in the order of its terms, shape (N, 3, 3).

    Args:
        a: Matrices A, shape (N, 3, 3).
        b: Matrices B, shape (N, 3, 3).
    """
    xp = namespace(a)
    left, right = xp.permute_dims(a, (2, 1, 0)), xp.permute_dims(b, (1, 2, 0))
    product: Array = xp.permute_dims(sum_along(left[:, :, None, :] * right[:, None, :, :], 0), (2, 0, 1))
    return product


def cross(a: Array, b: Array) -> Array:
    """Return the cross product a x b; some ten times faster than the general one on small arrays.

    Args:
        a: Vector, shape (..., 3).
        b: Vector, shape (..., 3).
    """
    xp = namespace(a)
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    product: Array = xp.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)
    return product


def axes_along(direction: Array) -> Array:
    """Return a rotation whose z axis is along a direction; its x axis is normal to y, or to z near that.

    Args:
        direction: Direction of any length but zero, shape (3,).

    Returns:
        The axes as columns, shape (3, 3).
    """
    z = direction / np.linalg.norm(direction)
    aside = np.array([0.0, 1.0, 0.0]) if abs(z[1]) < 0.9 else np.array([0.0, 0.0, 1.0])
    x = np.cross(aside, z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)


def inverse_transform(transform: Array) -> Array:
    """Return the inverses of affine transforms by cofactors, each sum taken in the order of its terms.

    Args:
        transform: Invertible linear part and offset, shape (..., 4, 4); NumPy's.
    """
    x, y, z = (transform[..., k, :3] for k in range(3))
    columns = cross(y, z), cross(z, x), cross(x, y)
    determinant = sum_along(x * columns[0], -1)[..., None]
    inverse = np.zeros_like(transform)
    for k, column in enumerate(columns):
        inverse[..., :3, k] = column / determinant
    inverse[..., :3, 3] = -rotate(inverse[..., :3, :3], transform[..., :3, 3])
    inverse[..., 3, 3] = 1.0
    return inverse


def swap_enu_ned(vector: Array) -> Array:
    """Return an ENU vector in NED, or an NED vector in ENU (the map is its own inverse).

    Args:
        vector: Vector, shape (..., 3).
    """
    xp = namespace(vector)
    swapped: Array = xp.stack([vector[..., 1], vector[..., 0], -vector[..., 2]], axis=-1)
    return swapped


def swap_flu_frd(vector: Array) -> Array:
    """Return an FLU vector in FRD, or an FRD vector in FLU (the map is its own inverse).

    Args:
        vector: Vector, shape (..., 3).
    """
    xp = namespace(vector)
    swapped: Array = xp.stack([vector[..., 0], -vector[..., 1], -vector[..., 2]], axis=-1)
    return swapped


def swap_attitude_convention(quaternion: Array) -> Array:
    """Return the FLU-to-ENU attitude as FRD-to-NED, or back (its own inverse up to the quaternion's sign).

    Both frames are turned: q' = q_enu_ned * q * q_flu_frd, with q_enu_ned the half turn about (1, 1, 0)
    and q_flu_frd the half turn about x.

    Args:
        quaternion: Unit quaternion, shape (..., 4).
    """
    xp = namespace(quaternion)
    x, y, z, w = (quaternion[..., k] for k in range(4))
    s = math.sqrt(0.5)
    # (s, s, 0, 0) * q * (1, 0, 0, 0), written out.
    swapped: Array = xp.stack([s * (x + y), s * (x - y), s * (w - z), s * (w + z)], axis=-1)
    return swapped
