"""Simple model of a parked high-wing light aircraft; its nose points along +x.

Proportions of a four-seater of the usual kind: span 11 m, length 8.3 m, height 2.7 m.
"""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.scene.scene import Color
from pegasus.worlds.lettering import lettering
from pegasus.worlds.site import Site
from pegasus.worlds.solids import Solid, bar, cuboid, draw, loft, round_obstacle, sheet, tube

HALF_SPAN = 5.5
NOSE, TAIL = 3.1, -5.2

# Stations of the fuselage: x, height of the middle, half width, half height [m].
_STATIONS = np.array(
    [
        (-4.95, 1.30, 0.04, 0.10),
        (-3.9, 1.26, 0.13, 0.21),
        (-2.6, 1.21, 0.27, 0.33),
        (-1.4, 1.20, 0.43, 0.48),
        (-0.5, 1.28, 0.53, 0.64),
        (0.3, 1.30, 0.55, 0.69),
        (0.8, 1.27, 0.55, 0.66),
        (1.2, 1.13, 0.53, 0.50),
        (1.5, 1.07, 0.50, 0.42),
        (2.3, 1.06, 0.42, 0.36),
        (2.62, 1.07, 0.32, 0.27),
        (2.7, 1.08, 0.20, 0.17),
    ]
)
_ROUNDNESS = 2.7
_WING_HEIGHT = 1.98
_DIHEDRAL = 0.03


def write_light_aircraft(site: Site, name: str, *, accent: Color, registration: str) -> str:
    """Return the prototype of an aircraft on its wheels."""
    stage = site.stage
    path = site.prototype(name, "aircraft")
    white = site.paint("aircraft_white", (0.78, 0.78, 0.76), roughness=0.22, scope=path)
    stripe = site.paint("aircraft_accent", accent, roughness=0.22, scope=path, collides=False)
    glass = site.paint("aircraft_glass", (0.03, 0.045, 0.055), roughness=0.04, scope=path, collides=False)
    rubber = site.paint("aircraft_rubber", (0.015, 0.015, 0.015), roughness=0.9, scope=path, collides=False)
    metal = site.paint(
        "aircraft_metal", (0.5, 0.5, 0.5), metallic=0.9, roughness=0.3, scope=path, collides=False
    )
    hull = "convexHull"
    draw(stage, f"{path}/Fuselage", [loft(_fuselage())], white, approximation=hull)
    for side_name, side in (("Left", 1.0), ("Right", -1.0)):
        wing = _wing(side * 0.02, side * HALF_SPAN, (0.15, 1.63, _WING_HEIGHT), (0.05, 1.12, _tip_height()))
        draw(stage, f"{path}/{side_name}Wing", [wing], white, approximation=hull)
        tail = _wing(side * 0.02, side * 1.7, (-4.35, 1.05, 1.32), (-4.5, 0.7, 1.32))
        draw(stage, f"{path}/{side_name}Tailplane", [tail], white, approximation=hull)
        strut = ((0.2, side * 0.5, 0.82), (0.1, side * 2.6, _WING_HEIGHT + 2.6 * _DIHEDRAL - 0.05))
        round_obstacle(stage, f"{path}/{side_name}StrutSolid", *strut, 0.03, white)
        leg = ((-0.25, side * 0.4, 0.72), (-0.3, side * 1.15, 0.24))
        round_obstacle(stage, f"{path}/{side_name}Leg", *leg, 0.04, white)
        wheel = ((-0.3, side * 1.15 - 0.08, 0.2), (-0.3, side * 1.15 + 0.08, 0.2))
        round_obstacle(stage, f"{path}/{side_name}Wheel", *wheel, 0.2, white)
    fin = _fin([(1.25, -4.0, 1.65), (1.75, -4.3, 1.2), (2.7, -4.75, 0.72)])
    draw(stage, f"{path}/Fin", [fin], white, approximation=hull)
    round_obstacle(stage, f"{path}/NoseWheel", (1.75, -0.07, 0.18), (1.75, 0.07, 0.18), 0.18, white)
    round_obstacle(stage, f"{path}/Propeller", (2.8, 0.0, 0.12), (2.8, 0.0, 2.04), 0.06, white)
    draw(stage, f"{path}/Stripes", _stripes(registration), stripe)
    draw(stage, f"{path}/Glass", _windows(), glass)
    draw(stage, f"{path}/Gear", _gear(), metal)
    tires = [tube((-0.3, y - 0.075, 0.2), (-0.3, y + 0.075, 0.2), 0.2, sides=24) for y in (-1.15, 1.15)]
    tires.append(tube((1.75, -0.065, 0.18), (1.75, 0.065, 0.18), 0.18, sides=24))
    blades = [_blade(1.0), _blade(-1.0)]
    draw(stage, f"{path}/Rubber", [*tires, *blades], rubber)
    draw(
        stage,
        f"{path}/Spinner",
        [tube((2.68, 0.0, 1.08), (3.0, 0.0, 1.08), 0.19, end_radius=0.03, sides=24)],
        stripe,
    )
    return path


