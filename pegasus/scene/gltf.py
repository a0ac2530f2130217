"""glTF 2.0 files (.gltf, .glb) as USD files in the user's cache, read by trimesh.

Source: Khronos Group, glTF 2.0 Specification.
"""

import copy
import hashlib
import importlib
import io
import json
import os
import shutil
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from pxr import Gf, Tf, Usd, UsdGeom, UsdPhysics, Vt

from pegasus.base.errors import ConfigError
from pegasus.base.system import GLTF_SUFFIXES, user_cache
from pegasus.scene.gltf_materials import MaterialWriter, UnreadableError
from pegasus.scene.materialx_files import SOURCE

NOTICES, PARTS = "notices", "parts"
"""Keys of what was left out, and of other files, in the data of a converted layer, a line each."""

_VERSION = b"1"
"""Version of the conversion; another one makes all files anew."""
_MAGIC, _JSON = b"glTF", 0x4E4F534A
_READ = {"KHR_materials_emissive_strength", "KHR_materials_ior", "KHR_materials_clearcoat"}
_HARMLESS = {"KHR_materials_unlit", "KHR_lights_punctual", "KHR_materials_variants", "KHR_texture_transform"}
"""Extensions that are read, and those without which a file still has its shapes."""


def usd_file(file: Path) -> Path:
    """Return a USD file: a glTF file converted, which is kept in the user's cache; any other as it is.

    Lengths are metres with y up. Meshes collide by their triangles.

    Args:
        file: The file.

    Raises:
        ConfigError: If a glTF file is damaged, refers to a file that does not exist, needs an extension that
            is not supported or holds no triangles, or the package trimesh is not installed.
    """
    if file.suffix.lower() not in GLTF_SUFFIXES:
        return file
    file = file.resolve()
    content = file.read_bytes()
    document = _document(file, content)
    digest = hashlib.sha256(_VERSION + str(file).encode() + b"\0" + content)
    parts = list(_parts(file, document))
    for part in parts:
        digest.update(part.read_bytes())
    folder = user_cache() / "gltf" / digest.hexdigest()[:24]
    made = folder / "scene.usdc"
    if not made.is_file():
        partial = folder.with_name(f"{folder.name}.{os.getpid()}")
        try:
            partial.mkdir(parents=True, exist_ok=True)
            conversion = _Conversion(file, content, document, partial)
            conversion.write(partial / made.name, parts)
            if not folder.exists():
                partial.replace(folder)
        except OSError as error:
            raise ConfigError(f"cannot be converted: {error.strerror}", file=folder) from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return made


def _document(file: Path, content: bytes) -> dict[str, Any]:
    """Return the JSON of a glTF file."""
    text = content
    if file.suffix.lower() == ".glb":
        if content[:4] != _MAGIC or len(content) < 20:
            raise _invalid(file, "it does not begin as a GLB file")
        length, size, kind = struct.unpack_from("<III", content, 8)
        if length > len(content):
            raise _invalid(file, f"it is cut short, {len(content)} of {length} bytes")
        if kind != _JSON or 20 + size > len(content):
            raise _invalid(file, "its first part is not JSON")
        text = content[20 : 20 + size]
    try:
        document = json.loads(text)
        version = str(document["asset"]["version"])
    except (ValueError, KeyError, TypeError):
        raise _invalid(file, "it has no JSON of glTF") from None
    if not version.startswith("2."):
        raise _invalid(file, f"its version is {version}, not 2.0")
    needed = set(document.get("extensionsRequired", ())) - _READ - _HARMLESS
    if needed:
        raise ConfigError(
            f"needs {', '.join(sorted(needed))}, which is not supported",
            file=file,
            remedy="export it without compression and extensions",
        )
    return dict(document)


def _parts(file: Path, document: Mapping[str, Any]) -> Iterator[Path]:
    """Yield the files that a glTF file refers to."""
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


def _invalid(file: Path, reason: str) -> ConfigError:
    return ConfigError(f"is not valid glTF: {reason}", file=file, remedy="export it again")


