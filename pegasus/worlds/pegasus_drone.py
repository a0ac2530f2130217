"""Shapes of the Pegasus drone: hull, arms, motors, swept propellers, legs and wings.

All shapes are in the body frame: x forward, y left, z up, origin at the centre of the hull.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.scene.faces import Faces, loft_faces

# Cross-sections of the hull from tail to nose: x, half the width, upper edge, lower edge [m].
_SECTIONS = np.array(
    [
        [-0.1500, 0.0060, 0.0160, 0.0060],
        [-0.1480, 0.0190, 0.0240, 0.0000],
        [-0.1380, 0.0330, 0.0330, -0.0080],
        [-0.1150, 0.0440, 0.0420, -0.0190],
        [-0.0800, 0.0520, 0.0490, -0.0280],
        [-0.0350, 0.0570, 0.0530, -0.0330],
        [0.0150, 0.0570, 0.0535, -0.0340],
        [0.0600, 0.0530, 0.0480, -0.0325],
        [0.0950, 0.0460, 0.0385, -0.0290],
        [0.1200, 0.0380, 0.0290, -0.0240],
        [0.1380, 0.0285, 0.0200, -0.0170],
        [0.1475, 0.0180, 0.0125, -0.0100],
        [0.1500, 0.0060, 0.0050, -0.0030],
    ]
)
_WAIST = 0.004
_STEPS = 2
_CANOPY_MIDDLE, _CANOPY_LENGTH, _CANOPY_WIDTH = 0.062, 0.060, 0.84
_CANOPY_CORNERS, _CANOPY_RINGS, _CANOPY_LIFT = 44, 7, 0.0008
_CORNERS = 36
_EXPONENT = 2.5

# Arms, by the share from root to motor: height above the straight line, half width and half height [m].
_ARM = np.array(
    [
        [0.0, 0.000, 0.0230, 0.0110],
        [0.12, 0.002, 0.0195, 0.0098],
        [0.3, 0.005, 0.0150, 0.0082],
        [0.5, 0.006, 0.0120, 0.0070],
        [0.7, 0.005, 0.0102, 0.0062],
        [0.88, 0.002, 0.0098, 0.0058],
        [1.0, 0.000, 0.0100, 0.0055],
    ]
)
_ARM_ROOT = np.array([0.056, 0.030, 0.008])
_MOTOR_RADIUS = 0.0145

# Blade: distance from the axis, chord, sweep backwards and height, as parts of the radius.
_BLADE = np.array(
    [
        [0.055, 0.085, 0.000, 0.000],
        [0.12, 0.130, -0.012, 0.000],
        [0.2, 0.185, -0.026, 0.002],
        [0.32, 0.205, -0.034, 0.004],
        [0.46, 0.190, -0.028, 0.008],
        [0.6, 0.165, -0.008, 0.014],
        [0.74, 0.138, 0.026, 0.022],
        [0.86, 0.112, 0.068, 0.032],
        [0.94, 0.085, 0.106, 0.040],
        [0.985, 0.055, 0.136, 0.046],
        [1.0, 0.020, 0.152, 0.049],
    ]
)
_PITCH = 0.45
_AEROFOIL = np.array(
    [[0.5, 0.0], [0.34, 0.065], [0.05, 0.085], [-0.25, 0.05], [-0.5, 0.0], [-0.25, -0.012], [0.1, -0.03]]
)
BLADE_TIP_RING = 8
"""Index of the first ring of a blade in the tip colour."""

# Leg: share of the height, offset outwards and backwards, half length and half width [m].
_LEG = np.array(
    [
        [0.00, 0.0150, -0.0100, 0.0115, 0.0048],
        [0.05, 0.0140, -0.0095, 0.0110, 0.0042],
        [0.22, 0.0105, -0.0065, 0.0076, 0.0030],
        [0.50, 0.0050, -0.0025, 0.0078, 0.0033],
        [0.75, 0.0015, -0.0005, 0.0100, 0.0052],
        [0.90, 0.0000, 0.0000, 0.0118, 0.0090],
        [1.00, 0.0000, 0.0000, 0.0128, 0.0120],
    ]
)

# Feathers of the wings on the back: root x, length, width and angle to the tail [m, rad].
_FEATHERS = (
    (-0.020, 0.044, 0.0085, 1.02),
    (-0.034, 0.045, 0.0080, 0.78),
    (-0.048, 0.044, 0.0075, 0.55),
    (-0.061, 0.041, 0.0068, 0.33),
)
_FEATHER_LIFT = 0.0009


@dataclass(frozen=True)
class Hull:
    """The hull and the faces of its parts."""

    points: Array
    faces: Faces
    stripe: list[int]
    belly: list[int]


def hull() -> Hull:
    """Return the hull: superellipses along the x axis, blended by cubic curves."""
    sections = _blend(_SECTIONS, _STEPS)
    angle = 2 * np.pi * (np.arange(_CORNERS) + 0.5) / _CORNERS
    round_y, round_z = (_superellipse(wave) for wave in (np.cos(angle), np.sin(angle)))
    rings = []
    for x, width, top, bottom in sections:
        waist = np.clip(_WAIST, bottom, top)
        height = np.where(round_z > 0, top - waist, waist - bottom)
        rings.append(np.column_stack([np.full(_CORNERS, x), width * round_y, waist + height * round_z]))
    faces = loft_faces(len(sections), _CORNERS)
    count = (len(sections) - 1) * _CORNERS
    # A quad lies between the angles of two corners.
    around = np.tile(2 * np.pi * (np.arange(_CORNERS) + 1.0) / _CORNERS, len(sections) - 1)

    def chosen(mask: BoolArray) -> list[int]:
        return [int(k) for k in np.nonzero(mask[:count])[0]]

    stripe = (around < np.pi) & (np.abs(around - np.pi / 2) > 1.35)
    belly = (around > np.pi + 0.16) & (around < 2 * np.pi - 0.16)
    nose = [*range(count - 2 * _CORNERS, count), len(faces) - 1]
    return Hull(
        np.concatenate(rings),
        faces,
        [k for k in chosen(stripe) if k < nose[0]],
        [*(k for k in chosen(belly) if k < nose[0]), *nose],
    )


def canopy() -> tuple[Array, Faces]:
    """Return the canopy, an oval slightly above the hull: points [m] and faces."""
    turn = 2 * np.pi * np.arange(_CANOPY_CORNERS) / _CANOPY_CORNERS
    part = np.linspace(0.0, 1.0, _CANOPY_RINGS + 1)[1:, None]
    x = (_CANOPY_MIDDLE + _CANOPY_LENGTH * part * np.cos(turn)).ravel()
    # Relative to the hull's width: the oval narrows with it towards the nose.
    across = (_CANOPY_WIDTH * part * np.sin(turn)).ravel()
    x, across = np.append(x, _CANOPY_MIDDLE), np.append(across, 0.0)
    y = across * np.interp(x, *_blend(_SECTIONS, 12)[:, :2].T)
    points = np.column_stack([x, y, skin_height(x, y) + _CANOPY_LIFT])
    n = _CANOPY_CORNERS
    faces = [face[::-1] for face in loft_faces(_CANOPY_RINGS, n, closed=False)]
    return points, faces + [[len(points) - 1, k, (k + 1) % n] for k in range(n)]


def skin_height(x: Array, y: Array) -> Array:
    """Return the height of the upper skin of the hull [m].

    Args:
        x: Positions along the hull [m].
        y: Positions across it, within its width [m].
    """
    sections = _blend(_SECTIONS, 12)
    width = np.interp(x, sections[:, 0], sections[:, 1])
    top = np.interp(x, sections[:, 0], sections[:, 2])
    inside = np.maximum(1.0 - np.abs(y / width) ** _EXPONENT, 0.0)
    return _WAIST + (top - _WAIST) * inside ** (1 / _EXPONENT)


def arm(motor: Array) -> tuple[Array, Faces]:
    """Return an arm from the hull to below a motor: points [m] and faces.

    Args:
        motor: End of the arm [m], shape (3,).
    """
    root = _ARM_ROOT * [np.sign(motor[0]), np.sign(motor[1]), 1.0]
    part = _ARM[:, :1]
    path = root + part * (motor - root) + np.array([0.0, 0.0, 1.0]) * _ARM[:, 1:2]
    return tube(path, [(float(wide), float(high)) for wide, high in _ARM[:, 2:]], 16)


def leg(motor: Array, ground: float) -> tuple[Array, Faces]:
    """Return a leg below a motor: points [m] and faces.

    Args:
        motor: Upper end, in the motor mount [m], shape (3,).
        ground: Height of its foot [m].
    """
    side, front = np.sign(motor[1]), np.sign(motor[0])
    angle = 2 * np.pi * np.arange(14) / 14
    rings = [
        np.column_stack(
            [
                motor[0] + front * back + length * np.cos(angle),
                motor[1] + side * out + width * np.sin(angle),
                np.full(len(angle), ground + part * (motor[2] - ground)),
            ]
        )
        for part, out, back, length, width in _LEG
    ]
    return np.concatenate(rings), loft_faces(len(rings), len(angle))


def mount_profile() -> list[tuple[float, float]]:
    """Return radius and height of a motor's mount from below, its upper face at 0 [m]."""
    return [(0.004, -0.024), (0.0105, -0.022), (0.0140, -0.016), (0.0152, -0.008), (0.0152, 0.0)]


