"""Street furniture at the origin, facing -y."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.town.facades import awning
from pegasus.worlds.town.parts import Frame, Parts

Corner = tuple[float, float, float]


@dataclass
class Thing:
    """A piece of furniture: drawn parts, colliders, semantic class."""

    label: str
    parts: Parts = field(default_factory=Parts)
    boxes: list[tuple[Corner, Corner]] = field(default_factory=list)
    """Collision boxes: least and greatest corner [m]."""
    posts: list[tuple[Corner, float, float]] = field(default_factory=list)
    """Vertical collision cylinders: foot, radius and height [m]."""
    hulls: list[Array] = field(default_factory=list)
    """Other convex colliders: consecutive rings of points [m], each (R, C, 3)."""


def lamp() -> Thing:
    """Return a street lamp with an arm over the street."""
    thing = Thing("lamp")
    p = thing.parts
    p.lathe("zinc", [(0.12, 0.0), (0.12, 0.5), (0.1, 0.6), (0.06, 0.62)], sides=16)
    p.lathe("zinc", [(0.065, 0.6), (0.042, 5.6)], sides=12)
    t = np.linspace(0.0, np.pi / 2, 9)
    arm = np.stack([np.zeros(9), -0.55 * (1 - np.cos(t)), 5.6 + 0.45 * np.sin(t)], axis=1)
    arm = np.concatenate([arm, [(0.0, -1.0, 6.09)]])
    p.tube("zinc", arm, np.linspace(0.042, 0.03, 10), sides=10)
    head = Frame((0.0, -1.3, 6.1))
    p.lathe("zinc", [(0.02, 0.09), (0.0, 0.09)], sides=8, frame=head)
    grid_u = np.linspace(0, 2 * np.pi, 17)
    rows = [(0.98, 0.0), (1.0, 0.03), (0.8, 0.07), (0.4, 0.095), (0.05, 0.1)]
    shell = np.array([[(r * 0.17 * np.cos(a), r * 0.42 * np.sin(a), z) for a in grid_u] for r, z in rows])
    p.sheet("zinc", shell, frame=head)
    lens = np.array(
        [
            [(r * 0.17 * np.cos(a), r * 0.42 * np.sin(a), z) for a in grid_u]
            for r, z in ((0.02, -0.03), (0.5, -0.025), (0.98, 0.0))
        ]
    )
    p.sheet("lamp_glass", lens, frame=head)
    thing.posts.append(((0.0, 0.0, 0.0), 0.08, 5.7))
    thing.boxes.append(((-0.17, -1.72, 6.05), (0.17, -0.2, 6.2)))
    return thing


def traffic_light() -> Thing:
    """Return a traffic light with three lamps and visors; facing -y."""
    thing = Thing("traffic_light")
    p = thing.parts
    p.lathe("zinc", [(0.1, 0.0), (0.1, 0.3), (0.055, 0.34), (0.055, 3.35), (0.0, 3.4)], sides=14)
    p.boxes("black", (-0.15, -0.2, 2.35), (0.15, -0.06, 3.3))
    p.boxes("white", (-0.19, -0.065, 2.31), (0.19, -0.05, 3.34))
    p.boxes("black", (-0.185, -0.07, 2.315), (0.185, -0.062, 3.335))
    for k, key in enumerate(("light_off_green", "light_off_yellow", "light_red")):
        face = Frame((0.0, -0.2, 2.52 + 0.3 * k), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
        p.lathe(key, [(0.1, 0.004), (0.06, 0.02), (0.0, 0.025)], sides=16, frame=face, smooth=True)
        angle = np.linspace(-0.35, np.pi + 0.35, 13)
        visor = np.array([[(0.115 * np.cos(a), 0.115 * np.sin(a), z) for a in angle] for z in (0.0, 0.16)])
        p.sheet("black", visor, frame=face)
        p.sheet("black", visor[:, ::-1] * [0.97, 0.97, 1.0], frame=face)
    # Pedestrian lights face the other direction.
    p.boxes("black", (0.06, -0.12, 2.1), (0.2, 0.12, 2.6))
    thing.posts.append(((0.0, 0.0, 0.0), 0.07, 3.4))
    thing.boxes.append(((-0.19, -0.36, 2.31), (0.2, 0.0, 3.34)))
    return thing


def _post(thing: Thing, height: float) -> Frame:
    """Add a post, and return the frame of the sign at its top, facing -y."""
    thing.parts.lathe("zinc", [(0.032, 0.0), (0.032, height), (0.0, height + 0.01)], sides=10)
    thing.posts.append(((0.0, 0.0, 0.0), 0.035, height))
    return Frame((0.0, -0.045, height - 0.34), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))


def _disc(thing: Thing, face: Frame, layers: list[tuple[str, float]], sides: int = 28) -> None:
    for k, (key, radius) in enumerate(layers):
        z = 0.004 * k
        thing.parts.lathe(key, [(radius, z - 0.003), (radius, z), (0.0, z)], sides=sides, frame=face)
    radius = layers[0][1]
    thing.parts.lathe("zinc", [(0.0, -0.012), (radius, -0.012), (radius, -0.003)], sides=sides, frame=face)


def no_parking() -> Thing:
    """Return a sign: no parking."""
    thing = Thing("sign")
    face = _post(thing, 2.75)
    _disc(thing, face, [("sign_red", 0.3), ("sign_blue", 0.25)])
    c = float(np.cos(np.pi / 4))
    bar = Frame(face(np.array((0.0, 0.0, 0.0))), (c, 0.0, -c), (c, 0.0, c))
    thing.parts.boxes("sign_red", (-0.26, -0.028, 0.0), (0.26, 0.028, 0.009), frame=bar, omit=("-z",))
    return thing


def limit() -> Thing:
    """Return a sign: speed limit of 30."""
    thing = Thing("sign")
    face = _post(thing, 2.75)
    _disc(thing, face, [("sign_red", 0.3), ("sign_white", 0.235)])
    strokes = {
        "3": ((0, 0, 1, 0.16), (0, 0.42, 1, 0.58), (0, 0.84, 1, 1), (0.75, 0, 1, 1)),
        "0": ((0, 0, 1, 0.16), (0, 0.84, 1, 1), (0, 0, 0.25, 1), (0.75, 0, 1, 1)),
    }
    for left, digit in ((-0.145, "3"), (0.02, "0")):
        for x0, y0, x1, y1 in strokes[digit]:
            low, high = (left + 0.125 * x0, -0.1 + 0.2 * y0, 0.0), (left + 0.125 * x1, -0.1 + 0.2 * y1, 0.009)
            thing.parts.boxes("black", low, high, frame=face, omit=("-z",))
    return thing


def give_way() -> Thing:
    """Return a sign: give way."""
    thing = Thing("sign")
    face = _post(thing, 2.75)
    for k, (key, radius) in enumerate((("sign_red", 0.42), ("sign_white", 0.26))):
        angle = np.radians([-90.0, 30.0, 150.0])
        corners = np.stack(
            [radius * np.cos(angle), radius * np.sin(angle) + 0.02, np.full(3, 0.004 * k)], axis=1
        )
        thing.parts.triangles(key, corners[None], frame=face)
        if k == 0:
            thing.parts.triangles("zinc", corners[None, ::-1] - [0.0, 0.0, 0.006], frame=face)
    return thing


def bench() -> Thing:
    """Return a bench of planks on iron feet."""
    thing = Thing("bench")
    p = thing.parts
    for k in range(4):
        p.boxes("wood", (-0.9, -0.22 + 0.115 * k, 0.43), (0.9, -0.125 + 0.115 * k, 0.465))
    lean = Frame((0.0, 0.25, 0.47), (1.0, 0.0, 0.0), (0.0, 0.22, 0.9755))
    for k in range(3):
        p.boxes("wood", (-0.9, 0.07 + 0.13 * k, 0.0), (0.9, 0.17 + 0.13 * k, 0.03), frame=lean)
    for x in (-0.7, 0.7):
        p.boxes("iron", (x - 0.03, -0.22, 0.0), (x + 0.03, -0.16, 0.43))
        p.boxes("iron", (x - 0.03, 0.2, 0.0), (x + 0.03, 0.26, 0.43))
        p.boxes("iron", (x - 0.03, -0.22, 0.39), (x + 0.03, 0.26, 0.43))
        p.boxes(
            "iron",
            (x - 0.02, -0.02, -0.035),
            (x + 0.02, 0.5, 0.0),
            frame=Frame(lean.origin, lean.right, lean.up),
        )
    thing.boxes += [((-0.9, -0.24, 0.0), (0.9, 0.26, 0.47)), ((-0.9, 0.24, 0.47), (0.9, 0.38, 0.92))]
    return thing


def litter_bin() -> Thing:
    """Return a litter bin on a post."""
    thing = Thing("bin")
    p = thing.parts
    p.lathe("bin_green", [(0.2, 0.18), (0.23, 0.2), (0.23, 0.85), (0.215, 0.87)], sides=20)
    p.lathe("bin_green", [(0.0, 0.18), (0.2, 0.18)], sides=20)
    p.lathe("black", [(0.215, 0.87), (0.19, 0.8), (0.0, 0.78)], sides=20)
    p.lathe("zinc", [(0.245, 0.78), (0.245, 0.83), (0.23, 0.83)], sides=20)
    for k in range(12):
        a = 2 * np.pi * k / 12
        p.tube("zinc", [(0.232 * np.cos(a), 0.232 * np.sin(a), z) for z in (0.24, 0.74)], 0.007, sides=4)
    p.lathe("iron", [(0.06, 0.0), (0.06, 0.18)], sides=10)
    thing.posts.append(((0.0, 0.0, 0.0), 0.245, 0.87))
    return thing


def bollard() -> Thing:
    """Return a bollard with a band."""
    thing = Thing("bollard")
    outline = [
        (0.075, 0.0),
        (0.075, 0.06),
        (0.055, 0.08),
        (0.055, 0.8),
        (0.068, 0.82),
        (0.068, 0.88),
        (0.045, 0.93),
        (0.0, 0.945),
    ]
    thing.parts.lathe("iron", outline, sides=16)
    thing.parts.lathe("sign_white", [(0.057, 0.66), (0.057, 0.74)], sides=16)
    thing.posts.append(((0.0, 0.0, 0.0), 0.07, 0.94))
    return thing


def bicycles() -> Thing:
    """Return stands for bicycles: three hoops of pipe."""
    thing = Thing("bicycle_stand")
    t = np.linspace(0.0, np.pi, 9)
    arch = np.stack([0.0 * t, -0.38 * np.cos(t), 0.55 + 0.25 * np.sin(t)], axis=1)
    hoop = np.concatenate([[(0.0, -0.38, 0.0)], arch, [(0.0, 0.38, 0.0)]])
    for x in (-0.75, 0.0, 0.75):
        thing.parts.tube("metal", hoop + np.array([x, 0.0, 0.0]), 0.024, sides=8)
        thing.boxes.append(((x - 0.025, -0.4, 0.0), (x + 0.025, 0.4, 0.82)))
    return thing


def path() -> Thing:
    """Return the path of slabs through a front garden, with a letter box."""
    thing = Thing("path")
    for k in range(4):
        y = -1.28 + 0.65 * k
        thing.parts.boxes("slabs", (-0.55, y, 0.0), (0.55, y + 0.6, 0.02), omit=("-z",))
    thing.parts.boxes("iron", (0.78, -1.1, 0.0), (0.83, -1.05, 1.0))
    thing.parts.boxes("sign_yellow", (0.64, -1.2, 1.0), (0.97, -0.95, 1.25))
    thing.boxes.append(((0.64, -1.2, 0.0), (0.97, -0.95, 1.25)))
    return thing


def hedge(rng: np.random.Generator) -> Thing:
    """Return two metres of clipped hedge along x."""
    thing = Thing("hedge")
    length, wide, high = 2.0, 0.27, 1.15
    outline = np.array(
        [
            (-wide, 0.0),
            (-wide - 0.03, 0.5),
            (-wide, 0.95),
            (-0.18, high),
            (0.0, high + 0.02),
            (0.18, high),
            (wide, 0.95),
            (wide + 0.03, 0.5),
            (wide, 0.0),
        ]
    )
    x = np.linspace(-length / 2, length / 2, 15)
    grid = np.zeros((len(x), len(outline), 3))
    grid[..., 0] = x[:, None]
    grid[..., 1:] = outline[::-1] + rng.uniform(-0.03, 0.03, (len(x), len(outline), 2))
    grid[..., 2] = np.maximum(grid[..., 2], 0.0)
    grid[-1, :, 1:] = grid[0, :, 1:]
    grid[:, [0, -1], 2] = 0.0
    along = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(outline, axis=0).T))])
    uvs = np.stack([grid[..., 0], np.broadcast_to(along, grid.shape[:2])], axis=2)
    thing.parts.sheet("hedge", grid, uvs=uvs)
    for end, order in ((0, -1), (-1, 1)):
        ring = grid[end][::order]
        fan = [np.stack([ring[0], ring[k], ring[k + 1]]) for k in range(1, len(ring) - 1)]
        thing.parts.triangles("hedge", np.stack(fan))
    thing.boxes.append(((-length / 2, -wide, 0.0), (length / 2, wide, high)))
    return thing


def column() -> Thing:
    """Return an advertising column with posters and a cap."""
    thing = Thing("advertising_column")
    p = thing.parts
    p.lathe("plinth", [(0.68, 0.0), (0.68, 0.35), (0.62, 0.42)], sides=32)
    p.lathe("white", [(0.6, 0.4), (0.6, 2.75)], sides=32)
    p.lathe(
        "bin_green",
        [(0.6, 2.72), (0.74, 2.76), (0.74, 2.84), (0.6, 2.95), (0.3, 3.2), (0.08, 3.35), (0.0, 3.5)],
        sides=32,
    )
    for k, key in enumerate(("poster", "sign_blue", "cloth_0", "cloth_1", "sign_yellow", "cloth_2")):
        angle = np.linspace(0.0, 0.85, 7) + k * np.pi / 3
        low, high = 0.6 + 0.1 * (k % 2), 2.2 + 0.2 * (k % 3)
        grid = np.array([[(0.604 * np.cos(a), 0.604 * np.sin(a), z) for a in angle] for z in (low, high)])
        p.sheet(key, grid)
        band = np.array(
            [
                [(0.607 * np.cos(a), 0.607 * np.sin(a), z) for a in angle[1:-1]]
                for z in (high - 0.5, high - 0.25)
            ]
        )
        p.sheet("sign_white", band)
    thing.posts.append(((0.0, 0.0, 0.0), 0.7, 3.2))
    return thing


def planter() -> Thing:
    """Return a planter of concrete with soil."""
    thing = Thing("planter")
    p = thing.parts
    for low, high in (
        ((-0.8, -0.8), (0.8, -0.68)),
        ((-0.8, 0.68), (0.8, 0.8)),
        ((-0.8, -0.68), (-0.68, 0.68)),
        ((0.68, -0.68), (0.8, 0.68)),
    ):
        p.boxes("stone", (*low, 0.0), (*high, 0.5))
    p.quads(
        "soil",
        np.array([[(-0.68, -0.68, 0.44), (0.68, -0.68, 0.44), (0.68, 0.68, 0.44), (-0.68, 0.68, 0.44)]]),
    )
    thing.boxes.append(((-0.8, -0.8, 0.0), (0.8, 0.8, 0.5)))
    return thing


def fountain() -> Thing:
    """Return a round fountain with two basins."""
    thing = Thing("fountain")
    p = thing.parts
    p.lathe(
        "stone",
        [(2.6, 0.0), (2.6, 0.12), (2.4, 0.12), (2.4, 0.5), (2.5, 0.52), (2.5, 0.6), (2.15, 0.6), (2.15, 0.3)],
        sides=48,
    )
    p.lathe("water", [(2.15, 0.48), (0.0, 0.48)], sides=48)
    p.lathe("stone", [(0.4, 0.3), (0.32, 0.6), (0.2, 0.8), (0.18, 1.3), (0.3, 1.4)], sides=24, smooth=True)
    p.lathe(
        "stone", [(0.3, 1.4), (0.75, 1.52), (0.95, 1.68), (0.95, 1.73), (0.88, 1.73), (0.82, 1.64)], sides=36
    )
    p.lathe("water", [(0.84, 1.68), (0.0, 1.68)], sides=36)
    p.lathe(
        "stone", [(0.12, 1.66), (0.1, 2.0), (0.16, 2.08), (0.13, 2.24), (0.0, 2.3)], sides=20, smooth=True
    )
    thing.posts += [((0.0, 0.0, 0.0), 2.55, 0.6), ((0.0, 0.0, 0.6), 0.3, 1.7), ((0.0, 0.0, 1.4), 0.95, 0.33)]
    return thing


def kiosk() -> Thing:
    """Return a kiosk with a counter, an awning and a hipped roof."""
    thing = Thing("building")
    p = thing.parts
    p.boxes("plinth", (-1.65, -1.15, 0.0), (1.65, 1.15, 0.15))
    p.boxes("bin_green", (-1.5, -1.0, 0.15), (1.5, 1.0, 1.0))
    p.boxes("bin_green", (-1.5, -0.9, 1.0), (1.5, 1.0, 2.5))
    for x in (-1.5, -0.5, 0.42, 1.42):
        p.boxes("white", (x, -1.0, 1.0), (x + 0.08, -0.9, 2.5))
    p.boxes("display", (-1.4, -0.93, 1.1), (1.4, -0.9, 1.7))
    p.boxes("shop_glass", (-1.45, -0.96, 1.7), (1.45, -0.94, 2.4))
    p.boxes("wood", (-1.55, -1.25, 0.98), (1.55, -0.98, 1.03))
    awning(p, Frame((0.0, -1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)), -1.5, 1.5, 2.45, "cloth_1")
    eave, top = (
        np.array([(-1.75, -1.25, 2.5), (1.75, -1.25, 2.5), (1.75, 1.25, 2.5), (-1.75, 1.25, 2.5)]),
        [(-0.6, 0.0, 3.2), (0.6, 0.0, 3.2)],
    )
    p.quads("coping", np.array([[eave[0], eave[1], top[1], top[0]], [eave[2], eave[3], top[0], top[1]]]))
    p.triangles("coping", np.array([[eave[1], eave[2], top[1]], [eave[3], eave[0], top[0]]]))
    p.quads("white", eave[None, ::-1])
    thing.boxes.append(((-1.65, -1.15, 0.0), (1.65, 1.15, 2.5)))
    ridge = [(-0.6, -0.01, 3.2), (0.6, -0.01, 3.2), (0.6, 0.01, 3.2), (-0.6, 0.01, 3.2)]
    thing.hulls.append(np.stack([eave, np.array(ridge)]))
    return thing


def tree_pit() -> Thing:
    """Return a tree pit: soil within an iron frame."""
    thing = Thing("sidewalk")
    p = thing.parts
    p.boxes("soil", (-0.55, -0.5, 0.0), (0.55, 0.5, 0.006), omit=("-z",))
    for low, high in (
        ((-0.6, -0.55), (0.6, -0.5)),
        ((-0.6, 0.5), (0.6, 0.55)),
        ((-0.6, -0.5), (-0.55, 0.5)),
        ((0.55, -0.5), (0.6, 0.5)),
    ):
        p.boxes("iron", (*low, 0.0), (*high, 0.02), omit=("-z",))
    return thing


THINGS: dict[str, Callable[[], Thing]] = {
    "lamp": lamp,
    "traffic_light": traffic_light,
    "no_parking": no_parking,
    "limit": limit,
    "yield": give_way,
    "bench": bench,
    "bin": litter_bin,
    "bollard": bollard,
    "bicycles": bicycles,
    "path": path,
    "tree_pit": tree_pit,
    "column": column,
    "planter": planter,
    "fountain": fountain,
    "kiosk": kiosk,
}
"""Return a new item of a kind."""
