"""Tasks that policies learn: vehicle, beginning and end of episodes, observation and reward."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.fleet import Fleet, World
from pegasus.fleet.levels import LEVELS
from pegasus.learn.commands import hover_command
from pegasus.learn.episodes import Draws, Episodes
from pegasus.learn.learning import Learning
from pegasus.learn.terms import Term


@dataclass(kw_only=True, eq=False)
class Task:
    """Base of tasks: one overrides `begin`, `reward` and `failed`, and `aim` if its goal moves.

    All functions work on N rows at once, with NumPy.
    """

    vehicle: Any = "crazyflie"
    """Vehicle, as `Fleet` takes it."""
    environment: Any = None
    """Gravity, air and wind, as `Fleet` takes them."""
    vary: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that differ between rows, as `Fleet` takes them."""
    rate: float = 500.0
    """Steps of the physics per second [Hz]."""
    substeps: int = 5
    """Steps of the physics for each action."""
    duration: float = 5.0
    """Longest episode [s]."""
    level: str = "channels"
    """What actions command, as of `Fleet`: channels of the vehicle, or its controller by `rates`, ..."""
    effort: float = 0.6
    """Share by which actions of -1 and 1 change the commands of steady flight; see `rest_command`."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Commands for actions of -1 and 1 by name of the command, in place of those by `effort`."""

    learning: ClassVar[Learning] = Learning()
    """How it is learnt."""
    room: ClassVar[float] = 8.0
    """Distance between the origins of episodes that fly in one world, in the core [m]."""
    measured: ClassVar[tuple[str, str]] = ("error", "m")
    """Name and unit of what `measure` returns."""
    observation: ClassVar[Sequence[Term]] = (
        Term("position_error", -1.0),
        Term("position_integral"),
        Term("rotation"),
        Term("velocity", 0.5),
        Term("angular_velocity", 0.1),
        Term("rotor_speed", 1.67),
    )
    """Terms of the observation, side by side."""

    def __post_init__(self) -> None:
        whole = isinstance(self.substeps, int | np.integer) and self.substeps >= 1
        require(whole, "substeps", self.substeps, "must be a whole number from 1 up")
        require(0 < self.duration < math.inf, "duration", self.duration, "must be above 0 s and finite")
        require(self.level in LEVELS, "level", self.level, f"must be one of {', '.join(LEVELS)}")
        require(0 < self.effort <= 1, "effort", self.effort, "must be above 0 and at most 1")

    @property
    def group(self) -> int:
        """Number of neighbouring rows that begin and end together, such as those of a swarm."""
        return 1

    @property
    def interval(self) -> float:
        """Time between two actions [s]."""
        return self.substeps / self.rate

    def rest_command(self, fleet: Fleet) -> Array:
        """Return the commands of steady flight by channel, in their units, shape (U,): by default of hover.

        Args:
            fleet: The fleet.
        """
        return hover_command(fleet)

    def world(self, count: int) -> World | None:
        """Return what stands around N rows, as `Fleet` takes it: nothing by default.

        Args:
            count: Number of rows N.
        """
        return None

    def senses(self, fleet: Fleet) -> Mapping[str, Callable[[], Array]]:
        """Return functions of what rows measure, such as depth images, by name, shape (N, ...) each.

        Args:
            fleet: The fleet.
        """
        return {}

    def begin(self, draws: Draws) -> Mapping[str, npt.ArrayLike]:
        """Return the states at which episodes begin, by name as in `Fleet.reset`, K rows each.

        Args:
            draws: Random numbers of the K rows.
        """
        raise NotImplementedError

    def aim(self, episodes: Episodes, draws: Draws | None, rows: BoolArray) -> None:
        """Set the goal of rows: at the beginning of their episodes, and after each step.

        By default the place (0, 0, 0), at rest.

        Args:
            episodes: The episodes.
            draws: Random numbers of the rows that begin; None after a step.
            rows: The rows, shape (N,).
        """
        episodes.make_goal(position=(3,), velocity=(3,))

    def reward(self, episodes: Episodes) -> Array:
        """Return the rewards of the last step, shape (N,).

        Args:
            episodes: The episodes after it.
        """
        raise NotImplementedError

    def failed(self, episodes: Episodes) -> BoolArray:
        """Return which episodes end before their time because they failed, shape (N,).

        Args:
            episodes: The episodes after a step.
        """
        raise NotImplementedError

    def finished(self, episodes: Episodes) -> BoolArray:
        """Return which episodes end before their time because nothing is left to do, shape (N,): none.

        Args:
            episodes: The episodes after a step.
        """
        return np.zeros(len(episodes), dtype=bool)

    def measure(self, episodes: Episodes) -> Array:
        """Return a figure of each episode, shape (N,): by default the distance to the goal [m].

        Reports of trainings and evaluations have the median of the last ones; NaN for none.

        Args:
            episodes: The episodes after a step.
        """
        return episodes.distance

    def landmarks(self, episodes: Episodes) -> Sequence[Array]:
        """Return lines that pictures show from above, each of shape (K, 2) [m]: by default none.

        Args:
            episodes: The episodes.
        """
        return ()

    def succeeded(self, episodes: Episodes) -> BoolArray:
        """Return which rows are where the task wants them, shape (N,): asked in the last fifth of an episode.

        Args:
            episodes: The episodes after a step.
        """
        return ~self.failed(episodes)
