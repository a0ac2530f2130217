"""Tests of Gymnasium's environments: their checker, autoreset modes, seeds and bad actions."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.learn import TASKS
from pegasus.learn.tasks import Hover

pytestmark = pytest.mark.learn

NEXT_STEP, SAME_STEP, DISABLED = "NEXT_STEP", "SAME_STEP", "DISABLED"
BRIEF = 0.05
"""Duration of an episode of five actions [s]."""


def vectors(count=4, mode=NEXT_STEP, **parameters):
    """Return rows of Hover, with episodes of five actions by default."""
    from pegasus.learn import FleetEnv

    return FleetEnv(Hover(**{"duration": BRIEF, **parameters}), count, autoreset_mode=mode)


def actions(count, k, width=4):
    """Return actions of rows in step k, those of a row depending on its number only."""
    rows = [np.random.default_rng((k, row)).uniform(-0.3, 0.3, width) for row in range(count)]
    return np.array(rows, dtype=np.float32)


def flown(rows, steps, seed=3):
    """Return observations and rewards of some steps after a reset."""
    observation, _ = rows.reset(seed=seed)
    found = [observation]
    for k in range(steps):
        observation, reward, *_ = rows.step(actions(rows.num_envs, k))
        found += [observation, reward]
    return found


@pytest.mark.parametrize("name", ["hover", "track_trajectory", "avoid_obstacles"])
def test_gymnasium_accepts_an_environment(name):
    """Gymnasium's checker finds no error in the environment of one row."""
    from gymnasium.utils.env_checker import check_env

    from pegasus.learn.registration import make

    check_env(make(name), skip_render_check=True)


def test_tasks_are_registered():
    """Each shipped task has an environment in Gymnasium's registry; it takes the task's parameters."""
    import gymnasium

    from pegasus.learn import register

    register()
    for name in TASKS:
        assert f"Pegasus/{name.title().replace('_', '')}-v0" in gymnasium.registry
    made = gymnasium.make_vec("Pegasus/Hover-v0", num_envs=3, duration=BRIEF, autoreset_mode=SAME_STEP)
    assert made.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    observation, information = made.reset(seed=1)
    assert made.observation_space.contains(observation)
    assert information == {}
    for k in range(5):
        _, _, _, truncated, _ = made.step(actions(3, k))
        assert truncated.tolist() == [k == 4] * 3
    with pytest.raises(ConfigError, match="must be one of NEXT_STEP, SAME_STEP, DISABLED"):
        vectors(mode="LATER")


def test_next_step():
    """An episode that is over begins in the next step: its action is not taken, its reward is 0."""
    rows = vectors(mode=NEXT_STEP)
    rows.reset(seed=2)
    for k in range(4):
        *_, truncated, information = rows.step(actions(4, k))
        assert not truncated.any()
    last, reward, terminated, truncated, information = rows.step(actions(4, 4))
    assert truncated.all()
    assert not terminated.any()
    assert information == {}
    assert np.array_equal(last, rows.flights.observe())
    first, reward, terminated, truncated, _ = rows.step(actions(4, 5))
    assert not np.array_equal(first, last)
    assert reward.tolist() == [0.0] * 4
    assert not (terminated | truncated).any()
    assert rows.flights.episodes.time.tolist() == [0.0] * 4
    for k in range(5):
        _, reward, _, truncated, _ = rows.step(actions(4, k))
        assert reward.all()
        assert truncated.tolist() == [k == 4] * 4


def test_same_step():
    """An episode that is over begins at once; its last observation is in `final_obs`."""
    rows, others = vectors(mode=SAME_STEP), vectors(mode=NEXT_STEP)
    for one in (rows, others):
        one.reset(seed=2)
    for k in range(5):
        first, reward, _, truncated, information = rows.step(actions(4, k))
        last, same, *_ = others.step(actions(4, k))
        assert np.array_equal(reward, same)
        assert ("final_obs" in information) == (k == 4)
    assert truncated.all()
    assert information["_final_obs"].tolist() == [True] * 4
    assert np.array_equal(information["final_obs"], last)
    begun, *_ = others.step(actions(4, 5))
    assert np.array_equal(first, begun)


