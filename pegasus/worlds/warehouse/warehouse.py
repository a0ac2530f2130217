"""The world `warehouse`: a steel hall with racks, loads, docks and trucks."""

from dataclasses import dataclass
from typing import ClassVar

from pegasus.base.components import require
from pegasus.scene.generator import Quantities
from pegasus.worlds.site import Site, SiteGenerator
from pegasus.worlds.warehouse.docks import build_docks
from pegasus.worlds.warehouse.furnishing import build_furnishing
from pegasus.worlds.warehouse.hall import build_hall
from pegasus.worlds.warehouse.layout import (
    BAY_LENGTH,
    CROSS_AISLE,
    LEVEL_HEIGHT,
    NARROWEST_AISLE,
    PLACES_PER_BAY,
    STAGING_LENGTH,
    Layout,
)
from pegasus.worlds.warehouse.markings import build_markings
from pegasus.worlds.warehouse.racks import build_racks
from pegasus.worlds.warehouse.roof import build_roof
from pegasus.worlds.warehouse.stock import fill_racks, write_stock
from pegasus.worlds.warehouse.wear import build_wear

_SHORTEST = STAGING_LENGTH + CROSS_AISLE + BAY_LENGTH
_ABOVE_RACKS = 2.0


@dataclass(frozen=True)
class Warehouse(SiteGenerator):
    """Steel hall with pallet racks, varied loads, floor markings, dock doors, forklifts and lamps."""

    name: ClassVar[str] = "warehouse"

    length: float = 50.0
    """Inside length along x, the direction of the aisles [m]."""
    width: float = 32.0
    """Inside width along y [m]."""
    height: float = 9.6
    """Clear height below the roof trusses [m]."""
    aisle_count: int = 5
    """Number of aisles, each with a row of racks on either side."""
    level_count: int = 4
    """Number of pallet levels including the floor; 1.8 m each."""
    fill_factor: float = 0.8
    """Share of positions with a pallet, 0 to 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            _SHORTEST <= self.length <= 500.0, "length", self.length, f"must be from {_SHORTEST:g} to 500 m"
        )
        require(10.0 <= self.width <= 500.0, "width", self.width, "must be from 10 to 500 m")
        require(1 <= self.level_count <= 12, "level_count", self.level_count, "must be from 1 to 12")
        lowest = LEVEL_HEIGHT * max(self.level_count, 2) + _ABOVE_RACKS
        require(
            lowest <= self.height <= 40.0,
            "height",
            self.height,
            f"must be from {lowest:g} to 40 m above {self.level_count} levels",
        )
        require(self.aisle_count >= 1, "aisle_count", self.aisle_count, "must be at least 1")
        require(
            self.layout.aisle_width >= NARROWEST_AISLE,
            "aisle_count",
            self.aisle_count,
            f"must leave aisles of at least {NARROWEST_AISLE:g} m in a width of {self.width:g} m",
            remedy="take fewer aisles, or a wider hall",
        )
        require(0.0 <= self.fill_factor <= 1.0, "fill_factor", self.fill_factor, "must be from 0 to 1")

    @property
    def layout(self) -> Layout:
        """Floor plan."""
        return Layout(self.length, self.width, self.height, self.aisle_count, self.level_count)

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        bays = 2 * self.aisle_count * self.layout.bay_count
        places = bays * self.level_count * PLACES_PER_BAY
        area = self.length * self.width
        objects = 2.2 * self.fill_factor * places + bays * (self.level_count + 2) + 0.8 * area + 500
        return Quantities(int(80_000 + 100 * area), int(objects))

    def build(self, site: Site) -> None:
        """Write the world."""
        layout = self.layout
        build_hall(site, layout)
        site.camera((1.0 - self.length / 2, 1.0 - self.width / 2, 6.5), (5.0, 5.0, 1.0))
        build_roof(site, layout)
        build_docks(site, layout)
        build_markings(site, layout)
        build_wear(site, layout)
        build_racks(site, layout)
        stock = write_stock(site)
        fill_racks(site, layout, stock, fill_factor=self.fill_factor)
        build_furnishing(site, layout, stock)
        for y in layout.aisles:
            site.spawn(layout.lane, y)
        for k, y in enumerate(layout.aisles):
            site.spawn(layout.front + 4.0 + 3.0 * (k % 2), y)
        rear = (layout.back + layout.length / 2) / 2
        for y in layout.aisles:
            site.spawn(rear, y, heading=3.142)
        site.paths["tour"] = layout.tour()
