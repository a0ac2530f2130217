"""Validation of worlds: units, colliders, labels, textures, light, spawn points, paths."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from pxr import UsdGeom

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import SpawnPoint, WorldSpec
from pegasus.contracts.engine import Engine, RigidBody
from pegasus.render.image_files import read_image
from pegasus.scene.scene import Collider, ColliderShape, Scene, Texture
from pegasus.scene.stage import open_stage
from pegasus.scene.world_scene import NO_LIGHT

# Half size of the vehicle that must fit at a spawn point, and the height of its box above the point [m].
_HALF = (0.45, 0.45, 0.2)
_LIFT = 0.12
# Least clearance of a path, and the spacing of rays along it [m].
_PATH_CLEARANCE = 0.75
_PATH_STEP = 0.5
_MOST_NAMED = 3


@dataclass(frozen=True)
class WorldFinding:
    """Result of one check: subject and problems."""

    subject: str
    problems: list[str]
    """One line per problem; empty if there is none."""


def check_world(world: WorldSpec, scene: Scene, engine: Engine) -> list[WorldFinding]:
    """Return the findings of all checks of a world.

    Args:
        world: The world, with its USD file.
        scene: The scene.
        engine: An engine that has loaded the scene and holds no bodies.
    """
    assert world.usd is not None
    parts: list[tuple[str, Callable[[], Iterable[str]]]] = [
        ("units", lambda: _units(world)),
        ("translation", lambda: [line for line in scene.warnings if NO_LIGHT not in line]),
        ("colliders", lambda: _open_colliders(scene)),
        ("labels", lambda: _unlabelled(scene)),
        ("textures", lambda: _unreadable_textures(scene)),
        ("light", lambda: _darkness(scene)),
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
    """Return the colliding meshes with holes; sheets such as terrain are allowed."""
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
            found.append(f"{item.path} has a hole, or inward-facing faces")
    return _first(found, "colliders")


def is_closed(item: Collider) -> bool:
    """Return whether every edge of a mesh is shared by two consistently oriented faces."""
    assert item.vertices is not None
    assert item.faces is not None
    # Merge coincident vertices.
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
    """Return whether all faces of a mesh face up, as in terrain."""
    assert item.vertices is not None
    assert item.faces is not None
    a, b, c = (item.vertices[item.faces[:, k], :2] for k in range(3))
    u, v = b - a, c - a
    return bool((u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0] > 0).all())


def _unlabelled(scene: Scene) -> list[str]:
    return _first(
        [item.path for item in scene.instances if "class" not in item.labels], "objects", "no class: "
    )


def _darkness(scene: Scene) -> list[str]:
    """Return the warning of a scene that is lit by default, or would be."""
    lit_by_default = any(NO_LIGHT in line for line in scene.warnings)
    return [NO_LIGHT] if lit_by_default or not scene.lights else []


def _unreadable_textures(scene: Scene) -> list[str]:
    """Return the images of materials that renderers cannot read."""
    textures = (value for material in scene.materials.values() for value in vars(material).values())
    images = {value.path: value.srgb for value in textures if isinstance(value, Texture)}
    found = []
    for path, srgb in images.items():
        try:
            read_image(path, srgb=srgb)
        except ConfigError as error:
            found.append(str(error))
    return _first(found, "textures")


def _blocked_spawn_points(points: list[SpawnPoint], engine: Engine) -> list[str]:
    """Return the spawn points with a contact, or without ground."""
    if not points:
        return ["there are none"]
    box = Collider("/check", ColliderShape.BOX, _HALF, np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))
    upright = np.array([0.0, 0.0, 0.0, 1.0])
    places = np.array([point.position for point in points])
    centers = places + np.array([0.0, 0.0, _HALF[2] - 0.1 + _LIFT])
    # All at once: compiling the model of a large world takes long.
    ids = engine.add_bodies(
        [
            RigidBody(f"check {index}", 1.0, np.zeros(3), np.eye(3), [box], center, upright)
            for index, center in enumerate(centers)
        ]
    )
    contacts = engine.contacts()
    touched = np.isin(ids, contacts.body[contacts.other < 0])
    engine.remove_bodies(ids)
    down = np.tile([0.0, 0.0, -1.0], (len(points), 1))
    grounded = engine.raycast(places, down, 1.0, skip=np.full(len(points), -1)).hit
    found = []
    for index, point in enumerate(points):
        if touched[index]:
            found.append(f"{index} at {point.position} is not free")
        elif not grounded[index]:
            found.append(f"{index} at {point.position} has no ground within 1 m below it")
    return _first(found, "spawn points")


def _blocked_paths(world: WorldSpec, engine: Engine) -> list[str]:
    """Return the blocked paths."""
    found = []
    for name, points in world.paths.items():
        if (place := _first_obstacle(np.array(points), engine)) is not None:
            found.append(f"{name} is blocked near ({place[0]:.1f}, {place[1]:.1f}, {place[2]:.1f})")
    return found


def _first_obstacle(points: Array, engine: Engine) -> Array | None:
    """Return the first position on a path with an obstacle too close, by rays in all directions."""
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
    """Return the first few problems, and the number of the others."""
    shown = [prefix + problem for problem in problems[:_MOST_NAMED]]
    more = len(problems) - len(shown)
    return [*shown, f"{more} more {what}"] if more > 0 else shown
