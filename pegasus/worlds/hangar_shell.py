"""The shell of a hangar: an arched skin on ribs, gables, sliding doors, floor and apron.

The hangar lies along x; its doors are in the eastern gable.
"""

from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.scene.authoring import (
    Surface,
    block,
    group,
    instance,
)
from pegasus.worlds.hangar_floor import lay_floor
from pegasus.worlds.lamps import panel_light
from pegasus.worlds.lettering import lettering, on_wall
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import (
    Solid,
    bar,
    cuboid,
    draw,
    extrusion,
    level_frame,
    obstacle,
    polygons,
    sheet,
)

SIDE_HEIGHT = 3.0
"""Springing height of the arch [m]."""
RIB_DEPTH = 0.5
APRON = 32.0
"""Length of the paved apron [m]."""
_SKIN = 0.15
_CHORDS = 20
_RIB_PITCH = 4.5
_LEAF_COUNT = 6
_RAIL_PITCH = 0.22


@dataclass(frozen=True)
class Shell:
    """Dimensions of the hangar."""

    length: float
    width: float
    height: float
    door_opening: float

    @property
    def door_width(self) -> float:
        """Total width of the door leaves [m]."""
        return 0.76 * self.width

    @property
    def door_height(self) -> float:
        """Height of the doors [m]."""
        return min(0.55 * self.height, 7.0)

    @property
    def gap(self) -> float:
        """Width of the opening between the leaves [m]."""
        half = _LEAF_COUNT // 2
        leaf = self.door_width / _LEAF_COUNT
        return 2 * self.door_opening * (half - 1) * leaf

    def arch(self, *, inset: float = 0.0) -> Array:
        """Return points along the inner side of the skin from south to north: y and z [m], shape (K, 2).

        Args:
            inset: Distance from the skin, inwards [m].
        """
        angle = np.linspace(np.pi, 0.0, _CHORDS + 1)
        y = (self.width / 2 - inset) * np.cos(angle)
        z = SIDE_HEIGHT + (self.height - SIDE_HEIGHT - inset) * np.sin(angle)
        foot = self.width / 2 - inset
        return np.concatenate([[[-foot, 0.0]], np.column_stack([y, z]), [[foot, 0.0]]])

    def clear_height(self, y: float) -> float:
        """Return the height below the ribs [m].

        Args:
            y: Position across [m].
        """
        points = self.arch(inset=RIB_DEPTH)[1:-1]
        return float(np.interp(y, points[:, 0], points[:, 1]))


def build_shell(site: Site, shell: Shell) -> None:
    """Write the shell."""
    lay_floor(site, shell.length, shell.width, APRON)
    _skin(site, shell)
    _ribs(site, shell)
    _skylights(site, shell)
    _gables(site, shell)
    _doors(site, shell)


def _skin(site: Site, shell: Shell) -> None:
    """Write the double-sided skin and purlins; each chord collides as a slab."""
    stage = site.stage
    metal = site.finish("corrugated_metal", tint=(1.15, 1.17, 1.2))
    flat = Surface(metal.material)
    steel = site.finish("painted_metal", tint=(0.5, 0.53, 0.55))
    group(stage, f"{ROOT}/Shell", "roof")
    half = shell.length / 2
    inner, outer = shell.arch(), shell.arch(inset=-_SKIN)
    outer[[0, -1], 1] = 0.0
    for name, line, run in (("Inside", inner, (-half, half)), ("Outside", outer, (half, -half))):
        # The texture's ribs are along the arch.
        x = np.linspace(*run, 5)
        grid = np.stack(np.broadcast_arrays(x[None, :], line[:, None, 0], line[:, None, 1]), axis=2)
        draw(stage, f"{ROOT}/Shell/{name}", [sheet(grid)], flat)
    middle = (inner + outer) / 2
    purlins: list[Solid] = []
    for k in range(len(middle) - 1):
        a, b = np.array([0.0, *middle[k]]), np.array([0.0, *middle[k + 1]])
        span = b - a
        long = float(np.sqrt(span @ span))
        turn = level_frame(span)
        size = (long + 0.05, shell.length, _SKIN)
        obstacle(stage, f"{ROOT}/Shell/Slab{k}", (a + b) / 2, size, metal, rotation=turn)
    inside = shell.arch(inset=0.08)
    for k, (y, z) in enumerate(inside[2:-2].tolist()):
        purlins.append(bar((-half, y, z), (half, y, z), 0.07, 0.14))
        obstacle(stage, f"{ROOT}/Shell/Purlin{k}", (0.0, y, z), (shell.length, 0.07, 0.14), steel)
    draw(stage, f"{ROOT}/Shell/Purlins", purlins, Surface(steel.material))


