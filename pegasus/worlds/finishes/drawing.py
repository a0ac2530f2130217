"""Drawing tools of finishes: canvas, tilings, and scattered strokes on a periodic square."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.scene.scene import Color
from pegasus.worlds.finishes.finish import Maps

Tone = Color | Array
_PORTION = 20_000
"""Samples of strokes that are placed together, which fit into the processor's cache."""


class Canvas:
    """A square of surface for layers.

    Args:
        pixels: Pixels along each side.
        color: Base colour, sRGB, shape (3,) or (H, W, 3).
        roughness: Base roughness, scalar or shape (H, W).
        height: Base height [m], scalar or shape (H, W).
    """

    def __init__(
        self, pixels: int, color: Tone, roughness: float | Array, height: float | Array = 0.0
    ) -> None:
        self.color: Array = np.zeros((pixels, pixels, 3)) + color
        self.roughness: Array = np.zeros((pixels, pixels)) + roughness
        self.height: Array = np.zeros((pixels, pixels)) + height

    def lay(
        self,
        cover: Array,
        *,
        color: Tone | None = None,
        roughness: float | Array | None = None,
        height: float | Array | None = None,
    ) -> None:
        """Blend a layer over the canvas; omitted quantities stay.

        Args:
            cover: 1 where the layer is, 0 where it is not; shape (H, W).
            color: Its colour, sRGB, shape (3,) or (H, W, 3).
            roughness: Its roughness.
            height: Its height [m].
        """
        shape = self.height.shape
        weights = np.broadcast_to(cover, shape).ravel()
        # Most layers cover a small part of the square.
        where = np.flatnonzero(weights)
        weight = weights[where]
        if color is not None:
            layer, above = self.color.reshape(-1, 3), np.asarray(color)
            if above.ndim == 3:
                above = np.broadcast_to(above, self.color.shape).reshape(-1, 3).take(where, axis=0)
            below = layer.take(where, axis=0)
            layer[where] = below + (above - below) * weight[:, None]
        for values, value in ((self.roughness.ravel(), roughness), (self.height.ravel(), height)):
            if value is not None:
                target = np.asarray(value)
                if target.ndim == 2:
                    target = np.broadcast_to(target, shape).ravel().take(where)
                below = values.take(where)
                values[where] = below + (target - below) * weight

    def shade(self, factor: Array) -> None:
        """Multiply the colours.

        Args:
            factor: Factor, shape (H, W).
        """
        self.color *= factor[..., None]

    def maps(self) -> Maps:
        """Return the maps."""
        return Maps(
            np.minimum(np.maximum(self.color, 0.0), 1.0),
            np.minimum(np.maximum(self.roughness, 0.0), 1.0),
            self.height,
        )


def mix(low: Tone, high: Tone, weight: Array) -> Array:
    """Return interpolated colours, shape (..., 3).

    Args:
        low: Colour where the weight is 0.
        high: Colour where it is 1.
        weight: Weight, clipped to 0 to 1, shape (...).
    """
    first = np.asarray(low)
    blend: Array = first + (np.asarray(high) - first) * np.minimum(np.maximum(weight, 0.0), 1.0)[..., None]
    return blend


def ramp(values: Array, low: float | Array, high: float | Array) -> Array:
    """Return a smoothstep from 0 to 1 between two values; descending if low > high."""
    t = np.minimum(np.maximum((values - low) / (high - low), 0.0), 1.0)
    smooth: Array = t * t * (3.0 - 2.0 * t)
    return smooth


def grid(pixels: int, side: float) -> tuple[Array, Array]:
    """Return x (right) and y (up) of the pixels [m], shapes (1, pixels) and (pixels, 1).

    Args:
        pixels: Pixels along each side.
        side: Side of the square [m].
    """
    place = (np.arange(pixels) + 0.5) * side / pixels
    return place[None, :], place[::-1, None]


