"""Rigs for tests of the `pegasus` command: runs, input files and checks of the output."""

import os
import re
import subprocess
import sys

import pytest
import yaml

from pegasus.base.system import resource
from pegasus.cli.main import main
from tests.waits import LIMIT

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
    """Return a function that runs the command in a temporary folder: exit code, stdout and stderr.

    It runs in this process, without an earlier test's module `own`; stderr includes OpenUSD's messages.
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
    """Write files; `__` in a name stands for a dot, and content other than text is written as YAML."""
    for name, content in files.items():
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (folder / name.replace("__", ".")).write_text(text)


def flying(vehicle=None, **changes):
    """Return a scenario with changes to itself and to its vehicle."""
    return SCENARIO | {"vehicles": [{"model": "iris"} | (vehicle or {})]} | changes


def with_vehicle(**changes):
    """Return a scenario and its vehicle file, that of an Iris with changes."""
    return {"s__yaml": flying({"model": "v.yaml"}), "v__yaml": IRIS | changes}


def with_world(**changes):
    """Return a scenario and its world file, that of a flat world with changes."""
    scene = {"usd": None, "generator": None} if "usd" in changes else {}
    world = {key: value for key, value in (FLAT | scene | changes).items() if value is not None}
    return {"s__yaml": flying(world="w.yaml"), "w__yaml": world}


def one_line(result, *parts):
    """Assert that a command rejected its input in one line that contains the given parts."""
    code, out, err = result
    assert code == 2, err
    assert re.fullmatch(r"pegasus: [^\n]+\n", err), err
    for part in parts:
        assert part in err
    assert "Traceback" not in out + err


def environment():
    """Return this process's environment without variables that set the width or colours of a terminal."""
    dropped = {"COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"}
    return {key: value for key, value in os.environ.items() if key not in dropped}


def command(folder, *arguments):
    """Run the command as a separate process in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "pegasus", *map(str, arguments)],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
