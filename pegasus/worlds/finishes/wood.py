"""Wood finishes: planks, plywood, bark."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.finishes.drawing import Canvas, bar, bond, disc, grid, mix, ramp, scattered
from pegasus.worlds.finishes.finish import Maps
from pegasus.worlds.finishes.noise import blurred, cellular_noise, fractal_noise


def wood_planks(rng: np.random.Generator, pixels: int) -> Maps:
    """Return planks of 125 mm along x with nailed ends, on a square of two metres."""
    x, y = grid(pixels, 2.0)
    planks = bond(x, y, side=2.0, rows=16, columns=1, shift=rng.uniform(0.0, 1.0, 16))
    offset = rng.integers(0, pixels, (2, planks.count))
    field = 0.5 * fractal_noise(rng, pixels, cells=(1.5, 14), octaves=4, gain=0.55)
    row, column = np.meshgrid(np.arange(pixels), np.arange(pixels), indexing="ij")
    field = field[(row + offset[0][planks.index]) % pixels, (column + offset[1][planks.index]) % pixels]
    rings = _rings(6.0 * field + planks.y / 0.022)
    fiber = fractal_noise(rng, pixels, cells=(3, 110), octaves=3, gain=0.8)
    tone = rng.uniform(0.25, 0.75, planks.count)[planks.index]
    color = mix((0.40, 0.285, 0.19), (0.70, 0.545, 0.385), tone + 0.22 * (rings - 0.5) + 0.06 * fiber)
    height = 0.0005 * rings + 0.0002 * fiber
    canvas = Canvas(pixels, color, 0.68 + 0.05 * fiber, height)
    knots = scattered(
        rng, pixels, 16, length=(0.012, 0.022), width=(0.008, 0.014), outline=disc, angle=(-0.2, 0.2)
    )
    radius = np.hypot(knots.along, knots.across * 0.9)
    canvas.lay(knots.cover * ramp(radius, 1.1, 0.5), color=(0.25, 0.155, 0.095))
    gap = ramp(planks.edge, 0.0045, 0.0015)
    canvas.lay(gap, color=(0.10, 0.075, 0.055), height=-0.006)
    canvas.shade(1.0 - 0.18 * ramp(planks.edge, 0.014, 0.0))
    near_end = np.minimum(planks.x, 2.0 - planks.x)
    nail = ramp(np.hypot(near_end - 0.025, np.minimum(planks.y, 0.125 - planks.y) - 0.03), 0.0065, 0.003)
    canvas.lay(nail, color=(0.27, 0.26, 0.25), roughness=0.45, height=-0.001)
    dirt = fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.6)
    canvas.shade(1.0 + 0.04 * dirt)
    canvas.height = blurred(canvas.height, 0.7)
    return canvas.maps()


def plywood(rng: np.random.Generator, pixels: int) -> Maps:
    """Return rotary-cut birch plywood, its grain along x, on a square of two metres."""
    field = fractal_noise(rng, pixels, cells=(1.0, 3), octaves=4, gain=0.38)
    rings = _rings(3.0 * field + 0.15 * fractal_noise(rng, pixels, cells=(2, 30), octaves=3))
    fiber = fractal_noise(rng, pixels, cells=(4, 120), octaves=3, gain=0.8)
    cloud = fractal_noise(rng, pixels, cells=2, octaves=4)
    tone = 0.55 + 0.42 * (rings - 0.5) + 0.07 * fiber + 0.06 * cloud
    canvas = Canvas(
        pixels, mix((0.62, 0.48, 0.33), (0.83, 0.715, 0.545), tone), 0.6 + 0.04 * fiber, 0.00012 * fiber
    )
    knots = scattered(
        rng, pixels, 9, length=(0.015, 0.03), width=(0.008, 0.015), outline=disc, angle=(-0.2, 0.2)
    )
    radius = np.hypot(knots.along, knots.across * 0.9)
    canvas.lay(0.8 * knots.cover * ramp(radius, 1.1, 0.4), color=(0.44, 0.29, 0.18))
    pores = scattered(
        rng, pixels, 900, length=(0.004, 0.012), width=(0.0008, 0.0012), outline=bar, angle=(-0.05, 0.05)
    )
    canvas.lay(0.35 * pores.cover, color=(0.50, 0.36, 0.24), height=-0.0002)
    return canvas.maps()


def bark(rng: np.random.Generator, pixels: int) -> Maps:
    """Return the furrowed bark of an oak, upright along y, on a square of one metre."""
    bulk = fractal_noise(rng, pixels, cells=(4, 2), octaves=4)
    warp = (0.5 * fractal_noise(rng, pixels, cells=(5, 3), octaves=4), 0.3 * bulk)
    near, second, which = cellular_noise(rng, pixels, cells=(15, 5), warp=warp)
    ridge = ramp(second - near, 0.0, 0.42)
    fiber = fractal_noise(rng, pixels, cells=(40, 10), octaves=4, gain=0.75)
    flake = fractal_noise(rng, pixels, cells=(14, 24), octaves=4, gain=0.6)
    height = 0.020 * ridge + 0.0022 * fiber * ridge + 0.003 * flake * ridge + 0.003 * bulk
    tone = 0.15 + 0.5 * ridge + 0.10 * fiber + 0.08 * flake + 0.1 * rng.normal(0.0, 1.0, 75)[which] * ridge
    canvas = Canvas(
        pixels,
        mix((0.155, 0.12, 0.09), (0.505, 0.43, 0.345), tone),
        0.95 - 0.08 * ridge,
        blurred(height, 0.8),
    )
    algae = ramp(fractal_noise(rng, pixels, cells=(3, 2), octaves=5, gain=0.6), 0.4, 2.2) * ridge
    canvas.lay(0.5 * algae, color=(0.36, 0.385, 0.22))
    lichen = ramp(fractal_noise(rng, pixels, cells=12, octaves=4, gain=0.7), 2.1, 2.5) * ridge
    canvas.lay(0.7 * lichen, color=(0.58, 0.60, 0.53))
    return canvas.maps()


def birch_bark(rng: np.random.Generator, pixels: int) -> Maps:
    """Return the white bark of a birch with dark lenticels across, on a square of one metre."""
    sheen = fractal_noise(rng, pixels, cells=(2, 8), octaves=5, gain=0.6)
    paper = fractal_noise(rng, pixels, cells=(4, 40), octaves=4, gain=0.7)
    canvas = Canvas(pixels, (0.80, 0.775, 0.73), 0.68, 0.0003 * paper)
    canvas.shade(1.0 + 0.03 * sheen + 0.025 * paper)
    warm = ramp(fractal_noise(rng, pixels, cells=(2, 7), octaves=4), 0.4, 2.2)
    canvas.lay(0.4 * warm, color=(0.74, 0.58, 0.45))
    for count, length, width in ((170, 0.05, 0.005), (34, 0.14, 0.011)):
        lines = scattered(
            rng, pixels, count, length=(0.3 * length, length), width=(0.5 * width, width), outline=disc,
            angle=(-0.08, 0.08), bend=0.03,
        )  # fmt: skip
        canvas.lay(0.85 * lines.cover, color=(0.235, 0.20, 0.175), roughness=0.9, height=0.0015)
    scar = fractal_noise(rng, pixels, cells=(3, 4), octaves=6, gain=0.6)
    black = ramp(scar, 1.75, 2.0)
    canvas.lay(black, color=(0.13, 0.115, 0.105), roughness=0.95, height=0.004 * scar)
    canvas.lay(0.5 * ramp(scar, 1.4, 1.75) * (1.0 - black), color=(0.46, 0.41, 0.36))
    canvas.height = blurred(canvas.height, 1.0)
    return canvas.maps()


def _rings(phase: Array) -> Array:
    """Return late wood, 0, and early wood, 1: slow to darken, sudden to lighten."""
    part = phase - np.floor(phase)
    late: Array = 1.0 - np.where(part < 0.85, (part / 0.85) ** 2, (1.0 - part) / 0.15)
    return late
