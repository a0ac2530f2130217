"""Tests of errors of `pegasus dataset`: one line with a remedy; complete frames are kept."""

import importlib.metadata
import io
import logging
import re
import sys

import numpy as np
import pytest
from dataset_runs import SCENARIO, contents, frame_count, write_scenario
from PIL import Image

from pegasus.cli.main import main

pytest.importorskip("embreex", reason="needs embreex: pip install pegasus-multirotor[render]")
pytest.importorskip("warp", reason="needs warp-lang: pip install pegasus-multirotor[render]")
pytest.importorskip("resource", reason="needs limits of processes, which this system lacks")

# A worker's disk is full from its second frame on while the file `full` exists.
FULL_DISK = """
import resource
from dataclasses import dataclass
from pathlib import Path

from pegasus.dataset.randomizers import Randomizer

FULL = Path(__file__).with_name("full")


@dataclass(frozen=True)
class FullDisk(Randomizer):
    def optics(self, optics, rng):
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        if FULL.exists() and FULL.read_bytes():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
        elif FULL.exists():
            FULL.write_bytes(b"now")
        return optics
"""

WALL = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{
    def Cube "wall" (
        prepend apiSchemas = ["MaterialBindingAPI"]
    )
    {
        double size = 400
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
            asset inputs:file = @brick.png@
            float3 outputs:rgb
        }
    }
}
"""


@pytest.fixture
def dataset(tmp_path, monkeypatch, capsys):
    """Run `pegasus dataset` on a scenario, and return its exit code and its output."""

    def run(file, *options, frames=4):
        arguments = ["dataset", file, "--out", tmp_path / "out", "--frames", frames, *options]
        monkeypatch.setattr(sys, "argv", ["pegasus", *map(str, arguments)])
        monkeypatch.setattr(sys, "path", list(sys.path))
        monkeypatch.setattr(logging.getLogger(), "handlers", [])
        with pytest.raises(SystemExit) as end:
            main()
        sys.modules.pop("full_disk", None)
        return end.value.code or 0, capsys.readouterr().err

    return run


def refused(end):
    """Return the one-line error of a run."""
    code, said = end
    assert code == 2, said
    assert said.startswith("pegasus: ")
    assert said.count("\n") == 1, said
    return said


def seen_by(tmp_path, sensors=None, world="flat", **camera):
    """Write a scenario with another camera or world, without randomisers."""
    vehicle = {**SCENARIO["vehicles"][0]}
    front = {**vehicle["sensors"]["front"], **camera}
    vehicle["sensors"] = {"front": front, **(sensors or {})}
    dataset = {"frames_per_scene": 2, "occlusion": False, "annotators": ["rgb"], "randomizers": {}}
    return write_scenario(tmp_path, world=world, vehicles=[vehicle], dataset=dataset)


def test_a_folder_with_something_in_it(dataset, tmp_path):
    """A dataset would be mixed with other files."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    said = refused(dataset(write_scenario(tmp_path)))
    assert "the folder is not empty; give a new one, or resume the dataset that is there" in said
    assert contents(tmp_path / "out") == {"mine": b"x"}


@pytest.mark.parametrize("workers", [("--workers", 2), ("--ray", "local")])
def test_a_disk_that_gets_full(dataset, tmp_path, workers):
    """A full disk within a worker would end in a traceback, or a half-written frame count."""
    if "--ray" in workers:
        pytest.importorskip("ray", reason="needs ray: pip install pegasus-multirotor[cluster]")
        if " " in sys.executable:
            pytest.skip("Ray cannot start workers from a path with a blank")
    (tmp_path / "full_disk.py").write_text(FULL_DISK)
    (tmp_path / "full").touch()
    randomizers = {**SCENARIO["dataset"]["randomizers"], "disk": {"model": "full_disk:FullDisk"}}
    file = write_scenario(tmp_path, dataset={"frames_per_scene": 2, "randomizers": randomizers})
    said = refused(dataset(file, *workers))
    assert re.search(
        r"out = '.*/out': the disk is full, frame \d is not counted; make room and resume\n", said
    )
    ready, out = frame_count(tmp_path / "out"), contents(tmp_path / "out")
    assert ready < 4
    pictures = [Image.open(io.BytesIO(data)) for name, data in out.items() if name.endswith(".png")]
    assert all(picture.load() is not None for picture in pictures)
    if "--ray" in workers:
        return
    (tmp_path / "full").unlink()
    code, said = dataset(file, "--workers", 1, "--resume")
    assert code == 0
    assert all(re.fullmatch(r"pegasus: \d of 4 frames", line) for line in said.splitlines())
    resumed = contents(tmp_path / "out")
    assert frame_count(tmp_path / "out") == 4
    assert not [name for name in resumed if name.endswith(".part")]
    assert out.items() - {item for item in out.items() if item[0].endswith(".part")} <= resumed.items()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"horizontal_fov": 0.0}, "vehicles.0.sensors.front.horizontal_fov = 0.0: must be above 0"),
        (
            {"lens": {"model": "kannala_brandt", "horizontal_fov": 0.0}},
            "horizontal_fov = 0.0: must be above 0",
        ),
    ],
)
def test_a_field_of_view_of_zero(dataset, tmp_path, changes, message):
    """A camera with no field of view would divide by zero, or give invalid images."""
    said = refused(dataset(seen_by(tmp_path, **changes)))
    assert message in said
    assert not (tmp_path / "out").exists()


