"""The view of a world in which no camera stands."""

import math
from collections.abc import Sequence

import numpy as np

from pegasus.arrays import Array
from pegasus.scenario import SpawnPoint


def view_from_behind(spawn_points: Sequence[SpawnPoint]) -> tuple[Array, Array]:
    """Return a place behind and above the first spawn point, and one ahead of it to look at [m], shape (3,).

    Args:
        spawn_points: Free places of the world; the origin counts where there are none.
    """
    start, heading = np.array([0.0, 0.0, 0.1]), 0.0
    if spawn_points:
        start, heading = np.array(spawn_points[0].position), spawn_points[0].heading
    ahead = np.array([math.cos(heading), math.sin(heading), 0.0])
    return start - 6.0 * ahead + [0.0, 0.0, 3.5], start + 12.0 * ahead
