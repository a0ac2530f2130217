"""Trees, hedges, ivy and fallen leaves of the courtyard: opaque leaves, which every renderer draws fast."""

import random

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.authoring import Surface, group, instance, mesh, physics_material
from pegasus.scene.scene import Color, PhysicsMaterial
from pegasus.worlds.growth import Growth
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.solids import round_obstacle

Lumps = list[tuple[tuple[float, float, float], tuple[float, float, float]]]
"""Centre and half axes of each lump of foliage [m]."""

_BROAD: Lumps = [
    ((0.0, 0.0, 4.6), (1.9, 1.9, 1.6)),
    ((1.1, 0.5, 3.8), (1.3, 1.2, 1.0)),
    ((-0.9, 0.9, 4.0), (1.2, 1.3, 1.1)),
    ((-0.3, -1.2, 3.9), (1.3, 1.1, 1.0)),
]
_SLENDER: Lumps = [((0.0, 0.0, 3.3), (0.75, 0.75, 2.7))]
_HEDGE: Lumps = [
    ((0.75 * k, 0.0, 0.36), (0.62, 0.36 + 0.04 * (k % 2), 0.42 + 0.05 * ((k + 1) % 2))) for k in range(-2, 3)
]
# Share of the size of a lump that is its dark inside; leaves stand around it.
_CORE = 0.74
_BROAD_PLACES = (
    (21.5, -21.0),
    (25.0, -13.5),
    (20.5, -6.0),
    (25.0, 1.5),
    (20.5, 9.0),
    (25.0, 16.5),
    (-14.0, -24.5),
)


def plant(site: Site) -> None:
    """Write broad trees on the lawns, cypresses along the southern wall, hedges, ivy and fallen leaves."""
    stage = site.stage
    broad, slender, hedge = (f"/Prototypes/{name}" for name in ("BroadTree", "Cypress", "Hedge"))
    site.prototype("BroadTree", "tree")
    site.prototype("Cypress", "tree")
    site.prototype("Hedge", "bush")
    _trunk(site, broad, radius=0.22, height=3.6, limbs=7)
    _trunk(site, slender, radius=0.15, height=1.5, limbs=0)
    _foliage(site, broad, _BROAD, (0.075, 0.15, 0.03), seed=1, density=125.0, size=0.125)
    _foliage(site, slender, _SLENDER, (0.03, 0.075, 0.028), seed=2, density=240.0, size=0.10, upright=1.6)
    _foliage(site, hedge, _HEDGE, (0.05, 0.11, 0.028), seed=3, density=260.0, size=0.085)
    group(stage, f"{ROOT}/Trees")
    for k, (x, y) in enumerate(_BROAD_PLACES):
        scale = (1.0, 1.15, 0.9, 1.05)[k % 4]
        instance(stage, f"{ROOT}/Trees/Broad{k}", broad, (x, y, 0.0), yaw=77.0 * k, scale=scale)
    for k, x in enumerate((-22.0, -18.0, -8.0, 6.5, 10.0, 13.5, 17.0)):
        scale = (1.0, 0.9, 1.1)[k % 3]
        instance(stage, f"{ROOT}/Trees/Cypress{k}", slender, (x, -27.0, 0.0), yaw=50.0 * k, scale=scale)
    group(stage, f"{ROOT}/Hedges")
    for k, y in enumerate(np.arange(-24.0, 19.0, 3.7).tolist()):
        scale = (1.0, 1.06, 0.95)[k % 3]
        instance(stage, f"{ROOT}/Hedges/East{k}", hedge, (27.3, y, 0.0), yaw=90.0, scale=scale)
    _ivy(site)
    _fallen(site)


def _trunk(site: Site, path: str, *, radius: float, height: float, limbs: int) -> None:
    """Write a trunk with limbs into the crown; only a cylinder collides."""
    bark = site.finish("bark", scope=path)
    contact = physics_material(site.stage, f"{path}/Looks/Contact", PhysicsMaterial(0.6, 0.5, 0.1))
    foot, top = (0.0, 0.0, 0.0), (0.0, 0.0, height)
    round_obstacle(site.stage, f"{path}/Trunk", foot, top, radius, Surface(bark.material, contact))
    grown = Growth((0.0, 0.0, height))
    up = np.array([-0.1, 0.12, 0.3, 0.8, 1.6, height])
    line = np.column_stack([0.02 * np.sin(2.1 * up), 0.02 * np.sin(1.7 * up), up])
    grown.limb(line, radius * np.array([1.45, 1.2, 1.05, 1.0, 0.92, 0.72]), sides=14)
    for k in range(limbs):
        angle = 2.39996 * k
        out = np.array([np.cos(angle), np.sin(angle), 0.0])
        start = np.array([0.0, 0.0, 2.2 + 0.2 * k])
        bent = [start + out * reach + [0.0, 0.0, rise] for reach, rise in ((0, 0), (0.45, 0.45), (1.0, 1.3))]
        grown.limb(np.array(bent), radius * np.array([0.42, 0.3, 0.14]), sides=6)
    grown.write_wood(site, f"{path}/Wood", Surface(bark.material))


