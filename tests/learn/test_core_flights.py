"""Tests of episodes in the core whose goals move: those of the fleet, with the same verdicts."""

import numpy as np
import pytest

from pegasus.learn import Flights, Layer, evaluate, write_policy
from pegasus.learn.core_flights import Disturbances, evaluate_in_core
from pegasus.learn.policy_file import PolicyFile
from pegasus.learn.tasks import FixedWingWaypoints, LandOnPad, RaceGates, Swarm, TrackTrajectory
from pegasus.learn.training import description_of
from pegasus.learn.verdict import Referee

pytestmark = pytest.mark.learn

AHEAD = [
    {"position": [x, 0.0, 2.0], "heading": 0.0, "width": 3.0, "height": 3.0} for x in (0.0, 3.0, 6.0, 9.0)
]


class Passages(RaceGates):
    """Race that measures the passages of gates, and the distance to the next one."""

    def measure(self, episodes):
        return episodes.goal["passed"] + 0.01 * episodes.distance


def resting_policy(path, task):
    """Write a policy that takes the action of steady flight, whatever it observes."""
    flights = Flights(task, task.group)
    flights.begin(np.ones(task.group, dtype=bool))
    width = flights.observe().shape[1]
    weights = np.zeros((flights.actions, width))
    write_policy(path, [Layer(weights, flights.rest_action, None)], description_of(flights))
    return path


@pytest.mark.parametrize(
    "task",
    [
        TrackTrajectory(duration=1.0, reach=9.0),
        LandOnPad(duration=0.5),
        Swarm(size=3, duration=1.0),
        Passages(gates=AHEAD, duration=2.0, run=1.0, speed=4.0, vary={}),
        FixedWingWaypoints(duration=3.0, radius=60.0),
    ],
    ids=lambda task: type(task).__name__,
)
def test_goals_move_in_the_core_as_in_the_fleet(task, tmp_path):
    """A goal that stands still, other beginnings, or another place in the world would change the figure."""
    file = resting_policy(tmp_path / "p.onnx", task)
    success, measure = evaluate(PolicyFile(file), task, count=12, seed=3)
    in_core = evaluate_in_core(file, task, Disturbances(), count=12, seed=3)
    assert in_core.success == success
    assert in_core.measure == pytest.approx(measure, rel=2e-3)
    other = evaluate_in_core(file, task, Disturbances(), count=12, seed=4)
    assert other.measure != pytest.approx(measure, rel=2e-3)


def test_the_verdict_on_episodes():
    """An episode that failed, left its place in the last fifth or has no figure would count otherwise."""

    class Line(TrackTrajectory):
        """Episodes by a script: what fails, finishes and is in its place in each action."""

        def failed(self, episodes):
            return self.script["failed"][:, self.k]

        def finished(self, episodes):
            return self.script["finished"][:, self.k]

        def succeeded(self, episodes):
            return self.script["succeeded"][:, self.k]

        def measure(self, episodes):
            return self.script["measure"][:, self.k]

    task = Line(duration=0.1)
    steps = round(task.duration / task.interval)
    names = ("failed", "finished", "succeeded")
    task.script = {name: np.zeros((6, steps), dtype=bool) for name in names}
    task.script["measure"] = np.tile(np.arange(steps, dtype=float), (6, 1))
    script = task.script
    script["succeeded"][0] = True
    script["succeeded"][1], script["failed"][1, 3] = True, True
    script["finished"][2, 4], script["failed"][2, 5:] = True, True  # What follows counts no more.
    script["succeeded"][3, :-1] = True  # It left at the end.
    script["succeeded"][4, 8:] = True  # It came in time.
    script["succeeded"][5] = script["finished"][5, 2] = script["failed"][5, 2] = True
    script["measure"][4] = np.nan
    referee = Referee(task, 6)
    assert referee.steps == steps == 10
    for k in range(steps):
        task.k = k
        referee.see(None)
    assert referee.result.success == pytest.approx(3 / 6)
    # Last actions 9, 3, 4, 9, none and 2.
    assert referee.result.measure == 4.0
    assert referee.going.tolist() == [True, False, False, True, True, False]
