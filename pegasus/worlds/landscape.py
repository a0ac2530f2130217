"""Outdoor objects: rocks, fallen logs, stumps, and their random placement."""

from collections.abc import Callable

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import instance, mesh
from pegasus.worlds.site import Site
from pegasus.worlds.solids import draw as draw_solids
from pegasus.worlds.solids import round_obstacle, tube
from pegasus.worlds.terrain import Terrain

ROCK_VARIANTS = 5
LOG_VARIANTS = 3
LOG_LENGTH = 4.2
"""Length of the longest fallen log [m]."""


def rock(site: Site, variant: int) -> str:
    """Return the prototype of a rock of about 1 m on the ground; it collides as its hull.

    Args:
        site: The site.
        variant: Index into `ROCK_VARIANTS`; modulo their number.
    """
    number = variant % ROCK_VARIANTS
    path = f"/Prototypes/Rock{number}"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype(f"Rock{number}", "rock")
    rng = site.stream("rock", str(number))
    ball, faces = _ball(24, 14)
    # A stone is the intersection of half-spaces with worn edges.
    normal = rng.normal(size=(15, 3))
    normal /= np.sqrt((normal * normal).sum(axis=1, keepdims=True))
    distance = rng.uniform(0.40, 0.56, 15)
    reach = distance / np.maximum(ball @ normal.T, 0.05)
    worn = (np.maximum(reach, 0.1) ** -9.0).sum(axis=1) ** (-1.0 / 9.0)
    size = np.array([1.0, rng.uniform(0.75, 1.0), rng.uniform(0.55, 0.85)])
    points = ball * worn[:, None] * size * 1.15
    points += 0.012 * np.sin(9.0 * points[:, [1, 2, 0]] + rng.uniform(0.0, 6.0, 3)) * ball
    points[:, 2] += 0.22 * size[2]
    tint = float(rng.uniform(0.8, 1.1))
    look = site.finish("rock", tint=(tint, tint, tint * 0.97), scope=path)
    normals = _normals(points, faces)
    # Texture coordinates around the rock, in metres.
    azimuth, height = np.arctan2(ball[:, 1], ball[:, 0]), np.arcsin(np.clip(ball[:, 2], -1.0, 1.0))
    azimuth[_seam(len(azimuth), 24)] += 2 * np.pi
    uvs = np.column_stack([0.55 * azimuth, 0.55 * height]) + rng.uniform(0.0, 4.0, 2)
    mesh(
        site.stage,
        f"{path}/Stone",
        points,
        faces,
        look,
        approximation="convexHull",
        uvs=uvs,
        normals=normals,
    )
    return path


def log(site: Site, variant: int) -> str:
    """Return the prototype of a fallen log along x on the ground; it collides as a cylinder.

    Args:
        site: The site.
        variant: Index into `LOG_VARIANTS`; modulo their number.
    """
    number = variant % LOG_VARIANTS
    path = f"/Prototypes/Log{number}"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype(f"Log{number}", "log")
    rng = site.stream("log", str(number))
    length, radius = LOG_LENGTH * (1.0, 0.72, 0.85)[number], (0.19, 0.26, 0.15)[number]
    kind = ("bark", "bark", "birch_bark")[number]
    start, end = np.array([-length / 2, 0.0, 0.75 * radius]), np.array([length / 2, 0.0, 0.72 * radius])
    parts = [tube(start, end, radius, sides=14, end_radius=0.82 * radius)]
    for _ in range(4):
        at = start + rng.uniform(0.15, 0.85) * (end - start)
        angle = rng.uniform(0.2, 2.9)
        way = np.array([0.35, np.cos(angle), np.sin(angle)])
        parts.append(tube(at, at + way * (radius + rng.uniform(0.05, 0.30)), 0.035, sides=6, end_radius=0.02))
    look = site.finish(kind, scope=path, collides=False)
    draw_solids(site.stage, f"{path}/Wood", parts, look)
    round_obstacle(site.stage, f"{path}/Body", start, end, 0.93 * radius, site.finish(kind, scope=path))
    return path


def stump(site: Site) -> str:
    """Return the prototype of a stump; it collides as a cylinder."""
    path = "/Prototypes/Stump"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype("Stump", "stump")
    bark = site.finish("bark", scope=path, collides=False)
    cut = site.finish("plywood", tint=(0.75, 0.62, 0.45), scope=path, collides=False)
    parts = [tube((0, 0, -0.3), (0, 0, 0.12), 0.36, sides=14, end_radius=0.27)]
    parts.append(tube((0, 0, 0.12), (0, 0, 0.48), 0.27, sides=14, end_radius=0.25))
    draw_solids(site.stage, f"{path}/Wood", parts, bark)
    draw_solids(site.stage, f"{path}/Top", [tube((0, 0, 0.475), (0, 0, 0.49), 0.225, sides=14)], cut)
    body = site.finish("bark", scope=path)
    round_obstacle(site.stage, f"{path}/Body", (0, 0, -0.3), (0, 0, 0.485), 0.26, body)
    return path