def _foliage(
    site: Site,
    path: str,
    lumps: Lumps,
    color: Color,
    *,
    seed: int,
    density: float,
    size: float,
    upright: float = 0.0,
) -> None:
    """Write leaves around the closed dark inside of lumps.

    Args:
        site: The site.
        path: Path of the prototype.
        lumps: Centres and half axes [m].
        color: Mean colour of the leaves, linear.
        seed: Seed of the leaves.
        density: Leaves by area of the lumps [1/m^2].
        size: Mean length of a leaf [m].
        upright: Tendency of the leaves to point upwards.
    """
    numbers, rng = random.Random(seed), site.stream("foliage", path)
    ball, triangles = _geodesic_ball()
    points, faces = np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    places, outwards = [], []
    for center, half in lumps:
        bumps = np.array([numbers.uniform(0.88, 1.08) for _ in ball])
        faces = np.concatenate([faces, triangles + len(points)])
        inside = ball * (_CORE * bumps)[:, None] * half + center
        points = np.concatenate([points, np.round(inside, 3)])
        # Area of an ellipsoid (Thomsen's formula with p = 1.6).
        a, b, c = (part**1.6 for part in half)
        area = 4 * np.pi * ((a * b + a * c + b * c) / 3) ** (1 / 1.6)
        out = rng.normal(size=(round(area * density), 3))
        out /= np.sqrt((out * out).sum(axis=1, keepdims=True))
        at = out * half * rng.uniform(0.80, 1.06, (len(out), 1)) + center
        outward = out / half
        outward /= np.sqrt((outward * outward).sum(axis=1, keepdims=True))
        hidden = np.zeros(len(at), dtype=np.bool_)
        for other, extent in lumps:
            if other != center:
                hidden |= (((at - other) / extent) ** 2).sum(axis=1) < 0.55
        places.append(at[~hidden])
        outwards.append(outward[~hidden])
    dark = site.paint("inside", _scaled(color, 0.30), roughness=1.0, scope=path, collides=False)
    mesh(site.stage, f"{path}/Foliage", points, faces, dark)
    _leaves(
        site, path, np.concatenate(places), np.concatenate(outwards), color, rng, size=size, upright=upright
    )


