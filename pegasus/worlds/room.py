"""Closed room shared by the plain indoor worlds."""

import numpy as np

from pegasus.scene.authoring import block, ground_plane, group, mesh, physics_material
from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.lamps import dim_dome, hang_lamps
from pegasus.worlds.lettering import lettering, on_floor
from pegasus.worlds.room_fittings import fit_room
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import Solid, draw, polygons, tiles

_WALL = 0.2
_SKIRTING = 0.08
_LAMP_PITCH = 3.5


def build_room(site: Site, length: float, width: float, height: float) -> None:
    """Write a room around the origin: floor, walls of a random colour, ceiling, lamps, and a landing mark.

    Args:
        site: The site.
        length: Inside length along x [m].
        width: Inside width along y [m].
        height: Inside height [m].
    """
    stage = site.stage
    _floor(site, length, width)
    group(stage, f"{ROOT}/Walls", "wall")
    red, green, blue = (0.7 + 0.3 * site.stream("walls").uniform(size=3)).round(3).tolist()
    paint = site.finish("wall_paint", tint=(red, green, blue))
    trim = site.paint("skirting", (0.25, 0.26, 0.28), roughness=0.5)
    x, y = (length + _WALL) / 2, (width + _WALL) / 2
    for name, center, size, lower in (
        ("East", (x, 0.0), (_WALL, width), (length / 2 - 0.0075, 0.0, 0.015, width - 0.03)),
        ("West", (-x, 0.0), (_WALL, width), (-length / 2 + 0.0075, 0.0, 0.015, width - 0.03)),
        ("North", (0.0, y), (length + 2 * _WALL, _WALL), (0.0, width / 2 - 0.0075, length, 0.015)),
        ("South", (0.0, -y), (length + 2 * _WALL, _WALL), (0.0, -width / 2 + 0.0075, length, 0.015)),
    ):
        block(stage, f"{ROOT}/Walls/{name}", (*center, height / 2), (*size, height), paint)
        place, extent = (*lower[:2], _SKIRTING / 2), (*lower[2:], _SKIRTING)
        block(stage, f"{ROOT}/Walls/{name}Skirting", place, extent, trim)
    group(stage, f"{ROOT}/Ceiling", "ceiling")
    over = (length + 2 * _WALL, width + 2 * _WALL, _WALL)
    block(stage, f"{ROOT}/Ceiling/Slab", (0.0, 0.0, height + _WALL / 2), over, site.finish("ceiling_panels"))
    fit_room(site, length, width, height)
    dim_dome(stage)
    columns, rows = (max(round(side / _LAMP_PITCH), 1) for side in (length, width))
    places = [
        (length * ((i + 0.5) / columns - 0.5), width * ((j + 0.5) / rows - 0.5), height - 0.04)
        for i in range(columns)
        for j in range(rows)
    ]
    hang_lamps(site, places, ceiling=height, length=1.2, width=0.3, intensity=30_000.0)


def _floor(site: Site, length: float, width: float) -> None:
    """Write the floor and its landing mark."""
    stage = site.stage
    ground = physics_material(stage, f"{ROOT}/Looks/Ground", PhysicsMaterial(0.8, 0.7, 0.1))
    group(stage, f"{ROOT}/Floor", "floor")
    ground_plane(stage, f"{ROOT}/Floor/Collision", ground)
    x, y = (
        np.linspace(-side / 2 - _WALL, side / 2 + _WALL, max(round(side / 4.0), 1) + 1)
        for side in (length, width)
    )
    points, faces = tiles(x, y)
    surface = site.finish("floor_epoxy", tint=(0.5, 0.52, 0.55), collides=False)
    mesh(stage, f"{ROOT}/Floor/Surface", points, faces, surface, uvs=points[:, :2])
    group(stage, f"{ROOT}/Mark", "marking")
    yellow = site.paint("mark", (0.7, 0.45, 0.02), roughness=0.6, collides=False)
    angle = np.linspace(0.0, 2 * np.pi, 49)
    c, s = np.cos(angle), np.sin(angle)
    lift = np.full(4, 0.003)
    ring: list[Solid] = []
    for k in range(48):
        radii, at = np.array([0.6, 0.7, 0.7, 0.6]), [k, k, k + 1, k + 1]
        ring.append(polygons([np.stack([radii * c[at], radii * s[at], lift], axis=1)]))
    draw(stage, f"{ROOT}/Mark/Ring", [*ring, on_floor(lettering("H", 0.6), 0.0, 0.0, yaw=-90.0)], yellow)
