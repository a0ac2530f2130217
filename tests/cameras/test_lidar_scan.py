"""Tests of echoes: the lidar equation, loss probabilities, and interpolated poses."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pegasus.base.arrays import Array
from pegasus.base.frames import (
    matrix_from_quaternion,
    multiply,
    normalize,
    quaternion_from_euler,
    quaternion_from_rotation_vector,
)
from pegasus.base.tracing import column, uniform, uniform_values
from pegasus.base.tracing.launches import program_of
from pegasus.cameras.echo_step import (
    Detector,
    Ray,
    echo_of,
    lambertian_intensity,
    range_sigma,
    survival_probability,
)
from pegasus.cameras.lidar_scan import PoseHistory, aim_columns


def test_intensity_is_that_of_the_lidar_equation() -> None:
    """An echo would not fall with the square of distance, the cosine, or the reflectance."""
    distance, cosine, reflectance = np.array([10.0, 20.0, 10.0, 10.0]), np.array([1, 1, 0.5, 1]), np.ones(4)
    reflectance[3] = 0.1
    found = lambertian_intensity(distance, cosine, reflectance, reference_range=10.0)
    assert_allclose(found, [1.0, 0.25, 0.5, 0.1], rtol=1e-15)


def test_reasons_of_loss_are_independent() -> None:
    """Loss probabilities would add up beyond one, or apply where they should not."""
    chances = {"max_range": 50.0, "dropout": 0.1, "range_dropout": 0.4, "grazing_dropout": 0.5}
    distance, cosine = np.array([0.0, 50.0, 25.0, 0.0]), np.array([1.0, 1.0, 0.5, 0.0])
    expected = [0.9, 0.9 * 0.6, 0.9 * 0.9 * 0.75, 0.9 * 0.5]
    assert_allclose(survival_probability(distance, cosine, **chances), expected, rtol=1e-15)


def test_sigma_is_that_of_a_rangefinder() -> None:
    """Sigma would not be a + b d."""
    assert_allclose(
        range_sigma(np.array([0.0, 10.0]), noise_sigma=0.02, proportional_noise=0.001), [0.02, 0.03]
    )


HERE = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
AHEAD = np.array([1.0, 0.0, 0.0])


def aimed(position: Array, orientation: Array, stamps: Array, times: Array, mount: Any = HERE) -> Any:
    """Return places, rotations and directions of a sensor that looks ahead, of two rings."""
    history = PoseHistory(stamps, position[:, None], orientation[:, None])
    return aim_columns(history, 0, mount, times, np.tile(AHEAD, (len(times), 2, 1)))


def yaw_of(rotation: Array) -> Array:
    """Return the yaw of rotation matrices."""
    return np.arctan2(rotation[:, 1, 0], rotation[:, 0, 0])


def test_poses_between_known_ones_are_exact_for_steady_motion() -> None:
    """Interpolated poses would leave the path, rotate unsteadily, or miss a known pose."""
    stamps = np.array([1.0, 1.1, 1.3])
    velocity, rate = np.array([2.0, -1.0, 0.5]), 3.0
    orientation = quaternion_from_euler(0.0, 0.0, rate * stamps)
    orientation[1] *= -1.0  # the same rotation, written the other way
    times = np.array([0.5, 1.0, 1.04, 1.1, 1.2, 1.3, 1.4])
    held = np.clip(times, 1.0, 1.3)
    place, rotation, world = aimed(stamps[:, None] * velocity, orientation, stamps, times)
    assert_allclose(place, held[:, None] * velocity, rtol=1e-14)
    assert_allclose(np.remainder(yaw_of(rotation) - rate * held + math.pi, 2 * math.pi), math.pi, atol=1e-14)
    assert_allclose(rotation @ rotation.swapaxes(1, 2), np.tile(np.eye(3), (7, 1, 1)), atol=1e-15)
    assert_allclose(world, np.repeat(rotation[:, None, :, 0], 2, axis=1), atol=1e-15)


def test_one_known_pose_is_held() -> None:
    """The first scan of a run, without earlier poses, would fail."""
    turn = quaternion_from_euler(0.1, 0.2, 0.3)[None]
    place, held, _ = aimed(np.ones((1, 3)), turn, np.array([2.0]), np.array([1.9, 2.0]))
    assert_allclose(place, np.ones((2, 3)))
    assert_allclose(held, matrix_from_quaternion(turn[[0, 0]]), atol=1e-15)


def test_a_turn_goes_the_short_way() -> None:
    """Between headings on both sides of pi, the rays would turn the long way round."""
    ends = quaternion_from_euler(0.0, 0.0, np.array([3.1, -3.1]))
    _, turn, _ = aimed(np.zeros((2, 3)), ends, np.array([0.0, 1.0]), np.array([0.5]))
    assert abs(yaw_of(turn)[0]) == pytest.approx(math.pi, abs=1e-12)


def test_poses_are_those_of_the_exponential_map() -> None:
    """A series cut too early, or too few steps of Newton's method, would bend fast turns."""
    random = np.random.default_rng(3)
    angles = np.array([1e-12, 1e-7, 1e-3, 0.1, 1.0, 2.0, 3.0, 3.1415])
    axes = normalize(random.standard_normal((len(angles), 3)))
    mount = np.array([0.1, -0.2, 0.3]), quaternion_from_euler(0.3, -0.4, 2.0)
    for angle, axis in zip(angles, axes, strict=True):
        start = quaternion_from_rotation_vector(random.standard_normal(3))
        ends = np.array([start, multiply(start, quaternion_from_rotation_vector(angle * axis))])
        share = np.linspace(0.0, 1.0, 11)
        place, rotation, world = aimed(np.eye(3)[:2], ends, np.array([0.0, 1.0]), share, mount)
        body = multiply(
            np.tile(start, (11, 1)), quaternion_from_rotation_vector(share[:, None] * angle * axis)
        )
        expected = matrix_from_quaternion(multiply(body, np.tile(mount[1], (11, 1))))
        moved = (1 - share)[:, None] * np.eye(3)[0] + share[:, None] * np.eye(3)[1]
        assert_allclose(rotation, expected, atol=3e-15)
        assert_allclose(world[:, 1], expected[..., 0], atol=3e-15)
        assert_allclose(place, moved + matrix_from_quaternion(body) @ mount[0], atol=3e-15)


