"""The shipped worlds: reproducible, free where vehicles fly, labelled, lit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdPhysics, UsdValidation

from pegasus.errors import ConfigError
from pegasus.scenario import load_world
from pegasus.scene.colliders import bounds
from pegasus.scene.scene import Collider, ColliderShape, Scene
from pegasus.scene.translation import translate
from pegasus.scene.worlds import make_world
from pegasus.settings import resource

NAMES = ("flat", "courtyard")


def shipped(name: str) -> Path:
    spec, source = load_world(resource("config", "worlds", f"{name}.yaml"))
    return source.parent / spec.usd


@pytest.fixture(scope="module")
def scenes() -> dict[str, Scene]:
    """The scenes of the shipped worlds."""
    return {name: translate(shipped(name)) for name in NAMES}


def solids(scene: Scene) -> list[Collider]:
    return [collider for collider in scene.colliders if collider.shape is not ColliderShape.PLANE]


@pytest.mark.parametrize("name", NAMES)
def test_the_generator_writes_the_shipped_file_byte_for_byte(tmp_path: Path, name: str) -> None:
    """The shipped world could not be made again, or would differ from what its generator says."""
    make_world(name, tmp_path / "world.usda")
    assert (tmp_path / "world.usda").read_bytes() == resource("data", "worlds", f"{name}.usda").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_shipped_worlds_are_sound(scenes: dict[str, Scene], name: str) -> None:
    """A shipped world would warn, be dark, unlabelled, or too large to ship."""
    scene = scenes[name]
    assert scene.warnings == []
    assert sorted(light.kind for light in scene.lights) == ["DistantLight", "DomeLight"]
    assert all("class" in instance.labels for instance in scene.instances)
    assert sum(collider.shape is ColliderShape.PLANE for collider in scene.colliders) == 1
    assert shipped(name).stat().st_size < 300_000
    stage = Usd.Stage.Open(str(shipped(name)))
    assert stage.GetDefaultPrim().GetPath() == "/World"
    assert sum(prim.IsA(UsdPhysics.Scene) for prim in stage.Traverse()) == 1


@pytest.mark.parametrize("name", NAMES)
def test_shipped_worlds_validate(name: str) -> None:
    """A file would break rules of OpenUSD that other tools rely on."""
    rules = UsdValidation.ValidationContext(UsdValidation.ValidationRegistry().GetOrLoadAllValidators())
    errors = rules.Validate(Usd.Stage.Open(str(shipped(name))))
    assert [(error.GetName(), error.GetMessage()) for error in errors] == []


def test_the_courtyard_is_free_within_14_metres(scenes: dict[str, Scene]) -> None:
    """The default mission (a square, a circle of 10 m, a lemniscate) would end in a wall."""
    for collider in solids(scenes["courtyard"]):
        low, high = bounds(collider)
        nearest = np.clip(0.0, low[:2], high[:2])
        assert np.hypot(*nearest) > 14.0, collider.path
    for instance in scenes["courtyard"].instances:
        geometry = scenes["courtyard"].geometries[instance.geometry]
        vertices = geometry.vertices @ instance.transform[:3, :3].T + instance.transform[:3, 3]
        above = vertices[vertices[:, 2] > 1e-3]
        assert (np.hypot(above[:, 0], above[:, 1]) > 14.0).all(), instance.path


def test_the_courtyard_has_what_it_says(scenes: dict[str, Scene]) -> None:
    """A part of the courtyard would be missing, or not collide where it should."""
    scene = scenes["courtyard"]
    labels = {instance.labels["class"] for instance in scene.instances}
    assert labels >= {"wall", "gate", "steps", "terrace", "ramp", "pillar", "tree", "bench", "lamp", "lawn"}
    paths = [collider.path for collider in scene.colliders]
    assert sum(path.endswith("/Trunk") for path in paths) == 14
    assert sum(path.endswith("/Shaft") for path in paths) == 18
    assert not any(path.endswith("/Foliage") for path in paths)
    # What repeats is instanced: one foliage of each kind of tree, however many there are.
    assert sum(name.endswith("/Foliage") for name in scene.geometries) == 2


def test_steps_are_low_enough_to_climb_and_lead_to_the_terrace(scenes: dict[str, Scene]) -> None:
    """The steps would end below or above the terrace."""
    tops = {
        c.path: bounds(c)[1][2]
        for c in scenes["courtyard"].colliders
        if "/Step" in c.path or "Terrace" in c.path
    }
    heights = np.diff([0.0, *sorted(tops.values())])
    np.testing.assert_allclose(heights, 0.15, atol=1e-6)
    assert len(heights) == 6


def test_the_foliage_is_closed(
    scenes: dict[str, Scene], area_and_volume: Callable[..., tuple[float, float]]
) -> None:
    """Leaves would be seen through from one side."""
    for name, geometry in scenes["courtyard"].geometries.items():
        if name.endswith("/Foliage"):
            assert area_and_volume(geometry.vertices, geometry.faces)[1] > 3.0


@pytest.mark.parametrize("name", NAMES)
def test_spawn_points_are_free(scenes: dict[str, Scene], name: str) -> None:
    """A vehicle would start inside a wall."""
    spec, _ = load_world(resource("config", "worlds", f"{name}.yaml"))
    assert len(spec.spawn_points) > 3
    for point in spec.spawn_points:
        center = np.array(point.position)
        low, high = center - np.array([0.5, 0.5, 0.09]), center + 0.5
        assert low[2] >= 0.0
        for collider in solids(scenes[name]):
            theirs = bounds(collider)
            assert (low >= theirs[1]).any() or (high <= theirs[0]).any(), (point, collider.path)


def test_unknown_world_and_unwritable_file(tmp_path: Path) -> None:
    """A misspelt name or a bad path would show as a traceback."""
    with pytest.raises(ConfigError, match=r"world = 'moon': must be one of flat, courtyard"):
        make_world("moon", tmp_path / "moon.usda")
    with pytest.raises(ConfigError, match="cannot be written"):
        make_world("flat", tmp_path / "no" / "such" / "folder.usda")
