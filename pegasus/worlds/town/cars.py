"""Parked cars: smooth body through cross-sections, with projected details."""

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.worlds.town.car_details import add_back, add_front, add_sides, add_wheel
from pegasus.worlds.town.car_shapes import CarShape, smooth_line
from pegasus.worlds.town.parts import Parts

_ARCH = 0.06
"""Gap between a tyre and the arch around it [m]."""


# Points of a cross-section from the centre of the floor to the centre of the roof.
_LOWER = np.array([0.0, 0.12, 0.38, 0.66, 0.88, 1.0])
_BULGE = np.array([-0.05, -0.012, 0.0, 0.004, -0.014, -0.045])
_WINDOW = np.array([0.06, 0.5, 0.94])


def draw(shape: CarShape) -> Parts:
    """Return a car on its wheels at the origin."""
    parts = Parts()
    x = _stations(shape)
    rings = _rings(shape, x)
    _skin(parts, shape, x, rings)
    body = np.concatenate([parts.shape(key)[0][parts.shape(key)[1]] for key in parts.keys])
    add_front(parts, shape, body)
    add_back(parts, shape, body)
    add_sides(parts, shape, body)
    for axle in shape.axles:
        for side in (-1.0, 1.0):
            center = (axle, side * (shape.width / 2 - 0.12), shape.wheel)
            add_wheel(parts, center, shape.wheel, side)
    return parts


def hulls(shape: CarShape) -> list[Array]:
    """Return the two convex colliders of a car: rings of points along x [m], each (R, 4, 3)."""
    half, ends = shape.width / 2, shape.length / 2
    belt, roof = (float(smooth_line(line, np.zeros(1))[0]) for line in (shape.belt, shape.top))
    sill, (rear, front) = shape.sill, shape.axles
    # Position along x, half width, lower and upper edge.
    body = [
        (-ends, 0.85 * half, 0.32, belt - 0.25),
        (-ends + 0.15, 0.97 * half, sill, belt),
        (rear, half, 0.0, belt),
        (front, half, 0.0, belt - 0.03),
        (ends - 0.4, 0.9 * half, sill, belt - 0.12),
        (ends, 0.7 * half, 0.32, 0.6),
    ]
    (foot, top), (back_top, back) = shape.screen, shape.rear_screen
    cabin = [
        (back, 0.9 * half, belt - 0.05, belt),
        (back_top, 0.7 * half, belt - 0.05, roof - 0.06),
        (top, 0.7 * half, belt - 0.05, roof - 0.06),
        (foot, 0.9 * half, belt - 0.05, belt),
    ]
    return [
        np.array([[(x, -w, low), (x, w, low), (x, w, high), (x, -w, high)] for x, w, low, high in part])
        for part in (body, cabin)
    ]


def _stations(shape: CarShape) -> Array:
    """Return the positions of cross-sections: dense at wheels, ends and window edges."""
    half = shape.length / 2
    places = [
        np.linspace(-half + 0.12, half - 0.12, 19),
        half - np.array([0.0, 0.012, 0.035, 0.075]),
        np.array([0.0, 0.012, 0.035, 0.075]) - half,
    ]
    radius = shape.wheel + _ARCH
    flank = np.sqrt(radius**2 - (shape.wheel - shape.sill) ** 2)
    reach = np.sort(
        np.concatenate(
            [radius * np.cos(np.linspace(0.3, np.pi - 0.3, 11)), [-flank, flank, -flank - 0.02, flank + 0.02]]
        )
    )
    for axle in shape.axles:
        places.append(axle + reach)
    for pillar in shape.pillars:
        places.append(np.array([pillar - 0.045, pillar + 0.045]))
    places.append(np.array([*shape.screen, *shape.rear_screen, shape.glazed_to]))
    places.append(np.linspace(*shape.screen, 5))
    x = np.unique(np.round(np.concatenate(places), 4))
    chosen: Array = x[np.concatenate([[True], np.diff(x) > 0.004])]
    return chosen