def bell_profile() -> list[tuple[float, float]]:
    """Return radius and height of a motor's bell from below, its lower face at 0 [m]."""
    r = _MOTOR_RADIUS
    return [(0.0, 0.0), (0.92 * r, 0.0), (r, 0.001), (r, 0.010), (0.94 * r, 0.0122), (0.55 * r, 0.0142)]


def spinner_profile() -> list[tuple[float, float]]:
    """Return radius and height of the cap on a propeller from below, about the disc [m]."""
    return [(0.0082, -0.004), (0.0082, 0.0035), (0.0070, 0.0058), (0.0045, 0.0074), (0.001, 0.0080)]


def propeller(diameter: float, blade_count: int, direction: str) -> tuple[Array, Faces, list[int]]:
    """Return swept blades with thrust along +z: points [m], faces, and the indices of tip faces.

    Args:
        diameter: Diameter [m].
        blade_count: Number of blades.
        direction: `ccw` or `cw`, seen from above.
    """
    radius, rings = diameter / 2, []
    for part, chord, sweep, height in _BLADE:
        twist = np.arctan2(_PITCH, np.pi * max(part, 0.2))
        along, up = (radius * chord * _AEROFOIL).T
        y = along * np.cos(twist) - up * np.sin(twist) - radius * sweep
        z = along * np.sin(twist) + up * np.cos(twist) + radius * height
        # Sections are on a circle about the axis, so that a swept blade keeps its radius.
        turn = y / (radius * max(part, 0.3))
        reach = radius * part
        rings.append(np.column_stack([reach * np.cos(turn), reach * np.sin(turn), z]))
    blade, count = np.concatenate(rings), len(_AEROFOIL)
    faces = loft_faces(len(rings), count)
    tips = [*range(BLADE_TIP_RING * count, (len(rings) - 1) * count), len(faces) - 1]
    points: list[Array] = []
    all_faces: Faces = []
    all_tips: list[int] = []
    for k in range(blade_count):
        angle = 2 * np.pi * k / blade_count
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        all_tips += [tip + len(all_faces) for tip in tips]
        all_faces += [[index + k * len(blade) for index in face] for face in faces]
        points.append(blade @ turn.T)
    whole = np.concatenate(points)
    if direction == "cw":
        whole, all_faces = whole * [1.0, -1.0, 1.0], [face[::-1] for face in all_faces]
    return whole, all_faces, all_tips


