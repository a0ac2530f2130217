"""Floor and apron of a hangar: concrete slabs, markings, tyre tracks, oil stains, and the meadow around."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.scene.authoring import ground_plane, group, mesh, physics_material
from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.lettering import lettering, on_floor
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.slabs import scattered_uvs, shade_slabs
from pegasus.worlds.solids import Solid, cuboid, draw, polygons, sheet, tiles

_SLAB = (5.0, 6.0)
"""Lengths of a slab along x and y [m]."""
_VERGE = 4.0
"""Width of the apron beyond the hangar on each side [m]."""
_TRACK = 0.13
_WHEELS = (-1.15, 0.0, 1.15)
_ENGINE = 2.1


def lay_floor(site: Site, length: float, width: float, apron: float) -> None:
    """Write meadow, apron and floor as one surface of slabs, and the markings.

    Args:
        site: The site.
        length: Length of the hangar along x [m].
        width: Its width along y [m].
        apron: Length of the apron in front of it [m].
    """
    stage, rng = site.stage, site.stream("floor")
    soil = physics_material(stage, f"{ROOT}/Looks/Ground", PhysicsMaterial(0.8, 0.7, 0.1))
    group(stage, f"{ROOT}/Ground", "ground")
    ground_plane(stage, f"{ROOT}/Ground/Collision", soil)
    front, half = length / 2, width / 2
    end, wide = front + apron, half + _VERGE
    far = np.array([150.0, 60.0])
    across = np.arange(-front + _SLAB[0], end - 1.0, _SLAB[0])
    along = np.arange(_SLAB[1], half - 0.5, _SLAB[1])
    x = np.unique(np.round(np.concatenate([-front - far, [-front], across, [front, end], end + far]), 6))
    y = np.round(np.concatenate([[0.0, half, wide], along, half + far]), 6)
    y = np.unique(np.concatenate([y, -y]))
    points, faces = tiles(x, y)
    middle = points[faces].mean(axis=1)
    inside = (np.abs(middle[:, 0]) < front) & (np.abs(middle[:, 1]) < half)
    paved = (middle[:, 0] > front) & (middle[:, 0] < end) & (np.abs(middle[:, 1]) < wide)
    corners = points[faces][..., :2]
    turned = scattered_uvs(rng, corners, side=4.0)
    uvs = np.where((inside | paved)[:, None, None], turned, corners).reshape(-1, 2)
    ground = mesh(
        stage, f"{ROOT}/Ground/Surface", points, faces, site.finish("grass", collides=False), uvs=uvs
    )
    for name, where, tint in (("floor", inside, (0.62, 0.62, 0.62)), ("apron", paved, (0.85, 0.85, 0.84))):
        shade_slabs(site, ground, name, np.nonzero(where)[0], finish="concrete", tint=tint, rng=rng)
    yellow = site.paint("marking_yellow", (0.75, 0.48, 0.02), roughness=0.6, collides=False)
    dark = site.paint("joint", (0.08, 0.08, 0.08), roughness=0.9, collides=False)
    group(stage, f"{ROOT}/Markings", "marking")
    line = [cuboid((3.0, 0.0, 0.002), (length + apron - 12.0, 0.15, 0.003))]
    draw(stage, f"{ROOT}/Markings/Line", line, yellow)
    joints = [cuboid((0.0, s * v, 0.0), (length - 0.1, 0.01, 0.002)) for s in (1.0, -1.0) for v in along]
    joints += [cuboid((v, 0.0, 0.0), (0.01, 2 * half + (7.0 if v > front else -0.1), 0.0018)) for v in across]
    draw(stage, f"{ROOT}/Markings/Joints", joints, dark)
    spot = on_floor(lettering("H", 2.0), front + apron * 0.6, 0.0, yaw=-90.0)
    angle = np.linspace(0.0, 2 * np.pi, 65)
    ring = []
    for k in range(64):
        at, radii = [k, k, k + 1, k + 1], np.array([2.2, 2.4, 2.4, 2.2])
        rim = [front + apron * 0.6 + radii * np.cos(angle[at]), radii * np.sin(angle[at]), np.full(4, 0.005)]
        ring.append(polygons([np.stack(rim, axis=1)]))
    white = site.paint("marking_white", (0.7, 0.7, 0.7), roughness=0.6, collides=False)
    draw(stage, f"{ROOT}/Markings/Spot", [spot, *ring], white)


def wear_floor(site: Site, stands: Array, start: float) -> None:
    """Write the tracks of the wheels from the apron to each stand, and oil below the engines.

    Args:
        site: The site.
        stands: Positions of the aircraft [m], shape (A, 2).
        start: Position along x where the tracks leave the middle of the apron [m].
    """
    rng = site.stream("wear")
    tracks: list[Solid] = []
    stains: list[Solid] = []
    for number, (x, y) in enumerate(stands.tolist()):
        for wheel in _WHEELS:
            part = np.linspace(0.0, 1.0, 33)
            along = start + (x - start) * part
            bend = part * part * part * (10.0 - 15.0 * part + 6.0 * part * part)
            beside = y * bend + wheel + rng.uniform(-0.05, 0.05)
            level = 0.0011 + 0.00002 * number
            edges = [np.column_stack([along, beside + s * _TRACK, np.full(33, level)]) for s in (-0.5, 0.5)]
            # Counter-clockwise seen from above, as the track runs towards -x.
            tracks.append(sheet(np.stack(edges[::-1])))
        for _ in range(14):
            size = 0.02 + 0.16 * float(rng.beta(1.0, 4.0))
            at = np.array([x + _ENGINE, y]) + rng.normal(0.0, 0.3, 2)
            stains.append(_spot(at, size, rng))
    group(site.stage, f"{ROOT}/Wear", "stain")
    grey = site.finish("concrete", tint=(0.47, 0.46, 0.45), collides=False)
    oil = site.paint("oil", (0.022, 0.019, 0.016), roughness=0.22, collides=False)
    if stains:
        draw(site.stage, f"{ROOT}/Wear/Tracks", tracks, grey)
        draw(site.stage, f"{ROOT}/Wear/Oil", stains, oil)


def _spot(at: Array, size: float, rng: np.random.Generator) -> Solid:
    """Return a flat spot with an uneven rim."""
    count = 18
    angle = np.linspace(0.0, 2 * np.pi, count, endpoint=False)
    wave = 1.0 + 0.2 * np.sin(2 * angle + rng.uniform(0.0, 6.0)) + 0.12 * np.sin(5 * angle)
    rim = size * wave * rng.uniform(0.9, 1.1, count)
    ring = np.column_stack([at[0] + rim * np.cos(angle), at[1] + rim * np.sin(angle), np.full(count, 0.0014)])
    middle = np.array([*at, 0.0014])
    return polygons([np.array([middle, ring[k - 1], ring[k]]) for k in range(count)])
