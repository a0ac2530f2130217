"""PettingZoo's parallel environment of a task whose rows form groups."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pettingzoo import ParallelEnv

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.learn.environment import FleetEnv
from pegasus.learn.registration import task_of


class GroupEnv(ParallelEnv):
    """One group of a task, such as a swarm, as PettingZoo's parallel environment.

    Its agents are `vehicle_0`, `vehicle_1` and so on; their episodes begin and end together.

    Args:
        task: The task, or its name.
        dtype: Numbers of the physics, `float32` or `float64`.
        parameters: Parameters of a task that is given by name.
    """

    metadata: dict[str, Any] = {"name": "pegasus_group_v0", "render_modes": []}

    def __init__(
        self, task: Any = "swarm", *, dtype: str = "float32", render_mode: None = None, **parameters: Any
    ) -> None:
        self.task = task_of(task, parameters)
        count = self.task.group
        self._rows = FleetEnv(self.task, count, autoreset_mode="DISABLED", dtype=dtype)
        self.possible_agents = [f"vehicle_{k}" for k in range(count)]
        self.agents: list[str] = []
        self.observation_spaces = dict.fromkeys(self.possible_agents, self._rows.single_observation_space)
        self.action_spaces = dict.fromkeys(self.possible_agents, self._rows.single_action_space)

    def observation_space(self, agent: str) -> Any:
        """Return the space of the observations of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return the space of the actions of an agent."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, dict[str, Any]]]:
        """Begin an episode, and return what each agent observes, and nothing more."""
        self.agents = list(self.possible_agents)
        observation, _ = self._rows.reset(seed=seed)
        return self._by_agent(observation), {agent: {} for agent in self.agents}

    def step(
        self, actions: Mapping[str, Array]
    ) -> tuple[
        dict[str, Array], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Fly to the next action.

        Args:
            actions: The action of each agent.

        Raises:
            ConfigError: If the episode is over, or the action of an agent is missing or not finite.
        """
        if not self.agents:
            raise ConfigError("is over", field="episode", remedy="call reset first")
        missing = [agent for agent in self.agents if agent not in actions]
        require(not missing, "actions", missing, "must hold an action of each agent")
        observation, *results, _ = self._rows.step(np.stack([actions[agent] for agent in self.agents]))
        reward, terminated, truncated = (self._by_agent(values.tolist()) for values in results)
        given = self._by_agent(observation), reward, terminated, truncated, self._by_agent([{}] * len(reward))
        if terminated[self.agents[0]] or truncated[self.agents[0]]:
            self.agents = []
        return given

    def _by_agent(self, values: Any) -> dict[str, Any]:
        return dict(zip(self.agents, values, strict=True))
