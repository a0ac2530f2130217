"""Roofs of houses with their equipment."""

from dataclasses import dataclass, field

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.town import facades
from pegasus.worlds.town.layout import Plan
from pegasus.worlds.town.parts import Frame, Parts

_UP = (0.0, 0.0, 1.0)


@dataclass
class House:
    """A house under construction."""

    parts: Parts = field(default_factory=Parts)
    boxes: list[tuple[tuple[float, float, float], tuple[float, float, float]]] = field(default_factory=list)
    """Collision boxes: least and greatest corner [m]."""
    hulls: list[Array] = field(default_factory=list)
    """Other convex colliders: consecutive rings of points [m], each (R, C, 3)."""
    windows: list[tuple[str, Frame, Array]] = field(default_factory=list)
    """Wall surface, elevation and rectangles of windows, as in `facades.windows`."""


def gable_roof(house: House, plan: Plan, top: float, tiles: str, wall: str, rng: np.random.Generator) -> None:
    """Add a roof with its ridge along the front, chimneys, gutters, dormers or roof windows.

    Args:
        house: The house.
        plan: Its plan.
        top: Height of its walls [m].
        tiles: Surface of the roof.
        wall: Surface of the gables.
        rng: Random numbers.
    """
    parts, half, depth = house.parts, plan.width / 2, plan.depth
    slope = np.radians(rng.uniform(33.0, 43.0))
    detached = plan.style == "house"
    eave = 0.45 if detached else 0.3
    verge = 0.35 if detached else 0.0
    middle, rise = depth / 2, float(np.tan(slope)) * depth / 2
    ridge = top + rise
    thick = 0.16
    drop = float(np.tan(slope)) * eave
    left, right = -half - verge, half + verge
    for sign in (-1.0, 1.0):
        edge = middle + sign * (middle + eave)
        low, high = (edge, top - drop + thick), (middle, ridge + thick)
        a, b = (left, right) if sign < 0 else (right, left)
        length = float(np.hypot(high[0] - low[0], high[1] - low[1]))
        quad = np.array([[(a, *low), (b, *low), (b, *high), (a, *high)]])
        uvs = np.array([[(a, 0.0), (b, 0.0), (b, length), (a, length)]]) * [sign * -1.0, 1.0]
        parts.quads(tiles, quad, uvs=uvs)
        under = quad - [0.0, 0.0, thick]
        parts.quads("frame_white", under[:, ::-1])
        lip = np.concatenate([under[:, [0, 1]], quad[:, [1, 0]]], axis=1)
        parts.quads("frame_white", lip)
        for p, q in ((1, 2), (3, 0)):
            side = np.stack([under[0, p], under[0, q], quad[0, q], quad[0, p]])[None]
            parts.quads("frame_white", side)
        _gutter(parts, left, right, edge + sign * 0.06, low[1] - 0.12)
        _roof_windows(parts, plan, sign, top + thick, slope, rng)
    # Ridge tiles.
    parts.lathe(
        tiles,
        [(0.13, left), (0.13, right)],
        sides=8,
        frame=Frame((0.0, middle, ridge + thick - 0.03), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    )
    for x, order in ((-half, -1), (half, 1)):
        gable = np.array([[(x, 0.0, top), (x, depth, top), (x, middle, ridge)]])
        parts.triangles(wall, gable[:, ::order])
    ring = [(-eave, top - drop), (depth + eave, top - drop), (middle, ridge + thick)]
    house.hulls.append(np.array([[(x, *point) for point in ring] for x in (left, right)]))
    for k in range(int(rng.integers(1, 3))):
        x = float(rng.uniform(-half + 0.8, half - 0.8)) if k == 0 else half - 0.5
        _chimney(house, x, middle + float(rng.uniform(0.8, 1.6)), ridge - 1.4, ridge + 0.8)


def _gutter(parts: Parts, left: float, right: float, y: float, z: float) -> None:
    angle = np.linspace(np.pi, 2 * np.pi, 7)
    ring = np.stack([np.zeros(7), 0.075 * np.cos(angle), 0.075 * np.sin(angle)], axis=-1)
    for inner in (False, True):
        turned = ring[::-1] if inner else ring
        grid = np.stack([turned * (0.93 if inner else 1.0) + [x, y, z] for x in (left, right)])
        parts.sheet("zinc", grid)


def _roof_windows(
    parts: Parts, plan: Plan, sign: float, top: float, slope: float, rng: np.random.Generator
) -> None:
    """Add roof windows or dormers."""
    count = int((plan.width - 1.6) / 2.8)
    if count < 1 or plan.depth < 8.0:
        return
    dormers = rng.uniform() < 0.45
    chosen = rng.uniform(size=count) < (0.9 if dormers else 0.6)
    x = (np.arange(count) - (count - 1) / 2) * (plan.width - 1.2) / count
    middle, t = plan.depth / 2, float(np.tan(slope))
    out = (
        Frame((0.0, middle, 0.0), (1.0, 0.0, 0.0), _UP)
        if sign < 0
        else Frame((0.0, middle, 0.0), (-1.0, 0.0, 0.0), _UP)
    )
    # In the frame of the elevation, the roof's plane is y = top + (middle - z) t.
    for place in x[chosen].tolist():
        if dormers:
            front, low = middle - 0.9, top + 0.9 * t
            high = low + 1.35
            back = middle - (high - top) / t - 0.05
            parts.boxes(
                "zinc",
                (place - 0.68, low - 0.3, back),
                (place + 0.68, high, front - 0.02),
                frame=out,
                omit=("-y", "-z", "+z"),
            )
            parts.boxes(
                "zinc",
                (place - 0.82, high, back - 0.15),
                (place + 0.82, high + 0.09, front + 0.14),
                frame=out,
            )
            hole = np.array([[place - 0.5, low + 0.2, place + 0.5, high - 0.1]])
            face = Frame(out(np.array((0.0, 0.0, front))), out.right, _UP)
            facades.wall(
                parts,
                "frame_white",
                face,
                np.array([place - 0.68, low - 0.35]),
                np.array([place + 0.68, high]),
                hole,
            )
            facades.windows(parts, "frame_white", face, hole, facades.Window(), rng)
        else:
            z = middle - 2.1
            y = top + 2.1 * t
            c, s = float(np.cos(slope)), float(np.sin(slope))
            along = np.array(out.up) * s - (out(np.array((0.0, 0.0, 1.0))) - out(np.zeros(3))) * c
            plane = Frame(out(np.array((place, y, z))), out.right, along)
            parts.boxes("frame_dark", (-0.45, 0.0, -0.05), (0.45, 1.15, 0.06), frame=plane, omit=("-z",))
            parts.boxes("glass", (-0.38, 0.07, 0.0), (0.38, 1.08, 0.066), frame=plane, omit=("-z",))


def _chimney(house: House, x: float, y: float, low: float, high: float) -> None:
    parts = house.parts
    parts.boxes("brick_1", (x - 0.35, y - 0.28, low), (x + 0.35, y + 0.28, high))
    parts.boxes("plinth", (x - 0.42, y - 0.35, high), (x + 0.42, y + 0.35, high + 0.1))
    for offset in (-0.16, 0.16):
        pot = [(0.1, 0.0), (0.09, 0.35), (0.11, 0.38), (0.0, 0.38)]
        parts.lathe("brick_1", pot, sides=10, frame=Frame((x + offset, y, high + 0.1)))
    house.boxes.append(((x - 0.42, y - 0.35, low), (x + 0.42, y + 0.35, high + 0.45)))


def flat_roof(house: House, plan: Plan, top: float, wall: str, rng: np.random.Generator) -> None:
    """Add a roof of gravel with a parapet, and equipment.

    Args:
        house: The house.
        plan: Its plan.
        top: Height of its walls [m].
        wall: Surface of the parapet.
        rng: Random numbers.
    """
    parts, half, depth = house.parts, plan.width / 2, plan.depth
    thick, high = 0.25, top + 0.55
    parts.quads(
        "roof_gravel",
        np.array(
            [
                [
                    (-half, 0.0, top + 0.1),
                    (half, 0.0, top + 0.1),
                    (half, depth, top + 0.1),
                    (-half, depth, top + 0.1),
                ]
            ]
        ),
    )
    ring = (
        ((-half, 0.0), (half, thick)),
        ((-half, depth - thick), (half, depth)),
        ((-half, thick), (-half + thick, depth - thick)),
        ((half - thick, thick), (half, depth - thick)),
    )
    for (x0, y0), (x1, y1) in ring:
        parts.boxes(wall, (x0, y0, top), (x1, y1, high), omit=("-z", "+z"))
        house.boxes.append(((x0, y0, top), (x1, y1, high + 0.04)))
        grow = 0.03
        parts.boxes("coping", (x0 - grow, y0 - grow, high), (x1 + grow, y1 + grow, high + 0.04))
    floor = top + 0.1
    places = [(x, y) for x in (-0.5, 0.5) for y in (0.28, 0.72)]
    order = rng.permutation(4)
    for number, k in enumerate(order.tolist()):
        x = places[k][0] * (half - 0.6) * 1.0
        y = places[k][1] * depth
        kind = ("hatch", "unit", "solar", "vents")[number]
        if kind == "hatch" and plan.storeys >= 3:
            low, up = (x - 1.1, y - 1.2, floor), (x + 1.1, y + 1.2, floor + 2.3)
            parts.boxes(wall, low, up, omit=("-z",))
            parts.boxes("coping", (x - 1.2, y - 1.3, floor + 2.3), (x + 1.2, y + 1.3, floor + 2.4))
            parts.boxes("frame_dark", (x - 0.45, y - 1.23, floor), (x + 0.45, y - 1.19, floor + 2.05))
            house.boxes.append((low, (up[0], up[1], floor + 2.4)))
        elif kind == "unit":
            for shift in (-0.65, 0.65) if plan.width > 8 else (0.0,):
                _air_conditioner(house, x + shift, y, floor)
        elif kind == "solar" and plan.width > 7.5:
            _solar_panels(parts, x, y, floor)
        else:
            for dx, dy, tall in ((0.0, 0.0, 0.7), (0.5, 0.3, 0.5), (-0.5, 0.4, 0.9)):
                pipe = [(0.07, 0.0), (0.07, tall), (0.12, tall), (0.12, tall + 0.1), (0.0, tall + 0.16)]
                parts.lathe("zinc", pipe, sides=10, frame=Frame((x + dx, y + dy, floor)))
    if rng.uniform() < 0.5:
        mast = [(half - 0.6, depth - 0.6, floor), (half - 0.6, depth - 0.6, floor + 2.6)]
        parts.tube("zinc", mast, 0.025)
        for z, reach in ((2.5, 0.35), (2.3, 0.45), (2.1, 0.5)):
            parts.boxes(
                "zinc",
                (half - 0.6 - reach, depth - 0.61, floor + z),
                (half - 0.6 + reach, depth - 0.59, floor + z + 0.02),
            )


def _air_conditioner(house: House, x: float, y: float, floor: float) -> None:
    parts = house.parts
    low, high = (x - 0.5, y - 0.4, floor + 0.15), (x + 0.5, y + 0.4, floor + 1.05)
    parts.boxes("zinc", low, high)
    parts.boxes("frame_dark", (x - 0.45, y - 0.41, floor + 0.3), (x + 0.45, y - 0.395, floor + 0.95))
    for side in (-0.42, 0.36):
        parts.boxes("black", (x + side, y - 0.4, floor), (x + side + 0.06, y + 0.4, floor + 0.15))
    fan = Frame((x, y, floor + 1.05))
    parts.lathe(
        "black", [(0.36, 0.0), (0.36, 0.05), (0.32, 0.05), (0.3, 0.01), (0.0, 0.01)], sides=16, frame=fan
    )
    house.boxes.append(((x - 0.5, y - 0.41, floor), (x + 0.5, y + 0.4, floor + 1.1)))


def _solar_panels(parts: Parts, x: float, y: float, floor: float) -> None:
    tilt = np.radians(25.0)
    for row in range(2):
        for column in range(2):
            corner = (x - 1.05 + column * 1.08, y - 1.0 + row * 1.1, floor + 0.15)
            plane = Frame(corner, (1.0, 0.0, 0.0), (0.0, float(np.cos(tilt)), float(np.sin(tilt))))
            parts.boxes("zinc", (0.0, 0.0, -0.04), (1.02, 0.95, 0.0), frame=plane)
            parts.boxes("solar", (0.03, 0.03, -0.02), (0.99, 0.92, 0.004), frame=plane, omit=("-z",))
            parts.boxes("zinc", (0.1, 0.88, -0.5), (0.14, 0.92, -0.04), frame=plane)
