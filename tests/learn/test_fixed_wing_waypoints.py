"""Tests of the flight through waypoints: its trimmed start, waypoints in turn, ends of episodes."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.learn import Flights
from pegasus.learn.tasks import FixedWingWaypoints


@pytest.fixture(scope="module")
def flights():
    """Return flights of eight rows."""
    return Flights(FixedWingWaypoints(), 8, seed=1)


def begun(flights):
    """Return flights at their beginnings."""
    flights.start(1)
    flights.begin(np.ones(8, dtype=bool))
    return flights


def test_commands_of_trimmed_flight_hold_it(flights):
    """The commands of trimmed flight keep speed and height; rotors and joints begin at these."""
    rest, state = flights.task.rest_command(flights.fleet), begun(flights).fleet.state
    assert [channel.name for channel in flights.fleet.inputs[:2]] == ["rotor_0", "brake"]
    assert state.rotor_speed == pytest.approx(np.tile(rest[:1], (8, 1)))
    assert state.joint_angle == pytest.approx(np.tile(rest[2:], (8, 1)))
    high, low = flights.high, flights.low
    for _ in range(100):
        outcome = flights.step(np.tile((2.0 * rest - low - high) / (high - low), (8, 1)))
    assert not outcome.over.any()
    assert state.position[:, 2] == pytest.approx(60.0, abs=6.0)
    assert flights.episodes.speed == pytest.approx(15.0, abs=2.0)
    assert flights.episodes.uprightness.min() > 0.9


def test_waypoints_in_turn(flights):
    """A waypoint counts when it is the next one and near; the last one finishes the episode."""
    goal, state = begun(flights).episodes.goal, flights.fleet.state
    route, action = goal["route"].copy(), np.zeros((8, 8))
    legs = np.diff(route[:, :, :2], axis=1, prepend=0.0)
    assert (abs(np.linalg.norm(legs, axis=-1) - 80.0) <= 20.0).all()
    assert (abs(route[:, :, 2] - 60.0) <= 4.0).all()
    state.position[0] = route[0, 1]  # Not the next one.
    flights.step(action)
    assert goal["reached"].tolist() == [0.0] * 8
    for k in range(4):
        assert np.array_equal(goal["preview"][0, 0], route[0, k])
        assert np.array_equal(goal["preview"][0, 1], route[0, min(k + 1, 3)])
        state.position[0] = route[0, k]
        outcome = flights.step(action)
        assert goal["reached"].tolist() == [k + 1.0] + [0.0] * 7
        assert outcome.finished.tolist() == [k == 3] + [False] * 7
    assert not outcome.failed.any()


def test_progress_and_failure(flights):
    """The reward is the way towards the waypoint; at the ground and far away an episode has failed."""
    state, goal = begun(flights).fleet.state, flights.episodes.goal
    before = flights.episodes.distance
    outcome = flights.step(np.zeros((8, 8)))
    gained = 0.1 * (before - flights.episodes.distance)
    assert goal["progress"] == pytest.approx(10.0 * gained)
    assert outcome.reward == pytest.approx(gained, abs=0.01)
    state.position[0, 2] = -0.1
    state.position[1, 0] += 500.0
    outcome = flights.step(np.zeros((8, 8)))
    assert outcome.failed.tolist() == [True, True] + [False] * 6
    assert (outcome.reward[:2] < -4.0).all()


def test_flights_that_cannot_be_are_refused():
    """An airspeed at which the aircraft does not fly, and no waypoints, are refused."""
    with pytest.raises(ConfigError, match="cannot be trimmed at 4 m/s"):
        FixedWingWaypoints(airspeed=4.0)
    with pytest.raises(ConfigError, match="waypoints = 0: must be a whole number from 1 up"):
        FixedWingWaypoints(waypoints=0)
