"""Tests of rotations and frames against SciPy and against their definitions."""

import array_api_strict
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus.base import frames


@pytest.fixture
def rotations() -> Rotation:
    return Rotation.random(200, random_state=1)


def test_matrix_from_quaternion_agrees_with_scipy(rotations):
    """A wrong sign or index in the product table would turn some axis the wrong way."""
    np.testing.assert_allclose(
        frames.matrix_from_quaternion(rotations.as_quat()), rotations.as_matrix(), atol=1e-14
    )


def test_quaternion_from_matrix_is_exact_for_every_rotation(rotations):
    """A wrong branch would show as a wrong attitude near half turns about x, y or z."""
    half_turns = Rotation.from_rotvec(np.pi * np.eye(3))
    both = Rotation.concatenate([rotations, half_turns, Rotation.identity(1)])
    found = frames.quaternion_from_matrix(both.as_matrix())
    assert (found[:, 3] >= 0).all()
    np.testing.assert_allclose(np.abs(np.sum(found * both.as_quat(), axis=1)), 1.0, atol=1e-14)


def test_product_is_composition(rotations):
    """Swapped factors would compose rotations in the wrong order."""
    a, b = rotations[:100], rotations[100:]
    product = Rotation.from_quat(frames.multiply(a.as_quat(), b.as_quat()))
    np.testing.assert_allclose(product.as_matrix(), (a * b).as_matrix(), atol=1e-14)


def test_conjugate_undoes_a_rotation(rotations):
    """A quaternion times its conjugate must be the identity."""
    q = rotations.as_quat()
    identity = np.tile([0.0, 0.0, 0.0, 1.0], (len(q), 1))
    np.testing.assert_allclose(frames.multiply(q, frames.conjugate(q)), identity, atol=1e-15)


def test_euler_angles_round_trip():
    """Roll, pitch or yaw swapped, or turned about the wrong axis, would not come back."""
    rng = np.random.default_rng(2)
    angles = rng.uniform([-3.1, -1.5, -3.1], [3.1, 1.5, 3.1], (100, 3))
    q = frames.quaternion_from_euler(angles[:, 0], angles[:, 1], angles[:, 2])
    np.testing.assert_allclose(frames.euler_from_quaternion(q), angles, atol=1e-12)
    expected = Rotation.from_euler("ZYX", angles[:, ::-1])
    np.testing.assert_allclose(frames.matrix_from_quaternion(q), expected.as_matrix(), atol=1e-13)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-7, 1e-6, 1e-3, 1.0, 3.0])
def test_exponential_map_is_exact_down_to_zero(size):
    """The series near zero would differ from the closed form, or divide by zero."""
    vectors = size * Rotation.random(20, random_state=3).as_matrix()[:, 0]
    found = frames.quaternion_from_rotation_vector(vectors)
    np.testing.assert_allclose(found, Rotation.from_rotvec(vectors).as_quat(), atol=1e-15)


