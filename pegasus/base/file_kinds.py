"""Kinds of files of other programs, told by their content, and what to do with each."""

import re
import struct
from collections.abc import Callable, Collection
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pegasus.base.errors import ConfigError

_HEAD = 1 << 16
"""Bytes at the beginning of a file that tell its kind."""

_GEO_KEYS = 34735
"""Tag of a TIFF file with geographic coordinates (OGC 19-008r4, GeoKeyDirectoryTag)."""


class _Kind(NamedTuple):
    name: str
    """The kind with its article."""
    remedy: str
    """Option that takes such a file, or program that converts it."""


_MESH = "export it as glTF (.glb), as Blender does, and name that as usd: in a world or vehicle file"
_TO_USD = "and then pegasus make vehicle NAME --usd FILE for a vehicle, or usd: FILE in a world file"
_PLAN = (
    "Pegasus flies waypoints in metres (docs/control.md), or an autopilot flies the plan from QGroundControl"
)
_TRACK = (
    "to rows of time [s], x, y, z [m], ENU, which trajectory: {csv: {file: FILE}} and pegasus compare read"
)
_ELSE = "see docs/worlds.md and docs/vehicles.md for the files that are read"

_KINDS = {
    "usd": _Kind("a USD file", "name it as usd: in a world file, or pegasus make vehicle NAME --usd FILE"),
    "gltf": _Kind("a glTF file", "name it as usd: in a world file, or pegasus make vehicle NAME --usd FILE"),
    "urdf": _Kind("a robot in URDF", f"convert it by urdf-usd-converter or Isaac Sim's importer, {_TO_USD}"),
    "xacro": _Kind("a robot in xacro", f"expand it to URDF, convert it by urdf-usd-converter, {_TO_USD}"),
    "mjcf": _Kind(
        "a model in MJCF", f"convert it by mujoco-usd-converter or Isaac Sim's importer, {_TO_USD}"
    ),
    "sdf": _Kind(
        "a model or world in SDF",
        "pegasus make vehicle --from FILE makes a vehicle of a model; convert a world by sdf2usd (gz-usd)",
    ),
    "collada": _Kind("a COLLADA model", _MESH),
    "obj": _Kind("a Wavefront OBJ model", _MESH),
    "stl": _Kind("an STL mesh", _MESH),
    "ply": _Kind("a PLY mesh or cloud", _MESH),
    "fbx": _Kind("an FBX model", _MESH),
    "blend": _Kind("a Blender file", _MESH),
    "cloud": _Kind("a point cloud", "make a mesh of it, and export that as glTF (.glb)"),
    "geotiff": _Kind(
        "a GeoTIFF",
        "gdal_translate -ot UInt16 -scale LOW HIGH 0 65535 IN OUT.png, with height_map: OUT.png and "
        "amplitude: HIGH - LOW [m] of the generator hills",
    ),
    "plan": _Kind("a plan of QGroundControl", _PLAN),
    "waypoints": _Kind("a list of MAVLink waypoints (QGC WPL)", _PLAN),
    "ulog": _Kind(
        "a ULog of PX4", f"convert its vehicle_local_position (NED) by ulog2csv of pyulog {_TRACK}"
    ),
    "dataflash": _Kind("a log of ArduPilot", f"convert its positions by mavlogdump.py of pymavlink {_TRACK}"),
    "mcap": _Kind("an MCAP log", "read it by pegasus.read_log, or pegasus plot, compare and view"),
    "bag": _Kind("a ROS bag", f"convert its poses {_TRACK}"),
    "airsim": _Kind("a settings file of AirSim", "write a scenario with its vehicles: docs/scenarios.md"),
    "netcdf": _Kind("a NetCDF or HDF5 file", "name it as file: of the wind field: docs/worlds.md"),
    "numpy": _Kind("a file of NumPy arrays", "name it as height_map: of hills, or as file: of a wind field"),
    "image": _Kind(
        "an image", "name it as a texture of a material, or as height_map: of the generator hills"
    ),
    "map": _Kind("a map or track of geographic coordinates", f"convert it {_TRACK}"),
    "table": _Kind("a table of numbers", "fly it by trajectory: {csv: {file: FILE}} in a scenario"),
    "xml": _Kind("an XML file", _ELSE),
}

