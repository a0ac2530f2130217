"""The `pegasus` command for tests: how it is run, and files that it is given."""

import os
import re
import subprocess
import sys
import time

import pytest
import yaml

from pegasus.cli import main
from pegasus.folders import resource

SCENARIO = {"name": "test", "world": "flat", "duration": 1.0, "vehicles": [{"model": "iris"}]}
GEOMETRIC = {"model": "geometric", "trajectory": [{"takeoff": {"height": 2.0}}]}
IRIS = yaml.safe_load(resource("config", "vehicles", "iris.yaml").read_text())
FLAT = {"name": "mine", "generator": {"model": "flat"}}
TEXTURED = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{
    def Cube "wall" (
        prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI"]
    )
    {
        rel material:binding = </World/Brick>
    }
    def Material "Brick"
    {
        token outputs:surface.connect = </World/Brick/Shader.outputs:surface>
        def Shader "Shader"
        {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor.connect = </World/Brick/Image.outputs:rgb>
            token outputs:surface
        }
        def Shader "Image"
        {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @textures/brick.png@
            float3 outputs:rgb
        }
    }
    def PhysicsScene "first"
    {
    }
    def PhysicsScene "second"
    {
    }
}
"""
COMPONENTS = """
from dataclasses import dataclass

import numpy as np

from pegasus import Backend


@dataclass
class Faulty(Backend):
    fault: str
    at: float = 0.0

    drives = True

    def bind(self, vehicle):
        self.shape = vehicle.count, vehicle.rotor_count

    def command(self, t):
        speed = np.full(self.shape, 300.0)
        if t < self.at:
            return speed
        match self.fault:
            case "nan":
                speed[0, 2] = np.nan
                return speed
            case "shape":
                return speed[0]
        raise ZeroDivisionError("a fault of the user's own")
"""


@pytest.fixture
def pegasus(tmp_path, monkeypatch, capfd):
    """Run the command in a folder of the test's own; return its exit code, stdout and stderr.

    It runs in this process, with nothing imported by an earlier test; stderr includes that of OpenUSD.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own", raising=False)

    def command(*arguments, **options):
        given = [part for key, value in options.items() for part in (f"--{key.replace('_', '-')}", value)]
        monkeypatch.setattr(sys, "argv", ["pegasus", *map(str, [*arguments, *given])])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        return code, *capfd.readouterr()

    return command


def write(folder, **files):
    """Write files, `__` standing for the dot in their names; what is no text becomes YAML."""
    for name, content in files.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / name.replace("__", ".")).write_text(text)


def flying(vehicle=None, **changes):
    """Return a scenario with changes, of itself and of its vehicle."""
    return SCENARIO | {"vehicles": [{"model": "iris"} | (vehicle or {})]} | changes


def with_vehicle(**changes):
    """Return a scenario and the file of its vehicle, an Iris with changes."""
    return {"s__yaml": flying({"model": "v.yaml"}), "v__yaml": IRIS | changes}


def with_world(**changes):
    """Return a scenario and the file of its world, a flat one with changes."""
    scene = {"usd": None, "generator": None} if "usd" in changes else {}
    world = {key: value for key, value in (FLAT | scene | changes).items() if value is not None}
    return {"s__yaml": flying(world="w.yaml"), "w__yaml": world}


def one_line(result, *parts):
    """Assert that a command refused its input in one line that holds these parts."""
    code, out, err = result
    assert code == 2, err
    assert re.fullmatch(r"pegasus: [^\n]+\n", err), err
    for part in parts:
        assert part in err
    assert "Traceback" not in out + err


def environment():
    """Return the environment of a terminal that no setting of the test's own narrows or colours."""
    dropped = {"COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"}
    return {key: value for key, value in os.environ.items() if key not in dropped}


def command(folder, *arguments):
    """Run the command as a process of its own in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "pegasus", *map(str, arguments)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )


def wait_until(condition):
    """Wait for a condition, for half a minute at most."""
    end = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < end, "it did not come to it"
        time.sleep(0.02)
