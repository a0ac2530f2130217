"""Finishes of distant land: wooded slopes seen from aside, with the haze in front of them."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.worlds.finishes.drawing import Canvas, Tone, disc, mix, ramp, strokes
from pegasus.worlds.finishes.finish import Maps
from pegasus.worlds.finishes.noise import fractal_noise

_HAZE: Tone = (0.425, 0.478, 0.528)
_DARK, _LIGHT = (0.100, 0.150, 0.085), (0.265, 0.315, 0.150)
_CROWNS = 2000


def far_wood(rng: np.random.Generator, pixels: int) -> Maps:
    """Return the edge of a closed wood, on a square of 120 metres."""
    return _slope(rng, pixels, crown=0.060, open_above=np.inf, haze=0.10)


def far_hills(rng: np.random.Generator, pixels: int) -> Maps:
    """Return wooded hills with clearings and meadows, on a square of 160 metres."""
    return _slope(rng, pixels, crown=0.052, open_above=0.55, haze=0.42)


def far_mountains(rng: np.random.Generator, pixels: int) -> Maps:
    """Return mountains in haze, wooded in patches, on a square of 400 metres."""
    return _slope(rng, pixels, crown=0.032, open_above=0.6, haze=0.82)


def _slope(rng: np.random.Generator, pixels: int, *, crown: float, open_above: float, haze: float) -> Maps:
    """Return rows of crowns, nearer ones in front, and open land where noise exceeds a level.

    Args:
        rng: Random numbers.
        pixels: Pixels along each side.
        crown: Largest width of a crown by the side of the square.
        open_above: Level of the noise above which land is open; infinite for closed woods.
        haze: Share of the haze in the colour, 0 to 1.
    """
    ground = fractal_noise(rng, pixels, cells=(3, 7), octaves=4, gain=0.5)
    kind = fractal_noise(rng, pixels, cells=3, octaves=4, gain=0.6)
    fine = fractal_noise(rng, pixels, cells=40, octaves=2, gain=0.9)
    meadow = mix((0.300, 0.340, 0.165), (0.445, 0.425, 0.235), 0.5 + 0.3 * kind + 0.06 * fine)
    bare = meadow if np.isfinite(open_above) else np.asarray(_DARK)
    canvas = Canvas(pixels, bare, 0.95, 0.02 * fine)
    x, y = rng.uniform(0.0, 1.0, (2, _CROWNS))
    y = np.sort(y)
    at = (y * pixels).astype(np.int64), (x * pixels).astype(np.int64)
    grown = ground[at] < open_above
    x, y, count = x[grown], y[grown], int(grown.sum())
    # Conifers are dark, narrow and stand together.
    dark = kind[at][grown] + rng.normal(0.0, 0.5, count) > 0.4
    width = rng.uniform(0.55, 1.0, count) * crown * np.where(dark, 0.6, 1.0)
    length = np.minimum(width * np.where(dark, 1.9, 1.05), crown)
    crowns = strokes(
        pixels, x=x, y=y, angle=np.full(count, -np.pi / 2), length=length, width=width, outline=disc
    )
    tone = np.clip(rng.beta(2.0, 2.5, count) + np.where(dark, -0.45, 0.1), 0.0, 1.0)
    lit: Array = 0.80 + 0.26 * crowns.along - 0.10 * crowns.across + 0.05 * fine
    color = mix(_DARK, _LIGHT, tone)[crowns.index] * lit[..., None]
    canvas.lay(crowns.cover, color=color, height=0.3 + 0.2 * crowns.along)
    canvas.shade(1.0 + 0.06 * ramp(ground, -1.0, 1.0) + 0.02 * fine)
    canvas.color = mix(canvas.color, _HAZE, np.full((pixels, pixels), haze))
    canvas.roughness += 0.02 * fine
    return canvas.maps()