_BEGINNINGS = (
    (b"PXR-USDC", "usd"),
    (b"#usda", "usd"),
    (b"glTF", "gltf"),
    (b"Kaydara FBX Binary", "fbx"),
    (b"; FBX", "fbx"),
    (b"BLENDER", "blend"),
    (b"ply\n", "ply"),
    (b"ply\r", "ply"),
    (b"LASF", "cloud"),
    (b"# .PCD", "cloud"),
    (b"ULog\x01\x12\x35", "ulog"),
    (b"\xa3\x95", "dataflash"),
    (b"\x89MCAP0", "mcap"),
    (b"#ROSBAG", "bag"),
    (b"SQLite format 3\0", "bag"),
    (b"QGC WPL", "waypoints"),
    (b"CDF\x01", "netcdf"),
    (b"CDF\x02", "netcdf"),
    (b"CDF\x05", "netcdf"),
    (b"\x89HDF", "netcdf"),
    (b"\x93NUMPY", "numpy"),
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"\x76\x2f\x31\x01", "image"),
    (b"#?RADIANCE", "image"),
)
_ROOTS = {
    "robot": "urdf",
    "mujoco": "mjcf",
    "mujocoinclude": "mjcf",
    "sdf": "sdf",
    "gazebo": "sdf",
    "COLLADA": "collada",
    "kml": "map",
    "gpx": "map",
    "osm": "map",
}
"""Kinds of XML files by their first element."""

_ROOT = re.compile(r"(?:\s|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>]*>)*<([A-Za-z]\w*)", re.DOTALL)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_TEXTS = (
    (
        "plan",
        re.compile(r'\s*\{.*"(?:fileType"\s*:\s*"Plan|groundStation"\s*:\s*"QGroundControl)"', re.DOTALL),
    ),
    ("airsim", re.compile(r'\s*\{.*"SettingsVersion"\s*:', re.DOTALL)),
    ("gltf", re.compile(r'\s*\{.*"asset"\s*:\s*\{[^}]*"version"\s*:', re.DOTALL)),
    ("stl", re.compile(r"\s*solid\b.*?\bfacet\s+normal\b", re.DOTALL)),
    ("obj", re.compile(rf"(?:.*\n)*?v(?:[ \t]+{_NUMBER}){{3}}")),
    (
        "table",
        # Lines of comments, a header of names or of numbers, and numbers.
        re.compile(
            rf"(?:\s*#.*\n)*(?:[^\n:\[{{\-#][^\n:\[{{]*\n)?"
            rf"\s*{_NUMBER}(?:\s*[,;\t ]\s*{_NUMBER}){{2,}}[,; \t]*\r?$",
            re.MULTILINE,
        ),
    ),
)


def refuse_other_kinds(
    path: Path, wanted: str, kinds: Collection[str] = (), *, field: str | None = None
) -> None:
    """Raise an error if a file is one of another program that a reader would misread.

    Args:
        path: The file; one that cannot be read passes.
        wanted: What the reader takes, with its article.
        kinds: Kinds that it takes: `usd`, `gltf`, `mcap`, `netcdf`, `numpy`, `image`, `table`.
        field: Field that holds the path, named in place of the file.

    Raises:
        ConfigError: If the file is of another kind; it names the kind, and how to convert the file.
    """
    kind = file_kind(path)
    if kind is None or kind in kinds:
        return
    found = _KINDS[kind]
    problem = f"is {found.name}, not {wanted}"
    if field is None:
        raise ConfigError(problem, file=path, remedy=found.remedy)
    raise ConfigError(problem, field=field, value=str(path), remedy=found.remedy)


def file_kind(path: Path) -> str | None:
    """Return the kind of a file of another program by its content, or None if it is of no known kind.

    Args:
        path: The file; None is returned for one that cannot be read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            size = path.stat().st_size
            return _binary_kind(head, size, file) or _text_kind(head)
    except OSError:
        return None


def _binary_kind(head: bytes, size: int, file: BinaryIO) -> str | None:
    for beginning, kind in _BEGINNINGS:
        if head.startswith(beginning):
            return kind
    if head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
        return "geotiff" if _GEO_KEYS in _tags(head, file.seek, file.read) else "image"
    if b"\0" in head and len(head) >= 84 and size == 84 + 50 * struct.unpack_from("<I", head, 80)[0]:
        return "stl"
    return None


def _tags(head: bytes, seek: Callable[[int], int], read: Callable[[int], bytes]) -> list[int]:
    """Return the numbers of the tags of a TIFF file (TIFF 6.0, section 2; BigTIFF)."""
    order, is_big = "<" if head[:2] == b"II" else ">", b"+" in head[2:4]
    try:
        if is_big:
            seek(struct.unpack_from(f"{order}Q", head, 8)[0])
            count, entry = struct.unpack(f"{order}Q", read(8))[0], 20
        else:
            seek(struct.unpack_from(f"{order}I", head, 4)[0])
            count, entry = struct.unpack(f"{order}H", read(2))[0], 12
        content = read(min(count, 1000) * entry)
        return [struct.unpack_from(f"{order}H", content, k)[0] for k in range(0, len(content) - 1, entry)]
    except (struct.error, OverflowError):
        return []


def _text_kind(head: bytes) -> str | None:
    if b"\0" in head:
        return None
    text = head.decode("utf-8-sig", errors="ignore")
    if found := _ROOT.match(text):
        kind = _ROOTS.get(found.group(1), "xml")
        return "xacro" if kind == "urdf" and "<xacro:" in text else kind
    return next((kind for kind, pattern in _TEXTS if pattern.match(text)), None)
