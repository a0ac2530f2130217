"""Walls with windows, doors, shop fronts and balconies.

Facades are in the frame of their elevation: x right, y up, z towards the street [m].
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.town.parts import Frame, Parts

REVEAL = 0.16
"""Depth of windows behind the wall face [m]."""
_BACK = ("-z",)
_STREAK = 0.003
"""Distance of streaks from the wall [m]."""


@dataclass(frozen=True)
class Window:
    """Style of a house's windows."""

    width: float = 1.1
    height: float = 1.5
    sill: float = 0.9
    """Height of the lower edge above the floor [m]."""
    frame: str = "frame_white"
    sashes: int = 2
    """Number of sashes."""
    transom: float = 0.0
    """Relative height of a cross bar; 0 for none."""
    surround: str | None = None
    """Surface of a moulding around it."""
    shutters: str | None = None
    """Surface of shutters at both sides."""


@dataclass
class Openings:
    """Rectangles cut out of a wall: left, bottom, right, top [m]."""

    windows: list[tuple[float, float, float, float]] = field(default_factory=list)
    doors: list[tuple[float, float, float, float]] = field(default_factory=list)
    shops: list[tuple[float, float, float, float]] = field(default_factory=list)

    def all(self) -> Array:
        """Return all of them, shape (K, 4)."""
        return np.array([*self.windows, *self.doors, *self.shops]).reshape(-1, 4)


def wall(parts: Parts, key: str, frame: Frame, low: Array, high: Array, holes: Array) -> None:
    """Add a wall with rectangular holes.

    Args:
        parts: Parts to extend.
        key: Its surface.
        frame: Frame of its elevation.
        low: Lower left corner [m], shape (2,).
        high: Upper right corner [m], shape (2,).
        holes: Left, bottom, right, top of each [m], shape (K, 4).
    """
    x = np.unique(np.round(np.concatenate([[low[0], high[0]], holes[:, 0], holes[:, 2]]), 4))
    y = np.unique(np.round(np.concatenate([[low[1], high[1]], holes[:, 1], holes[:, 3]]), 4))
    middle_x, middle_y = (x[:-1] + x[1:]) / 2, (y[:-1] + y[1:]) / 2
    solid = np.ones((len(middle_y), len(middle_x)), dtype=np.bool_)
    for left, bottom, right, top in holes:
        solid[np.ix_((middle_y > bottom) & (middle_y < top), (middle_x > left) & (middle_x < right))] = False
    quads = []
    for row in range(len(middle_y)):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], solid[row], [False]])))
        for a, b in zip(edges[::2], edges[1::2], strict=True):
            quads.append([(x[a], y[row]), (x[b], y[row]), (x[b], y[row + 1]), (x[a], y[row + 1])])
    flat = np.array(quads)
    parts.quads(key, np.concatenate([flat, np.zeros((*flat.shape[:2], 1))], axis=2), frame=frame)


def reveals(parts: Parts, key: str, frame: Frame, holes: Array, depth: float = REVEAL) -> None:
    """Add the four reveals of holes."""
    left, bottom, right, top = holes.T
    front, back = np.zeros_like(left), np.full_like(left, -depth)
    corners = [(left, bottom), (right, bottom), (right, top), (left, top)]
    for k in range(4):
        (xa, ya), (xb, yb) = corners[k], corners[(k + 1) % 4]
        quad = [(xa, ya, front), (xb, yb, front), (xb, yb, back), (xa, ya, back)]
        parts.quads(key, np.stack([np.stack(corner, axis=-1) for corner in quad], axis=1), frame=frame)


def bars(
    parts: Parts, key: str, frame: Frame, x0: Array, y0: Array, x1: Array, y1: Array, z: tuple[float, float]
) -> None:
    """Add boxes in front of a wall, open at their backs."""
    x0, y0, x1, y1 = np.broadcast_arrays(x0, y0, x1, y1)
    low = np.stack([x0, y0, np.full_like(x0, z[0], dtype=np.float64)], axis=-1)
    high = np.stack([x1, y1, np.full_like(x0, z[1], dtype=np.float64)], axis=-1)
    parts.boxes(key, low, high, frame=frame, omit=_BACK)


