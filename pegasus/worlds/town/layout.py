"""Plan of a town: items and positions before drawing."""

from dataclasses import dataclass, field

import numpy as np

from pegasus.base.arrays import Array

SIDEWALK = 3.0
KERB_HEIGHT = 0.12
CORNER_RADIUS = 3.0
PARKING_LANE = 2.0
DEPTH = 10.0
"""Depth of houses that stand in a row [m]."""
JOINT = 0.02
"""Gap between houses of a row [m]."""
CROSSING = (3.4, 6.4)
"""Start and end of a crossing, from the end of a street [m]."""
STOP_LINE = 7.2
BAYS_FROM = 9.0
BAY = 5.6


@dataclass(frozen=True)
class Spot:
    """Position with a direction."""

    x: float
    y: float
    yaw: float = 0.0
    """Counter-clockwise from east [deg]."""

    def ahead(self, x: float, y: float, yaw: float = 0.0) -> "Spot":
        """Return a place given in the axes of this one."""
        c, s = np.cos(np.radians(self.yaw)), np.sin(np.radians(self.yaw))
        return Spot(float(self.x + c * x - s * y), float(self.y + s * x + c * y), self.yaw + yaw)


@dataclass(frozen=True)
class Plan:
    """Parameters of a house; its front faces -y."""

    width: float
    depth: float
    storeys: int
    style: str
    """`plaster`, `brick`, `modern`, `office` or `house`."""
    corner: int = 0
    """-1 if its left side is at a street, +1 if its right side is, seen from behind the front."""
    variant: int = 0


@dataclass(frozen=True)
class Lot:
    """A house and the centre of its front."""

    plan: Plan
    spot: Spot

    def outline(self) -> Array:
        """Return the corners of its footprint [m], shape (4, 2)."""
        half = self.plan.width / 2
        corners = [(-half, 0.0), (half, 0.0), (half, self.plan.depth), (-half, self.plan.depth)]
        return np.array([(spot.x, spot.y) for spot in (self.spot.ahead(*corner) for corner in corners)])


@dataclass(frozen=True)
class Item:
    """An item: kind, variant and pose."""

    kind: str
    spot: Spot
    variant: int = 0
    scale: float = 1.0
    ground: float = KERB_HEIGHT
    """Height of the ground [m]."""
    stretch: float = 1.0
    """Factor on its length along x."""


@dataclass(frozen=True)
class Block:
    """Ground between streets."""

    x: float
    y: float
    kind: str
    """`rows`, `villas`, `park` or `square`."""


@dataclass(frozen=True)
class Layout:
    """A town."""

    size: float
    """Size from outer kerb to outer kerb [m]."""
    count: int
    """Blocks along each side."""
    side: float
    """Side of a block, from kerb to kerb [m]."""
    street: float
    """Width of the streets, from kerb to kerb [m]."""
    blocks: list[Block] = field(default_factory=list)
    streets: list[Spot] = field(default_factory=list)
    """Centre lines of the streets."""
    lots: list[Lot] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)

    @property
    def lines(self) -> Array:
        """Positions of street centre lines along x and y [m], shape (count + 1,)."""
        pitch = self.side + self.street
        lines: Array = (np.arange(self.count + 1, dtype=np.float64) - self.count / 2) * pitch
        return lines

    @property
    def has_parking(self) -> bool:
        """Whether cars can park along the kerbs."""
        return self.street >= 2 * PARKING_LANE + 4.5


def divide(size: float, block_size: float, street: float) -> tuple[int, float]:
    """Return the number of blocks along a side, and the side of each block [m].

    Args:
        size: Side of the town [m].
        block_size: Least side of a block [m].
        street: Width of the streets [m].
    """
    count = max(1, int((size - street) / (block_size + street) + 1e-9))
    return count, (size - street * (count + 1)) / count


def bays(length: float) -> Array:
    """Return the centres of parking bays along one side of a street [m], from its centre.

    Args:
        length: Length of the street along a block [m].
    """
    count = int((length - 2 * BAYS_FROM) / BAY)
    middles: Array = (np.arange(count, dtype=np.float64) - (count - 1) / 2) * BAY
    return middles
