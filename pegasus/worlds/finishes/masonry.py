"""Masonry finishes: brick, concrete, plaster, painted walls, slabs, pavers, roof tiles."""

import numpy as np

from pegasus.worlds.finishes.drawing import Canvas, bar, bond, disc, grid, mix, ramp, scattered, wander
from pegasus.worlds.finishes.finish import Maps
from pegasus.worlds.finishes.noise import blurred, fractal_noise


def brick(rng: np.random.Generator, pixels: int) -> Maps:
    """Return bricks of 250 x 83 mm in running bond, on a square of two metres."""
    wobble = 0.0012 * fractal_noise(rng, pixels, cells=24, octaves=3)
    x, y = grid(pixels, 2.0)
    bricks = bond(x + wobble, y + wobble, side=2.0, rows=24, columns=8, shift=0.5)
    noise = fractal_noise(rng, pixels, cells=12, octaves=5, gain=0.7)
    sand = fractal_noise(rng, pixels, cells=90, octaves=2)
    mortar = mix((0.56, 0.54, 0.50), (0.72, 0.695, 0.65), 0.5 + 0.17 * noise + 0.1 * sand)
    canvas = Canvas(pixels, mortar, 0.95, 0.0006 * sand)
    tone = rng.uniform(0.0, 1.0, bricks.count)
    hue = mix((0.47, 0.235, 0.175), (0.68, 0.395, 0.29), tone)
    burnt = rng.uniform(0.0, 1.0, bricks.count) > 0.92
    hue[burnt] = (0.35, 0.22, 0.19)
    solid = ramp(bricks.edge, 0.004, 0.008)
    face = hue[bricks.index] * (1.0 + 0.07 * noise + 0.04 * sand)[..., None]
    canvas.lay(solid, color=face, roughness=0.86, height=0.005 + 0.0006 * noise)
    bloom = ramp(fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.65), 0.9, 2.4)
    canvas.lay(0.15 * bloom, color=(0.74, 0.70, 0.65))
    canvas.shade(1.0 + 0.035 * fractal_noise(rng, pixels, cells=1.5, octaves=3))
    canvas.height = blurred(canvas.height, 0.7)
    return canvas.maps()


def concrete(rng: np.random.Generator, pixels: int) -> Maps:
    """Return cast concrete with stains, pores and hairline cracks, on a square of four metres."""
    stain = fractal_noise(rng, pixels, cells=2, octaves=6, gain=0.7)
    fine = fractal_noise(rng, pixels, cells=40, octaves=4, gain=0.8)
    canvas = Canvas(pixels, (0.625, 0.615, 0.595), 0.82 - 0.05 * stain, 0.0006 * fine)
    canvas.shade(1.0 + 0.035 * stain + 0.022 * fine)
    damp = ramp(fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.6), 0.8, 2.0)
    canvas.lay(0.22 * damp, color=(0.50, 0.49, 0.475), roughness=0.62)
    pores = ramp(fractal_noise(rng, pixels, cells=60, octaves=1.5), 2.5, 2.9)
    canvas.lay(0.7 * pores, color=(0.36, 0.355, 0.345), height=-0.004)
    crack = wander(fractal_noise(rng, pixels, cells=1.2, octaves=7, gain=0.55), 0.6)
    where = ramp(fractal_noise(rng, pixels, cells=1.5, octaves=2), 0.7, 1.0)
    canvas.lay(0.7 * crack * where, color=(0.33, 0.325, 0.315), height=-0.003)
    return canvas.maps()


