"""Fittings of plain rooms: a door, a cable duct with sockets, grilles, and oil paint on the lower walls.

They are at most 4 cm thick, and do not collide.
"""

import numpy as np

from pegasus.scene.authoring import group
from pegasus.worlds.lettering import lettering, on_wall
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import Solid, cuboid, draw

_DOOR = (1.8, 2.1)
_DUCT_HEIGHT = 0.32
_SOCKET_PITCH = 2.6
_WAINSCOT = 1.1


def fit_room(site: Site, length: float, width: float, height: float) -> None:
    """Write the fittings of a room around the origin; its door is in the western wall.

    Args:
        site: The site.
        length: Inside length along x [m].
        width: Inside width along y [m].
        height: Inside height [m].
    """
    _wainscot(site, length, width)
    _ducts(site, length, width)
    _door(site, length)
    _grilles(site, length, width, height)


def _walls(length: float, width: float) -> tuple[tuple[float, float, float], ...]:
    """Return yaw [deg], length and distance from the origin [m] of each wall; at yaw 0 it faces -y."""
    return (
        (0.0, length, width / 2),
        (90.0, width, length / 2),
        (180.0, length, width / 2),
        (270.0, width, length / 2),
    )


def _wainscot(site: Site, length: float, width: float) -> None:
    """Write oil paint on the lower part of the walls, with a line above it."""
    red, green, blue = (0.30 + 0.25 * site.stream("wainscot").uniform(size=3)).round(3).tolist()
    look = site.finish("wall_paint", tint=(red, green, blue), collides=False, roughness=0.4)
    group(site.stage, f"{ROOT}/Wainscot", "wall")
    parts: list[Solid] = []
    lines: list[Solid] = []
    for yaw, long, away in _walls(length, width):
        # The western wall has the door in its middle.
        spans = [(-long / 2, long / 2)]
        if yaw == 90.0:
            gap = _DOOR[0] / 2 + 0.06
            spans = [(-long / 2, -gap), (gap, long / 2)]
        for a, b in spans:
            panel = cuboid(((a + b) / 2, away, _WAINSCOT / 2), (b - a, 0.004, _WAINSCOT))
            lines.append(
                cuboid(((a + b) / 2, away, _WAINSCOT), (b - a, 0.007, 0.03)).moved((0, 0, 0), yaw=yaw)
            )
            parts.append(panel.moved((0.0, 0.0, 0.0), yaw=yaw))
    draw(site.stage, f"{ROOT}/Wainscot/Paint", parts, look)
    dark = site.paint("wainscot_line", (0.5 * red, 0.5 * green, 0.5 * blue), roughness=0.5, collides=False)
    draw(site.stage, f"{ROOT}/Wainscot/Line", lines, dark)


def _ducts(site: Site, length: float, width: float) -> None:
    """Write a cable duct along the northern and the southern wall, with sockets."""
    plastic = site.paint("duct", (0.62, 0.62, 0.60), roughness=0.45, collides=False)
    white = site.paint("socket", (0.78, 0.78, 0.76), roughness=0.35, collides=False)
    black = site.paint("socket_hole", (0.02, 0.02, 0.02), roughness=0.6, collides=False)
    away, z = width / 2, _DUCT_HEIGHT
    ducts, plates, holes = [], [], []
    ducts.append(cuboid((0.0, away - 0.015, z), (length - 0.1, 0.03, 0.11), bevel=0.004))
    for x in np.arange(1.2 - length / 2, length / 2 - 1.0, _SOCKET_PITCH).tolist():
        for k in (0.0, 0.085):
            plates.append(cuboid((x + k, away - 0.032, z), (0.08, 0.006, 0.08), bevel=0.002))
            holes.append(cuboid((x + k, away - 0.0351, z), (0.04, 0.001, 0.04)))
    group(site.stage, f"{ROOT}/Ducts", "duct")
    for name, solids, look in (("Duct", ducts, plastic), ("Sockets", plates, white), ("Holes", holes, black)):
        both = [*solids, *(solid.moved((0.0, 0.0, 0.0), yaw=180.0) for solid in solids)]
        draw(site.stage, f"{ROOT}/Ducts/{name}", both, look)


