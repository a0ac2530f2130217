"""The roof: trusses, purlins, deck, skylights, lamps, sprinklers, a duct."""

import numpy as np

from pegasus.scene.authoring import Surface, block, cylinder, group, instance
from pegasus.worlds.lamps import dim_dome, hang_lamps, panel_light
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import (
    Solid,
    bar,
    cuboid,
    draw,
    extrusion,
    level_frame,
    obstacle,
    round_obstacle,
    tube,
)
from pegasus.worlds.warehouse.hall import WALL, roof_height
from pegasus.worlds.warehouse.layout import Layout

_DECK = 0.12
_PURLIN = 0.2
_CHORD = 0.14
_PANEL_LENGTH = 2.0
_LAMP_PITCH = 5.0


def build_roof(site: Site, layout: Layout) -> None:
    """Write the roof with lamps, sprinklers and duct."""
    _trusses(site, layout)
    _deck(site, layout)
    _skylights(site, layout)
    _pipes(site, layout)
    _duct(site, layout)
    dim_dome(site.stage)
    hang_lamps(site, _lamp_places(layout), ceiling=layout.height)


def _trusses(site: Site, layout: Layout) -> None:
    """Write one truss and its instances."""
    stage = site.stage
    path = site.prototype("Truss", "truss")
    steel = site.finish("painted_metal", tint=(0.62, 0.66, 0.7), scope=path)
    drawn = site.finish("painted_metal", tint=(0.62, 0.66, 0.7), scope=path, collides=False)
    half = layout.width / 2
    count = 2 * max(round(half / _PANEL_LENGTH), 1)
    low = layout.height + _CHORD / 2
    nodes = np.linspace(-half, half, count + 1).tolist()

    def top(y: float) -> float:
        return roof_height(layout, y) - _PURLIN - _CHORD / 2

    members = [((-half, low), (half, low), _CHORD, 0.1)]
    members += [
        ((-half, top(-half)), (0.0, top(0.0)), _CHORD, 0.1),
        ((0.0, top(0.0)), (half, top(half)), _CHORD, 0.1),
    ]
    for k, y in enumerate(nodes):
        members.append(((y, low), (y, top(y)), 0.07, 0.07))
        if k:
            rising = (k % 2 == 1) == (y <= 0)
            a, b = (nodes[k - 1], y) if rising else (y, nodes[k - 1])
            members.append(((a, low), (b, top(b)), 0.07, 0.07))
    bars: list[Solid] = []
    for k, ((y0, z0), (y1, z1), width, height) in enumerate(members):
        start, end = np.array([0.0, y0, z0]), np.array([0.0, y1, z1])
        bars.append(bar(start, end, width, height))
        span = end - start
        size = (float(np.sqrt(span @ span)), width, height)
        obstacle(stage, f"{path}/Member{k}", (start + end) / 2, size, steel, rotation=level_frame(span))
    gussets = [cuboid((0.0, y, low + 0.08), (0.02, 0.3, 0.22)) for y in nodes[1:-1]]
    draw(stage, f"{path}/Bars", [*bars, *gussets], drawn)
    for k, x in enumerate(layout.frames):
        instance(stage, f"{ROOT}/Trusses/Truss{k}", path, (x, 0.0, 0.0))


def _deck(site: Site, layout: Layout) -> None:
    """Write the purlins and both slopes of the roof."""
    stage = site.stage
    sheet = site.finish("corrugated_metal", tint=(0.8, 0.82, 0.84))
    steel = site.finish("brushed_metal")
    group(stage, f"{ROOT}/Roof", "roof")
    half, reach = layout.width / 2, layout.length / 2 + WALL
    for name, side in (("South", -1.0), ("North", 1.0)):
        outline = [
            (0.0, roof_height(layout, 0.0)),
            (side * (half + WALL), roof_height(layout, half + WALL)),
            (side * (half + WALL), roof_height(layout, half + WALL) + _DECK),
            (0.0, roof_height(layout, 0.0) + _DECK),
        ]
        ring = outline if side > 0 else outline[::-1]
        slope = extrusion(ring, (-reach, 0.0, 0.0), (reach, 0.0, 0.0))
        draw(stage, f"{ROOT}/Roof/{name}", [slope], sheet, approximation="convexHull")
    count = 2 * max(round(half / _PANEL_LENGTH), 1)
    for k, y in enumerate(np.linspace(-half + 0.1, half - 0.1, count + 1).tolist()):
        z = roof_height(layout, y) - _PURLIN / 2 - 0.005
        block(stage, f"{ROOT}/Roof/Purlin{k}", (0.0, y, z), (layout.length, 0.06, _PURLIN - 0.01), steel)


