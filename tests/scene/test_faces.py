"""Tests of surfaces built from cross-sections."""

from collections.abc import Callable

import numpy as np
import pytest

from pegasus.scene.faces import BOX_FACES, box_uvs, corner_normals, loft_faces, point_normals
from pegasus.worlds.pegasus_drone import tube, turned


def triangles(faces: list[list[int]]) -> np.ndarray:
    """Cut polygons into fans."""
    return np.array([[f[0], f[k], f[k + 1]] for f in faces for k in range(1, len(f) - 1)])


def test_turned_solids_have_their_volume(area_and_volume: Callable[..., tuple[float, float]]) -> None:
    """Bells and mounts would be open, inside out, or of another size."""
    points, faces = turned([(0.5, 0.0), (0.5, 2.0)], 400)
    _, volume = area_and_volume(points, triangles(faces))
    assert volume == pytest.approx(np.pi * 0.5**2 * 2.0, rel=1e-4)


def test_tubes_have_their_volume(area_and_volume: Callable[..., tuple[float, float]]) -> None:
    """Arms would be open, inside out, or twisted flat."""
    path = np.linspace([0.0, 0.0, 0.0], [3.0, 1.0, 0.5], 9)
    points, faces = tube(path, [(0.2, 0.1)] * 9, 200)
    length = np.sqrt(3.0**2 + 1.0 + 0.25)
    _, volume = area_and_volume(points, triangles(faces))
    assert volume == pytest.approx(np.pi * 0.2 * 0.1 * length, rel=1e-3)


def test_open_lofts_have_no_ends() -> None:
    """A surface that is closed by others would have inner faces."""
    assert len(loft_faces(3, 5, closed=False)) == 10
    assert len(loft_faces(3, 5)) == 12


def test_normals_of_a_sphere_point_away_from_its_middle() -> None:
    """A smooth surface would be shaded with facets or from the inside."""
    angle = np.linspace(-1.4, 1.4, 40)
    points, faces = turned([(float(np.cos(a)), float(np.sin(a))) for a in angle], 64)
    inner = np.abs(points[:, 2]) < 0.9
    np.testing.assert_allclose(point_normals(points, faces)[inner], points[inner], atol=0.02)


def test_edges_stay_sharp_beyond_the_crease() -> None:
    """The rim of a motor would look like a ball, or its round side faceted."""
    points, faces = turned([(1.0, 0.0), (1.0, 1.0)], 32)
    values, indices = corner_normals(points, faces, np.radians(50))
    corners = np.concatenate([np.array(face) for face in faces])
    normals = values[indices]
    flat = np.abs(normals[:, 2]) > 0.5
    np.testing.assert_allclose(np.abs(normals[flat, 2]), 1.0, atol=1e-9)
    np.testing.assert_allclose(normals[~flat, :2], points[corners[~flat], :2], atol=2e-3)
    assert flat.sum() == 64


def test_boxes_look_out_and_their_textures_are_in_metres() -> None:
    """A side would face inwards, or its texture be stretched, mirrored or rotated."""
    corners = np.array([[x, y, z] for z in (0, 3) for y in (0, 2) for x in (0, 5)], dtype=np.float64)
    sides = corners[BOX_FACES]
    normals = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0])
    outward = sides.mean(axis=1) - corners.mean(axis=0)
    assert ((normals * outward).sum(axis=1) > 0).all()
    uvs = box_uvs(corners, BOX_FACES).reshape(6, 4, 2)
    a, b, d = uvs[:, 0], uvs[:, 1], uvs[:, 3]
    # Counter-clockwise in the texture as seen from outside, and as large as the side itself.
    areas = (b - a)[:, 0] * (d - a)[:, 1] - (b - a)[:, 1] * (d - a)[:, 0]
    np.testing.assert_allclose(areas, [10, 10, 15, 15, 6, 6])
    np.testing.assert_allclose(uvs[2:, :, 1], sides[2:, :, 2])
