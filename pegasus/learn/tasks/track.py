"""Task of following a trajectory."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.control import trajectories
from pegasus.learn.episodes import Draws, Episodes, length
from pegasus.learn.task import Task
from pegasus.learn.terms import Term


@dataclass(kw_only=True, eq=False)
class TrackTrajectory(Task):
    """Follow a trajectory, from a place near any of its points."""

    trajectory: Any = field(
        default_factory=lambda: trajectories.lemniscate(radius=1.5, height=0.0, speed=1.5)
    )
    """A `Trajectory`, or parts of one as in scenario files."""
    duration: float = 10.0
    distance: float = 0.2
    """Largest distance along each axis from it at the start [m]."""
    reach: float = 1.5
    """Distance at which an episode has failed [m]."""
    precision: float = 0.15
    """Distance within which it has succeeded [m]."""

    observation: ClassVar = (*Task.observation, Term("velocity_error", 0.5), Term("preview", 0.5))
    ahead: ClassVar = (0.1, 0.2, 0.4, 0.6)
    """Times ahead of the points that are seen [s]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        given = self.trajectory
        if not isinstance(given, trajectories.Trajectory):
            self.trajectory = trajectories.trajectory_from_spec(given)
        duration = self.trajectory.duration
        require(duration < math.inf, "trajectory.duration", duration, "must be finite", "use the task hover")
        last = max(1, math.ceil(self.trajectory.duration / self.interval))
        points, _ = self.trajectory.samples(np.arange(last + 1) * self.interval)
        self._places: Array = points[:, :3]
        self._velocities: Array = points[:, 3:6]
        self._steps = np.array([round(time / self.interval) for time in self.ahead])

    def begin(self, draws: Draws) -> Mapping[str, npt.ArrayLike]:
        """Return states near points of the trajectory, at its speed there."""
        self._first = (draws.uniform(0.0, 1.0, 1)[:, 0] * len(self._places)).astype(int)
        return {
            "position": self._places[self._first] + draws.uniform(-self.distance, self.distance, 3),
            "orientation": draws.tilted(0.3),
            "velocity": self._velocities[self._first],
        }

    def aim(self, episodes: Episodes, draws: Draws | None, rows: BoolArray) -> None:
        """Move along the trajectory; at its end it begins anew."""
        episodes.make_goal(position=(3,), velocity=(3,), preview=(len(self.ahead), 3), first=())
        goal = episodes.goal
        if draws is not None:
            goal["first"][rows] = self._first
        last = len(self._places)
        step = (goal["first"] + np.round(episodes.time / self.interval)).astype(int)
        goal["position"][rows] = self._places[step[rows] % last]
        goal["velocity"][rows] = self._velocities[step[rows] % last]
        goal["preview"][rows] = self._places[(step[rows, None] + self._steps) % last]

    def reward(self, episodes: Episodes) -> Array:
        """Return more for a vehicle that is near and calm."""
        lag = length(episodes.goal["velocity"] - episodes.motion.velocity)
        missed = (
            np.minimum(episodes.distance, 1.0)
            + 0.1 * np.minimum(lag, 5.0)
            + 0.03 * np.minimum(episodes.turn_rate, 20.0)
            + 0.05 * (episodes.action**2).mean(axis=1)
        )
        reward: Array = 0.05 + 0.1 * (1.0 - missed)
        return reward

    def failed(self, episodes: Episodes) -> BoolArray:
        """Return which are too far away."""
        failed: BoolArray = episodes.distance > self.reach
        return failed

    def succeeded(self, episodes: Episodes) -> BoolArray:
        """Return which are near the trajectory."""
        near: BoolArray = episodes.distance < self.precision
        return near