def border(parts: Parts, key: str, frame: Frame, holes: Array, width: float, z: tuple[float, float]) -> None:
    """Add frames of a width inside rectangles; outside for negative widths."""
    left, bottom, right, top = holes.T
    if width < 0:
        left, bottom, right, top = left + width, bottom + width, right - width, top - width
        width = -width
    bars(parts, key, frame, left, bottom, right, bottom + width, z)
    bars(parts, key, frame, left, top - width, right, top, z)
    bars(parts, key, frame, left, bottom + width, left + width, top - width, z)
    bars(parts, key, frame, right - width, bottom + width, right, top - width, z)


def glazing(
    parts: Parts, frame: Frame, holes: Array, look: Window, rng: np.random.Generator, *, pane: str = "glass"
) -> None:
    """Add frames, sashes and panes, some with curtains, behind holes of a wall."""
    border(parts, look.frame, frame, holes, 0.06, (-REVEAL, -REVEAL + 0.07))
    left, bottom, right, top = holes.T
    width, height = right - left, top - bottom
    inner = (-REVEAL, -REVEAL + 0.05)
    for k in range(1, look.sashes):
        x = left + width * k / look.sashes
        bars(parts, look.frame, frame, x - 0.035, bottom + 0.06, x + 0.035, top - 0.06, inner)
    if look.transom > 0:
        y = bottom + height * look.transom
        bars(parts, look.frame, frame, left + 0.06, y - 0.03, right - 0.06, y + 0.03, inner)
    # Curtains leave the middle free by a random width; blinds hang from above.
    kind = rng.uniform(size=len(holes))
    share = np.where(kind < 0.45, rng.uniform(0.12, 0.34, len(holes)), 0.0)
    drop = np.where(kind > 0.75, rng.uniform(0.15, 0.7, len(holes)), 0.0)
    z = np.full_like(left, -REVEAL + 0.012)

    def pane_quads(key: str, x0: Array, y0: Array, x1: Array, y1: Array) -> None:
        some = (x1 - x0 > 1e-6) & (y1 - y0 > 1e-6)
        quads = np.stack(
            [np.stack(c, axis=-1) for c in ((x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z))], axis=1
        )[some]
        if len(quads):
            parts.quads(key, quads, frame=frame)

    a, b, shade = left + share * width, right - share * width, top - drop * height
    pane_quads("curtain", left, bottom, a, top)
    pane_quads("curtain", b, bottom, right, top)
    pane_quads("curtain", a, shade, b, top)
    pane_quads(pane, a, bottom, b, shade)


def windows(
    parts: Parts, key: str, frame: Frame, holes: Array, look: Window, rng: np.random.Generator
) -> None:
    """Add the windows of holes: reveals, glazing, sills, mouldings, shutters."""
    if not len(holes):
        return
    reveals(parts, key, frame, holes)
    glazing(parts, frame, holes, look, rng)
    left, bottom, right, top = holes.T
    bars(parts, "stone", frame, left - 0.08, bottom - 0.06, right + 0.08, bottom, (-0.02, 0.07))
    if look.surround is not None:
        bars(parts, look.surround, frame, left - 0.14, bottom, left, top, (0.0, 0.035))
        bars(parts, look.surround, frame, right, bottom, right + 0.14, top, (0.0, 0.035))
        bars(parts, look.surround, frame, left - 0.18, top, right + 0.18, top + 0.18, (0.0, 0.06))
    if look.shutters is not None:
        half = (right - left) / 2
        for x0, x1 in ((left - half - 0.03, left - 0.03), (right + 0.03, right + half + 0.03)):
            bars(parts, look.shutters, frame, x0, bottom - 0.02, x1, top + 0.02, (0.0, 0.03))
            count = 9
            for k in range(count):
                y = bottom + 0.08 + (top - bottom - 0.2) * k / (count - 1)
                bars(parts, look.shutters, frame, x0 + 0.07, y, x1 - 0.07, y + 0.035, (0.03, 0.045))


