"""Motion of moving parts of the world at the contacts of a step."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Carriers:
    """Motion of moving parts of the world at K contacts, which no free joint has."""

    part: IntArray
    """Moving part of each contact, -1 for the world at rest, -2 between two bodies, shape (K,)."""
    start: Array
    """Its velocity in the contact frame at the start, second geom less first [m/s], shape (K, 3)."""
    end: Array
    """That at the end of the step [m/s], shape (K, 3)."""
    twist: Callable[[IntArray, IntArray], Array]
    """Velocities of free joints that move with parts, given bodies (L,) and parts (L,), shape (L, 6)."""

    def frames(self, island: IntArray, group: IntArray) -> tuple[Array, BoolArray]:
        """Return the frames in which contacts do no work.

        A moving part does work in the frame of the world, and none in its own.

        Args:
            island: Island of each contact, from 1, shape (K,).
            group: Island of each body, 0 for none, shape (M,).

        Returns:
            Velocities of the free joints that move with the only part that their island touches, zero for
            others, shape (M, 6); and the islands that have no such frame, since a part drives them against
            another one or the world at rest, shape (I + 1,).
        """
        count = int(group.max(initial=0)) + 1
        lowest, highest = np.full(count, np.iinfo(np.int64).max), np.full(count, -2)
        world = self.part > -2
        np.minimum.at(lowest, island[world], self.part[world])
        np.maximum.at(highest, island[world], self.part[world])
        carried = np.zeros((len(group), 6))
        rows = np.flatnonzero(((highest >= 0) & (lowest == highest))[group])
        carried[rows] = self.twist(rows, highest[group[rows]])
        return carried, (highest >= 0) & (lowest < highest)
