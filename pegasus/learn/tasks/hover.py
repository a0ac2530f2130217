"""Tasks of hovering: from any tilt, and after a throw."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.learn.episodes import Draws, Episodes
from pegasus.learn.learning import Learning
from pegasus.learn.task import Task


@dataclass(kw_only=True, eq=False)
class Hover(Task):
    """Fly to a place and stay there, from a random start: tilted, turning, moving, beside it."""

    tilt: float = math.pi / 2
    """Largest tilt at the start [rad]."""
    distance: float = 0.5
    """Largest distance along each axis at the start [m]."""
    speed: float = 1.0
    """Largest speed along each axis at the start [m/s]."""
    turn_rate: float = 2.0
    """Largest angular velocity about each axis at the start [rad/s]."""
    reach: float = 2.5
    """Distance at which an episode has failed [m]."""
    fastest_turn: float = 60.0
    """Angular velocity at which an episode has failed [rad/s]."""
    precision: float = 0.15
    """Distance within which it has succeeded [m]."""

    far: ClassVar[float] = 1.5
    """Distance from which on being nearer is not rewarded [m]."""

    def begin(self, draws: Draws) -> Mapping[str, npt.ArrayLike]:
        """Return random states, with rotors near the speed of hover."""
        return {
            "position": draws.uniform(-self.distance, self.distance, 3),
            "orientation": draws.tilted(self.tilt),
            "velocity": draws.uniform(-self.speed, self.speed, 3),
            "angular_velocity": draws.uniform(-self.turn_rate, self.turn_rate, 3),
        }

    def reward(self, episodes: Episodes) -> Array:
        """Return more for a vehicle that is near, slow, upright and calm."""
        missed = (
            np.minimum(episodes.distance, self.far)
            + 0.1 * np.minimum(episodes.speed, 5.0)
            + 0.03 * np.minimum(episodes.turn_rate, 20.0)
            + 0.1 * (1.0 - episodes.uprightness)
            + 0.05 * (episodes.action**2).mean(axis=1)
        )
        reward: Array = 0.05 + 0.1 * (self.far - missed)
        return reward

    def failed(self, episodes: Episodes) -> BoolArray:
        """Return which are too far away or turn too fast."""
        failed: BoolArray = (episodes.distance > self.reach) | (episodes.turn_rate > self.fastest_turn)
        return failed

    def succeeded(self, episodes: Episodes) -> BoolArray:
        """Return which are at the place."""
        near: BoolArray = episodes.distance < self.precision
        return near


@dataclass(kw_only=True, eq=False)
class RecoverFromThrow(Hover):
    """Come to rest after a throw: in any attitude, with up to 4 m/s and 10 rad/s."""

    level: str = "rates"
    substeps: int = 10
    tilt: float = math.pi
    distance: float = 0.2
    speed: float = 4.0
    turn_rate: float = 10.0
    reach: float = 6.0
    precision: float = 0.3

    learning: ClassVar = Learning(success=0.95)
    far: ClassVar = 4.0
    room: ClassVar = 20.0
