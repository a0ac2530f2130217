"""Labelled entities: shapes in their own frames, poses, and parts that move on their own."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.contracts.renderer import RenderObject
from pegasus.scene.scene import Entity, Geometry, Scene

# Directions to the 26 neighbours in a cubic grid, along which extreme points span the inner polytope.
_DIRECTIONS = np.array([d for d in itertools.product((-1.0, 0.0, 1.0), repeat=3) if any(d)])
_FEW = 64


@dataclass(frozen=True, eq=False)
class EntityShape:
    """Surface of an entity in its own frame."""

    pieces: tuple[tuple[Geometry, Array], ...]
    """Meshes and their poses: mesh to entity, shape (4, 4)."""
    outline: Array
    """Candidates for the corners of the convex hull [m], shape (P, 3)."""

    @cached_property
    def extent(self) -> Array:
        """Lower and upper corner of the box around the shape in its own axes [m], shape (2, 3)."""
        return np.stack([self.outline.min(axis=0), self.outline.max(axis=0)])

    @cached_property
    def corners(self) -> Array:
        """Corners of that box [m], x slowest and z fastest, shape (8, 3)."""
        return np.array(list(itertools.product(*self.extent.T)))

    @cached_property
    def sphere(self) -> tuple[Array, float]:
        """Centre [m], shape (3,), and radius [m] of a sphere around the shape."""
        center = self.extent.mean(axis=0)
        return center, float(np.sqrt(((self.outline - center) ** 2).sum(axis=1).max()))

    @cached_property
    def vertices(self) -> Array:
        """Vertices of all meshes [m], shape (V, 3)."""
        return np.concatenate([transformed(g.vertices.astype(np.float64), place) for g, place in self.pieces])

    @cached_property
    def edges(self) -> IntArray:
        """Edges of the triangles: indices into `vertices`, shape (E, 2)."""
        edges, first = [], 0
        for geometry, _ in self.pieces:
            faces = geometry.faces.astype(np.int64)
            pairs = np.concatenate([faces[:, (0, 1)], faces[:, (1, 2)], faces[:, (2, 0)]])
            # One number for both ends: rows are slow to sort.
            count = len(geometry.vertices)
            keys = np.unique(pairs.min(axis=1) * count + pairs.max(axis=1))
            edges.append(first + np.stack([keys // count, keys % count], axis=1))
            first += count
        return np.concatenate(edges)

    def placed(self, transform: Array) -> "EntityShape":
        """Return the shape expressed in another frame.

        Args:
            transform: This frame to the other, shape (4, 4).
        """
        pieces = tuple((geometry, transform @ place) for geometry, place in self.pieces)
        return EntityShape(pieces, transformed(self.outline, transform))


def transformed(points: Array, transform: Array) -> Array:
    """Return points in another frame [m], shape (..., 3).

    Args:
        points: Points [m], shape (..., 3).
        transform: Their frame to the other, shape (4, 4).
    """
    moved: Array = points @ transform[:3, :3].T + transform[:3, 3]
    return moved


def hull_candidates(points: Array) -> Array:
    """Return candidates for the corners of the convex hull (Akl and Toussaint 1978).

    Points strictly inside the polytope of the extreme points along 26 directions are dropped; some points
    inside the hull remain.

    Args:
        points: Points [m], shape (P, 3).
    """
    if len(points) > _FEW:
        extreme = points[
            np.unique(np.concatenate([f(points @ _DIRECTIONS.T, axis=0) for f in (np.argmin, np.argmax)]))
        ]
        slack = 1e-9 * float(np.ptp(extreme, axis=0).max())
        triples = np.array(list(itertools.combinations(range(len(extreme)), 3)))
        a, b, c = extreme[triples[:, 0]], extreme[triples[:, 1]], extreme[triples[:, 2]]
        normals = np.cross(b - a, c - a)
        lengths = np.sqrt((normals * normals).sum(axis=1))
        solid = lengths > slack * slack
        normals, a = normals[solid] / lengths[solid, None], a[solid]
        height = normals @ extreme.T - (normals * a).sum(axis=1)[:, None]
        outward = np.concatenate(
            [normals[(height <= slack).all(axis=1)], -normals[(height >= -slack).all(axis=1)]]
        )
        # For coplanar points both sides of their plane are faces, so none is inside.
        faces = np.unique(outward.round(9), axis=0)
        if len(faces):
            limit = (extreme @ faces.T).max(axis=0) - 1e-6 * float(np.ptp(extreme, axis=0).max())
            points = points[~(points @ faces.T < limit).all(axis=1)]
    return np.unique(points, axis=0)


def whole_shape(scene: Scene) -> EntityShape | None:
    """Return a whole scene as one shape in its frame; None without visible geometry.

    Args:
        scene: Geometry of an object that moves as a whole.
    """
    return _shape(scene, ((i.geometry, i.transform) for i in scene.instances), {})


def entity_shapes(scene: Scene) -> dict[str, EntityShape]:
    """Return the shapes of a scene's entities by path, each in the frame of its entity."""
    members: dict[str, list[tuple[str, Array]]] = {}
    inverses = {path: np.linalg.inv(entity.transform) for path, entity in scene.entities.items()}
    for instance in scene.instances:
        place = inverses[instance.entity] @ instance.transform
        members.setdefault(instance.entity, []).append((instance.geometry, place))
    candidates: dict[str, Array] = {}
    shapes = {path: _shape(scene, pieces, candidates) for path, pieces in members.items()}
    return {path: shape for path, shape in shapes.items() if shape is not None}


