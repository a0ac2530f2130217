"""The world `courtyard`: walls with a gate, a terrace with steps, colonnades, trees, benches, lamps.

It is 60 m square. The inner 14 m around the origin are free.
"""

import random
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pxr import Usd, UsdShade

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import (
    Surface,
    box,
    cylinder,
    ground_plane,
    group,
    instance,
    label,
    material,
    mesh,
    physics_material,
    sphere,
    subset,
    sun_and_sky,
)
from pegasus.scene.generator import Quantities
from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.site import Site, SiteGenerator
from pegasus.worlds.solids import tiles

_ROOT = "/World"
_PROTOTYPES = "/Prototypes"
_HALF = 30.0
_WALL_HEIGHT = 4.0
_TERRACE_HEIGHT = 0.9
_PILLAR_HEIGHT = 3.65


@dataclass(frozen=True)
class Courtyard(SiteGenerator):
    """Walled courtyard with a gate, a terrace with steps and a ramp, colonnades, trees and benches."""

    name: ClassVar[str] = "courtyard"

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        return Quantities(20_000, 500)

    def build(self, site: Site) -> None:
        """Write the world."""
        stage = site.stage
        sun_and_sky(stage, _ROOT)
        site.camera((-9.0, -21.0, 3.4), (12.0, 14.0, 1.6), horizontal_fov=60.0)
        stone = physics_material(stage, f"{_ROOT}/Looks/StoneContact", PhysicsMaterial(0.7, 0.6, 0.2))
        _ground(stage, stone)
        _walls(stage, stone)
        _terrace(stage, stone)
        stage.CreateClassPrim(_PROTOTYPES)
        _pillars(stage)
        _trees(stage)
        _benches(stage)
        _lamps(stage)
        for x, y in ((0.0, 0.0), (3.0, 0.0), (0.0, 3.0), (-3.0, 0.0), (0.0, -3.0)):
            site.spawn(x, y)
        site.spawn(9.0, 9.0, heading=-2.356)
        site.spawn(-9.0, -9.0, heading=0.785)
        site.spawn(0.0, 26.5, ground=_TERRACE_HEIGHT, heading=-1.571, name="terrace")
        site.spawn(0.0, -27.0, heading=1.571)


def _ground(stage: Usd.Stage, stone: UsdShade.Material) -> None:
    """Write paving of 2 m tiles with lawns at the edges, and a meadow outside the walls."""
    light = material(stage, f"{_ROOT}/Looks/LightStone", (0.56, 0.52, 0.45))
    dark = material(stage, f"{_ROOT}/Looks/DarkStone", (0.33, 0.30, 0.27))
    lawn = material(stage, f"{_ROOT}/Looks/Lawn", (0.10, 0.21, 0.05))
    meadow = material(stage, f"{_ROOT}/Looks/Meadow", (0.17, 0.24, 0.08))
    group(stage, f"{_ROOT}/Ground", "ground")
    ground_plane(stage, f"{_ROOT}/Ground/Collision", stone)
    lines = np.concatenate([[-400.0], np.arange(-_HALF, _HALF + 1.0, 2.0), [400.0]])
    points, faces = tiles(lines, lines)
    center = points[faces].mean(axis=1)
    x, y = center[:, 0], center[:, 1]
    inside = np.maximum(np.abs(x), np.abs(y)) < _HALF
    green = inside & (
        (np.abs(x - 23.0) < 5.0) & (np.abs(y + 3.0) < 23.0) | (np.abs(y + 25.0) < 3.0) & (x < -6.0)
    )
    paved = inside & ~green
    ring = np.hypot(x, y) < 14.0
    odd = (np.floor(x / 2) + np.floor(y / 2)) % 2 == 1
    bright = np.where(ring, odd, np.floor(x / 2) % 3 > 0)
    floor = mesh(stage, f"{_ROOT}/Ground/Floor", points, faces, Surface(meadow))
    subset(floor, "light_paving", np.nonzero(paved & bright)[0].tolist(), light)
    subset(floor, "dark_paving", np.nonzero(paved & ~bright)[0].tolist(), dark)
    subset(floor, "lawn", np.nonzero(green)[0].tolist(), lawn)


