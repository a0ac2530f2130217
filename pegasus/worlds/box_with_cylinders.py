"""The world `box_with_cylinders`: a room full of pillars."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.scene.authoring import Surface, group
from pegasus.scene.generator import Quantities
from pegasus.scene.scene import Color
from pegasus.worlds.room import build_room
from pegasus.worlds.site import ROOT, Site, SiteGenerator
from pegasus.worlds.solids import draw, round_obstacle, tube

_TINTS: tuple[Color, ...] = ((1.0, 1.0, 1.0), (0.75, 0.32, 0.16), (0.2, 0.42, 0.62), (0.8, 0.62, 0.22))
_CAST: Color = (0.82, 0.81, 0.79)
_FOOT, _COAT = 0.1, 1.5
"""Heights up to which pillars are dirty, and painted [m]."""
_TOUR_CLEARANCE = 1.55
_SPAWN_CLEARANCE = 0.8
_TRIES = 20_000
_TOUR_STATIONS = 64


@dataclass(frozen=True)
class BoxWithCylinders(SiteGenerator):
    """Closed room with random cylinders from floor to ceiling, and a gap between any two of them."""

    name: ClassVar[str] = "box_with_cylinders"

    length: float = 30.0
    """Inside length along x [m]."""
    width: float = 24.0
    """Inside width along y [m]."""
    height: float = 5.0
    """Inside height [m]."""
    cylinder_count: int = 30
    """Number of cylinders."""
    smallest_radius: float = 0.15
    """Radius of the thinnest cylinder [m]."""
    largest_radius: float = 0.6
    """Radius of the thickest cylinder [m]."""
    minimum_gap: float = 1.6
    """Least gap between two cylinders, and between a cylinder and a wall [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("length", "width"):
            require(
                10.0 <= getattr(self, field) <= 300.0, field, getattr(self, field), "must be from 10 to 300 m"
            )
        require(3.2 <= self.height <= 50.0, "height", self.height, "must be from 3.2 to 50 m")
        require(
            0 <= self.cylinder_count <= 5000, "cylinder_count", self.cylinder_count, "must be from 0 to 5000"
        )
        require(
            0.02 <= self.smallest_radius <= self.largest_radius,
            "smallest_radius",
            self.smallest_radius,
            f"must be from 0.02 m to the largest radius of {self.largest_radius:g} m",
        )
        require(self.largest_radius <= 3.0, "largest_radius", self.largest_radius, "must be at most 3 m")
        require(0.8 <= self.minimum_gap <= 20.0, "minimum_gap", self.minimum_gap, "must be from 0.8 to 20 m")

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        area = self.length * self.width
        return Quantities(int(3000 + area), int(100 + area + 4 * self.cylinder_count))

    def build(self, site: Site) -> None:
        """Write the world."""
        build_room(site, self.length, self.width, self.height)
        tour = self._tour(site)
        stations = tour[: -1 : _TOUR_STATIONS // 8]
        kept_free = [(0.0, 0.0), *((float(x), float(y)) for x, y, _ in stations)]
        cylinders = self._cylinders(site, tour, np.array(kept_free))
        self._write(site, cylinders)
        for x, y in kept_free:
            site.spawn(x, y, heading=float(np.arctan2(-y, -x)) if (x, y) != (0.0, 0.0) else 0.0)
        site.paths["tour"] = [
            (round(float(x), 3), round(float(y), 3), round(float(z), 3)) for x, y, z in tour
        ]

    def _tour(self, site: Site) -> Array:
        """Return a closed path through the room, a Lissajous figure, shape (P, 3)."""
        rng = site.stream("tour")
        angle = np.linspace(0.0, 2 * np.pi, _TOUR_STATIONS + 1)
        phase, lobes = rng.uniform(0.0, 2 * np.pi, 2), int(rng.integers(2, 4))
        low, high = 1.55, max(self.height - 1.7, 1.55)
        middle, swing = (low + high) / 2, (high - low) / 2
        return np.stack(
            [
                (self.length / 2 - _TOUR_CLEARANCE - 0.2) * np.cos(angle),
                (self.width / 2 - _TOUR_CLEARANCE - 0.2) * np.sin(lobes * angle + phase[0]),
                middle + swing * np.sin(3 * angle + phase[1]),
            ],
            axis=1,
        )

    def _cylinders(self, site: Site, tour: Array, kept_free: Array) -> Array:
        """Return positions and radii by dart throwing (Cook 1986), shape (cylinder_count, 3)."""
        rng = site.stream("cylinders")
        found = np.zeros((0, 3))
        half = np.array([self.length, self.width]) / 2
        start, run = tour[:-1, :2], np.diff(tour[:, :2], axis=0)
        squares = np.maximum((run * run).sum(axis=1), 1e-12)
        for _ in range(_TRIES):
            if len(found) == self.cylinder_count:
                return found
            radius = float(rng.uniform(self.smallest_radius, self.largest_radius))
            at = rng.uniform(-1.0, 1.0, 2) * (half - radius)
            if (half - np.abs(at) - radius < self.minimum_gap).any():
                continue
            if (np.hypot(*(found[:, :2] - at).T) - found[:, 2] - radius < self.minimum_gap).any():
                continue
            if (np.hypot(*(kept_free - at).T) - radius < _SPAWN_CLEARANCE).any():
                continue
            along = np.minimum(np.maximum(((at - start) * run).sum(axis=1) / squares, 0.0), 1.0)
            nearest = start + along[:, None] * run
            if (np.hypot(*(nearest - at).T) - radius < _TOUR_CLEARANCE).any():
                continue
            found = np.concatenate([found, [[at[0], at[1], radius]]])
        raise ConfigError(
            f"only {len(found)} cylinders found room",
            field="cylinder_count",
            value=self.cylinder_count,
            remedy="take fewer or thinner cylinders, a smaller minimum_gap, or a larger room",
        )

    def _write(self, site: Site, cylinders: Array) -> None:
        """Write pillars of concrete, painted below, as meshes of their own: radii do not stretch images."""
        stage = site.stage
        kinds = site.stream("colours").integers(len(_TINTS), size=len(cylinders)).tolist()
        cast = site.finish("concrete", tint=_CAST)
        foot = site.paint("pillar_foot", (0.09, 0.09, 0.085), roughness=0.7, collides=False)
        for k, (x, y, radius) in enumerate(cylinders.tolist()):
            path = f"{ROOT}/Cylinders/Cylinder{k}"
            group(stage, path, "cylinder")
            coat = site.finish("concrete", tint=_TINTS[kinds[k]], collides=False, roughness=0.5)
            levels = (0.0, _FOOT, _COAT, self.height)
            for name, low, high, look in (
                ("Foot", *levels[0:2], foot),
                ("Coat", *levels[1:3], coat),
                ("Skin", *levels[2:4], Surface(cast.material)),
            ):
                draw(stage, f"{path}/{name}", [tube((x, y, low), (x, y, high), radius, sides=48)], look)
            round_obstacle(stage, f"{path}/Shaft", (x, y, 0.0), (x, y, self.height), radius, cast)
