"""Fake of Isaac Lab 3.0.0's manager-based workflow: actions, events, observations, rewards, terminations."""

import copy
import math

import numpy as np

from tests.isaac.fakes.lab import InteractiveScene, SimulationCfg, SimulationContext, _Cfg, as_tensor


class ActionTermCfg(_Cfg):
    debug_vis, clip = False, None


class ObservationTermCfg(_Cfg):
    params, scale = {}, None


class ObservationGroupCfg(_Cfg):
    concatenate_terms, enable_corruption = True, False


class RewardTermCfg(_Cfg):
    params = {}


class TerminationTermCfg(_Cfg):
    params, time_out = {}, False


class EventTermCfg(_Cfg):
    params = {}


class ManagerBasedRLEnvCfg(_Cfg):
    sim = SimulationCfg()


class ActionTerm:
    def __init__(self, cfg, env):
        self.cfg, self._env = cfg, env
        self._asset = env.scene[cfg.asset_name]

    @property
    def num_envs(self):
        return self._env.num_envs

    @property
    def device(self):
        return self._env.device

    def reset(self, env_ids=None):
        """Reset nothing."""


def _terms(cfg, kind):
    return {name: value for name, value in vars(cfg).items() if isinstance(value, kind)}


class ActionManager:
    def __init__(self, cfg, env):
        # As ManagerBase does.
        self._terms = {
            name: value.class_type(value, env)
            for name, value in _terms(copy.deepcopy(cfg), ActionTermCfg).items()
        }
        self.total_action_dim = sum(term.action_dim for term in self._terms.values())

    def get_term(self, name):
        return self._terms[name]

    def process_action(self, action):
        assert action.shape[1] == self.total_action_dim
        first = 0
        for term in self._terms.values():
            term.process_actions(action[:, first : first + term.action_dim])
            first += term.action_dim

    def apply_action(self):
        for term in self._terms.values():
            term.apply_actions()

    def reset(self, env_ids=None):
        for term in self._terms.values():
            term.reset(env_ids=env_ids)


class ObservationManager:
    """Calls each term once when it is made, for its shape."""

    def __init__(self, cfg, env):
        self._env = env
        self._groups = {
            name: _terms(group, ObservationTermCfg)
            for name, group in _terms(cfg, ObservationGroupCfg).items()
        }
        self._shapes = {name: value.shape for name, value in self._values().items()}

    def _values(self):
        return {
            (group, name): term.func(self._env, **term.params)
            for group, terms in self._groups.items()
            for name, term in terms.items()
        }

    def compute(self, update_history=False):
        values = self._values()
        assert {name: value.shape for name, value in values.items()} == self._shapes
        return {
            group: as_tensor(np.concatenate([values[group, name] for name in terms], axis=1))
            for group, terms in self._groups.items()
        }


class ManagerBasedEnv:
    def __init__(self, cfg):
        self.cfg, self.sim, self.scene = cfg, SimulationContext(), InteractiveScene(cfg.scene)
        self.device, self.num_envs = cfg.sim.device, cfg.scene.num_envs
        self.physics_dt, self.step_dt = cfg.sim.dt, cfg.sim.dt * cfg.decimation
        self.action_manager = ActionManager(cfg.actions, self)
        self.observation_manager = ObservationManager(cfg.observations, self)


class ManagerBasedRLEnv(ManagerBasedEnv):
    def __init__(self, cfg, render_mode=None, **kwargs):
        assert not kwargs
        super().__init__(cfg)
        self.max_episode_length = math.ceil(cfg.episode_length_s / self.step_dt)
        self.episode_length_buf = as_tensor(np.zeros(self.num_envs, dtype=np.int64))

    def reset(self, seed=None, env_ids=None, options=None):
        self._reset_idx(slice(None))
        return self.observation_manager.compute(update_history=True), {}

    def step(self, action):
        self.action_manager.process_action(action.to(self.device))
        for _ in range(self.cfg.decimation):
            self.action_manager.apply_action()
            for asset in self.scene._assets.values():
                asset._step(self.physics_dt, self.cfg.sim.gravity)
        self.episode_length_buf += 1
        ended = {True: np.zeros(self.num_envs, dtype=bool), False: np.zeros(self.num_envs, dtype=bool)}
        for term in _terms(self.cfg.terminations, TerminationTermCfg).values():
            ended[term.time_out] |= term.func(self, **term.params)
        reward = sum(
            np.asarray(term.func(self, **term.params)) * term.weight * self.step_dt
            for term in _terms(self.cfg.rewards, RewardTermCfg).values()
        )
        ids = np.flatnonzero(ended[True] | ended[False])
        if len(ids):
            self._reset_idx(as_tensor(ids))
        observation = self.observation_manager.compute(update_history=True)
        return observation, as_tensor(reward), as_tensor(ended[False]), as_tensor(ended[True]), {}

    def _reset_idx(self, env_ids):
        for term in _terms(self.cfg.events, EventTermCfg).values():
            assert term.mode == "reset"
            term.func(self, env_ids, **term.params)
        self.action_manager.reset(env_ids)
        self.episode_length_buf[env_ids] = 0

    def close(self):
        del self.action_manager
        del self.observation_manager


MODULES = {
    "isaaclab.managers": {
        kind.__name__: kind
        for kind in (
            ActionManager,
            ActionTerm,
            ActionTermCfg,
            EventTermCfg,
            ObservationGroupCfg,
            ObservationTermCfg,
            RewardTermCfg,
            TerminationTermCfg,
        )
    },
    "isaaclab.envs": {
        kind.__name__: kind for kind in (ManagerBasedEnv, ManagerBasedRLEnv, ManagerBasedRLEnvCfg)
    },
}
