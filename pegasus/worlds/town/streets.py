"""Ground: asphalt, markings, crossings, kerbs, sidewalks, and the meadow around the town."""

from itertools import pairwise

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.town.layout import (
    BAY,
    CORNER_RADIUS,
    CROSSING,
    KERB_HEIGHT,
    PARKING_LANE,
    SIDEWALK,
    STOP_LINE,
    Layout,
    bays,
)
from pegasus.worlds.town.parts import Frame, Parts

_NEAR = 35.0
"""Width of the meadow before the fields [m]."""
ROADWAY = 10.0
"""Width of the street that the image of the roadway shows [m]."""
_KERB = 0.15
_BEVEL = 0.03
_CORNER_STEPS = 8
# Heights of layers on the asphalt, far enough apart to avoid z-fighting [m].
_PATCH, _GUTTER, _LINE = 0.003, 0.004, 0.008


def rounded_square(half: float, radius: float, steps: int = _CORNER_STEPS) -> Array:
    """Return the outline of a square with round corners, counter-clockwise, shape (P, 2).

    Args:
        half: Half its side [m].
        radius: Radius of its corners [m].
        steps: Edges along each corner.
    """
    angle = np.linspace(0.0, np.pi / 2, steps + 1)
    arc = np.stack([np.cos(angle), np.sin(angle)], axis=1) * radius + (half - radius)
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    corners = [arc]
    for _ in range(3):
        corners.append(corners[-1] @ turn)
    return np.concatenate(corners)


def plate(side: float) -> Parts:
    """Return kerb and sidewalk around a block, without its inner ground.

    Args:
        side: Side of the block from kerb to kerb [m].
    """
    parts = Parts()
    half, inner = side / 2, side / 2 - SIDEWALK
    edges = [
        (rounded_square(half, CORNER_RADIUS), 0.0),
        (rounded_square(half, CORNER_RADIUS), KERB_HEIGHT - _BEVEL),
        (rounded_square(half - _BEVEL, CORNER_RADIUS - _BEVEL), KERB_HEIGHT),
        (rounded_square(half - _KERB, CORNER_RADIUS - _KERB), KERB_HEIGHT),
    ]
    rings = [np.column_stack([outline, np.full(len(outline), z)]) for outline, z in edges]
    for low, high in pairwise(rings):
        parts.quads("kerb", _strip(low, high))
    within = np.clip(rings[-1], -inner, inner)
    within[:, 2] = KERB_HEIGHT
    parts.quads("paving", _strip(rings[-1], within))
    return parts


def _strip(outer: Array, inner: Array) -> Array:
    """Return quads between two counter-clockwise closed lines, shape (P, 4, 3)."""
    return np.stack([outer, np.roll(outer, -1, axis=0), np.roll(inner, -1, axis=0), inner], axis=1)


def level(low: tuple[float, float], high: tuple[float, float], z: float) -> Array:
    """Return a horizontal rectangle facing up, shape (1, 4, 3)."""
    (x0, y0), (x1, y1) = low, high
    return np.array([[(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)]])


def rim(town: Layout, rng: np.random.Generator) -> Parts:
    """Return the sidewalk around the outermost streets, and the meadow and the fields beyond it."""
    parts = Parts()
    half, outer = town.size / 2, town.size / 2 + SIDEWALK

    def square(reach: float, z: float) -> Array:
        return np.array([(-reach, -reach, z), (reach, -reach, z), (reach, reach, z), (-reach, reach, z)])

    kerb = [
        square(half, 0.0),
        square(half, KERB_HEIGHT - _BEVEL),
        square(half + _BEVEL, KERB_HEIGHT),
        square(half + _KERB, KERB_HEIGHT),
    ]
    for inner_ring, outer_ring in pairwise(kerb):
        parts.quads("kerb", _strip(outer_ring, inner_ring))
    parts.quads("paving", _strip(square(outer, KERB_HEIGHT), kerb[-1]))
    parts.quads("kerb", _strip(square(outer, 0.0), square(outer, KERB_HEIGHT)))
    near = outer + _NEAR
    parts.quads("meadow", _strip(square(near, 0.0), square(outer, 0.0)))
    lines = np.concatenate(
        [
            -near - np.cumsum(rng.uniform(60.0, 140.0, 7))[::-1],
            [-near, near],
            near + np.cumsum(rng.uniform(60.0, 140.0, 7)),
        ]
    )
    for x0, x1 in pairwise(lines.tolist()):
        cuts = np.concatenate(
            [lines[:1], np.sort(rng.uniform(lines[0], lines[-1], 5)), [-near, near], lines[-1:]]
        )
        cuts = np.sort(cuts)
        for y0, y1 in pairwise(cuts.tolist()):
            if not (abs(x0 + x1) < near and abs(y0 + y1) < 2 * near):
                parts.quads(
                    str(rng.choice(["meadow", "field_0", "field_1", "field_2", "field_3"])),
                    level((x0, y0), (x1, y1), 0.0),
                )
    return parts