def plaster(rng: np.random.Generator, pixels: int) -> Maps:
    """Return pale render, floated by hand, with rain streaks in places, on a square of eight metres."""
    cloud = fractal_noise(rng, pixels, cells=1.5, octaves=6, gain=0.6)
    trowel = fractal_noise(rng, pixels, cells=(28, 18), octaves=4, gain=0.6)
    sand = fractal_noise(rng, pixels, cells=120, octaves=2, gain=0.9)
    canvas = Canvas(pixels, (0.845, 0.82, 0.77), 0.88 - 0.03 * cloud, 0.0011 * trowel + 0.0006 * sand)
    canvas.shade(1.0 + 0.022 * cloud + 0.010 * trowel + 0.012 * sand)
    wet = ramp(fractal_noise(rng, pixels, cells=(2.5, 1.5), octaves=3), -0.2, 1.8)
    streak = ramp(fractal_noise(rng, pixels, cells=(48, 2), octaves=5, gain=0.65) + 0.5 * cloud, 0.4, 2.6)
    canvas.lay(0.34 * streak * wet, color=(0.63, 0.605, 0.555))
    faded = ramp(fractal_noise(rng, pixels, cells=2.5, octaves=5, gain=0.6), 0.3, 2.0)
    canvas.lay(0.22 * faded, color=(0.88, 0.865, 0.835))
    crack = wander(fractal_noise(rng, pixels, cells=2.4, octaves=7, gain=0.6), 0.3)
    where = ramp(fractal_noise(rng, pixels, cells=3, octaves=2), 1.2, 1.5)
    canvas.lay(0.6 * crack * where, color=(0.55, 0.525, 0.48), height=-0.002)
    return canvas.maps()


def wall_paint(rng: np.random.Generator, pixels: int) -> Maps:
    """Return rolled paint on an indoor wall with dents, scuffs and fillings, on a square of four metres."""
    cloud = fractal_noise(rng, pixels, cells=1.5, octaves=4, gain=0.5)
    lane = fractal_noise(rng, pixels, cells=(16, 1), octaves=2, gain=0.5)
    stipple = fractal_noise(rng, pixels, cells=90, octaves=1.5, gain=0.9)
    canvas = Canvas(pixels, (0.84, 0.83, 0.80), 0.74 - 0.02 * cloud, 0.0004 * stipple + 0.0002 * lane)
    canvas.shade(1.0 + 0.007 * cloud + 0.004 * lane + 0.006 * stipple)
    filled = scattered(rng, pixels, 14, length=(0.006, 0.02), width=(0.005, 0.012), outline=disc)
    canvas.lay(0.4 * filled.cover, color=(0.90, 0.895, 0.88), roughness=0.85)
    scuffs = scattered(rng, pixels, 24, length=(0.006, 0.035), width=(0.0009, 0.002), outline=bar, bend=0.2)
    strength = rng.uniform(0.03, 0.16, 24)[scuffs.index] * scuffs.cover
    canvas.lay(strength, color=(0.45, 0.44, 0.42), roughness=0.6)
    dents = ramp(fractal_noise(rng, pixels, cells=26, octaves=2), 2.9, 3.2)
    canvas.lay(0.5 * dents, color=(0.68, 0.665, 0.63), height=-0.002)
    crack = wander(fractal_noise(rng, pixels, cells=1.2, octaves=7, gain=0.6), 0.2)
    where = ramp(fractal_noise(rng, pixels, cells=1.5, octaves=2), 1.3, 1.6)
    canvas.lay(0.35 * crack * where, color=(0.60, 0.585, 0.55), height=-0.001)
    return canvas.maps()


