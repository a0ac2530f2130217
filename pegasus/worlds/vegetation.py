"""Prototypes of trees, bushes and ferns, with branches, bark and cards of leaves or needles."""

from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array
from pegasus.scene.scene import Color
from pegasus.worlds.finishes.vegetation import OUTLINES
from pegasus.worlds.growth import Growth, limb_line
from pegasus.worlds.site import Site
from pegasus.worlds.solids import round_obstacle

_GOLDEN = np.pi * (3.0 - 5.0**0.5)


@dataclass(frozen=True)
class Shape:
    """Parameters of a plant variant."""

    height: float
    """Height to the top [m]."""
    trunk: float
    """Radius of the trunk at the ground [m]; 0 without one."""
    crown: float
    """Largest radius of the crown [m]."""
    clear: float
    """Height of the lowest branches relative to the whole height."""
    tint: Color = (1.0, 1.0, 1.0)
    """Factor on the colour of its foliage, linear."""


SHAPES: dict[str, tuple[Shape, ...]] = {
    "broadleaf": (
        Shape(10.5, 0.24, 3.5, 0.24, (1.15, 1.16, 1.05)),
        Shape(12.5, 0.29, 4.0, 0.28, (0.90, 1.02, 0.88)),
        Shape(8.0, 0.17, 2.7, 0.22, (1.45, 1.26, 0.95)),
        Shape(14.5, 0.34, 4.5, 0.32, (1.0, 1.06, 0.90)),
    ),
    "birch": (
        Shape(12.0, 0.13, 2.2, 0.34, (1.35, 1.26, 0.95)),
        Shape(9.5, 0.10, 1.8, 0.28, (1.55, 1.32, 0.85)),
        Shape(14.0, 0.16, 2.5, 0.40, (1.2, 1.2, 0.95)),
    ),
    "conifer": (
        Shape(14.0, 0.22, 2.9, 0.10, (1.6, 1.55, 1.4)),
        Shape(17.5, 0.28, 3.2, 0.24, (1.35, 1.4, 1.4)),
        Shape(6.0, 0.10, 1.7, 0.04, (2.1, 1.9, 1.4)),
        Shape(11.0, 0.18, 2.4, 0.16, (1.55, 1.65, 1.6)),
    ),
    "pine": (
        Shape(16.0, 0.25, 2.9, 0.58, (1.9, 1.8, 1.4)),
        Shape(13.0, 0.20, 2.5, 0.50, (1.7, 1.7, 1.4)),
    ),
    "bush": (
        Shape(1.5, 0.0, 0.9, 0.05, (1.05, 1.06, 0.95)),
        Shape(1.0, 0.0, 0.8, 0.05, (0.90, 0.98, 0.85)),
        Shape(2.2, 0.0, 1.2, 0.08, (1.35, 1.2, 0.9)),
    ),
    "fern": (
        Shape(0.55, 0.0, 0.60, 0.0, (1.9, 2.0, 1.15)),
        Shape(0.75, 0.0, 0.80, 0.0, (1.6, 1.8, 1.1)),
        Shape(0.45, 0.0, 0.50, 0.0, (2.4, 2.2, 1.1)),
    ),
}
"""Variants of each kind of plant."""


def variant_count(kind: str) -> int:
    """Return the number of variants of a kind of plant.

    Args:
        kind: Key into `SHAPES`.
    """
    return len(SHAPES[kind])


def tree(site: Site, kind: str, variant: int) -> str:
    """Return the path of a plant's prototype, created on first use, with its foot at the origin.

    Trunks collide, as cylinders; foliage, bushes and ferns do not.

    Args:
        site: The site.
        kind: Key into `SHAPES`: broadleaf, birch, conifer, pine, bush or fern.
        variant: Index of the variant, modulo their number.
    """
    number = variant % len(SHAPES[kind])
    name = f"{kind.capitalize()}{number}"
    path = f"/Prototypes/{name}"
    if site.stage.GetPrimAtPath(path):
        return path
    site.prototype(name, kind if kind in ("bush", "fern") else "tree")
    rng = site.stream("vegetation", kind, str(number))
    {
        "broadleaf": _broadleaf,
        "birch": _birch,
        "conifer": _conifer,
        "pine": _pine,
        "bush": _bush,
        "fern": _fern,
    }[kind](site, path, SHAPES[kind][number], rng)
    return path


