"""Tests of the race through gates: what counts as passed, missed and hit; progress, laps, corners."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.learn import Flights
from pegasus.learn.tasks import RaceGates

EAST = {"position": [4.0, 0.0, 2.0], "heading": 0.0, "width": 2.0, "height": 1.0}
BACK = {"position": [4.0, 5.0, 2.0], "heading": np.pi, "radius": 0.8}


def race(count=1, **parameters):
    """Return flights through two gates without shifts, all rows before the first."""
    flights = Flights(RaceGates(gates=(EAST, BACK), shift=0.0, turn=0.0, **parameters), count, seed=1)
    flights.begin(np.ones(count, dtype=bool))
    goal, position = flights.episodes.goal, flights.fleet.state.position
    goal["gate"][...] = 0
    position[...] = goal["last_position"][...] = (3.99, 0.0, 2.0)
    flights.task.aim(flights.episodes, None, np.ones(count, dtype=bool))
    return flights


def crossed(start, velocity, **parameters):
    """Return flights and outcome of a step from a place at a velocity."""
    flights = race(**parameters)
    state = flights.fleet.state
    state.position[...] = flights.episodes.goal["last_position"][...] = start
    state.velocity[...] = velocity
    state.orientation[...] = (0.0, 0.0, 0.0, 1.0)
    return flights, flights.step(np.zeros((1, 4)))


@pytest.mark.parametrize(
    ("y", "z", "speed", "passed", "failed"),
    [
        (0.0, 2.0, 4.0, 1, False),
        (0.75, 2.0, 4.0, 1, False),
        (0.9, 2.0, 4.0, 0, True),  # Within the clearance of the edge.
        (0.0, 2.4, 4.0, 0, True),
        (3.0, 2.0, 4.0, 0, True),  # Beside it.
        (0.0, 2.0, -4.0, 0, False),  # Backwards.
        (3.0, 2.0, -4.0, 0, False),
        (1.1, 2.0, -4.0, 0, True),  # Into the frame.
    ],
)
def test_crossing_the_plane_of_a_gate(y, z, speed, passed, failed):
    """A gate is passed along its heading through the opening; beside it or at the frame the flight fails."""
    flights, outcome = crossed((4.0 - 0.005 * speed, y, z), (speed, 0.0, 0.0))
    assert flights.episodes.goal["passed"].tolist() == [passed]
    assert outcome.failed.tolist() == [failed]
    assert flights.episodes.goal["gate"].tolist() == [passed]


@pytest.mark.parametrize(("aside", "passed"), [(0.55, 1), (0.7, 0)])
def test_round_gates(aside, passed):
    """The opening of a round gate is a disc: its edge is a radius from the centre, in any direction."""
    diagonal = aside * np.sqrt(0.5)
    flights = race()
    goal, state = flights.episodes.goal, flights.fleet.state
    goal["gate"][...] = 1
    state.position[...] = goal["last_position"][...] = (4.02, 5.0 + diagonal, 2.0 + diagonal)
    state.velocity[...], state.orientation[...] = (-4.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
    outcome = flights.step(np.zeros((1, 4)))
    assert outcome.failed.tolist() == [not passed]
    assert goal["passed"].tolist() == [passed]
    assert goal["gate"].tolist() == [0 if passed else 1]  # The lap is closed: the first one follows.


def test_progress_and_failure():
    """The reward is the way that a step came nearer to the next gate, and much less for a failure."""
    flights, _ = crossed((1.0, 0.0, 2.0), (5.0, 0.0, 0.0))
    assert flights.episodes.goal["progress"][0] == pytest.approx(0.1, abs=1e-3)
    assert flights.task.reward(flights.episodes)[0] == pytest.approx(0.1, abs=5e-3)
    _, outcome = crossed((3.98, 3.0, 2.0), (4.0, 0.0, 0.0))
    assert outcome.reward[0] < -4.9
    _, outcome = crossed((3.0, 0.0, 0.01), (0.0, 0.0, -4.0))
    assert outcome.failed.all()
    _, outcome = crossed((30.0, 0.0, 2.0), (0.0, 0.0, 0.0))
    assert outcome.failed.all()


def test_corners_in_the_body_frame():
    """The corners of the next two gates are seen from the vehicle, in its frame."""
    flights = race()
    state = flights.fleet.state
    state.position[...], state.orientation[...] = (1.0, 0.0, 2.0), (0.0, 0.0, 0.0, 1.0)
    corners = flights.task.observation[0](flights.episodes).reshape(2, 4, 3) / 0.2
    assert corners[0] == pytest.approx(
        np.array([[3, 1, 0.5], [3, -1, 0.5], [3, -1, -0.5], [3, 1, -0.5]]), abs=1e-6
    )
    assert corners[1].mean(axis=0) == pytest.approx([3, 5, 0], abs=1e-6)
    state.orientation[...] = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))  # It heads north.
    turned = flights.task.observation[0](flights.episodes).reshape(2, 4, 3) / 0.2
    assert turned[0] == pytest.approx(corners[0][:, [1, 0, 2]] * (1, -1, 1), abs=1e-5)


def test_gates_differ_between_rows_and_episodes():
    """Gates are shifted and turned anew in each episode, within their limits; starts are before a gate."""
    task = RaceGates()
    flights = Flights(task, 200, seed=3)
    every = np.ones(200, dtype=bool)
    flights.begin(every)
    goal = flights.episodes.goal
    first = goal["gates"].copy()
    nominal = np.array([gate.position for gate in task.gates])
    assert 0.29 < abs(first - nominal).max() <= 0.3
    assert set(goal["gate"]) == set(range(8))
    to_gate = flights.episodes.position_error
    along = (to_gate * goal["normals"][np.arange(200), goal["gate"].astype(int)]).sum(axis=1)
    assert (along > task.run - 1.0).all()
    flights.begin(every)
    assert (abs(goal["gates"] - first).max(axis=(1, 2)) > 0.0).all()


def test_bad_gates():
    """Gates without an opening, or with one that the vehicle does not pass, are refused by their number."""
    with pytest.raises(ConfigError, match=r"gates\.1 = .*must be wider than twice clearance"):
        RaceGates(gates=(EAST, BACK | {"radius": 0.1}))
    with pytest.raises(ConfigError, match=r"radius.*either radius, or width and height, must be given"):
        RaceGates(gates=(EAST, {"position": [1, 2, 3]}))
    with pytest.raises(ConfigError, match="two gates"):
        RaceGates(gates=[EAST])


def test_lap_times_are_between_two_passages_of_a_gate():
    """A lap that is timed from the start, or by whole actions, would be another than that of a line."""
    flights = race()
    goal, state, count = flights.episodes.goal, flights.fleet.state, len(flights.task.gates)
    passages = [(0, 0.005), (1, 0.015), (0, 0.01)]
    for gate, share in passages:
        assert np.isnan(goal["lap"][0])
        place, normal = goal["gates"][0, gate], goal["normals"][0, gate]
        speed = 4.0
        state.position[...] = goal["last_position"][...] = place - share * speed * normal
        state.velocity[...], state.orientation[...] = speed * normal, (0.0, 0.0, 0.0, 1.0)
        assert not flights.step(np.zeros((1, 4))).over.any()
    interval = flights.task.interval
    # Two actions after the first passage, 0.005 s later into its action.
    assert goal["lap"][0] == pytest.approx(count * interval + 0.005, abs=2e-4)
    assert flights.task.succeeded(flights.episodes).all()
    assert flights.task.measure(flights.episodes) == goal["lap"]
