"""Vegetation finishes: grass, thin grass, meadow, forest floor, cards of leaves and needles."""

from typing import TypeAlias

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.finishes.drawing import (
    Canvas,
    Tone,
    bar,
    blade,
    disc,
    finer,
    leaf,
    mix,
    ramp,
    scattered,
    strokes,
)
from pegasus.worlds.finishes.finish import Maps
from pegasus.worlds.finishes.noise import blurred, fractal_noise

Outline: TypeAlias = tuple[tuple[float, float], ...]
"""Outline of a cut-out, alike on both sides: heights in its image from below, and half widths there."""

OUTLINES: dict[str, Outline] = {
    "leaves": ((0.130, 0.0), (0.161, 0.473), (0.758, 0.473), (0.970, 0.187)),
    "needles": ((0.008, 0.0), (0.322, 0.417), (0.989, 0.097)),
}
"""Convex outlines of cut-outs by finish: leaves without the lower part of their stalk."""


def grass(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a mown lawn with clover and dry spots, on a square of four metres."""
    patch = fractal_noise(rng, pixels, cells=2.5, octaves=5, gain=0.75)
    fine = fractal_noise(rng, pixels, cells=70, octaves=3, gain=0.85)
    ground = mix((0.23, 0.265, 0.135), (0.365, 0.42, 0.20), 0.5 + 0.2 * fine + 0.1 * patch)
    canvas = Canvas(pixels, ground, 0.85, 0.004 * fine)
    for layer in range(3):
        _blades(canvas, rng, 9000, (0.010, 0.020), lift=0.008 + 0.007 * layer)
    dry = ramp(fractal_noise(rng, pixels, cells=4, octaves=5, gain=0.65), 1.0, 2.6)
    canvas.lay(0.45 * dry, color=(0.56, 0.51, 0.29))
    canvas.shade(1.0 + 0.03 * patch)
    clover = scattered(rng, pixels, 260, length=(0.004, 0.006), width=(0.004, 0.005), outline=disc)
    near = ramp(patch, 0.0, 1.2)
    canvas.lay(0.7 * near * clover.cover, color=(0.30, 0.44, 0.20), height=0.02)
    canvas.height = blurred(canvas.height, 0.9)
    return canvas.maps()


def thin_grass(rng: np.random.Generator, pixels: int) -> Maps:
    """Return tufts of grass on trodden earth with pebbles, on a square of four metres."""
    patch = fractal_noise(rng, pixels, cells=6, octaves=5, gain=0.7)
    fine = fractal_noise(rng, pixels, cells=60, octaves=4, gain=0.85)
    earth = mix((0.275, 0.215, 0.15), (0.45, 0.37, 0.27), 0.5 + 0.16 * fine + 0.1 * patch)
    canvas = Canvas(pixels, earth, 0.93, 0.003 * fine)
    pebbles = scattered(rng, pixels, 500, length=(0.004, 0.009), width=(0.003, 0.006), outline=disc)
    canvas.lay(0.8 * pebbles.cover, color=(0.47, 0.44, 0.39), height=0.006)
    _blades(canvas, rng, 16000, (0.010, 0.024), lift=0.014, dry=0.30, ground=patch + 0.25 * fine)
    _blades(canvas, rng, 9000, (0.014, 0.030), lift=0.020, dry=0.18, ground=patch - 0.7)
    deep = blurred(canvas.height, 4.0) - canvas.height
    canvas.shade(np.minimum(np.maximum(1.0 - 30.0 * deep, 0.6), 1.1))
    canvas.height = blurred(canvas.height, 0.9)
    return canvas.maps()


def meadow(rng: np.random.Generator, pixels: int) -> Maps:
    """Return tall grass with daisies, buttercups and seed heads, on a square of four metres."""
    patch = fractal_noise(rng, pixels, cells=2.5, octaves=5, gain=0.75)
    fine = fractal_noise(rng, pixels, cells=40, octaves=4, gain=0.8)
    ground = mix((0.18, 0.205, 0.105), (0.32, 0.36, 0.175), 0.5 + 0.2 * fine + 0.15 * patch)
    canvas = Canvas(pixels, ground, 0.85, 0.006 * fine)
    for layer in range(3):
        _blades(canvas, rng, 5000, (0.02, 0.055), lift=0.010 + 0.010 * layer, dry=0.12)
    seeds = scattered(rng, pixels, 700, length=(0.006, 0.014), width=(0.0016, 0.003), outline=leaf, bend=0.2)
    canvas.lay(0.8 * seeds.cover, color=(0.60, 0.53, 0.35), height=0.04)
    canvas.shade(1.0 + 0.04 * patch)
    grove = fractal_noise(rng, pixels, cells=3, octaves=3, gain=0.7)
    for count, color, size, where in (
        (420, (0.90, 0.89, 0.84), 0.010, grove),
        (420, (0.86, 0.71, 0.13), 0.007, -grove),
        (150, (0.52, 0.40, 0.64), 0.009, patch),
    ):
        flowers = scattered(
            rng, pixels, count, length=(0.7 * size, size), width=(0.7 * size, size), outline=disc
        )
        there = flowers.cover * (where > 0.35)
        canvas.lay(there, color=color, roughness=0.8, height=0.045)
        if color[2] > 0.8:
            heart = there * (np.hypot(flowers.along, flowers.across) < 0.5)
            canvas.lay(heart, color=(0.80, 0.62, 0.12))
    canvas.height = blurred(canvas.height, 0.9)
    return canvas.maps()


def forest_floor(rng: np.random.Generator, pixels: int) -> Maps:
    """Return fallen leaves, needles, twigs and moss on dark earth, on a square of four metres."""
    bulk = fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.6)
    fine = fractal_noise(rng, pixels, cells=50, octaves=3, gain=0.85)
    earth = mix((0.16, 0.12, 0.085), (0.33, 0.255, 0.175), 0.5 + 0.2 * fine + 0.12 * bulk)
    canvas = Canvas(pixels, earth, 0.95, 0.015 * bulk + 0.003 * fine)
    base = canvas.height.copy()
    needles = scattered(
        rng, pixels, 9000, length=(0.008, 0.016), width=(0.0008, 0.0013), outline=bar, bend=0.1
    )
    tone = mix((0.30, 0.20, 0.11), (0.54, 0.385, 0.22), rng.uniform(0.0, 1.0, 9000))
    canvas.lay(0.8 * needles.cover, color=tone[needles.index], height=base + 0.003)
    for layer in range(3):
        count = 1100
        leaves = scattered(
            rng, pixels, count, length=(0.012, 0.024), width=(0.007, 0.013), outline=leaf, bend=0.15
        )
        hue = mix((0.29, 0.20, 0.135), (0.60, 0.455, 0.30), rng.beta(1.5, 2.0, count))
        hue[: count // 12] = (0.60, 0.49, 0.26)
        hue[count // 12 : count // 6] = (0.45, 0.25, 0.165)
        rib = ramp(np.abs(leaves.across), 0.14, 0.04)
        curl = 0.006 * leaves.across**2 + 0.003 * layer + rng.uniform(0.0, 0.006, count)[leaves.index]
        color = hue[leaves.index] * (0.88 + 0.22 * rib + 0.12 * leaves.across)[..., None]
        canvas.lay(leaves.cover, color=color, roughness=0.75, height=base + 0.004 + curl)
    moss = fractal_noise(rng, pixels, cells=6, octaves=4, gain=0.62)
    cushion = ramp(moss + 0.15 * fine, 1.05, 1.6)
    green = mix((0.20, 0.235, 0.10), (0.385, 0.425, 0.20), 0.5 + 0.22 * fine + 0.2 * moss)
    canvas.lay(cushion, color=green, roughness=0.95, height=base + 0.012 + 0.008 * moss + 0.003 * fine)
    twigs = scattered(rng, pixels, 90, length=(0.03, 0.13), width=(0.0014, 0.0034), outline=bar, bend=0.12)
    wood = mix((0.23, 0.175, 0.125), (0.46, 0.40, 0.33), rng.uniform(0.0, 1.0, 90))
    round_top = np.sqrt(np.maximum(1.0 - twigs.across**2, 0.0))
    color = wood[twigs.index] * (0.75 + 0.35 * round_top)[..., None]
    canvas.lay(twigs.cover, color=color, roughness=0.85, height=base + 0.014 + 0.008 * round_top)
    deep = blurred(canvas.height, 5.0) - canvas.height
    canvas.shade(np.minimum(np.maximum(1.0 - 35.0 * deep, 0.5), 1.12))
    canvas.height = blurred(canvas.height, 0.8)
    return canvas.maps()


def leaves(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a spray of broad leaves on its twigs, cut out, on a square of one metre."""
    fine = 2 * pixels
    stem_count, per_stem = 15, 20
    # Twigs fan out from a stalk that enters from below.
    spread = np.linspace(-1.0, 1.0, stem_count) + rng.uniform(-0.08, 0.08, stem_count)
    angle = -np.pi / 2 + 1.9 * spread
    long = (0.44 - 0.06 * np.abs(spread)) * rng.uniform(0.85, 1.1, stem_count)
    way = long[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    base = np.stack([np.full(stem_count, 0.5), 0.60 - 0.10 * (1.0 - np.abs(spread))], axis=1)
    middle = np.concatenate([base + 0.5 * way, [[0.5, 0.76]]])
    twigs = strokes(
        fine, x=middle[:, 0], y=middle[:, 1], angle=np.append(angle, np.pi / 2), length=np.append(long, 0.44),
        width=np.full(stem_count + 1, 0.007), outline=bar, bend=0.0,
    )  # fmt: skip
    part = rng.uniform(0.12, 1.05, (stem_count, per_stem))
    toward = angle[:, None] + rng.choice([-1.0, 1.0], part.shape) * rng.uniform(0.2, 1.2, part.shape)
    length = rng.uniform(0.070, 0.105, part.shape)
    x = base[:, :1] + part * way[:, :1] + 0.5 * length * np.cos(toward)
    y = base[:, 1:] + part * way[:, 1:] + 0.5 * length * np.sin(toward)
    chosen = rng.permutation(np.nonzero(((np.abs(x - 0.5) < 0.44) & (np.abs(y - 0.5) < 0.44)).ravel())[0])
    count = chosen.size
    foliage = strokes(
        fine, x=x.ravel()[chosen], y=y.ravel()[chosen], angle=toward.ravel()[chosen],
        length=length.ravel()[chosen], width=length.ravel()[chosen] * rng.uniform(0.42, 0.56, count),
        outline=leaf, bend=rng.uniform(-0.09, 0.09, count),
    )  # fmt: skip
    green = mix((0.255, 0.345, 0.135), (0.455, 0.525, 0.225), rng.beta(1.6, 1.6, count))
    # Leaves drawn first are deeper in the crown.
    green *= np.linspace(0.80, 1.06, count)[:, None]
    veins = np.abs(foliage.across) * 6.0 + foliage.along * 9.0
    vein = np.maximum(ramp(np.abs(foliage.across), 0.10, 0.03), 0.5 * ramp(veins % 1.0, 0.82, 1.0))
    color = green[foliage.index] * (0.95 + 0.16 * vein + 0.06 * foliage.across)[..., None]
    tilt = rng.uniform(-0.006, 0.006, (2, count))[:, foliage.index]
    height = 0.004 - 0.003 * np.abs(foliage.across) + tilt[0] * foliage.across + tilt[1] * foliage.along
    return _cut_out(twigs.cover, (0.30, 0.235, 0.16), foliage.cover, color, height, mean=green.mean(axis=0))


def needles(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a branch of a spruce with its side twigs, cut out, on a square of one metre."""
    fine = 2 * pixels
    starts, ways = [(0.5, 0.985)], [(0.0, -0.95)]
    for i, reach in enumerate(np.linspace(0.06, 0.93, 22)):
        side = 1.0 if i % 2 else -1.0
        long = (0.46 - 0.40 * reach) * rng.uniform(0.85, 1.05)
        angle = -np.pi / 2 + side * rng.uniform(0.85, 1.05)
        starts.append((0.5, 0.985 - 0.95 * reach))
        ways.append((long * np.cos(angle), long * np.sin(angle)))
    start, way = np.array(starts), np.array(ways)
    long = np.hypot(way[:, 0], way[:, 1])
    angle = np.arctan2(way[:, 1], way[:, 0])
    middle = start + 0.5 * way
    twigs = strokes(
        fine,
        x=middle[:, 0],
        y=middle[:, 1],
        angle=angle,
        length=long,
        width=np.full(len(long), 0.007),
        outline=bar,
    )
    each = np.maximum(6, np.round(520 * long)).astype(np.int64)
    owner = np.repeat(np.arange(len(long)), each)
    part = rng.uniform(0.02, 1.02, owner.size)
    turn = rng.choice([-1.0, 1.0], owner.size) * rng.uniform(0.25, 1.0, owner.size)
    toward = angle[owner] + turn
    length = rng.uniform(0.028, 0.042, owner.size)
    x = start[owner, 0] + part * way[owner, 0] + 0.5 * length * np.cos(toward)
    y = start[owner, 1] + part * way[owner, 1] + 0.5 * length * np.sin(toward)
    inside = (np.abs(x - 0.5) < 0.47) & (np.abs(y - 0.5) < 0.47)
    foliage = strokes(
        fine, x=x[inside], y=y[inside], angle=toward[inside], length=length[inside],
        width=np.full(int(inside.sum()), 0.0042), outline=leaf, bend=0.03,
    )  # fmt: skip
    count = int(inside.sum())
    green = mix(
        (0.125, 0.205, 0.105), (0.29, 0.385, 0.19), rng.beta(2.0, 2.5, count) + 0.25 * part[inside] - 0.1
    )
    color = green[foliage.index] * (1.0 + 0.10 * foliage.across)[..., None]
    height = rng.uniform(0.0, 0.006, count)[foliage.index]
    return _cut_out(twigs.cover, (0.33, 0.225, 0.14), foliage.cover, color, height, mean=green.mean(axis=0))


def _cut_out(twigs: Array, wood: Tone, foliage: Array, color: Array, height: Array, *, mean: Array) -> Maps:
    """Return maps at half resolution; cut-outs have the mean colour, for filtered look-ups."""
    canvas = Canvas(twigs.shape[0], mean, 0.6, 0.003)
    canvas.lay(twigs, color=wood, roughness=0.85, height=0.002)
    canvas.lay(foliage, color=color, roughness=0.55, height=height)
    opacity = np.maximum(twigs, foliage)
    return Maps(
        *(finer(m, 2) for m in (canvas.color, canvas.roughness, blurred(canvas.height, 1.5), opacity))
    )


def _blades(
    canvas: Canvas,
    rng: np.random.Generator,
    count: int,
    length: tuple[float, float],
    *,
    lift: float,
    dry: float = 0.04,
    ground: Array | None = None,
) -> None:
    """Lay blades of grass, their tips `lift` above the ground [m], a part of them dry.

    They grow only where `ground` is above zero, if it is given.
    """
    pixels = canvas.height.shape[0]
    leaves = scattered(rng, pixels, count, length=length, width=(0.0009, 0.002), outline=blade, bend=0.2)
    grown = leaves.cover if ground is None else leaves.cover * ramp(ground, -0.2, 0.2)
    hue = mix((0.275, 0.345, 0.165), (0.52, 0.585, 0.30), rng.beta(2.0, 2.0, count))
    hue[: int(dry * count)] = (0.60, 0.54, 0.32)
    tip = 0.5 + 0.5 * leaves.along
    color = hue[rng.permutation(count)][leaves.index] * (0.72 + 0.34 * tip)[..., None]
    canvas.lay(grown, color=color, roughness=0.7, height=lift * (0.4 + 0.6 * tip))
