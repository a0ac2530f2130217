"""Details of cars: patches laid onto the skin, mirrors, wheels."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.town.car_shapes import ESTATE, VAN, CarShape, smooth_line
from pegasus.worlds.town.parts import Frame, Parts


def cast(body: Array, origins: Array, direction: Array) -> Array:
    """Return the distances of parallel rays to triangles [m], shape (R,).

    Source: Moeller and Trumbore 1997.

    Args:
        body: Triangles [m], shape (T, 3, 3).
        origins: Origins of the rays [m], shape (R, 3).
        direction: Unit vector, shape (3,).
    """
    a, e1, e2 = body[:, 0], body[:, 1] - body[:, 0], body[:, 2] - body[:, 0]
    p = np.cross(direction, e2)
    det = (e1 * p).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / det
        s = origins[:, None] - a
        u = (s * p).sum(axis=2) * inverse
        q = np.cross(s, e1)
        v = (q @ direction) * inverse
        t = (q * e2).sum(axis=2) * inverse
        hit = (np.abs(det) > 1e-12) & (u >= -1e-6) & (v >= -1e-6) & (u + v <= 1 + 1e-6) & (t > 0)
    distance: Array = np.where(hit, t, np.inf).min(axis=1)
    return distance


def _below(body: Array, flat: Array, right: Array) -> Array:
    """Return the triangles below a patch, seen along its direction."""
    seen = np.stack([body @ right, body[..., 2]], axis=-1)
    low, high = flat.min(axis=(0, 1)) - 1e-3, flat.max(axis=(0, 1)) + 1e-3
    near = (seen.max(axis=1) >= low).all(axis=1) & (seen.min(axis=1) <= high).all(axis=1)
    chosen: Array = body[near]
    return chosen


def _decal(
    parts: Parts,
    key: str,
    body: Array,
    direction: tuple[float, float, float],
    corners: Array,
    *,
    cells: tuple[int, int] = (4, 6),
    lift: float = 0.006,
) -> None:
    """Project a patch of four corners onto the body along a viewing direction.

    Args:
        parts: Parts to extend.
        key: Its surface.
        body: Triangles of the body [m], shape (T, 3, 3).
        direction: Viewing direction.
        corners: Lower left, lower right, upper right, upper left across the view [m], shape (4, 2).
        cells: Cells up and across.
        lift: Distance above the body [m].
    """
    look = np.array(direction)
    right = np.cross(look, [0.0, 0.0, 1.0])
    v, u = np.meshgrid(np.linspace(0, 1, cells[0] + 1), np.linspace(0, 1, cells[1] + 1), indexing="ij")
    a, b, c, d = (np.asarray(corner) for corner in corners)
    flat = (1 - v)[..., None] * ((1 - u)[..., None] * a + u[..., None] * b) + v[..., None] * (
        (1 - u)[..., None] * d + u[..., None] * c
    )
    origins = flat[..., :1] * right + flat[..., 1:] * np.array([0.0, 0.0, 1.0]) - 6.0 * look
    reach = cast(_below(body, flat, right), origins.reshape(-1, 3), look).reshape(flat.shape[:2])
    reach = np.where(np.isfinite(reach), reach, np.nanmax(np.where(np.isfinite(reach), reach, np.nan)))
    parts.sheet(key, origins + (reach - lift)[..., None] * look)


def _mirror(corners: Array) -> Array:
    return np.asarray(corners)[[1, 0, 3, 2]] * [-1.0, 1.0]


def add_front(parts: Parts, shape: CarShape, body: Array) -> None:
    """Add lights, grille, intake and plate; `body` holds triangles of the skin, shape (T, 3, 3)."""
    look, w = (-1.0, 0.0, 0.0), shape.width / 2
    z = float(smooth_line(shape.top, np.array([shape.length / 2]))[0])
    lamp = np.array([(0.50 * w, z - 0.03), (0.90 * w, z + 0.05), (0.88 * w, z + 0.15), (0.56 * w, z + 0.07)])
    inner = np.array(
        [(0.53 * w, z - 0.01), (0.72 * w, z + 0.025), (0.72 * w, z + 0.085), (0.58 * w, z + 0.055)]
    )
    for corners in (lamp, _mirror(lamp)):
        _decal(parts, "black", body, look, corners, lift=0.004)
    grow = np.array([(0.012, 0.012), (-0.012, 0.012), (-0.012, -0.012), (0.012, -0.012)])
    for corners in (lamp + grow, _mirror(lamp + grow)):
        _decal(parts, "head_light", body, look, corners, lift=0.008)
    for corners in (inner, _mirror(inner)):
        _decal(parts, "rim", body, look, corners, lift=0.012)
    grille = np.array(
        [(-0.44 * w, z - 0.09), (0.44 * w, z - 0.09), (0.48 * w, z + 0.02), (-0.48 * w, z + 0.02)]
    )
    _decal(parts, "black", body, look, grille)
    for k in range(3):
        y = z - 0.07 + 0.035 * k
        _decal(
            parts,
            "rim",
            body,
            look,
            np.array([(-0.42 * w, y), (0.42 * w, y), (0.42 * w, y + 0.008), (-0.42 * w, y + 0.008)]),
            cells=(1, 6),
            lift=0.014,
        )
    low = shape.sill + 0.10
    intake = np.array([(-0.62 * w, low), (0.62 * w, low), (0.55 * w, low + 0.1), (-0.55 * w, low + 0.1)])
    _decal(parts, "black", body, look, intake)
    _plate(parts, body, look, z - 0.19)


def _plate(parts: Parts, body: Array, look: tuple[float, float, float], z: float) -> None:
    plate = np.array([(-0.26, z - 0.055), (0.26, z - 0.055), (0.26, z + 0.055), (-0.26, z + 0.055)])
    _decal(parts, "plate", body, look, plate, lift=0.015)
    for k in range(7):
        if k == 2:
            continue
        x = -0.2 + 0.06 * k
        _decal(
            parts,
            "black",
            body,
            look,
            np.array([(x, z - 0.035), (x + 0.036, z - 0.035), (x + 0.036, z + 0.035), (x, z + 0.035)]),
            cells=(1, 1),
            lift=0.018,
        )


def add_back(parts: Parts, shape: CarShape, body: Array) -> None:
    """Add lights, plate and the line of the doors of a van."""
    look, w = (1.0, 0.0, 0.0), shape.width / 2
    z = float(smooth_line(shape.belt, np.array([-shape.length / 2 + 0.15]))[0])
    lamp = np.array([(0.60 * w, z - 0.16), (0.90 * w, z - 0.14), (0.86 * w, z + 0.03), (0.62 * w, z + 0.01)])
    if shape is VAN:
        lamp = np.array(
            [(0.66 * w, z - 0.30), (0.79 * w, z - 0.30), (0.77 * w, z + 0.06), (0.66 * w, z + 0.06)]
        )
    for corners in (lamp, _mirror(lamp)):
        _decal(parts, "tail_light", body, look, corners)
    strip = (
        lamp * [1.0, 0.0]
        + (0.35 * lamp[[0, 1, 1, 0]] + 0.65 * lamp[[3, 2, 2, 3]]) * [0.0, 1.0]
        + [[0.0, 0.0], [0.0, 0.0], [0.0, 0.03], [0.0, 0.03]]
    )
    for corners in (strip, _mirror(strip)):
        _decal(parts, "tail_light", body, look, corners * [1.0, 1.0], cells=(1, 4), lift=0.01)
    _plate(parts, body, look, z - 0.22)
    low = shape.sill + 0.1
    _decal(
        parts,
        "black",
        body,
        look,
        np.array([(-0.7 * w, low), (0.7 * w, low), (0.66 * w, low + 0.1), (-0.66 * w, low + 0.1)]),
    )
    if shape is VAN:
        _decal(
            parts,
            "black",
            body,
            look,
            np.array([(-0.006, low + 0.15), (0.006, low + 0.15), (0.006, 1.85), (-0.006, 1.85)]),
            cells=(14, 1),
            lift=0.004,
        )


def add_sides(parts: Parts, shape: CarShape, body: Array) -> None:
    """Add the gaps around doors, handles and mirrors."""
    lower = shape.sill + 0.1
    front, rear = shape.screen[0] - 0.18, shape.glazed_to + 0.12
    rear = max(rear, shape.axles[0] + shape.wheel + 0.12)
    gaps = [front, *[p for p in shape.pillars if p > rear + 0.2], rear]
    for look in ((0.0, 1.0, 0.0), (0.0, -1.0, 0.0)):
        # Seen along +y, x grows to the right.
        sign = look[1]
        for x in gaps:
            belt = float(smooth_line(shape.belt, np.array([x]))[0]) - 0.02
            line = np.array(
                [
                    (sign * x - 0.006, lower),
                    (sign * x + 0.006, lower),
                    (sign * x + 0.006, belt),
                    (sign * x - 0.006, belt),
                ]
            )
            _decal(parts, "black", body, look, line, cells=(8, 1), lift=0.003)
        a, b = sorted((sign * front, sign * rear))
        _decal(
            parts,
            "black",
            body,
            look,
            np.array([(a, lower - 0.005), (b, lower - 0.005), (b, lower + 0.006), (a, lower + 0.006)]),
            cells=(1, 12),
            lift=0.003,
        )
        for x in gaps[1:]:
            z = float(smooth_line(shape.belt, np.array([x]))[0]) - 0.13
            u = sign * (x + 0.16)
            _decal(
                parts,
                "rim" if shape is ESTATE else "paint",
                body,
                look,
                np.array(
                    [
                        (u - 0.09, z - 0.014),
                        (u + 0.09, z - 0.014),
                        (u + 0.09, z + 0.014),
                        (u - 0.09, z + 0.014),
                    ]
                ),
                cells=(2, 3),
                lift=0.028,
            )
    z = float(smooth_line(shape.belt, np.array([front]))[0]) + 0.09
    ball = np.linspace(0.02, np.pi - 0.02, 7)
    profile = np.stack([np.sin(ball), -np.cos(ball)], axis=1)
    for side in (-1.0, 1.0):
        mirror = Parts()
        mirror.lathe("paint", profile, sides=10, smooth=True)
        points, faces = mirror.shape("paint")
        place = np.array([front - 0.05, side * (shape.width / 2 + 0.055), z])
        moved = points * [0.075, 0.115, 0.075] + place
        parts.triangles("paint", moved[faces])
        parts.boxes(
            "black",
            (front - 0.03, side * shape.width / 2 - 0.09, z - 0.06),
            (front + 0.03, side * shape.width / 2 + 0.02, z - 0.02),
        )
        parts.boxes("car_glass", place - [0.078, 0.085, 0.05], place - [0.06, -0.085, -0.05])


def add_wheel(parts: Parts, center: tuple[float, float, float], radius: float, side: float) -> None:
    """Add a wheel: tyre, rim with five spokes, hub."""
    axis = (
        Frame(center, (1.0, 0.0, 0.0), (0.0, 0.0, side))
        if side < 0
        else Frame(center, (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    )
    axis = (
        Frame(center, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
        if side < 0
        else Frame(center, (-1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    )
    half, rim = 0.1, radius - 0.105
    tyre = [
        (rim, -half),
        (radius - 0.025, -half),
        (radius, -half + 0.025),
        (radius, half - 0.025),
        (radius - 0.025, half),
        (rim + 0.006, half - 0.012),
    ]
    parts.lathe("rubber", tyre, sides=28, frame=axis, smooth=True)
    parts.lathe(
        "rim",
        [(rim + 0.006, half - 0.012), (rim - 0.012, half - 0.012), (rim - 0.025, half - 0.05)],
        sides=28,
        frame=axis,
    )
    parts.lathe("black", [(rim - 0.025, half - 0.06), (0.0, half - 0.06)], sides=28, frame=axis)
    spokes = Parts()
    spokes.boxes("rim", (0.03, -0.035, half - 0.055), (rim - 0.01, 0.035, half - 0.022), omit=("-z",))
    spokes.turned(5)
    parts.join(spokes, axis)
    parts.lathe(
        "rim", [(0.065, half - 0.05), (0.06, half - 0.012), (0.0, half - 0.008)], sides=14, frame=axis
    )
