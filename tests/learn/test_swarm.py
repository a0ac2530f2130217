"""Tests of swarms: groups of rows that end together, their distances, PettingZoo's interface."""

import sys

import numpy as np
import pytest

import pegasus.learn
from pegasus.base.errors import ConfigError
from pegasus.learn import Flights, evaluate
from pegasus.learn.tasks import Swarm


@pytest.fixture(scope="module")
def flights():
    """Return flights of three swarms of four."""
    return Flights(Swarm(), 12, seed=1)


def begun(flights):
    """Return flights at their beginnings."""
    flights.start(6)
    flights.begin(np.ones(12, dtype=bool))
    return flights


def test_a_swarm_begins_on_a_circle(flights):
    """Vehicles begin at places by their number in the swarm; goals are on the other side."""
    episodes = begun(flights).episodes
    places = 1.5 * np.array([[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]] * 3)
    position, goals = episodes.motion.position, episodes.goal["position"]
    assert 0.2 < abs(position - places).max() <= 0.3001
    assert 0.2 < abs(goals + places).max() <= 0.3001


def test_neighbours(flights):
    """A vehicle sees the others of its own swarm, in order after itself, and no others."""
    episodes = begun(flights).episodes
    flights.step(np.zeros((12, 4)))
    motion, terms = episodes.motion, {term.name: term for term in flights.task.observation}
    ways = terms["neighbours"](episodes).reshape(12, 3, 3) / 0.5
    rates = terms["neighbour_velocities"](episodes).reshape(12, 3, 3) / 0.5
    for row in range(12):
        for k in range(1, 4):
            other = 4 * (row // 4) + (row + k) % 4
            assert ways[row, k - 1] == pytest.approx(motion.position[other] - motion.position[row])
            assert rates[row, k - 1] == pytest.approx(motion.velocity[other] - motion.velocity[row])


@pytest.mark.parametrize("broken", ["near", "far", "not a number"])
def test_a_swarm_ends_together(flights, broken):
    """If two vehicles come too near, one is far away or breaks, the episode of its swarm is over, alone."""
    state = begun(flights).fleet.state
    if broken == "near":
        state.position[6] = state.position[5] + (0.0, 0.0, 0.2)
    elif broken == "far":
        state.position[4, 2] += 6.0
    else:
        state.velocity[7] = np.nan
    outcome = flights.step(np.zeros((12, 4)))
    assert outcome.failed.tolist() == [False] * 4 + [True] * 4 + [False] * 4
    assert np.isfinite(outcome.reward).all()
    assert np.isfinite(flights.observe()).all()


def test_distance_is_rewarded(flights):
    """A vehicle that is nearer to another than twice the spacing is rewarded less, by its formula."""
    state, reward = begun(flights).fleet.state, flights.task.reward
    every = np.ones(12, dtype=bool)
    state.position[:2] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.3))
    flights.task.aim(flights.episodes, None, every)
    near = reward(flights.episodes)[0]
    state.position[1] = (0.0, 0.0, 0.9)
    flights.task.aim(flights.episodes, None, every)
    assert reward(flights.episodes)[0] - near == pytest.approx(0.1 * 2.0 * 0.2)


def test_bad_groups(flights):
    """Rows that are not whole swarms, and places that are too near to each other, are refused."""
    with pytest.raises(ConfigError, match="count = 6: must be a multiple of 4"):
        Flights(Swarm(), 6)
    with pytest.raises(ConfigError, match="must be whole groups of 4"):
        flights.begin(np.arange(12) < 3)
    with pytest.raises(ConfigError, match="less than spacing apart"):
        Swarm(size=12)
    with pytest.raises(ConfigError, match="size = 1: must be a whole number from 2 up"):
        Swarm(size=1)


def test_evaluation_of_whole_swarms():
    """An evaluation rounds up to whole swarms; one that falls has failed."""
    seen = []
    share, distance = evaluate(
        lambda observation: seen.append(len(observation)) or np.full((len(observation), 4), -1.0),
        Swarm(size=3, reach=3.5, duration=1.0),
        count=4,
    )
    assert set(seen) == {6}
    assert share == 0.0
    assert distance > 3.0


@pytest.mark.learn
def test_a_missing_package_is_named(monkeypatch):
    """Without PettingZoo, its environment is refused with the command that installs it."""
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "pegasus.learn.parallel", raising=False)
    with pytest.raises(ConfigError, match=r"package pettingzoo.*pip install .pegasus-multirotor.learn"):
        pegasus.learn.GroupEnv  # noqa: B018


@pytest.mark.learn
@pytest.mark.swarm
@pytest.mark.filterwarnings("error")
def test_pettingzoo_accepts_a_swarm():
    """PettingZoo's test of parallel environments passes without a warning."""
    from pettingzoo.test import parallel_api_test

    from pegasus.learn import GroupEnv

    parallel_api_test(GroupEnv("swarm", size=3, duration=1.0), num_cycles=300)


@pytest.mark.learn
@pytest.mark.swarm
def test_agents_are_rows():
    """Agents have observations and rewards of their rows, equal with equal seeds; bad actions do not fly."""
    from pegasus.learn import GroupEnv

    group = GroupEnv(Swarm(duration=0.06))
    flights = Flights(group.task, 4)
    flights.start(5)
    flights.begin(np.ones(4, dtype=bool))
    for _ in range(2):
        observation, _ = group.reset(seed=5)
    assert group.agents == ["vehicle_0", "vehicle_1", "vehicle_2", "vehicle_3"]
    assert np.array_equal(np.stack(list(observation.values())), flights.observe())
    for k in range(3):
        actions = np.random.default_rng(k).uniform(-1.0, 1.0, (4, 4))
        outcome = flights.step(actions)
        given = dict(zip(group.agents, actions, strict=True))
        observation, reward, terminated, truncated, _ = group.step(given)
        assert np.array_equal(np.stack(list(observation.values())), flights.observe())
        assert list(reward.values()) == outcome.reward.tolist()
        assert not any(terminated.values())
        assert list(truncated.values()) == [k == 2] * 4
    assert group.agents == []
    with pytest.raises(ConfigError, match="episode: is over; call reset first"):
        group.step(given)
    group.reset()
    with pytest.raises(ConfigError, match="must hold an action of each agent"):
        group.step({"vehicle_0": actions[0]})
    with pytest.raises(ConfigError, match="must be finite"):
        group.step(given | {"vehicle_1": np.full(4, np.nan)})