def echo_columns(count: int) -> dict[str, np.ndarray]:
    """Return rays of which some hit nothing, and room for their echoes."""
    rng = np.random.default_rng(3)
    direction, normal = (v / np.linalg.norm(v, axis=1)[:, None] for v in rng.normal(size=(2, count, 3)))
    met = rng.random(count) < 0.8
    return {
        "direction": direction,
        "surface_normal": normal,
        "distance": np.where(met, rng.uniform(0.1, 60.0, count), np.inf),
        "reflectance": np.where(met, rng.choice([0.1, 0.5, 0.9], count), 0.0),
        "entity": np.where(met, rng.integers(0, 9, count), -1).astype(np.int32),
        "deviate": rng.standard_normal(count),
        "chance": rng.random(count),
        "range": np.full(count, np.nan),
        "intensity": np.full(count, np.nan),
    }


def test_compiled_echoes_are_those_of_the_formulas() -> None:
    """The compiled pass would round otherwise than the formulas, or skip the last rays."""
    count = 519
    least, most, weakest, reference = 0.5, 50.0, 0.002, 10.0
    noise, loss = (0.02, 0.001), (0.1, 0.3, 0.2)
    columns = echo_columns(count)
    entity = columns["entity"].copy()
    p = uniform("p", Detector(least, most, weakest, reference, *noise, 1, *loss, 1))
    program = program_of(echo_of, p, column("", Ray), outputs=("",), count=count)
    program.launch({**columns, **uniform_values(p)}, count)()
    distance, cosine = columns["distance"], np.empty(count)
    for k, (a, b) in enumerate(zip(columns["direction"], columns["surface_normal"], strict=True)):
        cosine[k] = abs(a[0] * b[0] + a[2] * b[2] + a[1] * b[1])
    met = np.isfinite(distance)
    near = np.where(met, distance, 1.0)
    intensity = lambertian_intensity(near, cosine, columns["reflectance"], reference)
    measured = near + range_sigma(near, *noise) * columns["deviate"]
    heard = met & (intensity >= weakest) & (measured >= least) & (measured <= most)
    heard &= columns["chance"] < survival_probability(near, cosine, most, *loss)
    assert 50 < heard.sum() < met.sum() - 50
    assert np.array_equal(columns["range"], np.where(heard, measured, np.inf))
    assert np.array_equal(columns["intensity"], np.where(heard, intensity, 0.0))
    assert np.array_equal(columns["entity"], np.where(heard, entity, -1))
