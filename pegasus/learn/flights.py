"""Flights of a task in a fleet: from actions to rewards and ends of episodes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.fleet import Fleet
from pegasus.learn.commands import command_range, commands_of, hover_rotor_speed
from pegasus.learn.episodes import Episodes, Keys
from pegasus.learn.task import Task
from pegasus.learn.terms import observed
from pegasus.learn.verdict import Referee, Result, ends_of, whole_groups


@dataclass(frozen=True)
class Outcome:
    """What a step gave, N rows each."""

    reward: Array
    failed: BoolArray
    finished: BoolArray
    """Reached what the task wants before the end of their time, and not failed."""
    truncated: BoolArray
    """At the end of their time, and neither failed nor finished."""

    @property
    def terminated(self) -> BoolArray:
        """Rows that failed or finished."""
        return self.failed | self.finished

    @property
    def over(self) -> BoolArray:
        """Rows whose episodes are over."""
        return self.terminated | self.truncated


class Flights:
    """N episodes of a task that fly side by side.

    Args:
        task: The task.
        count: Number of rows N.
        dtype: Numbers of the physics, as of `Fleet`.
        seed: Seed of parameters that vary, until `start`.
    """

    def __init__(self, task: Task, count: int, *, dtype: str = "float32", seed: int = 0) -> None:
        require(count % task.group == 0, "count", count, f"must be a multiple of {task.group}, a group")
        self.task = task
        self.fleet = Fleet(
            task.vehicle,
            count,
            level=task.level,
            rate=task.rate,
            dtype=dtype,
            environment=task.environment,
            vary=task.vary,
            world=task.world(count),
            seed=seed,
        )
        rest = task.rest_command(self.fleet)
        self.low, self.high = command_range(self.fleet, rest, task.effort, task.ranges)
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        self.rest_action = np.clip((rest - middle) / np.where(half > 0.0, half, np.inf), -1.0, 1.0)
        """Actions of steady flight, shape (A,)."""
        rotors = self.fleet.state.rotor_speed.shape[1]
        speed = rest[:rotors] if task.level == "channels" else np.full(rotors, hover_rotor_speed(self.fleet))
        self.episodes = Episodes(self.fleet.state, speed, np.zeros((count, len(rest))), np.zeros(count))
        self.episodes.senses = task.senses(self.fleet)
        self._keys, self._every = Keys(seed, count), np.ones(count, dtype=bool)

    @property
    def actions(self) -> int:
        """Number of actions of a row."""
        return len(self.low)

    def start(self, seed: int) -> None:
        """Take the random numbers of a seed from the next episode on."""
        self._keys = Keys(seed, len(self.episodes))

    def begin(self, rows: BoolArray) -> None:
        """Begin new episodes.

        Args:
            rows: The rows, shape (N,), whole groups of the task.

        Raises:
            ConfigError: If they are not whole groups.
        """
        if not rows.any():
            return
        whole = np.array_equal(rows, whole_groups(rows, self.task.group))
        require(whole, "rows", np.flatnonzero(rows), f"must be whole groups of {self.task.group}")
        draws, episodes = self._keys.begin(rows), self.episodes
        start = {"rotor_speed": episodes.rest_speed, **self.task.begin(draws)}
        self.fleet.reset(rows, **start)
        episodes.begin(rows)
        self.task.aim(episodes, draws, rows)

    def step(self, action: npt.ArrayLike) -> Outcome:
        """Fly all rows to the next action.

        Args:
            action: Actions, clipped to -1 to 1, shape (N, A).

        Raises:
            ConfigError: If they are not finite or have another shape.
        """
        episodes, task = self.episodes, self.task
        given = np.asarray(action)
        if given.shape != episodes.action.shape:
            raise ConfigError(
                f"must have the shape {episodes.action.shape}", field="action", value=given.shape
            )
        if not np.isfinite(given).all():
            row, place = np.argwhere(~np.isfinite(given))[0].tolist()
            value = float(given[row, place])
            raise ConfigError("must be finite", field=f"action, row {row}, {place}", value=value)
        np.clip(given, -1.0, 1.0, out=episodes.action)
        self.fleet.step(commands_of(episodes.action, self.low, self.high), task.substeps)
        episodes.time += task.interval
        task.aim(episodes, None, self._every)
        episodes.integrate(task.interval, self._every)
        broken = self.broken
        failed, finished = ends_of(task, episodes, broken)
        truncated = (episodes.time > task.duration - 0.5 * task.interval) & ~failed & ~finished
        return Outcome(np.where(broken, 0.0, task.reward(episodes)), failed, finished, truncated)

    @property
    def broken(self) -> BoolArray:
        """Rows of groups with a motion beyond all bounds, shape (N,)."""
        return whole_groups(self.fleet.state.fault != 0, self.task.group)

    def observe(self) -> Array:
        """Return what all rows observe, shape (N, K), float32; zeros where a group is not finite."""
        seen = observed(self.task.observation, self.episodes)
        seen[self.broken] = 0.0
        return seen


def evaluate(policy: Callable[[Array], Array], task: Task, *, count: int = 1000, seed: int = 1) -> Result:
    """Fly episodes by a policy; return the share that succeeded, and the median of what the task measures.

    An episode succeeded if it finished, or if it did not fail and was where the task wants it for all of its
    last fifth.

    Args:
        policy: Function of observations that returns actions.
        task: The task.
        count: Number of episodes, rounded up to whole groups.
        seed: Seed of their beginnings.
    """
    count += -count % task.group
    flights, referee = Flights(task, count, seed=seed), Referee(task, count)
    flights.begin(np.ones(count, dtype=bool))
    for _ in range(referee.steps):
        flights.step(policy(flights.observe()))
        referee.see(flights.episodes, flights.broken)
        if not referee.going.any():
            break
    return referee.result
