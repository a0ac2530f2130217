"""Ground finishes: asphalt, soil, gravel, rock, cliff, sand, snow."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.finishes.drawing import (
    Canvas,
    bar,
    grid,
    mix,
    pebble,
    ramp,
    rectangle,
    scattered,
    wander,
)
from pegasus.worlds.finishes.finish import Maps
from pegasus.worlds.finishes.noise import blurred, cellular_noise, fractal_noise


def asphalt(rng: np.random.Generator, pixels: int) -> Maps:
    """Return worn asphalt with cracks, sealed cracks and a mended patch, on a square of six metres."""
    grain = fractal_noise(rng, pixels, cells=pixels / 12, octaves=3, gain=1.3)
    stain = fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.6)
    canvas = Canvas(pixels, (0.375, 0.375, 0.38), 0.86, 0.0004 * grain)
    canvas.shade(1.0 + 0.035 * stain + 0.065 * grain)
    stones = ramp(grain, 1.9, 2.6)
    canvas.lay(0.5 * stones, color=(0.56, 0.55, 0.53))
    x, y = grid(pixels, 6.0)
    ragged = 0.008 * fractal_noise(rng, pixels, cells=12, octaves=3)
    left, low = rng.uniform(0.3, 3.0, 2)
    wide, high = rng.uniform(0.9, 2.2, 2)
    patch = rectangle(x + ragged, y + ragged, left, left + wide, low, low + high, soft=0.02)
    canvas.lay(patch, color=canvas.color * 0.95, height=0.6 * canvas.height + 0.001)
    rim = ramp(np.abs(blurred(patch, 1.0) - 0.5), 0.45, 0.2)
    canvas.lay(0.4 * rim * ramp(stain, -1.0, 0.3), color=(0.25, 0.25, 0.255), roughness=0.6)
    path = fractal_noise(rng, pixels, cells=1, octaves=7, gain=0.5)
    where = fractal_noise(rng, pixels, cells=2, octaves=2)
    crack = wander(path, 0.6) * ramp(np.abs(where), 0.5, 0.9)
    branch = wander(fractal_noise(rng, pixels, cells=6, octaves=5, gain=0.55), 0.2) * ramp(where, 1.1, 1.5)
    canvas.lay(0.75 * np.maximum(crack, branch), color=(0.20, 0.195, 0.19), height=-0.005)
    tar = ramp(blurred(crack, 1.6), 0.04, 0.10) * ramp(where, -0.7, -1.0)
    canvas.lay(0.75 * tar, color=(0.235, 0.235, 0.24), roughness=0.45, height=0.001)
    oil = ramp(fractal_noise(rng, pixels, cells=7, octaves=3), 2.2, 3.2)
    canvas.lay(0.6 * oil, color=(0.22, 0.215, 0.21), roughness=0.5)
    canvas.roughness += 0.03 * stain - 0.05 * stones
    return canvas.maps()


def soil(rng: np.random.Generator, pixels: int) -> Maps:
    """Return bare earth with clods, pebbles and a few roots, on a square of four metres."""
    damp = fractal_noise(rng, pixels, cells=3, octaves=4, gain=0.75)
    lumps = fractal_noise(rng, pixels, cells=18, octaves=5, gain=0.75)
    warp = 0.35 * fractal_noise(rng, pixels, cells=24, octaves=3)
    near, _, which = cellular_noise(rng, pixels, cells=44, warp=(warp, np.roll(warp, 97, axis=0)))
    clod = ramp(near, 0.55, 0.15) * rng.uniform(0.0, 1.0, 44 * 44)[which] ** 2
    height = 0.006 * lumps + 0.016 * clod
    color = mix((0.295, 0.225, 0.165), (0.50, 0.405, 0.31), 0.5 + 0.13 * lumps + 0.09 * damp + 0.16 * clod)
    canvas = Canvas(pixels, color, 0.93 + 0.03 * damp, height)
    for count, size in ((900, 0.005), (260, 0.009)):
        _stones(canvas, rng, count, size, (0.40, 0.36, 0.31), (0.62, 0.585, 0.53), lift=0.012)
    roots = scattered(rng, pixels, 60, length=(0.02, 0.09), width=(0.001, 0.0025), outline=bar, bend=0.3)
    canvas.lay(0.8 * roots.cover, color=(0.33, 0.255, 0.18), height=canvas.height + 0.003)
    _occlude(canvas, 4.0, 4.0)
    canvas.height = blurred(canvas.height, 0.8)
    return canvas.maps()


def gravel(rng: np.random.Generator, pixels: int) -> Maps:
    """Return loose stones of 15 to 50 mm, on a square of two metres."""
    dust = fractal_noise(rng, pixels, cells=40, octaves=4, gain=0.8)
    canvas = Canvas(pixels, mix((0.30, 0.28, 0.25), (0.42, 0.39, 0.35), 0.5 + 0.2 * dust), 0.95, 0.002 * dust)
    tone = fractal_noise(rng, pixels, cells=2, octaves=3)
    for count, size, lift in ((9000, 0.009, 0.006), (3200, 0.014, 0.012), (900, 0.02, 0.018)):
        _stones(canvas, rng, count, size, (0.37, 0.36, 0.35), (0.72, 0.69, 0.645), lift=lift)
    canvas.shade(1.0 + 0.035 * tone + 0.04 * fractal_noise(rng, pixels, cells=100, octaves=2))
    _occlude(canvas, 4.0, 9.0)
    canvas.height = blurred(canvas.height, 0.7)
    return canvas.maps()


def rock(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a weathered grey cliff with ledges, joints and lichen, on a square of four metres."""
    bulk = fractal_noise(rng, pixels, cells=2, octaves=7, gain=0.58)
    warp = (0.5 * bulk, 0.5 * fractal_noise(rng, pixels, cells=3, octaves=5))
    near, second, which = cellular_noise(rng, pixels, cells=(5, 9), warp=warp)
    facet = rng.uniform(-1.0, 1.0, (3, 45))[:, which]
    rough = fractal_noise(rng, pixels, cells=12, octaves=5, gain=0.7)
    joint = ramp(second - near, 0.10, 0.0)
    height = 0.05 * bulk + 0.03 * facet[0] - 0.03 * joint + 0.010 * rough
    height = blurred(height, 1.2)
    strata = np.sin(2.0 * np.pi * (9.0 * grid(pixels, 1.0)[1] + 0.35 * bulk))
    tone = 0.5 + 0.09 * bulk + 0.10 * facet[0] + 0.10 * rough + 0.05 * strata
    canvas = Canvas(pixels, mix((0.33, 0.315, 0.30), (0.62, 0.60, 0.565), tone), 0.88, height)
    rust = ramp(fractal_noise(rng, pixels, cells=(6, 2), octaves=4), 0.8, 2.2)
    canvas.lay(0.35 * rust, color=(0.52, 0.42, 0.31))
    canvas.lay(0.75 * joint, color=(0.20, 0.19, 0.175))
    lichen = ramp(fractal_noise(rng, pixels, cells=22, octaves=4, gain=0.7) + 0.6 * bulk, 1.7, 2.1)
    canvas.lay(0.7 * lichen, color=(0.63, 0.64, 0.54), roughness=0.95)
    moss = ramp(fractal_noise(rng, pixels, cells=5, octaves=5, gain=0.6) - 0.8 * bulk, 1.8, 2.4)
    canvas.lay(0.8 * moss, color=(0.32, 0.345, 0.21), roughness=0.95)
    _occlude(canvas, 6.0, 2.2)
    return canvas.maps()


