"""Interface of rsl_rl to episodes in a fleet."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gymnasium.vector import AutoresetMode
from rsl_rl.env import VecEnv
from tensordict import TensorDict

from pegasus.learn.environment import FleetEnv
from pegasus.learn.task import Task


class RslEnv(VecEnv):
    """Episodes of a task side by side, as rsl_rl's vector environment; observations are the group `policy`.

    Args:
        task: The task.
        num_envs: Number of rows N.
        dtype: Numbers of the physics, `float32` or `float64`.
        seed: Seed of all rows.
        device: Device of the learner, to which observations and rewards go.
    """

    def __init__(
        self, task: Task, num_envs: int, *, dtype: str = "float32", seed: int = 0, device: str = "cpu"
    ) -> None:
        self.rows = FleetEnv(task, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, dtype=dtype, seed=seed)
        self.num_envs, self.num_actions = num_envs, self.rows.flights.actions
        self.max_episode_length = round(task.duration / task.interval)
        self.device, self.cfg = device, {"task": type(task).__name__, "seed": seed}
        self._observation, _ = self.rows.reset(seed=seed)

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Number of actions since the beginning of each episode, shape (N,); times follow if it is set."""
        steps = np.round(self.rows.flights.episodes.time / self.rows.task.interval)
        return torch.from_numpy(steps.astype(np.int64)).to(self.device)

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:
        self.rows.flights.episodes.time[...] = steps.cpu().numpy() * self.rows.task.interval

    def get_observations(self) -> TensorDict:
        """Return what is observed, shape (N, K)."""
        return TensorDict({"policy": self._tensor(self._observation)}, batch_size=[self.num_envs])

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict[str, Any]]:
        """Fly to the next action; episodes that are over begin anew at once.

        Args:
            actions: Shape (N, A).
        """
        taken = actions.detach().cpu().numpy()
        self._observation, reward, terminated, truncated, _ = self.rows.step(taken)
        over = self._tensor(terminated | truncated).long()
        extras = {"time_outs": self._tensor(truncated)}
        return self.get_observations(), self._tensor(reward.astype(np.float32)), over, extras

    def _tensor(self, values: npt.NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(values).to(self.device)
