"""Workshop objects: benches, carts, ladders, barrels."""

from itertools import pairwise

import numpy as np

from pegasus.scene.scene import Color
from pegasus.worlds.site import Site
from pegasus.worlds.solids import Solid, bar, cuboid, draw, obstacle, round_obstacle, tube


def write_workbench(site: Site) -> str:
    """Return the prototype of a bench 2 m long along x, with drawers, a vice and a pegboard behind (+y)."""
    stage = site.stage
    path = site.prototype("Workbench", "workbench")
    top = site.finish("plywood", scope=path)
    steel = site.paint("bench_steel", (0.08, 0.1, 0.12), roughness=0.45, scope=path)
    red = site.paint("bench_drawers", (0.42, 0.03, 0.02), roughness=0.35, scope=path)
    dark = site.paint(
        "bench_tools", (0.03, 0.03, 0.03), roughness=0.4, metallic=0.4, scope=path, collides=False
    )
    bright = site.paint(
        "bench_bright", (0.55, 0.55, 0.55), roughness=0.3, metallic=0.9, scope=path, collides=False
    )
    draw(stage, f"{path}/Top", [cuboid((0.0, 0.0, 0.87), (2.0, 0.75, 0.06), bevel=0.006)], top)
    for k, (x, y) in enumerate(((-0.95, -0.32), (0.95, -0.32), (-0.95, 0.32), (0.95, 0.32))):
        draw(stage, f"{path}/Leg{k}", [cuboid((x, y, 0.42), (0.07, 0.07, 0.84))], steel)
    draw(stage, f"{path}/Drawers", [cuboid((0.55, 0.0, 0.5), (0.6, 0.6, 0.66), bevel=0.008)], red)
    handles = [cuboid((0.55, -0.307, 0.26 + 0.16 * k), (0.3, 0.02, 0.02), bevel=0.005) for k in range(4)]
    draw(stage, f"{path}/Board", [cuboid((0.0, 0.36, 1.4), (2.0, 0.025, 0.9))], steel)
    tools: list[Solid] = []
    for k in range(9):
        x, long = -0.85 + 0.2 * k, 0.16 + 0.03 * ((5 * k) % 4)
        tools.append(bar((x, 0.342, 1.7), (x, 0.342, 1.7 - long), 0.012, 0.028))
        tools.append(cuboid((x, 0.34, 1.7), (0.05, 0.02, 0.04), bevel=0.005))
    draw(stage, f"{path}/Tools", [*tools, *handles], bright)
    vice = [
        cuboid((-0.7, -0.3, 0.96), (0.14, 0.16, 0.12), bevel=0.015),
        cuboid((-0.7, -0.44, 0.98), (0.16, 0.05, 0.12), bevel=0.01),
    ]
    vice.append(tube((-0.7, -0.6, 0.96), (-0.7, -0.3, 0.96), 0.015, sides=10))
    vice.append(cuboid((-0.1, 0.05, 0.98), (0.45, 0.22, 0.16), bevel=0.02))
    draw(stage, f"{path}/Vice", vice, dark)
    obstacle(stage, f"{path}/ViceSolid", (-0.7, -0.38, 0.97), (0.16, 0.2, 0.14), steel)
    obstacle(stage, f"{path}/CaseSolid", (-0.1, 0.05, 0.98), (0.45, 0.22, 0.16), steel)
    return path


def write_tool_cart(site: Site) -> str:
    """Return the prototype of a cart with drawers, its handle at +x."""
    stage = site.stage
    path = site.prototype("ToolCart", "tool_cart")
    red = site.paint("cart", (0.5, 0.02, 0.015), roughness=0.3, scope=path)
    steel = site.paint(
        "cart_steel", (0.55, 0.55, 0.55), roughness=0.3, metallic=0.9, scope=path, collides=False
    )
    dark = site.paint("cart_dark", (0.02, 0.02, 0.02), roughness=0.7, scope=path, collides=False)
    draw(stage, f"{path}/Body", [cuboid((0.0, 0.0, 0.53), (0.7, 0.46, 0.8), bevel=0.012)], red)
    fronts = [cuboid((0.0, -0.236, 0.24 + 0.13 * k), (0.62, 0.012, 0.115), bevel=0.004) for k in range(6)]
    draw(
        stage,
        f"{path}/Fronts",
        fronts,
        site.paint("cart_front", (0.42, 0.02, 0.015), roughness=0.28, scope=path, collides=False),
    )
    pulls = [cuboid((0.0, -0.25, 0.275 + 0.13 * k), (0.5, 0.018, 0.014)) for k in range(6)]
    pulls += [tube((0.46, -0.18, 0.86), (0.46, 0.18, 0.86), 0.015, sides=10)]
    pulls += [tube((0.34, y, 0.86), (0.46, y, 0.86), 0.012, sides=8) for y in (-0.17, 0.17)]
    draw(stage, f"{path}/Pulls", pulls, steel)
    wheels = [
        tube((x, y - 0.02, 0.065), (x, y + 0.02, 0.065), 0.065, sides=16)
        for x in (-0.28, 0.28)
        for y in (-0.18, 0.18)
    ]
    draw(stage, f"{path}/Wheels", [*wheels, cuboid((0.0, 0.0, 0.938), (0.66, 0.42, 0.012))], dark)
    obstacle(stage, f"{path}/Base", (0.0, 0.0, 0.07), (0.62, 0.42, 0.12), red)
    return path