def _rings(shape: CarShape, x: Array) -> Array:
    """Return half cross-sections from the centre of the floor to the centre of the roof."""
    half = shape.length / 2
    top, belt = smooth_line(shape.top, x), smooth_line(shape.belt, x)
    belt = np.minimum(belt, top - 0.035)
    low = np.full_like(x, shape.sill)
    ends = np.maximum(np.abs(x) - half + 0.35, 0.0) / 0.35
    low = low + 0.10 * ends**2
    radius = shape.wheel + _ARCH
    for axle in shape.axles:
        inside = np.maximum(radius**2 - (x - axle) ** 2, 0.0)
        low = np.maximum(low, np.where(inside > 0, shape.wheel + np.sqrt(inside), 0.0))
    # Plan: widest in the middle, narrower towards the ends.
    away = np.abs(x) / half
    wide = shape.width / 2 * (1.0 - 0.05 * away**2 - 0.13 * np.maximum((away - 0.82) / 0.18, 0.0) ** 3)
    rings = np.zeros((len(x), 2 + len(_LOWER) + len(_WINDOW) + 3, 3))
    rings[..., 0] = x[:, None]
    height = belt - low
    rings[:, 0, 2] = rings[:, 1, 2] = low
    rings[:, 1, 1] = wide - 0.16
    rings[:, 2:8, 1] = wide[:, None] + _BULGE * np.minimum(height / 0.5, 1.0)[:, None] * 1.6
    rings[:, 2:8, 2] = low[:, None] + _LOWER * height[:, None]
    cabin = top - belt
    shoulder = wide - 0.085
    rail = shoulder - 0.30 * np.maximum(cabin - 0.06, 0.0)
    edge = np.minimum(0.09, 0.5 * cabin)
    rings[:, 8:11, 1] = shoulder[:, None] + (rail - shoulder)[:, None] * _WINDOW**1.3
    rings[:, 8:11, 2] = belt[:, None] + (cabin - edge)[:, None] * _WINDOW
    for column, (across, down) in zip((11, 12, 13), ((0.9, 0.42), (0.55, 0.1), (0.0, 0.0)), strict=True):
        rings[:, column, 1] = rail * across
        rings[:, column, 2] = top - edge * down
    return rings


def _bend(shape: CarShape, points: Array) -> Array:
    """Return points with the ends of the car curved back, as bumpers."""
    half = shape.length / 2
    near = np.clip((np.abs(points[..., 0]) - half + 0.9) / 0.9, 0.0, 1.0) ** 2
    across = np.abs(points[..., 1]) / (shape.width / 2)
    bent = points.copy()
    bent[..., 0] -= np.sign(points[..., 0]) * near * (0.16 * across**2.5 + 0.07 * across)
    return bent


def _skin(parts: Parts, shape: CarShape, x: Array, half: Array) -> None:
    """Add the body: rows from back to front, columns around."""
    other = half[:, ::-1] * [1.0, -1.0, 1.0]
    # From the floor up the left side, over the roof and down the right side.
    ring = np.concatenate([half, other[:, 1:]], axis=1)[:, ::-1]
    count, last = half.shape[1], 2 * half.shape[1] - 2
    column = np.arange(last)
    column = np.minimum(column, last - 1 - column)
    middle = (x[:-1] + x[1:]) / 2
    black = np.broadcast_to(column < 2, (len(middle), last)).copy()
    side_glass = (
        np.isin(column, (8, 9))[None, :]
        & ((middle < shape.screen[0] - 0.16) & (middle > shape.glazed_to))[:, None]
    )
    tall = (half[:-1, count - 1, 2] - half[:-1, 7, 2] > 0.14)[:, None]
    side_glass &= tall
    pillar = np.zeros(len(middle), dtype=np.bool_)
    for place in shape.pillars:
        pillar |= np.abs(middle - place) < 0.045
    lower, upper = shape.screen
    upper_rear, lower_rear = shape.rear_screen
    slopes = ((middle < lower - 0.02) & (middle > upper)) | ((middle < upper_rear) & (middle > lower_rear))
    screens = (column >= 11)[None, :] & slopes[:, None]
    black |= side_glass & pillar[:, None]
    glass = (side_glass & ~pillar[:, None]) | screens
    grid = _bend(shape, ring)
    masks: dict[str, BoolArray] = {"paint": ~(black | glass), "black": black, "car_glass": glass}
    parts.sheet(masks, grid)
    for end, sign in ((0, 1), (-1, -1)):
        left = half[end]
        across = np.linspace(-1.0, 1.0, 11)
        cap = np.repeat(left[:, None, :], len(across), axis=1)
        cap[..., 1] = left[:, None, 1] * across
        cap = _bend(shape, cap)
        cap = cap if sign < 0 else cap[:, ::-1]
        cells = np.broadcast_to((np.arange(count - 1) < 3)[:, None], (count - 1, len(across) - 1))
        parts.sheet({"paint": ~cells, "black": cells}, cap[:, ::-1])