def merged(shapes: Iterable[EntityShape]) -> EntityShape:
    """Return the union of shapes of one frame.

    Args:
        shapes: At least one shape.
    """
    parts = tuple(shapes)
    if len(parts) == 1:
        return parts[0]
    return EntityShape(
        tuple(piece for part in parts for piece in part.pieces),
        np.concatenate([part.outline for part in parts]),
    )


def _shape(
    scene: Scene, pieces: Iterable[tuple[str, Array]], candidates: dict[str, Array]
) -> EntityShape | None:
    meshes: list[tuple[Geometry, Array]] = []
    outlines: list[Array] = []
    for key, place in pieces:
        geometry = scene.geometries[key]
        if not len(geometry.faces):
            continue
        if key not in candidates:
            candidates[key] = hull_candidates(geometry.vertices[np.unique(geometry.faces)].astype(np.float64))
        meshes.append((geometry, place))
        outlines.append(transformed(candidates[key], place))
    if not meshes:
        return None
    outline = np.concatenate(outlines)
    return EntityShape(tuple(meshes), outline if len(meshes) == 1 else hull_candidates(outline))


@dataclass(frozen=True, eq=False)
class MovingPart:
    """Part of an entity that moves on its own, such as a rotor, at two instants."""

    extent: Array
    """Lower and upper corner of the box around it in its own frame [m], shape (2, 3)."""
    pose: Array
    """Its frame to the world, shape (4, 4)."""
    previous_pose: Array
    """Its frame to the world at the earlier instant, shape (4, 4)."""


@dataclass(frozen=True, eq=False)
class LabelledEntity:
    """Entity that pixels can belong to, at two instants."""

    path: str
    labels: Mapping[str, str]
    """Semantic labels by taxonomy; datasets use `class`."""
    pose: Array
    """Its frame to the world, shape (4, 4)."""
    previous_pose: Array
    """Its frame to the world at the instant of `LabelledFrame.previous_view`, shape (4, 4)."""
    shape: EntityShape | None = None
    """Surface in its own frame; None if it is not in the scene now."""
    parts: tuple[MovingPart, ...] = ()
    """Parts that move on their own; points within the box of a part move with it."""
    velocity: Array = field(default_factory=lambda: np.zeros(3))
    """Velocity of its frame's origin in the world [m/s], shape (3,)."""
    angular_velocity: Array = field(default_factory=lambda: np.zeros(3))
    """Angular velocity, world axes [rad/s], shape (3,)."""

    @property
    def label(self) -> str | None:
        """Its class, or None."""
        return self.labels.get("class")


class EntityTable:
    """Table of the shapes and poses of a renderer's entities; each shape is computed once.

    Args:
        scene: The world that the renderer has loaded.
    """

    def __init__(self, scene: Scene) -> None:
        self._still = entity_shapes(scene)
        # Objects share scenes; keeping a scene alive keeps its id unique.
        self._moving: dict[int, tuple[Scene, EntityShape | None]] = {}

    def entities(
        self,
        drawn: Sequence[Entity],
        objects: Sequence[RenderObject] = (),
        poses: Array | None = None,
        previous_poses: Array | None = None,
        velocities: Mapping[str, tuple[Array, Array]] = MappingProxyType({}),
    ) -> tuple[LabelledEntity, ...]:
        """Return the entities in the order of the renderer's.

        Several objects can belong to one entity: its frame is that of the first; the others are parts that
        move on their own.

        Args:
            drawn: `Renderer.entities`.
            objects: Moving objects of the scene.
            poses: Their poses, object to world, shape (K, 4, 4).
            previous_poses: Poses at the earlier instant, shape (K, 4, 4); the present ones when None.
            velocities: Velocity [m/s] and angular velocity [rad/s] of moving entities by path, world axes,
                shape (3,) each.
        """
        at: dict[str, list[int]] = {}
        for index, item in enumerate(objects):
            at.setdefault(item.entity.path, []).append(index)
        now = np.zeros((0, 4, 4)) if poses is None else poses
        before = now if previous_poses is None else previous_poses
        found = []
        for entity in drawn:
            members = at.get(entity.path)
            if members is None:
                pose = entity.transform
                shape = self._still.get(entity.path)
                found.append(LabelledEntity(entity.path, entity.labels, pose, pose, shape))
                continue
            body = members[0]
            to_body = np.linalg.inv(now[body])
            parts = [(self._shape(objects[k].scene), to_body @ now[k]) for k in members]
            placed = [
                shape if k == 0 else shape.placed(t)
                for k, (shape, t) in enumerate(parts)
                if shape is not None
            ]
            shape = merged(placed) if placed else None
            moving = tuple(
                MovingPart(part.extent, now[k], before[k])
                for k, (part, _) in zip(members[1:], parts[1:], strict=True)
                if part is not None
            )
            found.append(
                LabelledEntity(
                    entity.path,
                    entity.labels,
                    now[body],
                    before[body],
                    shape,
                    moving,
                    *velocities.get(entity.path, ()),
                )
            )
        return tuple(found)

    def _shape(self, scene: Scene) -> EntityShape | None:
        if id(scene) not in self._moving:
            self._moving[id(scene)] = (scene, whole_shape(scene))
        return self._moving[id(scene)][1]
