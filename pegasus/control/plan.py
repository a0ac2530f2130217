"""What is left of a flight, to be looked at while it goes on."""

from dataclasses import dataclass

import numpy as np

from pegasus.arrays import Array
from pegasus.control.trajectories import Trajectory


@dataclass(frozen=True, eq=False)
class Plan:
    """What N vehicles are about to fly; it stays as it is while they fly on."""

    trajectory: Trajectory
    """What is flown, seen from each vehicle's own origin."""
    clock: float
    """How far it has been flown by now [s]."""
    origin: Array
    """Origin of each vehicle's flight in the world [m], shape (N, 3)."""

    def path(self, copy: int = 0, *, horizon: float = 30.0, interval: float = 0.2) -> Array:
        """Return the points that a vehicle is about to pass, from now on [m], shape (K, 3).

        Args:
            copy: Which of the vehicles.
            horizon: How far ahead the last point is at most [s].
            interval: Time from one point to the next [s].
        """
        end = min(self.trajectory.duration, self.clock + horizon)
        count = max(2, 1 + int((end - self.clock) / interval))
        times = np.linspace(self.clock, max(end, self.clock), count).tolist()
        path: Array = self.origin[copy] + np.array([self.trajectory.sample(t).position for t in times])
        return path
