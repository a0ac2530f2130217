"""Indoor finishes: floors, ceilings, packages, cloth."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.finishes.drawing import Canvas, bar, bond, grid, mix, ramp, rectangle, scattered
from pegasus.worlds.finishes.finish import Maps
from pegasus.worlds.finishes.lettering import lettering
from pegasus.worlds.finishes.noise import blurred, fractal_noise


def floor_epoxy(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a sealed grey factory floor with scuffs and tyre marks, on a square of six metres."""
    cloud = fractal_noise(rng, pixels, cells=2, octaves=6, gain=0.55)
    fine = fractal_noise(rng, pixels, cells=50, octaves=3, gain=0.8)
    peel = fractal_noise(rng, pixels, cells=40, octaves=1)
    dull = fractal_noise(rng, pixels, cells=3, octaves=5, gain=0.6)
    canvas = Canvas(pixels, (0.585, 0.60, 0.595), 0.24 + 0.035 * dull, 0.00015 * peel)
    canvas.shade(1.0 + 0.016 * cloud + 0.012 * fine)
    tyres = scattered(rng, pixels, 7, length=(0.25, 0.5), width=(0.008, 0.011), outline=bar, bend=0.25)
    worn = ramp(fractal_noise(rng, pixels, cells=6, octaves=4), -0.4, 1.2)
    canvas.lay(
        0.16 * tyres.cover * worn * ramp(np.abs(tyres.across), 1.0, 0.5),
        color=(0.22, 0.22, 0.22),
        roughness=0.5,
    )
    scuffs = scattered(rng, pixels, 130, length=(0.008, 0.05), width=(0.0014, 0.003), outline=bar, bend=0.3)
    strength = rng.uniform(0.05, 0.30, 130)[scuffs.index] * scuffs.cover
    canvas.lay(strength, color=(0.36, 0.36, 0.36), roughness=0.5)
    dust = ramp(fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.6), 0.6, 2.4)
    canvas.lay(0.3 * dust, color=(0.66, 0.645, 0.615), roughness=0.5)
    drop = ramp(fractal_noise(rng, pixels, cells=24, octaves=2), 3.1, 3.3)
    canvas.lay(0.6 * drop, color=(0.30, 0.29, 0.28), roughness=0.15)
    return canvas.maps()


def ceiling_panels(rng: np.random.Generator, pixels: int) -> Maps:
    """Return mineral panels of 600 mm in a metal grid, on a square of 2.4 metres."""
    x, y = grid(pixels, 2.4)
    panels = bond(x, y, side=2.4, rows=4, columns=4)
    fine = fractal_noise(rng, pixels, cells=70, octaves=2)
    canvas = Canvas(pixels, (0.885, 0.88, 0.86), 0.92, 0.0003 * fine - 0.006)
    canvas.shade(rng.normal(1.0, 0.008, panels.count)[panels.index] * (1.0 + 0.006 * fine))
    holes = ramp(fractal_noise(rng, pixels, cells=(55, 70), octaves=1.5), 1.55, 1.9)
    canvas.lay(0.55 * holes, color=(0.52, 0.515, 0.50), height=-0.0085)
    canvas.shade(1.0 - 0.22 * ramp(panels.edge, 0.024, 0.010))
    water = fractal_noise(rng, pixels, cells=2, octaves=4, gain=0.5)
    ring = ramp(np.abs(water - 2.35), 0.09, 0.02) + 0.35 * ramp(water, 2.3, 2.4)
    canvas.lay(0.4 * np.minimum(ring, 1.0), color=(0.62, 0.52, 0.38))
    rail = ramp(panels.edge, 0.014, 0.011)
    canvas.lay(rail, color=(0.88, 0.88, 0.875), roughness=0.4, height=0.0)
    canvas.height = blurred(canvas.height, 0.8)
    return canvas.maps()


