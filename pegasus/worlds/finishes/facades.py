"""Facade finishes: four storeys of four bays of 3 x 3 m on a square of 12 m."""

import numpy as np

from pegasus.base.arrays import Array, IntArray
from pegasus.worlds.finishes.drawing import Canvas, Tone, bond, grid, mix, ramp, rectangle
from pegasus.worlds.finishes.finish import Maps
from pegasus.worlds.finishes.lettering import lettering, line_width
from pegasus.worlds.finishes.noise import blurred, fractal_noise

_BAYS = 4
_SIDE = 12.0
_BAY = _SIDE / _BAYS
_WINDOW = 0.06
_FRAME = 0.35
_SHOPS = ("BAKERY", "BOOKS AND MAPS", "CAFE CENTRAL", "FLOWERS", "FINE FOODS", "OPTICIAN", "TAILOR", "SHOES")
_PAINT = np.array(
    [
        [0.15, 0.24, 0.21], [0.45, 0.12, 0.11], [0.14, 0.20, 0.33], [0.20, 0.20, 0.20],
        [0.72, 0.66, 0.52], [0.35, 0.22, 0.14], [0.80, 0.79, 0.76], [0.52, 0.38, 0.12],
    ]
)  # fmt: skip


class _Front(Canvas):
    """A front with coordinates within each bay."""

    def __init__(self, pixels: int, color: Tone, roughness: float, height: float | Array = 0.0) -> None:
        super().__init__(pixels, color, roughness, height)
        x, y = grid(pixels, _SIDE)
        self.storey: IntArray = np.floor(y / _BAY).astype(np.int64)
        self.column: IntArray = np.floor(x / _BAY).astype(np.int64)
        self.bay: IntArray = self.storey * _BAYS + self.column
        self.x = x - _BAY * self.column
        self.y = y - _BAY * self.storey
        self.soft = _SIDE / pixels

    def part(
        self, left: float | Array, right: float | Array, low: float | Array, high: float | Array
    ) -> Array:
        """Return 1 inside a rectangle of every bay [m]."""
        return rectangle(self.x, self.y, left, right, low, high, soft=self.soft)

    def glass(self, where: Array, sky: Array, *, depth: float = -0.05) -> None:
        """Draw dark panes that reflect a bright sky in their upper part."""
        tone = 0.30 + 0.55 * ramp(self.y + 0.25 * sky, 0.8, 3.0)
        color = mix((0.085, 0.095, 0.11), (0.30, 0.355, 0.42), tone)
        self.lay(where, color=color, roughness=_WINDOW, height=depth)

    def frame(self, left: float | Array, right: float | Array, low: float, high: float, color: Tone) -> None:
        """Draw a frame of 70 mm inside a rectangle."""
        ring = self.part(left, right, low, high)
        ring = ring * (1.0 - self.part(left + 0.07, right - 0.07, low + 0.07, high - 0.07))
        self.lay(ring, color=color, roughness=_FRAME, height=-0.03)

    def bar(self, center: float | Array, low: float, high: float, color: Tone) -> None:
        """Draw an upright bar of 60 mm."""
        here = self.part(center - 0.03, center + 0.03, low, high)
        self.lay(here, color=color, roughness=_FRAME, height=-0.03)

    def under(self, low: float, left: float, right: float, rain: Array) -> None:
        """Darken rain streaks below a sill."""
        reach = ramp(low - self.y, 0.9, 0.0) * (self.y < low) * self.part(left, right, -1.0, 4.0)
        self.shade(1.0 - 0.13 * reach * ramp(rain, -0.6, 1.4))

    def weathered(self, rng: np.random.Generator) -> Maps:
        """Return the maps, stained by rain and dust."""
        pixels = self.height.shape[0]
        wash = fractal_noise(rng, pixels, cells=(10, 1), octaves=5, gain=0.6)
        cloud = fractal_noise(rng, pixels, cells=1.5, octaves=4)
        self.shade(1.0 + np.where(self.roughness > 0.3, 0.018, 0.006) * (wash + cloud))
        self.height = blurred(self.height, 0.6)
        return self.maps()