def wings() -> tuple[Array, Faces]:
    """Return the emblem on the back, two wings of four feathers: points [m] and faces."""
    points: list[Array] = []
    faces: Faces = []
    parts = np.linspace(0.0, 1.0, 9)
    for side in (1.0, -1.0):
        for x, length, width, angle in _FEATHERS:
            along = np.array([-np.cos(angle), side * np.sin(angle)])
            across = np.array([-along[1], along[0]])
            # A feather bends towards the tail and is pointed at its end.
            bend = 0.22 * length * parts**2
            middle = np.array([x, side * 0.006]) + np.outer(length * parts, along)
            middle[:, 0] -= bend
            half = 0.5 * width * np.sin(np.pi * np.minimum(0.18 + 0.82 * parts, 1.0)) ** 0.7
            edges = [middle - half[:, None] * across, middle + half[:, None] * across]
            first = sum(len(p) for p in points)
            flat = np.concatenate(edges)
            points.append(np.column_stack([flat, skin_height(flat[:, 0], flat[:, 1]) + _FEATHER_LIFT]))
            n = len(parts)
            faces += [
                [first + k, first + n + k, first + n + k + 1, first + k + 1][::-1] for k in range(n - 1)
            ]
    return np.concatenate(points), faces


def _superellipse(wave: Array) -> Array:
    """Return a coordinate of a superellipse."""
    rounded: Array = np.sign(wave) * np.abs(wave) ** (2 / _EXPONENT)
    return rounded


def _blend(rows: Array, steps: int) -> Array:
    """Return rows with interpolated ones between them (Catmull and Rom 1974)."""
    padded = np.concatenate([[2 * rows[0] - rows[1]], rows, [2 * rows[-1] - rows[-2]]])
    blended = []
    for k in range(1, len(rows)):
        a, b, c, d = padded[k - 1 : k + 3]
        for t in np.arange(steps) / steps:
            blended.append(
                0.5
                * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
            )
    return np.array([*blended, rows[-1]])


def turned(profile: Sequence[tuple[float, float]], corner_count: int) -> tuple[Array, Faces]:
    """Return the solid of revolution of a profile about the z axis: points [m] and faces.

    Args:
        profile: Radius and height of each ring, from bottom to top [m].
        corner_count: Points of each ring.
    """
    angle = 2 * np.pi * np.arange(corner_count) / corner_count
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rings = [np.column_stack([radius * circle, np.full(corner_count, z)]) for radius, z in profile]
    return np.concatenate(rings), loft_faces(len(rings), corner_count)


def tube(path: Array, radii: Sequence[tuple[float, float]], corner_count: int) -> tuple[Array, Faces]:
    """Return a tube of elliptic cross-section along a path: points [m] and faces.

    Args:
        path: Points of the path, nowhere vertical [m], shape (K, 3).
        radii: Horizontal and upright radius at each point [m].
        corner_count: Points of each ring.
    """
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    level = np.cross([0.0, 0.0, 1.0], along)
    level /= np.linalg.norm(level, axis=1, keepdims=True)
    upright = np.cross(along, level)
    angle = 2 * np.pi * np.arange(corner_count) / corner_count
    rings = [
        center + wide * np.outer(np.cos(angle), side) + high * np.outer(np.sin(angle), up)
        for center, side, up, (wide, high) in zip(path, level, upright, radii, strict=True)
    ]
    return np.concatenate(rings), loft_faces(len(path), corner_count)