def _tip_height() -> float:
    return _WING_HEIGHT + HALF_SPAN * _DIHEDRAL


def _skin(x: Array, angle: Array, *, lift: float = 0.0) -> Array:
    """Return points of the fuselage at stations and angles from the left side upwards, shape (..., 3)."""
    middle, wide, high = (np.interp(x, _STATIONS[:, 0], _STATIONS[:, k]) for k in (1, 2, 3))
    c, s = np.cos(angle), np.sin(angle)
    reach = (np.abs(c) ** _ROUNDNESS + np.abs(s) ** _ROUNDNESS) ** (-1.0 / _ROUNDNESS)
    y, z = (wide + lift) * reach * c, middle + (high + lift) * reach * s
    return np.stack(np.broadcast_arrays(x, y, z), axis=-1)


def _fuselage() -> Array:
    x = np.unique(np.concatenate([_STATIONS[:, 0], np.linspace(-4.9, 2.6, 26)]))
    angle = np.linspace(0.0, 2 * np.pi, 41)
    grid = _skin(x[:, None], angle[None, :])
    grid[:, -1] = grid[:, 0]
    return grid


def _patch(x: tuple[float, float], degrees: tuple[float, float], lift: float) -> Solid:
    """Return a patch slightly above the fuselage's skin."""
    stations, angles = np.linspace(*x, 15), np.radians(np.linspace(*degrees, 13))
    return sheet(_skin(stations[:, None], angles[None, :], lift=lift))


def _windows() -> list[Solid]:
    front = _patch((0.86, 1.19), (24.0, 156.0), 0.006)
    sides = [
        _patch(x, degrees, 0.006)
        for x in ((-0.35, 0.12), (0.2, 0.78))
        for degrees in ((14.0, 47.0), (133.0, 166.0))
    ]
    rear = [_patch((-0.85, -0.45), degrees, 0.006) for degrees in ((16.0, 45.0), (135.0, 164.0))]
    return [front, *sides, *rear]


def _stripes(registration: str) -> list[Solid]:
    """Return stripes along both sides, wing tips, and the registration bent onto the skin."""
    parts = []
    for low, high in ((-16.0, -6.0), (-21.0, -18.5)):
        parts += [
            _patch((-4.7, 2.55), (low, high), 0.004),
            _patch((-4.7, 2.55), (180.0 - high, 180.0 - low), 0.004),
        ]
    for side in (-1.0, 1.0):
        tip = _wing(
            side * (HALF_SPAN - 0.5),
            side * (HALF_SPAN + 0.004),
            (0.066, 1.17, _tip_height() - 0.5 * _DIHEDRAL),
            (0.05, 1.13, _tip_height()),
            thickness=0.128,
        )
        parts.append(tip)
    text = lettering(registration, 0.3)
    for side in (-1.0, 1.0):
        # Text runs along +x on the right side and along -x on the left one.
        x, z = -2.1 - side * text.points[:, 0], 1.27 + text.points[:, 2]
        middle, wide, high = (np.interp(x, _STATIONS[:, 0], _STATIONS[:, k]) for k in (1, 2, 3))
        across = (1.0 - (np.abs(z - middle) / high) ** _ROUNDNESS) ** (1.0 / _ROUNDNESS)
        points = np.stack([x, side * (wide * across + 0.012), z], axis=1)
        normals = np.tile([0.0, side, 0.0], (len(points), 1))
        parts.append(Solid(points, normals, text.uvs, text.faces))
    parts.append(_fin([(2.1, -4.468, 1.021), (2.35, -4.587, 0.896)], thickness=0.09))
    return parts


