"""Furnishing: staged loads, forklifts, pallet jacks, packing table, bins, exits."""

from itertools import pairwise

import numpy as np

from pegasus.scene.authoring import Surface, block, cylinder, group, instance
from pegasus.scene.scene import Color
from pegasus.worlds.lettering import lettering, on_wall
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import cuboid, draw, polygons, tube
from pegasus.worlds.warehouse.layout import DOOR_PITCH, SIDE_MARGIN, Layout
from pegasus.worlds.warehouse.loads import PALLET_HEIGHT
from pegasus.worlds.warehouse.markings import lane_pairs
from pegasus.worlds.warehouse.stock import Stock
from pegasus.worlds.warehouse.trucks import CARRIED_AT, write_forklift, write_pallet_jack

_BIN_TINTS: tuple[Color, ...] = ((0.03, 0.05, 0.07), (0.02, 0.12, 0.03), (0.02, 0.06, 0.25))


def build_furnishing(site: Site, layout: Layout, stock: Stock) -> None:
    """Write all furnishing."""
    forklift, jack = write_forklift(site), write_pallet_jack(site)
    _lanes(site, layout, stock, forklift, jack)
    _corners(site, layout, forklift)
    _bins(site, layout)
    _exit(site, layout)
    _extinguishers(site, layout)


def _lanes(site: Site, layout: Layout, stock: Stock, forklift: str, jack: str) -> None:
    """Fill the lanes before the doors: pallets in rows, stacks of empty ones, a truck at work."""
    rng, stage = site.stream("lanes"), site.stage
    lanes = lane_pairs(layout)
    uses = [str(rng.choice(["loads", "few", "empties", "truck"], p=[0.4, 0.25, 0.2, 0.15])) for _ in lanes]
    if "truck" not in uses:
        uses[int(rng.integers(len(uses)))] = "truck"
    for k, ((x0, y0, x1, y1), use) in enumerate(zip(lanes, uses, strict=True)):
        place = f"{ROOT}/Staging/Lane{k}"
        group(stage, place)
        middle = (y0 + y1) / 2
        if use == "truck":
            heading = 180.0 if rng.uniform() < 0.5 else 0.0
            forward = -1.0 if heading else 1.0
            x = (x0 + x1) / 2 - 0.2 * forward
            turn = heading + float(rng.uniform(-8.0, 8.0))
            instance(stage, f"{place}/Forklift", forklift, (x, middle, 0.0), yaw=turn)
            c, s = np.cos(np.radians(turn)), np.sin(np.radians(turn))
            load = stock.pick(rng)
            at = (x + CARRIED_AT * c, middle + CARRIED_AT * s, 0.0)
            stock.put(site, f"{place}/Carried", at, load, yaw=turn + 90.0)
            continue
        share = {"loads": 0.9, "few": 0.4, "empties": 0.5}[use]
        load = stock.pick(rng)
        for column, x in enumerate((x0 + 0.8, x0 + 2.15, x0 + 3.5)):
            for row, y in enumerate((middle - 0.68, middle + 0.68)):
                if rng.uniform() > share:
                    continue
                at = (x + float(rng.uniform(-0.05, 0.05)), y + float(rng.uniform(-0.05, 0.05)), 0.0)
                turn = 90.0 + float(rng.uniform(-2.5, 2.5))
                if use == "empties":
                    for level in range(int(rng.integers(4, 13))):
                        up = (at[0], at[1], level * (PALLET_HEIGHT + 0.001))
                        shift = float(rng.uniform(-1.5, 1.5))
                        name = f"{place}/Empty{column}_{row}_{level}"
                        instance(stage, name, stock.pallet, up, yaw=turn + shift)
                    continue
                chosen = load if rng.uniform() < 0.6 else stock.pick(rng)
                stock.put(site, f"{place}/Load{column}_{row}", at, chosen, yaw=turn)
    instance(
        stage,
        f"{ROOT}/Staging/Jack",
        jack,
        (-layout.length / 2 + 0.9, layout.doors[0] - DOOR_PITCH / 2 + 0.2, 0.0),
        yaw=8.0,
    )