def test_rotation_vector_is_that_of_scipy():
    """An angle would be halved, or its sense be the wrong one."""
    quaternions = np.random.default_rng(0).normal(size=(200, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    assert np.any(quaternions[:, 3] < 0)
    expected = Rotation.from_quat(quaternions).as_rotvec()
    np.testing.assert_allclose(frames.rotation_vector_from_quaternion(quaternions), expected, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-12, 1e-8, 1e-4, 1.0, 3.0, np.pi])
def test_rotation_vector_undoes_the_exponential_map(angle):
    """Small rotations would lose digits, or half a turn be lost altogether."""
    vector = angle * np.array([[0.6, -0.48, 0.64]])
    quaternion = frames.quaternion_from_rotation_vector(vector)
    np.testing.assert_allclose(frames.rotation_vector_from_quaternion(quaternion), vector, rtol=1e-14)
    if angle < np.pi:
        np.testing.assert_allclose(frames.rotation_vector_from_quaternion(-quaternion), vector, rtol=1e-14)


def test_rotate_and_its_inverse(rotations):
    """The transpose confused with the matrix would turn vectors backwards."""
    matrix, vectors = rotations.as_matrix(), np.random.default_rng(4).normal(size=(200, 3))
    np.testing.assert_allclose(frames.rotate(matrix, vectors), rotations.apply(vectors), atol=1e-14)
    np.testing.assert_allclose(
        frames.rotate_inverse(matrix, frames.rotate(matrix, vectors)), vectors, atol=1e-14
    )


def test_cross_agrees_with_numpy():
    """A wrong sign in a component would point the product elsewhere."""
    a, b = np.random.default_rng(5).normal(size=(2, 50, 3))
    np.testing.assert_array_equal(frames.cross(a, b), np.cross(a, b))


def test_affine_transforms_are_inverted():
    """A scaled or sheared part of a scene would be met where it is not."""
    random = np.random.default_rng(4)
    transforms = np.tile(np.eye(4), (50, 1, 1))
    transforms[:, :3] += random.standard_normal((50, 3, 4)) * [0.3, 0.3, 0.3, 20.0]
    inverse = frames.inverse_transform(transforms)
    np.testing.assert_allclose(inverse, np.linalg.inv(transforms), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(inverse[7], frames.inverse_transform(transforms[7]))


def test_attitude_convention_agrees_with_the_vectors(rotations):
    """The attitude in NED/FRD must turn FRD vectors into the NED form of what ENU/FLU gives."""
    q = rotations.as_quat()
    flu = np.random.default_rng(6).normal(size=(200, 3))
    enu = rotations.apply(flu)
    swapped = Rotation.from_quat(frames.swap_attitude_convention(q))
    np.testing.assert_allclose(swapped.apply(frames.swap_flu_frd(flu)), frames.swap_enu_ned(enu), atol=1e-14)
    back = frames.swap_attitude_convention(frames.swap_attitude_convention(q))
    np.testing.assert_allclose(np.abs(np.sum(back * q, axis=1)), 1.0, atol=1e-14)


def test_facing_north_is_zero_heading_in_ned():
    """East, not north, would be zero heading if the axes were swapped the wrong way."""
    north_enu = frames.quaternion_from_euler(0.0, 0.0, np.pi / 2)
    level_north = frames.swap_attitude_convention(north_enu)
    np.testing.assert_allclose(np.abs(level_north), [0.0, 0.0, 0.0, 1.0], atol=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        frames.matrix_from_quaternion,
        frames.euler_from_quaternion,
        frames.conjugate,
        frames.normalize,
        frames.swap_attitude_convention,
        lambda q: frames.multiply(q, q),
        lambda q: frames.quaternion_from_rotation_vector(q[:, :3]),
        lambda q: frames.cross(q[:, :3], q[:, 1:]),
        lambda q: frames.quaternion_from_matrix(frames.matrix_from_quaternion(q)),
        lambda q: frames.rotate(frames.matrix_from_quaternion(q), q[:, :3]),
        lambda q: frames.rotate_inverse(frames.matrix_from_quaternion(q), q[:, :3]),
    ],
)
def test_formulas_run_in_any_array_namespace(function, rotations):
    """A NumPy-only call in a formula would keep it from running on JAX."""
    q = rotations.as_quat()
    strict = function(array_api_strict.asarray(q))
    np.testing.assert_allclose(np.asarray(strict), function(q), atol=1e-15)


@pytest.mark.parametrize(
    "direction", [*np.vstack([np.eye(3), -np.eye(3)]), [3.0, -0.5, 2.0], [0.1, 2.0, 0.2]]
)
def test_axes_along_a_direction_are_a_rotation(direction):
    """A spot or a propeller would be mirrored, or point elsewhere, for some directions."""
    axes = frames.axes_along(np.array(direction))
    np.testing.assert_allclose(axes[:, 2], direction / np.linalg.norm(direction), atol=1e-15)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-15)
    assert np.linalg.det(axes) == pytest.approx(1.0)
