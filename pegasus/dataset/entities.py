"""Entities of a frame: those of a world, which stand still, and those of objects, which move."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.arrays import Array
from pegasus.dataset.shapes import EntityShape, entity_shapes, merged, whole_shape
from pegasus.render.renderer import RenderObject
from pegasus.scene.scene import Entity, Scene


@dataclass(frozen=True, eq=False)
class MovingPart:
    """A part of an entity that moves on its own, such as a rotor, at two instants."""

    extent: Array
    """Lower and upper corner of the box around it in its own frame [m], shape (2, 3)."""
    pose: Array
    """Its frame to the world, shape (4, 4)."""
    previous_pose: Array
    """The same at the earlier instant, shape (4, 4)."""


@dataclass(frozen=True, eq=False)
class LabelledEntity:
    """One thing that pixels can belong to, at two instants."""

    path: str
    labels: Mapping[str, str]
    """Semantic labels by taxonomy; that of `class` is the one that datasets use."""
    pose: Array
    """Its frame to the world, shape (4, 4)."""
    previous_pose: Array
    """The same at the instant of the frame's `previous_view`, shape (4, 4)."""
    shape: EntityShape | None = None
    """Its surface in its own frame; None where it is not in the scene now."""
    parts: tuple[MovingPart, ...] = ()
    """What of it moves on its own; where a pixel shows a point in the box of one, it moves with that one."""

    @property
    def label(self) -> str | None:
        """Its class, or None."""
        return self.labels.get("class")


class EntityTable:
    """Gives the entities of a renderer their shapes and poses; each shape is computed once.

    Args:
        scene: The world that the renderer has loaded.
    """

    def __init__(self, scene: Scene) -> None:
        self._still = entity_shapes(scene)
        # Objects share scenes; keeping the scene beside its shape keeps its id its own.
        self._moving: dict[int, tuple[Scene, EntityShape | None]] = {}

    def entities(
        self,
        drawn: Sequence[Entity],
        objects: Sequence[RenderObject] = (),
        poses: Array | None = None,
        previous_poses: Array | None = None,
    ) -> tuple[LabelledEntity, ...]:
        """Return the entities in the order of the renderer's.

        Several objects can name one entity: its frame is that of the first, which it moves with; the others
        are parts of its shape where they are now, each of which moves on its own.

        Args:
            drawn: `Renderer.entities`.
            objects: What moves and is in the scene now.
            poses: Their poses, object to world, shape (K, 4, 4).
            previous_poses: The same at the earlier instant, shape (K, 4, 4); the present ones when None.
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
            found.append(LabelledEntity(entity.path, entity.labels, now[body], before[body], shape, moving))
        return tuple(found)

    def _shape(self, scene: Scene) -> EntityShape | None:
        if id(scene) not in self._moving:
            self._moving[id(scene)] = (scene, whole_shape(scene))
        return self._moving[id(scene)][1]