def _door(site: Site, length: float) -> None:
    """Write a double steel door with frame, handles, a kick plate, and a sign above."""
    steel = site.paint("door_leaf", (0.16, 0.19, 0.23), roughness=0.35, collides=False)
    plate = site.finish("brushed_metal", collides=False)
    dark = site.paint("door_frame", (0.10, 0.11, 0.12), roughness=0.5, collides=False)
    green = site.paint("exit_sign", (0.02, 0.25, 0.10), emission=(0.02, 0.30, 0.12), collides=False)
    white = site.paint("exit_text", (0.85, 0.85, 0.85), emission=(0.6, 0.65, 0.6), collides=False)
    wide, high = _DOOR
    leaves = [
        cuboid((s * wide / 4, -0.006, high / 2), (wide / 2 - 0.006, 0.02, high - 0.01)) for s in (-1, 1)
    ]
    kicks = [cuboid((s * wide / 4, -0.018, 0.16), (wide / 2 - 0.06, 0.004, 0.28)) for s in (-1, 1)]
    kicks += [cuboid((s * 0.075, -0.03, 1.05), (0.025, 0.02, 0.26), bevel=0.006) for s in (-1, 1)]
    frame = [cuboid((s * (wide / 2 + 0.03), -0.01, high / 2), (0.06, 0.05, high)) for s in (-1, 1)]
    frame.append(cuboid((0.0, -0.01, high + 0.03), (wide + 0.12, 0.05, 0.06)))
    sign = [cuboid((0.0, -0.015, high + 0.22), (0.42, 0.03, 0.16), bevel=0.004)]
    text = [on_wall(lettering("EXIT", 0.09), (0.0, -0.032, high + 0.22))]
    group(site.stage, f"{ROOT}/Door", "door")
    for name, solids, look in (
        ("Leaves", leaves, steel),
        ("Plates", kicks, plate),
        ("Frame", frame, dark),
        ("Sign", sign, green),
        ("Text", text, white),
    ):
        placed = [solid.moved((-length / 2, 0.0, 0.0), yaw=90.0) for solid in solids]
        draw(site.stage, f"{ROOT}/Door/{name}", placed, look)


def _grilles(site: Site, length: float, width: float, height: float) -> None:
    """Write ventilation grilles below the ceiling of the eastern and the western wall."""
    frame = site.paint("grille", (0.66, 0.66, 0.64), roughness=0.4, metallic=0.3, collides=False)
    dark = site.paint("grille_inside", (0.02, 0.02, 0.02), roughness=0.9, collides=False)
    bars: list[Solid] = []
    insides: list[Solid] = []
    for yaw in (90.0, 270.0):
        for y in np.linspace(-0.3 * width, 0.3 * width, 2).tolist():
            z, away = height - 0.45, length / 2
            parts = [cuboid((y, away - 0.012, z + s * 0.17), (0.72, 0.024, 0.04)) for s in (-1, 1)]
            parts += [cuboid((y + s * 0.34, away - 0.012, z), (0.04, 0.024, 0.34)) for s in (-1, 1)]
            parts += [cuboid((y, away - 0.01, z - 0.12 + 0.04 * k), (0.64, 0.014, 0.008)) for k in range(7)]
            bars += [part.moved((0.0, 0.0, 0.0), yaw=yaw) for part in parts]
            inside = cuboid((y, away, z), (0.66, 0.004, 0.32))
            insides.append(inside.moved((0.0, 0.0, 0.0), yaw=yaw))
    group(site.stage, f"{ROOT}/Grilles", "grille")
    draw(site.stage, f"{ROOT}/Grilles/Frames", bars, frame)
    draw(site.stage, f"{ROOT}/Grilles/Insides", insides, dark)
