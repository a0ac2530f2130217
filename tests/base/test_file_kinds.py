"""Tests of files of other programs: each is told by its content, and refused where it would be misread."""

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, TiffImagePlugin

from pegasus import ConfigError, Multirotor, Simulation, read_log
from pegasus.base.file_kinds import file_kind
from pegasus.base.system import resource
from pegasus.config import load_scenario, load_vehicle, load_world
from pegasus.recording.comparison import read_track
from pegasus.scene.stage import open_stage
from pegasus.worlds.height_maps import height_map_shape

URDF = b'<?xml version="1.0"?>\n<!-- by hand -->\n<robot name="mini"><link name="base_link"/></robot>'
PLAN = b'{\n "groundStation": "QGroundControl", "fileType": "Plan", "mission": {"items": []}}'
STL = bytes(80) + struct.pack("<I", 1) + bytes(50)

FILES: dict[str, bytes] = {
    "urdf": URDF,
    "xacro": b'<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro name="arm"/></robot>',
    "sdf": b'\n<sdf version="1.9"><model name="x500"/></sdf>',
    "mjcf": b'<mujoco model="x2"><worldbody/></mujoco>',
    "collada": b'\xef\xbb\xbf<?xml version="1.0"?><COLLADA version="1.4.1"/>',
    "xml": b"<scene><light/></scene>",
    "map": b'<?xml version="1.0"?><kml xmlns="http://www.opengis.net/kml/2.2"/>',
    "obj": b"# Blender\nmtllib body.mtl\no Body\nv 0.0 1e-3 -2\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "stl": b"solid body\n facet normal 0 0 1\n  outer loop\n",
    "ply": b"ply\nformat ascii 1.0\n",
    "plan": PLAN,
    "waypoints": b"QGC WPL 110\n0\t1\t0\t16\t0\t0\t0\t0\t38.7368\t-9.1380\t90\t1\n",
    "airsim": b'{"SettingsVersion": 1.2, "SimMode": "Multirotor"}',
    "ulog": b"ULog\x01\x12\x35\x01" + bytes(8),
    "dataflash": b"\xa3\x95\x80\x80Y",
    "bag": b"#ROSBAG V2.0\n",
    "mcap": b"\x89MCAP0\r\n",
    "usd": b"#usda 1.0\n",
    "gltf": b'{"asset": {"version": "2.0"}, "nodes": []}',
    "netcdf": b"CDF\x01",
    "table": b"# by a tracker\nt;x;y;z\n0;1;2;3\n0.1;1;2;3\n",
}


@pytest.mark.parametrize("kind", FILES)
def test_kinds_are_told_by_content(tmp_path: Path, kind: str) -> None:
    """A file would be parsed as YAML, whatever its name is."""
    (tmp_path / "a.yaml").write_bytes(FILES[kind])
    assert file_kind(tmp_path / "a.yaml") == kind


def test_binary_stl_and_tables(tmp_path: Path) -> None:
    """A binary mesh without a magic number would not be known, or a track not be one without a header."""
    (tmp_path / "a").write_bytes(STL)
    assert file_kind(tmp_path / "a") == "stl"
    for text in (
        "0 1 2 3\n1 1 2 3\n",
        "time,x,y,z\r\n0,1,2,3\r\n",
        "#t [ns], x\n1403636579758555392,1.5,-2e-3\n",
    ):
        (tmp_path / "a").write_text(text)
        assert file_kind(tmp_path / "a") == "table"


def test_files_of_pegasus_are_of_no_other_kind(tmp_path: Path) -> None:
    """A valid file would be refused."""
    for path in sorted(resource("config").rglob("*.yaml")):
        assert file_kind(path) is None, path
    for text in ("{name: a, mass: 1}", "<<: {a: 1}", "- 1\n- 2\n", "v: 1\n", "a: [1, 2,\n 3, 4, 5]\n", ""):
        (tmp_path / "a.yaml").write_text(text)
        assert file_kind(tmp_path / "a.yaml") is None, text
    assert file_kind(tmp_path / "missing") is None
    assert file_kind(tmp_path) is None


DOORS: dict[str, Callable[[Path], object]] = {
    "vehicle": load_vehicle,
    "world": load_world,
    "scenario": load_scenario,
    "Multirotor": Multirotor,
    "Simulation": Simulation,
    "stage": open_stage,
    "log": read_log,
    "track": read_track,
}


@pytest.mark.parametrize("suffix", [".yaml", ".csv", ".usd", ".urdf"])
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", ["urdf", "plan", "ulog", "obj"])
def test_other_files_are_refused_at_every_door(tmp_path: Path, door: str, kind: str, suffix: str) -> None:
    """A file would be misread, end in a traceback, or be refused without its kind and a remedy."""
    path = tmp_path / f"a{suffix}"
    path.write_bytes(FILES[kind])
    with pytest.raises(ConfigError) as caught:
        DOORS[door](path)
    names = {
        "urdf": "a robot in URDF",
        "plan": "a plan of QGroundControl",
        "ulog": "a ULog",
        "obj": "Wavefront",
    }
    assert names[kind] in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_heights_in_metres_are_not_read_as_grey(tmp_path: Path) -> None:
    """Metres of a GeoTIFF would be scaled as grey values of an image."""
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    tags[34735] = (1, 1, 0, 0)
    Image.fromarray(np.full((60, 70), 500, np.uint16)).save(tmp_path / "a.tif", tiffinfo=tags)
    with pytest.raises(ConfigError, match=r"is a GeoTIFF, .*gdal_translate"):
        height_map_shape(tmp_path / "a.tif")
    Image.fromarray(np.full((60, 70), 500, np.uint16)).save(tmp_path / "plain.tif")
    assert height_map_shape(tmp_path / "plain.tif") == (60, 70)