def _walls(stage: Usd.Stage, stone: UsdShade.Material) -> None:
    """Write four walls with coping, and a gate in the southern one."""
    plaster = Surface(material(stage, f"{_ROOT}/Looks/Plaster", (0.66, 0.55, 0.38)), stone)
    brick = Surface(material(stage, f"{_ROOT}/Looks/Brick", (0.40, 0.15, 0.09)), stone)
    middle = _HALF - 0.2
    runs = {
        "North": ((0.0, middle), (60.0, 0.4)),
        "East": ((middle, 0.0), (0.4, 59.2)),
        "West": ((-middle, 0.0), (0.4, 59.2)),
        "SouthEast": ((17.0, -middle), (26.0, 0.4)),
        "SouthWest": ((-17.0, -middle), (26.0, 0.4)),
    }
    group(stage, f"{_ROOT}/Walls", "wall")
    for name, ((x, y), (length, width)) in runs.items():
        center, top = (x, y, _WALL_HEIGHT / 2), (x, y, _WALL_HEIGHT + 0.075)
        box(stage, f"{_ROOT}/Walls/{name}", center, (length, width, _WALL_HEIGHT), plaster)
        across = (length, 0.6, 0.15) if length > width else (0.6, width, 0.15)
        box(stage, f"{_ROOT}/Walls/{name}Coping", top, across, brick)
    group(stage, f"{_ROOT}/Gate", "gate")
    for name, x in (("West", -3.5), ("East", 3.5)):
        box(stage, f"{_ROOT}/Gate/{name}", (x, -middle, 2.6), (1.0, 1.0, 5.2), brick)
    box(stage, f"{_ROOT}/Gate/Lintel", (0.0, -middle, 5.5), (8.4, 1.1, 0.6), plaster)


def _terrace(stage: Usd.Stage, stone: UsdShade.Material) -> None:
    """Write a terrace along the northern wall with five steps, a ramp, and the roofs of both colonnades."""
    marble = Surface(material(stage, f"{_ROOT}/Looks/Paleness", (0.60, 0.57, 0.51)), stone)
    tile = Surface(material(stage, f"{_ROOT}/Looks/RoofTile", (0.45, 0.16, 0.08)), stone)
    height, front, back = _TERRACE_HEIGHT, 23.0, 29.6
    depth = back - front
    label(
        box(stage, f"{_ROOT}/Terrace", (0.0, front + depth / 2, height / 2), (26.0, depth, height), marble),
        "terrace",
    )
    group(stage, f"{_ROOT}/Steps", "steps")
    for k in range(5):
        run = 0.35 * (5 - k)
        box(
            stage,
            f"{_ROOT}/Steps/Step{k}",
            (0.0, front - run / 2, 0.15 * k + 0.075),
            (10.0, run, 0.15),
            marble,
        )
    corners = [(13.0, 25.0, 0.0), (20.0, 25.0, 0.0), (20.0, 28.0, 0.0), (13.0, 28.0, 0.0)]
    ramp = np.array([*corners, (13.0, 25.0, height), (13.0, 28.0, height)])
    sides = [[3, 2, 1, 0], [0, 1, 4], [2, 3, 5], [3, 0, 4, 5], [1, 2, 5, 4]]
    label(
        mesh(stage, f"{_ROOT}/Ramp", ramp, sides, marble, approximation="convexHull").GetPrim(),
        "ramp",
    )
    group(stage, f"{_ROOT}/Roofs", "roof")
    top = height + _PILLAR_HEIGHT
    box(stage, f"{_ROOT}/Roofs/NorthBeam", (0.0, 24.5, top + 0.25), (26.0, 0.7, 0.5), marble)
    box(stage, f"{_ROOT}/Roofs/North", (0.0, 26.8, top + 0.6), (26.6, 5.6, 0.2), tile)
    box(stage, f"{_ROOT}/Roofs/WestBeam", (-24.0, -4.0, _PILLAR_HEIGHT + 0.25), (0.7, 42.0, 0.5), marble)
    box(stage, f"{_ROOT}/Roofs/West", (-26.6, -4.0, _PILLAR_HEIGHT + 0.6), (6.0, 42.6, 0.2), tile)


