"""Objects of a race track: gates, flags, barriers, start podium with pads, tent."""

import numpy as np

from pegasus.scene.authoring import block, box, cylinder, mesh
from pegasus.scene.scene import Color
from pegasus.worlds.growth import grid_sheet
from pegasus.worlds.site import Site
from pegasus.worlds.solids import cuboid, draw, obstacle, polygons, tube

FRAME_WIDTH = 0.32
"""Width of a gate's frame around its opening [m]."""
FRAME_DEPTH = 0.14
PODIUM_HEIGHT = 0.42
PAD_SPACING = 1.5
"""Distance between the pads on the podium [m]."""
COLORS: tuple[Color, ...] = ((0.85, 0.16, 0.04), (0.03, 0.16, 0.55), (0.80, 0.50, 0.02), (0.30, 0.04, 0.42))
"""Colours of gates and flags, linear."""
_WHITE: Color = (0.80, 0.80, 0.78)


def gate_frame(site: Site, number: int, opening: float) -> str:
    """Return the prototype of a gate's frame around the origin, passed along x; it collides as four boxes.

    Args:
        site: The site.
        number: Index into `COLORS`, modulo their number.
        opening: Side of the square opening [m].
    """
    name = f"GateFrame{number % len(COLORS)}"
    path = f"/Prototypes/{name}"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype(name, "gate")
    color = COLORS[number % len(COLORS)]
    cloth = site.finish("fabric", tint=_bright(color), scope=path)
    white = site.finish("fabric", tint=(1.1, 1.1, 1.1), scope=path, collides=False)
    dark = site.finish("fabric", tint=(0.08, 0.08, 0.09), scope=path, collides=False)
    middle, outer = opening / 2 + FRAME_WIDTH / 2, opening + 2 * FRAME_WIDTH
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        size = (FRAME_DEPTH, FRAME_WIDTH, opening)
        block(site.stage, f"{path}/{side}", (0.0, sign * middle, 0.0), size, cloth)
    for side, sign in (("Top", 1.0), ("Bottom", -1.0)):
        size = (FRAME_DEPTH, outer, FRAME_WIDTH)
        block(site.stage, f"{path}/{side}", (0.0, 0.0, sign * middle), size, cloth)
    # A dark rim around the opening and a row of squares, as features for vision.
    rim, squares = [], []
    for face in (-1.0, 1.0):
        x = face * (FRAME_DEPTH / 2 + 0.003)
        for sign in (-1.0, 1.0):
            at = sign * (opening / 2 + 0.025)
            rim.append(cuboid((x, at, 0.0), (0.006, 0.05, opening + 0.1)))
            rim.append(cuboid((x, 0.0, at), (0.006, opening, 0.05)))
        count = round(opening / 0.30)
        for k in range(count):
            u = -opening / 2 + (k + 0.5) * opening / count
            if k % 2 == 0:
                for sign in (-1.0, 1.0):
                    squares.append(cuboid((x, sign * (middle + 0.03), u), (0.006, 0.15, 0.15)))
                    squares.append(cuboid((x, u, sign * (middle + 0.03)), (0.006, 0.15, 0.15)))
    draw(site.stage, f"{path}/Rim", rim, dark)
    draw(site.stage, f"{path}/Squares", squares, white)
    return path


def gate_leg(site: Site) -> str:
    """Return the prototype of a leg 1 m high, to be scaled to a gate's height."""
    path = "/Prototypes/GateLeg"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype("GateLeg", "gate")
    metal = site.finish("brushed_metal", tint=(0.6, 0.6, 0.62), scope=path)
    box(site.stage, f"{path}/Post", (0.0, 0.0, 0.5), (0.07, 0.07, 1.0), metal)
    return path