def _broadleaf(site: Site, path: str, shape: Shape, rng: np.random.Generator) -> None:
    """Draw a tree with a round crown of spreading limbs."""
    low = shape.clear * shape.height
    middle = np.array([0.0, 0.0, 0.42 * low + 0.58 * shape.height])
    half = (shape.height - low) / 2
    grown = Growth(middle - [0.0, 0.0, 0.4 * half])
    trunk = _trunk(grown, shape, rng, top=0.86, wander=0.05)
    count = 21
    for k in range(count):
        part = (k + rng.uniform(0.1, 0.9)) / count
        start = _at(trunk, shape.clear + (0.86 - shape.clear) * part**1.1)
        rise = np.radians(12.0 + 50.0 * part + rng.uniform(-10.0, 10.0))
        direction = _direction(_GOLDEN * k + rng.uniform(-0.4, 0.4), rise)
        length = _to_crown(start, direction, middle, shape.crown, half) * rng.uniform(0.72, 0.95)
        thick = shape.trunk * (0.38 - 0.2 * part)
        limb = limb_line(start, direction, length, rng, count=6, lift=0.45 - 0.3 * part, wander=0.10)
        grown.limb(limb, thick * np.linspace(1.0, 0.16, 6) ** 1.1)
        twigs = max(round(length / 0.36), 4)
        for j in range(twigs):
            along = 0.25 + 0.75 * (j + rng.uniform(0.2, 0.8)) / twigs
            at, way = _at(limb, along), _way(limb, along)
            turn = (1 if j % 2 else -1) * rng.uniform(0.6, 1.4)
            aside = _raised(_turned(way, turn), rng.uniform(-0.7, 0.7))
            reach = (0.42 * length * (1.2 - along) + 0.45) * rng.uniform(0.7, 1.2)
            twig = limb_line(at, aside, reach, rng, count=4, lift=0.2, wander=0.16)
            grown.limb(twig, thick * 0.3 * np.linspace(1.0, 0.25, 4), sides=3)
            for m in range(2 + round(reach / 0.42)):
                spot = rng.uniform(0.3, 1.0)
                _leaf_card(grown, twig, spot, rng, size=rng.uniform(0.62, 1.0), flip=m)
        for m in range(3):
            _leaf_card(grown, limb, rng.uniform(0.85, 1.0), rng, size=rng.uniform(0.7, 1.0), flip=m)
    for m in range(10):
        _leaf_card(grown, trunk, rng.uniform(0.93, 1.0), rng, size=rng.uniform(0.8, 1.05), flip=m)
    _write(site, path, shape, grown, trunk, bark="bark", foliage="leaves")


def _birch(site: Site, path: str, shape: Shape, rng: np.random.Generator) -> None:
    """Draw a slender tree with steep limbs and hanging twigs."""
    low = shape.clear * shape.height
    middle = np.array([0.0, 0.0, (low + shape.height) / 2])
    grown, twigs_grown = Growth(middle), Growth(middle)
    trunk = _trunk(grown, shape, rng, top=0.97, wander=0.035)
    count = 22
    for k in range(count):
        part = (k + rng.uniform(0.1, 0.9)) / count
        start = _at(trunk, (shape.clear + (0.97 - shape.clear) * part) / 0.99)
        direction = _direction(_GOLDEN * k + rng.uniform(-0.4, 0.4), np.radians(rng.uniform(38.0, 62.0)))
        length = shape.crown * (1.25 * np.sqrt(1.0 - 0.9 * part)) * rng.uniform(0.7, 1.05)
        thick = shape.trunk * (0.24 - 0.10 * part)
        limb = limb_line(start, direction, length, rng, count=6, lift=-0.75, wander=0.08)
        twigs_grown.limb(limb, thick * np.linspace(1.0, 0.2, 6), sides=4)
        twigs = max(round(length / 0.30), 3)
        for j in range(twigs):
            along = 0.22 + 0.78 * (j + rng.uniform(0.2, 0.8)) / twigs
            at, way = _at(limb, along), _way(limb, along)
            aside = _turned(way, (1 if j % 2 else -1) * rng.uniform(0.5, 1.3)) * [1, 1, 0.3]
            reach = rng.uniform(0.45, 0.95)
            twig = limb_line(at, aside, reach, rng, count=4, lift=-1.6, wander=0.10)
            twigs_grown.limb(twig, thick * 0.18 * np.linspace(1.0, 0.4, 4), sides=3)
            for m in range(3):
                _leaf_card(
                    grown, twig, rng.uniform(0.15, 1.0), rng, size=rng.uniform(0.42, 0.62), flip=m, hang=0.75
                )
    for m in range(14):
        _leaf_card(grown, trunk, rng.uniform(0.90, 1.0), rng, size=rng.uniform(0.4, 0.6), flip=m)
    twig_bark = site.finish("bark", tint=(0.55, 0.5, 0.5), scope=path, collides=False)
    twigs_grown.write_wood(site, f"{path}/Twigs", twig_bark)
    _write(site, path, shape, grown, trunk, bark="birch_bark", foliage="leaves")


