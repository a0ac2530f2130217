"""The hall: ground, floor, walls, columns."""

import numpy as np

from pegasus.scene.authoring import (
    block,
    ground_plane,
    group,
    instance,
    label,
    mesh,
    physics_material,
    place,
)
from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.slabs import scattered_uvs
from pegasus.worlds.solids import cuboid, draw, extrusion, tiles
from pegasus.worlds.warehouse.layout import DOOR_HEIGHT, DOOR_WIDTH, Layout

DOCK_DROP = 1.2
"""Depth of the yard below the floor, for level lorries [m]."""
WALL = 0.2
EAVES = 1.0
"""Height from the bottom of the trusses to the roof at the side walls [m]."""

_SLOPE = 0.06
_PLINTH = 1.0
_JOINT_PITCH = 6.0


def roof_height(layout: Layout, y: float) -> float:
    """Return the height of the underside of the roof [m].

    Args:
        layout: The floor plan.
        y: Position across [m].
    """
    return layout.height + EAVES + _SLOPE * (layout.width / 2 - abs(y))


def build_hall(site: Site, layout: Layout) -> None:
    """Write ground, floor, walls and columns."""
    _yard(site, layout)
    _floor(site, layout)
    _side_walls(site, layout)
    _end_walls(site, layout)
    _columns(site, layout)


def _yard(site: Site, layout: Layout) -> None:
    """Write the ground outside, below the floor."""
    stage = site.stage
    soil = physics_material(stage, f"{ROOT}/Looks/Soil", PhysicsMaterial(0.8, 0.7, 0.1))
    group(stage, f"{ROOT}/Yard", "ground")
    ground_plane(stage, f"{ROOT}/Yard/Collision", soil)
    place(stage.GetPrimAtPath(f"{ROOT}/Yard/Collision"), (0.0, 0.0, -DOCK_DROP))
    reach = max(layout.length, layout.width) / 2 + 30.0
    points, faces = tiles(np.linspace(-reach, reach, 9), np.linspace(-reach, reach, 9))
    points[:, 2] = -DOCK_DROP
    mesh(
        stage,
        f"{ROOT}/Yard/Asphalt",
        points,
        faces,
        site.finish("asphalt", collides=False),
        uvs=points[:, :2],
    )


def _floor(site: Site, layout: Layout) -> None:
    """Write the slab and its sawn joints."""
    stage = site.stage
    group(stage, f"{ROOT}/Floor", "floor")
    size = (layout.length + 2 * WALL, layout.width + 2 * WALL, DOCK_DROP - 0.01)
    # The foundation collides; the drawn floor is 1 mm above it.
    block(stage, f"{ROOT}/Floor/Slab", (0.0, 0.0, -size[2] / 2 - 0.001), size, site.finish("concrete"))
    x = np.linspace(-layout.length / 2, layout.length / 2, max(round(layout.length / _JOINT_PITCH), 1) + 1)
    y = np.linspace(-layout.width / 2, layout.width / 2, max(round(layout.width / _JOINT_PITCH), 1) + 1)
    points, faces = tiles(x, y)
    surface = site.finish("floor_epoxy", tint=(0.62, 0.62, 0.6), collides=False)
    # The joints hide where each slab shows another part of the image.
    uvs = scattered_uvs(site.stream("floor"), points[faces][..., :2], side=6.0)
    mesh(stage, f"{ROOT}/Floor/Surface", points, faces, surface, uvs=uvs.reshape(-1, 2))
    joint = site.paint("joint", (0.05, 0.05, 0.05), roughness=0.9, collides=False)
    lines = [cuboid((value, 0.0, 0.0), (0.008, layout.width, 0.002)) for value in x[1:-1].tolist()]
    lines += [cuboid((0.0, value, 0.0), (layout.length, 0.008, 0.0018)) for value in y[1:-1].tolist()]
    if lines:
        draw(stage, f"{ROOT}/Floor/Joints", lines, joint)


def _side_walls(site: Site, layout: Layout) -> None:
    """Write the walls along x: a plinth of concrete below panels."""
    stage = site.stage
    group(stage, f"{ROOT}/Walls", "wall")
    plinth, panel = site.finish("concrete"), site.finish("corrugated_metal", tint=(0.86, 0.88, 0.9))
    top = layout.height + EAVES
    length = layout.length + 2 * WALL
    for name, side in (("South", -1.0), ("North", 1.0)):
        y = side * (layout.width / 2 + WALL / 2)
        block(stage, f"{ROOT}/Walls/{name}Plinth", (0.0, y, _PLINTH / 2), (length, WALL, _PLINTH), plinth)
        middle = (top + _PLINTH) / 2
        size = (length, WALL - 0.04, top - _PLINTH)
        block(stage, f"{ROOT}/Walls/{name}Panel", (0.0, y, middle), size, panel)


