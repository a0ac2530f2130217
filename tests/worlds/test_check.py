"""Tests of the world check: it finds planted faults and reports no others."""

from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf, UsdGeom, UsdShade

from pegasus.config.scenario import SpawnPoint, WorldSpec
from pegasus.engines.mujoco_engine import MujocoEngine
from pegasus.scene.authoring import (
    Surface,
    block,
    ground_plane,
    group,
    label,
    mesh,
    new_stage,
    physics_material,
    sun_and_sky,
)
from pegasus.scene.authoring import material as paint
from pegasus.scene.scene import PhysicsMaterial
from pegasus.scene.translation import translate
from pegasus.worlds.check import check_world


class Yard:
    """A small world without faults."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "yard.usda"
        self.stage = new_stage("World")
        sun_and_sky(self.stage, "/World")
        contact = physics_material(self.stage, "/World/Looks/Contact", PhysicsMaterial())
        self.surface = Surface(paint(self.stage, "/World/Looks/Grey", (0.5, 0.5, 0.5)), contact)
        ground_plane(self.stage, "/World/Ground", contact)
        group(self.stage, "/World/Things", "thing")
        block(self.stage, "/World/Things/Block", (5, 0, 1), (2, 2, 2), self.surface)
        self.spawn_points = [SpawnPoint(position=(0.0, 0.0, 0.1))]
        self.paths = {"tour": [(0.0, 0.0, 3.0), (10.0, 0.0, 3.0)]}

    def problems(self) -> dict[str, list[str]]:
        self.stage.GetRootLayer().Export(str(self.file))
        scene = translate(self.file)
        engine = MujocoEngine()
        engine.load(scene)
        spec = WorldSpec(name="yard", usd=self.file, spawn_points=self.spawn_points, paths=self.paths)
        found = check_world(spec, scene, engine)
        engine.close()
        assert [item.subject for item in found] == [
            "units",
            "translation",
            "colliders",
            "labels",
            "textures",
            "light",
            "spawn points",
            "paths",
        ]
        return {item.subject: item.problems for item in found if item.problems}


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    """A world without faults."""
    return Yard(tmp_path)


def test_a_sound_world_passes(yard: Yard) -> None:
    """The check would report faults that do not exist."""
    assert yard.problems() == {}


def test_a_missing_class_is_found(yard: Yard) -> None:
    """Datasets would hold objects without a label."""
    yard.stage.GetPrimAtPath("/World/Things").RemoveProperty("semantics:labels:class")
    assert yard.problems() == {"labels": ["no class: /World/Things/Block"]}


def test_missing_units_are_found(yard: Yard) -> None:
    """Other tools would open the world a hundred times too small."""
    yard.stage.GetRootLayer().pseudoRoot.ClearInfo("metersPerUnit")
    assert "metersPerUnit is not authored" in yard.problems()["units"]


def test_an_open_collider_is_found_and_terrain_is_none(yard: Yard) -> None:
    """A wall open at its back would pass, or every terrain be reported."""
    x, y = np.meshgrid([-20.0, -18.0, -16.0], [0.0, 2.0, 4.0])
    points = np.column_stack([x.ravel(), y.ravel(), 0.1 * x.ravel() ** 2])
    faces = [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4], [3, 4, 7], [3, 7, 6], [4, 5, 8], [4, 8, 7]]
    mesh(yard.stage, "/World/Things/Terrain", points, faces, yard.surface)
    assert yard.problems() == {}
    corners = np.array([[x, y, z] for z in (0, 1) for y in (20, 21) for x in (0, 1)], dtype=float)
    sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2]]
    mesh(yard.stage, "/World/Things/Open", corners, sides, yard.surface)
    assert yard.problems() == {"colliders": ["/World/Things/Open has a hole, or inward-facing faces"]}


def test_a_mesh_turned_inside_out_is_found(yard: Yard) -> None:
    """A mesh with inverted faces would pass the check."""
    corners = np.array([[x, y, z] for z in (0, 1) for y in (20, 21) for x in (0, 1)], dtype=float)
    sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]]
    mesh(yard.stage, "/World/Things/Turned", corners, [side[::-1] for side in sides], yard.surface)
    assert list(yard.problems()) == ["colliders"]


def test_an_unreadable_texture_is_found(yard: Yard) -> None:
    """A world would pass, and its first image end the run."""
    (yard.file.parent / "cut.png").write_bytes(b"\x89PNG")
    image = UsdShade.Shader.Define(yard.stage, "/World/Looks/Grey/Image")
    image.CreateIdAttr("UsdUVTexture")
    image.CreateInput("file", Sdf.ValueTypeNames.Asset).Set("./cut.png")
    shader = yard.surface.material.ComputeSurfaceSource()[0]
    output = image.CreateOutput("rgb", Sdf.ValueTypeNames.Float3)
    shader.GetInput("diffuseColor").ConnectToSource(output)
    (problem,) = yard.problems()["textures"]
    assert "cut.png: texture cannot be read" in problem


def test_blocked_and_hovering_spawn_points_are_found(yard: Yard) -> None:
    """A start in a wall or in the air would pass, or two close free points be reported."""
    yard.spawn_points += [SpawnPoint(position=(0.3, 0.0, 0.1))]
    assert yard.problems() == {}
    yard.spawn_points[1:] = [SpawnPoint(position=(5.0, 0.0, 0.1)), SpawnPoint(position=(0.0, 5.0, 3.0))]
    assert yard.problems() == {
        "spawn points": [
            "1 at (5.0, 0.0, 0.1) is not free",
            "2 at (0.0, 5.0, 3.0) has no ground within 1 m below it",
        ]
    }
    yard.spawn_points = []
    assert yard.problems() == {"spawn points": ["there are none"]}


def test_a_blocked_path_is_found(yard: Yard) -> None:
    """A path through an obstacle would pass."""
    yard.paths["low"] = [(0.0, 0.0, 1.5), (10.0, 0.0, 1.5)]
    (problem,) = yard.problems()["paths"]
    assert problem.startswith("low is blocked near (3.")


def test_darkness_and_lack_of_colliders_are_found(yard: Yard) -> None:
    """A world without lights or colliders would pass."""
    for path in ("/World/Sun", "/World/Sky", "/World/Ground", "/World/Things/Block"):
        yard.stage.RemovePrim(path)
    cube = UsdGeom.Cube.Define(yard.stage, "/World/Cube")
    label(cube.GetPrim(), "cube")
    assert set(yard.problems()) == {"translation", "colliders", "light", "spawn points"}