def streaks(parts: Parts, key: str, frame: Frame, holes: Array, rng: np.random.Generator) -> None:
    """Add tapered streaks that rain has left below the sills of windows, mostly below their ends."""
    left, bottom, right, _ = holes.T
    place = np.array([0.0, 0.02, 0.35, 0.93, 0.99]) + rng.uniform(-0.02, 0.02, (len(holes), 5))
    middle = left[:, None] - 0.06 + place * (right - left + 0.12)[:, None]
    width = rng.uniform(0.012, 0.05, middle.shape)
    drop = rng.uniform(0.10, 0.65, middle.shape)
    top = np.broadcast_to(bottom[:, None] - 0.06, middle.shape)
    z = np.full_like(middle, _STREAK)
    corners = [
        np.stack([middle + side * width, height, z], axis=-1)
        for side, height in ((-0.5, top), (0.0, top - drop), (0.5, top))
    ]
    parts.triangles(key, np.stack(corners, axis=2)[rng.uniform(size=middle.shape) < 0.7], frame=frame)


def doors(parts: Parts, key: str, frame: Frame, holes: Array, leaf: str) -> None:
    """Add doors with a fanlight, panels, a handle and a step."""
    if not len(holes):
        return
    deep = 0.3
    reveals(parts, key, frame, holes, deep)
    left, bottom, right, top = holes.T
    split = bottom + 2.15
    bars(parts, leaf, frame, left, bottom, right, split, (-deep, -deep + 0.05))
    bars(parts, "frame_white", frame, left, split, right, split + 0.08, (-deep, -deep + 0.08))
    bars(parts, "glass", frame, left, split + 0.08, right, top, (-deep, -deep + 0.02))
    for low, high in ((0.15, 0.75), (0.9, 1.95)):
        for a, b in ((0.1, 0.47), (0.53, 0.9)):
            x0, x1 = left + a * (right - left), left + b * (right - left)
            bars(parts, leaf, frame, x0, bottom + low, x1, bottom + high, (-deep + 0.05, -deep + 0.07))
    bars(
        parts,
        "zinc",
        frame,
        right - 0.17,
        bottom + 1.0,
        right - 0.11,
        bottom + 1.14,
        (-deep + 0.05, -deep + 0.11),
    )
    bars(parts, "plinth", frame, left - 0.15, np.zeros_like(left), right + 0.15, bottom, (-deep, 0.3))


def shops(parts: Parts, key: str, frame: Frame, holes: Array, cloth: str, rng: np.random.Generator) -> None:
    """Add shop fronts: a glass front with a door, a board above, and awnings over some."""
    if not len(holes):
        return
    reveals(parts, key, frame, holes, 0.25)
    for left, bottom, right, top in holes.tolist():
        hole = np.array([[left, bottom, right, top]])
        border(parts, "frame_dark", frame, hole, 0.07, (-0.25, -0.17))
        door = right - 1.05
        bars(
            parts,
            "frame_dark",
            frame,
            np.array([door - 0.05]),
            bottom,
            np.array([door + 0.03]),
            top,
            (-0.25, -0.18),
        )
        bars(
            parts,
            "frame_dark",
            frame,
            np.array([left]),
            np.array([top - 0.6]),
            np.array([right]),
            np.array([top - 0.53]),
            (-0.25, -0.19),
        )
        bars(
            parts,
            "wood",
            frame,
            np.array([left + 0.07]),
            bottom,
            np.array([door - 0.05]),
            np.array([bottom + 0.4]),
            (-0.25, -0.17),
        )
        bars(
            parts,
            "glass",
            frame,
            np.array([left]),
            bottom,
            np.array([right]),
            np.array([top]),
            (-0.25, -0.235),
        )
        # Goods behind the pane, as patches of colour.
        for x in np.arange(left + 0.3, door - 0.5, 0.55).tolist():
            tall = float(rng.uniform(0.3, 1.1))
            bars(
                parts,
                "display",
                frame,
                np.array([x]),
                np.array([bottom + 0.42]),
                np.array([x + float(rng.uniform(0.25, 0.5))]),
                np.array([bottom + 0.42 + tall]),
                (-0.235, -0.233),
            )
        bars(
            parts,
            cloth,
            frame,
            np.array([left - 0.1]),
            np.array([top + 0.06]),
            np.array([right + 0.1]),
            np.array([top + 0.5]),
            (0.0, 0.07),
        )
        if rng.uniform() < 0.65:
            awning(parts, frame, left - 0.05, right + 0.05, top - 0.02, cloth)


