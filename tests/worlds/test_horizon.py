"""Tests of the distant land: around the world, outside of it, and untouchable."""

from pathlib import Path

import numpy as np
import pytest

from pegasus.scene.authoring import ground_plane, physics_material
from pegasus.scene.scene import PhysicsMaterial, Scene, Texture
from pegasus.scene.translation import translate
from pegasus.worlds.horizon import distant_land
from pegasus.worlds.site import ROOT, Site

REACH = 60.0


def land(folder: Path, seed: int) -> Scene:
    site = Site(folder, seed)
    ground_plane(
        site.stage, f"{ROOT}/Ground", physics_material(site.stage, f"{ROOT}/G", PhysicsMaterial(1, 1, 0))
    )
    distant_land(site, REACH)
    site.stage.Export(str(folder / "land.usda"))
    return translate(folder / "land.usda")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """Distant land around a world of 120 m."""
    return land(tmp_path_factory.mktemp("land"), 1)


def test_it_is_beyond_the_world_and_does_not_collide(scene: Scene) -> None:
    """Hills would stand in the world, or stop a vehicle."""
    assert [collider.path for collider in scene.colliders] == [f"{ROOT}/Ground"]
    for geometry in scene.geometries.values():
        assert np.hypot(*geometry.vertices[:, :2].T).min() > REACH + 290.0
    assert {item.labels["class"] for item in scene.instances} == {"hill"}


def test_it_covers_the_horizon_from_all_sides(scene: Scene) -> None:
    """The sky would begin at a straight line, or show through a gap."""
    for geometry in scene.geometries.values():
        x, y, z = geometry.vertices.T
        sector = np.floor((np.arctan2(y, x) / (2 * np.pi) + 0.5) * 120).astype(int) % 120
        crest = [z[sector == k].max() for k in range(120)]
        assert min(crest) > 2.0
        assert np.std(crest) > 0.15 * np.mean(crest)
        foot = [z[sector == k].min() for k in range(120)]
        assert max(foot) < 0.0


def test_its_faces_are_turned_towards_the_world(scene: Scene) -> None:
    """Hills would be lit from behind."""
    for geometry in scene.geometries.values():
        a, b, c = (geometry.vertices[geometry.faces[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        assert (normal[:, 2] > 0.0).all()
        assert (normal[:, :2] * -a[:, :2]).sum(axis=1).mean() > 0.0
        assert (geometry.normals[:, 2] > 0.0).all()


def test_another_seed_makes_other_hills(scene: Scene, tmp_path: Path) -> None:
    """All worlds would have the same horizon."""
    other = land(tmp_path, 2)
    for name, geometry in scene.geometries.items():
        assert not np.array_equal(geometry.vertices, other.geometries[name].vertices)


def test_images_close_the_ring_and_differ_along_it(scene: Scene) -> None:
    """A seam would stand on the horizon, or the same trees would repeat in a row."""
    for item in scene.instances:
        geometry, color = scene.geometries[item.geometry], scene.materials[item.material].diffuse_color
        assert isinstance(color, Texture)
        assert geometry.uvs is not None
        side = 1.0 / color.uv_scale[0]
        angle = np.arctan2(geometry.vertices[:, 1], geometry.vertices[:, 0])
        # The ring begins and ends towards +x, where its points are doubled.
        ends = geometry.uvs[(np.abs(angle) < 1e-6) & (geometry.vertices[:, 2] < -2.99)].astype(np.float64)
        assert len(ends) == 2
        turns = np.abs(ends[1] - ends[0]) / side
        assert turns[0] == pytest.approx(round(turns[0]), abs=1e-3)
        assert turns[0] > 10.0
        assert turns[1] == pytest.approx(0.0, abs=1e-3)
        shift = geometry.uvs[:, 1] - geometry.vertices[:, 2]
        assert 0.3 * side < np.ptp(shift) < 2.0 * side


def test_images_are_upright_and_hardly_stretched(scene: Scene) -> None:
    """Distant trees would lean, or be as flat as lawns."""
    for geometry in scene.geometries.values():
        assert geometry.uvs is not None
        # Every other triangle begins with an edge along the range.
        a, b = geometry.faces[::2, 0], geometry.faces[::2, 1]
        along = np.hypot(*(geometry.vertices[b, :2] - geometry.vertices[a, :2]).T)
        u = np.abs(geometry.uvs[b, 0] - geometry.uvs[a, 0])
        assert (u / along).min() > 0.9
        assert (u / along).max() < 2.0
        shift = geometry.uvs[:, 1] - geometry.vertices[:, 2]
        assert np.abs((shift[b] - shift[a]) / along).max() < 0.7
