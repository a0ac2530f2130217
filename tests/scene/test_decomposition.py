"""Tests of the convex decomposition of meshes, and its cache."""

import logging
from importlib.util import find_spec

import mesh_shapes
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from pegasus.scene import decomposition
from pegasus.scene.decomposition import ConvexParts, DecompositionCache, coarsened, solid_parts, surface_parts

needs_coacd = pytest.mark.skipif(
    find_spec("coacd") is None, reason="needs coacd: pip install pegasus-multirotor[meshes]"
)


@pytest.fixture
def solver_calls(monkeypatch):
    calls = []
    solve = decomposition._solve
    monkeypatch.setattr(decomposition, "_solve", lambda *args: calls.append(args) or solve(*args))
    return calls


def sizes(found: ConvexParts) -> list[float]:
    return sorted(ConvexHull(part).volume for part in found.parts)


@needs_coacd
def test_convex_components_are_taken_as_they_are(solver_calls):
    """Boxes in one mesh would be cut up, or become one hull."""
    mesh = mesh_shapes.joined(
        mesh_shapes.box((0, 0, 0), (1, 1, 1)),
        mesh_shapes.box((2, 0, 0), (4, 1, 1)),
        mesh_shapes.box((0, 5, 0), (1, 8, 1)),
    )
    for make in (surface_parts, solid_parts):
        found = make(*mesh)
        assert sizes(found) == pytest.approx([1, 2, 3])
        assert found.deviation == 0
    assert solver_calls == []


def test_a_box_that_is_seen_from_inside_is_a_room():
    """A room made of an inverted box would be a solid block."""
    vertices, faces = mesh_shapes.box((0, 0, 0), (4, 4, 3))
    found = surface_parts(vertices, faces[:, ::-1])
    assert len(found.parts) == 6
    for part in found.parts:
        assert not ((part > 0.01) & (part < [3.99, 3.99, 2.99])).all(axis=1).any()


@needs_coacd
def test_solid_parts_have_the_volume_of_the_mesh():
    """Parts would overlap, or leave holes."""
    vertices, faces = mesh_shapes.l_shape()
    found = solid_parts(vertices, faces)
    assert sum(sizes(found)) == pytest.approx(5.0, rel=0.02)
    assert found.deviation < 0.05


@needs_coacd
def test_parts_are_the_same_every_time():
    """A decomposition would differ between two machines."""
    mesh = mesh_shapes.arch()
    first, second = solid_parts(*mesh), solid_parts(*mesh)
    assert len(first.parts) == len(second.parts)
    assert all(np.array_equal(a, b) for a, b in zip(first.parts, second.parts, strict=True))


@needs_coacd
def test_what_is_known_is_not_decomposed_again(tmp_path, solver_calls):
    """A world would be decomposed whenever it is opened."""
    cache, (vertices, faces) = DecompositionCache(tmp_path), mesh_shapes.l_shape()
    first = solid_parts(vertices, faces, cache=cache)
    second = solid_parts(vertices, faces, cache=cache)
    assert len(solver_calls) == 1
    assert second.deviation == first.deviation
    assert all(np.array_equal(a, b) for a, b in zip(first.parts, second.parts, strict=True))
    solid_parts(2 * vertices, faces, cache=cache)
    assert len(solver_calls) == 2
    surface = surface_parts(vertices, faces, cache=cache)
    assert len(surface.parts) != len(first.parts)
    assert len(surface_parts(vertices, faces, cache=cache).parts) == len(surface.parts)
    assert {file.suffix for file in tmp_path.iterdir()} == {".npz"}
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


@needs_coacd
@pytest.mark.parametrize("damage", ["cut", "empty", "other", "wrong"])
def test_a_damaged_file_is_made_anew(tmp_path, solver_calls, damage):
    """A cache file damaged by a power cut would keep the world from opening."""
    cache, mesh = DecompositionCache(tmp_path), mesh_shapes.l_shape()
    solid_parts(*mesh, cache=cache)
    (file,) = tmp_path.glob("*.npz")
    content = file.read_bytes()
    if damage == "wrong":
        np.savez(file, points=np.zeros((3, 3)), counts=np.array([2]), deviation=np.array(0.0))
    else:
        file.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "other": b"no archive"}[damage])
    assert len(solid_parts(*mesh, cache=cache).parts) > 1
    assert len(solver_calls) == 2
    assert file.read_bytes() != b""
    solid_parts(*mesh, cache=cache)
    assert len(solver_calls) == 2


@needs_coacd
def test_a_cache_that_cannot_be_written_is_no_error(tmp_path, caplog):
    """A world would not open on a read-only disk."""
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    with caplog.at_level(logging.INFO):
        found = solid_parts(*mesh_shapes.l_shape(), cache=DecompositionCache(blocked / "cache"))
    assert len(found.parts) > 1
    assert "not cached" in caplog.text


def test_coarsening_says_how_far_vertices_moved():
    """The stated distance would be too small."""
    vertices, faces = mesh_shapes.torus(5.0, 2.0, 60, 30)
    points, left, off = coarsened(vertices, faces, 500)
    assert 50 < len(left) <= 500
    rng = np.random.default_rng(0)
    samples, _ = mesh_shapes.surface_points(points, left, 300, rng)
    ring = np.sqrt(samples[:, 0] ** 2 + samples[:, 1] ** 2) - 5.0
    assert np.abs(np.sqrt(ring**2 + samples[:, 2] ** 2) - 2.0).max() < off + 0.05
    corners, _ = mesh_shapes.surface_points(vertices, faces, 300, rng)
    assert mesh_shapes.distance(corners, points, left).max() <= off
