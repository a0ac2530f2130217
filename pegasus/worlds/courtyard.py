"""The world `courtyard`: walls with a gate, a terrace with steps, colonnades, trees, benches, lamps.

It is 60 m square. The inner 14 m around the origin are free. Simple shapes collide; detailed ones are drawn.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from pxr import Usd, UsdShade

from pegasus.base.arrays import Array
from pegasus.scene.authoring import (
    Surface,
    box,
    ground_plane,
    group,
    label,
    mesh,
    physics_material,
    subset,
    sun_and_sky,
)
from pegasus.scene.faces import box_uvs
from pegasus.scene.generator import Quantities
from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.courtyard_objects import PILLAR_HEIGHT, stand_benches, stand_lamps, stand_pillars
from pegasus.worlds.courtyard_plants import plant
from pegasus.worlds.horizon import distant_land
from pegasus.worlds.site import ROOT, Site, SiteGenerator
from pegasus.worlds.slabs import scattered_uvs, shade_slabs
from pegasus.worlds.solids import Solid, cuboid, draw, obstacle, polygons, sheet, tiles
from pegasus.worlds.terrain import Noise

_HALF = 30.0
_WALL_HEIGHT = 4.0
_TERRACE_HEIGHT = 0.9
_TILE = 2.0
_BAY = 6.0


@dataclass(frozen=True)
class Courtyard(SiteGenerator):
    """Walled courtyard with a gate, a terrace with steps and a ramp, colonnades, trees and benches."""

    name: ClassVar[str] = "courtyard"

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        return Quantities(120_000, 500)

    def build(self, site: Site) -> None:
        """Write the world."""
        stage = site.stage
        sun_and_sky(stage, ROOT)
        distant_land(site, _HALF)
        site.camera((-9.0, -21.0, 3.4), (12.0, 14.0, 1.6), horizontal_fov=60.0)
        stone = physics_material(stage, f"{ROOT}/Looks/StoneContact", PhysicsMaterial(0.7, 0.6, 0.2))
        _ground(site, stone)
        _walls(site, stone)
        _terrace(site, stone)
        _roofs(site, stone)
        stand_pillars(site, _TERRACE_HEIGHT)
        plant(site)
        stand_benches(site)
        stand_lamps(site)
        for x, y in ((0.0, 0.0), (3.0, 0.0), (0.0, 3.0), (-3.0, 0.0), (0.0, -3.0)):
            site.spawn(x, y)
        site.spawn(9.0, 9.0, heading=-2.356)
        site.spawn(-9.0, -9.0, heading=0.785)
        site.spawn(0.0, 26.5, ground=_TERRACE_HEIGHT, heading=-1.571, name="terrace")
        site.spawn(0.0, -27.0, heading=1.571)


def _ground(site: Site, stone: UsdShade.Material) -> None:
    """Write paving of 2 m tiles with lawns at the edges, and a meadow outside the walls."""
    stage, rng = site.stage, site.stream("ground")
    group(stage, f"{ROOT}/Ground", "ground")
    ground_plane(stage, f"{ROOT}/Ground/Collision", stone)
    lines = np.concatenate([[-400.0], np.arange(-_HALF, _HALF + 1.0, _TILE), [400.0]])
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
    corners = points[faces][..., :2]
    turned = scattered_uvs(rng, corners, side=4.0, course=0.5)
    uvs = np.where(paved[:, None, None], turned, corners).reshape(-1, 2)
    grass = {
        "lawn": site.finish("grass", collides=False, roughness=0.9),
        "meadow": site.finish("grass", tint=(1.3, 1.15, 0.8), collides=False, roughness=0.9),
    }
    floor = mesh(stage, f"{ROOT}/Ground/Floor", points, faces, grass["meadow"], uvs=uvs)
    subset(floor, "lawn", np.nonzero(green)[0].tolist(), grass["lawn"].material)
    # Weather darkens areas of many slabs; single ones differ by little.
    worn = 0.5 + 1.3 * Noise(site.stream("weathering")).fractal(x, y, 11.0, octaves=3)
    worn += rng.normal(0.0, 0.09, len(worn))
    for name, tint, where in (
        ("light_paving", (1.30, 1.24, 1.13), paved & bright),
        ("dark_paving", (1.02, 0.95, 0.87), paved & ~bright),
    ):
        tiled = np.nonzero(where)[0]
        shade_slabs(
            site,
            floor,
            name,
            tiled,
            finish="paving",
            tint=tint,
            rng=rng,
            roughness=0.82,
            weathering=worn[tiled],
        )
    u, v, half = 0.007, _TILE / 2, _TILE / 2
    joints = [
        np.array(
            [(x - a, y - b, 0.0008), (x + a, y - b, 0.0008), (x + a, y + b, 0.0008), (x - a, y + b, 0.0008)]
        )
        for x0, y0 in center[paved, :2].tolist()
        for x, y, a, b in ((x0 + half, y0, u, v), (x0, y0 - half, v, u))
    ]
    mortar = site.paint("joint", (0.13, 0.12, 0.10), roughness=0.95, collides=False)
    draw(stage, f"{ROOT}/Ground/Joints", [polygons(joints)], mortar)
    edging = site.finish("concrete", tint=(0.85, 0.80, 0.72), collides=False, roughness=0.85)
    edges = [
        stone
        for start, end in (
            ((18.0, -26.0), (18.0, 20.0)),
            ((28.0, -26.0), (28.0, 20.0)),
            ((18.0, -26.0), (28.0, -26.0)),
            ((18.0, 20.0), (28.0, 20.0)),
            ((-30.0, -22.0), (-6.0, -22.0)),
            ((-6.0, -28.0), (-6.0, -22.0)),
            ((-30.0, -28.0), (-6.0, -28.0)),
        )
        for stone in _course((*start, 0.0), (*end, 0.0), width=0.16, height=0.03, length=1.0, bevel=0.006)
    ]
    draw(stage, f"{ROOT}/Ground/Edging", edges, edging)


def _walls(site: Site, stone: UsdShade.Material) -> None:
    """Write four walls with plinth, piers and coping, and a gate in the southern one."""
    stage, rng = site.stage, site.stream("walls")
    plaster = site.finish("old_plaster", tint=(0.92, 0.80, 0.60), roughness=0.9)
    brick, base = site.finish("brick"), site.finish("concrete", tint=(0.72, 0.68, 0.60), roughness=0.85)
    solid = Surface(plaster.material, stone)
    middle = _HALF - 0.2
    runs = {
        "North": ((0.0, middle), (60.0, 0.4)),
        "East": ((middle, 0.0), (0.4, 59.2)),
        "West": ((-middle, 0.0), (0.4, 59.2)),
        "SouthEast": ((17.0, -middle), (26.0, 0.4)),
        "SouthWest": ((-17.0, -middle), (26.0, 0.4)),
    }
    group(stage, f"{ROOT}/Walls", "wall")
    bays: list[Solid] = []
    piers: list[Solid] = []
    plinths: list[Solid] = []
    copings: list[Solid] = []
    for name, ((x, y), (length, width)) in runs.items():
        along_x = length > width
        long = max(length, width)
        center, top = (x, y, _WALL_HEIGHT / 2), (x, y, _WALL_HEIGHT + 0.075)
        obstacle(stage, f"{ROOT}/Walls/{name}", center, (length, width, _WALL_HEIGHT), solid)
        across = (length, 0.6, 0.15) if along_x else (0.6, width, 0.15)
        obstacle(stage, f"{ROOT}/Walls/{name}Coping", top, across, solid)
        ends = np.linspace(-long / 2, long / 2, round(long / _BAY) + 1).tolist()
        for a, b in pairwise(ends):
            at = (x + (a + b) / 2, y, _WALL_HEIGHT / 2) if along_x else (x, y + (a + b) / 2, _WALL_HEIGHT / 2)
            size = (b - a, 0.4, _WALL_HEIGHT) if along_x else (0.4, b - a, _WALL_HEIGHT)
            bay = cuboid(at, size)
            # Piers hide where the image of the next bay begins at another place.
            shifted = bay.uvs + np.array([round(rng.uniform(0.0, 4.0), 3), 0.0])
            bays.append(Solid(bay.points, bay.normals, shifted, bay.faces))
        for station in ends:
            a = min(max(station, 0.25 - long / 2), long / 2 - 0.25)
            at = (x + a, y, _WALL_HEIGHT / 2) if along_x else (x, y + a, _WALL_HEIGHT / 2)
            size = (0.5, 0.48, _WALL_HEIGHT) if along_x else (0.48, 0.5, _WALL_HEIGHT)
            piers.append(cuboid(at, size, bevel=0.012))
        size = (length, 0.45, 0.36) if along_x else (0.45, width, 0.36)
        plinths.append(cuboid((x, y, 0.18), size, bevel=0.015))
        start = (x - long / 2, y, top[2]) if along_x else (x, y - long / 2, top[2])
        end = (x + long / 2, y, top[2]) if along_x else (x, y + long / 2, top[2])
        copings += _course(start, end, width=0.6, height=0.15, length=2.0, bevel=0.02)
    for name, solids, look in (
        ("Plaster", bays, plaster),
        ("Piers", piers, brick),
        ("Plinths", plinths, base),
        ("Copings", copings, brick),
    ):
        draw(stage, f"{ROOT}/Walls/{name}", solids, Surface(look.material))
    _bare_bricks(site, brick)
    group(stage, f"{ROOT}/Gate", "gate")
    caps = []
    for name, x in (("West", -3.5), ("East", 3.5)):
        size = (1.0, 1.0, 5.2)
        _drawn_block(stage, f"{ROOT}/Gate/{name}", (x, -middle, 2.6), size, Surface(brick.material, stone))
        caps += [
            cuboid((x, -middle, 0.2), (1.08, 1.08, 0.4), bevel=0.02),
            cuboid((x, -middle, 5.15), (1.1, 1.1, 0.1), bevel=0.02),
        ]
    draw(stage, f"{ROOT}/Gate/Caps", caps, Surface(base.material))
    lintel = Surface(site.finish("concrete", tint=(0.95, 0.88, 0.76), roughness=0.85).material, stone)
    _drawn_block(stage, f"{ROOT}/Gate/Lintel", (0.0, -middle, 5.5), (8.4, 1.1, 0.6), lintel)


def _bare_bricks(site: Site, brick: Surface) -> None:
    """Write ragged spots on the inner sides of the walls where the render has fallen off."""
    rng = site.stream("bare")
    spots: list[Solid] = []
    for yaw in (0.0, 90.0, 180.0, 270.0):
        for at in rng.uniform(-27.0, 27.0, 5).tolist():
            if yaw == 180.0 and abs(at) < 5.5:
                continue
            high = rng.uniform(0.55, 1.1) if rng.uniform() < 0.6 else rng.uniform(1.6, 3.2)
            size, count = rng.uniform(0.16, 0.42), 22
            angle = np.linspace(0.0, 2 * np.pi, count, endpoint=False)
            wave = 1.0 + 0.25 * np.sin(2 * angle + at) + 0.16 * np.sin(5 * angle + 2 * at)
            radius = size * (wave + rng.uniform(-0.14, 0.14, count))
            x, z = at + 1.35 * radius * np.cos(angle), high + radius * np.sin(angle)
            ring = np.column_stack([x, np.full(count, 29.596), np.maximum(z, 0.34)])
            middle = np.array([at, 29.596, high])
            parts = [np.array([middle, ring[k], ring[k - 1]]) for k in range(count)]
            spots.append(polygons(parts, towards=(0.0, 1e3, 0.0)).moved((0.0, 0.0, 0.0), yaw=yaw))
    draw(site.stage, f"{ROOT}/Walls/BareBricks", spots, Surface(brick.material))


def _terrace(site: Site, stone: UsdShade.Material) -> None:
    """Write a terrace along the northern wall with five steps and a ramp."""
    stage = site.stage
    marble = site.finish("concrete", tint=(1.12, 1.06, 0.94), roughness=0.8)
    solid = Surface(marble.material, stone)
    slabs = Surface(site.finish("paving", tint=(1.34, 1.28, 1.16), roughness=0.82).material)
    height, front, back = _TERRACE_HEIGHT, 23.0, 29.6
    depth = back - front
    center, size = (0.0, front + depth / 2, height / 2), (26.0, depth, height)
    group(stage, f"{ROOT}/TerraceStones", "terrace")
    terrace = box(stage, f"{ROOT}/Terrace", center, size, solid)
    terrace.GetAttribute("purpose").Set("guide")
    label(terrace, "terrace")
    draw(stage, f"{ROOT}/TerraceStones/Body", [cuboid(center, size, bevel=0.004)], Surface(marble.material))
    nosing = [
        stone
        for start, end in (
            ((-13.0, front + 0.2), (13.0, front + 0.2)),
            ((-12.8, front + 0.4), (-12.8, back)),
            ((12.8, front + 0.4), (12.8, back)),
        )
        for stone in _course(
            (*start, height - 0.06), (*end, height - 0.06), width=0.42, height=0.13, length=1.3, bevel=0.018
        )
    ]
    draw(stage, f"{ROOT}/TerraceStones/Nosing", nosing, Surface(marble.material))
    floor = cuboid((0.0, front + 0.4 + (depth - 0.4) / 2, height), (25.2, depth - 0.4, 0.004))
    draw(stage, f"{ROOT}/TerraceStones/Floor", [floor], slabs)
    group(stage, f"{ROOT}/Steps", "steps")
    treads: list[Solid] = []
    for k in range(5):
        run = 0.35 * (5 - k)
        y, z = front - run / 2, 0.15 * k + 0.075
        obstacle(stage, f"{ROOT}/Steps/Step{k}", (0.0, y, z), (10.0, run, 0.15), solid)
        shift = 0.3 * (k % 2)
        for a, b in pairwise([-5.0, -3.2 + shift, -1.1 - shift, 1.0 + shift, 3.1 - shift, 5.0]):
            treads.append(cuboid(((a + b) / 2, y, z), (b - a - 0.004, run, 0.15), bevel=0.012))
    draw(stage, f"{ROOT}/Steps/Treads", treads, Surface(marble.material))
    corners = [(13.0, 25.0, 0.0), (20.0, 25.0, 0.0), (20.0, 28.0, 0.0), (13.0, 28.0, 0.0)]
    ramp = np.array([*corners, (13.0, 25.0, height), (13.0, 28.0, height)])
    sides = [[3, 2, 1, 0], [0, 1, 4], [2, 3, 5], [3, 0, 4, 5], [1, 2, 5, 4]]
    uvs = np.concatenate([box_uvs(ramp, np.array([side])) for side in sides])
    label(
        mesh(stage, f"{ROOT}/Ramp", ramp, sides, solid, approximation="convexHull", uvs=uvs).GetPrim(),
        "ramp",
    )


def _roofs(site: Site, stone: UsdShade.Material) -> None:
    """Write the roofs of both colonnades on beams, with wavy eaves and soffits of planks."""
    stage = site.stage
    beam = Surface(site.finish("concrete", tint=(1.12, 1.06, 0.94), roughness=0.8).material, stone)
    tile = Surface(site.finish("roof_tiles").material, stone)
    planks = Surface(site.finish("wood_planks", tint=(0.55, 0.48, 0.42)).material)
    group(stage, f"{ROOT}/Roofs", "roof")
    top = _TERRACE_HEIGHT + PILLAR_HEIGHT
    _drawn_block(stage, f"{ROOT}/Roofs/NorthBeam", (0.0, 24.5, top + 0.25), (26.0, 0.7, 0.5), beam)
    _drawn_block(stage, f"{ROOT}/Roofs/North", (0.0, 26.8, top + 0.6), (26.6, 5.6, 0.2), tile)
    at = (-24.0, -4.0, PILLAR_HEIGHT + 0.25)
    _drawn_block(stage, f"{ROOT}/Roofs/WestBeam", at, (0.7, 42.0, 0.5), beam)
    _drawn_block(stage, f"{ROOT}/Roofs/West", (-26.6, -4.0, PILLAR_HEIGHT + 0.6), (6.0, 42.6, 0.2), tile)
    soffits = [
        cuboid((0.0, 26.8, top + 0.498), (26.5, 5.5, 0.006)),
        cuboid((-26.6, -4.0, PILLAR_HEIGHT + 0.498), (5.9, 42.5, 0.006)),
    ]
    draw(stage, f"{ROOT}/Roofs/Soffits", soffits, planks)
    eaves = [
        _eaves(26.6).moved((0.0, 24.0, top + 0.7)),
        _eaves(42.6).moved((-23.6, -4.0, PILLAR_HEIGHT + 0.7), yaw=90.0),
    ]
    draw(stage, f"{ROOT}/Roofs/Eaves", eaves, Surface(tile.material))


def _eaves(length: float) -> Solid:
    """Return the row of clay tiles along an edge of a roof: along x through the origin, facing -y."""
    count = round(length / 0.2)
    x = np.linspace(-length / 2, length / 2, 6 * count + 1)
    wave = 0.035 * np.abs(np.sin(np.pi * x * count / length))
    rows = [(-0.08, wave - 0.05), (-0.08, wave + 0.012), (0.45, wave + 0.012), (0.47, 0.0 * wave - 0.01)]
    return sheet(np.stack([np.column_stack([x, np.full(len(x), y), z]) for y, z in rows]))


def _course(
    start: tuple[float, float, float],
    end: tuple[float, float, float],
    *,
    width: float,
    height: float,
    length: float,
    bevel: float,
) -> list[Solid]:
    """Return stones in a row along x or y between two points, with fine joints.

    Args:
        start: Middle of the row's first end [m].
        end: Middle of its other end [m].
        width: Width of the row [m].
        height: Height of the stones [m].
        length: Approximate length of a stone [m].
        bevel: Width of their bevels [m].
    """
    a, b = np.array(start), np.array(end)
    span = float(np.abs(b - a).max())
    count = max(round(span / length), 1)
    middles: Array = a + (b - a) * ((np.arange(count) + 0.5) / count)[:, None]
    long = span / count - 0.004
    size = (long, width, height) if abs(b[0] - a[0]) > abs(b[1] - a[1]) else (width, long, height)
    return [cuboid(middle, size, bevel=bevel) for middle in middles]


def _drawn_block(
    stage: Usd.Stage,
    path: str,
    center: tuple[float, float, float],
    size: tuple[float, float, float],
    surface: Surface,
) -> None:
    """Write a collision box, and the bevelled block that is drawn."""
    obstacle(stage, path, center, size, surface)
    draw(stage, f"{path}Stone", [cuboid(center, size, bevel=0.015)], Surface(surface.material))