def gate_foot(site: Site) -> str:
    """Return the prototype of the plate that a leg stands on, with a sandbag."""
    path = "/Prototypes/GateFoot"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype("GateFoot", "gate")
    metal = site.finish("painted_metal", tint=(0.10, 0.10, 0.11), scope=path)
    block(site.stage, f"{path}/Plate", (0.0, 0.0, 0.01), (0.9, 0.5, 0.02), metal)
    sand = site.finish("fabric", tint=(0.42, 0.36, 0.22), scope=path)
    for sign in (-1.0, 1.0):
        bag = cuboid((sign * 0.25, 0.0, 0.085), (0.34, 0.46, 0.13), bevel=0.05)
        draw(site.stage, f"{path}/Bag{'A' if sign < 0 else 'B'}", [bag], sand)
    return path


def flag(site: Site, number: int) -> str:
    """Return the prototype of a feather flag 3.4 m high; its pole collides.

    Args:
        site: The site.
        number: Index into `COLORS`, modulo their number.
    """
    name = f"Flag{number % len(COLORS)}"
    path = f"/Prototypes/{name}"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype(name, "flag")
    metal = site.paint("pole", (0.55, 0.55, 0.56), roughness=0.35, metallic=1.0, scope=path)
    foot = site.finish("rubber", scope=path)
    cloth = site.finish("fabric", tint=_bright(COLORS[number % len(COLORS)]), scope=path, collides=False)
    pale = site.finish("fabric", tint=(1.1, 1.1, 1.1), scope=path, collides=False)
    cylinder(site.stage, f"{path}/Foot", (0, 0, 0), (0, 0, 0.06), 0.28, foot)
    cylinder(site.stage, f"{path}/Pole", (0, 0, 0.06), (0, 0, 2.9), 0.018, metal)
    # The pole bends at its top, and the cloth hangs in folds.
    v = np.linspace(0.0, 1.0, 22)
    top = np.column_stack([0.55 * np.clip((v - 0.72) / 0.28, 0, 1) ** 2, 0 * v, 0.55 + 2.85 * v])
    width = 0.62 * np.sqrt(np.clip(1.02 - v, 0.0, 1.0)) ** 0.6 * np.clip(0.55 + 1.2 * v, 0.0, 1.0)
    u = np.linspace(0.0, 1.0, 9)
    grid = top[:, None] + np.stack(
        [
            0.02 + u[None, :] * width[:, None],
            0.05 * np.sin(7.0 * u[None, :] + 5.0 * v[:, None]) * u[None, :],
            -0.12 * u[None, :] + 0.0 * v[:, None],
        ],
        axis=-1,
    )
    uvs = np.stack(np.broadcast_arrays(u[None, :] * 0.6, 2.85 * v[:, None]), axis=-1)
    points, faces, normals = grid_sheet(grid)
    cells = len(u) - 1
    band = (np.arange(len(faces)) // (2 * cells)) % 7 == 5
    for part, rows, look in (("Cloth", ~band, cloth), ("Band", band, pale)):
        mesh(site.stage, f"{path}/{part}", points, faces[rows], look, uvs=uvs.reshape(-1, 2), normals=normals)
    tip = tube((0, 0, 2.9), (0.10, 0, 3.12), 0.016, sides=6, end_radius=0.012)
    bend = tube((0.10, 0, 3.12), (0.5, 0, 3.36), 0.012, sides=6, end_radius=0.008)
    draw(
        site.stage,
        f"{path}/Tip",
        [tip, bend],
        site.paint("pole", (0.5, 0.5, 0.5), scope=path, collides=False),
    )
    return path


def barrier(site: Site, number: int) -> str:
    """Return the prototype of an air-filled barrier 2 m long along x; it collides as a box.

    Args:
        site: The site.
        number: Even for red, odd for white.
    """
    name = f"Barrier{number % 2}"
    path = f"/Prototypes/{name}"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype(name, "barrier")
    tint = ((1.0, 0.07, 0.05), (1.05, 1.05, 1.05))[number % 2]
    skin = site.finish("painted_metal", tint=tint, scope=path)
    body = cuboid((0.0, 0.0, 0.36), (1.96, 0.5, 0.72), bevel=0.11)
    draw(site.stage, f"{path}/Body", [body], skin)
    seam = site.paint("seam", (0.03, 0.03, 0.03), scope=path, collides=False)
    straps = [cuboid((x, 0.0, 0.36), (0.04, 0.508, 0.728), bevel=0.10) for x in (-0.6, 0.6)]
    draw(site.stage, f"{path}/Straps", straps, seam)
    return path


def podium(site: Site, pad_count: int) -> str:
    """Return the prototype of a start podium along y with pads on top; vehicles start along x."""
    path = "/Prototypes/Podium"
    site.prototype("Podium", "podium")
    length = PAD_SPACING * pad_count + 0.5
    deck = site.finish("plywood", tint=(0.75, 0.68, 0.58), scope=path)
    skirt = site.finish("tarpaulin", tint=(0.25, 0.25, 0.3), scope=path, collides=False)
    rubber = site.finish("rubber", scope=path)
    block(site.stage, f"{path}/Deck", (0, 0, PODIUM_HEIGHT - 0.03), (2.2, length, 0.06), deck)
    lower = (2.1, length - 0.1, PODIUM_HEIGHT - 0.06)
    draw(site.stage, f"{path}/Skirt", [cuboid((0, 0, lower[2] / 2), lower)], skirt)
    obstacle(site.stage, f"{path}/Body", (0, 0, lower[2] / 2), lower, deck)
    for number in range(pad_count):
        y = (number - (pad_count - 1) / 2) * PAD_SPACING
        center = (0.2, y, PODIUM_HEIGHT + 0.01)
        block(site.stage, f"{path}/Pad{number}", center, (1.1, 1.1, 0.02), rubber)
        paint = site.paint(f"pad_{number % 4}", COLORS[number % 4], scope=path, collides=False)
        lines = [
            cuboid(
                (0.2 + 0.5 * a, y + 0.5 * b, PODIUM_HEIGHT + 0.0215),
                (1.06 if b else 0.06, 0.06 if b else 0.94, 0.003),
            )
            for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1))
        ]
        draw(site.stage, f"{path}/Mark{number}", lines, paint)
    for number in range(2):
        run = 0.35 * (number + 1)
        step = (-1.1 - run / 2, 0.0, (PODIUM_HEIGHT - 0.14 * (number + 1)) / 2)
        block(site.stage, f"{path}/Step{number}", step, (run, 1.6, 2 * step[2]), deck)
    return path


