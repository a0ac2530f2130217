"""Flights of a task in a fleet: from actions to rewards and ends of episodes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.errors import ConfigError
from pegasus.control.airloads import hover_speed
from pegasus.fleet import Fleet
from pegasus.learn.episodes import Episodes, Keys
from pegasus.learn.task import Task
from pegasus.learn.terms import observed


@dataclass(frozen=True)
class Outcome:
    """What a step gave, N rows each."""

    reward: Array
    terminated: BoolArray
    """Failed."""
    truncated: BoolArray
    """At the end of its time, and not failed."""

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
        self.task = task
        self.fleet = Fleet(
            task.vehicle,
            count,
            rate=task.rate,
            dtype=dtype,
            environment=task.environment,
            vary=task.vary,
            seed=seed,
        )
        self.low, self.high = command_range(self.fleet, task.effort)
        rest = 0.5 * (self.low + self.high)
        rotors = self.fleet.state.rotor_speed.shape[1]
        self.episodes = Episodes(
            self.fleet.state, rest[:rotors], np.zeros((count, len(rest))), np.zeros(count)
        )
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
            rows: The rows, shape (N,).
        """
        if not rows.any():
            return
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
            raise ConfigError("must be finite", field=f"action, row {row}, {place}", value=given[row, place])
        np.clip(given, -1.0, 1.0, out=episodes.action)
        middle, half = 0.5 * (self.low + self.high), 0.5 * (self.high - self.low)
        self.fleet.step(middle + half * episodes.action, task.substeps)
        episodes.time += task.interval
        task.aim(episodes, None, self._every)
        episodes.integrate(task.interval, self._every)
        terminated = task.failed(episodes) | (self.fleet.state.fault != 0)
        truncated = (episodes.time > task.duration - 0.5 * task.interval) & ~terminated
        return Outcome(task.reward(episodes), terminated, truncated)

    def observe(self) -> Array:
        """Return what all rows observe, shape (N, K), float32."""
        return observed(self.task.observation, self.episodes)


def command_range(fleet: Fleet, effort: float) -> tuple[Array, Array]:
    """Return the commands that actions of -1 and 1 stand for, in the units of the channels, shape (U,) each.

    Rotors turn at the speed of hover, less and more a share of it; other channels have their whole range. An
    action of 0 is the middle of them, within the limits of the channel.

    Args:
        fleet: The fleet.
        effort: The share.
    """
    vehicle = fleet.vehicle
    environment, ground = fleet.environment, np.zeros((1, 3))
    weight = vehicle.mass * float(np.linalg.norm(environment.gravity_vector(ground)))
    density = environment.air_density(ground)[:, None]
    rest = float(hover_speed(vehicle, weight, density)[0, 0])
    low, high = [], []
    for channel in fleet.channels:
        around = (
            (rest * (1.0 - effort), rest * (1.0 + effort))
            if channel.supplied
            else (channel.low, channel.high)
        )
        low.append(max(channel.low, around[0]))
        high.append(min(channel.high, around[1]))
    return np.array(low), np.array(high)


def evaluate(
    policy: Callable[[Array], Array], task: Task, *, count: int = 1000, seed: int = 1
) -> tuple[float, float]:
    """Fly episodes by a policy; return the share that succeeded, and the median last distance [m].

    An episode succeeded if it did not fail, and was where the task wants it for all of its last fifth.

    Args:
        policy: Function of observations that returns actions.
        task: The task.
        count: Number of episodes.
        seed: Seed of their beginnings.
    """
    flights = Flights(task, count, seed=seed)
    flights.begin(np.ones(count, dtype=bool))
    good, steps = np.ones(count, dtype=bool), round(task.duration / task.interval)
    distance = flights.episodes.distance
    for k in range(steps):
        outcome = flights.step(policy(flights.observe()))
        good &= ~outcome.terminated
        if k >= 0.8 * steps:
            good &= task.succeeded(flights.episodes)
            distance = flights.episodes.distance
    return float(good.mean()), float(np.median(distance))