def test_same_step_of_some_rows():
    """Only rows whose episodes are over begin anew, and `_final_obs` names them."""
    rows = vectors(mode=SAME_STEP, duration=5.0)
    rows.reset(seed=2)
    rows.flights.fleet.state.position[1] = 3.0
    _, _, terminated, truncated, information = rows.step(actions(4, 0))
    assert terminated.tolist() == information["_final_obs"].tolist() == [False, True, False, False]
    assert not truncated.any()
    assert np.abs(rows.flights.fleet.state.position[1]).max() < 1.0
    assert rows.flights.episodes.time.tolist() == pytest.approx([0.01, 0.0, 0.01, 0.01])


def test_reset_mask():
    """Without autoreset, rows of the mask begin anew and others fly on; a row that is over cannot fly."""
    rows = vectors(mode=DISABLED, duration=5.0)
    before, _ = rows.reset(seed=2)
    rows.flights.fleet.state.position[1] = 3.0
    before, _, terminated, *_ = rows.step(actions(4, 0))
    assert terminated.tolist() == [False, True, False, False]
    with pytest.raises(ConfigError, match=r"episode of row = 1: is over; call reset\(options"):
        rows.step(actions(4, 1))
    with pytest.raises(ConfigError, match="must be truth values of shape"):
        rows.reset(options={"reset_mask": np.array([0, 1, 0, 0])})
    after, _ = rows.reset(options={"reset_mask": terminated})
    assert np.array_equal(after[~terminated], before[~terminated])
    assert not np.array_equal(after[1], before[1])
    rows.step(actions(4, 1))


def test_a_seed_fixes_every_bit():
    """Equal seeds give equal observations and rewards, other seeds others; each episode begins elsewhere."""
    rows = vectors(mode=SAME_STEP)
    once, again, other = flown(rows, 12), flown(rows, 12), flown(rows, 12, seed=4)
    assert all(np.array_equal(a, b) for a, b in zip(once, again, strict=True))
    assert not np.array_equal(once[0], other[0])
    assert not np.array_equal(once[0], once[9])
    with pytest.raises(ConfigError, match="must be one number for all rows"):
        rows.reset(seed=[1, 2, 3, 4])


@pytest.mark.parametrize("name", sorted(TASKS))
def test_a_row_depends_on_itself_alone(name):
    """A row has the bits that it has among many rows: observations, rewards and new episodes."""
    from pegasus.learn import FleetEnv

    task = TASKS[name](duration=BRIEF)
    group = task.group
    few, many = (FleetEnv(task, count * group, autoreset_mode=SAME_STEP) for count in (1, 37))
    width = few.single_action_space.shape[0]
    assert np.array_equal(few.reset(seed=5)[0], many.reset(seed=5)[0][:group])
    for k in range(8):
        given = actions(many.num_envs, k, width)
        own, reward, *_ = few.step(given[:group])
        every, rewards, *_ = many.step(given)
        assert np.isfinite(every).all()
        assert np.array_equal(own, every[:group])
        assert np.array_equal(reward, rewards[:group])


def test_bad_actions():
    """Actions that are not finite or have another shape are refused; those beyond 1 are clipped."""
    rows = vectors()
    rows.reset(seed=1)
    given = actions(4, 0)
    given[2, 1] = np.nan
    with pytest.raises(ConfigError, match="action, row 2, 1 = nan: must be finite"):
        rows.step(given)
    with pytest.raises(ConfigError, match=r"action = \(4, 3\): must have the shape \(4, 4\)"):
        rows.step(actions(4, 0, width=3))
    rows.step(np.full((4, 4), 7.0))
    assert (rows.flights.episodes.action == 1.0).all()
    assert np.allclose(rows.flights.fleet.command, rows.flights.high)


def test_a_row_that_is_not_finite_fails_alone():
    """A row that is not finite fails; learners see no such number, and others fly on with the same bits."""
    rows, sound = vectors(duration=5.0), vectors(duration=5.0)
    for one in (rows, sound):
        one.reset(seed=1)
    rows.flights.fleet.state.velocity[2] = np.nan
    observation, reward, terminated, *_ = rows.step(actions(4, 0))
    expected, *_ = sound.step(actions(4, 0))
    assert np.isfinite(observation).all()
    assert np.isfinite(reward).all()
    assert terminated.tolist() == [False, False, True, False]
    assert np.array_equal(observation[[0, 1, 3]], expected[[0, 1, 3]])
    observation, *_ = rows.step(actions(4, 1))
    assert np.isfinite(observation).all()
