"""Interface of Stable-Baselines3 to episodes in a fleet."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env.base_vec_env import VecEnv

from pegasus.base.arrays import Array, BoolArray
from pegasus.learn.environment import FleetEnv
from pegasus.learn.task import Task


class Sb3Env(VecEnv):
    """Episodes of a task side by side, as Stable-Baselines3's vector environment.

    Args:
        task: The task.
        num_envs: Number of rows N.
        dtype: Numbers of the physics, `float32` or `float64`.
        seed: Seed of all rows.
    """

    def __init__(self, task: Task, num_envs: int, *, dtype: str = "float32", seed: int = 0) -> None:
        self.rows = FleetEnv(task, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, dtype=dtype, seed=seed)
        super().__init__(num_envs, self.rows.single_observation_space, self.rows.single_action_space)
        self._seeded: int | None = seed
        self._returns, self._lengths = np.zeros(num_envs), np.zeros(num_envs, dtype=int)

    def reset(self) -> Array:
        """Begin all episodes anew, and return what is observed, shape (N, K)."""
        self._returns[...], self._lengths[...] = 0.0, 0
        observation, _ = self.rows.reset(seed=self._seeded)
        self._seeded = None
        return observation

    def step_async(self, actions: Array) -> None:
        """Take the actions of the coming `step_wait`."""
        self._actions = actions

    def step_wait(self) -> tuple[Array, Array, BoolArray, list[dict[str, Any]]]:
        """Fly to the next action; episodes that are over begin anew at once."""
        observation, reward, terminated, truncated, given = self.rows.step(self._actions)
        over = terminated | truncated
        self._returns += reward
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(over).tolist():
            infos[row] = {
                "terminal_observation": given["final_obs"][row],
                "TimeLimit.truncated": bool(truncated[row]),
                "episode": {"r": float(self._returns[row]), "l": int(self._lengths[row])},
            }
        self._returns[over], self._lengths[over] = 0.0, 0
        return observation, reward.astype(np.float32), over, infos

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Take the random numbers of a seed from the next `reset` on."""
        self._seeded = seed
        return [seed] * self.num_envs

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """Return an attribute of the environment for each row."""
        return [getattr(self.rows, attr_name)] * len(list(self._get_indices(indices)))

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Set an attribute of the environment, which all rows share."""
        setattr(self.rows, attr_name, value)

    def env_method(
        self, method_name: str, *arguments: Any, indices: int | Iterable[int] | None = None, **named: Any
    ) -> list[Any]:
        """Call a method of the environment, once for all rows."""
        result = getattr(self.rows, method_name)(*arguments, **named)
        return [result] * len(list(self._get_indices(indices)))

    def env_is_wrapped(self, wrapper_class: Any, indices: int | Iterable[int] | None = None) -> list[bool]:
        """Return that no row is wrapped."""
        return [False] * len(list(self._get_indices(indices)))
