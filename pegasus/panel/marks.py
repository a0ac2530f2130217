"""Lines that are drawn into the view beside world and vehicles, for whatever draws them."""

import numpy as np
import numpy.typing as npt

from pegasus.frames import matrix_from_quaternion
from pegasus.panel.snapshot import Snapshot, VehicleSnapshot
from pegasus.panel.trails import Trails

Lines = npt.NDArray[np.float32]
"""Lines from point to point [m], shape (L, 2, 3)."""
Color = tuple[int, int, int]

TRAIL_PERIOD = 6
"""Trails go out with every sixth picture."""
TRAIL_COLOR: Color = (255, 140, 30)
REFERENCE_COLOR: Color = (40, 200, 255)
PLAN_COLOR: Color = (255, 255, 120)
CONTACT_COLOR: Color = (255, 30, 30)
AXES_LENGTH = 0.4
"""Length of the axes of the body frames [m]."""
NO_LINES: Lines = np.zeros((0, 2, 3), np.float32)


class FlownPaths:
    """Where the vehicles of a simulation have been, and what their pilots followed."""

    def __init__(self) -> None:
        self.trails, self.references = Trails(), Trails()
        self._generation = -1

    def extend(self, snapshot: Snapshot) -> None:
        """Add where everything is now; another world begins anew.

        Args:
            snapshot: The simulation.
        """
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
    """Return what a vehicle is about to fly; none where that is not known.

    Args:
        followed: The vehicle and the copy of it.
    """
    plan = None if followed is None else followed[0].plan
    if plan is None or followed is None:
        return NO_LINES
    path = plan.path(followed[1]).astype(np.float32)
    return np.stack([path[:-1], path[1:]], axis=1)


def axes_lines(snapshot: Snapshot) -> tuple[Lines, Lines, Lines]:
    """Return the x, y and z axes of all body frames.

    Args:
        snapshot: The simulation.
    """
    if not snapshot.vehicles:
        return NO_LINES, NO_LINES, NO_LINES
    position = np.concatenate([vehicle.position for vehicle in snapshot.vehicles])
    rotation = matrix_from_quaternion(np.concatenate([v.orientation for v in snapshot.vehicles]))
    tips = position[:, :, None] + AXES_LENGTH * rotation
    x, y, z = (np.stack([position, tips[:, :, k]], axis=1).astype(np.float32) for k in range(3))
    return x, y, z