def awning(parts: Parts, frame: Frame, left: float, right: float, top: float, cloth: str) -> None:
    """Add a striped awning with a valance."""
    out, drop, valance = 1.15, 0.45, 0.2
    count = max(2, round((right - left) / 0.28))
    x = np.linspace(left, right, count + 1)
    for k in range(count):
        a, b = x[k], x[k + 1]
        key = cloth if k % 2 == 0 else "frame_white"
        top_line, low, end = (top, 0.08), (top - drop, out), (top - drop - valance, out + 0.02)
        rows = [top_line, low, end]
        for (y0, z0), (y1, z1) in pairwise(rows):
            quad = np.array([[(a, y1, z1), (b, y1, z1), (b, y0, z0), (a, y0, z0)]])
            parts.quads(key, quad, frame=frame)
            # The underside, slightly below, so that both sides are visible.
            parts.quads(key, quad[:, ::-1] - [0.0, 0.004, 0.004], frame=frame)
    for x_side, order in ((left, 1), (right, -1)):
        corner = np.array([[(x_side, top, 0.08), (x_side, top - drop, 0.08), (x_side, top - drop, out)]])
        parts.triangles(cloth, corner[:, ::order], frame=frame)


def balcony(parts: Parts, frame: Frame, left: float, right: float, floor: float, *, glass: bool) -> None:
    """Add a balcony: a slab and a railing of bars or of panes."""
    out = 1.2
    parts.boxes("plinth", (left, floor - 0.16, 0.0), (right, floor, out), frame=frame, omit=_BACK)
    top = floor + 1.05
    for side in (left + 0.03, right - 0.03):
        parts.boxes("frame_dark", (side - 0.02, top - 0.04, 0.0), (side + 0.02, top, out), frame=frame)
    parts.boxes(
        "frame_dark", (left + 0.01, top - 0.04, out - 0.05), (right - 0.01, top, out - 0.01), frame=frame
    )
    if glass:
        parts.boxes(
            "car_glass",
            (left + 0.02, floor, out - 0.04),
            (right - 0.02, top - 0.06, out - 0.025),
            frame=frame,
        )
        for side in (left + 0.02, right - 0.035):
            parts.boxes("car_glass", (side, floor, 0.02), (side + 0.015, top - 0.06, out - 0.04), frame=frame)
        return
    x = np.linspace(left + 0.03, right - 0.03, max(2, round((right - left) / 0.13)) + 1)
    low = np.stack([x - 0.009, np.full_like(x, floor), np.full_like(x, out - 0.04)], axis=-1)
    parts.boxes("frame_dark", low, low + np.array([0.018, 1.02, 0.018]), frame=frame, omit=("-y", "+y"))
    z = np.arange(0.1, out - 0.08, 0.13)
    for side in (left + 0.03, right - 0.03):
        low = np.stack([np.full_like(z, side - 0.009), np.full_like(z, floor), z], axis=-1)
        parts.boxes("frame_dark", low, low + np.array([0.018, 1.02, 0.018]), frame=frame, omit=("-y", "+y"))