def write_ladder(site: Site) -> str:
    """Return the prototype of a stepladder of 2.4 m that faces -x."""
    stage = site.stage
    path = site.prototype("Ladder", "ladder")
    metal = site.paint("ladder", (0.6, 0.6, 0.6), roughness=0.35, metallic=0.85, scope=path)
    yellow = site.paint("ladder_yellow", (0.8, 0.5, 0.02), roughness=0.45, scope=path, collides=False)
    height, spread = 2.3, 0.65
    rails: list[Solid] = []
    for k, side in enumerate((-1.0, 1.0)):
        front = ((-spread, side * 0.3, 0.0), (-0.05, side * 0.2, height))
        back = ((spread, side * 0.3, 0.0), (0.05, side * 0.2, height))
        rails += [bar(*front, 0.03, 0.07), bar(*back, 0.03, 0.05)]
        round_obstacle(stage, f"{path}/Front{k}", *front, 0.03, metal)
        round_obstacle(stage, f"{path}/Back{k}", *back, 0.025, metal)
    for k in range(1, 8):
        share = k / 8
        x, half = -spread + share * (spread - 0.05), 0.3 - 0.1 * share
        step = ((x, -half, height * share), (x, half, height * share))
        rails.append(cuboid((x, 0.0, height * share), (0.1, 2 * half, 0.03), bevel=0.004))
        round_obstacle(stage, f"{path}/Step{k}", *step, 0.03, metal)
    draw(
        stage,
        f"{path}/Rails",
        rails,
        site.paint("ladder_rail", (0.6, 0.6, 0.6), roughness=0.35, metallic=0.85, scope=path, collides=False),
    )
    draw(stage, f"{path}/Cap", [cuboid((0.0, 0.0, height), (0.22, 0.46, 0.05), bevel=0.01)], yellow)
    obstacle(stage, f"{path}/CapSolid", (0.0, 0.0, height), (0.22, 0.46, 0.05), metal)
    return path


def write_barrel(site: Site, name: str, color: Color) -> str:
    """Return the prototype of a barrel of 200 l."""
    stage = site.stage
    path = site.prototype(name, "barrel")
    paint = site.paint("barrel", color, roughness=0.35, metallic=0.2, scope=path)
    skin = site.paint("barrel_skin", color, roughness=0.35, metallic=0.2, scope=path, collides=False)
    steel = site.paint(
        "barrel_bung", (0.5, 0.5, 0.5), roughness=0.4, metallic=0.9, scope=path, collides=False
    )
    parts = [tube((0.0, 0.0, 0.0), (0.0, 0.0, 0.865), 0.286, sides=36)]
    parts += [tube((0.0, 0.0, z - 0.012), (0.0, 0.0, z + 0.012), 0.295, sides=36) for z in (0.012, 0.3, 0.58)]
    angle = np.linspace(0.0, 2 * np.pi, 25)
    for a, b in pairwise(angle):
        ends = [(0.287 * np.cos(t), 0.287 * np.sin(t), 0.872) for t in (a, b)]
        parts.append(bar(ends[0], ends[1], 0.014, 0.028))
    draw(stage, f"{path}/Skin", parts, skin)
    draw(
        stage,
        f"{path}/Bungs",
        [
            tube((0.18, 0.0, 0.86), (0.18, 0.0, 0.885), 0.035, sides=14),
            tube((-0.2, 0.0, 0.86), (-0.2, 0.0, 0.88), 0.016, sides=10),
        ],
        steel,
    )
    round_obstacle(stage, f"{path}/Solid", (0.0, 0.0, 0.0), (0.0, 0.0, 0.885), 0.29, paint)
    return path