def carpet(rng: np.random.Generator, pixels: int) -> Maps:
    """Return carpet tiles of half a metre, every other one turned, on a square of two metres."""
    x, y = grid(pixels, 2.0)
    squares = bond(x, y, side=2.0, rows=4, columns=4)
    lines = fractal_noise(rng, pixels, cells=(6, 90), octaves=2.5, gain=0.8)
    turned = (squares.index + squares.index // 4) % 2 == 1
    line = np.where(turned, lines.T, lines)
    tuft = fractal_noise(rng, pixels, cells=pixels / 24, octaves=4, gain=1.05)
    tone = 0.45 + 0.14 * line + 0.12 * tuft + rng.normal(0.0, 0.05, 16)[squares.index]
    canvas = Canvas(pixels, mix((0.185, 0.215, 0.26), (0.40, 0.445, 0.50), tone), 0.95 - 0.015 * line, 0.0)
    canvas.height += 0.0006 * line + 0.0006 * tuft
    canvas.shade(1.0 + 0.04 * fractal_noise(rng, pixels, cells=1.5, octaves=4))
    fleck = ramp(tuft, 2.3, 2.8)
    canvas.lay(0.4 * fleck, color=(0.60, 0.56, 0.46))
    canvas.shade(1.0 - 0.25 * ramp(squares.edge, 0.005, 0.001))
    return canvas.maps()


def fabric(rng: np.random.Generator, pixels: int) -> Maps:
    """Return coarse cloth in plain weave, on a square of 300 mm."""
    x, y = grid(pixels, 1.0)
    slub = (
        0.35 * fractal_noise(rng, pixels, cells=(3, 12), octaves=3),
        0.35 * fractal_noise(rng, pixels, cells=(12, 3), octaves=3),
    )
    u, v = 64.0 * x + 0.25 * slub[0], 64.0 * y + 0.25 * slub[1]
    over = (np.floor(u) + np.floor(v)) % 2 == 0
    warp_thread = np.abs(np.sin(np.pi * u)) * (0.55 + 0.45 * np.abs(np.sin(np.pi * v)))
    weft_thread = np.abs(np.sin(np.pi * v)) * (0.55 + 0.45 * np.abs(np.sin(np.pi * u)))
    thread = np.where(over, warp_thread, weft_thread)
    fuzz = fractal_noise(rng, pixels, cells=90, octaves=2)
    tone = 0.25 + 0.6 * thread + 0.08 * fuzz + 0.06 * slub[0] - 0.06 * slub[1]
    canvas = Canvas(
        pixels, mix((0.40, 0.375, 0.335), (0.74, 0.71, 0.655), tone), 0.97 - 0.12 * thread, 0.0005 * thread
    )
    canvas.shade(1.0 + 0.02 * fractal_noise(rng, pixels, cells=2, octaves=3))
    return canvas.maps()


def rubber(rng: np.random.Generator, pixels: int) -> Maps:
    """Return black rubber matting with raised studs and dust, on a square of half a metre."""
    x, y = grid(pixels, 1.0)
    u, v = 16.0 * (x + y) % 1.0 - 0.5, 16.0 * (x - y) % 1.0 - 0.5
    radius = np.hypot(u, v)
    stud = ramp(radius, 0.33, 0.27)
    grain = fractal_noise(rng, pixels, cells=80, octaves=2)
    dust = fractal_noise(rng, pixels, cells=3, octaves=5, gain=0.6)
    canvas = Canvas(pixels, (0.175, 0.175, 0.178), 0.72, 0.0010 * stud + 0.00005 * grain)
    canvas.shade(1.0 + 0.03 * grain + 0.05 * dust)
    canvas.lay(0.22 * (1.0 - stud) * ramp(dust, -0.8, 1.8), color=(0.42, 0.40, 0.37), roughness=0.95)
    canvas.lay(0.35 * stud * ramp(dust, 1.0, -0.6), color=(0.205, 0.205, 0.205), roughness=0.5)
    return canvas.maps()


def tarpaulin(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a blue woven sheet, creased and dusty, with eyelets, on a square of two metres."""
    x, y = grid(pixels, 2.0)
    crease = fractal_noise(rng, pixels, cells=(2, 1.5), octaves=3, gain=0.4)
    wrinkle = ramp(np.abs(fractal_noise(rng, pixels, cells=(4, 2), octaves=2, gain=0.4)), 0.9, 0.0)
    fold = ramp(np.minimum((x + 0.5) % 1.0, 1.0 - (x + 0.5) % 1.0), 0.03, 0.0)
    fold = np.maximum(fold, ramp(np.minimum((y + 0.5) % 1.0, 1.0 - (y + 0.5) % 1.0), 0.03, 0.0))
    weave = 0.5 + 0.25 * (np.sin(128.0 * np.pi * x) + np.sin(128.0 * np.pi * y))
    height = 0.022 * crease + 0.010 * wrinkle + 0.003 * fold + 0.00012 * weave
    tone = 0.45 + 0.08 * crease + 0.10 * (weave - 0.5) + 0.15 * fold + 0.12 * wrinkle
    canvas = Canvas(pixels, mix((0.08, 0.235, 0.44), (0.20, 0.40, 0.64), tone), 0.42, blurred(height, 1.2))
    dust = fractal_noise(rng, pixels, cells=2, octaves=5, gain=0.6) - 0.6 * wrinkle
    canvas.lay(0.30 * ramp(dust, 0.3, 2.6), color=(0.52, 0.49, 0.44), roughness=0.75)
    hole = np.hypot((x + 0.25) % 0.5 - 0.25, y - 0.94)
    canvas.lay(ramp(np.abs(y - 0.94), 0.036, 0.033), color=canvas.color * 0.9, height=canvas.height + 0.0008)
    canvas.lay(
        ramp(hole, 0.023, 0.019), color=(0.66, 0.65, 0.62), roughness=0.35, height=canvas.height + 0.001
    )
    canvas.lay(ramp(hole, 0.011, 0.008), color=(0.05, 0.05, 0.05), roughness=0.9)
    return canvas.maps()


def plain_cardboard(rng: np.random.Generator, pixels: int) -> Maps:
    """Return brown board with tape, dents, scuffs and damp stains, on a square of 1.2 metres."""
    canvas = _board(rng, pixels, side=1.2)
    x, y = grid(pixels, 1.2)
    fiber = fractal_noise(rng, pixels, cells=(60, 20), octaves=4, gain=0.75)
    for middle in (0.3, 0.9):
        tape = rectangle(x, y, -1.0, 3.0, middle - 0.025, middle + 0.025, soft=0.003)
        canvas.lay(0.55 * tape, color=(0.62, 0.475, 0.31), roughness=0.25 + 0.05 * fiber)
    scuffs = scattered(rng, pixels, 160, length=(0.006, 0.05), width=(0.001, 0.004), outline=bar, bend=0.2)
    strength = rng.uniform(0.08, 0.4, 160)[scuffs.index] * scuffs.cover
    canvas.lay(strength, color=(0.79, 0.66, 0.50), roughness=0.95)
    damp = fractal_noise(rng, pixels, cells=2, octaves=4, gain=0.5)
    ring = ramp(np.abs(damp - 1.5), 0.08, 0.02) + 0.5 * ramp(damp, 1.45, 1.6)
    canvas.lay(0.35 * np.minimum(ring, 1.0), color=(0.46, 0.34, 0.225))
    dirt = ramp(fractal_noise(rng, pixels, cells=3, octaves=5, gain=0.6), 0.6, 2.4)
    canvas.lay(0.25 * dirt, color=(0.45, 0.37, 0.29))
    return canvas.maps()


def cardboard(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a brown box with tape, arrows, print and a label, on a square of 600 mm."""
    canvas = _board(rng, pixels, side=0.6)
    x, y = grid(pixels, 0.6)
    fiber = fractal_noise(rng, pixels, cells=(40, 14), octaves=4, gain=0.75)
    # Texture coordinates begin at the middle of a box's face; the print fits on faces of 400 mm.
    x, y = (1.3 * ((place + 0.3) % 0.6 - 0.3) + 0.3 for place in (x, y))
    soft = 1.2 / pixels
    ink = 0.85 * (0.75 + 0.25 * ramp(fiber, -2.0, 1.0))
    black = (0.17, 0.145, 0.12)
    canvas.lay(ink * _arrows(x, y, soft), color=black)
    for i, line in enumerate(("HANDLE WITH CARE", "KEEP DRY", "PEGASUS SUPPLY")):
        canvas.lay(ink * lettering(line, x - 0.30, y - 0.50 + 0.035 * i, size=0.02), color=black)
    canvas.lay(rectangle(x, y, 0.32, 0.54, 0.06, 0.20, soft=soft), color=(0.87, 0.865, 0.84), roughness=0.5)
    number = "".join(str(digit) for digit in rng.choice([0, 1, 2, 4, 5, 7], 8))
    for i, line in enumerate(("TO STORE 12", "LOT " + number, "WEIGHT 5 KG")):
        canvas.lay(lettering(line, x - 0.335, y - 0.178 + 0.020 * i, size=0.012), color=(0.1, 0.1, 0.1))
    bars = rng.uniform(size=90)[np.clip((x - 0.335) / 0.0021, 0, 89).astype(np.int64)] < 0.5
    canvas.lay(bars * rectangle(x, y, 0.335, 0.525, 0.072, 0.122, soft=soft), color=(0.08, 0.08, 0.08))
    tape = rectangle(x, y, -1.0, 2.0, 0.275, 0.325, soft=soft)
    seam = rectangle(x, y, -1.0, 2.0, 0.299, 0.301, soft=soft)
    canvas.lay(0.9 * seam, color=(0.30, 0.22, 0.15), height=-0.0008)
    canvas.lay(0.7 * tape, color=(0.60, 0.455, 0.29), roughness=0.25 + 0.05 * fiber)
    canvas.height += 0.0001 * tape
    return canvas.maps()


def _board(rng: np.random.Generator, pixels: int, *, side: float) -> Canvas:
    """Return dented brown board.

    Args:
        rng: Random numbers.
        pixels: Pixels along each side.
        side: Side of the square [m].
    """
    x = grid(pixels, side)[0]
    flute = np.sin(2.0 * np.pi * x / 0.0075)
    fiber = fractal_noise(rng, pixels, cells=(side * 67.0, side * 23.0), octaves=4, gain=0.75)
    cloud = fractal_noise(rng, pixels, cells=1.5, octaves=5, gain=0.55)
    canvas = Canvas(pixels, (0.685, 0.54, 0.385), 0.85, 0.00006 * flute + 0.00003 * fiber)
    canvas.shade(1.0 + 0.008 * flute + 0.022 * fiber + 0.022 * cloud)
    dent = ramp(fractal_noise(rng, pixels, cells=5.0 * side, octaves=5, gain=0.55), 1.6, 2.5)
    canvas.height -= 0.0015 * dent
    canvas.shade(1.0 - 0.10 * dent)
    return canvas


def _arrows(x: Array, y: Array, soft: float) -> Array:
    """Return two arrows that point upwards over a bar."""
    base = rectangle(x, y, 0.06, 0.20, 0.40, 0.408, soft=soft)
    for center in (0.095, 0.165):
        shaft = rectangle(x, y, center - 0.009, center + 0.009, 0.418, 0.475, soft=soft)
        head = ramp(0.52 - y - 1.6 * np.abs(x - center), 0.0, soft) * ramp(y, 0.474, 0.474 + soft)
        base = np.maximum(base, np.maximum(shaft, head))
    return base
