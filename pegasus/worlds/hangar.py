"""The world `hangar`: an arched hangar with parked aircraft and a workshop."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pegasus.base.components import require
from pegasus.scene.authoring import instance, sun_and_sky
from pegasus.scene.generator import Quantities
from pegasus.scene.scene import Color
from pegasus.worlds.hangar_floor import wear_floor
from pegasus.worlds.hangar_shell import APRON, RIB_DEPTH, Shell, build_shell
from pegasus.worlds.horizon import distant_land
from pegasus.worlds.lamps import hang_lamps
from pegasus.worlds.light_aircraft import HALF_SPAN, write_light_aircraft
from pegasus.worlds.site import ROOT, Site, SiteGenerator
from pegasus.worlds.workshop import write_barrel, write_ladder, write_tool_cart, write_workbench

_LANE = 2.4
"""Half width of the free central lane [m]."""
_STAND = 10.5
"""Length of an aircraft stand [m]."""
_FLIGHT = 5.2
_SCHEMES: tuple[tuple[Color, str], ...] = (
    ((0.35, 0.02, 0.02), "CS-PEG"),
    ((0.01, 0.06, 0.3), "CS-SUS"),
    ((0.02, 0.16, 0.08), "CS-MAV"),
)


@dataclass(frozen=True)
class Hangar(SiteGenerator):
    """Aircraft hangar with an arched roof, doors partly open, parked aircraft, benches and tools."""

    name: ClassVar[str] = "hangar"

    length: float = 30.0
    """Inside length along x [m]."""
    width: float = 36.0
    """Inside width, the span of the arch [m]."""
    height: float = 11.0
    """Inside height below the crown [m]."""
    door_opening: float = 0.6
    """Opening of the doors, 0 (closed) to 1."""
    aircraft_count: int = 2
    """Number of parked aircraft."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(20.0 <= self.length <= 200.0, "length", self.length, "must be from 20 to 200 m")
        require(32.0 <= self.width <= 120.0, "width", self.width, "must be from 32 to 120 m")
        require(
            10.0 <= self.height <= self.width, "height", self.height, f"must be from 10 to {self.width:g} m"
        )
        require(0.0 <= self.door_opening <= 1.0, "door_opening", self.door_opening, "must be from 0 to 1")
        require(
            0 <= self.aircraft_count <= 2 * self._row_count,
            "aircraft_count",
            self.aircraft_count,
            f"must be from 0 to {2 * self._row_count} in a length of {self.length:g} m",
            remedy="take fewer aircraft, or a longer hangar",
        )

    @property
    def _row_count(self) -> int:
        return int((self.length - 5.0) / _STAND)

    @property
    def _shell(self) -> Shell:
        return Shell(self.length, self.width, self.height, self.door_opening)

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        area = self.length * self.width
        return Quantities(int(40_000 + 15 * area + 4000 * self.aircraft_count), int(400 + 0.4 * area))

    def build(self, site: Site) -> None:
        """Write the world."""
        shell = self._shell
        sun_and_sky(site.stage, ROOT, elevation=33.0, azimuth=112.0)
        build_shell(site, shell)
        distant_land(site, self.length / 2 + APRON)
        site.camera((-13.5, -12.0, 4.2), (8.0, 5.0, 1.0), horizontal_fov=72.0)
        self._aircraft(site)
        self._workshop(site)
        self._lamps(site, shell)
        self._ways(site, shell)

    def _aircraft(self, site: Site) -> None:
        """Park aircraft on both sides of the lane, with small random offsets."""
        rng = site.stream("aircraft")
        rows = [rng.permutation(self._row_count).tolist() for _ in range(2)]
        first = int(rng.integers(2))
        stands = []
        for k in range(2 * self._row_count):
            side = (first + k) % 2
            x = self.length / 2 - 6.0 - _STAND * rows[side][k // 2]
            stands.append((x, (2 * side - 1) * (_LANE + HALF_SPAN + 0.6)))
        shift, turn = rng.uniform(-0.3, 0.3, (len(stands), 2)), rng.uniform(-4.0, 4.0, len(stands))
        schemes = rng.permutation(len(_SCHEMES)).tolist()
        paths: dict[int, str] = {}
        for k in range(self.aircraft_count):
            scheme = schemes[k % len(_SCHEMES)]
            if scheme not in paths:
                accent, letters = _SCHEMES[scheme]
                paths[scheme] = write_light_aircraft(
                    site, f"Aircraft{scheme}", accent=accent, registration=letters
                )
            x, y = stands[k]
            at = (x + shift[k, 0], y + shift[k, 1], 0.0)
            instance(site.stage, f"{ROOT}/Aircraft/Aircraft{k}", paths[scheme], at, yaw=float(turn[k]))
        parked = np.array(stands[: self.aircraft_count]).reshape(-1, 2) + shift[: self.aircraft_count]
        wear_floor(site, parked, self.length / 2 + 0.5 * APRON)

    def _workshop(self, site: Site) -> None:
        """Write benches, carts and barrels along the sides and the back."""
        stage, rng = site.stage, site.stream("workshop")
        bench, cart, ladder = write_workbench(site), write_tool_cart(site), write_ladder(site)
        colors: tuple[Color, ...] = ((0.01, 0.08, 0.3), (0.3, 0.02, 0.02), (0.05, 0.05, 0.05))
        barrels = [write_barrel(site, f"Barrel{k}", color) for k, color in enumerate(colors)]
        back = -self.length / 2 + 0.95
        # Positions along the back wall from south to north; side door and lane are free.
        spots = np.arange(-self.width / 2 + 3.0, self.width / 2 - 2.9, 2.6)
        for k, y in enumerate(spots.tolist()):
            if abs(y) < _LANE + 1.0 or abs(y + 0.32 * self.width) < 2.0:
                continue
            use = str(rng.choice(["bench", "cart", "barrels", "none"], p=[0.5, 0.15, 0.25, 0.1]))
            place = f"{ROOT}/Workshop/Back{k}"
            if use == "bench":
                instance(stage, place, bench, (back, y, 0.0), yaw=90.0)
            elif use == "cart":
                instance(stage, place, cart, (back, y, 0.0), yaw=90.0 + float(rng.uniform(-20, 20)))
            elif use == "barrels":
                for j in range(int(rng.integers(1, 4))):
                    at = (back - 0.3 + 0.66 * (j // 2), y - 0.4 + 0.66 * (j % 2), 0.0)
                    kind = barrels[int(rng.integers(len(barrels)))]
                    instance(stage, f"{place}_{j}", kind, at, yaw=float(rng.uniform(0.0, 360.0)))
        side = self.width / 2 - RIB_DEPTH - 0.7
        for k, x in enumerate(np.arange(-self.length / 2 + 4.0, self.length / 2 - 3.0, 3.4).tolist()):
            for name, sign in (("South", -1.0), ("North", 1.0)):
                use = str(
                    rng.choice(["bench", "cart", "ladder", "barrel", "none"], p=[0.3, 0.15, 0.1, 0.2, 0.25])
                )
                place, turn = f"{ROOT}/Workshop/{name}{k}", 0.0 if sign > 0 else 180.0
                if use == "bench":
                    instance(stage, place, bench, (x, sign * side, 0.0), yaw=turn)
                elif use == "cart":
                    instance(
                        stage, place, cart, (x, sign * side, 0.0), yaw=turn + float(rng.uniform(-15, 15))
                    )
                elif use == "ladder":
                    instance(
                        stage, place, ladder, (x, sign * (side - 0.1), 0.0), yaw=float(rng.uniform(-10, 10))
                    )
                elif use == "barrel":
                    kind = barrels[int(rng.integers(len(barrels)))]
                    instance(stage, place, kind, (x, sign * side, 0.0), yaw=float(rng.uniform(0.0, 360.0)))

    def _lamps(self, site: Site, shell: Shell) -> None:
        """Hang three lines of lamps below the ribs."""
        along = np.linspace(-self.length / 2 + 3.0, self.length / 2 - 3.0, max(round(self.length / 5.0), 2))
        across = (-0.24 * self.width, 0.0, 0.24 * self.width)
        z = min(shell.clear_height(y) for y in across) - 0.4
        places = [(x, y, round(z, 3)) for y in across for x in along.tolist()]
        hang_lamps(site, places, ceiling=z + 0.7, intensity=45_000.0)

    def _ways(self, site: Site, shell: Shell) -> None:
        """Add spawn points, and a path from the apron around the hangar."""
        front = self.length / 2
        inside = np.linspace(-front + 3.5, front - 2.5, 5)
        for x in inside.tolist():
            site.spawn(x, 0.0)
        for x, y in ((0.3, 0.0), (0.3, 6.0), (0.3, -6.0), (0.6, 0.0)):
            site.spawn(front + APRON * x, y, heading=3.142)
        back, side = -front + 3.6, _LANE + HALF_SPAN
        height = min(_FLIGHT, shell.clear_height(side + 1.0) - 2.4)
        loop = [
            (back, 0.0, 2.2),
            (back, 0.0, height),
            (back, -side, height),
            (front - 3.0, -side, height),
            (front - 3.0, side, height),
            (back, side, height),
            (back, 0.0, height),
        ]
        if shell.gap > 3.4:
            out = front + APRON - 6.0
            yard = [(out, -12.0, 6.0), (front + 6.0, -12.0, 3.0), (front + 6.0, 0.0, 2.2)]
            loop = [(front + 6.0, 0.0, 2.2), *loop, (back, 0.0, 2.2), (out, 0.0, 2.2), *yard]
        site.paths["tour"] = [(round(x, 3), round(y, 3), round(z, 3)) for x, y, z in loop]