def tent(site: Site) -> str:
    """Return the prototype of a 3 m pilots' tent with a table; its parts collide."""
    path = "/Prototypes/Tent"
    site.prototype("Tent", "tent")
    metal = site.paint("frame", (0.5, 0.5, 0.52), roughness=0.35, metallic=1.0, scope=path)
    cloth = site.finish("tarpaulin", tint=(1.3, 1.2, 1.1), scope=path)
    wood = site.finish("plywood", scope=path)
    corners = [(x, y) for x in (-1.5, 1.5) for y in (-1.5, 1.5)]
    for number, (x, y) in enumerate(corners):
        cylinder(site.stage, f"{path}/Post{number}", (x, y, 0.0), (x, y, 2.25), 0.025, metal)
    rim = [np.array([x, y, 2.2]) for x, y in ((-1.6, -1.6), (1.6, -1.6), (1.6, 1.6), (-1.6, 1.6))]
    top = np.array([0.0, 0.0, 3.15])
    low = [corner - [0.0, 0.0, 0.28] for corner in rim]
    sides = [np.array([rim[k - 1], rim[k], top]) for k in range(4)]
    sides += [np.array([low[k - 1], low[k], rim[k], rim[k - 1]]) for k in range(4)]
    sides.append(np.array(low[::-1]))
    draw(
        site.stage,
        f"{path}/Roof",
        [polygons(sides, towards=(0.0, 0.0, 2.3))],
        cloth,
        approximation="convexHull",
    )
    block(site.stage, f"{path}/Table", (0.4, 0.0, 0.74), (0.7, 2.2, 0.04), wood)
    for number, y in enumerate((-0.95, 0.95)):
        box(site.stage, f"{path}/Trestle{number}", (0.4, y, 0.36), (0.55, 0.05, 0.72), metal)
    return path


def _bright(color: Color) -> Color:
    """Return a colour as a factor on light cloth."""
    r, g, b = (1.5 * value for value in color)
    return r, g, b
