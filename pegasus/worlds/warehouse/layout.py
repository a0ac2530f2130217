"""Floor plan of a warehouse."""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

BAY_LENGTH = 2.8
"""Spacing of uprights along a row [m]."""
PLACES_PER_BAY = 3
RACK_DEPTH = 1.1
OVERHANG = 0.05
"""Overhang of pallets on either side of a rack [m]."""
LEVEL_HEIGHT = 1.8
BEAM_HEIGHT = 0.12
UPRIGHT_WIDTH = 0.09
FLUE = 0.3
"""Gap between two rows back to back [m]."""
STAGING_LENGTH = 11.0
"""Length of the staging area in front of the racks [m]."""
CROSS_AISLE = 4.0
"""Length behind the racks [m]."""
SIDE_MARGIN = 0.5
"""Gap between side walls and racks, with the columns [m]."""
NARROWEST_AISLE = 3.4
DOOR_WIDTH, DOOR_HEIGHT = 3.0, 3.2
DOOR_PITCH = 4.6

_TOUR_LANE = 2.2
_LOW = 2.2


class Row(NamedTuple):
    """A row of racks."""

    y: float
    """Centre of its depth [m]."""
    faces: float
    """Side of its aisle: 1 for north, -1 for south."""
    aisle: int
    """Index of its aisle."""


@dataclass(frozen=True)
class Layout:
    """Floor plan: racks run along x, lorries dock at the western wall."""

    length: float
    width: float
    height: float
    aisle_count: int
    level_count: int

    @property
    def aisle_width(self) -> float:
        """Clear width of an aisle between its racks [m]."""
        racks = 2 * self.aisle_count * RACK_DEPTH + (self.aisle_count - 1) * FLUE
        return (self.width - 2 * SIDE_MARGIN - racks) / self.aisle_count

    @property
    def bay_count(self) -> int:
        """Bays of each row."""
        return int((self.length - STAGING_LENGTH - CROSS_AISLE) / BAY_LENGTH)

    @property
    def front(self) -> float:
        """Start of the rows, x [m]."""
        return -self.length / 2 + STAGING_LENGTH

    @property
    def back(self) -> float:
        """End of the rows, x [m]."""
        return self.front + self.bay_count * BAY_LENGTH

    @property
    def aisles(self) -> list[float]:
        """Middle of each aisle, y [m], from south to north."""
        pitch = self.aisle_width + 2 * RACK_DEPTH + FLUE
        first = -self.width / 2 + SIDE_MARGIN + RACK_DEPTH + self.aisle_width / 2
        return [first + pitch * k for k in range(self.aisle_count)]

    @property
    def rows(self) -> list[Row]:
        """Rows of racks from south to north."""
        away = self.aisle_width / 2 + RACK_DEPTH / 2
        return [
            row for k, y in enumerate(self.aisles) for row in (Row(y - away, 1.0, k), Row(y + away, -1.0, k))
        ]

    @property
    def rack_height(self) -> float:
        """Height of the uprights [m]."""
        return LEVEL_HEIGHT * (self.level_count - 1) + 1.2

    @property
    def doors(self) -> list[float]:
        """Middle of each dock door, y [m], from south to north."""
        count = max(int((self.width - 3.0) / DOOR_PITCH), 1)
        return [DOOR_PITCH * (k - (count - 1) / 2) for k in range(count)]

    @property
    def frames(self) -> list[float]:
        """Positions of columns and trusses, x [m]."""
        count = max(round(self.length / 6.0), 1)
        inset = 0.35
        return [float(x) for x in np.linspace(-self.length / 2 + inset, self.length / 2 - inset, count + 1)]

    @property
    def lane(self) -> float:
        """Free lane along the racks' front, x [m]."""
        return self.front - _TOUR_LANE

    def tour(self) -> list[tuple[float, float, float]]:
        """Return a closed path through every aisle, low and high in turn."""
        high = max(LEVEL_HEIGHT * self.level_count - 1.4, _LOW)
        rear = (self.back + self.length / 2) / 2
        points: list[tuple[float, float, float]] = []
        for k, y in enumerate(self.aisles):
            start, end = (self.lane, rear) if k % 2 == 0 else (rear, self.lane)
            heights = (_LOW, high) if k % 4 < 2 else (high, _LOW)
            points += [(start, y, heights[k % 2]), (end, y, heights[(k + 1) % 2])]
        if self.aisle_count % 2 == 1:
            y = self.aisles[-1]
            points.append((self.lane, y, points[-1][2]))
        points += [(self.lane, self.aisles[0], points[-1][2]), points[0]]
        places = [(round(x, 3), round(y, 3), round(z, 3)) for x, y, z in points]
        return [places[0], *(b for a, b in pairwise(places) if a != b)]
