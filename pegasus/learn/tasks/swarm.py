"""Task of a swarm whose vehicles change places."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.base.elementary_arrays import sine_and_cosine
from pegasus.learn.episodes import Draws, Episodes, length
from pegasus.learn.learning import Learning
from pegasus.learn.task import Task
from pegasus.learn.terms import Term


@dataclass(kw_only=True, eq=False)
class Swarm(Task):
    """Fly to the opposite side of a circle and stay there, at a distance from the others of the swarm.

    Rows 0 to size - 1 are the first swarm, and so on. The episode of a swarm ends as failed if two vehicles
    come too near to each other, or one is too far from its place.
    """

    level: str = "rates"
    ranges: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: {"rate_x": (-4.0, 4.0), "rate_y": (-4.0, 4.0), "rate_z": (-1.0, 1.0)}
    )
    substeps: int = 10
    duration: float = 8.0
    size: int = 4
    """Number of vehicles of a swarm."""
    circle: float = 1.5
    """Radius of the circle [m]."""
    shift: float = 0.3
    """Largest distance from its places along each axis, at the start and of the goals [m]."""
    spacing: float = 0.25
    """Distance between two vehicles at which a swarm has failed [m]."""
    reach: float = 5.0
    """Distance at which an episode has failed [m]."""
    precision: float = 0.2
    """Distance within which it has succeeded [m]."""

    learning: ClassVar = Learning(last_rate=2e-4, steps=2_500_000, starts=400, success=0.97)
    room: ClassVar = 20.0
    observation: ClassVar = (
        *Task.observation,
        Term("neighbours", 0.5),
        Term("neighbour_velocities", 0.5),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = isinstance(self.size, int | np.integer) and self.size >= 2
        require(whole, "size", self.size, "must be a whole number from 2 up")
        apart = 2.0 * self.circle * math.sin(math.pi / self.size) - 2.0 * math.sqrt(2.0) * self.shift
        require(
            apart > self.spacing,
            "circle",
            self.circle,
            f"places of {self.size} vehicles with shift = {self.shift:g} m are less than spacing apart",
            "enlarge it, or lower shift",
        )

    @property
    def group(self) -> int:
        """Number of vehicles of a swarm."""
        return self.size

    def _places(self, draws: Draws) -> Array:
        """Return places on the circle, by the numbers of the vehicles in their swarms, shape (K, 3)."""
        number = np.arange(len(draws)) % self.size
        sine, cosine = sine_and_cosine(2.0 * math.pi * number / self.size)
        places = self.circle * np.stack([cosine, sine, np.zeros_like(sine)], axis=1)
        return places + draws.uniform(-self.shift, self.shift, 3)

    def begin(self, draws: Draws) -> Mapping[str, npt.ArrayLike]:
        """Return states near the places, a little tilted."""
        return {"position": self._places(draws), "orientation": draws.tilted(0.3)}

    def aim(self, episodes: Episodes, draws: Draws | None, rows: BoolArray) -> None:
        """Find the other vehicles of each swarm."""
        goal, motion, others = episodes.goal, episodes.motion, (self.size - 1, 3)
        episodes.make_goal(position=(3,), velocity=(3,), neighbours=others, neighbour_velocities=others)
        if draws is not None:
            goal["position"][rows] = self._places(draws) * (-1.0, -1.0, 1.0)
        for name, own in (("neighbours", motion.position), ("neighbour_velocities", motion.velocity)):
            swarms = own.reshape(-1, self.size, 3)
            for k in range(1, self.size):
                goal[name][:, k - 1] = np.roll(swarms, -k, axis=1).reshape(-1, 3)

    def _nearest(self, episodes: Episodes) -> Array:
        """Return the distances to the nearest other vehicle of the swarm [m], shape (N,)."""
        ways = episodes.goal["neighbours"] - episodes.motion.position[:, None]
        nearest: Array = length(ways.reshape(-1, 3)).reshape(len(ways), -1).min(axis=1)
        return nearest

    def reward(self, episodes: Episodes) -> Array:
        """Return more for a vehicle that is near its goal, calm, and away from the others."""
        missed = (
            np.minimum(episodes.distance, 3.0)
            + 0.1 * np.minimum(episodes.speed, 5.0)
            + 0.03 * np.minimum(episodes.turn_rate, 20.0)
            + 0.05 * (episodes.action**2).mean(axis=1)
            + 2.0 * np.maximum(2.0 * self.spacing - self._nearest(episodes), 0.0)
        )
        reward: Array = 0.05 + 0.1 * (3.0 - missed)
        return reward

    def failed(self, episodes: Episodes) -> BoolArray:
        """Return which are too near to another vehicle, or too far away."""
        failed: BoolArray = (self._nearest(episodes) < self.spacing) | (episodes.distance > self.reach)
        return failed

    def succeeded(self, episodes: Episodes) -> BoolArray:
        """Return which are at their goals."""
        near: BoolArray = episodes.distance < self.precision
        return near