def roads(town: Layout, rng: np.random.Generator) -> Parts:
    """Return the asphalt under the whole town, with the wear of lanes on the streets between junctions."""
    parts = Parts()
    half = town.street / 2
    cuts = np.stack([town.lines - half, town.lines + half], axis=1).ravel()
    spans = list(pairwise(cuts.tolist()))
    for row, (y0, y1) in enumerate(spans):
        for column, (x0, x1) in enumerate(spans):
            quad = level((x0, y0), (x1, y1), 0.0)
            # Spans of even numbers are streets, those between them blocks.
            if row % 2 == column % 2:
                parts.quads("asphalt", quad)
                continue
            along, across = (0, 1) if row % 2 == 0 else (1, 0)
            u = quad[..., along] + round(float(rng.uniform(0.0, ROADWAY)), 3)
            v = (quad[..., across] - (y0 if across else x0)) * (ROADWAY / town.street)
            parts.quads("roadway", quad, uvs=np.stack([u, v], axis=-1))
    return parts


def street(town: Layout, rng: np.random.Generator) -> tuple[Parts, Parts]:
    """Return markings, manhole covers and crossings of a street along x."""
    lines, crossings = Parts(), Parts()
    half, edge = town.side / 2, town.street / 2
    dashes = np.arange(-half + STOP_LINE + 2.0, half - STOP_LINE - 4.0, 6.0)
    dashes = dashes + (half - STOP_LINE - 3.0 - dashes[-1] - 0.5) / 2 if len(dashes) else dashes
    for x in dashes.tolist():
        lines.quads("marking", level((x, -0.06), (x + 3.0, 0.06), _LINE))
    lane = edge - (PARKING_LANE if town.has_parking else 0.3)
    for sign in (-1.0, 1.0):
        # Right-hand traffic stops at the end ahead.
        x = -sign * (half - STOP_LINE)
        low, high = sorted((0.15 * sign, sign * (lane - 0.1)))
        lines.quads("marking", level((x - 0.2, low), (x + 0.2, high), _LINE))
        if town.has_parking:
            middles = bays(town.side)
            for middle in np.unique(
                np.round(np.concatenate([middles - BAY / 2, middles + BAY / 2]), 3)
            ).tolist():
                low, high = sorted((sign * lane, sign * (edge - 0.3)))
                lines.quads("marking", level((middle - 0.05, low), (middle + 0.05, high), _LINE))
            if len(middles):
                first, last = float(middles[0] - BAY / 2), float(middles[-1] + BAY / 2)
                low, high = sorted((sign * (lane - 0.05), sign * (lane + 0.05)))
                lines.quads("marking", level((first, low), (last, high), _LINE))
        low, high = sorted((sign * edge, sign * (edge - 0.28)))
        lines.quads("gutter", level((-half + CORNER_RADIUS, low), (half - CORNER_RADIUS, high), _GUTTER))
        for x in (-half / 3, half / 2.2):
            _grate(lines, x, sign * (edge - 0.22))
    width = 0.5
    count = int((2 * edge - 0.6) / (2 * width))
    rows = (np.arange(count) - (count - 1) / 2) * 2 * width
    for a, b in ((CROSSING[0] - half, CROSSING[1] - half), (half - CROSSING[1], half - CROSSING[0])):
        for y in rows.tolist():
            crossings.quads("marking", level((a, y - width / 2), (b, y + width / 2), _LINE))
    for _ in range(int(rng.integers(1, 4))):
        long, wide = float(rng.uniform(1.2, 6.0)), float(rng.uniform(0.6, 1.6))
        x, y = (
            float(rng.uniform(-half + 9.0, half - 9.0 - long)) if half > 13 else -half + 9.0,
            float(rng.uniform(-lane + 0.1, lane - wide - 0.1)),
        )
        lines.quads("patch", level((x, y), (x + long, y + wide), _PATCH))
    _cover(lines, float(rng.uniform(-half / 2, half / 2)), float(rng.uniform(-1.5, 1.5)))
    return lines, crossings


def junction(town: Layout, rng: np.random.Generator) -> Parts:
    """Return manhole covers and patches of a junction."""
    parts = Parts()
    reach = town.street / 2 - 1.5
    for _ in range(2):
        _cover(parts, float(rng.uniform(-reach, reach)), float(rng.uniform(-reach, reach)))
    long = float(rng.uniform(2.0, 4.0))
    parts.quads("patch", level((-long, 1.2), (long, 2.4), _PATCH))
    return parts


def _cover(parts: Parts, x: float, y: float) -> None:
    """Add a manhole cover with a concrete collar."""
    at = Frame((x, y, 0.0))
    parts.lathe("gutter", [(0.45, _GUTTER + 0.001), (0.34, _GUTTER + 0.001)], sides=20, frame=at)
    parts.lathe("iron", [(0.34, 0.003), (0.34, 0.011), (0.0, 0.011)], sides=20, frame=at)
    for k in range(-2, 3):
        reach = 0.26 - 0.03 * abs(k)
        parts.boxes(
            "patch",
            (x - reach, y + 0.1 * k - 0.02, 0.008),
            (x + reach, y + 0.1 * k + 0.02, 0.015),
            omit=("-z",),
        )


def _grate(parts: Parts, x: float, y: float) -> None:
    parts.boxes("iron", (x - 0.25, y - 0.17, 0.0), (x + 0.25, y + 0.17, 0.009), omit=("-z",))
    for k in range(6):
        at = x - 0.2 + 0.08 * k
        parts.quads("black", level((at - 0.018, y - 0.13), (at + 0.018, y + 0.13), 0.012))