def _conifer(site: Site, path: str, shape: Shape, rng: np.random.Generator) -> None:
    """Draw a spruce: whorls of branches that hang and rise at their tips."""
    grown = Growth((0.0, 0.0, 0.3 * shape.height))
    trunk = _trunk(grown, shape, rng, top=1.0, wander=0.012)
    gap = 0.26 + 0.012 * shape.height
    whorls = int((1.0 - shape.clear) * shape.height / gap)
    for k in range(whorls):
        part = (k + 0.5) / whorls
        for j in range(int(rng.integers(5, 8))):
            height = shape.clear + (0.985 - shape.clear) * min(part + rng.uniform(-0.4, 0.4) / whorls, 1.0)
            start = _at(trunk, height)
            azimuth = _GOLDEN * k + 2 * np.pi * j / 6 + rng.uniform(-0.35, 0.35)
            rise = np.radians(-18.0 + 68.0 * part**1.8 + rng.uniform(-6.0, 6.0))
            full = shape.crown * (1.0 - part) ** 0.85 + 0.22
            # The lowest branches get less light.
            full *= min(1.0, 0.62 + 3.0 * part) * rng.uniform(0.78, 1.06)
            limb = limb_line(start, _direction(azimuth, rise), full, rng, count=5, lift=0.35, wander=0.05)
            grown.limb(limb, (0.008 + 0.012 * full) * np.linspace(1.0, 0.2, 5), sides=3)
            _needle_branch(grown, limb, full, rng)
    top = _at(trunk, 1.0)
    for j in range(4):
        way = _direction(1.6 * j, np.radians(70.0))
        grown.card(top - [0.0, 0.0, 0.35], way, _direction(1.6 * j, 0.0), length=0.6, fold=0.1)
    _write(site, path, shape, grown, trunk, bark="bark", foliage="needles", bark_tint=(1.1, 0.85, 0.75))


def _needle_branch(grown: Growth, limb: Array, length: float, rng: np.random.Generator) -> None:
    """Add twigs on both sides and at the tip of a branch."""
    up = np.array([0.0, 0.0, 1.0])
    size = min(1.15, 0.5 + 0.3 * length)
    tip = _at(limb, max(0.0, 1.0 - 0.55 * size / length))
    grown.card(tip, _way(limb, 0.95), up, length=size, fold=-0.08, sag=-0.04)
    count = 2 + int(max(length - 0.35, 0.0) / 0.24)
    for j in range(count):
        along = 0.16 + 0.70 * (j + rng.uniform(0.0, 0.6)) / count
        side = 1.0 if j % 2 else -1.0
        turn = side * rng.uniform(0.55, 0.95)
        way = _raised(_turned(_way(limb, along), turn), rng.uniform(-0.30, 0.02))
        here = size * (1.05 - 0.35 * along) * rng.uniform(0.85, 1.1)
        face = up + 0.55 * rng.normal(size=3)
        grown.card(_at(limb, along), way, face, length=here, fold=-0.16, sag=0.16)