def facade_flats(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a rendered block of flats: white windows, sills, curtains, shutters, French windows."""
    sand = fractal_noise(rng, pixels, cells=120, octaves=2)
    front = _Front(pixels, (0.80, 0.745, 0.645), 0.9, 0.0008 * sand)
    front.shade(1.0 + 0.012 * sand)
    return _windows(front, rng)


def facade_brick(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a brick house with the windows of `facade_flats`, lintels above them."""
    x, y = grid(pixels, _SIDE)
    bricks = bond(x, y, side=_SIDE, rows=144, columns=48, shift=0.5)
    noise = fractal_noise(rng, pixels, cells=6, octaves=6, gain=0.65)
    hue = mix((0.47, 0.25, 0.195), (0.645, 0.39, 0.295), rng.uniform(0.0, 1.0, bricks.count))
    front = _Front(pixels, (0.62, 0.585, 0.535), 0.93)
    face = hue[bricks.index] * (1.0 + 0.045 * noise)[..., None]
    front.lay(ramp(bricks.edge, 0.001, 0.012), color=face, roughness=0.86, height=0.005)
    front.lay(front.part(0.62, 2.38, 2.40, 2.62), color=(0.74, 0.71, 0.65), roughness=0.8, height=0.01)
    return _windows(front, rng)


def _windows(front: _Front, rng: np.random.Generator) -> Maps:
    pixels = front.height.shape[0]
    sky = fractal_noise(rng, pixels, cells=5, octaves=3)
    rain = fractal_noise(rng, pixels, cells=(40, 2), octaves=4)
    white = (0.86, 0.86, 0.84)
    # Windows in a column are of one kind.
    tall = (np.arange(_BAYS) == rng.integers(0, _BAYS))[front.column].astype(np.float64)
    low = 0.9 - 0.75 * tall
    reveal = front.part(0.75, 2.25, low - 0.02, 2.40)
    front.lay(reveal, color=front.color * 0.55, height=-0.08)
    opening = front.part(0.79, 2.21, low + 0.02, 2.36)
    front.glass(opening, sky, depth=-0.10)
    _curtains(front, rng, opening, low)
    ring = opening * (1.0 - front.part(0.87, 2.13, low + 0.10, 2.28))
    bars = opening * np.maximum(front.part(1.465, 1.535, -1.0, 4.0), tall * front.part(0.0, 3.0, 0.92, 0.98))
    front.lay(np.maximum(ring, bars), color=white, roughness=_FRAME, height=-0.07)
    front.shade(1.0 - 0.45 * reveal * ramp(front.y, 2.22, 2.40) - 0.25 * reveal * ramp(front.x, 0.86, 0.75))
    # Roller shutters at different heights.
    down = np.where(rng.uniform(size=16) < 0.35, rng.uniform(0.25, 1.5, 16), 0.0)[front.bay]
    slats = 0.5 + 0.5 * np.cos(2.0 * np.pi * front.y / 0.075)
    shutter = opening * (front.y > 2.36 - down) * (down > 0.0)
    front.lay(shutter, color=mix((0.62, 0.61, 0.58), (0.78, 0.77, 0.74), slats), roughness=0.5, height=-0.05)
    sill = (1.0 - tall) * front.part(0.68, 2.32, 0.83, 0.90)
    front.lay(sill, color=(0.70, 0.69, 0.67), roughness=0.55, height=0.05)
    front.shade(1.0 - 0.35 * (1.0 - tall) * front.part(0.70, 2.30, 0.76, 0.83))
    front.under(0.82, 0.7, 2.3, rain)
    rail = tall * front.part(0.68, 2.32, 0.12, 1.15)
    rods = ramp(np.abs((front.x / 0.117) % 1.0 - 0.5), 0.22, 0.10)
    metal = rail * np.maximum(
        rods, np.maximum(front.part(0.0, 3.0, 1.09, 1.15), front.part(0.0, 3.0, 0.12, 0.17))
    )
    front.lay(metal, color=(0.17, 0.175, 0.18), roughness=0.45, height=0.06)
    band = front.part(-1.0, 4.0, -1.0, 0.06) * (1.0 - tall * front.part(0.75, 2.25, -1.0, 4.0))
    front.lay(band, color=front.color * 0.93, height=0.015)
    return front.weathered(rng)


def _curtains(front: _Front, rng: np.random.Generator, opening: Array, low: Array) -> None:
    """Draw curtains, nets and blinds behind the panes, chosen per bay."""
    kind = rng.uniform(size=16)[front.bay]
    width = rng.uniform(0.16, 0.5, 16)[front.bay]
    fabrics = np.array([[0.62, 0.60, 0.56], [0.55, 0.48, 0.40], [0.42, 0.45, 0.50], [0.58, 0.42, 0.36]])
    fabric = (fabrics[rng.integers(0, 4, 16)] * rng.uniform(0.75, 1.1, (16, 1)))[front.bay]
    fold = 0.80 + 0.20 * np.cos(2.0 * np.pi * (front.x + 0.02 * np.sin(6.0 * front.y)) / 0.11)
    drawn = np.maximum(front.x < 0.87 + width, front.x > 2.13 - width) * (kind < 0.62)
    front.lay(0.85 * opening * drawn, color=fabric * fold[..., None], roughness=0.12)
    net = opening * (kind > 0.45) * (kind < 0.85) * ramp(front.y, low + 0.1, low + 0.2)
    front.lay(0.45 * net, color=(0.62 * fold)[..., None] * np.array([1.0, 0.99, 0.96]), roughness=0.10)


def facade_office(rng: np.random.Generator, pixels: int) -> Maps:
    """Return an office: ribbons of windows with blinds between panels of grey concrete."""
    fine = fractal_noise(rng, pixels, cells=60, octaves=3)
    sky = fractal_noise(rng, pixels, cells=4, octaves=3)
    rain = fractal_noise(rng, pixels, cells=(40, 2), octaves=4)
    front = _Front(pixels, (0.655, 0.65, 0.635), 0.8, 0.0008 * fine)
    front.shade((1.0 + 0.012 * fine) * rng.normal(1.0, 0.012, 16)[front.bay])
    gap = 1.0 - front.part(0.012, 2.988, 0.012, 3.2)
    front.lay(gap, color=(0.25, 0.25, 0.25), height=-0.015)
    low, high = 0.85, 2.60
    front.lay(front.part(0.08, 2.92, low - 0.04, high + 0.04), color=(0.16, 0.165, 0.17), height=-0.07)
    opening = front.part(0.11, 2.89, low, high)
    front.glass(opening, sky, depth=-0.06)
    room = rng.uniform(size=16)
    pane = np.minimum(np.floor((front.x - 0.11) / 0.9267), 2).astype(np.int64)
    drop = np.where(rng.uniform(size=(16, 3)) < 0.5, rng.uniform(0.15, 1.7, (16, 3)), 0.0)
    # Most rooms have their blinds at one height.
    drop = np.where(room[:, None] < 0.55, drop[:, :1], drop)[front.bay, np.maximum(pane, 0)]
    slats = 0.75 + 0.25 * np.cos(2.0 * np.pi * front.y / 0.06)
    blind = opening * (front.y > high - drop)
    front.lay(0.82 * blind, color=slats[..., None] * np.array([0.60, 0.605, 0.60]), roughness=0.10)
    lamp = opening * (rng.uniform(size=16) < 0.3)[front.bay] * front.part(0.2, 2.8, 2.30, 2.36)
    front.lay(0.7 * lamp * (1.0 - blind), color=(0.85, 0.84, 0.78))
    frame = (0.27, 0.275, 0.285)
    front.frame(0.08, 2.92, low - 0.03, high + 0.03, frame)
    for bar in (1.037, 1.963):
        front.bar(bar, low, high, frame)
    top = opening * front.part(0.0, 3.0, 2.12, 2.17)
    front.lay(top, color=frame, roughness=_FRAME, height=-0.03)
    front.shade(1.0 - 0.4 * front.part(0.08, 2.92, high - 0.12, high + 0.04))
    front.lay(
        front.part(0.04, 2.96, low - 0.09, low - 0.03), color=(0.56, 0.565, 0.57), roughness=0.4, height=0.03
    )
    front.shade(1.0 - 0.3 * front.part(0.04, 2.96, low - 0.15, low - 0.09))
    front.under(low - 0.09, 0.05, 2.95, rain)
    return front.weathered(rng)


def facade_shop(rng: np.random.Generator, pixels: int) -> Maps:
    """Return shops, as for a ground floor: windows with goods, doors, boards with signs above."""
    sky = fractal_noise(rng, pixels, cells=4, octaves=3)
    fine = fractal_noise(rng, pixels, cells=80, octaves=2)
    front = _Front(pixels, (0.60, 0.585, 0.555), 0.8, 0.0008 * fine)
    front.shade(1.0 + 0.015 * fine)
    # Two neighbouring bays are one shop of one colour.
    paint = _PAINT[rng.permutation(8)]
    board = paint[front.bay // 2]
    dark = board * 0.85
    front.lay(front.part(0.10, 2.90, 0.0, 2.40), color=dark, roughness=0.4, height=0.01)
    door = (rng.permutation(16) % 3 == 0)[front.bay].astype(np.float64)
    low = 0.50 - 0.40 * door
    opening = np.maximum(
        front.part(0.20, 2.80, 0.50, 2.30) * (1.0 - door),
        door * np.maximum(front.part(1.35, 2.80, 0.50, 2.30), front.part(0.24, 1.20, 0.12, 2.30)),
    )
    front.glass(opening, sky, depth=-0.06)
    _goods(front, rng, opening * (front.y > low) * np.maximum(1.0 - door, front.x > 1.3))
    front.lay(
        opening * front.part(1.46, 1.52, 0.0, 2.3) * (1.0 - door), color=dark, roughness=0.4, height=-0.02
    )
    handle = door * front.part(1.08, 1.11, 0.95, 1.35)
    front.lay(handle, color=(0.75, 0.74, 0.72), roughness=0.25, height=0.03)
    front.shade(1.0 - 0.45 * opening * ramp(front.y, 2.12, 2.30))
    sign = front.part(0.0, 3.0, 2.42, 2.92)
    front.lay(sign, color=board, roughness=0.35, height=0.05)
    light = ((paint.mean(axis=1) < 0.4)[:, None] * np.array([0.75, 0.71, 0.60]) + 0.10)[front.bay // 2]
    front.lay(_signs(front, rng), color=light, roughness=0.35, height=0.06)
    front.lay(front.part(-1.0, 4.0, 2.92, 3.1), color=(0.55, 0.54, 0.52), roughness=0.7, height=0.07)
    front.shade(1.0 - 0.35 * front.part(-1.0, 4.0, 2.34, 2.42))
    front.lay(front.part(-1.0, 4.0, -1.0, 0.10), color=(0.33, 0.33, 0.33), roughness=0.7, height=0.02)
    return front.weathered(rng)


def _goods(front: _Front, rng: np.random.Generator, where: Array) -> None:
    """Show shelves of goods behind the panes."""
    count = 12
    rows, columns = np.nonzero(where * (front.y < 2.0))
    x, y = front.x[0, columns] / _BAY * count, front.y[rows, 0] - 0.5
    shelf, item = np.floor(y / 0.42).astype(np.int64) % 4, np.floor(x).astype(np.int64) % count
    place = (front.bay[rows, columns] * 4 + shelf) * count + item
    tall = rng.uniform(0.0, 0.34, 64 * count)
    hue = rng.uniform(0.30, 0.90, (64 * count, 1))
    color = hue * rng.uniform((0.85, 0.75, 0.62), (1.0, 0.95, 0.90), (64 * count, 3))
    above, inside = y % 0.42, x % 1.0
    thing = ramp(inside, 0.06, 0.12) * ramp(inside, 0.95, 0.85) * (above < tall[place])
    behind = front.color[rows, columns]
    shown = behind + 0.75 * thing[:, None] * (color[place] - behind)
    plank = 0.5 * (above > 0.385)[:, None]
    front.color[rows, columns] = shown + plank * (np.array([0.42, 0.37, 0.30]) - shown)
    front.roughness[rows, columns] = 0.08


def _signs(front: _Front, rng: np.random.Generator) -> Array:
    """Return the names of the shops on their boards, each over the two bays of a shop."""
    pixels = front.height.shape[0]
    marks = np.zeros((pixels, pixels))
    x, y = grid(pixels, _SIDE)
    wide, high = 2 * pixels // _BAYS, pixels // _BAYS
    x, y = x[:, :wide], y[-high:]
    for i, name in enumerate(rng.permutation(_SHOPS)):
        start = _BAY - 0.5 * line_width(str(name), 0.27)
        rows, columns = slice(i // 2 * high, (i // 2 + 1) * high), slice(i % 2 * wide, (i % 2 + 1) * wide)
        marks[rows, columns] = lettering(str(name), x - start, y - 2.54, size=0.27)
    return marks


def glass_panes(rng: np.random.Generator, pixels: int) -> Maps:
    """Return a curtain wall: panes of 1.5 m between metal bars, opaque panes at the floors."""
    front = _Front(pixels, (0.55, 0.56, 0.57), 0.35, 0.03)
    sky = fractal_noise(rng, pixels, cells=(1, 2), octaves=5, gain=0.42)
    pane = (2.0 * front.x / _BAY).astype(np.int64) + 2 * front.bay
    tint = rng.normal(1.0, 0.04, 32)[pane]
    x = front.x % 1.5
    clear = rectangle(x, front.y, 0.03, 1.47, 0.75, 2.97, soft=front.soft)
    blank = rectangle(x, front.y, 0.03, 1.47, 0.03, 0.69, soft=front.soft)
    tone = ramp(sky + 0.6 * (front.y - 1.5), -4.5, 4.5)
    color = mix((0.12, 0.15, 0.18), (0.32, 0.40, 0.47), tone) * tint[..., None]
    tilt = rng.normal(0.0, 0.0015, (2, 32))[:, pane]
    front.lay(clear, color=color, roughness=0.05, height=tilt[0] * x + tilt[1] * front.y)
    drop = np.where(rng.uniform(size=32) < 0.3, rng.uniform(0.2, 1.2, 32), 0.0)[pane]
    front.lay(0.2 * clear * (front.y > 2.97 - drop), color=(0.60, 0.61, 0.61))
    front.lay(blank, color=mix((0.17, 0.21, 0.245), (0.26, 0.315, 0.365), tone), roughness=0.12)
    return front.weathered(rng)
