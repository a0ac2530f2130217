"""glTF 2.0 files (.gltf, .glb) as USD files in the user's cache."""

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Tf, Usd, UsdGeom, UsdPhysics, Vt

from pegasus.base.errors import ConfigError
from pegasus.base.system import GLTF_SUFFIXES, user_cache
from pegasus.scene.gltf_materials import MaterialWriter, UnreadableError
from pegasus.scene.gltf_reader import document_of, invalid, left_out, parts_of, scene_of
from pegasus.scene.materialx_files import SOURCE

NOTICES, PARTS = "notices", "parts"
"""Keys of what was left out, and of other files, in the data of a converted layer, a line each."""

_VERSION = b"1"
"""Version of the conversion; another one makes all files anew."""


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
    try:
        return _converted(file)
    except ConfigError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, Tf.ErrorException) as error:
        # Values of wrong types or out of range, anywhere in its JSON.
        raise invalid(file, " ".join(str(error).split()) or type(error).__name__) from None


def _converted(file: Path) -> Path:
    content = file.read_bytes()
    document = document_of(file, content)
    parts = list(parts_of(file, document))
    digest = hashlib.sha256(_VERSION + str(file).encode() + b"\0" + content)
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
        self._notices: dict[str, None] = dict.fromkeys(left_out(document))
        self._stage = Usd.Stage.CreateInMemory()
        self._materials = MaterialWriter(self._stage, folder, document, self._notices)

    def write(self, path: Path, parts: Sequence[Path]) -> None:
        """Write the USD file, which names the original and its parts."""
        stage = self._stage
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        root = UsdGeom.Xform.Define(stage, "/World").GetPrim()
        stage.SetDefaultPrim(root)
        scene = scene_of(self._file, self._content, self._document)
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

    def _prototype(self, path: str, shape: Any) -> str | None:
        """Write a mesh as a class that nodes refer to; return its path, or None for lines and points."""
        faces, points = getattr(shape, "faces", None), np.asarray(shape.vertices, np.float64)
        if faces is None or not len(faces):
            self._notices["lines and points left out"] = None
            return None
        faces = np.asarray(faces)
        if not (np.isfinite(points).all() and faces.min() >= 0 and faces.max() < len(points)):
            raise invalid(self._file, "a mesh has points that are not finite, or faces without points")
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
            raise invalid(self._file, str(error)) from None
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
