"""A wooden hut on a stone foundation."""

import numpy as np

from pegasus.scene.authoring import block, label
from pegasus.worlds.site import Site
from pegasus.worlds.solids import Solid, bar, cuboid, draw, extrusion, obstacle

HUT_SIZE = (6.4, 5.0)
"""Lengths along x and y including eaves [m]."""
_LENGTH, _WIDTH, _WALL = 5.2, 4.0, 2.3
_FLOOR = 0.25
_FOUNDATION = 2.5
_RIDGE = 1.35
_EAVES = 0.42


def hut(site: Site) -> str:
    """Return the prototype of a hut with its door towards -y and a foundation below the ground."""
    path = "/Prototypes/Hut"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype("Hut", "building")
    stage = site.stage
    stone = site.finish("rock", tint=(0.85, 0.82, 0.78), scope=path)
    planks = site.finish("wood_planks", tint=(0.72, 0.55, 0.40), scope=path)
    depth = _FOUNDATION + _FLOOR
    size = (_LENGTH + 0.25, _WIDTH + 0.25, depth)
    block(stage, f"{path}/Foundation", (0, 0, _FLOOR - depth / 2), size, stone)
    block(stage, f"{path}/Walls", (0, 0, _FLOOR + _WALL / 2), (_LENGTH, _WIDTH, _WALL), planks)
    for number in range(3):
        top = _FLOOR - 0.20 * number
        run = 0.35 * (number + 1)
        center = (0.6, -_WIDTH / 2 - 0.125 - run / 2, top - 0.75)
        block(stage, f"{path}/Step{number}", center, (1.3, run, 1.5), stone)
    top = _FLOOR + _WALL
    gable = extrusion(
        [(-_WIDTH / 2, 0.0), (_WIDTH / 2, 0.0), (0.0, _RIDGE)],
        (-_LENGTH / 2, 0.0, top),
        (_LENGTH / 2, 0.0, top),
    )
    draw(stage, f"{path}/Gable", [gable], planks, approximation="convexHull")
    tiles = site.finish("roof_tiles", tint=(0.72, 0.66, 0.62), scope=path)
    angle = np.arctan2(_RIDGE, _WIDTH / 2)
    slope = np.hypot(_RIDGE, _WIDTH / 2) + _EAVES
    for name, side in (("South", -1.0), ("North", 1.0)):
        # The upper edge meets the ridge; the slab is on the gable.
        turn = np.array(
            [[1, 0, 0], [0, np.cos(angle), side * np.sin(angle)], [0, -side * np.sin(angle), np.cos(angle)]]
        )
        middle = np.array([0.0, side * slope / 2 * np.cos(angle), top + _RIDGE - slope / 2 * np.sin(angle)])
        normal = np.array([0.0, side * np.sin(angle), np.cos(angle)])
        slab = cuboid((0, 0, 0), (_LENGTH + 1.1, slope + 0.06, 0.12)).moved(
            middle + 0.061 * normal, rotation=turn
        )
        draw(stage, f"{path}/Roof{name}", [slab], tiles, approximation="convexHull")
    brick = site.finish("brick", tint=(0.9, 0.85, 0.8), scope=path)
    block(stage, f"{path}/Chimney", (-1.5, 0.75, top + 1.1), (0.6, 0.6, 2.2), brick)
    _trim(site, path)
    return path


def _trim(site: Site, path: str) -> None:
    """Draw door, windows, corner posts and ridge."""
    dark = site.finish("wood_planks", tint=(0.30, 0.20, 0.14), scope=path, collides=False)
    pale = site.paint("trim", (0.55, 0.50, 0.42), scope=path, collides=False)
    glass = site.paint("glass", (0.05, 0.07, 0.08), roughness=0.06, scope=path, collides=False)
    iron = site.paint("iron", (0.06, 0.06, 0.06), roughness=0.4, metallic=1.0, scope=path, collides=False)
    front, side = -_WIDTH / 2, _LENGTH / 2
    posts: list[Solid] = [
        cuboid((x, y, _FLOOR + _WALL / 2), (0.2, 0.2, _WALL)) for x in (-side, side) for y in (front, -front)
    ]
    top = _FLOOR + _WALL + _RIDGE
    posts.append(bar((-side - 0.58, 0.0, top + 0.13), (side + 0.58, 0.0, top + 0.13), 0.3, 0.09))
    draw(site.stage, f"{path}/Posts", posts, dark)
    door = cuboid((0.6, front - 0.025, _FLOOR + 1.0), (0.95, 0.05, 2.0))
    draw(site.stage, f"{path}/Door", [door], dark)
    frames = [cuboid((0.6 + x, front - 0.03, _FLOOR + 1.0), (0.1, 0.08, 2.0)) for x in (-0.525, 0.525)] + [
        cuboid((0.6, front - 0.03, _FLOOR + 2.05), (1.15, 0.08, 0.1))
    ]
    panes = []
    windows = [((-1.35, front), 0.0), ((side, 0.0), 90.0), ((-side, 0.0), -90.0), ((0.9, -front), 180.0)]
    for (x, y), yaw in windows:
        place = (x, y, _FLOOR + 1.35)
        panes.append(cuboid((0, -0.012, 0), (0.9, 0.024, 0.8)).moved(place, yaw=yaw))
        for part in (
            *(cuboid((u, -0.03, 0.0), (0.09, 0.09, 0.98)) for u in (-0.49, 0.49)),
            *(cuboid((0.0, -0.03, w), (0.89, 0.09, 0.09)) for w in (-0.445, 0.445)),
            cuboid((0.0, -0.02, 0.0), (0.05, 0.06, 0.8)),
            cuboid((0.0, -0.02, 0.05), (0.9, 0.05, 0.045)),
            cuboid((0.0, -0.07, -0.51), (1.15, 0.16, 0.05)),
        ):
            frames.append(part.moved(place, yaw=yaw))
    draw(site.stage, f"{path}/Frames", frames, pale)
    panes_prim = draw(site.stage, f"{path}/Panes", panes, glass)
    label(panes_prim, "window")
    handle = cuboid((0.96, front - 0.08, _FLOOR + 1.0), (0.12, 0.03, 0.03), bevel=0.006)
    draw(site.stage, f"{path}/Handle", [handle], iron)
    cap = site.finish("concrete", scope=path)
    obstacle(site.stage, f"{path}/ChimneyCap", (-1.5, 0.75, _FLOOR + _WALL + 2.23), (0.72, 0.72, 0.06), cap)
    draw(
        site.stage,
        f"{path}/Cap",
        [cuboid((-1.5, 0.75, _FLOOR + _WALL + 2.23), (0.72, 0.72, 0.06), bevel=0.01)],
        site.finish("concrete", scope=path, collides=False),
    )
