"""Tests of recognising height fields among meshes, and of their heights."""

import mesh_shapes
import numpy as np
import pytest

from pegasus.scene.height_fields import height_field, sampled_height_field


def corners(field):
    """Points of a field's nodes in the frame of the mesh."""
    rows, columns = field.heights.shape
    x = (np.arange(columns) - (columns - 1) / 2) * field.spacing[0]
    y = (np.arange(rows) - (rows - 1) / 2) * field.spacing[1]
    grid = np.stack([*np.meshgrid(x, y), field.heights], axis=-1).reshape(-1, 3)
    return grid @ field.rotation.T + field.position


def triangles(field):
    """Triangles of a field as the engine cuts its cells."""
    rows, columns = field.heights.shape
    first = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    cells = first, first + 1, first + columns + 1, first + columns
    return np.concatenate([np.stack([cells[k] for k in t], axis=1) for t in ((0, 1, 2), (0, 2, 3))])


def as_set(points, faces):
    return {frozenset(tuple(np.round(p, 4) + 0.0) for p in points[face]) for face in faces}


@pytest.mark.parametrize("main", [True, False])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_a_field_has_the_triangles_of_its_mesh(main, turned, axes):
    """A mirrored terrain would have wrong heights everywhere."""
    vertices, faces = mesh_shapes.terrain(7, 9, main=main)
    vertices = vertices[:, axes]
    if turned:
        faces = faces[:, ::-1]
    shuffled = np.random.default_rng(1).permutation(len(faces))
    field = height_field(vertices, faces[shuffled])
    assert field is not None
    assert field.deviation == 0.0
    assert np.linalg.det(field.rotation) == pytest.approx(1.0)
    assert as_set(corners(field), triangles(field)) == as_set(vertices, faces)
    up = mesh_shapes.normals(vertices, faces) @ field.rotation[:, 2]
    assert (up > 0).all()


def test_mixed_diagonals_say_how_far_they_are_off():
    """The height error of cells with another diagonal would not be reported."""
    vertices, faces = mesh_shapes.terrain(7, 9)
    cell = [(k, t) for k, t in enumerate(faces.tolist()) if t[0] == 16]
    a, b, c, d = 16, 17, 24, 23
    faces[[k for k, _ in cell]] = [(a, b, d), (b, c, d)]
    field = height_field(vertices, faces)
    z = vertices[:, 2]
    assert field.deviation == pytest.approx(abs(z[a] + z[c] - z[b] - z[d]) / 2)
    assert field.deviation > 1e-3


def test_what_is_no_field_is_none():
    """A mesh with walls and a roof would be taken for a height field."""
    assert height_field(*mesh_shapes.torus()) is None
    assert height_field(*mesh_shapes.room()) is None
    vertices, faces = mesh_shapes.terrain(7, 9)
    assert height_field(vertices, faces[:-1]) is None
    assert sampled_height_field(vertices, faces[:-2], 0.01) is None
    moved = vertices.copy()
    moved[20, 0] += 0.05
    assert height_field(moved, faces) is None
    assert sampled_height_field(*mesh_shapes.torus(), 0.01) is None


def test_a_sampled_field_keeps_to_its_tolerance():
    """Contact with a surveyed terrain would be above or below its surface."""
    vertices, faces = mesh_shapes.terrain(12, 15)
    vertices[20, :2] += [0.05, -0.08]
    field = sampled_height_field(vertices, faces, 0.01)
    assert field.deviation <= 0.01
    points, _ = mesh_shapes.surface_points(vertices, faces, 500, np.random.default_rng(4))
    off = mesh_shapes.distance(points, corners(field), triangles(field))
    assert off.max() <= 0.0101