def _skylights(site: Site, layout: Layout) -> None:
    """Write bright strips between the trusses, each with a light."""
    stage = site.stage
    glow = site.paint("skylight", (0.85, 0.9, 0.95), emission=(1.0, 1.05, 1.1), collides=False)
    group(stage, f"{ROOT}/Skylights", "skylight")
    inner, outer = 0.12 * layout.width, 0.4 * layout.width
    for k in range(len(layout.frames) - 1):
        x = (layout.frames[k] + layout.frames[k + 1]) / 2
        for name, side in (("South", -1.0), ("North", 1.0)):
            near, far = roof_height(layout, inner) - 0.012, roof_height(layout, outer) - 0.012
            outline = [
                (side * inner, near),
                (side * outer, far),
                (side * outer, far + 0.008),
                (side * inner, near + 0.008),
            ]
            ring = outline if side > 0 else outline[::-1]
            strip = extrusion(ring, (x - 0.6, 0.0, 0.0), (x + 0.6, 0.0, 0.0))
            draw(stage, f"{ROOT}/Skylights/{name}{k}", [strip], glow)
            center = (x, side * (inner + outer) / 2, (near + far) / 2 - 0.006)
            tilt = np.arctan2(side * (far - near), outer - inner)
            c, s = np.cos(tilt), np.sin(tilt)
            panel_light(
                stage,
                f"{ROOT}/Lights/Skylight{name}{k}",
                center,
                (1.2, outer - inner),
                intensity=6000.0,
                color=(0.85, 0.93, 1.0),
                rotation=np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]),
            )


def _lamp_places(layout: Layout) -> list[tuple[float, float, float]]:
    """Return a line of lamps over each aisle and two lines across the staging area."""
    z = layout.height - 0.35
    start, end = layout.front + 1.0, layout.length / 2 - 1.5
    count = max(round((end - start) / _LAMP_PITCH), 1)
    along = np.linspace(start, end, count + 1).tolist()
    places = [(x, y, z) for y in layout.aisles for x in along]
    across = np.linspace(-layout.width / 2 + 2.5, layout.width / 2 - 2.5, max(round(layout.width / 5.5), 2))
    first = -layout.length / 2
    return places + [(x, y, z) for x in (first + 2.8, first + 7.2) for y in across.tolist()]


def _pipes(site: Site, layout: Layout) -> None:
    """Write the red pipes of the sprinklers."""
    stage = site.stage
    red = site.paint("sprinkler_red", (0.5, 0.02, 0.015), roughness=0.35)
    brass = site.paint("brass", (0.6, 0.45, 0.15), metallic=0.9, roughness=0.3, collides=False)
    group(stage, f"{ROOT}/Pipes", "pipe")
    z, half, reach = layout.height - 0.1, layout.width / 2 - 0.5, layout.length / 2 - 0.6
    cylinder(stage, f"{ROOT}/Pipes/Main", (-reach, 0.35, z), (reach, 0.35, z), 0.055, red)
    heads: list[Solid] = []
    count = max(round(2 * reach / 3.0), 1)
    for k, x in enumerate(np.linspace(-reach + 0.4, reach - 0.4, count + 1).tolist()):
        cylinder(stage, f"{ROOT}/Pipes/Branch{k}", (x, -half, z), (x, half, z), 0.025, red)
        for y in np.linspace(-half + 0.3, half - 0.3, max(int(half / 1.5), 2)).tolist():
            heads.append(tube((x, y, z - 0.02), (x, y, z - 0.07), 0.012, sides=8))
            heads.append(tube((x, y, z - 0.085), (x, y, z - 0.09), 0.02, sides=8))
    draw(stage, f"{ROOT}/Pipes/Heads", heads, brass)


def _duct(site: Site, layout: Layout) -> None:
    """Write a round duct with seams above the docks, hung on straps."""
    stage = site.stage
    tin = site.finish("brushed_metal", tint=(0.9, 0.92, 0.94))
    group(stage, f"{ROOT}/Duct", "duct")
    x, z, half, radius = -layout.length / 2 + 1.1, layout.height - 0.5, layout.width / 2 - 0.6, 0.32
    round_obstacle(stage, f"{ROOT}/Duct/Tube", (x, -half, z), (x, half, z), radius, tin)
    rings = np.linspace(-half + 0.4, half - 0.4, max(round(2 * half / 1.5), 2)).tolist()
    seams = [tube((x, -half, z), (x, half, z), radius, sides=32)]
    seams += [tube((x, y - 0.02, z), (x, y + 0.02, z), radius + 0.012, sides=32) for y in rings]
    straps = [cuboid((x, y, z + 0.45), (0.03, 0.004, 0.28)) for y in rings[::2]]
    grilles = [cuboid((x + 0.2, y, z - 0.26), (0.2, 0.6, 0.05), bevel=0.01) for y in rings[1::3]]
    draw(stage, f"{ROOT}/Duct/Trim", [*seams, *straps, *grilles], Surface(tin.material))
