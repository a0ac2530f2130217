"""Placement of loads in the racks."""

from dataclasses import dataclass

import numpy as np

from pegasus.scene.authoring import Vector, group, instance
from pegasus.worlds.site import ROOT, Site
from pegasus.worlds.warehouse.layout import (
    BAY_LENGTH,
    LEVEL_HEIGHT,
    PLACES_PER_BAY,
    UPRIGHT_WIDTH,
    Layout,
)
from pegasus.worlds.warehouse.loads import PALLET_HEIGHT, write_loads, write_pallet

_SHARES = {
    "cartons": 0.5,
    "film": 0.14,
    "crates": 0.11,
    "sacks": 0.08,
    "drums": 0.06,
    "chest": 0.05,
    "reels": 0.03,
    "tank": 0.03,
}
_LOYALTY = 0.7
"""Probability that a load is of its bay's kind."""
_BARE = 0.04
"""Share of empty pallets."""
_ABOVE_BEAM = 0.002


@dataclass(frozen=True)
class Stock:
    """Prototypes of pallets and loads."""

    pallet: str
    loads: dict[str, list[str]]
    """Prototypes of each kind of load."""

    def pick(self, rng: np.random.Generator) -> str:
        """Return a load, with the frequencies of the racks."""
        variants = self.loads[str(rng.choice(list(_SHARES), p=list(_SHARES.values())))]
        return variants[int(rng.integers(len(variants)))]

    def put(self, site: Site, path: str, position: Vector, load: str | None, *, yaw: float) -> None:
        """Write a pallet, with a load or bare.

        Args:
            site: The site.
            path: Base path of the prims.
            position: Middle of the pallet's underside [m], shape (3,).
            load: Prototype of the load.
            yaw: Rotation about z [deg]; the pallet is long along y at 0.
        """
        instance(site.stage, f"{path}_Pallet", self.pallet, position, yaw=yaw)
        if load is not None:
            x, y, z = position
            instance(site.stage, f"{path}_Load", load, (x, y, z + PALLET_HEIGHT + 0.001), yaw=yaw)


def write_stock(site: Site) -> Stock:
    """Return the prototypes of pallets and loads."""
    return Stock(write_pallet(site), write_loads(site))


def fill_racks(site: Site, layout: Layout, stock: Stock, *, fill_factor: float) -> None:
    """Write pallets with their loads into the racks.

    Args:
        site: The site.
        layout: The floor plan.
        stock: The prototypes of pallets and loads.
        fill_factor: Share of positions with a pallet, 0 to 1.
    """
    stage = site.stage
    rng = site.stream("stock")
    kinds, weights = list(_SHARES), list(_SHARES.values())
    pitch = (BAY_LENGTH - UPRIGHT_WIDTH) / PLACES_PER_BAY
    for index, row in enumerate(layout.rows):
        group(stage, f"{ROOT}/Stock/Row{index}")
        for bay in range(layout.bay_count):
            favourite = str(rng.choice(kinds, p=weights))
            variant = int(rng.integers(64))
            for level in range(layout.level_count):
                for place in range(PLACES_PER_BAY):
                    draws = rng.uniform(size=5)
                    other, odd = str(rng.choice(kinds, p=weights)), int(rng.integers(64))
                    if draws[0] >= fill_factor:
                        continue
                    middle = layout.front + (bay + 0.5) * BAY_LENGTH
                    x = middle + (place - (PLACES_PER_BAY - 1) / 2) * pitch + 0.04 * (draws[1] - 0.5)
                    y = row.y + 0.05 * (draws[2] - 0.5)
                    z = level * LEVEL_HEIGHT + _ABOVE_BEAM
                    turn = 1.2 * (draws[3] - 0.5) + (180.0 if odd % 2 else 0.0)
                    name = f"{ROOT}/Stock/Row{index}/Place{bay}_{level}_{place}"
                    if draws[4] < _BARE:
                        stock.put(site, name, (x, y, z), None, yaw=turn)
                        continue
                    loyal = (draws[4] - _BARE) / (1.0 - _BARE) < _LOYALTY
                    choices = stock.loads[favourite if loyal else other]
                    load = choices[(variant if loyal else odd) % len(choices)]
                    stock.put(site, name, (x, y, z), load, yaw=turn)
