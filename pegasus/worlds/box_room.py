"""The world `box_room`: a plain closed room."""

from dataclasses import dataclass
from typing import ClassVar

from pegasus.base.components import require
from pegasus.scene.generator import Quantities
from pegasus.worlds.room import build_room
from pegasus.worlds.site import Site, SiteGenerator

_CLEAR = 1.5


@dataclass(frozen=True)
class BoxRoom(SiteGenerator):
    """Plain closed room with walls of one colour, lamps and a landing mark."""

    name: ClassVar[str] = "box_room"

    length: float = 12.0
    """Inside length along x [m]."""
    width: float = 10.0
    """Inside width along y [m]."""
    height: float = 4.0
    """Inside height [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for field in ("length", "width"):
            require(
                5.0 <= getattr(self, field) <= 300.0, field, getattr(self, field), "must be from 5 to 300 m"
            )
        require(3.2 <= self.height <= 50.0, "height", self.height, "must be from 3.2 to 50 m")

    def quantities(self) -> Quantities:
        """Return the approximate size of the world."""
        return Quantities(int(1000 + self.length * self.width), int(50 + self.length * self.width))

    def build(self, site: Site) -> None:
        """Write the world."""
        build_room(site, self.length, self.width, self.height)
        site.camera((-0.45 * self.length, -0.45 * self.width, 0.65 * self.height), (2.0, 1.0, 0.6))
        self._ways(site)

    def _ways(self, site: Site) -> None:
        """Add spawn points, and a tour that rises and falls."""
        far, side = self.length / 2 - 1.0, self.width / 2 - 1.0
        places = [
            (0.0, 0.0, 0.0),
            (far, 0.0, 3.142),
            (-far, 0.0, 0.0),
            (0.0, side, -1.571),
            (0.0, -side, 1.571),
        ]
        places += [(far, side, -2.356), (-far, -side, 0.785), (far, -side, 2.356), (-far, side, -0.785)]
        for x, y, heading in places:
            site.spawn(x, y, heading=heading)
        x, y = self.length / 2 - _CLEAR - 0.05, self.width / 2 - _CLEAR - 0.05
        low, high = 1.55, max(self.height - 1.7, 1.55)
        corners = [(x, y, low), (-x, y, high), (-x, -y, low), (x, -y, high), (x, y, low)]
        site.paths["tour"] = [(round(a, 3), round(b, 3), round(c, 3)) for a, b, c in corners]