def _ribs(site: Site, shell: Shell) -> None:
    """Write one latticed rib and its instances."""
    stage = site.stage
    path = site.prototype("Rib", "rib")
    steel = site.finish("painted_metal", tint=(0.6, 0.68, 0.7), scope=path)
    flat = Surface(steel.material)
    outer, inner = shell.arch(inset=0.2), shell.arch(inset=RIB_DEPTH)
    parts: list[Solid] = []
    for line in (outer, inner):
        parts += [
            bar((0.0, *a), (0.0, *b), 0.16, 0.06)
            for a, b in zip(line[:-1].tolist(), line[1:].tolist(), strict=True)
        ]
    for k in range(len(inner)):
        parts.append(bar((0.0, *outer[k]), (0.0, *inner[k]), 0.05, 0.05))
        if k:
            a, b = (outer[k - 1], inner[k]) if k % 2 else (inner[k - 1], outer[k])
            parts.append(bar((0.0, *a), (0.0, *b), 0.05, 0.05))
    for side in (0, -1):
        y = float((outer[side, 0] + inner[side, 0]) / 2)
        parts.append(cuboid((0.0, y, 0.015), (0.4, 0.55, 0.03)))
    draw(stage, f"{path}/Lattice", parts, flat)
    middle = (outer + inner) / 2
    for k in range(len(middle) - 1):
        a, b = np.array([0.0, *middle[k]]), np.array([0.0, *middle[k + 1]])
        span = b - a
        size = (float(np.sqrt(span @ span)), 0.16, RIB_DEPTH - 0.14)
        obstacle(stage, f"{path}/Solid{k}", (a + b) / 2, size, steel, rotation=level_frame(span))
    for k, x in enumerate(_rib_places(shell)):
        instance(stage, f"{ROOT}/Ribs/Rib{k}", path, (x, 0.0, 0.0))


def _rib_places(shell: Shell) -> list[float]:
    reach = shell.length / 2 - 0.3
    return [float(x) for x in np.linspace(-reach, reach, max(round(shell.length / _RIB_PITCH), 1) + 1)]


def _skylights(site: Site, shell: Shell) -> None:
    """Write bright panels between the ribs on both sides of the crown, each with a light."""
    stage = site.stage
    glow = site.paint("skylight", (0.85, 0.9, 0.95), emission=(1.0, 1.05, 1.1), collides=False)
    group(stage, f"{ROOT}/Skylights", "skylight")
    points, places = shell.arch(inset=0.02), _rib_places(shell)
    for k in range(len(places) - 1):
        x0, x1 = places[k] + 0.7, places[k + 1] - 0.7
        for name, chord in (("South", 7), ("North", _CHORDS - 6)):
            a, b = points[chord], points[chord + 1]
            corners = [[x0, *a], [x0, *b], [x1, *b], [x1, *a]]
            field = polygons([np.array(corners)], towards=(0.0, 0.0, 10 * shell.height))
            draw(stage, f"{ROOT}/Skylights/{name}{k}", [field], glow)
            span = np.array([0.0, *(b - a)])
            across = span / np.sqrt(span @ span)
            turn = np.stack([[1.0, 0.0, 0.0], across, np.cross([1.0, 0.0, 0.0], across)], axis=1)
            center = np.array([(x0 + x1) / 2, *(a + b) / 2]) - 0.01 * turn[:, 2]
            size = (x1 - x0, float(np.sqrt(span @ span)))
            path = f"{ROOT}/Lights/Skylight{name}{k}"
            panel_light(stage, path, center, size, intensity=6000.0, color=(0.85, 0.93, 1.0), rotation=turn)


