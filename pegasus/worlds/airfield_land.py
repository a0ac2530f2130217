"""Land around an airfield: level meadows, and hills around them whose triangles grow with the distance.

Rings of grids, each with twice the cell of the one inside it (Losasso and Hoppe 2004, "Geometry clipmaps").
"""

from collections.abc import Iterator

import numpy as np
from pxr import UsdGeom

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import group, mesh
from pegasus.worlds.site import Site
from pegasus.worlds.terrain import Noise, Terrain, cut, draw, grid_faces

LEVEL = 2000.0
"""Half the side of the level square [m]."""
_CELLS = 80
_RINGS = 3
_RAMP = 600.0
"""Distance over which the hills rise from the level square [m]."""


def ring_count(ring: int) -> int:
    """Return the number of triangles of a ring; ring 0 is the level square."""
    return 2 * (_CELLS**2 if ring == 0 else 3 * _CELLS**2 // 4)


TRIANGLE_COUNT = sum(ring_count(ring) for ring in range(_RINGS + 1))


def write_land(site: Site, path: str) -> None:
    """Write meadows of 4 km, and hills around them to a distance of 16 km.

    Hills collide as four height fields per ring, away from the runway; the meadows need a plane.

    Args:
        site: The site.
        path: Path of a new parent prim.
    """
    group(site.stage, path, "ground")
    shape, cover = Noise(site.stream("hills")), Noise(site.stream("covers"))
    contact = site.finish("grass")
    tables, faces, start = [], [], 0
    for ring in range(_RINGS + 1):
        land = _ring(shape, ring)
        points = land.points
        wood = cover.fractal(points[:, 0], points[:, 1], 1100.0) + np.minimum(land.heights.ravel() / 400, 0.3)
        # No wood near the runway.
        wood -= 0.2 + np.clip((1800.0 - np.hypot(points[:, 0], points[:, 1])) / 600.0, 0.0, 2.0)
        field = cover.fractal(points[:, 0] + 9e3, points[:, 1], 350.0) - 0.12
        tables.append(np.column_stack([points, land.normals, wood, field]))
        faces.append(_outside(land, ring) + start)
        start += len(points)
        for number, (part, triangles) in enumerate(_strips(land) if ring else ()):
            solid = mesh(site.stage, f"{path}/Ring{ring}Part{number}", part, triangles, contact)
            solid.CreatePurposeAttr(UsdGeom.Tokens.guide)
    rest = np.concatenate(tables), np.concatenate(faces)
    for name, column, tint in (("wood", 6, (0.30, 0.42, 0.26)), ("field", 7, (1.35, 1.12, 0.75))):
        patch, rest = cut(*rest, column)
        draw(site, f"{path}/{name.capitalize()}", patch, site.finish("grass", tint=tint, roughness=1.0), name)
    draw(site, f"{path}/Meadow", rest, site.finish("grass", tint=(0.95, 1.0, 0.9), roughness=1.0), "grass")


def _ring(noise: Noise, ring: int) -> Terrain:
    """Return heights of a ring and of what is inside it."""
    half = LEVEL * 2**ring
    line = np.linspace(-half, half, _CELLS + 1)
    x, y = np.meshgrid(line, line)
    beyond = np.maximum(np.maximum(np.abs(x), np.abs(y)) - LEVEL, 0.0)
    part = np.clip(0.5 + 0.8 * noise.fractal(x, y, 2400.0, octaves=5, gain=0.42), 0.0, 1.0)
    ramp = np.minimum(beyond / _RAMP, 1.0)
    heights = ramp * (4.0 + part * (80.0 + 0.04 * beyond))
    # The next ring has every other point of this edge: straight lines leave no gap.
    for edge in (heights[0], heights[-1], heights[:, 0], heights[:, -1]):
        edge[1::2] = (edge[:-1:2] + edge[2::2]) / 2
    return Terrain(heights, (half / _CELLS * 2,) * 2)


def _outside(land: Terrain, ring: int) -> IntArray:
    """Return the triangles of a ring, without those that finer rings cover."""
    faces = land.faces
    if ring == 0:
        return faces
    middle = np.abs(land.points[faces].mean(axis=1)[:, :2]).max(axis=1)
    outer: IntArray = faces[middle > land.half[0] / 2]
    return outer


def _strips(land: Terrain) -> Iterator[tuple[Array, IntArray]]:
    """Yield points and triangles of four rectangles that make a ring."""
    near, far = _CELLS // 4, 3 * _CELLS // 4
    grid = land.points.reshape(_CELLS + 1, _CELLS + 1, 3)
    for rows, columns in (
        (slice(0, near + 1), slice(None)),
        (slice(far, None), slice(None)),
        (slice(near, far + 1), slice(0, near + 1)),
        (slice(near, far + 1), slice(far, None)),
    ):
        part = grid[rows, columns]
        yield part.reshape(-1, 3), grid_faces(*part.shape[:2])
