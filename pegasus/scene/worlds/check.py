"""Look a world over: units, colliders, labels, places to start from, ways through it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from pxr import UsdGeom

from pegasus.arrays import Array
from pegasus.engines.engine import Engine, RigidBody
from pegasus.scenario import SpawnPoint, WorldSpec
from pegasus.scene.scene import Collider, ColliderShape, Scene
from pegasus.scene.stage import open_stage

# Half the size of the vehicle that must fit at a spawn point, and how far the box sits above it [m].
_HALF = (0.45, 0.45, 0.2)
_LIFT = 0.12
# Nothing may come nearer to a path than this, and rays are cast at such distances along it [m].
_PATH_CLEARANCE = 0.75
_PATH_STEP = 0.5
_MOST_NAMED = 3


@dataclass(frozen=True)
class WorldFinding:
    """What was looked at, and what is wrong with it."""

    subject: str
    problems: list[str]
    """One line each; none if all is well."""


def check_world(world: WorldSpec, scene: Scene, engine: Engine) -> list[WorldFinding]:
    """Return what was found of a world.

    Args:
        world: Its description, with the file of its scene.
        scene: The scene.
        engine: An engine that has loaded the scene and holds no bodies.
    """
    assert world.usd is not None
    parts: list[tuple[str, Callable[[], Iterable[str]]]] = [
        ("units", lambda: _units(world)),
        ("translation", lambda: scene.warnings),
        ("colliders", lambda: _open_colliders(scene)),
        ("labels", lambda: _unlabelled(scene)),
        ("light", lambda: [] if scene.lights else ["nothing shines: renderers see black"]),
        ("spawn points", lambda: _blocked_spawn_points(world.spawn_points or [], engine)),
        ("paths", lambda: _blocked_paths(world, engine)),
    ]
    return [WorldFinding(subject, list(problems())) for subject, problems in parts]


def _units(world: WorldSpec) -> Iterator[str]:
    assert world.usd is not None
    stage = open_stage(world.usd)
    if not UsdGeom.StageHasAuthoredMetersPerUnit(stage):
        yield "metersPerUnit is not authored"
    if not stage.HasAuthoredMetadata("upAxis"):
        yield "upAxis is not authored"
    if not stage.GetDefaultPrim():
        yield "there is no default prim, so no other stage can reference it"


def _open_colliders(scene: Scene) -> list[str]:
    """Return the meshes that bodies could get into through a hole; sheets such as terrain are no solids."""
    if not scene.colliders:
        return ["there are none: vehicles fall through everything"]
    known: dict[int, bool] = {}
    found = []
    for item in scene.colliders:
        if item.shape is not ColliderShape.MESH or item.approximation not in ("none", "meshSimplification"):
            continue
        if id(item.faces) not in known:
            known[id(item.faces)] = is_closed(item) or is_sheet(item)
        if not known[id(item.faces)]:
            found.append(f"{item.path} has a hole, or faces that look inwards")
    return _first(found, "colliders")


def is_closed(item: Collider) -> bool:
    """Return whether every edge of a mesh is shared by two faces that agree on what is outside.

    Args:
        item: A collider with triangles.
    """
    assert item.vertices is not None
    assert item.faces is not None
    # Vertices at one place are one.
    _, same = np.unique(np.round(item.vertices, 6), axis=0, return_inverse=True)
    faces = same.reshape(-1)[item.faces]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]).astype(np.int64)
    count = int(edges.max(initial=0)) + 1
    there, back = edges[:, 0] * count + edges[:, 1], edges[:, 1] * count + edges[:, 0]
    if not np.array_equal(np.sort(there), np.sort(back)):
        return False
    a, b, c = (item.vertices[item.faces[:, k]] for k in range(3))
    return bool((a * np.cross(b, c)).sum() > 0)


def is_sheet(item: Collider) -> bool:
    """Return whether a mesh is a surface over the ground, each face of which looks up.

    Args:
        item: A collider with triangles.
    """
    assert item.vertices is not None
    assert item.faces is not None
    a, b, c = (item.vertices[item.faces[:, k], :2] for k in range(3))
    u, v = b - a, c - a
    return bool((u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0] > 0).all())


def _unlabelled(scene: Scene) -> list[str]:
    return _first(
        [item.path for item in scene.instances if "class" not in item.labels], "objects", "no class: "
    )


def _blocked_spawn_points(points: list[SpawnPoint], engine: Engine) -> list[str]:
    """Return the spawn points at which a vehicle would touch something, or stand on nothing."""
    found = [] if points else ["there are none"]
    down, none = np.array([[0.0, 0.0, -1.0]]), np.full(1, -1)
    for index, point in enumerate(points):
        place = np.array(point.position)
        if _touches(engine, place + np.array([0.0, 0.0, _HALF[2] - 0.1 + _LIFT])):
            found.append(f"{index} at {point.position} is not free")
        elif not engine.raycast(place[None, :], down, 1.0, skip=none).hit[0]:
            found.append(f"{index} at {point.position} has no ground within 1 m below it")
    return _first(found, "spawn points")


def _touches(engine: Engine, center: Array) -> bool:
    box = Collider("/check", ColliderShape.BOX, _HALF, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    body = RigidBody("check", 1.0, np.zeros(3), np.eye(3), [box], center, np.array([0.0, 0.0, 0.0, 1.0]))
    ids = engine.add_bodies([body])
    touched = bool(len(engine.contacts().body))
    engine.remove_bodies(ids)
    return touched


def _blocked_paths(world: WorldSpec, engine: Engine) -> list[str]:
    """Return the paths that something stands in the way of."""
    found = []
    for name, points in world.paths.items():
        if (place := _first_obstacle(np.array(points), engine)) is not None:
            found.append(f"{name} is blocked near ({place[0]:.1f}, {place[1]:.1f}, {place[2]:.1f})")
    return found


def _first_obstacle(points: Array, engine: Engine) -> Array | None:
    """Return where something comes too near to a path: rays to all sides, at short steps along it."""
    sides = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z])
    sides = sides / np.sqrt((sides * sides).sum(axis=1, keepdims=True))
    for start, end in pairwise(points):
        length = float(np.sqrt(((end - start) ** 2).sum()))
        stations = (
            start + (end - start) * np.linspace(0.0, 1.0, max(int(length / _PATH_STEP), 1) + 1)[:, None]
        )
        origins, directions = np.repeat(stations, len(sides), axis=0), np.tile(sides, (len(stations), 1))
        hits = engine.raycast(origins, directions, _PATH_CLEARANCE, skip=np.full(len(origins), -1))
        if hits.hit.any():
            place: Array = origins[int(np.argmax(hits.hit))]
            return place
    return None


def _first(problems: list[str], what: str, prefix: str = "") -> list[str]:
    """Return the first few of many problems, and how many more there are."""
    shown = [prefix + problem for problem in problems[:_MOST_NAMED]]
    more = len(problems) - len(shown)
    return [*shown, f"{more} more {what}"] if more > 0 else shown