def _gables(site: Site, shell: Shell) -> None:
    """Write the western gable with a band of windows, and the eastern one around the doors."""
    stage = site.stage
    metal = site.finish("corrugated_metal", tint=(1.15, 1.17, 1.2))
    pane = site.paint("window", (0.6, 0.7, 0.78), roughness=0.08, emission=(0.5, 0.57, 0.65), collides=False)
    frame = site.paint("window_frame", (0.1, 0.12, 0.13), roughness=0.5, collides=False)
    leaf = site.finish("painted_metal", tint=(0.3, 0.4, 0.45))
    group(stage, f"{ROOT}/Gables", "wall")
    x, top = shell.length / 2, shell.door_height
    outline = shell.arch(inset=-_SKIN)
    outline[[0, -1], 1] = 0.0
    hull = "convexHull"
    whole = _along_x(outline, -x - _SKIN, -x)
    draw(stage, f"{ROOT}/Gables/West", [whole], metal, approximation=hull)
    upper = _clip(outline, (0.0, 1.0), top)
    draw(stage, f"{ROOT}/Gables/Over", [_along_x(upper, x, x + _SKIN)], metal, approximation=hull)
    lower, edge = _clip(outline, (0.0, -1.0), -top), shell.door_width / 2
    for name, side in (("South", -1.0), ("North", 1.0)):
        cheek = _clip(lower, (side, 0.0), edge)
        draw(stage, f"{ROOT}/Gables/{name}", [_along_x(cheek, x, x + _SKIN)], metal, approximation=hull)
    group(stage, f"{ROOT}/Windows", "window")
    count = max(int(0.7 * shell.width / 2.4), 1)
    panes, frames = [], []
    for k in range(count):
        y = 2.4 * (k - (count - 1) / 2)
        z = SIDE_HEIGHT + 1.4
        frames.append(cuboid((-x + 0.02, y, z), (0.06, 2.0, 1.3), bevel=0.01))
        panes += [
            cuboid((-x + 0.052, y + s * 0.48, z + t * 0.31), (0.008, 0.86, 0.54))
            for s in (-1, 1)
            for t in (-1, 1)
        ]
    draw(stage, f"{ROOT}/Windows/Frames", frames, frame)
    draw(stage, f"{ROOT}/Windows/Panes", panes, pane)
    group(stage, f"{ROOT}/SideDoor", "door")
    block(stage, f"{ROOT}/SideDoor/Leaf", (-x + 0.03, -0.32 * shell.width, 1.05), (0.06, 1.0, 2.1), leaf)
    rim = [cuboid((-x + 0.04, -0.32 * shell.width + s * 0.54, 1.08), (0.08, 0.08, 2.16)) for s in (-1.0, 1.0)]
    draw(
        stage,
        f"{ROOT}/SideDoor/Frame",
        [*rim, cuboid((-x + 0.04, -0.32 * shell.width, 2.19), (0.08, 1.16, 0.08))],
        frame,
    )