def cliff(rng: np.random.Generator, pixels: int) -> Maps:
    """Return bedded rock with blocks, cracks, water streaks, ledges of grass, on a square of 16 metres."""
    bulk = fractal_noise(rng, pixels, cells=2, octaves=6, gain=0.55)
    bend = fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.5)
    rough = fractal_noise(rng, pixels, cells=30, octaves=5, gain=0.72)
    warp = (0.6 * bulk, 0.6 * bend)
    near, second, which = cellular_noise(rng, pixels, cells=(7, 11), warp=warp)
    small, smaller, part = cellular_noise(rng, pixels, cells=(22, 36), warp=(1.4 * bulk, 1.4 * bend))
    block, facet = rng.uniform(-1.0, 1.0, 77)[which], rng.uniform(-1.0, 1.0, 792)[part]
    # Beds of different hardness, which stand out or lie back.
    beds = 13.0 * grid(pixels, 1.0)[1] + 0.55 * bend + 0.12 * block
    bed = rng.uniform(-1.0, 1.0, 13)[np.floor(beds).astype(np.int64) % 13]
    ledge = beds - np.floor(beds)
    gap, crack = ramp(second - near, 0.05, 0.0), ramp(smaller - small, 0.08, 0.0)
    height = 0.15 * bulk + 0.10 * block + 0.10 * bed + 0.04 * facet + 0.018 * rough
    height = blurred(height - 0.08 * gap - 0.018 * crack - 0.08 * ramp(ledge, 0.10, 0.0), 1.2)
    tone = 0.48 + 0.12 * bulk + 0.09 * block + 0.10 * bed + 0.08 * facet + 0.07 * rough
    canvas = Canvas(pixels, mix((0.33, 0.315, 0.295), (0.63, 0.605, 0.56), tone), 0.9, height)
    warm = ramp(fractal_noise(rng, pixels, cells=(3, 2), octaves=5, gain=0.6) + 0.4 * bed, 0.2, 2.0)
    canvas.lay(0.5 * warm, color=(0.53, 0.435, 0.33))
    streak = ramp(fractal_noise(rng, pixels, cells=(15, 1.5), octaves=5, gain=0.6) + 0.6 * bulk, 0.9, 2.6)
    canvas.lay(0.45 * streak, color=(0.22, 0.215, 0.205), roughness=0.8)
    canvas.lay(np.maximum(0.62 * gap, 0.28 * crack), color=(0.21, 0.20, 0.18))
    lichen = ramp(fractal_noise(rng, pixels, cells=60, octaves=4, gain=0.75) + 0.7 * bend, 1.8, 2.3)
    canvas.lay(0.6 * lichen, color=(0.63, 0.635, 0.53), roughness=0.95)
    tuft = fractal_noise(rng, pixels, cells=70, octaves=3, gain=0.85)
    held = 1.6 * ramp(ledge, 0.34, 0.02) + 0.9 * fractal_noise(rng, pixels, cells=5, octaves=4, gain=0.6)
    grown = ramp(held + 0.35 * tuft, 2.05, 2.45)
    green = mix((0.235, 0.275, 0.13), (0.43, 0.44, 0.215), 0.5 + 0.25 * tuft)
    canvas.lay(0.95 * grown, color=green, roughness=0.95, height=height + 0.05 * grown + 0.02 * tuft)
    _occlude(canvas, 8.0, 0.45)
    return canvas.maps()


