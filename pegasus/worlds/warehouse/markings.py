"""Floor markings: lanes, walkways, hatches, letters."""

import numpy as np

from pegasus.scene.authoring import group
from pegasus.worlds.lettering import lettering, on_floor
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import Solid, draw, polygons
from pegasus.worlds.warehouse.layout import OVERHANG, RACK_DEPTH, Layout
from pegasus.worlds.warehouse.racks import aisle_name

_LINE = 0.1
_LIFT = 0.003
_WALKWAY = 1.2


def build_markings(site: Site, layout: Layout) -> None:
    """Write the floor markings."""
    stage = site.stage
    yellow = site.paint("marking_yellow", (0.72, 0.45, 0.02), roughness=0.55, collides=False)
    white = site.paint("marking_white", (0.7, 0.7, 0.68), roughness=0.55, collides=False)
    group(stage, f"{ROOT}/Markings", "marking")
    draw(stage, f"{ROOT}/Markings/Lanes", [*_aisle_lines(layout), *_staging_lines(layout)], yellow)
    draw(stage, f"{ROOT}/Markings/Walkway", _walkway(layout), white)
    draw(stage, f"{ROOT}/Markings/Letters", _letters(layout), white)
    draw(stage, f"{ROOT}/Markings/Hatches", _hatches(layout), yellow)


def lane_pairs(layout: Layout) -> list[tuple[float, float, float, float]]:
    """Return the staging rectangles in front of the doors: x0, y0, x1, y1 [m]."""
    start, end = -layout.length / 2 + 2.75, layout.lane - 1.75
    return [(start, y - 1.5, end, y + 1.5) for y in layout.doors]


def _rectangle(x0: float, y0: float, x1: float, y1: float) -> Solid:
    corners = np.array([[x0, y0, _LIFT], [x1, y0, _LIFT], [x1, y1, _LIFT], [x0, y1, _LIFT]])
    return polygons([corners])


def _frame(x0: float, y0: float, x1: float, y1: float) -> list[Solid]:
    """Return the outline of a rectangle, without overlaps."""
    return [
        _rectangle(x0, y0, x1, y0 + _LINE),
        _rectangle(x0, y1 - _LINE, x1, y1),
        _rectangle(x0, y0 + _LINE, x0 + _LINE, y1 - _LINE),
        _rectangle(x1 - _LINE, y0 + _LINE, x1, y1 - _LINE),
    ]


def _aisle_lines(layout: Layout) -> list[Solid]:
    half = layout.aisle_width / 2 - OVERHANG - 0.08
    return [
        _rectangle(layout.front - 0.1, y + s * half - _LINE / 2, layout.back + 0.1, y + s * half + _LINE / 2)
        for y in layout.aisles
        for s in (-1.0, 1.0)
    ]


def _staging_lines(layout: Layout) -> list[Solid]:
    return [line for lane in lane_pairs(layout) for line in _frame(*lane)]


def _walkway(layout: Layout) -> list[Solid]:
    """Return a walkway behind the racks with bars across, and its edges."""
    x1 = layout.length / 2 - 0.4
    x0 = x1 - _WALKWAY
    half = layout.width / 2 - 0.6
    parts = [_rectangle(x0 - _LINE, -half, x0, half), _rectangle(x1, -half, x1 + _LINE, half)]
    for y in layout.aisles:
        for k in range(4):
            at = y - 0.9 + 0.5 * k
            parts.append(_rectangle(x0 + 0.08, at, x1 - 0.08, at + 0.28))
    return parts


def _letters(layout: Layout) -> list[Solid]:
    """Return the letter of each aisle, an arrow behind it, and the number of each dock."""
    parts: list[Solid] = []
    for k, y in enumerate(layout.aisles):
        parts.append(on_floor(lettering(aisle_name(k), 1.0), layout.front + 0.9, y, yaw=-90.0, lift=_LIFT))
        tip = layout.front + 3.4
        head = [[tip, y, _LIFT], [tip - 0.6, y + 0.32, _LIFT], [tip - 0.6, y - 0.32, _LIFT]]
        parts.append(polygons([np.array(head)]))
        parts.append(_rectangle(tip - 1.5, y - 0.09, tip - 0.6, y + 0.09))
    for k, (_, y0, x1, y1) in enumerate(lane_pairs(layout)):
        parts.append(on_floor(lettering(f"{k + 1:02d}", 0.8), x1 - 0.7, (y0 + y1) / 2, yaw=90.0, lift=_LIFT))
    return parts


def _hatches(layout: Layout) -> list[Solid]:
    """Return hatched fields at the front ends of the rows."""
    parts: list[Solid] = []
    ys = [row.y for row in layout.rows]
    x0, x1 = layout.front - 0.95, layout.front - 0.6
    for y in ys:
        y0, y1 = y - RACK_DEPTH / 2, y + RACK_DEPTH / 2
        count = 5
        step = (y1 - y0) / count
        for k in range(count):
            a = y0 + k * step
            corners = [
                [x0, a, _LIFT],
                [x1, a + step / 2, _LIFT],
                [x1, a + step, _LIFT],
                [x0, a + step / 2, _LIFT],
            ]
            parts.append(polygons([np.array(corners)]))
    return parts
