"""glTF 2.0 files: their JSON, the files that they refer to, and their scene by trimesh.

Source: Khronos Group, glTF 2.0 Specification.
"""

import copy
import importlib
import io
import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pegasus.base.errors import ConfigError

_MAGIC, _JSON = b"glTF", 0x4E4F534A
_READ = {"KHR_materials_emissive_strength", "KHR_materials_ior", "KHR_materials_clearcoat"}
_HARMLESS = {"KHR_materials_unlit", "KHR_lights_punctual", "KHR_materials_variants", "KHR_texture_transform"}
"""Extensions that are read, and those without which a file still has its shapes."""


def document_of(file: Path, content: bytes) -> dict[str, Any]:
    """Return the JSON of a glTF file.

    Raises:
        ConfigError: If it is damaged, of another version, or needs an extension that is not supported.
    """
    text = content
    if file.suffix.lower() == ".glb":
        if content[:4] != _MAGIC or len(content) < 20:
            raise invalid(file, "it does not begin as a GLB file")
        length, size, kind = struct.unpack_from("<III", content, 8)
        if length > len(content):
            raise invalid(file, f"it is cut short, {len(content)} of {length} bytes")
        if kind != _JSON or 20 + size > len(content):
            raise invalid(file, "its first part is not JSON")
        text = content[20 : 20 + size]
    try:
        document = json.loads(text)
        version = str(document["asset"]["version"])
    except (ValueError, KeyError, TypeError):
        raise invalid(file, "it has no JSON of glTF") from None
    if not version.startswith("2."):
        raise invalid(file, f"its version is {version}, not 2.0")
    needed = set(document.get("extensionsRequired", ())) - _READ - _HARMLESS
    if needed:
        raise ConfigError(
            f"needs {', '.join(sorted(needed))}, which is not supported",
            file=file,
            remedy="export it without compression and extensions",
        )
    return dict(document)


def parts_of(file: Path, document: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files that a glTF file refers to.

    Raises:
        ConfigError: If one does not exist.
    """
    for kind in ("buffers", "images"):
        for item in document.get(kind, ()):
            address = item.get("uri")
            if address is None or address.startswith("data:"):
                continue
            part = file.parent / unquote(address)
            if not part.is_file():
                raise ConfigError(
                    "no such file", file=file, field=kind, value=address, remedy="put it beside the file"
                )
            yield part


def invalid(file: Path, reason: str) -> ConfigError:
    """Return the error of a damaged glTF file."""
    return ConfigError(f"is not valid glTF: {reason}", file=file, remedy="export it again")


def scene_of(file: Path, content: bytes, document: Mapping[str, Any]) -> Any:
    """Return the scene of a glTF file as trimesh reads it, with numbers as the names of materials.

    Args:
        file: The file.
        content: Its content.
        document: Its JSON.

    Raises:
        ConfigError: If trimesh is not installed, or cannot read the file.
    """
    try:
        trimesh = importlib.import_module("trimesh")
    except ImportError:
        raise ConfigError(
            "needs the package trimesh, which is not installed",
            file=file,
            remedy="pip install pegasus-multirotor[gltf]",
        ) from None
    # Materials by their numbers, since names may be missing or the same; names of files without escapes.
    numbered: dict[str, Any] = copy.deepcopy(dict(document))
    for number, material in enumerate(numbered.get("materials", ())):
        material["name"] = str(number)
    for item in (*numbered.get("buffers", ()), *numbered.get("images", ())):
        if not item.get("uri", "data:").startswith("data:"):
            item["uri"] = unquote(item["uri"])
    text = json.dumps(numbered).encode()
    kind = file.suffix.lower()[1:]
    if kind == "glb":
        text += b" " * (-len(text) % 4)
        rest = content[20 + struct.unpack_from("<I", content, 12)[0] :]
        text = struct.pack("<4sIIII", _MAGIC, 2, 20 + len(text) + len(rest), len(text), _JSON) + text + rest
    resolver = trimesh.resolvers.FilePathResolver(str(file))
    try:
        return trimesh.load_scene(
            io.BytesIO(text), file_type=kind, resolver=resolver, process=False, merge_primitives=False
        )
    except Exception as error:
        # Its errors on damaged files are of many types.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise invalid(file, reason) from None


def left_out(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for everything in a glTF file that is not converted."""
    for kind, line in (
        ("skins", "skins left out: their meshes are as modelled"),
        ("animations", "animations left out: everything stands as at rest"),
        ("cameras", "cameras left out"),
    ):
        if document.get(kind):
            yield line
    parts = [part for mesh in document.get("meshes", ()) for part in mesh.get("primitives", ())]
    if any(part.get("targets") for part in parts):
        yield "morph targets left out"
    if any("TEXCOORD_1" in part.get("attributes", {}) for part in parts):
        yield "second texture coordinates left out"
    if any(
        sampler.get(f"wrap{axis}", 10497) != 10497
        for sampler in document.get("samplers", ())
        for axis in "ST"
    ):
        yield "wrap modes of textures left out: all repeat"
    for extension in sorted(set(document.get("extensionsUsed", ())) - _READ):
        yield f"extension {extension} left out"
