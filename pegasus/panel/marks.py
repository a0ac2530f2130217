"""Overlay lines of the 3D view: trails, references, planned paths and axes."""

import math
from collections import deque

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.frames import matrix_from_quaternion
from pegasus.session.snapshot import Snapshot, VehicleSnapshot

_INTERVAL = 0.1
"""Simulated time between two points of a trail [s]."""
_LONGEST = 300
_MOST_POINTS = 30_000
_JUMP = 5.0
"""Displacement between two samples from which on a move counts as teleport [m]."""

Lines = npt.NDArray[np.float32]
"""Lines from point to point [m], shape (L, 2, 3)."""
Color = tuple[int, int, int]

TRAIL_PERIOD = 6
"""Frames between two updates of the trails."""
TRAIL_COLOR: Color = (255, 140, 30)
REFERENCE_COLOR: Color = (40, 200, 255)
PLAN_COLOR: Color = (255, 255, 120)
CONTACT_COLOR: Color = (255, 30, 30)
AXES_LENGTH = 0.4
"""Length of the axes of the body frames [m]."""
NO_LINES: Lines = np.zeros((0, 2, 3), np.float32)


class Trails:
    """The trails of M points, of bounded length."""

    def __init__(self) -> None:
        self._samples: deque[Array] = deque()
        self._time = -math.inf

    def extend(self, time: float, points: Array) -> bool:
        """Add the current positions; return whether the trails have changed.

        The trails restart if time has gone back or the number of points has changed.

        Args:
            time: Simulation time [s].
            points: Positions [m], shape (M, 3).
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
        """Delete all trails."""
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


class FlownPaths:
    """Trails of the vehicles of a simulation and of their references."""

    def __init__(self) -> None:
        self.trails, self.references = Trails(), Trails()
        self._generation = -1

    def extend(self, snapshot: Snapshot) -> None:
        """Add the current positions; another world restarts the trails."""
        if snapshot.generation != self._generation:
            self._generation = snapshot.generation
            self.trails.clear()
            self.references.clear()
        places = [vehicle.position for vehicle in snapshot.vehicles]
        self.trails.extend(snapshot.time, np.concatenate(places) if places else np.zeros((0, 3)))
        wanted = [
            np.where(np.isfinite(reference), reference, vehicle.position)
            for vehicle in snapshot.vehicles
            if (reference := vehicle.reference_position) is not None
        ]
        self.references.extend(snapshot.time, np.concatenate(wanted) if wanted else np.zeros((0, 3)))


def plan_lines(followed: tuple[VehicleSnapshot, int] | None) -> Lines:
    """Return the planned path of a vehicle; no lines if it is unknown.

    Args:
        followed: The vehicle and the index of its copy.
    """
    plan = None if followed is None else followed[0].plan
    if plan is None or followed is None:
        return NO_LINES
    path = plan.path(followed[1]).astype(np.float32)
    return np.stack([path[:-1], path[1:]], axis=1)


def axes_lines(snapshot: Snapshot) -> tuple[Lines, Lines, Lines]:
    """Return the x, y and z axes of all body frames."""
    if not snapshot.vehicles:
        return NO_LINES, NO_LINES, NO_LINES
    position = np.concatenate([vehicle.position for vehicle in snapshot.vehicles])
    rotation = matrix_from_quaternion(np.concatenate([v.orientation for v in snapshot.vehicles]))
    tips = position[:, :, None] + AXES_LENGTH * rotation
    x, y, z = (np.stack([position, tips[:, :, k]], axis=1).astype(np.float32) for k in range(3))
    return x, y, z