def _pine(site: Site, path: str, shape: Shape, rng: np.random.Generator) -> None:
    """Draw a pine: a bare reddish trunk, and tufts of needles at the ends of crooked limbs."""
    low = shape.clear * shape.height
    middle = np.array([0.0, 0.0, (low + shape.height) / 2])
    grown = Growth(middle - [0.0, 0.0, 1.0])
    trunk = _trunk(grown, shape, rng, top=0.96, wander=0.03)
    for _ in range(5):
        # Dead stubs below the crown.
        start = _at(trunk, rng.uniform(0.2, shape.clear))
        stub = limb_line(start, _direction(rng.uniform(0, 6.3), 0.1), rng.uniform(0.3, 0.9), rng, count=3)
        grown.limb(stub, 0.02 * np.array([1.0, 0.7, 0.3]), sides=4)
    count = 17
    half = (shape.height - low) / 2
    for k in range(count):
        part = (k + rng.uniform(0.1, 0.9)) / count
        start = _at(trunk, (shape.clear + (0.95 - shape.clear) * part) / 0.96)
        direction = _direction(_GOLDEN * k + rng.uniform(-0.5, 0.5), np.radians(5.0 + 50.0 * part))
        length = _to_crown(start, direction, middle, shape.crown, half) * rng.uniform(0.7, 1.05)
        limb = limb_line(start, direction, length, rng, count=6, lift=0.45, wander=0.16)
        grown.limb(limb, shape.trunk * (0.30 - 0.12 * part) * np.linspace(1.0, 0.2, 6), sides=4)
        twigs = max(round(length / 0.32), 3)
        for j in range(twigs):
            along = 0.35 + 0.65 * (j + rng.uniform(0.2, 0.8)) / twigs
            aside = _turned(_way(limb, along), (1 if j % 2 else -1) * rng.uniform(0.4, 1.0))
            twig = limb_line(
                _at(limb, along), _raised(aside, 0.25), rng.uniform(0.35, 0.7), rng, count=3, lift=0.6
            )
            grown.limb(twig, 0.012 * np.array([1.0, 0.7, 0.4]), sides=3)
            for m in range(4):
                way = _unit(twig[-1] - twig[0]) + 0.55 * rng.normal(size=3) + [0.0, 0.0, 0.35]
                face = _direction(1.6 * m + rng.uniform(0, 1), 0.6)
                grown.card(twig[1], way, face, length=rng.uniform(0.55, 0.8), fold=0.15, sag=-0.05)
    _write(site, path, shape, grown, trunk, bark="bark", foliage="needles", bark_tint=(1.7, 1.05, 0.75))


def _bush(site: Site, path: str, shape: Shape, rng: np.random.Generator) -> None:
    """Draw a bush of many stems."""
    grown = Growth((0.0, 0.0, 0.25 * shape.height))
    for k in range(14):
        azimuth, rise = _GOLDEN * k, np.radians(rng.uniform(30.0, 82.0))
        start = 0.12 * rng.normal(size=3) * [1.0, 1.0, 0.0] - [0.0, 0.0, 0.05]
        reach = shape.height / max(np.sin(rise), shape.height / (1.15 * shape.crown) * np.cos(rise))
        stem = limb_line(start, _direction(azimuth, rise), 0.85 * reach, rng, count=5, lift=0.2, wander=0.14)
        grown.limb(stem, 0.016 * np.linspace(1.0, 0.25, 5), sides=4)
        for m in range(9):
            _leaf_card(grown, stem, rng.uniform(0.25, 1.0), rng, size=rng.uniform(0.32, 0.52), flip=m)
    bark = site.finish("bark", scope=path, collides=False)
    leaves = site.finish("leaves", tint=shape.tint, scope=path, collides=False)
    grown.write_wood(site, f"{path}/Wood", bark)
    grown.write_foliage(site, f"{path}/Foliage", leaves, OUTLINES["leaves"])


def _fern(site: Site, path: str, shape: Shape, rng: np.random.Generator) -> None:
    """Draw a fern: arching fronds around a root."""
    grown = Growth((0.0, 0.0, -0.3))
    count = 11
    for k in range(count):
        azimuth = 2 * np.pi * k / count + rng.uniform(-0.25, 0.25)
        rise = np.radians(rng.uniform(38.0, 72.0))
        length = shape.crown * rng.uniform(0.85, 1.25)
        base = np.array([0.04 * np.cos(azimuth), 0.04 * np.sin(azimuth), 0.05])
        way = _direction(azimuth, rise)
        face = np.cross(np.cross(way, [0.0, 0.0, 1.0]), way)
        grown.card(base, way, face, length=length, fold=0.05, sag=rng.uniform(0.22, 0.40))
    leaves = site.finish("needles", tint=shape.tint, scope=path, collides=False)
    grown.write_foliage(site, f"{path}/Foliage", leaves, OUTLINES["needles"], rows=5)