def test_a_texture_that_is_not_there(dataset, tmp_path):
    """A missing texture would be white, or the worker end in a traceback."""
    (tmp_path / "wall.usda").write_text(WALL)
    said = refused(dataset(seen_by(tmp_path, world="wall.usda")))
    assert "brick.png" in said
    assert "wall.usda" in said


@pytest.mark.parametrize(("kept", "photo"), [(300, False), pytest.param(5, True, marks=pytest.mark.photo)])
def test_an_openexr_texture_cut_short(dataset, tmp_path, kept, photo):
    """A worker would end in a traceback, or the texture be drawn black."""
    mitsuba = pytest.importorskip("mitsuba", reason="needs mitsuba: pip install pegasus-multirotor[photo]")
    mitsuba.set_variant("scalar_rgb")
    mitsuba.Bitmap(np.ones((32, 32, 3), np.float32)).write(str(tmp_path / "brick.exr"))
    whole = (tmp_path / "brick.exr").read_bytes()
    (tmp_path / "brick.exr").write_bytes(whole[:kept])
    (tmp_path / "wall.usda").write_text(WALL.replace("brick.png", "brick.exr"))
    end = dataset(seen_by(tmp_path, world="wall.usda"), "--workers", 1, *(["--photo"] if photo else []))
    code, said = end
    # Dr.Jit says itself that DRJIT_LIBLLVM_PATH names no file.
    lines = [line for line in said.splitlines() if "WARNING" not in line and not line.startswith("jit")]
    assert code == 2
    assert len(lines) == 1, said
    assert "brick.exr: texture cannot be read: damaged or cut short: " in lines[0]
    assert lines[0].endswith("; export the image again, or convert it to .png")
    assert frame_count(tmp_path / "out") == 0


def test_a_world_with_nothing_in_it(dataset, tmp_path):
    """An empty world would give a dataset of empty images."""
    (tmp_path / "empty.usda").write_text(WALL[: WALL.index("    def Cube")] + "}\n")
    said = refused(dataset(seen_by(tmp_path, world="empty.usda")))
    assert "empty.usda" in said
    assert "holds no geometry; check that its references resolve" in said
    assert frame_count(tmp_path / "out") == 0


def test_a_camera_and_a_lidar_within_a_wall(dataset, tmp_path):
    """Sensors inside a wall would cause no warning, or one for each scene."""
    (tmp_path / "wall.usda").write_text(WALL.replace("rel material", "# rel material"))
    lidar = {"top": {"model": "lidar", "pattern": "vlp16"}}
    file = seen_by(tmp_path, world="wall.usda", sensors=lidar)
    code, said = dataset(file, "--writer", "kitti", frames=4)
    assert code == 0
    world, light, camera, lidar = sorted(line for line in said.splitlines() if "WARNING" in line)
    assert world.endswith("wall.usda: no collider: vehicles fall through everything")
    assert "wall.usda: no light: lit by a sun and a sky; " in light
    for warning, eye in (
        (camera, "camera 'front' of 'observer': its lens"),
        (lidar, "lidar 'top' of 'observer': it"),
    ):
        assert warning.startswith(f"pegasus: WARNING: {eye} is inside /World/wall at t = ")
        assert warning.endswith("s; correct its position, or set hide_vehicle")


@pytest.mark.parametrize(
    ("package", "options", "extra"),
    [("embreex", (), "render"), ("mitsuba", ("--photo",), "photo"), ("ray", ("--ray", "local"), "cluster")],
)
def test_an_extra_that_is_not_installed(dataset, tmp_path, monkeypatch, package, options, extra):
    """A missing extra would cause an ImportError."""
    real = importlib.metadata.version

    def version(name):
        if name == package:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    monkeypatch.setitem(sys.modules, package, None)
    said = refused(dataset(write_scenario(tmp_path), *options))
    needs = f"needs the package {package}, which is not installed; pip install pegasus-multirotor[{extra}]"
    assert needs in said
