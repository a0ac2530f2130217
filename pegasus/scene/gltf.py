"""glTF 2.0 files (.gltf, .glb) as USD files in the user's cache."""

import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pxr import Gf, Tf, Usd, UsdGeom, UsdPhysics, Vt

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.system import GLTF_SUFFIXES, user_cache
from pegasus.scene.gltf_deformation import Deformer
from pegasus.scene.gltf_lights import LightWriter
from pegasus.scene.gltf_materials import MaterialWriter
from pegasus.scene.gltf_reader import Gltf, invalid, local_transform
from pegasus.scene.materialx_files import SOURCE

NOTICES, PARTS = "notices", "parts"
"""Keys of what was left out, and of other files, in the data of a converted layer, a line each."""

_VERSION = b"3"
"""Version of the conversion; another one makes all files anew."""


def usd_file(file: Path) -> Path:
    """Return a USD file: a glTF file converted, which is kept in the user's cache; any other as it is.

    Lengths are metres with y up. Meshes collide by their triangles.

    Args:
        file: The file.

    Raises:
        ConfigError: If a glTF file is damaged, refers to a file that does not exist, needs an extension that
            is not supported or holds no triangles.
    """
    if file.suffix.lower() not in GLTF_SUFFIXES:
        return file
    file = file.resolve()
    try:
        return _converted(Gltf(file))
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=file) from None
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, Tf.ErrorException) as error:
        # Values of wrong types or out of range, anywhere in its JSON.
        reason = " ".join(str(error).split()) or type(error).__name__
        is_mistyped = isinstance(error, TypeError | AttributeError)
        raise invalid(file, f"a value has a wrong type ({reason})" if is_mistyped else reason) from None


def _converted(gltf: Gltf) -> Path:
    digest = hashlib.sha256(_VERSION + str(gltf.file).encode() + b"\0" + gltf.content)
    for part in gltf.parts:
        digest.update(part.read_bytes())
    folder = user_cache() / "gltf" / digest.hexdigest()[:24]
    made = folder / "scene.usdc"
    if made.is_file():
        return made
    partial = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        _Conversion(gltf, partial).write(partial / made.name)
        partial.replace(folder)
    except OSError as error:
        # Another process or thread may have been faster.
        if not made.is_file():
            raise ConfigError(f"cannot be converted: {error.strerror}", file=folder) from None
    finally:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
    return made