def sand(rng: np.random.Generator, pixels: int) -> Maps:
    """Return sand with wind ripples and a few shells, on a square of four metres."""
    dune = fractal_noise(rng, pixels, cells=1, octaves=3)
    bent = fractal_noise(rng, pixels, cells=3, octaves=3, gain=0.45)
    x, y = grid(pixels, 1.0)
    phase = 24.0 * y + 5.0 * x + 0.75 * bent
    wave = phase - np.floor(phase)
    ripple = np.where(wave < 0.72, wave / 0.72, (1.0 - wave) / 0.28)
    strength = ramp(fractal_noise(rng, pixels, cells=2, octaves=3), -1.6, 1.2)
    grain = fractal_noise(rng, pixels, cells=pixels / 24, octaves=4, gain=1.05)
    height = blurred(0.010 * ripple * strength + 0.006 * dune, 1.2) + 0.0003 * grain
    tone = 0.5 + 0.10 * dune + 0.13 * (ripple - 0.5) * strength + 0.07 * grain
    canvas = Canvas(pixels, mix((0.60, 0.525, 0.415), (0.80, 0.73, 0.61), tone), 0.9, height)
    canvas.lay(0.5 * ramp(grain, 2.3, 3.0), color=(0.38, 0.33, 0.28))
    _stones(canvas, rng, 70, 0.005, (0.62, 0.57, 0.50), (0.88, 0.84, 0.77), lift=0.006)
    return canvas.maps()


def snow(rng: np.random.Generator, pixels: int) -> Maps:
    """Return wind-blown snow, on a square of six metres."""
    drift = fractal_noise(rng, pixels, cells=(1.5, 3), octaves=5, gain=0.42)
    crust = fractal_noise(rng, pixels, cells=(18, 40), octaves=4, gain=0.6)
    grain = fractal_noise(rng, pixels, cells=pixels / 24, octaves=4, gain=1.05)
    edge = ramp(drift + 0.15 * crust, -0.4, 1.0)
    height = 0.030 * drift + 0.008 * edge + blurred(0.003 * crust, 1.0) + 0.0004 * grain
    tone = 0.5 + 0.12 * drift + 0.10 * crust + 0.10 * grain
    color = mix((0.90, 0.925, 0.955), (0.965, 0.97, 0.975), tone)
    sparkle = ramp(grain, 2.0, 2.6)
    return Canvas(pixels, color, 0.75 - 0.12 * edge - 0.35 * sparkle, height).maps()


def _stones(
    canvas: Canvas,
    rng: np.random.Generator,
    count: int,
    size: float,
    dark: tuple[float, float, float],
    light: tuple[float, float, float],
    *,
    lift: float,
) -> None:
    """Scatter stones of about a size by the side of the square, as high as `lift` [m]."""
    pixels = canvas.height.shape[0]
    stones = scattered(
        rng, pixels, count, length=(0.8 * size, 1.5 * size), width=(0.6 * size, size), outline=pebble
    )
    tint = np.array([[1.03, 0.99, 0.93], [0.98, 1.0, 1.03], [1.0, 1.0, 1.0], [1.05, 0.97, 0.90]])
    tone = mix(dark, light, rng.uniform(0.0, 1.0, count)) * tint[rng.integers(0, 4, count)]
    tilt = rng.uniform(-0.5, 0.5, (2, count))[:, stones.index]
    dome = np.sqrt(np.maximum(1.0 - 0.8 * (stones.along**2 + stones.across**2) / 2.0, 0.0))
    color = tone[stones.index] * (0.82 + 0.25 * dome)[..., None]
    top = lift * (dome + 0.35 * (tilt[0] * stones.along + tilt[1] * stones.across))
    canvas.lay(stones.cover, color=color, roughness=0.8, height=top)


def _occlude(canvas: Canvas, radius: float, strength: float) -> None:
    """Darken hollows by their depth in units of 0.1 m."""
    deep: Array = blurred(canvas.height, radius) - canvas.height
    canvas.shade(np.minimum(np.maximum(1.0 - 10.0 * strength * deep, 0.35), 1.15))
