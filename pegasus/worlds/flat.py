"""The world `flat`: level ground to the horizon."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasus.scene.authoring import (
    Surface,
    ground_plane,
    group,
    material,
    mesh,
    physics_material,
    subset,
    sun_and_sky,
)
from pegasus.scene.generator import Quantities
from pegasus.scene.scene import PhysicsMaterial
from pegasus.worlds.site import ROOT, Site, SiteGenerator
from pegasus.worlds.solids import tiles

_CELL = 4.0
_CELLS = 40
_HORIZON = 1000.0


@dataclass(frozen=True)
class Flat(SiteGenerator):
    """Level ground with a checker of 4 m tiles, out to the horizon."""

    name: ClassVar[str] = "flat"

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        return Quantities(2 * (_CELLS + 2) ** 2, 10)

    def build(self, site: Site) -> None:
        """Write the world."""
        stage = site.stage
        sun_and_sky(stage, ROOT)
        grass = material(stage, f"{ROOT}/Looks/Grass", (0.13, 0.22, 0.07))
        light = material(stage, f"{ROOT}/Looks/Light", (0.50, 0.49, 0.46))
        dark = material(stage, f"{ROOT}/Looks/Dark", (0.30, 0.31, 0.32))
        soil = physics_material(stage, f"{ROOT}/Looks/Soil", PhysicsMaterial(0.8, 0.7, 0.1))
        group(stage, f"{ROOT}/Ground", "ground")
        ground_plane(stage, f"{ROOT}/Ground/Collision", soil)
        half = _CELL * _CELLS / 2
        lines = np.concatenate([[-_HORIZON], np.linspace(-half, half, _CELLS + 1), [_HORIZON]])
        points, faces = tiles(lines, lines)
        count = _CELLS + 2
        row, column = np.divmod(np.arange(count**2), count)
        inside = (row > 0) & (row < count - 1) & (column > 0) & (column < count - 1)
        odd = (row + column) % 2 == 1
        floor = mesh(stage, f"{ROOT}/Ground/Floor", points, faces, Surface(grass))
        subset(floor, "light_tile", np.nonzero(inside & odd)[0].tolist(), light)
        subset(floor, "dark_tile", np.nonzero(inside & ~odd)[0].tolist(), dark)
        for x, y in ((0.0, 0.0), (2.0, 0.0), (0.0, 2.0), (-2.0, 0.0), (0.0, -2.0)):
            site.spawn(x, y)
        site.spawn(20.0, 20.0, heading=-2.356)
        site.spawn(-20.0, -20.0, heading=0.785)