class _Conversion:
    """Conversion of one file.

    Args:
        gltf: The glTF file.
        folder: Folder for its images.
    """

    def __init__(self, gltf: Gltf, folder: Path) -> None:
        self._gltf = gltf
        self._notices: dict[str, None] = dict.fromkeys(gltf.left_out())
        self._stage = Usd.Stage.CreateInMemory()
        self._materials = MaterialWriter(self._stage, folder, gltf, self._notices)
        self._deformer = Deformer(gltf, self._notices)
        self._lights = LightWriter(self._stage, gltf)
        self._meshes: dict[tuple[int, tuple[float, ...], int | None], list[tuple[str, bool]]] = {}
        self._classes: set[str] = set()
        self._seen: set[int] = set()
        self._shown = False

    def write(self, path: Path) -> None:
        """Write the USD file, which names the original and its parts."""
        stage = self._stage
        UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.y)
        UsdGeom.SetStageMetersPerUnit(stage, 1.0)
        stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, "/World").GetPrim())
        waiting = [(number, "/World") for number in reversed(self._gltf.roots())]
        used: set[str] = set()
        while waiting:
            number, parent = waiting.pop()
            place = self._node(number, parent, used)
            children = self._gltf.item("nodes", number).get("children", ())
            waiting += [(child, place) for child in reversed(children)]
        if not self._shown:
            raise ConfigError("holds no triangles", file=self._gltf.file, remedy="export meshes with it")
        stage.GetRootLayer().customLayerData = {
            SOURCE: str(self._gltf.file),
            NOTICES: "\n".join(self._notices),
            PARTS: "\n".join(map(str, self._gltf.parts)),
        }
        stage.GetRootLayer().Export(str(path))

    def _node(self, number: int, parent: str, used: set[str]) -> str:
        """Write a node with its mesh, and return its path."""
        if number in self._seen:
            raise ValueError(f"node {number} has two parents, or is a part of itself")
        self._seen.add(number)
        node = self._gltf.item("nodes", number)
        name = str(node.get("name") or f"node_{number}")
        place = _unused(parent, name, used)
        _place(UsdGeom.Xform.Define(self._stage, place), local_transform(node))
        self._lights.write(node, _unused(place, "light", used))
        if "mesh" in node:
            for prototype, is_skinned in self._prototypes(node):
                # A skin places its mesh in the scene, wherever the node is.
                path = _unused("/World", name, used) if is_skinned else _unused(place, "mesh", used)
                part = UsdGeom.Xform.Define(self._stage, path).GetPrim()
                part.GetReferences().AddInternalReference(prototype)
                part.SetInstanceable(True)
                self._shown = True
        return place

    def _prototypes(self, node: Mapping[str, Any]) -> list[tuple[str, bool]]:
        """Write the primitives of a node's mesh as classes that nodes refer to, once.

        Returns:
            The path of each, and whether a skin places it.
        """
        number, skin = node["mesh"], node.get("skin")
        mesh = self._gltf.item("meshes", number)
        weights = tuple(map(float, node.get("weights", mesh.get("weights", ()))))
        key = number, weights, skin
        if key not in self._meshes:
            made = [
                self._prototype(f"mesh_{number}_{k}", part, weights, skin)
                for k, part in enumerate(mesh["primitives"])
            ]
            self._meshes[key] = [part for part in made if part is not None]
        return self._meshes[key]

    def _prototype(
        self, name: str, primitive: Mapping[str, Any], weights: tuple[float, ...], skin: int | None
    ) -> tuple[str, bool] | None:
        """Write a primitive; return its path and whether a skin places it, or None for lines and points."""
        self._gltf.check_compression(primitive)
        given = primitive["attributes"]
        points = self._gltf.array(given["POSITION"])
        faces = self._gltf.faces(primitive, len(points))
        if faces is None:
            self._notices["lines, points and empty meshes left out"] = None
            return None
        if points.shape[1] != 3 or not np.isfinite(points).all():
            raise ValueError("a mesh has points that are not three finite numbers")
        # Without normals of its own a mesh is flat.
        normals = self._of_points(given["NORMAL"], points) if "NORMAL" in given else None
        shape = self._deformer.deformed(primitive, points, normals, weights, skin)
        path = _unused("", name, self._classes)
        self._stage.CreateClassPrim(path)
        mesh = UsdGeom.Mesh.Define(self._stage, f"{path}/shape")
        mesh.CreatePointsAttr(_vectors(shape.points))
        mesh.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(np.full(len(faces), 3, np.int32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(faces.astype(np.int32).ravel()))
        mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
        if shape.normals is not None:
            mesh.CreateNormalsAttr(_vectors(shape.normals))
            mesh.SetNormalsInterpolation(UsdGeom.Tokens.vertex)
        UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
        UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr(UsdPhysics.Tokens.none)
        for attribute, number in sorted(given.items()):
            if attribute.startswith("TEXCOORD_"):
                uv = self._of_points(number, points)
                self._materials.coordinates(mesh, int(attribute.removeprefix("TEXCOORD_")), uv)
        colors = self._of_points(given["COLOR_0"], points) if "COLOR_0" in given else None
        self._materials.bind(mesh, f"{path}/look", primitive.get("material"), colors)
        return path, shape.is_placed

    def _of_points(self, number: int, points: Array) -> Array:
        values = self._gltf.array(number)
        if len(values) != len(points):
            raise ValueError(f"accessor {number} has {len(values)} values for {len(points)} points")
        return values


def _vectors(values: Array) -> Vt.Vec3fArray:
    return Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(values, np.float32))


def _place(prim: UsdGeom.Xform, transform: Array) -> None:
    if not (transform == np.eye(4)).all():
        prim.AddTransformOp().Set(Gf.Matrix4d(*transform.T.ravel().tolist()))


def _unused(parent: str, name: str, used: set[str]) -> str:
    """Return a path of a prim that is not in use, and note it."""
    plain = f"{parent}/{Tf.MakeValidIdentifier(name)}"
    path, number = plain, 1
    while path in used:
        number += 1
        path = f"{plain}_{number}"
    used.add(path)
    return path
