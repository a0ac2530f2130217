"""Tests of landing on a moving pad: when an episode has landed or failed, and the motion of the pad."""

import numpy as np
import pytest

from pegasus.base.frames import quaternion_from_euler
from pegasus.learn import Flights, evaluate
from pegasus.learn.tasks import LandOnPad

EVERY = np.ones(1, dtype=bool)


def touching(flights, aside=0.0, sink=0.3, slip=0.0, tilt=0.0, turn_rate=0.0):
    """Return the outcome of a step in which the vehicle comes down to the pad."""
    goal, state = flights.episodes.goal, flights.fleet.state
    state.position[...] = goal["position"] + (aside, 0.0, 0.5 * 0.01 * sink)
    state.velocity[...] = goal["velocity"] + (slip, 0.0, -sink)
    state.orientation[...] = quaternion_from_euler(0.0, np.array(tilt), np.array(0.5))
    state.angular_velocity[...] = (0.0, 0.0, turn_rate)
    return flights.step(np.full((1, 4), 0.3))


@pytest.fixture(scope="module")
def flights():
    """Return flights of one row."""
    return Flights(LandOnPad(), 1)


@pytest.mark.parametrize(
    ("touch", "landed"),
    [
        ({}, True),
        ({"aside": 0.2}, True),
        ({"aside": 0.3}, False),
        ({"sink": 0.8}, False),
        ({"slip": 0.6}, False),
        ({"tilt": 0.2}, True),
        ({"tilt": 0.35}, False),
        ({"turn_rate": 6.0}, False),
    ],
)
def test_touching_the_pad(flights, touch, landed):
    """A touch on the pad, gently, upright and at its velocity, is a landing; any other has failed."""
    flights.start(4)
    flights.begin(EVERY)
    outcome = touching(flights, **touch)
    assert outcome.finished.tolist() == [landed]
    assert outcome.failed.tolist() == [not landed]
    assert outcome.terminated.all()
    assert not outcome.truncated.any()
    assert (outcome.reward[0] > 4.0) == landed


def test_the_pad_moves_at_its_velocity():
    """The velocity of the pad is the change of its place; pads differ between rows, within their limits."""
    task = LandOnPad()
    flights = Flights(task, 50, seed=2)
    flights.begin(np.ones(50, dtype=bool))
    goal = flights.episodes.goal
    for _ in range(3):
        before, velocity = goal["position"].copy(), goal["velocity"].copy()
        flights.step(np.full((50, 4), 0.3))
        mean = 0.5 * (velocity + goal["velocity"])
        assert (goal["position"] - before) / task.interval == pytest.approx(mean, abs=1e-4)
    assert 1.4 < abs(goal["velocity"][:, :2]).max() <= 1.5
    assert 0.08 < abs(goal["position"][:, 2] - task.height).max() <= 0.1
    assert len(np.unique(goal["velocity"][:, 0])) == 50


def test_progress_is_rewarded():
    """The reward of a step without a touch is what is missing less than before, and little less."""
    flights = Flights(LandOnPad(), 20, seed=5)
    flights.begin(np.ones(20, dtype=bool))
    before = flights.episodes.goal["missing"].copy()
    outcome = flights.step(np.full((20, 4), 0.3))
    gained = before - flights.episodes.goal["missing"]
    calm = 0.002 * flights.episodes.turn_rate + 0.01
    assert not outcome.over.any()
    assert outcome.reward == pytest.approx(gained - calm)


def test_evaluation_counts_landings():
    """Vehicles that fall do not succeed; those that begin on the pad at its velocity do, at once."""
    still = LandOnPad(drift=0.0, heave=0.0, distance=0.1, above=(0.002, 0.004), touch_tilt=0.4, duration=1.0)
    share, distance = evaluate(lambda seen: np.full((len(seen), 4), -0.5), still, count=20)
    assert share == 1.0
    assert distance < 0.2
    share, _ = evaluate(lambda seen: np.full((len(seen), 4), -1.0), LandOnPad(duration=2.0), count=20)
    assert share == 0.0
