"""Geometry of scenes: one Embree scene for each, and one set of kernel tables for all."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.base.arrays import Array, row_product
from pegasus.base.frames import inverse_transform, rotate
from pegasus.render.embree.library import Embree, EmbreeMesh
from pegasus.render.embree.material_table import MaterialTable
from pegasus.render.embree.surface_tables import (
    Part,
    SeeThrough,
    SurfaceMaterial,
    Tables,
    TextureUse,
    empty_rows,
)
from pegasus.render.textures import decoding_table
from pegasus.scene.scene import Geometry, Instance, Scene

_FLAT = 1e-15
_BOX_COUNT = 32
_NO_BOXES = np.zeros((0, 2, 3), np.float32)

BOX = wp.types.matrix(shape=(2, 3), dtype=wp.float32)
"""Kernel type of a box: its lower and its upper corner."""


@dataclass(frozen=True, eq=False)
class Prototype:
    """Geometry for ray casts: the world, or a rigid moving object."""

    embree: EmbreeMesh | None
    """Triangles relative to `center`; None if there are none."""
    center: Array
    """Centre in the frame of the scene [m], shape (3,)."""
    radius: float
    """Bounding radius about `center` [m]."""
    first_face: int
    """Index of its first triangle among those of all prototypes."""
    boxes: npt.NDArray[np.float32]
    """Lower and upper corners of boxes around its parts, in the frame of the scene [m], shape (B, 2, 3);
    none of the world."""


class GeometryStore:
    """Store of prototypes and of the tables of all of them.

    Instances of one geometry share its vertices in the tables; Embree holds each instance separately.
    """

    def __init__(self) -> None:
        self.materials = MaterialTable()
        self._embree = Embree()
        self._geometries: dict[int, tuple[Geometry, int, int]] = {}
        self._known: dict[tuple[Any, ...], Prototype] = {}
        self._scenes: dict[int, tuple[Scene, Prototype]] = {}
        self._face_count = self._vertex_count = self._color_count = self._part_count = self._thin_count = 0
        self._blocks: dict[str, list[Any]] = {
            name: [] for name in ("triangles", "parts", "see_through", "vertices", "normals", "uvs", "colors")
        }

    def add(self, scene: Scene, entities: dict[str, int] | None = None) -> Prototype:
        """Return the prototype of a scene; scenes with equal content share one.

        Args:
            scene: The scene.
            entities: Indices of the scene's entities; None for moving objects, which are entities themselves.

        Raises:
            ConfigError: If an image of a material cannot be read.
        """
        if id(scene) not in self._scenes:
            key = (entities is None, *_content(scene))
            if key not in self._known:
                self._known[key] = self._build(scene, entities)
            # The scene is kept, because it and its geometries are identified by their ids.
            self._scenes[id(scene)] = scene, self._known[key]
        return self._scenes[id(scene)][1]

    def tables(self) -> Any:
        """Return the kernel tables, without those of objects."""
        for name, blocks in self._blocks.items():
            if len(blocks) > 1:
                self._blocks[name] = [np.concatenate(blocks)]
        if not self._blocks["colors"]:
            self._blocks["colors"] = [np.zeros((0, 3), np.float32)]
        if not self._blocks["see_through"]:
            self._blocks["see_through"] = [empty_rows(SeeThrough, 0)]
        kinds = {
            "triangles": wp.vec4i,
            "parts": Part,
            "see_through": SeeThrough,
            "vertices": wp.vec3f,
            "normals": wp.vec3f,
            "uvs": wp.vec2f,
            "colors": wp.vec3f,
        }
        tables: Any = Tables()
        for name, kind in kinds.items():
            setattr(tables, name, device_array(self._blocks[name][0], kind))
        tables.materials = device_array(self.materials.rows(), SurfaceMaterial)
        tables.uses = device_array(self.materials.uses(), TextureUse)
        tables.images = device_array(self.materials.atlas.table(), wp.int32)
        tables.pixels = device_array(self.materials.atlas.pixels(), wp.uint32)
        tables.cells = device_array(self.materials.cells(), wp.uint8)
        tables.decoding = device_array(decoding_table(), wp.float32)
        return tables

    def _build(self, scene: Scene, entities: dict[str, int] | None) -> Prototype:
        shown = [_upright(item, scene.geometries[item.geometry]) for item in scene.instances]
        drawn = [
            (item, geometry, self.materials.add(scene.materials[item.material]))
            for item, geometry in shown
            if len(geometry.faces)
        ]
        # Opaque triangles come first.
        drawn.sort(key=lambda part: self.materials.transmits(part[2]))
        first_face, first_thin = self._face_count, self._thin_count
        if not drawn:
            return Prototype(None, np.zeros(3), 0.0, first_face, _NO_BOXES)
        low, high = _bounds([(item, geometry) for item, geometry, _ in drawn])
        center = (low + high) / 2
        vertex_count = sum(len(geometry.vertices) for _, geometry, _ in drawn)
        face_count = sum(len(geometry.faces) for _, geometry, _ in drawn)
        points = np.empty((vertex_count, 3), np.float32)
        faces = np.empty((face_count, 3), np.int32)
        triangles = np.empty((face_count, 4), np.int32)
        parts: Any = empty_rows(Part, len(drawn))
        placed = np.array([item.transform for item, _, _ in drawn])
        inverse = inverse_transform(placed)
        parts["to_world"] = placed[:, :3, :3]
        parts["to_local"], parts["offset"] = inverse[:, :3, :3], inverse[:, :3, 3]
        vertex = face = opaque_count = 0
        for number, (item, geometry, material) in enumerate(drawn):
            next_vertex, next_face = vertex + len(geometry.vertices), face + len(geometry.faces)
            points[vertex:next_vertex] = _placed(item, geometry) - center
            faces[face:next_face] = geometry.faces
            faces[face:next_face] += vertex
            row, color_shift = self._share(geometry)
            triangles[face:next_face, :3] = geometry.faces
            triangles[face:next_face, :3] += row
            triangles[face:next_face, 3] = self._part_count + number
            if self.materials.transmits(material):
                rows = self.materials.see_through_rows(material, geometry, points[faces[face:next_face]])
                self._blocks["see_through"].append(rows)
                self._thin_count += len(rows)
            else:
                opaque_count = next_face
            parts[number]["material"] = material
            parts[number]["entity"] = -1 if entities is None else entities[item.entity]
            parts[number]["has_colors"] = geometry.colors is not None
            parts[number]["color_shift"] = color_shift
            vertex, face = next_vertex, next_face
        parts["see_through_shift"] = first_thin - first_face - opaque_count
        self._blocks["triangles"].append(triangles)
        self._blocks["parts"].append(parts)
        self._face_count += face_count
        self._part_count += len(drawn)
        embree = self._embree.mesh(points, faces, opaque_count=opaque_count, first_see_through=first_thin)
        radius = float(np.sqrt((points.astype(np.float64) ** 2).sum(axis=1).max()))
        boxes = _NO_BOXES if entities is not None else _part_boxes(points, faces) + center.astype(np.float32)
        return Prototype(embree, center, radius, first_face, boxes)

    def _share(self, geometry: Geometry) -> tuple[int, int]:
        """Return the first vertex row of a geometry, and the offset from there to its colours."""
        if id(geometry) not in self._geometries:
            count = len(geometry.vertices)
            uvs = np.zeros((count, 2), np.float32) if geometry.uvs is None else geometry.uvs
            self._blocks["vertices"].append(np.asarray(geometry.vertices, np.float32))
            self._blocks["normals"].append(np.asarray(geometry.normals, np.float32))
            self._blocks["uvs"].append(np.asarray(uvs, np.float32))
            shift = self._color_count - self._vertex_count
            if geometry.colors is not None:
                self._blocks["colors"].append(np.asarray(geometry.colors, np.float32))
                self._color_count += count
            self._geometries[id(geometry)] = geometry, self._vertex_count, shift
            self._vertex_count += count
        return self._geometries[id(geometry)][1:]


def device_array(values: npt.NDArray[Any], kind: Any) -> Any:
    """Return an array for kernels; memory is shared where it is contiguous."""
    values = np.ascontiguousarray(values)
    if values.dtype.names is not None:
        # Concatenating structured arrays removes the padding between their fields.
        aligned: Any = empty_rows(kind, len(values))
        aligned[:] = values
        values = aligned
    if values.flags.writeable:
        return wp.array(values, dtype=kind, device="cpu", copy=False)
    return wp.array(values, dtype=kind, device="cpu")


def _content(scene: Scene) -> tuple[Any, ...]:
    return tuple(
        (
            id(scene.geometries[item.geometry]),
            scene.materials[item.material],
            item.entity,
            np.asarray(item.transform).tobytes(),
        )
        for item in scene.instances
    )


def _upright(item: Instance, geometry: Geometry) -> tuple[Instance, Geometry]:
    """Return an instance with an invertible transform; flattened geometry is baked."""
    matrix = np.asarray(item.transform, dtype=np.float64)[:3, :3]
    x, y, z = matrix.T
    if abs(np.dot(x, np.cross(y, z))) > _FLAT * max(np.abs(matrix).max(), 1e-300) ** 3:
        return item, geometry
    cofactors = np.stack([np.cross(y, z), np.cross(z, x), np.cross(x, y)], axis=1)
    normals = row_product(geometry.normals.astype(np.float64), cofactors.T)
    normals = normals / np.maximum(np.sqrt((normals * normals).sum(axis=1, keepdims=True)), 1e-300)
    flat = replace(
        geometry,
        vertices=_placed(item, geometry).astype(np.float32),
        normals=normals.astype(np.float32),
    )
    return replace(item, transform=np.eye(4)), flat


def _placed(item: Instance, geometry: Geometry) -> Array:
    matrix = np.asarray(item.transform, dtype=np.float64)
    return row_product(geometry.vertices.astype(np.float64), matrix[:3, :3].T) + matrix[:3, 3]


def _part_boxes(points: npt.NDArray[np.float32], faces: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
    """Return boxes around groups of triangles, halved along the longest side, shape (B, 2, 3)."""
    corners = points[faces]
    low, high = corners.min(axis=1), corners.max(axis=1)
    middles = low + high
    parts = [np.arange(len(faces))]
    while len(parts) < min(_BOX_COUNT, len(faces)):
        halves = []
        for part in parts:
            places = middles[part]
            axis = int(np.argmax(places.max(axis=0) - places.min(axis=0)))
            ordered = part[np.argsort(places[:, axis], kind="stable")]
            halves += [half for half in np.array_split(ordered, 2) if len(half)]
        parts = halves
    return np.stack([[low[part].min(axis=0), high[part].max(axis=0)] for part in parts])


def _bounds(drawn: list[tuple[Instance, Geometry]]) -> tuple[Array, Array]:
    """Return the corners of a box around all instances."""
    lows, highs, boxes = [], [], dict[int, tuple[Array, Array]]()
    for item, geometry in drawn:
        if id(geometry) not in boxes:
            low, high = geometry.vertices.min(axis=0), geometry.vertices.max(axis=0)
            boxes[id(geometry)] = low.astype(np.float64), high.astype(np.float64)
        low, high = boxes[id(geometry)]
        matrix = np.asarray(item.transform, dtype=np.float64)
        middle = rotate(matrix[:3, :3], (low + high) / 2) + matrix[:3, 3]
        half = rotate(np.abs(matrix[:3, :3]), (high - low) / 2)
        lows.append(middle - half)
        highs.append(middle + half)
    return np.min(lows, axis=0), np.max(highs, axis=0)
