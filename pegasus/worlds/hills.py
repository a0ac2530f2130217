"""The world `hills`: ridges and valleys with grass, soil and rock, scattered rocks, lone trees, a hut."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.scene.authoring import group, instance, sun_and_sky
from pegasus.scene.generator import Quantities
from pegasus.worlds.height_maps import height_map_shape, read_height_map
from pegasus.worlds.huts import HUT_SIZE, hut
from pegasus.worlds.landscape import distance_to_line, rock, scattered, stand
from pegasus.worlds.relief import made_land, plain_around, surroundings
from pegasus.worlds.site import ROOT, Site, SiteGenerator
from pegasus.worlds.terrain import Noise, Terrain
from pegasus.worlds.vegetation import tree, variant_count

_FLIGHT_HEIGHT = 7.0
_WAY_POINTS = 240
_CLEARING = 11.0
_SMOOTHING = 24.0
_START_COUNT = 8
_START_TRIES = ((600, 8.0), (2000, 5.0), (2000, 3.5))  # candidates, and their distance from trees [m]
_STEEPEST_START = 0.8  # height difference under a vehicle [m]


@dataclass(frozen=True)
class Hills(SiteGenerator):
    """Ridges and valleys with grass, soil and rock, scattered rocks, lone trees and a hut."""

    name: ClassVar[str] = "hills"

    size: float = 320.0
    """Length from west to east; that from south to north follows from a height map's proportions [m]."""
    cell: float = 1.6
    """Spacing of the heights; that of a height map follows from its size [m]."""
    amplitude: float = 32.0
    """Height of the highest point above the lowest; of white above black in an image [m]."""
    rock_density: float = 0.004
    """Scattered rocks per area [1/m^2]."""
    tree_density: float = 0.0016
    """Trees per area, where it is not too steep [1/m^2]."""
    height_map: Path | None = None
    """Custom heights instead of generated ones: a 16-bit greyscale image, or a NumPy file in metres."""
    height_map_digest: str = field(init=False, default="")
    """Hash of the height map."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(100.0 <= self.size <= 5000.0, "size", self.size, "must be from 100 to 5000 m")
        most = self.size / 50
        require(0.25 <= self.cell <= most, "cell", self.cell, f"must be from 0.25 to {most:g} m (size / 50)")
        require(
            0.0 < self.amplitude <= self.size,
            "amplitude",
            self.amplitude,
            "must be above 0 m, up to the size",
        )
        for name in ("rock_density", "tree_density"):
            value = getattr(self, name)
            require(0.0 <= value <= 0.05, name, value, "must be from 0 to 0.05 per m^2")
        if self.height_map is not None:
            object.__setattr__(self, "height_map", Path(self.height_map).expanduser().absolute())
            height_map_shape(Path(self.height_map))
            digest = hashlib.sha256(Path(self.height_map).read_bytes()).hexdigest()[:16]
            object.__setattr__(self, "height_map_digest", digest)

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        rows, columns = self._shape()
        area = self.size**2 * (rows - 1) / (columns - 1)
        things = area * (self.rock_density + self.tree_density)
        return Quantities(int(5.0 * rows * columns) + 150_000, int(things) + 100)

    def build(self, site: Site) -> None:
        """Write the world."""
        sun_and_sky(site.stage, ROOT, elevation=38.0, azimuth=235.0)
        _, columns = self._shape()
        if self.height_map is None:
            terrain, around = made_land(site.stream("heights"), self.size, columns, self.amplitude)
        else:
            heights = read_height_map(self.height_map, self.amplitude)
            terrain = Terrain(heights, (self.size / (columns - 1),) * 2)
            around = plain_around(terrain)
        self._ground(site, terrain, around)
        way = _way(site, terrain)
        home = self._home(site, terrain, way)
        taken = self._scatter(site, terrain, way, home)
        _starts(site, terrain, np.concatenate([taken, home[None, :2]]))

    def _shape(self) -> tuple[int, int]:
        """Return the number of rows and columns of heights."""
        if self.height_map is not None:
            return height_map_shape(self.height_map)
        count = round(self.size / self.cell) + 1
        return count, count

    def _ground(self, site: Site, terrain: Terrain, around: Terrain) -> None:
        """Write the land: rock on steep slopes, scree and thin grass below, patches of grass and meadow."""
        x, y = np.meshgrid(*terrain.lines)
        noise = Noise(site.stream("covers"))
        patches = noise.fractal(x, y, 30.0, octaves=5, gain=0.6)
        detail = noise.fractal(x + 900.0, y, 7.0, octaves=3, gain=0.6)
        steep = terrain.steepness
        height = (terrain.heights - terrain.heights.min()) / max(float(np.ptp(terrain.heights)), 1e-6)
        # If all land is steep, only the steepest part is bare.
        cliff, scree = max(0.6, float(np.quantile(steep, 0.86))), max(0.45, float(np.quantile(steep, 0.74)))
        rocky = steep - cliff + 0.30 * detail + 0.25 * (height - 0.5)
        bare = steep - scree + 0.35 * detail + 0.20 * patches
        stone = site.finish("cliff", tint=(1.04, 1.01, 0.95))
        dark = site.finish("cliff", tint=(0.80, 0.78, 0.74))
        stained = noise.fractal(x - 500.0, y + 0.6 * terrain.heights, 42.0, octaves=4, gain=0.6) - 0.1
        soil = site.finish("soil", tint=(0.95, 1.0, 0.95))
        thin = site.finish("thin_grass", tint=(1.0, 1.1, 1.0))
        grass = site.finish("grass")
        dry = site.finish("grass", tint=(1.25, 1.05, 0.85))
        meadow = site.finish("meadow", tint=(1.0, 0.95, 0.85))
        terrain.write(
            site,
            f"{ROOT}/Ground",
            grass,
            [
                ("rock", dark, np.minimum(rocky, stained)),
                ("rock", stone, rocky),
                ("soil", soil, bare - 0.06),
                ("grass", thin, bare + 0.10 + 0.25 * detail),
                ("grass", dry, patches - 0.16 + 0.7 * (height - 0.45)),
                ("meadow", meadow, -patches - 0.12),
                ("grass", grass, None),
            ],
        )
        group(site.stage, f"{ROOT}/Surroundings", "ground")
        surroundings(site, terrain, around, grass, dry, stone)

    def _home(self, site: Site, terrain: Terrain, way: Array) -> Array:
        """Build a hut on the flattest ground, and return its position [m], shape (3,)."""
        rng = site.stream("hut")
        across, along = terrain.half
        tries = rng.uniform(-0.6, 0.6, (400, 2)) * (across, along)
        tries = tries[distance_to_line(tries, way[:, :2]) > 9.0]
        u, v = np.meshgrid(np.linspace(-0.5, 0.5, 5), np.linspace(-0.5, 0.5, 5))
        reach = max(HUT_SIZE)
        under = terrain.height(tries[:, :1] + reach * u.ravel()[None], tries[:, 1:] + reach * v.ravel()[None])
        best = int(np.ptp(under, axis=1).argmin())
        x, y = (float(value) for value in tries[best])
        z = float(under[best].max()) - 0.1
        slope = terrain.slope(x, y)
        # The door faces down the slope.
        yaw = float(np.degrees(np.arctan2(-slope[1], -slope[0]))) + 90.0
        group(site.stage, f"{ROOT}/Houses", "building")
        instance(site.stage, f"{ROOT}/Houses/Hut", hut(site), (x, y, z), yaw=yaw % 360.0)
        return np.array([x, y, z])

    def _scatter(self, site: Site, terrain: Terrain, way: Array, home: Array) -> Array:
        """Scatter rocks and trees, and return their positions, shape (K, 2)."""
        rng = site.stream("scatter")
        across, along = terrain.half
        half, area = (0.94 * across, 0.94 * along), 4.0 * across * along
        groves = Noise(site.stream("groves"))

        def clear(places: Array) -> BoolArray:
            off = np.hypot(places[:, 0] - home[0], places[:, 1] - home[1])
            free: BoolArray = (off > _CLEARING) & (distance_to_line(places, way[:, :2]) > 6.0)
            return free

        def wooded(places: Array) -> Array:
            steep = np.hypot(*terrain.slope(places[:, 0], places[:, 1]).T)
            thick = np.clip(0.12 + 2.0 * groves.fractal(places[:, 0], places[:, 1], 45.0), 0.04, 1.0)
            return np.where(clear(places) & (steep < 0.6), thick, 0.0)

        def stony(places: Array) -> Array:
            steep = np.hypot(*terrain.slope(places[:, 0], places[:, 1]).T)
            return np.where(clear(places), np.clip(0.04 + 1.3 * (steep - 0.2), 0.04, 1.0), 0.0)

        trees = scattered(rng, round(self.tree_density * area), half, 3.5, free=wooded)
        rocks = scattered(rng, round(self.rock_density * area), half, 1.8, taken=trees, free=stony)
        group(site.stage, f"{ROOT}/Trees", "tree")
        for number, place in enumerate(trees):
            kind = ("broadleaf", "birch", "conifer", "conifer", "pine")[int(rng.integers(5))]
            prototype = tree(site, kind, int(rng.integers(variant_count(kind))))
            at = f"{ROOT}/Trees/Tree{number}"
            stand(site, at, prototype, terrain, place, rng, scale=(0.6, 1.05), sink=0.15)
        group(site.stage, f"{ROOT}/Rocks", "rock")
        for number, place in enumerate(rocks):
            size = 0.35 + 2.6 * float(rng.beta(1.1, 5.0))
            at, prototype = f"{ROOT}/Rocks/Rock{number}", rock(site, int(rng.integers(5)))
            stand(site, at, prototype, terrain, place, rng, scale=(size, size), sink=0.12)
        return np.concatenate([trees, rocks])


def _way(site: Site, terrain: Terrain) -> Array:
    """Add a loop over ridges and valleys, and return it, shape (P, 3)."""
    rng = site.stream("way")
    angle = 2 * np.pi * np.arange(_WAY_POINTS) / _WAY_POINTS
    phase = rng.uniform(0.0, 2 * np.pi, 2)
    wave = 1.0 + 0.16 * np.sin(2 * angle + phase[0]) + 0.07 * np.sin(3 * angle + phase[1])
    across, along = terrain.half
    x, y = 0.56 * across * wave * np.cos(angle), 0.56 * along * wave * np.sin(angle)
    # Highest ground to both sides, maximum along the path, then smoothed.
    around = [terrain.height(x + u, y + v) for u in (-3.0, 0.0, 3.0) for v in (-3.0, 0.0, 3.0)]
    high = np.max(around, axis=0)
    step = float(np.hypot(np.diff(x), np.diff(y)).mean())
    reach = max(round(12.0 / step), 1)
    high = np.max([np.roll(high, k) for k in range(-reach, reach + 1)], axis=0)
    frequency = np.fft.rfftfreq(_WAY_POINTS, d=step)
    smooth = np.fft.irfft(
        np.fft.rfft(high) * np.exp(-2.0 * (np.pi * _SMOOTHING * frequency) ** 2), _WAY_POINTS
    )
    z = smooth + max(_FLIGHT_HEIGHT, float((high - smooth).max()) + 2.5)
    chosen = np.arange(0, _WAY_POINTS, max(round(11.0 / step), 1))
    points: Array = np.round(np.column_stack([x, y, z]), 3).astype(np.float64)
    loop = np.concatenate([chosen, chosen[:1]])
    site.paths["tour"] = [(float(a), float(b), float(c)) for a, b, c in points[loop]]
    return points


def _starts(site: Site, terrain: Terrain, taken: Array) -> None:
    """Add spawn points on flat ground, away from obstacles."""
    rng = site.stream("starts")
    chosen: list[Array] = []
    levelest, least = np.zeros(2), np.inf
    # On steep and crowded land the search tries more candidates and allows trees nearer.
    for count, gap in _START_TRIES:
        tries = rng.uniform(-0.7, 0.7, (count, 2)) * terrain.half
        off = np.full(len(tries), np.inf)
        for place in taken:
            off = np.minimum(off, np.hypot(*(tries - place).T))
        rise = np.ptp(_under(terrain, tries, 5), axis=1)
        if rise.min() < least:
            levelest, least = tries[int(rise.argmin())], float(rise.min())
        for k in np.argsort(rise, kind="stable"):
            apart = all(np.hypot(*(tries[k] - other)) > 6.0 for other in chosen)
            if off[k] > gap and rise[k] < _STEEPEST_START and apart and len(chosen) < _START_COUNT:
                chosen.append(tries[k])
        if len(chosen) == _START_COUNT:
            break
    starts = np.array(chosen or [levelest])
    for place, ground in zip(starts, _under(terrain, starts, 25).max(axis=1), strict=True):
        x, y = (float(value) for value in place)
        heading = float(np.arctan2(-y, -x))
        site.spawn(x, y, ground=float(ground), heading=heading)


def _under(terrain: Terrain, places: Array, count: int) -> Array:
    """Return heights of the ground under vehicles at positions, shape (K, count ** 2)."""
    u, v = np.meshgrid(np.linspace(-0.6, 0.6, count), np.linspace(-0.6, 0.6, count))
    return terrain.height(places[:, :1] + u.ravel()[None], places[:, 1:] + v.ravel()[None])