def scattered(
    rng: np.random.Generator,
    count: int,
    half: tuple[float, float],
    gap: float,
    *,
    taken: Array | None = None,
    free: Callable[[Array], Array] | None = None,
) -> Array:
    """Return random positions in a rectangle around the origin with a least distance, shape (K <= count, 2).

    Positions are drawn one by one and kept if free (dart throwing).

    Args:
        rng: Random numbers.
        count: Desired number.
        half: Half lengths of the rectangle [m].
        gap: Least distance between positions, and to taken ones [m].
        taken: Taken positions [m], shape (T, 2).
        free: Function of positions (K, 2) that returns the probability of using each.
    """
    cells: dict[tuple[int, int], list[tuple[float, float]]] = {}
    size = max(gap, 1e-3)

    def keep(x: float, y: float) -> None:
        cells.setdefault((int(x // size), int(y // size)), []).append((x, y))

    for x, y in [] if taken is None else taken.tolist():
        keep(x, y)
    found: list[tuple[float, float]] = []
    for _ in range(12):
        tries = rng.uniform(-1.0, 1.0, (2 * count, 2)) * half
        chance = rng.uniform(0.0, 1.0, len(tries))
        if free is not None:
            tries = tries[chance < free(tries)]
        for x, y in tries.tolist():
            if len(found) == count:
                return np.array(found)
            column, row = int(x // size), int(y // size)
            near = (
                place
                for i in (-1, 0, 1)
                for j in (-1, 0, 1)
                for place in cells.get((column + i, row + j), ())
            )
            if all((x - a) ** 2 + (y - b) ** 2 >= gap * gap for a, b in near):
                keep(x, y)
                found.append((x, y))
    return np.array(found).reshape(-1, 2)


def stand(
    site: Site,
    path: str,
    prototype: str,
    terrain: Terrain,
    place: Array,
    rng: np.random.Generator,
    *,
    scale: tuple[float, float],
    sink: float = 0.0,
) -> None:
    """Place an instance on the ground with random yaw and scale.

    Args:
        site: The site.
        path: Path of the instance.
        prototype: Path of the prototype.
        terrain: The ground.
        place: East and north [m], shape (2,).
        rng: Random numbers.
        scale: Least and largest scale.
        sink: Depth in the ground per scale [m].
    """
    x, y = (float(value) for value in place)
    factor = float(rng.uniform(*scale))
    z = float(terrain.height(x, y)) - sink * factor
    instance(site.stage, path, prototype, (x, y, z), yaw=float(rng.uniform(0.0, 360.0)), scale=factor)


def distance_to_line(places: Array, line: Array) -> Array:
    """Return the distances of positions to a polyline [m], shape (K,).

    Args:
        places: Positions [m], shape (K, 2).
        line: Points of the line in order [m], shape (P, 2).
    """
    start, way = line[:-1], np.diff(line, axis=0)
    nearest = np.full(len(places), np.inf)
    # In portions that fit into the processor's cache.
    for first in range(0, len(places), 256):
        rows = slice(first, first + 256)
        x, y = (places[rows, k, None] - start[:, k] for k in range(2))
        part = np.clip((x * way[:, 0] + y * way[:, 1]) / (way * way).sum(axis=1), 0.0, 1.0)
        x, y = x - part * way[:, 0], y - part * way[:, 1]
        nearest[rows] = np.sqrt((x * x + y * y).min(axis=1))
    return nearest


def _ball(around: int, rows: int) -> tuple[Array, IntArray]:
    """Return a unit sphere with duplicate points along the seam: points, and outward triangles."""
    height = -np.cos(np.linspace(0.0, np.pi, rows + 1))
    angle = np.linspace(-np.pi, np.pi, around + 1)
    angle[-1] = -np.pi
    ring = np.sqrt(np.maximum(1.0 - height**2, 0.0))
    points = np.stack(
        [
            ring[:, None] * np.cos(angle),
            ring[:, None] * np.sin(angle),
            np.broadcast_to(height[:, None], (rows + 1, around + 1)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    first = (np.arange(rows)[:, None] * (around + 1) + np.arange(around)).ravel()
    lower = np.stack([first, first + 1, first + around + 2], axis=1)
    upper = np.stack([first, first + around + 2, first + around + 1], axis=1)
    faces = np.concatenate([lower[around:], upper[:-around]])
    return points, faces


def _seam(count: int, around: int) -> IntArray:
    """Return the duplicate seam points of a sphere of rings."""
    return np.arange(around, count, around + 1)


def _normals(points: Array, faces: IntArray) -> Array:
    """Return smooth normals; coincident points share one."""
    _, same = np.unique(np.round(points, 6), axis=0, return_inverse=True)
    same = same.reshape(-1)
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = np.cross(b - a, c - a)
    total = np.zeros((int(same.max()) + 1, 3))
    for k in range(3):
        np.add.at(total, same[faces[:, k]], area)
    unit: Array = total / np.maximum(np.sqrt((total * total).sum(axis=1, keepdims=True)), 1e-12)
    return unit[same]