def _corners(site: Site, layout: Layout, forklift: str) -> None:
    """Write a packing table in the southern corner, and a charger with its forklift in the northern one."""
    stage = site.stage
    west = -layout.length / 2
    south, north = -layout.width / 2 + SIDE_MARGIN + 0.55, layout.width / 2 - SIDE_MARGIN - 0.75
    _table(site, west + 3.6, south)
    instance(stage, f"{ROOT}/Charging/Forklift", forklift, (west + 4.2, north, 0.0), yaw=180.0)
    path = f"{ROOT}/Charging/Station"
    group(stage, path, "charger")
    grey = site.paint("charger_grey", (0.35, 0.37, 0.38), roughness=0.4)
    dark = site.paint("charger_dark", (0.02, 0.02, 0.02), roughness=0.5, collides=False)
    green = site.paint("charger_green", (0.05, 0.4, 0.1), emission=(0.05, 0.5, 0.1), collides=False)
    body = cuboid((west + 0.75, north, 0.75), (0.45, 0.7, 1.1), bevel=0.02)
    draw(stage, f"{path}/Body", [body], grey)
    draw(stage, f"{path}/Foot", [cuboid((west + 0.75, north, 0.1), (0.4, 0.65, 0.2))], grey)
    front = west + 0.976
    draw(stage, f"{path}/Screen", [cuboid((front, north, 1.1), (0.004, 0.3, 0.18))], dark)
    draw(stage, f"{path}/Lamp", [cuboid((front, north + 0.25, 1.1), (0.006, 0.05, 0.05))], green)
    sag = [(west + 1.0, 0.9), (west + 1.3, 0.45), (west + 1.8, 0.35), (west + 2.4, 0.55), (west + 2.95, 0.9)]
    cable = [tube((a, north, z), (b, north, w), 0.018, sides=10) for (a, z), (b, w) in pairwise(sag)]
    draw(stage, f"{path}/Cable", cable, dark)


def _table(site: Site, x: float, y: float) -> None:
    """Write a packing table with a screen, a roll of paper and cartons."""
    stage = site.stage
    path = f"{ROOT}/Packing"
    group(stage, path, "table")
    top, steel = site.finish("plywood"), site.paint("table_steel", (0.3, 0.32, 0.34), roughness=0.4)
    dark = site.paint("screen", (0.015, 0.015, 0.017), roughness=0.15)
    board, paper = site.finish("cardboard"), site.paint("wrapping", (0.5, 0.36, 0.2), roughness=0.8)
    draw(stage, f"{path}/Top", [cuboid((x, y, 0.9), (2.2, 0.8, 0.04), bevel=0.006)], top)
    block(stage, f"{path}/Board", (x, y, 0.3), (2.1, 0.7, 0.03), steel)
    for k, (dx, dy) in enumerate(((-1.05, -0.35), (1.05, -0.35), (-1.05, 0.35), (1.05, 0.35))):
        block(stage, f"{path}/Leg{k}", (x + dx, y + dy, 0.44), (0.05, 0.05, 0.88), steel)
    for k, dx in enumerate((-1.05, 1.05)):
        block(stage, f"{path}/Upright{k}", (x + dx, y - 0.37, 1.4), (0.04, 0.04, 0.96), steel)
    block(stage, f"{path}/Shelf", (x, y - 0.28, 1.6), (2.1, 0.3, 0.025), steel)
    draw(stage, f"{path}/Screen", [cuboid((x + 0.55, y - 0.15, 1.2), (0.5, 0.03, 0.3), bevel=0.006)], dark)
    draw(
        stage,
        f"{path}/Stand",
        [
            cuboid((x + 0.55, y - 0.15, 0.98), (0.06, 0.02, 0.14)),
            cuboid((x + 0.55, y - 0.15, 0.928), (0.22, 0.16, 0.012)),
        ],
        Surface(dark.material),
    )
    draw(
        stage,
        f"{path}/Keys",
        [cuboid((x + 0.55, y + 0.16, 0.932), (0.42, 0.15, 0.02), bevel=0.004)],
        Surface(dark.material),
    )
    cylinder(stage, f"{path}/Roll", (x - 0.95, y - 0.12, 1.02), (x - 0.35, y - 0.12, 1.02), 0.1, paper)
    for k, (dx, dy, z, size) in enumerate(
        (
            (-0.1, 0.1, 0.92, (0.4, 0.3, 0.25)),
            (-0.7, -0.28, 1.613, (0.35, 0.25, 0.2)),
            (-0.25, -0.28, 1.613, (0.3, 0.25, 0.28)),
            (0.6, 0.0, 0.316, (0.6, 0.5, 0.4)),
            (-0.4, 0.0, 0.316, (0.5, 0.5, 0.3)),
        )
    ):
        at = (x + dx, y + dy, z + size[2] / 2)
        parcel = cuboid((0.0, 0.0, 0.0), size, bevel=0.004).moved(at, yaw=5.0 * (k - 2))
        group(stage, f"{path}/Parcel{k}", "box")
        draw(stage, f"{path}/Parcel{k}/Carton", [parcel], board)


