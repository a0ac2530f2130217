"""Conversion of a world for browsers: one glTF file for single objects, one for each instanced object."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import quaternion_from_matrix
from pegasus.panel.gltf import Part, glb
from pegasus.scene.scene import Instance, Scene

DRAWN_TRIANGLES = 3_000_000
"""Number of triangles beyond which the smallest objects of a world are omitted."""
_MAX_OMITTED_RADIUS = 0.5
"""Maximum radius of objects that may be omitted [m]."""
_MIN_BATCH_TRIANGLES = 4000
"""Total number of triangles from which on copies are drawn as instances of one shape."""


@dataclass(frozen=True, eq=False)
class Batch:
    """N instances of one shape."""

    data: bytes
    """The shape as a binary glTF file."""
    position: Array
    """Positions [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternions xyzw, shape (N, 4)."""
    scale: Array
    """Scales along the axes of the shape, shape (N, 3)."""


@dataclass(frozen=True, eq=False)
class WebWorld:
    """World in the form that browsers load."""

    fixed: bytes | None
    """Single objects as one binary glTF file, if any."""
    batches: tuple[Batch, ...]
    triangle_count: int
    """Number of drawn triangles."""
    left_out_count: int
    """Number of omitted triangles."""


@dataclass(frozen=True, eq=False)
class _Group:
    geometry: str
    material: str
    transforms: list[Array]
    triangle_count: int
    radius: float


def web_world(scene: Scene, *, most_triangles: int = DRAWN_TRIANGLES) -> WebWorld:
    """Convert a scene for browsers.

    Args:
        scene: The world.
        most_triangles: Number of triangles beyond which small objects are omitted, the smallest first.
    """
    groups, left_out = _within_limit(list(_groups(scene)), most_triangles)
    single: list[Part] = []
    together: dict[bytes, list[_Group]] = {}
    for group in groups:
        if _is_batch(group):
            key = np.asarray(group.transforms).tobytes()
            together.setdefault(key, []).append(group)
        else:
            single.append(_part(scene, group, group.transforms))
    batches = []
    for same in together.values():
        position, orientation, scale = decomposed(np.asarray(same[0].transforms))
        data = glb([_part(scene, group, [np.eye(4)]) for group in same], texture_size=512)
        batches.append(Batch(data, position, orientation, scale))
    return WebWorld(
        fixed=glb(single) if single else None,
        batches=tuple(batches),
        triangle_count=sum(group.triangle_count for group in groups),
        left_out_count=left_out,
    )


def decomposed(transforms: Array) -> tuple[Array, Array, Array]:
    """Decompose transforms without reflection and shear into positions, quaternions xyzw and scales.

    Args:
        transforms: Transforms, shape (N, 4, 4).
    """
    linear = transforms[:, :3, :3]
    scale = np.sqrt((linear * linear).sum(axis=1))
    return transforms[:, :3, 3], quaternion_from_matrix(linear / scale[:, None, :]), scale


def _groups(scene: Scene) -> Iterator[_Group]:
    """Yield groups of instances that share geometry and material."""
    shared: dict[tuple[str, str], list[Instance]] = {}
    for item in scene.instances:
        shared.setdefault((item.geometry, item.material), []).append(item)
    for (geometry, material), items in shared.items():
        shape = scene.geometries[geometry]
        if not len(shape.faces):
            continue
        transforms = [np.asarray(item.transform, dtype=np.float64) for item in items]
        size = float(np.linalg.norm(np.ptp(shape.vertices, axis=0))) / 2
        volume = np.abs(np.linalg.det(np.asarray(transforms)[:, :3, :3])).mean()
        count = len(shape.faces) * len(items)
        yield _Group(geometry, material, transforms, count, size * float(np.cbrt(volume)))


def _within_limit(groups: list[_Group], limit: int) -> tuple[list[_Group], int]:
    """Omit the smallest objects until the rest is within a limit; return it and the omitted triangles."""
    excess = sum(group.triangle_count for group in groups) - limit
    left_out: set[int] = set()
    gone = 0
    for group in sorted(groups, key=lambda group: group.radius):
        if gone >= excess or group.radius > _MAX_OMITTED_RADIUS:
            break
        left_out.add(id(group))
        gone += group.triangle_count
    return [group for group in groups if id(group) not in left_out], gone


def _is_batch(group: _Group) -> bool:
    if len(group.transforms) < 2 or group.triangle_count < _MIN_BATCH_TRIANGLES:
        return False
    linear = np.asarray(group.transforms)[:, :3, :3]
    length = np.sqrt((linear * linear).sum(axis=1))
    if not (length > 1e-9).all() or (np.linalg.det(linear) <= 0).any():
        return False
    axes = linear / length[:, None, :]
    return bool(np.allclose(axes.transpose(0, 2, 1) @ axes, np.eye(3), atol=1e-4))


def _part(scene: Scene, group: _Group, transforms: Sequence[Array]) -> Part:
    return Part(scene.geometries[group.geometry], scene.materials[group.material], transforms)