def old_plaster(rng: np.random.Generator, pixels: int) -> Maps:
    """Return weathered render of a wall 4 m high, with a damp foot and streaks below the coping.

    The square is four metres, with the ground at its lower edge.
    """
    y = grid(pixels, 4.0)[1]
    cloud = fractal_noise(rng, pixels, cells=1.5, octaves=6, gain=0.6)
    trowel = fractal_noise(rng, pixels, cells=(14, 9), octaves=4, gain=0.6)
    sand = fractal_noise(rng, pixels, cells=70, octaves=2, gain=0.9)
    canvas = Canvas(pixels, (0.83, 0.80, 0.745), 0.9, 0.0011 * trowel + 0.0006 * sand)
    canvas.shade(1.0 + 0.035 * cloud + 0.014 * trowel + 0.014 * sand)
    faded = ramp(fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.6), 0.2, 1.6)
    canvas.lay(0.35 * faded, color=(0.87, 0.85, 0.82))
    # Dirt is equal at both edges, so that the image repeats upwards as well.
    streak = fractal_noise(rng, pixels, cells=(10, 0.8), octaves=5, gain=0.6)
    run = ramp(streak + 0.4 * cloud, -0.6, 1.8) * ramp(4.0 - y, 2.4, 0.05) * ramp(4.0 - y, 0.0, 0.1)
    canvas.lay(0.42 * run, color=(0.40, 0.38, 0.345), roughness=0.93)
    rim = np.maximum(ramp(y, 0.75, 0.0), ramp(4.0 - y, 0.12, 0.0))
    canvas.lay(0.62 * rim * ramp(cloud, -2.6, 1.0), color=(0.36, 0.345, 0.30), roughness=0.8)
    moss = ramp(0.5 * cloud + 0.5 * sand + 1.8 * ramp(y, 0.55, 0.0), 1.5, 2.4) * ramp(y, 0.8, 0.3)
    canvas.lay(0.5 * moss, color=(0.27, 0.30, 0.17), roughness=0.95)
    crack = wander(fractal_noise(rng, pixels, cells=1.2, octaves=7, gain=0.6), 0.5)
    where = ramp(fractal_noise(rng, pixels, cells=1.5, octaves=2), 0.6, 0.9)
    canvas.lay(0.7 * crack * where, color=(0.42, 0.395, 0.355), height=-0.002)
    canvas.height = blurred(canvas.height, 0.6)
    return canvas.maps()


def paving(rng: np.random.Generator, pixels: int) -> Maps:
    """Return stone slabs of several lengths in courses of half a metre, on a square of four metres."""
    x, y = grid(pixels, 4.0)
    wobble = 0.0018 * fractal_noise(rng, pixels, cells=20, octaves=3)
    stretch = 0.13 * np.sin(2.0 * np.pi * (x / 4.0 + rng.uniform(0.0, 1.0, 8)[np.floor(y / 0.5).astype(int)]))
    slabs = bond(
        x + stretch + wobble, y + wobble, side=4.0, rows=8, columns=6, shift=rng.uniform(0.0, 1.0, 8)
    )
    cloud = fractal_noise(rng, pixels, cells=3, octaves=6, gain=0.6)
    grain = fractal_noise(rng, pixels, cells=60, octaves=3, gain=0.9)
    dirt = fractal_noise(rng, pixels, cells=2, octaves=4)
    joint = mix((0.30, 0.275, 0.235), (0.29, 0.31, 0.18), 0.5 + 0.5 * dirt)
    canvas = Canvas(pixels, joint, 0.95, -0.002 + 0.0006 * grain)
    warm = rng.uniform(0.0, 1.0, slabs.count)
    tone = mix((0.555, 0.545, 0.53), (0.66, 0.635, 0.595), warm) * rng.uniform(0.90, 1.06, (slabs.count, 1))
    face = tone[slabs.index] * (1.0 + 0.035 * cloud + 0.03 * grain)[..., None]
    tilt = rng.uniform(-0.0035, 0.0035, (2, slabs.count))[:, slabs.index]
    top = 0.004 + 0.0005 * grain + 0.0006 * cloud + tilt[0] * (slabs.x - 0.3) + tilt[1] * (slabs.y - 0.25)
    worn = 0.006 + 0.0025 * ramp(fractal_noise(rng, pixels, cells=9, octaves=4), 0.5, 2.5)
    cover = ramp(slabs.edge, worn - 0.004, worn + 0.004)
    canvas.lay(cover, color=face, roughness=0.78 + 0.05 * cloud, height=top)
    canvas.shade(1.0 - 0.16 * ramp(slabs.edge, 0.06, 0.0) * ramp(dirt, -0.8, 1.5))
    damp = ramp(dirt + 0.4 * cloud, 1.2, 2.4)
    canvas.lay(0.3 * damp, color=(0.36, 0.35, 0.33), roughness=0.55)
    canvas.height = blurred(canvas.height, 0.7)
    return canvas.maps()


