"""Tests of the interfaces of Stable-Baselines3 and rsl_rl, and of trainings by them."""

import numpy as np
import pytest

from pegasus.learn.tasks import Hover


def actions(k, count=3):
    """Return actions of rows in step k."""
    return np.random.default_rng(k).uniform(-0.3, 0.3, (count, 4)).astype(np.float32)


@pytest.mark.learn
@pytest.mark.train
def test_stable_baselines3():
    """Rewards and ends are those of Gymnasium's environment; the last observation of an episode is kept."""
    from stable_baselines3.common.vec_env import VecEnv

    from pegasus.learn import FleetEnv, Sb3Env

    task = Hover(duration=0.03)
    env, rows = Sb3Env(task, 3, seed=4), FleetEnv(task, 3, autoreset_mode="SAME_STEP")
    assert isinstance(env, VecEnv)
    assert np.array_equal(env.reset(), rows.reset(seed=4)[0])
    total = 0.0
    for k in range(3):
        observation, reward, over, infos = env.step(actions(k))
        expected = rows.step(actions(k))
        assert np.array_equal(observation, expected[0])
        assert np.array_equal(reward, expected[1].astype(np.float32))
        total += expected[1][2]
        assert over.tolist() == [k == 2] * 3
    assert np.array_equal(infos[2]["terminal_observation"], expected[4]["final_obs"][2])
    assert infos[2]["TimeLimit.truncated"]
    assert infos[2]["episode"] == {"r": pytest.approx(total), "l": 3}


@pytest.mark.learn
@pytest.mark.rsl
def test_rsl_rl():
    """Tensors are those of Gymnasium's environment; episodes cut by their time are named as such."""
    import torch

    from pegasus.learn import FleetEnv, RslEnv

    task = Hover(duration=0.03)
    env, rows = RslEnv(task, 3, seed=4), FleetEnv(task, 3, autoreset_mode="SAME_STEP")
    assert (env.num_envs, env.num_actions, env.max_episode_length) == (3, 4, 3)
    assert np.array_equal(env.get_observations()["policy"].numpy(), rows.reset(seed=4)[0])
    for k in range(3):
        assert env.episode_length_buf.tolist() == [k] * 3
        observation, reward, over, extras = env.step(torch.from_numpy(actions(k)))
        expected = rows.step(actions(k))
        assert np.array_equal(observation["policy"].numpy(), expected[0])
        assert np.array_equal(reward.numpy(), expected[1].astype(np.float32))
        assert over.tolist() == [k == 2] * 3
        assert extras["time_outs"].tolist() == [k == 2] * 3
    env.episode_length_buf = torch.tensor([0, 1, 2])
    *_, over, _ = env.step(torch.from_numpy(actions(0)))
    assert over.tolist() == [0, 0, 1]


@pytest.mark.learn
@pytest.mark.rsl
def test_rsl_rl_learns():
    """The runner of rsl_rl changes a policy by some iterations, with episodes at random times."""
    import torch
    from rsl_rl.runners import OnPolicyRunner

    from pegasus.learn import RslEnv

    torch.manual_seed(0)
    env = RslEnv(Hover(duration=1.0), 64, seed=4)
    network = {"class_name": "MLPModel", "hidden_dims": [32, 32], "activation": "tanh"}
    spread = {"class_name": "GaussianDistribution", "init_std": 0.5}
    settings = {
        "num_steps_per_env": 16,
        "save_interval": 1000,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": network | {"distribution_cfg": spread},
        "critic": dict(network),
        "algorithm": {"class_name": "PPO", "learning_rate": 1e-3, "gamma": 0.98},
    }
    runner = OnPolicyRunner(env, settings, log_dir=None, device="cpu")
    seen = env.get_observations()
    before = runner.get_inference_policy()(seen).clone()
    runner.learn(3, init_at_random_ep_len=True)
    after = runner.get_inference_policy()(seen)
    assert torch.isfinite(after).all()
    assert not torch.equal(before, after)
    assert all(0 < length <= 100 for length in runner.logger.lenbuffer)