def _bins(site: Site, layout: Layout) -> None:
    """Write bins on wheels between the doors."""
    stage = site.stage
    paths = []
    for k, tint in enumerate(_BIN_TINTS):
        path = site.prototype(f"Bin{k}", "bin")
        plastic = site.paint("bin", tint, roughness=0.5, scope=path)
        dark = site.paint("bin_wheel", (0.015, 0.015, 0.015), roughness=0.8, scope=path, collides=False)
        foot = np.array([[-0.25, -0.22], [0.25, -0.22], [0.25, 0.22], [-0.25, 0.22]])
        head = foot * [1.18, 1.24]
        sides = [
            np.array([[*foot[j - 1], 0.06], [*foot[j], 0.06], [*head[j], 0.95], [*head[j - 1], 0.95]])
            for j in range(4)
        ]
        tub = polygons(sides, towards=(0.0, 0.0, 0.5))
        lid = cuboid((0.0, 0.0, 0.98), (0.66, 0.6, 0.05), bevel=0.015)
        bottom = cuboid((0.0, 0.0, 0.07), (0.5, 0.44, 0.02))
        draw(stage, f"{path}/Tub", [tub, lid, bottom], plastic)
        wheels = [tube((-0.24, y, 0.1), (-0.24, y + 0.04, 0.1), 0.1, sides=18) for y in (-0.26, 0.22)]
        handle = tube((-0.34, -0.2, 1.0), (-0.34, 0.2, 1.0), 0.015, sides=8)
        draw(stage, f"{path}/Wheels", [*wheels, handle], dark)
        paths.append(path)
    rng = site.stream("bins")
    gaps = [y + DOOR_PITCH / 2 for y in layout.doors[:-1]]
    for k, y in enumerate(gaps):
        if rng.uniform() < 0.6:
            kind = paths[int(rng.integers(len(paths)))]
            at = (-layout.length / 2 + 0.55, y, 0.0)
            instance(stage, f"{ROOT}/Bins/Bin{k}", kind, at, yaw=float(rng.uniform(-6.0, 6.0)))


def _exit(site: Site, layout: Layout) -> None:
    """Write a door with an exit sign into the eastern wall."""
    stage = site.stage
    x, y = layout.length / 2, layout.aisles[0]
    path = f"{ROOT}/Exit"
    group(stage, path, "door")
    leaf = site.finish("painted_metal", tint=(0.35, 0.42, 0.5))
    frame = site.paint("exit_frame", (0.2, 0.21, 0.22), roughness=0.5)
    bar_ = site.paint("exit_bar", (0.6, 0.02, 0.02), roughness=0.4, collides=False)
    green = site.paint("exit_green", (0.0, 0.3, 0.1), emission=(0.0, 0.5, 0.15))
    white = site.paint("exit_print", (0.9, 0.9, 0.9), emission=(0.8, 0.8, 0.8), collides=False)
    block(stage, f"{path}/Leaf", (x - 0.03, y, 1.05), (0.06, 1.0, 2.1), leaf)
    for name, side in (("Left", -1.0), ("Right", 1.0)):
        block(stage, f"{path}/{name}Frame", (x - 0.05, y + side * 0.55, 1.09), (0.1, 0.1, 2.18), frame)
    block(stage, f"{path}/TopFrame", (x - 0.05, y, 2.24), (0.1, 1.2, 0.1), frame)
    draw(stage, f"{path}/Bar", [cuboid((x - 0.11, y, 1.05), (0.04, 0.85, 0.05), bevel=0.012)], bar_)
    group(stage, f"{path}/Sign", "sign")
    block(stage, f"{path}/Sign/Plate", (x - 0.03, y, 2.55), (0.05, 0.8, 0.3), green)
    text = on_wall(lettering("EXIT", 0.18), (x - 0.057, y, 2.55), yaw=-90.0)
    draw(stage, f"{path}/Sign/Text", [text], white)


def _extinguishers(site: Site, layout: Layout) -> None:
    """Write fire extinguishers at columns without a rack in front."""
    stage = site.stage
    path = site.prototype("Extinguisher", "extinguisher")
    red = site.paint("extinguisher", (0.6, 0.01, 0.01), roughness=0.25, scope=path)
    dark = site.paint("nozzle", (0.02, 0.02, 0.02), roughness=0.5, scope=path, collides=False)
    white = site.paint("pictogram", (0.85, 0.85, 0.85), scope=path, collides=False)
    cylinder(stage, f"{path}/Bottle", (0.0, 0.0, 0.75), (0.0, 0.0, 1.2), 0.08, red)
    head = [
        tube((0.0, 0.0, 1.2), (0.0, 0.0, 1.25), 0.08, end_radius=0.03),
        cuboid((0.05, 0.0, 1.29), (0.16, 0.03, 0.03)),
    ]
    head.append(tube((0.06, 0.03, 1.27), (0.095, 0.05, 0.9), 0.013, sides=8))
    draw(stage, f"{path}/Head", head, dark)
    draw(stage, f"{path}/Sign", [cuboid((-0.09, 0.0, 2.05), (0.01, 0.25, 0.25))], Surface(red.material))
    draw(
        stage,
        f"{path}/Pictogram",
        [
            tube((-0.0845, 0.0, 1.99), (-0.083, 0.0, 1.99), 0.03),
            cuboid((-0.0842, 0.0, 2.08), (0.002, 0.05, 0.14)),
        ],
        white,
    )
    away = layout.width / 2 - 0.24
    for k, x in enumerate(layout.frames[1:-1]):
        if layout.front - 0.5 < x < layout.back + 0.5:
            continue
        for name, side in (("South", -1.0), ("North", 1.0)):
            at = (x, side * (away - 0.25), 0.0)
            instance(stage, f"{ROOT}/Extinguishers/{name}{k}", path, at, yaw=-90.0 * side)
