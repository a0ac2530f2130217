"""Conversion of colliders to MuJoCo geoms: primitives, convex hulls, convex parts and height fields."""

import hashlib
import logging
from collections.abc import Iterable, Sequence
from typing import Any

import mujoco
import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_matrix
from pegasus.engines.mujoco_contacts import SOLVER_PARAMETERS, contact_parameters
from pegasus.engines.mujoco_feet import FOOT_RADIUS, corners, enclosing_box, feet, raised
from pegasus.engines.mujoco_wheels import wheel_numbers
from pegasus.scene.decomposition import (
    PLATE_LIMIT,
    THINNEST,
    ConvexParts,
    DecompositionCache,
    solid_parts,
    surface_parts,
)
from pegasus.scene.height_fields import HeightField, height_field, sampled_height_field
from pegasus.scene.scene import Collider, ColliderShape
from pegasus.scene.surfaces import Faces, is_convex, weld

_log = logging.getLogger(__name__)

SEEN = 0
"""Group of the geoms that rays can hit."""
UNSEEN = 1
"""Group of the geoms that approximate a mesh in contacts; rays hit the mesh itself, in a separate model."""

_FLAT_MESH_THICKNESS = 0.05
# MuJoCo's contype and conaffinity of bodies, of their geoms that collide only with height fields, of the
# world, and of height fields. The world takes part only passively, so that bodies can be left out.
_USUAL = (1, 1)
_MEETS_FIELDS = (2, 0)
_TYRE = (1 | 2, 1)
_WORLD = (0, 1 | 4)
_FIELD = (0, 2 | 4)
SEARCHING = 4
"""MuJoCo's contype and conaffinity of the boxes around bodies, which find what is near."""
# Thickness of a height field below its lowest point [m]; fast bodies must not pass through it.
_GROUND_THICKNESS = 1.0
# Approximate limits of plates of different shape, and of their instances, over all meshes of a world.
_MOST_MESHES = _MOST_GEOMS = 10_000
_FEWEST_PLATES = 32
# Deviation of coarse plates [m] above which solid parts are tried instead, for meshes that are small enough
# to decompose within seconds.
_COARSE = 0.05
_QUICKLY_SOLVED = 1000  # vertices
# Number of triangles from which a suitable mesh becomes a height field, even if few plates would suffice.
_MANY_TRIANGLES = 200

_GEOM_TYPES = {
    ColliderShape.BOX: mujoco.mjtGeom.mjGEOM_BOX,
    ColliderShape.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
    ColliderShape.ELLIPSOID: mujoco.mjtGeom.mjGEOM_ELLIPSOID,
    ColliderShape.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    ColliderShape.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
    ColliderShape.PLANE: mujoco.mjtGeom.mjGEOM_PLANE,
    ColliderShape.MESH: mujoco.mjtGeom.mjGEOM_MESH,
}