def _pillars(stage: Usd.Stage) -> None:
    """Write two colonnades of one instanced pillar."""
    path = f"{_PROTOTYPES}/Pillar"
    group(stage, path, "pillar")
    contact = physics_material(stage, f"{path}/Looks/Contact", PhysicsMaterial(0.7, 0.6, 0.2))
    marble = Surface(material(stage, f"{path}/Looks/Marble", (0.68, 0.66, 0.61), roughness=0.5), contact)
    box(stage, f"{path}/Base", (0.0, 0.0, 0.125), (0.9, 0.9, 0.25), marble)
    cylinder(stage, f"{path}/Shaft", (0.0, 0.0, 0.25), (0.0, 0.0, _PILLAR_HEIGHT - 0.2), 0.3, marble)
    box(stage, f"{path}/Capital", (0.0, 0.0, _PILLAR_HEIGHT - 0.1), (0.8, 0.8, 0.2), marble)
    group(stage, f"{_ROOT}/Pillars")
    for k in range(9):
        instance(stage, f"{_ROOT}/Pillars/North{k}", path, (3.0 * k - 12.0, 24.5, _TERRACE_HEIGHT))
        instance(stage, f"{_ROOT}/Pillars/West{k}", path, (-24.0, 5.0 * k - 24.0, 0.0))


def _trees(stage: Usd.Stage) -> None:
    """Write broad trees on the lawns and cypresses along the southern wall."""
    broad, slender = f"{_PROTOTYPES}/BroadTree", f"{_PROTOTYPES}/Cypress"
    # Centre and half axes of each lump of foliage [m].
    lumps = [
        ((0.0, 0.0, 4.6), (1.9, 1.9, 1.6)),
        ((1.1, 0.5, 3.8), (1.3, 1.2, 1.0)),
        ((-0.9, 0.9, 4.0), (1.2, 1.3, 1.1)),
        ((-0.3, -1.2, 3.9), (1.3, 1.1, 1.0)),
    ]
    _tree(stage, broad, trunk=(0.22, 3.6), lumps=lumps, color=(0.07, 0.17, 0.04), seed=1)
    column = [((0.0, 0.0, 3.3), (0.75, 0.75, 2.7))]
    _tree(stage, slender, trunk=(0.15, 1.5), lumps=column, color=(0.04, 0.11, 0.04), seed=2)
    group(stage, f"{_ROOT}/Trees")
    places = [
        (21.5, -21.0),
        (25.0, -13.5),
        (20.5, -6.0),
        (25.0, 1.5),
        (20.5, 9.0),
        (25.0, 16.5),
        (-14.0, -24.5),
    ]
    for k, (x, y) in enumerate(places):
        scale = (1.0, 1.15, 0.9, 1.05)[k % 4]
        instance(stage, f"{_ROOT}/Trees/Broad{k}", broad, (x, y, 0.0), yaw=77.0 * k, scale=scale)
    for k, x in enumerate((-22.0, -18.0, -8.0, 6.5, 10.0, 13.5, 17.0)):
        scale = (1.0, 0.9, 1.1)[k % 3]
        instance(stage, f"{_ROOT}/Trees/Cypress{k}", slender, (x, -27.0, 0.0), yaw=50.0 * k, scale=scale)


def _tree(
    stage: Usd.Stage,
    path: str,
    *,
    trunk: tuple[float, float],
    lumps: list[tuple[tuple[float, float, float], tuple[float, float, float]]],
    color: tuple[float, float, float],
    seed: int,
) -> None:
    """Write the prototype of a tree; its trunk (radius and height) collides, its foliage does not."""
    group(stage, path, "tree")
    contact = physics_material(stage, f"{path}/Looks/Contact", PhysicsMaterial(0.6, 0.5, 0.1))
    bark = Surface(material(stage, f"{path}/Looks/Bark", (0.16, 0.10, 0.06)), contact)
    leaves = Surface(material(stage, f"{path}/Looks/Leaves", color, roughness=0.9))
    radius, height = trunk
    cylinder(stage, f"{path}/Trunk", (0.0, 0.0, 0.0), (0.0, 0.0, height), radius, bark)
    numbers = random.Random(seed)
    ball, triangles = _geodesic_ball()
    points, faces = np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    for center, half in lumps:
        bumps = np.array([numbers.uniform(0.88, 1.08) for _ in ball])
        faces = np.concatenate([faces, triangles + len(points)])
        points = np.concatenate([points, np.round(ball * bumps[:, None] * half + center, 3)])
    mesh(stage, f"{path}/Foliage", points, faces, leaves)


