"""Surroundings of a fleet from world files: ground, terrain, boxes, spheres and cylinders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.errors import ConfigError, package_error
from pegasus.base.frames import matrix_from_quaternion
from pegasus.config.scenario import WorldSpec
from pegasus.core.assembly import placed_world, world_of
from pegasus.fleet.world import MOST_SHAPES, Boxes, Cylinders, Spheres, Terrain, World
from pegasus.scene.scene import Collider, ColliderShape

_LEVEL = 1e-6
"""Largest difference of an axis from that of the world."""
_FEW = 4
"""Number of paths that a message names."""
_GROUND = (ColliderShape.PLANE, ColliderShape.MESH)


def world_of_file(
    world: str | Path | Mapping[str, Any] | WorldSpec,
    *,
    partial: bool = False,
    near: Sequence[float] | None = None,
) -> World:
    """Return the surroundings that a world file describes.

    Level planes and meshes that are height fields are ground; boxes, spheres and cylinders are shapes. The
    friction of all is that of the ground.

    Args:
        world: Name of a world, path of a YAML or USD file, content of a YAML file, or a description.
        partial: Leave out what is none of these, such as other meshes; `left_out` names it.
        near: Place of which the nearest shapes are taken, as many as a fleet can have [m], shape (3,); all if
            None.

    Raises:
        ConfigError: If it cannot be opened, or holds something else that is not to be left out.
    """
    spec, file = world_of(world)
    spec = placed_world(spec, file)
    assert isinstance(spec.usd, Path)
    try:
        # Not at the top: it imports OpenUSD.
        from pegasus.scene.kept_scene import scene_of_file

        colliders = scene_of_file(spec.usd, spec.labels).colliders
    except ModuleNotFoundError as error:
        raise package_error(error) from None
    except ConfigError as error:
        raise error.within(file=file) from None
    left = [f"{mover.name} (moves)" for mover in spec.movers]
    ground = _ground(colliders)
    shapes = [c for c in colliders if c.shape not in _GROUND]
    if near is not None and len(shapes) > MOST_SHAPES:
        place = np.asarray(near, dtype=np.float64)
        away = [float(np.linalg.norm(c.position - place)) - max(c.size, default=0.0) for c in shapes]
        kept = set(np.argsort(away, kind="stable")[:MOST_SHAPES].tolist())
        left += [c.path for k, c in enumerate(shapes) if k not in kept]
        shapes = [c for k, c in enumerate(shapes) if k in kept]
        partial = True
    known: dict[ColliderShape, type[Boxes | Spheres | Cylinders]] = {
        ColliderShape.BOX: Boxes,
        ColliderShape.SPHERE: Spheres,
        ColliderShape.CYLINDER: Cylinders,
    }
    left += [c.path for c in colliders if c.shape in _GROUND and c is not ground]
    left += [c.path for c in shapes if c.shape not in known]
    if left and not partial:
        more = f" and {len(left) - _FEW} more" if len(left) > _FEW else ""
        raise ConfigError(
            f"holds what is no level ground, height field, box, sphere or cylinder: "
            f"{', '.join(left[:_FEW])}{more}",
            file=file,
            field="world",
            value=spec.name,
            remedy="leave it out: world_of_file(..., partial=True)",
        )
    try:
        return World(
            **_ground_fields(ground),
            **{
                made.kind: _set_of(made, of_kind)
                for shape, made in known.items()
                if (of_kind := [c for c in shapes if c.shape is shape])
            },
            left_out=tuple(left),
        )
    except ConfigError as error:
        raise error.within(file=file) from None


def _ground(colliders: Sequence[Collider]) -> Collider | None:
    """Return the largest height field with its heights along z, else the first level plane."""
    fields = [c for c in colliders if c.shape is ColliderShape.MESH and _terrain(c) is not None]
    if fields:
        return max(fields, key=lambda c: 0 if c.faces is None else len(c.faces))
    return next((c for c in colliders if c.shape is ColliderShape.PLANE and _is_upright(c)), None)


def _ground_fields(ground: Collider | None) -> dict[str, Any]:
    if ground is None:
        return {}
    fields: dict[str, Any] = {"friction": ground.material.dynamic_friction}
    if ground.shape is ColliderShape.PLANE:
        return fields | {"ground": float(ground.position[2])}
    return fields | {"terrain": _terrain(ground)}


def _is_upright(collider: Collider) -> bool:
    axis = matrix_from_quaternion(collider.orientation)[:, 2]
    return bool(abs(axis[2] - 1.0) < _LEVEL)


def _terrain(collider: Collider) -> Terrain | None:
    """Return a mesh as terrain if it is a height field along the axes of the world."""
    from pegasus.scene.height_fields import height_field

    turned = np.abs(matrix_from_quaternion(collider.orientation) - np.eye(3)).max() > _LEVEL
    if turned or collider.vertices is None or collider.faces is None:
        return None
    found = height_field(collider.vertices, collider.faces)
    if found is None or np.abs(found.rotation - np.eye(3)).max() > _LEVEL:
        return None
    rows, columns = found.heights.shape
    middle = found.position + collider.position
    dx, dy = found.spacing
    return Terrain(
        heights=found.heights + middle[2],
        spacing=(dx, dy),
        origin=(float(middle[0] - 0.5 * (columns - 1) * dx), float(middle[1] - 0.5 * (rows - 1) * dy)),
    )


def _set_of(kind: type[Boxes | Spheres | Cylinders], colliders: Sequence[Collider]) -> Any:
    """Return colliders of one shape as shapes of a fleet."""
    place = np.array([c.position for c in colliders])
    size = np.array([c.size for c in colliders])
    turn = np.array([c.orientation for c in colliders])
    if kind is Spheres:
        return Spheres(position=place, radius=size[:, 0])
    if kind is Cylinders:
        return Cylinders(position=place, radius=size[:, 0], height=2.0 * size[:, 1], turn=turn)
    return Boxes(position=place, lengths=2.0 * size, turn=turn)
