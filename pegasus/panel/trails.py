"""Lines that points leave behind as they move."""

import math
from collections import deque

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array

_INTERVAL = 0.1
"""Simulated time between two points of a trail [s]."""
_LONGEST = 300
_MOST_POINTS = 30_000
_JUMP = 5.0
"""A point that has moved this far from one sample to the next was put elsewhere [m]."""


class Trails:
    """The trails of M points, of bounded length."""

    def __init__(self) -> None:
        self._samples: deque[Array] = deque()
        self._time = -math.inf

    def extend(self, time: float, points: Array) -> bool:
        """Add where the points are now, and return whether the trails have changed.

        They begin anew when the clock has gone back or there are other points.

        Args:
            time: Simulation time [s].
            points: Shape (M, 3) [m].
        """
        if time < self._time or (self._samples and self._samples[-1].shape != points.shape):
            self.clear()
        if time - self._time < _INTERVAL - 1e-9:
            return False
        self._time = time
        self._samples.append(points.copy())
        longest = max(2, min(_LONGEST, _MOST_POINTS // max(1, len(points))))
        while len(self._samples) > longest:
            self._samples.popleft()
        return True

    def clear(self) -> None:
        """Forget all of them."""
        self._samples.clear()
        self._time = -math.inf

    def segments(self) -> npt.NDArray[np.float32]:
        """Return the trails as separate lines from point to point, shape (L, 2, 3) [m]."""
        if len(self._samples) < 2:
            return np.zeros((0, 2, 3), np.float32)
        points = np.asarray(self._samples)
        lines = np.stack([points[:-1], points[1:]], axis=2).reshape(-1, 2, 3)
        step = lines[:, 1] - lines[:, 0]
        moved = (step * step).sum(axis=1) < _JUMP**2
        kept: npt.NDArray[np.float32] = lines[moved].astype(np.float32)
        return kept