def _benches(stage: Usd.Stage) -> None:
    """Write benches around the middle, facing it."""
    path = f"{_PROTOTYPES}/Bench"
    group(stage, path, "bench")
    contact = physics_material(stage, f"{path}/Looks/Contact", PhysicsMaterial(0.5, 0.4, 0.2))
    wood = Surface(material(stage, f"{path}/Looks/Wood", (0.27, 0.15, 0.07), roughness=0.6), contact)
    iron = Surface(material(stage, f"{path}/Looks/Iron", (0.05, 0.05, 0.05), roughness=0.4), contact)
    box(stage, f"{path}/Seat", (0.0, 0.0, 0.45), (0.45, 1.8, 0.05), wood)
    box(stage, f"{path}/Back", (0.24, 0.0, 0.75), (0.05, 1.8, 0.4), wood)
    for name, y in (("Left", -0.75), ("Right", 0.75)):
        box(stage, f"{path}/{name}Leg", (0.0, y, 0.2125), (0.4, 0.06, 0.425), iron)
    group(stage, f"{_ROOT}/Benches")
    for k in range(8):
        yaw = 45.0 * k + 22.5
        angle = np.radians(yaw)
        instance(
            stage, f"{_ROOT}/Benches/Bench{k}", path, (16 * np.cos(angle), 16 * np.sin(angle), 0.0), yaw=yaw
        )


def _lamps(stage: Usd.Stage) -> None:
    """Write four lamp posts."""
    path = f"{_PROTOTYPES}/Lamp"
    group(stage, path, "lamp")
    contact = physics_material(stage, f"{path}/Looks/Contact", PhysicsMaterial(0.4, 0.3, 0.2))
    iron = Surface(material(stage, f"{path}/Looks/Iron", (0.05, 0.05, 0.05), roughness=0.4), contact)
    glow = Surface(material(stage, f"{path}/Looks/Glow", (0.9, 0.9, 0.8), emission=(1.0, 0.9, 0.7)), contact)
    cylinder(stage, f"{path}/Foot", (0.0, 0.0, 0.0), (0.0, 0.0, 0.3), 0.14, iron)
    cylinder(stage, f"{path}/Post", (0.0, 0.0, 0.3), (0.0, 0.0, 3.4), 0.05, iron)
    sphere(stage, f"{path}/Globe", (0.0, 0.0, 3.58), 0.2, glow)
    group(stage, f"{_ROOT}/Lamps")
    for k, (x, y) in enumerate(((15.5, 15.5), (-15.5, 15.5), (-15.5, -15.5), (15.5, -15.5))):
        instance(stage, f"{_ROOT}/Lamps/Lamp{k}", path, (x, y, 0.0))


def _geodesic_ball() -> tuple[Array, IntArray]:
    """Return an icosphere of one subdivision: points (42, 3), faces (80, 3)."""
    golden = (1 + 5**0.5) / 2
    signs = [(a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    points = [p for a, b in signs for p in ((0.0, a, b), (a, b, 0.0), (b, 0.0, a))]
    corners = np.array(points) / np.hypot(1, golden)
    # Adjacent corners of an icosahedron have this scalar product.
    near = corners @ corners.T > 0.4
    faces = [
        (i, j, k)
        for i in range(12)
        for j in range(i)
        for k in range(j)
        if near[i, j] and near[j, k] and near[i, k]
    ]
    middles: dict[tuple[int, int], int] = {}
    ball = list(corners)

    def middle(a: int, b: int) -> int:
        pair = (min(a, b), max(a, b))
        if pair not in middles:
            middles[pair] = len(ball)
            point = ball[a] + ball[b]
            ball.append(point / np.sqrt(point @ point))
        return middles[pair]

    cut = []
    for a, b, c in faces:
        ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
        cut += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    round_ball, triangles = np.array(ball), np.array(cut)
    x, y, z = (round_ball[triangles[:, k]] for k in range(3))
    inward = (np.cross(y - x, z - x) * x).sum(axis=1) < 0
    triangles[inward] = triangles[inward][:, ::-1]
    return round_ball, triangles