def _trunk(grown: Growth, shape: Shape, rng: np.random.Generator, *, top: float, wander: float) -> Array:
    """Grow a trunk with spreading roots, and return points along its middle, shape (12, 3)."""
    count = 12
    height = np.concatenate([[0.0, 0.03, 0.08], np.linspace(0.16, 1.0, count - 3)]) * top * shape.height
    bend = np.cumsum(rng.normal(size=(count, 2)), axis=0) * wander * np.sqrt(shape.height) * 0.35
    line = np.column_stack([bend - bend[0], height])
    # Straight at the foot, which collides as a cylinder.
    line[:4, :2] = line[3, :2] * (height[:4] / height[3])[:, None] * 0.5
    line[0, 2] = -0.35
    part = np.maximum(height, 0.0) / (top * shape.height)
    radius = shape.trunk * ((1.0 - 0.93 * part) + 0.45 * np.exp(-np.maximum(height, 0.0) / 0.28))
    grown.limb(line, radius, sides=10)
    return line


def _write(
    site: Site,
    path: str,
    shape: Shape,
    grown: Growth,
    trunk: Array,
    *,
    bark: str,
    foliage: str,
    bark_tint: Color = (1.0, 1.0, 1.0),
) -> None:
    """Write wood, foliage and the trunk's collider."""
    wood = site.finish(bark, tint=bark_tint, scope=path, collides=False)
    solid = site.finish(bark, tint=bark_tint, scope=path)
    grown.write_wood(site, f"{path}/Wood", wood)
    leaves = site.finish(foliage, tint=shape.tint, scope=path, collides=False)
    grown.write_foliage(site, f"{path}/Foliage", leaves, OUTLINES[foliage])
    last = len(trunk) - 3
    for number, (a, b) in enumerate(((0, 4), (4, 7), (7, last))):
        part = max(trunk[(a + b) // 2, 2], 0.0) / shape.height
        radius = shape.trunk * (1.0 - 0.93 * part)
        round_obstacle(site.stage, f"{path}/Trunk{number}", trunk[a], trunk[b], radius, solid)


def _leaf_card(
    grown: Growth,
    line: Array,
    along: float,
    rng: np.random.Generator,
    *,
    size: float,
    flip: int,
    hang: float = 0.0,
) -> None:
    """Hang a card of leaves onto a twig."""
    way = _way(line, along)
    aside = _turned(way, (1.0 if flip % 2 else -1.0) * rng.uniform(0.2, 1.3))
    toward = aside + 0.4 * rng.normal(size=3) - [0.0, 0.0, hang]
    face = np.array([0.0, 0.0, 1.0]) + 0.55 * rng.normal(size=3)
    if hang:
        face = face * [1.0, 1.0, 0.4] + 0.8 * way
    # The image of the twig starts with a bare stalk.
    base = _at(line, along) - 0.18 * size * _unit(toward)
    grown.card(base, toward, face, length=size, fold=rng.uniform(0.05, 0.22))


def _to_crown(start: Array, direction: Array, middle: Array, radius: float, half: float) -> float:
    """Return the distance to the surface of an ellipsoid from a point within it."""
    scale = np.array([radius, radius, half])
    a, d = (start - middle) / scale, direction / scale
    square, product = d @ d, a @ d
    room = max(product**2 - square * (a @ a - 1.0), 0.0)
    return float(max((np.sqrt(room) - product) / square, 0.4 * radius))


def _at(line: Array, part: float) -> Array:
    """Return the point at a share of a line."""
    place = min(max(part, 0.0), 1.0) * (len(line) - 1)
    k = min(int(place), len(line) - 2)
    point: Array = line[k] + (place - k) * (line[k + 1] - line[k])
    return point


def _way(line: Array, part: float) -> Array:
    """Return the direction at a share of a line."""
    k = min(int(min(max(part, 0.0), 1.0) * (len(line) - 1)), len(line) - 2)
    return _unit(line[k + 1] - line[k])


def _direction(azimuth: float, rise: float) -> Array:
    return np.array([np.cos(azimuth) * np.cos(rise), np.sin(azimuth) * np.cos(rise), np.sin(rise)])


def _raised(way: Array, rise: float) -> Array:
    """Return a direction tilted towards z."""
    return np.array([way[0], way[1], way[2] + rise])


def _turned(way: Array, angle: float) -> Array:
    """Return a direction rotated about z."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * way[0] - s * way[1], s * way[0] + c * way[1], way[2]])


def _unit(vector: Array) -> Array:
    unit: Array = vector / np.sqrt(vector @ vector)
    return unit