def rectangle(
    x: Array,
    y: Array,
    left: Tone | float,
    right: Tone | float,
    low: Tone | float,
    high: Tone | float,
    *,
    soft: float,
) -> Array:
    """Return 1 inside a rectangle and 0 outside.

    Args:
        x: Coordinates to the right [m].
        y: Coordinates upwards [m].
        left: Least x [m].
        right: Largest x [m].
        low: Least y [m].
        high: Largest y [m].
        soft: Width of its edge [m].
    """
    distance = np.minimum(np.minimum(x - left, right - x), np.minimum(y - low, high - y))
    inside: Array = np.minimum(np.maximum(distance / soft + 0.5, 0.0), 1.0)
    return inside


@dataclass(frozen=True, eq=False)
class Bond:
    """Tiling in rows with joints; every array has the shape (pixels, pixels)."""

    index: IntArray
    """Index of the unit."""
    edge: Array
    """Distance to its nearest edge [m]."""
    x: Array
    """Distance from its left edge [m]."""
    y: Array
    """Distance from its lower edge [m]."""
    count: int
    """Number of units."""


def bond(x: Array, y: Array, *, side: float, rows: int, columns: int, shift: float | Array = 0.0) -> Bond:
    """Return equal units laid in rows.

    Args:
        x: Coordinates to the right [m]; they may be warped.
        y: Coordinates upwards [m].
        side: Side of the square [m].
        rows: Rows on the square; even when every other row is shifted.
        columns: Units in a row.
        shift: Shift of each row by the length of a unit, shape (rows,); scalar: every other row's.
    """
    long, high = side / columns, side / rows
    row = np.floor(y / high).astype(np.int64)
    shifts = shift * (np.arange(rows) % 2) if np.ndim(shift) == 0 else np.asarray(shift)
    along = x / long + shifts[row % rows]
    column = np.floor(along).astype(np.int64)
    right, up = (along - column) * long, y - row * high
    edge = np.minimum(np.minimum(right, long - right), np.minimum(up, high - up))
    return Bond(row % rows * columns + column % columns, edge, right, up, rows * columns)


@dataclass(frozen=True, eq=False)
class Strokes:
    """Topmost stroke at each pixel; every array has the shape (pixels, pixels)."""

    index: IntArray
    """Index of the stroke; -1 for none."""
    along: Array
    """Position along the stroke, -1 to 1."""
    across: Array
    """Position across the stroke, -1 to 1."""

    @property
    def cover(self) -> Array:
        """1 where there is a stroke."""
        return (self.index >= 0).astype(np.float64)


def leaf(along: Array) -> Array:
    """Return the outline of a leaf, pointed at both ends: half width over the position along it."""
    outline: Array = np.sqrt(np.maximum(1.0 - along * along, 0.0)) * (1.0 - 0.35 * along)
    return outline


def disc(along: Array) -> Array:
    """Return the outline of an ellipse."""
    outline: Array = np.sqrt(np.maximum(1.0 - along * along, 0.0))
    return outline


def pebble(along: Array) -> Array:
    """Return the outline of a stone: a superellipse of order three."""
    outline: Array = np.cbrt(np.maximum(1.0 - np.abs(along) ** 3, 0.0))
    return outline


def bar(along: Array) -> Array:
    """Return the outline of a rod, as wide at its ends."""
    return np.ones_like(along)


def blade(along: Array) -> Array:
    """Return the outline of a blade of grass, pointed at its tip."""
    outline: Array = np.sqrt(np.maximum(0.5 - 0.5 * along, 0.0))
    return outline


