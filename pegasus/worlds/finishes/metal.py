"""Metal and paint finishes."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.finishes.drawing import Canvas, bar, grid, mix, ramp, scattered
from pegasus.worlds.finishes.finish import Maps
from pegasus.worlds.finishes.noise import blurred, fractal_noise


def corrugated_metal(rng: np.random.Generator, pixels: int) -> Maps:
    """Return galvanised sheets with upright ribs, rusty at their laps, on a square of three metres."""
    x, y = grid(pixels, 3.0)
    wave = x / 0.1875
    rib = ramp(np.abs(wave % 1.0 - 0.5), 0.32, 0.16)
    spangle = fractal_noise(rng, pixels, cells=26, octaves=3, gain=0.8)
    stain = fractal_noise(rng, pixels, cells=(24, 2), octaves=5, gain=0.6)
    sheet = rng.normal(1.0, 0.03, (2, 4))[(y > 1.5).astype(int), np.floor(x / 0.75).astype(int)]
    canvas = Canvas(pixels, (0.68, 0.69, 0.70), 0.42 + 0.05 * spangle, 0.030 * rib)
    canvas.shade(sheet * (1.0 + 0.02 * spangle + 0.025 * stain))
    # Sheets lap every 1.5 m and rust there.
    below = (1.5 - y % 1.5) % 1.5
    lap = ramp(below, 0.012, 0.004)
    canvas.height -= 0.004 * ramp(below, 0.03, 0.0)
    canvas.lay(0.6 * lap, color=(0.30, 0.27, 0.25), roughness=0.8)
    rust = ramp(stain + 0.5 * fractal_noise(rng, pixels, cells=9, octaves=4) - 1.6 * below, 0.9, 1.9)
    canvas.lay(
        0.75 * rust, color=mix((0.34, 0.19, 0.11), (0.52, 0.32, 0.19), 0.5 + 0.25 * spangle), roughness=0.85
    )
    u, v = (wave + 0.5) % 1.0 - 0.5, (y + 0.66) % 0.75 - 0.375
    screw = ramp(np.hypot(u * 0.1875 - 0.0, v), 0.014, 0.008) * (np.floor(wave + 0.5) % 2 == 0)
    canvas.lay(screw, color=(0.42, 0.42, 0.42), roughness=0.5, height=0.006)
    canvas.height = blurred(canvas.height, 1.0)
    return canvas.maps()


def painted_metal(rng: np.random.Generator, pixels: int) -> Maps:
    """Return light grey paint on steel, scratched and chipped to rust, on a square of two metres."""
    cloud = fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.55)
    peel = fractal_noise(rng, pixels, cells=60, octaves=2)
    canvas = Canvas(pixels, (0.70, 0.705, 0.70), 0.36 + 0.04 * cloud, 0.00008 * peel)
    canvas.shade(1.0 + 0.014 * cloud)
    streak = ramp(fractal_noise(rng, pixels, cells=(30, 1.5), octaves=4, gain=0.6), 0.9, 2.8)
    canvas.lay(0.22 * streak, color=(0.50, 0.45, 0.39), roughness=0.55)
    _wear(canvas, rng, chips=2.6)
    return canvas.maps()


def brushed_metal(rng: np.random.Generator, pixels: int) -> Maps:
    """Return brushed steel with scratches along x, on a square of one metre."""
    hair = fractal_noise(rng, pixels, cells=(2, 120), octaves=3, gain=0.85)
    band = fractal_noise(rng, pixels, cells=(1, 12), octaves=4, gain=0.7)
    smear = fractal_noise(rng, pixels, cells=2, octaves=4)
    canvas = Canvas(pixels, (0.77, 0.77, 0.765), 0.30 + 0.035 * hair + 0.03 * smear, 0.00003 * hair)
    canvas.shade(1.0 + 0.022 * hair + 0.018 * band)
    marks = scattered(
        rng, pixels, 40, length=(0.03, 0.2), width=(0.001, 0.002), outline=bar, bend=0.08, angle=(-0.5, 0.5)
    )
    canvas.lay(0.3 * marks.cover, color=(0.66, 0.66, 0.66), roughness=0.5, height=-0.00005)
    return canvas.maps()


def hazard_stripes(rng: np.random.Generator, pixels: int) -> Maps:
    """Return worn yellow and black stripes, rising to the right, on a square of one metre."""
    x, y = grid(pixels, 1.0)
    phase = 4.0 * (x - y)
    stripe = ramp(np.abs(phase - np.floor(phase) - 0.5), 0.25 - 0.012, 0.25 + 0.012)
    cloud = fractal_noise(rng, pixels, cells=2, octaves=5)
    canvas = Canvas(pixels, mix((0.115, 0.115, 0.115), (0.88, 0.67, 0.09), stripe), 0.42 + 0.05 * cloud)
    canvas.shade(1.0 + 0.025 * cloud)
    _wear(canvas, rng, chips=2.1)
    return canvas.maps()


def road_marking(rng: np.random.Generator, pixels: int) -> Maps:
    """Return white road paint, worn through in places, on a square of two metres."""
    grain = fractal_noise(rng, pixels, cells=pixels / 24, octaves=4, gain=1.05)
    cloud = fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.6)
    canvas = Canvas(pixels, (0.83, 0.825, 0.80), 0.6, 0.0006 * grain)
    canvas.shade(1.0 + 0.03 * cloud + 0.025 * grain)
    worn = ramp(cloud + 0.8 * grain, 2.0, 2.6)
    canvas.lay(0.8 * worn, color=(0.42, 0.42, 0.42), roughness=0.86, height=-0.001)
    crack = ramp(np.abs(fractal_noise(rng, pixels, cells=3, octaves=5, gain=0.6)), 0.025, 0.01)
    canvas.lay(0.6 * crack * ramp(cloud, 0.2, 0.8), color=(0.35, 0.35, 0.35), height=-0.001)
    maps = canvas.maps()
    hole = ramp(fractal_noise(rng, pixels, cells=14, octaves=4, gain=0.75) + 0.6 * cloud, 2.35, 2.4)
    return Maps(maps.color, maps.roughness, maps.height, 1.0 - hole)


def _wear(canvas: Canvas, rng: np.random.Generator, *, chips: float) -> None:
    """Scratch paint and chip it where noise exceeds a level."""
    pixels = canvas.height.shape[0]
    scratch = scattered(rng, pixels, 90, length=(0.01, 0.12), width=(0.0008, 0.0022), outline=bar, bend=0.15)
    strength = rng.uniform(0.05, 0.4, 90)[scratch.index] * scratch.cover
    canvas.lay(strength, color=(0.55, 0.55, 0.54), roughness=0.6, height=-0.0002)
    noise = fractal_noise(rng, pixels, cells=8, octaves=6, gain=0.72)
    noise += 0.8 * fractal_noise(rng, pixels, cells=2, octaves=3)
    halo, chip = ramp(noise, chips - 0.4, chips + 0.4), ramp(noise, chips, chips + 0.12)
    canvas.lay(0.35 * halo, color=(0.47, 0.36, 0.27), roughness=0.6)
    rust: Array = mix(
        (0.26, 0.15, 0.095), (0.44, 0.26, 0.15), 0.5 + 0.25 * fractal_noise(rng, pixels, cells=50, octaves=3)
    )
    canvas.lay(chip, color=rust, roughness=0.9, height=-0.0006)