class _Conversion:
    """Conversion of one file.

    Args:
        file: The glTF file.
        content: Its content.
        document: Its JSON.
        folder: Folder for the images that it holds.
    """

    def __init__(self, file: Path, content: bytes, document: dict[str, Any], folder: Path) -> None:
        self._file, self._content, self._document = file, content, document
        self._notices: dict[str, None] = dict.fromkeys(_left_out(document))
        self._stage = Usd.Stage.CreateInMemory()
        self._materials = MaterialWriter(self._stage, folder, document, self._notices)

    def write(self, path: Path, parts: Sequence[Path]) -> None:
        """Write the USD file, which names the original and its parts."""
        stage = self._stage
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        root = UsdGeom.Xform.Define(stage, "/World").GetPrim()
        stage.SetDefaultPrim(root)
        scene = self._loaded()
        prototypes = {
            name: prototype
            for number, (name, shape) in enumerate(scene.geometry.items())
            if (prototype := self._prototype(f"/mesh_{number}", shape)) is not None
        }
        used: set[str] = set()
        for node in sorted(scene.graph.nodes_geometry, key=str):
            transform, name = scene.graph[node]
            if name in prototypes:
                self._node(_unused(str(node), used), prototypes[name], np.asarray(transform, np.float64))
        if not used:
            raise ConfigError("holds no triangles", file=self._file, remedy="export meshes with it")
        stage.GetRootLayer().customLayerData = {
            SOURCE: str(self._file),
            NOTICES: "\n".join(self._notices),
            PARTS: "\n".join(map(str, parts)),
        }
        stage.GetRootLayer().Export(str(path))

    def _loaded(self) -> Any:
        """Return the scene of trimesh."""
        try:
            trimesh = importlib.import_module("trimesh")
        except ImportError:
            raise ConfigError(
                "needs the package trimesh, which is not installed",
                file=self._file,
                remedy="pip install pegasus-multirotor[gltf]",
            ) from None
        # Materials by their numbers, since names may be missing or the same; names of files without escapes.
        document = copy.deepcopy(self._document)
        for number, material in enumerate(document.get("materials", ())):
            material["name"] = str(number)
        for item in (*document.get("buffers", ()), *document.get("images", ())):
            if not item.get("uri", "data:").startswith("data:"):
                item["uri"] = unquote(item["uri"])
        text = json.dumps(document).encode()
        kind = self._file.suffix.lower()[1:]
        if kind == "glb":
            text += b" " * (-len(text) % 4)
            rest = self._content[20 + struct.unpack_from("<I", self._content, 12)[0] :]
            text = (
                struct.pack("<4sIIII", _MAGIC, 2, 20 + len(text) + len(rest), len(text), _JSON) + text + rest
            )
        resolver = trimesh.resolvers.FilePathResolver(str(self._file))
        try:
            return trimesh.load_scene(
                io.BytesIO(text), file_type=kind, resolver=resolver, process=False, merge_primitives=False
            )
        except Exception as error:
            # Its errors on damaged files are of many types.
            reason = " ".join(str(error).split()) or type(error).__name__
            raise _invalid(self._file, reason) from None

    def _prototype(self, path: str, shape: Any) -> str | None:
        """Write a mesh as a class that nodes refer to; return its path, or None for lines and points."""
        faces, points = getattr(shape, "faces", None), np.asarray(shape.vertices, np.float64)
        if faces is None or not len(faces):
            self._notices["lines and points left out"] = None
            return None
        faces = np.asarray(faces)
        if not (np.isfinite(points).all() and faces.min() >= 0 and faces.max() < len(points)):
            raise _invalid(self._file, "a mesh has points that are not finite, or faces without points")
        self._stage.CreateClassPrim(path)
        mesh = UsdGeom.Mesh.Define(self._stage, f"{path}/mesh")
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(faces.astype(np.int32).ravel()))
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        mesh.CreateDoubleSidedAttr(True)
        # Without normals of its own a mesh is flat.
        if "vertex_normals" in getattr(shape, "_cache", {}):
            normals = np.asarray(shape.vertex_normals, np.float32)
            mesh.CreateNormalsAttr(Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(normals)))
            mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
        UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
        UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr(UsdPhysics.Tokens.none)
        try:
            self._materials.bind(mesh, f"{path}/look", shape.visual)
        except UnreadableError as error:
            raise _invalid(self._file, str(error)) from None
        return path

    def _node(self, name: str, prototype: str, transform: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        node = UsdGeom.Xform.Define(self._stage, f"/World/{name}")
        node.GetPrim().GetReferences().AddInternalReference(prototype)
        node.GetPrim().SetInstanceable(True)
        node.AddTransformOp().Set(Gf.Matrix4d(*transform.T.ravel().tolist()))


def _unused(name: str, used: set[str]) -> str:
    """Return a valid name of a prim that is not in use, and note it."""
    plain = str(Tf.MakeValidIdentifier(name))
    valid = plain
    number = 1
    while valid in used:
        number += 1
        valid = f"{plain}_{number}"
    used.add(valid)
    return valid


def _left_out(document: Mapping[str, Any]) -> Iterator[str]:
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
