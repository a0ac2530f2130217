"""Walk a stage once and return it as plain geometry for the engine and the renderers."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdLux, UsdPhysics, UsdShade

from pegasus.arrays import Array, BoolArray
from pegasus.errors import ConfigError
from pegasus.scene.colliders import PhysicsMaterials, collider, is_collider, take_apart
from pegasus.scene.labels import labels_of
from pegasus.scene.lights import camera, light
from pegasus.scene.materials import BoundMaterial, Materials
from pegasus.scene.meshes import Floats, Polygons, corner_normals, face_mask, mesh_geometry, read_polygons
from pegasus.scene.notices import Notices
from pegasus.scene.primitives import read_primitive
from pegasus.scene.scene import Entity, Geometry, Instance, Scene
from pegasus.scene.stage import TIME, note_unresolved, open_stage, quiet, stage_frame, stage_source

_DRAWN = (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
_DEFINED = Usd.PrimIsActive & Usd.PrimIsDefined & Usd.PrimIsLoaded & ~Usd.PrimIsAbstract
# Prototypes of a point instancer are often `over`s or classes, so that they are not drawn by themselves.
_PROTOTYPE = Usd.PrimIsActive & Usd.PrimIsLoaded


@dataclass(frozen=True, eq=False)
class _Place:
    """What a prim hands down to its children."""

    path: str
    transform: Array
    """Local to stage, shape (4, 4)."""
    labels: dict[str, str]
    entity: str = ""
    """Path of the nearest prim with labels of its own."""
    entity_transform: Array | None = None
    visible: bool = True
    purpose: str = UsdGeom.Tokens.default_
    predicate: object = _DEFINED


def translate(source: Usd.Stage | str | Path, *, root: str | None = None) -> Scene:
    """Return a stage as plain geometry: world ENU, metres, z up.

    Every prim with an enabled UsdPhysicsCollisionAPI becomes a collider, also an invisible one or a guide.
    What is drawn is visible and of purpose `default` or `render`. Triangles are counter-clockwise seen from
    outside in the world, also those of mirrored instances.

    Args:
        source: A stage, or the path of a USD file.
        root: Path of the prim that is one rigid body: only what lies below it is taken, in its own frame. The
            whole stage, all of it at rest, when left out.

    Raises:
        ConfigError: If the file does not exist, does not parse or holds no geometry, if a texture does not
            exist, or if there is no prim at `root`.
    """
    stage = source if isinstance(source, Usd.Stage) else open_stage(source)
    notices = Notices()
    with quiet(notices):
        note_unresolved(stage, notices)
        translator = _Translator(stage, notices, is_body=root is not None)
        translator.walk(root or "/")
    scene = translator.scene
    if root is None and not scene.colliders:
        notices.add("no collider: vehicles fall through everything", stage_source(stage))
    return replace(scene, materials=translator.materials.items, warnings=notices.lines())


class _Translator:
    """State of one translation."""

    def __init__(self, stage: Usd.Stage, notices: Notices, *, is_body: bool) -> None:
        self.scene = Scene(source=stage_source(stage))
        self.materials = Materials(notices)
        self._stage = stage
        self._notices = notices
        self._is_body = is_body
        self._frame = stage_frame(stage, notices)
        self._physics_materials = PhysicsMaterials()
        self._physics_scene: Sdf.Path | None = None
        self._sources: dict[Sdf.Path, str] = {}
        self._polygons: dict[str, Polygons | None] = {}
        self._normals: dict[Sdf.Path, Floats] = {}
        # The stage's origin in the frame of the body; the same where all is at rest.
        self._origin: Array = np.eye(4)

    def walk(self, root: str) -> None:
        """Translate a prim and all below it."""
        prim = self._stage.GetPrimAtPath(root)
        if not prim:
            raise ConfigError("no such prim", file=self.scene.source, value=root)
        transform = _matrix(UsdGeom.XformCache(TIME).GetLocalToWorldTransform(prim))
        if self._is_body:
            # The pose of a body is the simulation's to set; only its scale belongs to its shape.
            placement = take_apart(transform)
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = placement.rotation, placement.position
            self._origin = np.asarray(np.linalg.inv(pose), dtype=np.float64)
        above = _Place("" if root == "/" else root, self._origin @ transform, {})
        self._visit(prim, _labelled(above, prim))

    def _visit(self, prim: Usd.Prim, place: _Place) -> None:
        place = _seen(prim, place)
        if prim.IsA(UsdGeom.PointInstancer):
            self._instance_points(prim, place)
            return
        self._take(prim, place)
        for child in prim.GetFilteredChildren(Usd.TraverseInstanceProxies(place.predicate)):
            self._visit(child, self._below(child, place))

    def _take(self, prim: Usd.Prim, place: _Place) -> None:
        """Add what a prim itself is to the scene."""
        drawn = place.visible and place.purpose in _DRAWN
        self._note_physics(prim)
        if is_collider(prim):
            material = self._physics_materials.of(prim)
            polygons = self._read_polygons(prim, place) if prim.IsA(UsdGeom.Mesh) else None
            shape = collider(
                prim,
                place.path,
                place.transform,
                self._frame,
                polygons,
                material,
                self._notices,
                is_body=self._is_body,
            )
            if shape is not None:
                self.scene.colliders.append(shape)
        if not drawn:
            return
        if prim.IsA(UsdGeom.Mesh):
            self._add_mesh(prim, place)
        elif prim.IsA(UsdGeom.Gprim):
            self._add_primitive(prim, place)
        elif prim.HasAPI(UsdLux.LightAPI):
            if (found := light(prim, place.path, place.transform, self._frame)) is not None:
                self.scene.lights.append(found)
            else:
                self._notices.add(f"{prim.GetTypeName()} left out", place.path)
        elif prim.IsA(UsdGeom.Camera):
            self.scene.cameras.append(camera(prim, place.path, place.transform, self._frame))

    def _note_physics(self, prim: Usd.Prim) -> None:
        if prim.IsA(UsdPhysics.Scene):
            if self._physics_scene not in (None, prim.GetPath()):
                self._notices.add(f"ignored: the physics scene is {self._physics_scene}", prim.GetPath())
            else:
                self._physics_scene = prim.GetPath()
        elif prim.IsA(UsdPhysics.Joint):
            self._notices.add("joint ignored", prim.GetPath())
        elif not self._is_body and prim.HasAPI(UsdPhysics.RigidBodyAPI):
            self._notices.add("rigid body taken as static", prim.GetPath())

    def _instance_points(self, prim: Usd.Prim, place: _Place) -> None:
        """Visit the prototypes of a point instancer once per instance."""
        instancer = UsdGeom.PointInstancer(prim)
        prototypes = [self._stage.GetPrimAtPath(path) for path in instancer.GetPrototypesRel().GetTargets()]
        indices = instancer.GetProtoIndicesAttr().Get(TIME) or ()
        transforms = instancer.ComputeInstanceTransformsAtTime(
            TIME, TIME, UsdGeom.PointInstancer.ExcludeProtoXform, UsdGeom.PointInstancer.IgnoreMask
        )
        mask = instancer.ComputeMaskAtTime(TIME) or [True] * len(indices)
        if not len(indices) == len(transforms) == len(mask):
            self._notices.add("point instancer left out: its arrays differ in length", place.path)
            return
        for number, (index, transform, shown) in enumerate(zip(indices, transforms, mask, strict=True)):
            if not shown:
                continue
            if not 0 <= index < len(prototypes) or not prototypes[index]:
                self._notices.add("instances of a missing prototype left out", place.path)
                continue
            point = replace(
                place,
                path=f"{place.path}[{number}]",
                transform=place.transform @ _matrix(transform),
                predicate=_PROTOTYPE,
            )
            self._visit(prototypes[index], self._below(prototypes[index], point, is_prototype=True))

    def _below(self, prim: Usd.Prim, parent: _Place, *, is_prototype: bool = False) -> _Place:
        """Return the place of a child, or of the prototype of a point."""
        transform = parent.transform
        if prim.IsA(UsdGeom.Xformable):
            schema = UsdGeom.Xformable(prim)
            above = self._origin if schema.GetResetXformStack() and not is_prototype else transform
            transform = above @ _matrix(schema.GetLocalTransformation(TIME))
        path = parent.path if is_prototype else f"{parent.path}/{prim.GetName()}"
        return _labelled(replace(parent, path=path, transform=transform), prim)

    def _add_mesh(self, prim: Usd.Prim, place: _Place) -> None:
        polygons = self._read_polygons(prim, place)
        if polygons is None:
            return
        name = self._source_name(prim, place)
        rest = np.ones(polygons.face_count, dtype=np.bool_)
        for subset in UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets():
            faces = face_mask(subset, polygons.face_count) & rest
            rest &= ~faces
            if faces[polygons.faces].any():
                labelled = _labelled(place, subset.GetPrim())
                part = f"{name}/{subset.GetPrim().GetName()}"
                self._add_part(polygons, faces, part, self.materials.of(subset.GetPrim()), labelled)
        if rest.all():
            self._add_part(polygons, None, name, self.materials.of(prim), place)
        elif rest[polygons.faces].any():
            self._add_part(polygons, rest, name, self.materials.of(prim), place)

    def _add_part(
        self,
        polygons: Polygons,
        faces: BoolArray | None,
        name: str,
        material: BoundMaterial,
        place: _Place,
    ) -> None:
        key = name
        if material.uv_set != "st":
            key += f":{material.uv_set}"
        if material.reads_color:
            key += ":colors"
        if key not in self.scene.geometries:
            if polygons.prim.GetPath() not in self._normals:
                self._normals[polygons.prim.GetPath()] = corner_normals(polygons, self._notices)
            self.scene.geometries[key] = mesh_geometry(
                polygons,
                self._normals[polygons.prim.GetPath()],
                faces,
                meters_per_unit=self._frame.meters_per_unit,
                uv_set=material.uv_set,
                with_colors=material.reads_color,
                notices=self._notices,
            )
        self._add_instance(key, material.key, place)

    def _add_primitive(self, prim: Usd.Prim, place: _Place) -> None:
        primitive = read_primitive(prim, self._frame.meters_per_unit)
        if primitive is None:
            self._notices.add(f"{prim.GetTypeName()} left out", place.path)
            return
        if primitive.key not in self.scene.geometries:
            self.scene.geometries[primitive.key] = primitive.geometry()
        self._add_instance(primitive.key, self.materials.of(prim).key, place)

    def _add_instance(self, geometry: str, material: str, place: _Place) -> None:
        transform = self._frame.convert(place.transform)
        if np.linalg.det(transform[:3, :3]) < 0:
            mirrored = f"{geometry}:mirrored"
            if mirrored not in self.scene.geometries:
                self.scene.geometries[mirrored] = _mirrored(self.scene.geometries[geometry])
            geometry = mirrored
        entity = self._entity(place)
        self.scene.instances.append(Instance(place.path, geometry, material, transform, place.labels, entity))

    def _entity(self, place: _Place) -> str:
        """Return the key of the thing that a place belongs to, and note it."""
        path = place.entity or place.path
        if path not in self.scene.entities:
            transform = place.transform if place.entity_transform is None else place.entity_transform
            placement = take_apart(self._frame.convert(transform))
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = placement.rotation, placement.position
            self.scene.entities[path] = Entity(path, place.labels, pose)
        return path

    def _read_polygons(self, prim: Usd.Prim, place: _Place) -> Polygons | None:
        """Return the triangles of a mesh, read once for all its instances."""
        name = self._source_name(prim, place)
        if name not in self._polygons:
            self._polygons[name] = read_polygons(_shared(prim), self._notices)
        return self._polygons[name]

    def _source_name(self, prim: Usd.Prim, place: _Place) -> str:
        """Return a name for what instances of a prim share: the path of the first one."""
        return self._sources.setdefault(_shared(prim).GetPath(), place.path)


def _labelled(place: _Place, prim: Usd.Prim) -> _Place:
    """Return a place with the labels of its prim, or of a subset of its faces."""
    labels = labels_of(prim, place.labels)
    if labels is place.labels:
        return place
    path = f"{place.path}/{prim.GetName()}" if prim.IsA(UsdGeom.Subset) else place.path
    return replace(place, labels=labels, entity=path, entity_transform=place.transform)


def _seen(prim: Usd.Prim, place: _Place) -> _Place:
    """Return a place with the visibility and purpose of its prim."""
    if not prim.IsA(UsdGeom.Imageable):
        return place
    visibility, purpose = prim.GetAttribute("visibility"), prim.GetAttribute("purpose")
    hidden = visibility.HasAuthoredValue() and visibility.Get(TIME) == UsdGeom.Tokens.invisible
    if not hidden and not purpose.HasAuthoredValue():
        return place
    return replace(
        place,
        visible=place.visible and not hidden,
        purpose=purpose.Get(TIME) if purpose.HasAuthoredValue() else place.purpose,
    )


def _shared(prim: Usd.Prim) -> Usd.Prim:
    """Return the prim that all instances of a prim share, or the prim itself."""
    return prim.GetPrimInPrototype() if prim.IsInstanceProxy() else prim


def _matrix(matrix: object) -> Array:
    """Return a Gf matrix, which acts on row vectors, as one that acts on column vectors."""
    return np.asarray(matrix, dtype=np.float64).T


def _mirrored(geometry: Geometry) -> Geometry:
    return replace(geometry, faces=np.ascontiguousarray(geometry.faces[:, ::-1]))