def _gear() -> list[Solid]:
    parts = []
    for side in (-1.0, 1.0):
        parts.append(bar((-0.25, side * 0.4, 0.72), (-0.3, side * 1.08, 0.24), 0.1, 0.035))
        parts.append(
            bar((0.2, side * 0.5, 0.82), (0.1, side * 2.6, _WING_HEIGHT + 2.6 * _DIHEDRAL - 0.05), 0.1, 0.035)
        )
        parts.append(tube((-0.3, side * 1.15 - 0.08, 0.2), (-0.3, side * 1.15 + 0.08, 0.2), 0.09, sides=16))
    parts += [
        bar((1.72, 0.0, 0.75), (1.75, 0.0, 0.4), 0.07, 0.07),
        bar((1.75, -0.1, 0.2), (1.75, 0.1, 0.2), 0.03, 0.03),
    ]
    parts += [bar((1.75, s * 0.1, 0.2), (1.75, s * 0.06, 0.42), 0.03, 0.03) for s in (-1.0, 1.0)]
    parts.append(tube((2.1, -0.2, 0.72), (2.0, -0.2, 0.6), 0.035, sides=10))
    parts.append(cuboid((-3.0, 0.0, 1.6), (0.02, 0.02, 0.25)))
    return parts


def _wing(
    root_y: float,
    tip_y: float,
    root: tuple[float, float, float],
    tip: tuple[float, float, float],
    *,
    thickness: float = 0.12,
) -> Solid:
    """Return a wing between two sections, each given by the x of its quarter chord, its chord and height."""
    section = _airfoil(thickness)
    rings = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        quarter, chord, z = (a + (b - a) * share for a, b in zip(root, tip, strict=True))
        y = root_y + (tip_y - root_y) * share
        ring = np.column_stack(
            [quarter + chord * section[:, 0], np.full(len(section), y), z + chord * section[:, 1]]
        )
        rings.append(ring if tip_y > root_y else ring[::-1])
    return loft(np.array(rings))


def _fin(levels: list[tuple[float, float, float]], *, thickness: float = 0.08) -> Solid:
    """Return a fin from heights, each with the x of its quarter chord and its chord."""
    section = _airfoil(thickness)
    rings = [
        np.column_stack([x + chord * section[:, 0], -chord * section[:, 1], np.full(len(section), z)])
        for z, x, chord in levels
    ]
    return loft(np.array(rings)[:, ::-1])


def _airfoil(thickness: float) -> Array:
    """Return a symmetric NACA four-digit section of chord 1 (Jacobs 1933), x forward of the quarter chord."""
    x = 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, 15)))
    root, squares = np.sqrt(x), x * x
    half = (
        5.0
        * thickness
        * (0.2969 * root - 0.126 * x - 0.3516 * squares + 0.2843 * squares * x - 0.1036 * squares * squares)
    )
    upper, lower = np.column_stack([0.25 - x, half]), np.column_stack([0.25 - x, -half])
    # Counter-clockwise seen from the left wing's tip, where x points to the left.
    return np.concatenate([upper, lower[::-1][1:]])


def _blade(side: float) -> Solid:
    """Return one blade of an upright propeller, twisted."""
    rings = []
    for radius, chord, twist in ((0.12, 0.1, 60.0), (0.4, 0.15, 38.0), (0.7, 0.13, 25.0), (0.95, 0.07, 18.0)):
        section = _airfoil(0.14) * chord
        c, s = np.cos(np.radians(twist)), np.sin(np.radians(twist))
        across, along = section[:, 0] * c - section[:, 1] * s, section[:, 0] * s + section[:, 1] * c
        ring = np.column_stack([2.8 + along, side * across, np.full(len(section), 1.08 + side * radius)])
        rings.append(ring)
    solid = loft(np.array(rings))
    return solid if _volume(solid) > 0 else loft(np.array(rings)[:, ::-1])


def _volume(solid: Solid) -> float:
    a, b, c = (solid.points[solid.faces[:, k]] for k in range(3))
    return float((a * np.cross(b, c)).sum() / 6)