def sidewalk(rng: np.random.Generator, pixels: int) -> Maps:
    """Return concrete pavers of 300 mm with stains and spots of gum, on a square of three metres."""
    x, y = grid(pixels, 3.0)
    pavers = bond(x, y, side=3.0, rows=10, columns=10, shift=0.5)
    grain = fractal_noise(rng, pixels, cells=80, octaves=2, gain=1.0)
    cloud = fractal_noise(rng, pixels, cells=1.5, octaves=6, gain=0.6)
    canvas = Canvas(pixels, (0.33, 0.32, 0.29), 0.95, 0.0)
    tone = rng.normal(1.0, 0.028, pavers.count)[pavers.index]
    face = np.array([0.60, 0.595, 0.58]) * (tone * (1.0 + 0.045 * grain + 0.03 * cloud))[..., None]
    tilt = rng.uniform(-0.004, 0.004, (2, pavers.count))[:, pavers.index]
    top = 0.004 * ramp(pavers.edge, 0.0, 0.010) + 0.0005 * grain
    top += tilt[0] * (pavers.x - 0.15) + tilt[1] * (pavers.y - 0.15)
    canvas.lay(ramp(pavers.edge, 0.0015, 0.005), color=face, roughness=0.85, height=top)
    canvas.shade(1.0 - 0.10 * ramp(pavers.edge, 0.035, 0.0))
    stain = ramp(fractal_noise(rng, pixels, cells=3, octaves=5, gain=0.65), 0.8, 2.6)
    canvas.lay(0.4 * stain, color=(0.42, 0.41, 0.39), roughness=0.7)
    gum = ramp(fractal_noise(rng, pixels, cells=30, octaves=1), 2.75, 2.9)
    canvas.lay(0.55 * gum, color=(0.38, 0.375, 0.37), roughness=0.6)
    canvas.height = blurred(canvas.height, 0.7)
    return canvas.maps()


def roof_tiles(rng: np.random.Generator, pixels: int) -> Maps:
    """Return clay pantiles of 200 x 300 mm, the eaves below, on a square of three metres."""
    x, y = grid(pixels, 3.0)
    jitter = rng.uniform(-0.004, 0.004, (2, 10, 15))
    course, column = np.floor(y / 0.3).astype(int), np.floor(x / 0.2).astype(int)
    tiles = bond(
        x,
        y + jitter[0, course, column] * np.minimum(1.0, (y / 0.3 - course) * 8),
        side=3.0,
        rows=10,
        columns=15,
    )
    wave = tiles.x / 0.2
    # A roll on the left third of each tile, a shallow pan on the rest.
    roll = np.where(wave < 0.4, np.sin(np.pi * wave / 0.4), -0.45 * np.sin(np.pi * (wave - 0.4) / 0.6))
    slope = 1.0 - tiles.y / 0.3
    height = 0.020 * roll + 0.022 * slope
    noise = fractal_noise(rng, pixels, cells=16, octaves=5, gain=0.7)
    weather = fractal_noise(rng, pixels, cells=1.5, octaves=5, gain=0.55)
    hue = mix((0.50, 0.265, 0.19), (0.685, 0.405, 0.29), rng.beta(2.5, 2.5, tiles.count))
    canvas = Canvas(pixels, hue[tiles.index], 0.82 + 0.04 * noise, height + 0.0006 * noise)
    canvas.shade(1.0 + 0.045 * noise + 0.03 * weather)
    # The course above shades the upper end; the lower edge is caught by the light.
    canvas.shade(1.0 - 0.55 * ramp(slope, 0.10, 0.0) - 0.25 * ramp(slope, 0.30, 0.05))
    canvas.shade(1.0 - 0.35 * ramp(np.abs(wave - 0.43), 0.05, 0.0) - 0.12 * ramp(roll, 0.0, -0.45))
    canvas.lay(0.35 * ramp(slope, 0.955, 0.985), color=(0.74, 0.52, 0.40))
    lichen = ramp(fractal_noise(rng, pixels, cells=24, octaves=4, gain=0.7) + 0.5 * weather, 1.8, 2.3)
    canvas.lay(0.6 * lichen, color=(0.60, 0.585, 0.46), roughness=0.95)
    soot = ramp(weather + 0.35 * noise, 0.8, 2.4)
    canvas.lay(0.4 * soot, color=(0.27, 0.20, 0.17))
    canvas.height = blurred(canvas.height, 1.0)
    return canvas.maps()
