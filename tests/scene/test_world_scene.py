"""Tests of the lights and labels that world files add to their scenes, and of daylight."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from pegasus import ConfigError, Simulation
from pegasus.render.sky import sun_direction
from pegasus.scene.world_scene import NO_LIGHT

BOX = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 0.01
    upAxis = "Y"
)
def Xform "World"
{{
    def Cube "Ground" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {{
        double size = 1000
    }}
    {light}
}}
"""
LIGHT = 'def DistantLight "Sun" {\n float inputs:intensity = 10\n}'


def world(folder: Path, *, light: str = "", **fields: object) -> Path:
    (folder / "box.usda").write_text(BOX.format(light=light))
    (folder / "yard.yaml").write_text(yaml.safe_dump({"name": "yard", "usd": "box.usda", **fields}))
    return folder / "yard.yaml"


def scene_of(path: Path):
    with Simulation(path) as simulation:
        return simulation.scene


def test_a_scene_without_lights_has_daylight(tmp_path: Path) -> None:
    """Images would be black without a word."""
    for _ in range(2):
        scene = scene_of(world(tmp_path))
        assert [light.kind for light in scene.lights] == ["DistantLight", "DomeLight"]
        assert [line for line in scene.warnings if NO_LIGHT in line]
    lit = scene_of(world(tmp_path, light=LIGHT))
    assert [light.path for light in lit.lights] == ["/World/Sun"]
    assert not any(NO_LIGHT in line for line in lit.warnings)


def test_lights_of_a_world_file(tmp_path: Path) -> None:
    """A light would be elsewhere, of another strength, or in the scene's units."""
    (tmp_path / "sky.png").write_bytes(b"image")
    lights = [
        {"model": "sun", "elevation": 0.5, "azimuth": 2.0, "intensity": 100.0, "color": [1, 0.5, 0.25]},
        {"model": "sky", "file": "sky.png"},
        {"model": "lamp", "position": [1, 2, 3], "radius": 0.1, "intensity": 7.0, "color": [1, 1, 1]},
    ]
    own, sun, sky, lamp = scene_of(world(tmp_path, light=LIGHT, lights=lights)).lights
    assert own.path == "/World/Sun"
    east, north = math.cos(0.5) * math.sin(2.0), math.cos(0.5) * math.cos(2.0)
    np.testing.assert_allclose(sun_direction(sun), (east, north, math.sin(0.5)), atol=1e-12)
    assert sun.color == (100.0, 50.0, 25.0)
    assert sky.texture == tmp_path / "sky.png"
    np.testing.assert_array_equal(lamp.transform[:3, 3], (1, 2, 3))
    # UsdLux: a normalised sphere has its colour over its area as radiance, and pi r^2 of that as intensity.
    radiance = lamp.color[0] / (4.0 * math.pi * 0.1**2)
    assert radiance * math.pi * 0.1**2 == pytest.approx(7.0)
    assert (lamp.parameters["radius"], lamp.parameters["normalize"]) == (0.1, 1.0)


@pytest.mark.parametrize("direction", [(0, 0, -1), (0, 0, 2), (0, 3, 0), (1, -2, 0.5)])
def test_a_spot_of_a_world_file(tmp_path: Path, direction: tuple[float, float, float]) -> None:
    """A spot would shine elsewhere, mirrored or within another cone."""
    given = {
        "model": "spot",
        "position": [1, 2, 3],
        "direction": list(direction),
        "angle": 0.5,
        "softness": 0.3,
    }
    (spot,) = scene_of(world(tmp_path, lights=[given])).lights
    turn = spot.transform[:3, :3]
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-12)
    assert np.linalg.det(turn) == pytest.approx(1.0)
    np.testing.assert_allclose(-turn[:, 2], np.array(direction) / np.linalg.norm(direction), atol=1e-12)
    assert spot.parameters["cone_angle"] == pytest.approx(math.degrees(0.5))
    assert spot.parameters["cone_softness"] == 0.3


def test_labels_of_a_world_file(tmp_path: Path) -> None:
    """Objects of a file without labels could not be annotated, or labels of one world be in another."""
    named = scene_of(world(tmp_path, labels={"/World/Ground": "floor"}))
    assert [item.labels for item in named.instances] == [{"class": "floor"}]
    assert named.entities["/World/Ground"].labels == {"class": "floor"}
    assert [item.labels for item in scene_of(world(tmp_path)).instances] == [{}]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": {"/World/Grund": "a"}}, "labels = '/World/Grund': no such prim .* mean /World/Ground?"),
        (
            {"lights": [{"model": "bulb"}]},
            "lights.0 .* must have one of 'sun', 'sky', 'lamp', 'spot' as 'model'",
        ),
        ({"lights": [{"elevation": 1.0}]}, "lights.0 .* must have 'model'"),
        ({"lights": [{"model": "sky", "file": "no.png"}]}, "lights.0.file = .*no.png': no such file"),
        (
            {"lights": [{"model": "spot", "position": [0, 0, 1], "direction": [0, 0, 0]}]},
            r"lights.0.direction = .*: must not be zero",
        ),
        ({"lights": [{"model": "sun", "intensity": -1}]}, "lights.0.intensity = -1.*: must be at least 0"),
    ],
)
def test_wrong_lights_and_labels_are_refused(tmp_path: Path, fields: dict[str, object], message: str) -> None:
    """A misspelt prim would stay unlabelled, or a light be left out."""
    with pytest.raises(ConfigError, match=message) as caught:
        scene_of(world(tmp_path, **fields))
    assert str(caught.value).startswith(f"{tmp_path / 'yard.yaml'}: ")
