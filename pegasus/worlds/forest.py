"""The world `forest`: mixed trees on uneven ground, undergrowth, rocks, fallen logs, and a path in a loop."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.scene.authoring import group, sun_and_sky
from pegasus.scene.generator import Quantities
from pegasus.worlds.horizon import distant_land
from pegasus.worlds.landscape import distance_to_line, log, rock, scattered, stand, stump
from pegasus.worlds.site import ROOT, Site, SiteGenerator
from pegasus.worlds.terrain import Noise, Terrain, level_surroundings
from pegasus.worlds.vegetation import SHAPES, tree, variant_count

_MARGIN = 25.0
_CELL = 0.5
_FLIGHT_HEIGHT = 2.0
_TREES = ("broadleaf", "birch", "conifer", "pine")


@dataclass(frozen=True)
class Forest(SiteGenerator):
    """Mixed forest on uneven ground with undergrowth, rocks, fallen logs and a path in a loop."""

    name: ClassVar[str] = "forest"

    size: float = 120.0
    """Side of the wooded square [m]."""
    tree_density: float = 0.034
    """Trees per area, where space permits [1/m^2]."""
    least_gap: float = 2.2
    """Least distance between the middles of two trunks [m]."""
    relief: float = 2.5
    """Height of the highest ground above the lowest [m]."""
    undergrowth: float = 0.08
    """Ferns and bushes per area [1/m^2]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(60.0 <= self.size <= 1000.0, "size", self.size, "must be from 60 to 1000 m")
        require(
            0.0 <= self.tree_density <= 0.2,
            "tree_density",
            self.tree_density,
            "must be from 0 to 0.2 per m^2",
        )
        require(1.0 <= self.least_gap <= 20.0, "least_gap", self.least_gap, "must be from 1 to 20 m")
        require(0.0 <= self.relief <= 0.05 * self.size, "relief", self.relief, "must be from 0 to size / 20")
        require(
            0.0 <= self.undergrowth <= 1.0, "undergrowth", self.undergrowth, "must be from 0 to 1 per m^2"
        )

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        side = (self.size + 2 * _MARGIN) / _CELL
        area = self.size**2
        things = area * (1.1 * self.tree_density + self.undergrowth + 0.01)
        return Quantities(int(2.2 * side**2) + 150_000, int(things) + 100)

    def build(self, site: Site) -> None:
        """Write the world."""
        sun_and_sky(site.stage, ROOT, elevation=52.0)
        distant_land(site, self.size / 2)
        way = self._way(site)
        terrain = self._terrain(site, way)
        trunks = self._trees(site, terrain, way)
        lying = self._lying(site, terrain, way, trunks)
        self._undergrowth(site, terrain, way, np.concatenate([trunks, lying]))
        self._starts(site, terrain, way)

    def _way(self, site: Site) -> Array:
        """Return the centre line of the path, a loop [m], shape (P, 2)."""
        rng = site.stream("way")
        angle = np.linspace(0.0, 2 * np.pi, 121)
        wave = sum(
            reach * np.sin(k * angle + rng.uniform(0.0, 2 * np.pi))
            for k, reach in ((2, rng.uniform(0.08, 0.14)), (3, rng.uniform(0.04, 0.08)), (4, 0.025))
        )
        radius = 0.34 * self.size * (1.0 + wave)
        start = rng.uniform(0.0, 2 * np.pi)
        return np.column_stack([radius * np.cos(angle + start), radius * np.sin(angle + start)])

    def _terrain(self, site: Site, way: Array) -> Terrain:
        """Write the ground: uneven in the forest, level towards the meadow around it."""
        side = self.size + 2 * _MARGIN
        count = 2 * round(side / _CELL / 2) + 1
        line = np.linspace(-side / 2, side / 2, count)
        x, y = np.meshgrid(line, line)
        noise, fine = Noise(site.stream("relief")), Noise(site.stream("fine"))
        bulk = noise.fractal(x, y, 38.0, octaves=3, gain=0.42)
        bulk = (bulk - bulk.min()) / np.ptp(bulk)
        places = np.column_stack([x.ravel(), y.ravel()])
        off = distance_to_line(places, way).reshape(x.shape)
        border = np.clip((side / 2 - np.maximum(np.abs(x), np.abs(y))) / _MARGIN, 0.0, 1.0)
        fade = border * border * (3.0 - 2.0 * border)
        bumps = 0.05 * (fine.fractal(x, y, 2.8, octaves=2) + 0.7)
        # The path is lowered and smooth; covers meet in bands of trodden leaves and of thin grass.
        worn = np.clip((off - 0.7) / 1.2, 0.0, 1.0)
        heights = fade * (self.relief * bulk + bumps * worn + 0.10 * worn)
        terrain = Terrain(heights, (side / (count - 1),) * 2)

        rough = fine.fractal(x, y, 1.9, octaves=3, gain=0.6)
        trodden = 0.95 + 0.35 * rough - off
        inside = self.size / 2 + 3.0 - np.maximum(np.abs(x), np.abs(y)) + 6.0 * noise.fractal(x, y, 9.0)
        mossy = noise.fractal(x, y, 7.0, octaves=4, gain=0.6) - 0.28
        surfaces = {
            "path": site.finish("soil", tint=(1.15, 1.05, 0.95)),
            "trodden": site.finish("forest_floor", tint=(1.25, 1.20, 1.15)),
            "thin": site.finish("thin_grass", tint=(0.80, 0.85, 0.80)),
            "meadow": site.finish("meadow"),
            "moss": site.finish("grass", tint=(0.75, 0.80, 0.65)),
            "forest_floor": site.finish("forest_floor"),
        }
        terrain.write(
            site,
            f"{ROOT}/Ground",
            surfaces["forest_floor"],
            [
                ("path", surfaces["path"], trodden - 0.2),
                ("ground", surfaces["trodden"], trodden + 0.1 + 0.4 * rough),
                ("meadow", surfaces["meadow"], -inside),
                ("moss", surfaces["moss"], mossy),
                ("moss", surfaces["thin"], np.maximum(mossy + 0.12, 2.5 - inside) + 0.2 * rough),
                ("ground", surfaces["forest_floor"], None),
            ],
        )
        level_surroundings(site, side / 2, surfaces["meadow"])
        return terrain

    def _trees(self, site: Site, terrain: Terrain, way: Array) -> Array:
        """Plant the trees, and return their positions, shape (K, 2)."""
        rng = site.stream("trees")
        half = self.size / 2
        stand_noise = Noise(site.stream("stands"))

        def free(places: Array) -> Array:
            off = distance_to_line(places, way)
            thin = 0.35 + 0.65 * (stand_noise.fractal(places[:, 0], places[:, 1], 16.0) > -0.25)
            edge = np.clip((half + 6.0 - np.abs(places).max(axis=1)) / 10.0, 0.15, 1.0)
            return np.where(off > 3.3, thin * edge, 0.0)

        count = round(self.tree_density * self.size**2)
        places = scattered(rng, count, (half + 8.0, half + 8.0), self.least_gap, free=free)
        off = distance_to_line(places, way) if len(places) else np.zeros(0)
        mixed = stand_noise.fractal(places[:, 0] + 500.0, places[:, 1], 34.0, octaves=2)
        group(site.stage, f"{ROOT}/Trees", "tree")
        for number, (place, reach, mix) in enumerate(zip(places, off, mixed, strict=True)):
            chances = np.clip(
                np.array([0.42 - 0.9 * mix, 0.18 - 0.3 * mix, 0.42 + 1.1 * mix, 0.12]), 0.02, 1.0
            )
            kind = _TREES[int(rng.choice(4, p=chances / chances.sum()))]
            variant = int(rng.integers(variant_count(kind)))
            if kind == "conifer" and reach < SHAPES[kind][variant].crown * 1.2 + 2.0:
                kind, variant = "birch", variant % variant_count("birch")
            prototype = tree(site, kind, variant)
            stand(
                site,
                f"{ROOT}/Trees/Tree{number}",
                prototype,
                terrain,
                place,
                rng,
                scale=(0.78, 1.2),
                sink=0.04,
            )
        return places

    def _lying(self, site: Site, terrain: Terrain, way: Array, trunks: Array) -> Array:
        """Place rocks, logs and stumps between the trees, and return their positions, shape (K, 2)."""
        rng = site.stream("lying")
        half = self.size / 2

        def free(places: Array) -> Array:
            return (distance_to_line(places, way) > 3.4).astype(np.float64)

        area = self.size**2
        places = scattered(rng, round(0.011 * area), (half, half), 1.6, taken=trunks, free=free)
        for name in ("Rocks", "Logs", "Stumps"):
            group(site.stage, f"{ROOT}/{name}", name.lower()[:-1])
        for number, place in enumerate(places):
            kind = rng.uniform()
            if kind < 0.68:
                at, prototype = f"{ROOT}/Rocks/Rock{number}", rock(site, int(rng.integers(5)))
                size = 0.25 + 1.3 * float(rng.beta(1.2, 3.5))
                stand(site, at, prototype, terrain, place, rng, scale=(size, size), sink=0.08)
            elif kind < 0.86 and np.hypot(*terrain.slope(*place)) < 0.2:
                at, prototype = f"{ROOT}/Logs/Log{number}", log(site, int(rng.integers(3)))
                stand(site, at, prototype, terrain, place, rng, scale=(0.8, 1.1), sink=0.03)
            else:
                at = f"{ROOT}/Stumps/Stump{number}"
                stand(site, at, stump(site), terrain, place, rng, scale=(0.7, 1.1))
        return places

    def _undergrowth(self, site: Site, terrain: Terrain, way: Array, taken: Array) -> None:
        """Plant ferns and bushes, in patches."""
        rng = site.stream("undergrowth")
        half = self.size / 2
        patches = Noise(site.stream("patches"))

        def free(places: Array) -> Array:
            off = distance_to_line(places, way)
            dense = patches.fractal(places[:, 0], places[:, 1], 9.0) > 0.02
            beside = (off > 1.5) & (off < 3.2)
            return np.where(off > 1.5, np.where(dense | beside, 1.0, 0.06), 0.0)

        count = round(self.undergrowth * self.size**2)
        places = scattered(rng, count, (half, half), 0.6, taken=taken, free=free)
        off = distance_to_line(places, way) if len(places) else np.zeros(0)
        group(site.stage, f"{ROOT}/Ferns", "fern")
        group(site.stage, f"{ROOT}/Bushes", "bush")
        for number, (place, reach) in enumerate(zip(places, off, strict=True)):
            bush = rng.uniform() < 0.14 and reach > 3.0
            kind, at = ("bush", "Bushes/Bush") if bush else ("fern", "Ferns/Fern")
            prototype = tree(site, kind, int(rng.integers(variant_count(kind))))
            stand(site, f"{ROOT}/{at}{number}", prototype, terrain, place, rng, scale=(0.7, 1.35))

    def _starts(self, site: Site, terrain: Terrain, way: Array) -> None:
        """Add the path, and spawn points on it."""
        chosen = way[:: 4 if self.size < 200 else 2]
        height = terrain.height(chosen[:, 0], chosen[:, 1]) + _FLIGHT_HEIGHT
        points = np.round(np.column_stack([chosen, height]), 3)
        site.paths["trail"] = [(float(x), float(y), float(z)) for x, y, z in points]
        for k in range(0, 120, 15):
            x, y = way[k]
            forward = way[k + 1] - way[k]
            heading = float(np.arctan2(forward[1], forward[0]))
            site.spawn(float(x), float(y), ground=float(terrain.height(x, y)), heading=heading)