class MujocoGeoms:
    """Add the colliders of a world and of its bodies to a model."""

    def __init__(self, spec: Any) -> None:
        self._spec = spec
        self.world_paths: list[str] = []
        """Path of the collider of each geom of the world, which are the first geoms of the model."""
        self.mover_paths: list[str] = []
        """Path of the collider of each geom of a moving part, which are the last geoms of the model."""
        self._surfaces: Any = None
        self._cache = DecompositionCache()
        # Hashes by array identity. The arrays are kept too, so that no new array can get the same identity.
        self._mesh_count = 0
        self._hashes: dict[int, tuple[Array | Faces, bytes]] = {}
        self._hulls: dict[object, str] = {}
        self._shown: dict[object, str] = {}
        self._parts: dict[object, ConvexParts] = {}
        self._deviations: dict[str, float] = {}
        self._fields: dict[object, tuple[HeightField, str] | None] = {}

    def add_world(self, colliders: Iterable[Collider]) -> Any:
        """Add the static colliders of a world.

        Args:
            colliders: Collision shapes.

        Returns:
            The model of the meshes for ray casts, which replace unseen geoms; None if there are none.
        """
        surfaces = []
        for collider in colliders:
            if _collides_by_itself(collider):
                self._add_to_world(collider, meets=_WORLD)
            else:
                surfaces.append(collider)
        if not surfaces:
            return None
        different = len({self._key(collider) for collider in surfaces})
        share = min(_MOST_MESHES // different, _MOST_GEOMS // len(surfaces))
        self._surfaces = mujoco.MjSpec()
        for collider in surfaces:
            self._add_surface(collider, limit=int(np.clip(share, _FEWEST_PLATES, PLATE_LIMIT)))
        if self._deviations:
            _log.warning(
                "%s%s: too many faces for exact contacts; they may deviate by up to %.2g m",
                next(iter(self._deviations)),
                f" and {len(self._deviations) - 1} more" if len(self._deviations) > 1 else "",
                max(self._deviations.values()),
            )
        return self._surfaces.compile()

    def add_to_body(self, element: Any, collider: Collider) -> None:
        """Add a collider of a body.

        Args:
            element: The body in the model.
            collider: Collision shape, posed in the body's frame.
        """
        # A tyre meets height fields by itself, other shapes by their feet.
        meets = _USUAL if collider.rolling is None else _TYRE
        for mesh in self._decomposed(collider) or [None]:
            self._add(element, collider, priority=0, mesh=mesh, meets=meets)

    def add_to_mover(self, element: Any, collider: Collider) -> None:
        """Add a collider of a moving part of the world.

        Args:
            element: The part in the model.
            collider: Collision shape, posed in the part's frame.
        """
        for mesh in self._decomposed(collider) or [None]:
            self._add(element, collider, priority=1, mesh=mesh, meets=_WORLD)
            self.mover_paths.append(collider.path)

    def add_enclosing_box(self, element: Any, colliders: Sequence[Collider]) -> None:
        """Add a box that encloses the colliders of a body, for searches only.

        Args:
            element: The body in the model.
            colliders: Its collision shapes, posed in its frame.
        """
        if colliders:
            name = self._hull_of(enclosing_box(colliders))
            types = {"contype": SEARCHING, "conaffinity": SEARCHING, "group": UNSEEN}
            element.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, **types)

    def add_to_fields(self, element: Any, colliders: Sequence[Collider]) -> None:
        """Add the geoms of a body for contacts with height fields, if the world has any.

        Args:
            element: The body in the model.
            colliders: Its collision shapes, posed in its frame.
        """
        if not any(self._fields.values()):
            return
        base = feet([collider for collider in colliders if collider.rolling is None])
        unseen = {"contype": _MEETS_FIELDS[0], "conaffinity": _MEETS_FIELDS[1], "group": UNSEEN, "condim": 3}
        for x, y, z in base.tolist():
            element.add_geom(
                type=mujoco.mjtGeom.mjGEOM_SPHERE,
                size=[FOOT_RADIUS, 0.0, 0.0],
                pos=[x, y, z + FOOT_RADIUS],
                **unseen,
            )
        for collider in colliders:
            meshes = self._decomposed(collider)
            points = corners(collider)
            if meshes or points is None or not len(base):
                for mesh in meshes or [None]:
                    self._add(element, collider, priority=0, mesh=mesh, group=UNSEEN, meets=_MEETS_FIELDS)
                continue
            name = self._hull_of(raised(points, base))
            element.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name, **unseen)

    def _decomposed(self, collider: Collider) -> list[str | None]:
        """Return the names of the convex parts of a body's mesh; empty if it needs no decomposition."""
        if collider.shape is ColliderShape.MESH and collider.approximation == "convexDecomposition":
            return list(self._part_meshes(collider, self._solid(collider)))
        return []

    def forget_arrays(self) -> None:
        """Release the arrays that were added; derived meshes are found again by content hash."""
        self._hashes.clear()

    def _add_surface(self, collider: Collider, *, limit: int) -> None:
        """Add a non-convex mesh: convex parts or a height field for contacts, the mesh itself for rays."""
        if collider.approximation == "convexDecomposition":
            parts: ConvexParts | None = self._solid(collider)
        elif (found := self._field(collider, limit)) is not None:
            field, name = found
            rotation = matrix_from_quaternion(collider.orientation)
            lowest = np.array([0.0, 0.0, float(field.heights.min())])
            self._add_to_world(
                collider,
                group=UNSEEN,
                field=name,
                meets=_FIELD,
                pose=(
                    collider.position + rotation @ (field.position + field.rotation @ lowest),
                    quaternion_from_matrix(rotation @ field.rotation),
                ),
            )
            parts = None
        else:
            parts = self._surface(collider, limit)
        if parts is not None:
            for mesh in self._part_meshes(collider, parts):
                self._add_to_world(collider, mesh=mesh, group=UNSEEN, meets=_WORLD)
        x, y, z, w = (float(c) for c in collider.orientation)
        self._surfaces.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=self._shown_mesh(collider),
            pos=collider.position,
            quat=[w, x, y, z],
            contype=0,
            conaffinity=0,
        )

    def _field(self, collider: Collider, limit: int) -> tuple[HeightField, str] | None:
        """Return a mesh as a height field of the model; None if plates approximate it at least as well."""
        key = self._key(collider)
        if key not in self._fields:
            self._fields[key] = None
            vertices, faces = _mesh(collider)
            field = height_field(vertices, faces) if len(faces) >= _MANY_TRIANGLES else None
            if len(faces) > limit and (field is None or field.deviation > THINNEST):
                field = sampled_height_field(vertices, faces, THINNEST)
                if field is not None and field.deviation > THINNEST:
                    self._deviations[collider.path] = field.deviation
            if field is not None and (len(faces) > limit or field.deviation <= THINNEST):
                self._fields[key] = field, self._add_field(field)
        return self._fields[key]

    def _add_field(self, field: HeightField) -> str:
        name = f"field{len(self._fields)}"
        rows, columns = field.heights.shape
        heights = field.heights - field.heights.min()
        height = max(float(heights.max()), 1e-6)
        self._spec.add_hfield(
            name=name,
            nrow=rows,
            ncol=columns,
            size=[
                field.spacing[0] * (columns - 1) / 2,
                field.spacing[1] * (rows - 1) / 2,
                height,
                _GROUND_THICKNESS,
            ],
            userdata=(heights / height).ravel(),
        )
        return name

    def _solid(self, collider: Collider) -> ConvexParts:
        prototype, key, _ = self._prototype(collider)
        if (key, "solid") not in self._parts:
            parts = solid_parts(prototype, _mesh(collider)[1], name=collider.path, cache=self._cache)
            self._parts[key, "solid"] = parts
        return self._parts[key, "solid"]

    def _surface(self, collider: Collider, limit: int) -> ConvexParts:
        prototype, key, scale = self._prototype(collider)
        # The scale is rounded down to a power of two, so that instances of similar size share their parts.
        size = float(2.0 ** np.floor(np.log2(np.sqrt((scale * scale).sum() / 3))))
        if (key, size) not in self._parts:
            parts = surface_parts(
                prototype, _mesh(collider)[1], meters_per_unit=size, limit=limit, cache=self._cache
            )
            if parts.deviation * size > _COARSE and len(prototype) <= _QUICKLY_SOLVED:
                parts = min(parts, self._solid(collider), key=lambda found: found.deviation)
            if parts.deviation * size > THINNEST:
                self._deviations[collider.path] = parts.deviation * size
            self._parts[key, size] = parts
        return self._parts[key, size]

    def _part_meshes(self, collider: Collider, parts: ConvexParts) -> list[str]:
        """Return the names of the meshes in the model of convex parts at the scale of an instance."""
        key = (id(parts), self._key(collider))
        names = []
        for number, part in enumerate(parts.parts):
            if (key, number) not in self._hulls:
                scale = np.eye(3) if collider.scale is None else collider.scale
                self._hulls[key, number] = self._new_mesh(part @ scale.T)
            names.append(self._hulls[key, number])
        return names

    def _hull_of(self, points: Array) -> str:
        """Return the name of a mesh in the model that is the hull of points, shape (V, 3)."""
        if (key := points.tobytes()) not in self._hulls:
            self._hulls[key] = self._new_mesh(points)
        return self._hulls[key]

    def _new_mesh(self, vertices: Array, faces: Faces | None = None) -> str:
        """Add a mesh as a file in memory: MuJoCo keeps what it made of files, but not of arrays."""
        name = f"mesh{self._mesh_count}"
        self._mesh_count += 1
        content = _mesh_file(vertices, np.zeros((0, 3), dtype=np.int32) if faces is None else faces)
        # MuJoCo's store is common to all models of the process: the name tells the content.
        file = f"{hashlib.blake2b(content, digest_size=16).hexdigest()}.msh"
        self._spec.assets[file] = content
        self._spec.add_mesh(name=name, file=file, inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX)
        return name

    def _hull_mesh(self, collider: Collider) -> str:
        """Return the name of a mesh in the model that collides as its convex hull."""
        key = self._key(collider)
        if key in self._hulls:
            return self._hulls[key]
        vertices, faces = _mesh(collider)
        center = vertices.mean(axis=0)
        spread = (vertices - center).T @ (vertices - center)
        extent, axes = np.linalg.eigh(spread)
        extent = np.sqrt(np.maximum(extent, 0.0))
        require(extent[1] > 1e-9, collider.path, len(vertices), "collision mesh must span more than a line")
        if extent[0] < 1e-6 * extent[2]:
            # A flat mesh has no hull: add thickness behind its front face.
            a, b, c = (vertices[faces[0, k]] for k in range(3))
            normal = axes[:, 0] if np.dot(np.cross(b - a, c - a), axes[:, 0]) > 0 else -axes[:, 0]
            vertices = np.concatenate([vertices, vertices - normal * _FLAT_MESH_THICKNESS])
        self._hulls[key] = self._new_mesh(vertices, faces)
        return self._hulls[key]

    def _shown_mesh(self, collider: Collider) -> str:
        """Return the name of a mesh in the model for ray casts."""
        key = self._key(collider)
        if key not in self._shown:
            name = self._shown[key] = f"mesh{len(self._shown)}"
            vertices, faces = _mesh(collider)
            if len(vertices) < 4:  # MuJoCo's least
                vertices = np.concatenate([vertices, vertices[:1]])
            self._surfaces.add_mesh(
                name=name,
                uservert=vertices.ravel(),
                userface=faces.ravel().astype(np.int32),
                # The only inertia option that needs neither a hull nor a closed volume.
                inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
            )
        return self._shown[key]

    def _prototype(self, collider: Collider) -> tuple[Array, object, Array]:
        """Return the shared vertices of the instances of a mesh, their hash key, and the instance's scale."""
        vertices, faces = _mesh(collider)
        prototype = vertices if collider.prototype is None else collider.prototype
        scale = np.eye(3) if collider.scale is None else collider.scale
        return prototype, (self._hash(prototype), self._hash(faces)), scale

    def _key(self, collider: Collider) -> object:
        """Return the key of a mesh by shape and scale."""
        _, key, scale = self._prototype(collider)
        return key, scale.tobytes()

    def _hash(self, array: Array | Faces) -> bytes:
        if id(array) not in self._hashes:
            digest = hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=16).digest()
            self._hashes[id(array)] = array, digest
        return self._hashes[id(array)][1]

    def _add_to_world(self, collider: Collider, **options: Any) -> None:
        """Add one geom of the world."""
        # The scene's surface has priority: it alone sets friction and restitution of a contact.
        self._add(self._spec.worldbody, collider, priority=1, **options)
        self.world_paths.append(collider.path)

    def _add(
        self,
        parent: Any,
        collider: Collider,
        *,
        priority: int,
        group: int = SEEN,
        mesh: str | None = None,
        field: str | None = None,
        pose: tuple[Array, Array] | None = None,
        meets: tuple[int, int] = _USUAL,
    ) -> None:
        """Add one geom with the contact properties of a collider."""
        position, orientation = pose or (collider.position, collider.orientation)
        x, y, z, w = (float(c) for c in orientation)
        size = [*collider.size, 0.0, 0.0, 0.0][:3]
        kind = _GEOM_TYPES[collider.shape]
        extra: dict[str, Any] = {}
        if field is not None:
            kind = mujoco.mjtGeom.mjGEOM_HFIELD
            extra = {"hfieldname": field}
        elif collider.shape is ColliderShape.PLANE:
            size = [0.0, 0.0, 1.0]
        elif collider.shape is ColliderShape.MESH:
            extra = {"meshname": mesh or self._hull_mesh(collider)}
        if collider.rolling is not None:
            extra["userdata"] = wheel_numbers(collider.rolling)
        parent.add_geom(
            type=kind,
            size=size,
            pos=position,
            quat=[w, x, y, z],
            condim=3,
            friction=[collider.material.dynamic_friction, 0.005, 0.0001],
            solref=contact_parameters(collider.material.restitution),
            solimp=SOLVER_PARAMETERS,
            priority=priority,
            contype=meets[0],
            conaffinity=meets[1],
            group=group,
            **extra,
        )


def _mesh_file(vertices: Array, faces: Faces) -> bytes:
    """Return a mesh in MuJoCo's binary format (MSH): counts, single-precision vertices, faces."""
    counts = np.array([len(vertices), 0, 0, len(faces)], dtype="<i4")
    return counts.tobytes() + vertices.astype("<f4").tobytes() + faces.astype("<i4").tobytes()


def _mesh(collider: Collider) -> tuple[Array, Faces]:
    assert collider.vertices is not None
    assert collider.faces is not None
    return collider.vertices, collider.faces


def _collides_by_itself(collider: Collider) -> bool:
    """Return whether a collider of the world is a primitive or its own convex hull."""
    if collider.shape is not ColliderShape.MESH or collider.approximation == "convexHull":
        return True
    return is_convex(*weld(*_mesh(collider)))
