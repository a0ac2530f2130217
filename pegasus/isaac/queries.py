"""Scene queries of PhysX: rays and contacts."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pegasus.base.arrays import Array
from pegasus.contracts.engine import Contacts, RayHits


class Shape(NamedTuple):
    """First hit of a ray on a collider."""

    distance: float
    """Distance [m]."""
    normal: tuple[float, float, float]
    """Outward unit normal in the world."""
    body: str
    """Path of the rigid body, or of a collider without one."""
    shape: str
    """Path of the collider."""


def nearest_shapes(
    origins: Array, directions: Array, max_range: float, skipped: Sequence[Collection[str]]
) -> list[Shape | None]:
    """Return the first hits of K rays, None for a miss.

    Args:
        origins: Start points [m], shape (K, 3).
        directions: Unit directions, shape (K, 3).
        max_range: Longest distance [m].
        skipped: Paths of the bodies that each ray passes through.
    """
    import omni.physx

    scene = omni.physx.get_physx_scene_query_interface()
    hits: list[Shape | None] = []
    # PhysX reports hits in any order.
    reported: list[Shape] = []
    for start, direction, own in zip(origins.tolist(), directions.tolist(), skipped, strict=True):
        reported.clear()

        def keep(found: Any, own: Collection[str] = own) -> bool:
            if found.rigid_body not in own:
                normal = float(found.normal.x), float(found.normal.y), float(found.normal.z)
                reported.append(
                    Shape(float(found.distance), normal, str(found.rigid_body), str(found.collision))
                )
            return True

        scene.raycast_all(tuple(start), tuple(direction), float(max_range), keep)
        hits.append(min(reported, key=lambda shape: shape.distance) if reported else None)
    return hits


def nearest_hits(
    origins: Array,
    directions: Array,
    max_range: float,
    skipped: Sequence[Collection[str]],
    handles: Mapping[str, int],
) -> RayHits:
    """Return the first hits of K rays as arrays; see `nearest_shapes`.

    Args:
        origins: Start points [m], shape (K, 3).
        directions: Unit directions, shape (K, 3).
        max_range: Longest distance [m].
        skipped: Paths of the bodies that each ray passes through.
        handles: Handles of bodies by path.
    """
    hits = nearest_shapes(origins, directions, max_range, skipped)
    return RayHits(
        hit=np.array([shape is not None for shape in hits], dtype=np.bool_),
        distance=np.array([math.inf if shape is None else shape.distance for shape in hits]),
        normal=np.array([(0.0, 0.0, 0.0) if shape is None else shape.normal for shape in hits]).reshape(
            -1, 3
        ),
        body=np.array(
            [-1 if shape is None else handles.get(shape.body, -1) for shape in hits], dtype=np.int64
        ),
    )


def contact_report(handles: Mapping[str, int], rate: float, path_in_world: Callable[[str], str]) -> Contacts:
    """Return the contacts of bodies in the last step.

    Args:
        handles: Handles of bodies by path.
        rate: Steps per second [Hz]; PhysX reports impulses.
        path_in_world: Gives the path in the file of the world for a path on the stage.
    """
    pairs: list[tuple[int, int, Any, float]] = []
    surfaces: list[str] = []
    if handles:
        import omni.physx
        from pxr import PhysicsSchemaTools

        report = omni.physx.get_physx_simulation_interface().get_contact_report()
        for header in report[0]:
            # Normals point from the second actor to the first; impulses act on the first.
            actors = (str(PhysicsSchemaTools.intToSdfPath(a)) for a in (header.actor0, header.actor1))
            first, second = (handles.get(path, -1) for path in actors)
            if first < 0 and second < 0:
                continue
            body, other, sign = (first, second, 1.0) if first >= 0 else (second, first, -1.0)
            surface = ""
            if other < 0:
                collider = header.collider1 if first >= 0 else header.collider0
                surface = path_in_world(str(PhysicsSchemaTools.intToSdfPath(collider)))
            surfaces += [surface] * header.num_contact_data
            for index in range(header.num_contact_data):
                pairs.append((body, other, report[1][header.contact_data_offset + index], sign))
    vectors = np.array(
        [
            [[float(v.x), float(v.y), float(v.z)] for v in (point.position, point.normal, point.impulse)]
            for _, _, point, _ in pairs
        ]
    ).reshape(-1, 3, 3)
    signs = np.array([pair[3] for pair in pairs]).reshape(-1, 1)
    return Contacts(
        body=np.array([pair[0] for pair in pairs], dtype=np.int64),
        other=np.array([pair[1] for pair in pairs], dtype=np.int64),
        position=vectors[:, 0],
        normal=signs * vectors[:, 1],
        force=signs * vectors[:, 2] * rate,
        distance=np.array([float(pair[2].separation) for pair in pairs]),
        surface=np.array(surfaces, dtype=np.str_),
    )
