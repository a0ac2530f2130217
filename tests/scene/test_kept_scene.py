"""Scenes that are kept for the next simulation of the same world."""

import itertools
import os

from pxr import Usd, UsdGeom, UsdPhysics

from pegasus.scene.kept_scene import scene_of_file

_clock = itertools.count(10**18)


def written(path, *names, reference=None):
    """Write a stage with solid cubes, and with a reference to another file; return its path."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    for name in names:
        UsdPhysics.CollisionAPI.Apply(UsdGeom.Cube.Define(stage, f"/World/{name}").GetPrim())
    stage.SetDefaultPrim(stage.GetPrimAtPath("/World"))
    if reference is not None:
        stage.DefinePrim("/World/Other").GetReferences().AddReference(str(reference))
    stage.GetRootLayer().Export(str(path))
    # Files that are written within the clock's resolution would have equal times.
    now = next(_clock)
    os.utime(path, ns=(now, now))
    return path


def drawn(path):
    """Return the paths of what is drawn."""
    return sorted(instance.path for instance in scene_of_file(path).instances)


def test_an_unchanged_world_is_read_once(tmp_path):
    """Each flight of a sweep would read its world again."""
    world = written(tmp_path / "world.usda", "A")
    first = scene_of_file(world)
    assert not first.warnings
    assert scene_of_file(world) is first
    other = written(tmp_path / "other.usda", "A")
    assert scene_of_file(other) is not first


def test_a_changed_world_is_read_again(tmp_path):
    """A world that its author has just changed, or a part of it, would look as before."""
    part = written(tmp_path / "part.usda", "B")
    world = written(tmp_path / "world.usda", "A", reference=part)
    assert drawn(world) == ["/World/A", "/World/Other/B"]
    written(part, "B", "C")
    assert drawn(world) == ["/World/A", "/World/Other/B", "/World/Other/C"]
    written(world, "D")
    assert drawn(world) == ["/World/D"]


def test_a_missing_part_is_looked_for_again(tmp_path):
    """A world with a warning would keep it after its cause is gone."""
    part = tmp_path / "part.usda"
    world = written(tmp_path / "world.usda", "A", reference=part)
    assert any("part.usda" in line for line in scene_of_file(world).warnings)
    written(part, "B")
    assert drawn(world) == ["/World/A", "/World/Other/B"]
    assert not scene_of_file(world).warnings
