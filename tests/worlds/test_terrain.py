"""Tests of terrain: exact heights, cut-outs for covers, and noise with its slopes."""

import numpy as np
import pytest

from pegasus.scene.height_fields import height_field
from pegasus.worlds.terrain import Noise, Terrain, cut, textured


@pytest.fixture
def terrain() -> Terrain:
    """Uneven ground of 10 x 8 m."""
    x, y = np.meshgrid(np.linspace(-5, 5, 11), np.linspace(-4, 4, 9))
    return Terrain(Noise(np.random.default_rng(1))(x, y, 3.0), (1.0, 1.0))


def test_engines_take_it_as_the_height_field_that_it_is(terrain: Terrain) -> None:
    """Vehicles would land on other triangles than those under the objects."""
    field = height_field(terrain.points, terrain.faces)
    assert field is not None
    assert field.deviation == 0.0
    np.testing.assert_allclose(field.heights, terrain.heights)


def test_heights_and_slopes_are_those_of_the_triangles(terrain: Terrain) -> None:
    """Objects would float over the ground or sink into it."""
    corners = terrain.points[terrain.faces]
    weights = np.random.default_rng(2).dirichlet((1.0, 1.0, 1.0), len(corners))
    inside = (weights[:, :, None] * corners).sum(axis=1)
    np.testing.assert_allclose(terrain.height(inside[:, 0], inside[:, 1]), inside[:, 2], atol=1e-12)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    np.testing.assert_allclose(
        terrain.slope(inside[:, 0], inside[:, 1]), -normal[:, :2] / normal[:, 2:], atol=1e-9
    )


def test_a_cut_leaves_the_surface_as_it_is(terrain: Terrain) -> None:
    """Covers would overlap, leave holes, or lie off the ground."""
    points = terrain.points
    field = points[:, 0] ** 2 + points[:, 1] ** 2 - 9.3
    both = cut(np.column_stack([points, terrain.normals, field]), terrain.faces, 6)
    area = 0.0
    for part, sign in zip(both, (1.0, -1.0), strict=True):
        corners = part[0][part[1]]
        u, v = (corners[:, k, :2] - corners[:, 0, :2] for k in (1, 2))
        doubled = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        assert (doubled > 0).all()
        area += doubled.sum() / 2
        assert (sign * part[0][:, 6] > -1e-6).all()
        np.testing.assert_allclose(terrain.height(part[0][:, 0], part[0][:, 1]), part[0][:, 2], atol=1e-9)
    assert area == pytest.approx(80.0)


def test_slopes_of_noise_are_its_derivatives() -> None:
    """Terrain would be eroded by wrong slopes."""
    noise = Noise(np.random.default_rng(3))
    x, y = np.random.default_rng(4).uniform(-50.0, 50.0, (2, 500))
    _, slope = noise.with_slope(x, y, 7.0)
    step = 7e-5
    across = (noise(x + step, y, 7.0) - noise(x - step, y, 7.0)) / (2 * step / 7.0)
    along = (noise(x, y + step, 7.0) - noise(x, y - step, 7.0)) / (2 * step / 7.0)
    np.testing.assert_allclose(slope, np.column_stack([across, along]), atol=1e-7)


def test_images_are_not_stretched_on_cliffs() -> None:
    """Rock would show streaks down every cliff, or a face would lose its place."""
    x, y = np.meshgrid(np.linspace(-5, 5, 21), np.linspace(-4, 4, 17))
    steep = Terrain(6.0 * Noise(np.random.default_rng(3))(x, y, 4.0), (0.5, 0.5))
    points, faces, uvs = textured(steep.points, steep.faces)
    assert len(points) == len(uvs)
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    u, v = uvs[faces[:, 1]] - uvs[faces[:, 0]], uvs[faces[:, 2]] - uvs[faces[:, 0]]
    assert (area / np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])).max() < 2.1
    from_above = np.abs(np.cross(b - a, c - a)[:, 2])
    assert (area / from_above).max() > 2.5
    same = np.sort(points[faces].reshape(-1, 9), axis=0)
    np.testing.assert_array_equal(same, np.sort(steep.points[steep.faces].reshape(-1, 9), axis=0))
