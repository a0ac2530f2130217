"""Roadway of a street with the wear of its lanes."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.finishes.drawing import Canvas, disc, grid, leaf, mix, ramp, scattered, wander
from pegasus.worlds.finishes.finish import Maps
from pegasus.worlds.finishes.noise import blurred, fractal_noise

_TRACKS = (0.75, 2.25)
"""Distances of the wheels from the centre line [m]."""
_LANE, _STRIP = 1.5, 3.9
"""Distances of the middles of lanes and of parking strips from the centre line [m]."""


def roadway(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a street along u from kerb to kerb: wheel tracks, oil, dusty edges, on ten metres square.

    Its two lanes are 3 m wide, with parking strips of 2 m beside them.
    """
    y = grid(pixels, 10.0)[1]
    away = np.abs(y - 5.0)
    grain = fractal_noise(rng, pixels, cells=pixels / 12, octaves=3, gain=1.3)
    stain = fractal_noise(rng, pixels, cells=3, octaves=5, gain=0.6)
    along = fractal_noise(rng, pixels, cells=(2, 24), octaves=4, gain=0.6)
    canvas = Canvas(pixels, (0.385, 0.385, 0.385), 0.86, 0.0004 * grain)
    canvas.shade(1.0 + 0.03 * stain + 0.06 * grain + 0.012 * along)
    stones = ramp(grain, 1.9, 2.6)
    canvas.lay(0.5 * stones, color=(0.56, 0.55, 0.53))
    wheels = sum(_bell(away + 0.03 * along, at, 0.26) for at in _TRACKS)
    canvas.shade(1.0 - 0.105 * wheels * ramp(stain, -2.4, 0.6))
    canvas.roughness -= 0.10 * wheels
    drips = fractal_noise(rng, pixels, cells=(5, 40), octaves=4, gain=0.7)
    canvas.lay(0.30 * _bell(away, _LANE, 0.24) * ramp(drips, -1.2, 1.6), color=(0.235, 0.23, 0.225))
    spots = scattered(rng, pixels, 160, length=(0.003, 0.030), width=(0.002, 0.02), outline=disc, bend=0.2)
    parked = _bell(away, _STRIP, 0.55) * ramp(fractal_noise(rng, pixels, cells=5, octaves=3), -0.6, 1.0)
    oil = blurred(spots.cover, 2.2) * parked
    canvas.lay(0.75 * oil, color=(0.17, 0.165, 0.16), roughness=0.45)
    # The seam of the two lanes, and cracks that end at it.
    seam = ramp(np.abs(y - 5.22 + 0.012 * along), 0.016, 0.006) * ramp(drips + stain, -1.4, -0.6)
    crack = wander(fractal_noise(rng, pixels, cells=2, octaves=7, gain=0.5), 0.6)
    crack = crack * ramp(np.abs(fractal_noise(rng, pixels, cells=3, octaves=2)), 0.6, 1.0)
    canvas.lay(0.7 * np.maximum(seam, crack), color=(0.20, 0.195, 0.19), height=-0.004)
    tar = ramp(blurred(crack, 2.0), 0.05, 0.12) * ramp(along + stain, 0.2, 0.8)
    canvas.lay(0.7 * tar, color=(0.235, 0.235, 0.24), roughness=0.45, height=0.001)
    edge = ramp(away + 0.10 * stain + 0.05 * drips, 4.25, 4.95)
    dust: Array = mix((0.36, 0.335, 0.295), (0.47, 0.445, 0.40), 0.5 + 0.2 * drips)
    canvas.lay(0.55 * edge, color=dust, roughness=0.95)
    litter = scattered(
        rng, pixels, 900, length=(0.004, 0.0085), width=(0.002, 0.005), outline=leaf, bend=0.15
    )
    tone = mix((0.33, 0.24, 0.14), (0.62, 0.52, 0.26), rng.uniform(0.0, 1.0, 900))
    where = ramp(away + 0.12 * drips, 4.45, 4.75)
    canvas.lay(litter.cover * where, color=tone[litter.index], roughness=0.8, height=0.003)
    return canvas.maps()


def _bell(away: Array, at: float, width: float) -> Array:
    """Return a Gaussian over the distance from the centre line, 1 at its middle."""
    bell: Array = np.exp(-(((away - at) / width) ** 2))
    return bell