def strokes(
    pixels: int,
    *,
    x: Array,
    y: Array,
    angle: Array,
    length: Array,
    width: Array,
    outline: Callable[[Array], Array],
    bend: Array | float = 0.0,
) -> Strokes:
    """Return strokes drawn in order, wrapped around the edges of the square.

    Args:
        pixels: Pixels along each side.
        x: Centres to the right by the side of the square, shape (N,).
        y: Centres downwards, shape (N,).
        angle: Directions, clockwise from the right [rad], shape (N,).
        length: Lengths by the side, shape (N,).
        width: Largest widths by the side, shape (N,).
        outline: Relative half width over the position along the stroke, -1 to 1.
        bend: Lateral bend of the ends relative to the length; scalar or shape (N,).
    """
    # Samples closer than a pixel's diagonal leave no holes.
    steps = [max(2, int(np.ceil(float(size.max()) * pixels / 0.65)) + 1) for size in (length, width)]
    u = np.linspace(-1.0, 1.0, steps[0])[:, None]
    v = np.linspace(-1.0, 1.0, steps[1])[None, :]
    half, wide = 0.5 * pixels * length[:, None, None], 0.5 * pixels * width[:, None, None]
    bends = np.broadcast_to(np.reshape(bend, (-1, 1, 1)), half.shape)
    shape_across = outline(u) * v
    cos, sin = np.cos(angle)[:, None, None], np.sin(angle)[:, None, None]
    left, top = x[:, None, None] * pixels, y[:, None, None] * pixels
    # Of several samples in a pixel, the one assigned last stays.
    sample = np.full(pixels * pixels, -1, dtype=np.int64)
    portion = max(1, _PORTION // shape_across.size)
    for first in range(0, len(x), portion):
        rows = slice(first, first + portion)
        forward = half[rows] * u
        aside = wide[rows] * shape_across + 2.0 * half[rows] * bends[rows] * (u * u)
        column = np.floor(left[rows] + cos[rows] * forward - sin[rows] * aside).astype(np.int32) % pixels
        row = np.floor(top[rows] + sin[rows] * forward + cos[rows] * aside).astype(np.int32) % pixels
        place = (row * pixels + column).ravel()
        sample[place] = np.arange(place.size) + first * shape_across.size
    per_stroke = steps[0] * steps[1]
    within = sample % per_stroke
    shape = (pixels, pixels)
    return Strokes(
        np.where(sample >= 0, sample // per_stroke, -1).reshape(shape),
        u.ravel()[within // steps[1]].reshape(shape),
        v.ravel()[within % steps[1]].reshape(shape),
    )


def scattered(
    rng: np.random.Generator,
    pixels: int,
    count: int,
    *,
    length: tuple[float, float],
    width: tuple[float, float],
    outline: Callable[[Array], Array],
    bend: float = 0.0,
    angle: tuple[float, float] = (0.0, 2.0 * np.pi),
) -> Strokes:
    """Return strokes at random places.

    Args:
        rng: Random numbers.
        pixels: Pixels along each side.
        count: Number of strokes.
        length: Least and largest length by the side.
        width: Least and largest width by the side.
        outline: Outline, as for `strokes`.
        bend: Largest bend, to either side.
        angle: Least and largest direction [rad].
    """
    x, y = rng.uniform(0.0, 1.0, (2, count))
    return strokes(
        pixels,
        x=x,
        y=y,
        angle=rng.uniform(*angle, count),
        length=rng.uniform(*length, count),
        width=rng.uniform(*width, count),
        outline=outline,
        bend=rng.uniform(-bend, bend, count),
    )


def wander(noise: Array, width: float) -> Array:
    """Return thin lines where noise passes through zero, such as cracks: 1 on the line.

    Args:
        noise: Noise, shape (H, W).
        width: Width of the lines [pixel].
    """
    slope = np.hypot(noise - np.roll(noise, 1, axis=0), noise - np.roll(noise, 1, axis=1))
    distance = np.abs(noise) / np.maximum(slope, 1e-9)
    line: Array = np.minimum(np.maximum(0.5 + 0.5 * width - distance, 0.0), 1.0)
    return line


def finer(maps: Array, factor: int) -> Array:
    """Return the mean over squares of pixels.

    Args:
        maps: Values, shape (H, W) or (H, W, C).
        factor: Pixels along each side of a square.
    """
    count = maps.shape[0] // factor
    mean: Array = maps.reshape(count, factor, count, factor, -1).mean(axis=(1, 3))
    return mean if maps.ndim == 3 else mean[..., 0]
