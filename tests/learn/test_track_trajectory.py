"""Tests of following a trajectory: goal, preview and starts are its points, rewards are by its formula."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.control import trajectories
from pegasus.learn import Flights
from pegasus.learn.tasks import TrackTrajectory

COUNT = 40


@pytest.fixture(scope="module", params=["circle", "lemniscate"])
def flights(request):
    """Return flights at their beginnings along a trajectory."""
    path = getattr(trajectories, request.param)(radius=1.0, height=0.0, speed=1.0)
    flights = Flights(TrackTrajectory(trajectory=path), COUNT, seed=3)
    flights.begin(np.ones(COUNT, dtype=bool))
    return flights


def test_the_goal_moves_along_the_trajectory(flights):
    """Goals and what is seen ahead are points of the trajectory at the times of the row."""
    task, goal = flights.task, flights.episodes.goal
    path, first = task.trajectory, goal["first"] * task.interval
    for k in range(3):
        if k > 0:
            flights.step(np.full((COUNT, 4), 0.3))
        times = first + k * task.interval
        inside = times + task.ahead[-1] < path.duration
        assert inside.sum() > 10
        points, _ = path.samples(times[inside])
        assert goal["position"][inside] == pytest.approx(points[:, :3], abs=1e-9)
        assert goal["velocity"][inside] == pytest.approx(points[:, 3:6], abs=1e-9)
        for place, ahead in enumerate(task.ahead):
            points, _ = path.samples(times[inside] + ahead)
            assert goal["preview"][inside, place] == pytest.approx(points[:, :3], abs=1e-9)


def test_starts_are_near_it_at_its_speed(flights):
    """Rows begin within the distance of their points, at the velocity there, and at different points."""
    flights.begin(np.ones(COUNT, dtype=bool))
    motion, goal = flights.episodes.motion, flights.episodes.goal
    assert 0.1 < abs(motion.position - goal["position"]).max() <= 0.2001
    assert motion.velocity == pytest.approx(goal["velocity"], abs=1e-6)
    assert len(np.unique(goal["first"])) > 0.5 * COUNT


def test_rewards_and_ends(flights):
    """A row on the trajectory is rewarded more than one beside it; one that is too far away has failed."""
    flights.begin(np.ones(COUNT, dtype=bool))
    state, goal = flights.fleet.state, flights.episodes.goal
    state.position[...] = goal["position"]
    state.position[1, 1] += 0.5
    state.position[2, 1] += 1.6
    outcome = flights.step(np.full((COUNT, 4), 0.3))
    assert outcome.reward[0] - outcome.reward[1] == pytest.approx(0.05, abs=0.02)
    assert outcome.failed.tolist() == [False, False, True] + [False] * (COUNT - 3)
    assert flights.task.succeeded(flights.episodes)[[0, 1]].tolist() == [True, False]


def test_trajectories():
    """Parts as in scenario files make a trajectory; one without an end is refused."""
    task = TrackTrajectory(trajectory=[{"circle": {"radius": 1.0, "height": 0.0, "speed": 1.0}}])
    assert isinstance(task.trajectory, trajectories.Trajectory)
    with pytest.raises(ConfigError, match="duration = inf: must be finite; use the task hover"):
        TrackTrajectory(trajectory=trajectories.hold(height=1.0))
