"""Translation of a USD stage to a scene of plain geometry."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdShade

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.errors import ConfigError
from pegasus.base.frames import rotate
from pegasus.scene.colliders import CollidingPrim, PhysicsMaterials, colliders, decompose, decompose_all
from pegasus.scene.lights import camera, light
from pegasus.scene.materials import BoundMaterial, Materials, bound_materials
from pegasus.scene.meshes import Floats, Polygons, corner_normals, face_mask, mesh_geometry, read_polygons
from pegasus.scene.prim_facts import PROTOTYPE, PrimFacts, PrimReader, column_matrix, labels_of, shared
from pegasus.scene.primitives import Primitive, read_primitive
from pegasus.scene.scene import Entity, Geometry, Instance, Scene
from pegasus.scene.skinning import Skins
from pegasus.scene.stage import (
    TIME,
    Notices,
    note_unresolved,
    open_stage,
    product,
    quiet,
    stage_frame,
    stage_source,
)

T = TypeVar("T")

_DRAWN = (UsdGeom.Tokens.default_, UsdGeom.Tokens.render)
_DEFINED = Usd.PrimIsActive & Usd.PrimIsDefined & Usd.PrimIsLoaded & ~Usd.PrimIsAbstract


@dataclass(frozen=True, eq=False, slots=True)
class _Place:
    """State inherited by the children of a prim."""

    path: str
    transform: Array
    """Local to stage, shape (4, 4)."""
    labels: dict[str, str]
    entity: str = ""
    """Path of the nearest labelled prim."""
    entity_transform: Array | None = None
    visible: bool = True
    purpose: str = UsdGeom.Tokens.default_
    predicate: object = _DEFINED


def translate(
    source: Usd.Stage | str | Path,
    *,
    root: str | None = None,
    geometry: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Scene:
    """Return a stage as plain geometry: world ENU, metres, z up.

    Every prim with an enabled UsdPhysicsCollisionAPI becomes a collider, including invisible prims and
    guides. Visible prims of purpose `default` or `render` are drawn. Triangles are counter-clockwise seen
    from outside, also in mirrored instances.

    Args:
        source: A stage, or the path of a USD file.
        root: Path of a prim that is one rigid body: only its subtree is translated, in its frame. By default
            the whole stage, at rest.
        geometry: Whether to read geometries and colliders; without them, instances refer to missing
            geometries and may include invalid meshes.
        progress: Called with the progress, 0 to 1.

    Raises:
        ConfigError: If the file does not exist, does not parse or holds no geometry, if a texture does not
            exist, or if there is no prim at `root`.
    """
    stage = source if isinstance(source, Usd.Stage) else open_stage(source)
    notices = Notices()
    with quiet(notices):
        note_unresolved(stage, notices)
        translator = _Translator(
            stage, notices, is_body=root is not None, geometry=geometry, progress=progress
        )
        translator.walk(root or "/")
        translator.finish()
    scene = translator.scene
    if root is None and geometry and not scene.colliders:
        notices.add("no collider: vehicles fall through everything", stage_source(stage))
    return replace(scene, materials=translator.materials.items, warnings=notices.lines())


class _Translator:
    """State of one translation."""

    def __init__(
        self,
        stage: Usd.Stage,
        notices: Notices,
        *,
        is_body: bool,
        geometry: bool,
        progress: Callable[[float], None] | None,
    ) -> None:
        self.scene = Scene(source=stage_source(stage))
        self.materials = Materials(notices)
        self._stage = stage
        self._notices = notices
        self._is_body, self._reads_geometry = is_body, geometry
        self._progress = progress
        self._frame = stage_frame(stage, notices)
        self._prims, self._skins = PrimReader(), Skins(notices)
        self._physics_scene: Sdf.Path | None = None
        # Materials are resolved for all prims at once, which is many times faster than one by one.
        self._drawn: list[tuple[Usd.Prim, PrimFacts, _Place]] = []
        self._solid: list[tuple[Usd.Prim, PrimFacts, _Place]] = []
        self._undivided: set[Sdf.Path] = set()
        self._placed: list[tuple[str, str, _Place]] = []
        self._sources: dict[Sdf.Path, str] = {}
        self._polygons: dict[str, Polygons | None] = {}
        self._primitives: dict[Sdf.Path, Primitive | None] = {}
        self._normals: dict[Sdf.Path, Floats] = {}
        # The stage's origin in the frame of the body; identity for a world.
        self._origin: Array = np.eye(4)

    def walk(self, root: str) -> None:
        """Translate a prim and its descendants."""
        prim = self._stage.GetPrimAtPath(root)
        if not prim:
            raise ConfigError("no such prim", file=self.scene.source, value=root)
        transform = column_matrix(UsdGeom.XformCache(TIME).GetLocalToWorldTransform(prim))
        if self._is_body:
            # The simulation sets the pose of a body; only its scale belongs to its shape.
            placement = decompose(transform)
            inverse = placement.rotation.T
            self._origin[:3, :3], self._origin[:3, 3] = inverse, -rotate(inverse, placement.position)
        above = _Place("" if root == "/" else root, product(self._origin, transform), {})
        self._visit(prim, self._prims.facts(prim), _labelled(above, prim))

    def finish(self) -> None:
        """Add the prims found to the scene, in order of traversal."""
        if self._reads_geometry:
            self._add_colliders()
        drawn, self._drawn = self._drawn, []
        materials = bound_materials([prim for prim, _, _ in drawn])
        pairs = list(zip(drawn, materials, strict=True))
        for (prim, facts, place), material in self._counted(pairs, 0.5):
            if facts.is_mesh and not self._reads_geometry:
                self._outline_mesh(prim, facts, place, material)
            elif facts.is_mesh:
                self._add_mesh(prim, facts, place, material)
            else:
                self._add_primitive(prim, facts, place, material)
        drawn.clear()
        self._add_instances()

    def _add_colliders(self) -> None:
        found, self._solid = self._solid, []
        physics, solids = PhysicsMaterials(), []
        materials = bound_materials([prim for prim, _, _ in found], "physics")
        for (prim, facts, place), material in self._counted(list(zip(found, materials, strict=True)), 0.0):
            shape: Polygons | Primitive | None
            if facts.is_mesh:
                shape = self._read_polygons(prim, facts, place)
            else:
                shape = self._read_primitive(prim, facts)
            solids.append(CollidingPrim(prim, place.path, place.transform, shape, physics.of(material)))
        self.scene.colliders.extend(colliders(solids, self._frame, self._notices, is_body=self._is_body))

    def _counted(self, items: list[T], begin: float) -> Iterable[T]:
        """Return items that report progress over one half of the work as they are consumed."""
        return items if self._progress is None else self._reporting(items, begin, self._progress)

    def _reporting(self, items: list[T], begin: float, progress: Callable[[float], None]) -> Iterator[T]:
        for number, item in enumerate(items):
            progress(begin + 0.5 * number / len(items))
            yield item

    def _visit(self, prim: Usd.Prim, facts: PrimFacts, place: _Place) -> None:
        if facts.is_hidden or facts.purpose is not None:
            visible, purpose = place.visible and not facts.is_hidden, facts.purpose or place.purpose
            place = replace(place, visible=visible, purpose=purpose)
        if facts.is_instancer:
            self._instance_points(prim, place)
            return
        self._take(prim, facts, place)
        for child, child_facts in self._prims.children(prim, place.predicate):
            self._visit(child, child_facts, self._below(child_facts, place))

    def _take(self, prim: Usd.Prim, facts: PrimFacts, place: _Place) -> None:
        """Collect a prim by its type."""
        self._note_physics(prim, facts)
        if facts.is_skinned and self._reads_geometry:
            self._skins.add(prim)
        if facts.collides:
            self._solid.append((prim, facts, place))
        if not (place.visible and place.purpose in _DRAWN):
            return
        if facts.is_mesh or facts.is_primitive:
            self._drawn.append((prim, facts, place))
        elif facts.is_light:
            if (found := light(prim, place.path, place.transform, self._frame, self._notices)) is not None:
                self.scene.lights.append(found)
                if found.texture is not None and found.kind != "DomeLight":
                    self._notices.add(f"texture of a {found.kind} left out: it shines evenly", place.path)
            else:
                self._notices.add(f"{prim.GetTypeName()} left out", place.path)
        elif facts.is_camera:
            self.scene.cameras.append(camera(prim, place.path, place.transform, self._frame))

    def _note_physics(self, prim: Usd.Prim, facts: PrimFacts) -> None:
        if facts.is_physics_scene:
            if self._physics_scene not in (None, prim.GetPath()):
                self._notices.add(f"ignored: the physics scene is {self._physics_scene}", prim.GetPath())
            else:
                self._physics_scene = prim.GetPath()
        elif facts.is_joint:
            self._notices.add("joint ignored", prim.GetPath())
        elif facts.is_rigid_body and not self._is_body:
            self._notices.add("rigid body taken as static", prim.GetPath())

    def _instance_points(self, prim: Usd.Prim, place: _Place) -> None:
        """Visit the prototype of each point of an instancer."""
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
                transform=product(place.transform, column_matrix(transform)),
                predicate=PROTOTYPE,
            )
            facts = self._prims.facts(prototypes[index])
            self._visit(prototypes[index], facts, self._below(facts, point, is_prototype=True))

    def _below(self, facts: PrimFacts, parent: _Place, *, is_prototype: bool = False) -> _Place:
        """Return the inherited state of a child, or of a point's prototype."""
        transform = parent.transform
        if facts.local is not None:
            above = self._origin if facts.resets_transform and not is_prototype else transform
            transform = product(above, facts.local)
        path = parent.path if is_prototype else f"{parent.path}/{facts.name}"
        if not facts.labels:
            return _Place(
                path,
                transform,
                parent.labels,
                parent.entity,
                parent.entity_transform,
                parent.visible,
                parent.purpose,
                parent.predicate,
            )
        labels = {**parent.labels, **facts.labels}
        return replace(
            parent, path=path, transform=transform, labels=labels, entity=path, entity_transform=transform
        )

    def _add_mesh(self, prim: Usd.Prim, facts: PrimFacts, place: _Place, material: UsdShade.Material) -> None:
        polygons = self._read_polygons(prim, facts, place)
        if polygons is None:
            return
        name = self._sources[facts.path]
        if facts.path in self._undivided:
            self._add_part(polygons, None, name, self.materials.of(prim, material), place)
            return
        subsets = UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
        if not subsets:
            self._undivided.add(facts.path)
        rest = np.ones(polygons.face_count, dtype=np.bool_)
        looks = bound_materials([subset.GetPrim() for subset in subsets])
        for subset, look in zip(subsets, looks, strict=True):
            faces = face_mask(subset, polygons.face_count) & rest
            rest &= ~faces
            if polygons.mask(faces)[polygons.faces].any():
                labelled = _labelled(place, subset.GetPrim())
                part = f"{name}/{subset.GetPrim().GetName()}"
                self._add_part(polygons, faces, part, self.materials.of(subset.GetPrim(), look), labelled)
        if rest.all():
            self._add_part(polygons, None, name, self.materials.of(prim, material), place)
        elif polygons.mask(rest)[polygons.faces].any():
            self._add_part(polygons, rest, name, self.materials.of(prim, material), place)

    def _outline_mesh(
        self, prim: Usd.Prim, facts: PrimFacts, place: _Place, material: UsdShade.Material
    ) -> None:
        """Collect instances and materials of a mesh without its shape."""
        name = self._sources.setdefault(facts.path, place.path)
        subsets = UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
        face_count = len(UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get(TIME) or ()) if subsets else 1
        rest = np.ones(face_count, dtype=np.bool_)
        looks = bound_materials([subset.GetPrim() for subset in subsets])
        for subset, look in zip(subsets, looks, strict=True):
            faces = face_mask(subset, face_count) & rest
            rest &= ~faces
            if faces.any():
                labelled = _labelled(place, subset.GetPrim())
                part = f"{name}/{subset.GetPrim().GetName()}"
                self._placed.append((part, self.materials.of(subset.GetPrim(), look).key, labelled))
        if rest.any():
            self._placed.append((name, self.materials.of(prim, material).key, place))

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
        self._placed.append((key, material.key, place))

    def _add_primitive(
        self, prim: Usd.Prim, facts: PrimFacts, place: _Place, material: UsdShade.Material
    ) -> None:
        primitive = self._read_primitive(prim, facts)
        if primitive is None:
            self._notices.add(f"{prim.GetTypeName()} left out", place.path)
            return
        if self._reads_geometry and primitive.key not in self.scene.geometries:
            self.scene.geometries[primitive.key] = primitive.geometry()
        self._placed.append((primitive.key, self.materials.of(prim, material).key, place))

    def _add_instances(self) -> None:
        """Add instances and their entities to the scene."""
        if not self._placed:
            return
        transforms = self._frame.convert(np.stack([place.transform for _, _, place in self._placed]))
        flips = (np.linalg.det(transforms[:, :3, :3]) < 0).tolist()
        entities: dict[str, _Place] = {}
        for (key, material, place), transform, flipped in zip(self._placed, transforms, flips, strict=True):
            geometry = f"{key}:mirrored" if flipped else key
            if self._reads_geometry and geometry not in self.scene.geometries:
                self.scene.geometries[geometry] = _mirrored(self.scene.geometries[key])
            entity = place.entity or place.path
            entities.setdefault(entity, place)
            self.scene.instances.append(
                Instance(place.path, geometry, material, transform, place.labels, entity)
            )
        found = list(entities.values())
        frames = [p.transform if p.entity_transform is None else p.entity_transform for p in found]
        placements = decompose_all(self._frame.convert(np.stack(frames)))
        for (path, place), placement in zip(entities.items(), placements, strict=True):
            pose = np.eye(4)
            pose[:3, :3], pose[:3, 3] = placement.rotation, placement.position
            self.scene.entities[path] = Entity(path, place.labels, pose)

    def _read_polygons(self, prim: Usd.Prim, facts: PrimFacts, place: _Place) -> Polygons | None:
        """Return the triangles of a mesh, read once for all instances and named by the first."""
        name = self._sources.setdefault(facts.path, place.path)
        if name not in self._polygons:
            self._polygons[name] = read_polygons(shared(prim), self._notices, self._skins.pose(prim))
        return self._polygons[name]

    def _read_primitive(self, prim: Usd.Prim, facts: PrimFacts) -> Primitive | None:
        """Return the shape of a primitive, read once for all instances."""
        if facts.path not in self._primitives:
            self._primitives[facts.path] = read_primitive(prim, self._frame.meters_per_unit)
        return self._primitives[facts.path]


def _labelled(place: _Place, prim: Usd.Prim) -> _Place:
    """Return a place with the labels of its prim or subset of faces."""
    labels = labels_of(prim, place.labels)
    if labels is place.labels:
        return place
    path = f"{place.path}/{prim.GetName()}" if prim.IsA(UsdGeom.Subset) else place.path
    return replace(place, labels=labels, entity=path, entity_transform=place.transform)


def _mirrored(geometry: Geometry) -> Geometry:
    return replace(geometry, faces=np.ascontiguousarray(geometry.faces[:, ::-1]))