def _doors(site: Site, shell: Shell) -> None:
    """Write the numbered sliding leaves on their rails."""
    stage = site.stage
    path = site.prototype("DoorLeaf", "door")
    panel = site.finish("corrugated_metal", tint=(0.4, 0.52, 0.6), scope=path)
    steel = site.paint("leaf_frame", (0.09, 0.1, 0.11), roughness=0.5, scope=path, collides=False)
    glass = site.paint(
        "leaf_glass", (0.6, 0.7, 0.78), roughness=0.08, emission=(0.5, 0.57, 0.65), scope=path, collides=False
    )
    leaf, top = shell.door_width / _LEAF_COUNT, shell.door_height
    block(stage, f"{path}/Panel", (0.0, 0.0, top / 2), (0.06, leaf, top - 0.04), panel)
    frame = [cuboid((0.0, s * (leaf / 2 - 0.06), top / 2), (0.12, 0.12, top - 0.04)) for s in (-1.0, 1.0)]
    frame += [
        cuboid((0.0, 0.0, z), (0.11, leaf - 0.24, 0.12)) for z in (0.1, 0.36 * top, 0.68 * top, top - 0.08)
    ]
    draw(stage, f"{path}/Frame", frame, steel)
    columns = max(int(leaf / 1.2), 1)
    wide = (leaf - 0.5) / columns
    panes = [
        cuboid((0.0, (k - (columns - 1) / 2) * wide, 0.82 * top), (0.075, wide - 0.1, 0.14 * top))
        for k in range(columns)
    ]
    draw(stage, f"{path}/Panes", panes, glass)
    half = _LEAF_COUNT // 2
    first = shell.length / 2 + _SKIN + 0.12
    white = site.paint("door_number", (0.8, 0.8, 0.8), roughness=0.5, collides=False)
    for side_name, side in (("South", -1.0), ("North", 1.0)):
        for k in range(half):
            closed, opened = (k + 0.5) * leaf, (half - 0.5) * leaf
            y = side * (closed + shell.door_opening * (opened - closed))
            x = first + _RAIL_PITCH * (half - 1 - k)
            instance(stage, f"{ROOT}/Doors/{side_name}{k}", path, (x, y, 0.02))
            if k == half - 1:
                continue
            text = on_wall(lettering(str(k + 1), 0.8), (x + 0.062, y, 0.52 * top), yaw=90.0)
            group(stage, f"{ROOT}/Signs/{side_name}{k}", "sign")
            draw(stage, f"{ROOT}/Signs/{side_name}{k}/Text", [text], white)
    rails = [
        cuboid((first + _RAIL_PITCH * k, 0.0, 0.004), (0.05, shell.door_width + 0.4, 0.012))
        for k in range(half)
    ]
    group(stage, f"{ROOT}/Rails", "rail")
    draw(stage, f"{ROOT}/Rails/Low", rails, Surface(site.finish("brushed_metal").material))
    beam = site.finish("painted_metal", tint=(0.6, 0.68, 0.7))
    middle = first + _RAIL_PITCH * (half - 1) / 2
    size = (_RAIL_PITCH * half + 0.15, shell.door_width + 0.6, 0.35)
    block(stage, f"{ROOT}/Rails/Beam", (middle, 0.0, top + 0.2), size, beam)


def _along_x(outline: Array, start: float, end: float) -> Solid:
    """Return a prism along x over a convex outline of y and z."""
    ring = outline[::-1] if _area(outline) < 0 else outline
    return extrusion(ring, (start, 0.0, 0.0), (end, 0.0, 0.0))


def _area(outline: Array) -> float:
    following = np.roll(outline, -1, axis=0)
    return float((outline[:, 0] * following[:, 1] - outline[:, 1] * following[:, 0]).sum() / 2)


def _clip(outline: Array, normal: tuple[float, float], offset: float) -> Array:
    """Return the part of a convex polygon where normal . p >= offset (Sutherland and Hodgman 1974)."""
    height = outline @ np.array(normal) - offset
    kept: list[Array] = []
    for k in range(len(outline)):
        a, b, ha, hb = outline[k - 1], outline[k], float(height[k - 1]), float(height[k])
        if (ha >= 0) != (hb >= 0):
            kept.append(a + (b - a) * ha / (ha - hb))
        if hb >= 0:
            kept.append(b)
    return np.array(kept)
