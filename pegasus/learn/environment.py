"""Gymnasium's vector environment of a task, and the environment of one row."""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.errors import ConfigError
from pegasus.learn.flights import Flights
from pegasus.learn.task import Task


class FleetEnv(VectorEnv):
    """N episodes of a task side by side, as Gymnasium's vector environment.

    Actions are from -1 to 1, observations without bounds, both float32. A step with actions that are not
    finite raises a ConfigError; a row whose motion is beyond all bounds ends as failed.

    Args:
        task: The task.
        num_envs: Number of rows N.
        autoreset_mode: When episodes that are over begin anew: `NEXT_STEP`, in the next step, whose action
            they do not take; `SAME_STEP`, at once, with the last observation in `final_obs` of the
            information; `DISABLED`, by `reset(options={"reset_mask": mask})`.
        dtype: Numbers of the physics, `float32` or `float64`.
        seed: Seed of parameters that vary, and of episodes until `reset` has one.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        dtype: str = "float32",
        seed: int = 0,
        render_mode: None = None,
    ) -> None:
        try:
            self._mode = AutoresetMode[autoreset_mode] if isinstance(autoreset_mode, str) else autoreset_mode
        except KeyError:
            known = ", ".join(mode.name for mode in AutoresetMode)
            raise ConfigError(
                f"must be one of {known}", field="autoreset_mode", value=autoreset_mode
            ) from None
        self.task, self.num_envs = task, num_envs
        self.metadata = {**type(self).metadata, "autoreset_mode": self._mode}
        self.flights = flights = Flights(task, num_envs, dtype=dtype, seed=seed)
        every = np.ones(num_envs, dtype=bool)
        flights.begin(every)
        width = flights.observe().shape[1]
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (width,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (flights.actions,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over: BoolArray = every.copy()

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin episodes anew, and return what is observed, and nothing more.

        Args:
            seed: Seed of all rows, by which all their episodes are drawn; None to go on with the last one.
            options: `reset_mask`: the rows, shape (N,); all by default.
        """
        rows = self._mask(options)
        if seed is not None:
            if not isinstance(seed, int | np.integer):
                raise ConfigError("must be one number for all rows", field="seed", value=seed)
            self.flights.start(int(seed))
        self.flights.begin(rows)
        self._over = self._over & ~rows
        return self.flights.observe(), {}

    def step(self, actions: Any) -> tuple[Array, Array, BoolArray, BoolArray, dict[str, Any]]:
        """Fly to the next action; see `autoreset_mode`.

        Args:
            actions: Shape (N, A).
        """
        flights, waited = self.flights, self._over
        if self._mode is AutoresetMode.DISABLED and waited.any():
            row = int(np.argmax(waited))
            remedy = 'call reset(options={"reset_mask": terminated | truncated}) first'
            raise ConfigError("is over", field="episode of row", value=row, remedy=remedy)
        outcome = flights.step(actions)
        reward, terminated, truncated = outcome.reward, outcome.terminated, outcome.truncated
        information: dict[str, Any] = {}
        if self._mode is AutoresetMode.NEXT_STEP and waited.any():
            flights.begin(waited)
            reward = np.where(waited, 0.0, reward)
            terminated, truncated = terminated & ~waited, truncated & ~waited
        self._over = over = terminated | truncated
        if self._mode is AutoresetMode.SAME_STEP and over.any():
            information = {"final_obs": flights.observe(), "_final_obs": over.copy()}
            flights.begin(over)
            self._over = np.zeros_like(over)
        return flights.observe(), reward, terminated, truncated, information

    def _mask(self, options: Mapping[str, Any] | None) -> BoolArray:
        if options is None or "reset_mask" not in options:
            return np.ones(self.num_envs, dtype=bool)
        mask = np.asarray(options["reset_mask"])
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            allowed = f"must be truth values of shape ({self.num_envs},)"
            raise ConfigError(allowed, field="options.reset_mask", value=mask.shape)
        return mask


class SingleEnv(gymnasium.Env):
    """One episode of a task, as Gymnasium's environment.

    Args:
        task: The task.
        dtype: Numbers of the physics, `float32` or `float64`.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(self, task: Task, *, dtype: str = "float32", render_mode: None = None) -> None:
        self._rows = FleetEnv(task, 1, autoreset_mode=AutoresetMode.DISABLED, dtype=dtype)
        self.task = task
        self.observation_space = self._rows.single_observation_space
        self.action_space = self._rows.single_action_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode, and return what is observed, and nothing more."""
        super().reset(seed=seed)
        observation, information = self._rows.reset(seed=seed)
        return observation[0], information

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Fly to the next action."""
        observation, reward, terminated, truncated, information = self._rows.step(np.asarray(action)[None])
        return observation[0], float(reward[0]), bool(terminated[0]), bool(truncated[0]), information