def _end_walls(site: Site, layout: Layout) -> None:
    """Write the gables, the western one with an opening for each dock door."""
    stage = site.stage
    plinth, panel = site.finish("concrete"), site.finish("corrugated_metal", tint=(0.86, 0.88, 0.9))
    half, top, ridge = layout.width / 2, layout.height + EAVES, roof_height(layout, 0.0)
    east, west = layout.length / 2 + WALL / 2, -layout.length / 2 - WALL / 2
    block(stage, f"{ROOT}/Walls/EastPlinth", (east, 0.0, _PLINTH / 2), (WALL, 2 * half, _PLINTH), plinth)
    for name, x, base in (("East", east, _PLINTH), ("West", west, DOOR_HEIGHT)):
        outline = [(-half, base), (half, base), (half, top), (0.0, ridge), (-half, top)]
        gable = extrusion(outline, (x - WALL / 2 + 0.02, 0.0, 0.0), (x + WALL / 2 - 0.02, 0.0, 0.0))
        draw(stage, f"{ROOT}/Walls/{name}Gable", [gable], panel, approximation="convexHull")
    edges = [-half, *(y + side * DOOR_WIDTH / 2 for y in layout.doors for side in (-1.0, 1.0)), half]
    for k in range(0, len(edges), 2):
        start, end = edges[k], edges[k + 1]
        middle, run = (start + end) / 2, end - start
        block(stage, f"{ROOT}/Walls/WestPlinth{k // 2}", (west, middle, 0.5), (WALL, run, _PLINTH), plinth)
        center, size = (_PLINTH + DOOR_HEIGHT) / 2, (WALL - 0.04, run, DOOR_HEIGHT - _PLINTH)
        block(stage, f"{ROOT}/Walls/WestPanel{k // 2}", (west, middle, center), size, panel)


def _columns(site: Site, layout: Layout) -> None:
    """Write the columns that carry the trusses, with base plates and bolts, and rails along the walls."""
    stage = site.stage
    path = site.prototype("Column", "column")
    steel = site.finish("painted_metal", tint=(0.55, 0.6, 0.66), scope=path)
    bolt = site.paint("bolt", (0.3, 0.3, 0.31), metallic=0.9, roughness=0.4, scope=path, collides=False)
    guard = site.paint("guard", (0.75, 0.5, 0.02), scope=path, collides=False)
    flange, web, depth, width = 0.018, 0.011, 0.3, 0.24
    a, b, c, d = width / 2, depth / 2, depth / 2 - flange, web / 2
    outline = [(-a, -b), (a, -b), (a, -c), (d, -c), (d, c), (a, c), (a, b), (-a, b)]
    outline += [(-a, c), (-d, c), (-d, -c), (-a, -c)]
    draw(
        stage, f"{path}/Shaft", [extrusion(outline, (0.0, 0.0, 0.02), (0.0, 0.0, layout.height + 0.1))], steel
    )
    draw(stage, f"{path}/Plate", [cuboid((0.0, 0.0, 0.011), (0.34, 0.4, 0.02))], steel)
    draw(
        stage,
        f"{path}/Bolts",
        [cuboid((x, y, 0.035), (0.03, 0.03, 0.03)) for x in (-0.13, 0.13) for y in (-0.17, 0.17)],
        bolt,
    )
    # Yellow paint on the inner flange, up to where trucks reach.
    bands = [cuboid((0.0, side * (b + 0.001), 0.75), (width, 0.002, 1.3)) for side in (-1.0, 1.0)]
    draw(stage, f"{path}/Band", bands, guard)
    away = layout.width / 2 - 0.24
    for k, x in enumerate(layout.frames):
        for name, y in (("South", -away), ("North", away)):
            instance(stage, f"{ROOT}/Columns/{name}{k}", path, (x, y, 0.0))
    rail = site.finish("painted_metal", tint=(0.55, 0.6, 0.66))
    group(stage, f"{ROOT}/Rails", "wall")
    count = max(int((layout.height - 1.5) / 2.0), 1)
    for k in range(count):
        z = 2.4 + k * (layout.height - 2.6) / count
        for name, y in (("South", -layout.width / 2 + 0.045), ("North", layout.width / 2 - 0.045)):
            prim = block(stage, f"{ROOT}/Rails/{name}{k}", (0.0, y, z), (layout.length, 0.07, 0.16), rail)
            label(prim, "wall")