def _leaves(
    site: Site,
    path: str,
    places: Array,
    outwards: Array,
    color: Color,
    rng: np.random.Generator,
    *,
    size: float,
    upright: float,
) -> None:
    """Write a rhombic leaf at each place, in three shades; normals lean outwards."""
    count = len(places)
    along = rng.normal(size=(count, 3)) * 0.8 + outwards + [0.0, 0.0, upright - 0.25]
    along /= np.sqrt((along * along).sum(axis=1, keepdims=True))
    face = rng.normal(size=(count, 3)) + outwards
    across = np.cross(along, face)
    across /= np.maximum(np.sqrt((across * across).sum(axis=1, keepdims=True)), 1e-9)
    length = size * rng.uniform(0.7, 1.3, (count, 1))
    flat = np.cross(across, along)
    flat *= np.where((flat * outwards).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
    normal = flat + 1.2 * outwards
    normal /= np.sqrt((normal * normal).sum(axis=1, keepdims=True))
    ring = [
        places,
        places + 0.5 * length * along + 0.27 * length * across + 0.06 * length * normal,
        places + length * along,
        places + 0.5 * length * along - 0.27 * length * across + 0.06 * length * normal,
    ]
    tones = [_scaled(color, factor) for factor in (0.75, 1.0, 1.4)]
    _rhombs(site, path, np.stack(ring, axis=1), normal, tones, rng, roughness=0.55, scope=path)


def _rhombs(
    site: Site,
    path: str,
    corners: Array,
    normals: Array,
    tones: list[Color],
    rng: np.random.Generator,
    *,
    roughness: float,
    scope: str,
) -> None:
    """Write leaves, each of one of several colours.

    Args:
        site: The site.
        path: Path of the parent prim.
        corners: Corners of the leaves [m], shape (L, 4, 3).
        normals: Unit normals of the leaves, shape (L, 3).
        tones: Colours, linear.
        rng: Random numbers.
        roughness: Roughness, 0 to 1.
        scope: Ancestor of the prims that use the materials.
    """
    kinds = rng.integers(0, len(tones), len(corners))
    for k, tone in enumerate(tones):
        of = kinds == k
        first = 4 * np.arange(of.sum())[:, None]
        faces = np.concatenate([first + np.array(ring) for ring in ((0, 1, 2), (0, 2, 3))])
        look = site.paint(f"leaf_{k}", tone, roughness=roughness, scope=scope, collides=False)
        points, smooth = corners[of].reshape(-1, 3), np.repeat(normals[of], 4, axis=0)
        mesh(site.stage, f"{path}/Leaves{k}", points, faces, look, normals=smooth)


def _ivy(site: Site) -> None:
    """Write ivy that climbs the inner sides of the eastern and northern walls in places."""
    rng = site.stream("ivy")
    places, outwards = [], []
    for root in (-23.5, -9.0, -5.0, 13.0):
        height = rng.uniform(1.6, 3.7)
        count = round(520 * height)
        up = height * rng.beta(1.0, 1.6, count)
        spread = (0.25 + 0.55 * up) * (1.15 - up / (height + 0.6))
        y = root + spread * rng.normal(0.0, 0.75, count)
        places.append(np.column_stack([29.55 - rng.uniform(0.0, 0.10, count), y, up]))
        outwards.append(np.broadcast_to([-1.0, 0.0, 0.2], (count, 3)))
    group(site.stage, f"{ROOT}/Ivy", "ivy")
    _leaves(
        site,
        f"{ROOT}/Ivy",
        np.concatenate(places),
        np.concatenate(outwards),
        (0.035, 0.085, 0.022),
        rng,
        size=0.11,
        upright=-0.3,
    )


def _fallen(site: Site) -> None:
    """Write dry leaves below the trees and along the foot of the eastern wall."""
    rng = site.stream("fallen")
    places = [np.array(place) + rng.normal(0.0, 1.5, (90, 2)) for place in _BROAD_PLACES]
    places.append(np.column_stack([29.5 - np.abs(rng.normal(0.0, 0.35, 250)), rng.uniform(-25.0, 28.0, 250)]))
    at = np.concatenate(places)
    at = at[(np.hypot(*at.T) > 15.0) & (np.abs(at).max(axis=1) < 29.5)]
    outwards = np.broadcast_to([0.0, 0.0, 1.0], (len(at), 3))
    group(site.stage, f"{ROOT}/FallenLeaves", "leaf")
    angle = rng.uniform(0.0, 2 * np.pi, len(at))
    along = np.column_stack([np.cos(angle), np.sin(angle), rng.uniform(0.0, 0.25, len(at))])
    across = np.column_stack([-np.sin(angle), np.cos(angle), rng.uniform(-0.2, 0.2, len(at))])
    start = np.column_stack([at, np.full(len(at), 0.006)])
    length = rng.uniform(0.06, 0.11, (len(at), 1))
    corners = np.stack(
        [
            start,
            start + length * (0.5 * along + 0.3 * across),
            start + length * along,
            start + length * (0.5 * along - 0.3 * across) + [0.0, 0.0, 0.012],
        ],
        axis=1,
    )
    path, tones = f"{ROOT}/FallenLeaves", [(0.16, 0.085, 0.025), (0.24, 0.15, 0.04), (0.10, 0.055, 0.02)]
    _rhombs(site, path, corners, outwards, tones, rng, roughness=0.8, scope=path)


def _scaled(color: Color, factor: float) -> Color:
    return color[0] * factor, color[1] * factor, color[2] * factor


def _geodesic_ball() -> tuple[Array, IntArray]:
    """Return an icosphere of one subdivision: points (42, 3), faces (80, 3)."""
    golden = (1 + 5**0.5) / 2
    signs = [(a, b * golden) for a in (-1, 1) for b in (-1, 1)]
    points = [p for a, b in signs for p in ((0.0, a, b), (a, b, 0.0), (b, 0.0, a))]
    corners = np.array(points) / np.hypot(1, golden)
    # Adjacent corners of an icosahedron have this scalar product.
    near = corners @ corners.T > 0.4
    faces = [
        (i, j, k)
        for i in range(12)
        for j in range(i)
        for k in range(j)
        if near[i, j] and near[j, k] and near[i, k]
    ]
    middles: dict[tuple[int, int], int] = {}
    ball = list(corners)

    def middle(a: int, b: int) -> int:
        pair = (min(a, b), max(a, b))
        if pair not in middles:
            middles[pair] = len(ball)
            point = ball[a] + ball[b]
            ball.append(point / np.sqrt(point @ point))
        return middles[pair]

    cut = []
    for a, b, c in faces:
        ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
        cut += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
    round_ball, triangles = np.array(ball), np.array(cut)
    x, y, z = (round_ball[triangles[:, k]] for k in range(3))
    inward = (np.cross(y - x, z - x) * x).sum(axis=1) < 0
    triangles[inward] = triangles[inward][:, ::-1]
    return round_ball, triangles
