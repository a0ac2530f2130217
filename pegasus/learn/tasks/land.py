"""Task of landing on a pad that moves."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.elementary_arrays import cos, sin
from pegasus.learn.episodes import Draws, Episodes, length
from pegasus.learn.learning import Learning
from pegasus.learn.task import Task
from pegasus.learn.terms import Term


@dataclass(kw_only=True, eq=False)
class LandOnPad(Task):
    """Touch a moving pad gently and upright, at its velocity.

    The pad drifts steadily and heaves. An episode ends when the vehicle comes down to it: as landed if it
    touches the pad within all limits, else as failed. The pad itself exerts no forces.
    """

    level: str = "rates"
    ranges: Mapping[str, tuple[float, float]] = field(
        default_factory=lambda: {"rate_x": (-4.0, 4.0), "rate_y": (-4.0, 4.0), "rate_z": (-1.0, 1.0)}
    )
    substeps: int = 10
    duration: float = 6.0
    drift: float = 1.5
    """Largest speed of the pad along each horizontal axis [m/s]."""
    heave: float = 0.1
    """Largest amplitude of its vertical motion [m]."""
    period: tuple[float, float] = (2.0, 4.0)
    """Least and largest period of that [s]."""
    radius: float = 0.25
    """Radius of the pad [m]."""
    height: float = 0.02
    """Height of the vehicle's origin above the pad when its feet touch it [m]."""
    distance: float = 1.0
    """Largest distance from above the pad along each horizontal axis at the start [m]."""
    above: tuple[float, float] = (0.5, 1.5)
    """Least and largest height above the pad at the start [m]."""
    touch_speed: float = 0.5
    """Largest speed by the pad's at which it lands [m/s]."""
    touch_tilt: float = 0.25
    """Largest tilt at which it lands [rad]."""
    touch_turn_rate: float = 4.0
    """Largest angular velocity at which it lands [rad/s]."""
    reach: float = 4.0
    """Distance from the pad at which an episode has failed [m]."""

    learning: ClassVar = Learning(discount=0.99, last_rate=2e-4, steps=2_000_000, success=0.97)
    room: ClassVar = 40.0
    observation: ClassVar = (*Task.observation, Term("velocity_error", 0.5))

    def begin(self, draws: Draws) -> Mapping[str, npt.ArrayLike]:
        """Return states above the pad, at up to twice its speeds."""
        wide, (low, high) = self.distance, self.above
        velocity = np.zeros((len(draws), 3))
        velocity[:, :2] = draws.uniform(-self.drift, self.drift, 2)
        return {
            "position": draws.uniform((-wide, -wide, low), (wide, wide, high), 3),
            "velocity": velocity,
            "orientation": draws.tilted(0.3),
        }

    def aim(self, episodes: Episodes, draws: Draws | None, rows: BoolArray) -> None:
        """Move the pad."""
        numbers = dict.fromkeys(("heave", "rate", "phase", "missing", "progress"), ())
        episodes.make_goal(position=(3,), velocity=(3,), drift=(2,), **numbers)
        goal = episodes.goal
        if draws is not None:
            short, long = self.period
            goal["drift"][rows] = draws.uniform(-self.drift, self.drift, 2)
            goal["heave"][rows] = draws.uniform(0.0, self.heave, 1)[:, 0]
            goal["rate"][rows] = 2.0 * math.pi / draws.uniform(short, long, 1)[:, 0]
            goal["phase"][rows] = draws.uniform(-math.pi, math.pi, 1)[:, 0]
        time, heave = episodes.time, goal["heave"]
        phase = goal["phase"] + goal["rate"] * time
        goal["position"][:, :2] = goal["drift"] * time[:, None]
        goal["position"][:, 2] = heave * sin(phase) + self.height
        goal["velocity"][:, :2] = goal["drift"]
        goal["velocity"][:, 2] = heave * goal["rate"] * cos(phase)
        distance = episodes.distance
        # The nearer, the slower.
        haste = np.maximum(self._slip(episodes) - 0.5 * self.touch_speed - 1.5 * distance, 0.0)
        missing = distance + haste + 0.5 * (1.0 - episodes.uprightness)
        goal["progress"][...] = goal["missing"] - missing
        goal["missing"][...] = missing

    def _slip(self, episodes: Episodes) -> Array:
        """Return the speeds by that of the pad [m/s], shape (N,)."""
        return length(episodes.goal["velocity"] - episodes.motion.velocity)

    def _down(self, episodes: Episodes) -> BoolArray:
        """Return which have come down to the height of the pad, shape (N,)."""
        down: BoolArray = episodes.position_error[:, 2] >= 0.0
        return down

    def reward(self, episodes: Episodes) -> Array:
        """Return the approach to the pad and its velocity, more for landing, less for failing by much."""
        gain = episodes.goal["progress"] - 0.002 * np.minimum(episodes.turn_rate, 20.0) - 0.01
        loss = 1.0 + np.minimum(self._excess(episodes), 4.0)
        reward: Array = gain + 5.0 * self.finished(episodes) - loss * self.failed(episodes)
        return reward

    def _excess(self, episodes: Episodes) -> Array:
        """Return by how much the limits of a landing are exceeded, by these, shape (N,)."""
        error = episodes.position_error
        shares = (
            np.sqrt(error[:, 0] * error[:, 0] + error[:, 1] * error[:, 1]) / self.radius,
            self._slip(episodes) / self.touch_speed,
            episodes.turn_rate / self.touch_turn_rate,
            (1.0 - episodes.uprightness) / (1.0 - math.cos(self.touch_tilt)),
        )
        excess: Array = np.zeros(len(episodes))
        for share in shares:
            excess += np.clip(share - 1.0, 0.0, 2.0)
        return excess

    def failed(self, episodes: Episodes) -> BoolArray:
        """Return which came down beside the pad or not gently, or are far away."""
        missed = self._down(episodes) & ~self.finished(episodes)
        failed: BoolArray = missed | (episodes.distance > self.reach)
        return failed

    def finished(self, episodes: Episodes) -> BoolArray:
        """Return which have landed."""
        landed: BoolArray = self._down(episodes) & (self._excess(episodes) == 0.0)
        return landed

    def succeeded(self, episodes: Episodes) -> BoolArray:
        """Return which have landed."""
        return self.finished(episodes)
