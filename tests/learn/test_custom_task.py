"""Test of a task of one's own: observation, reward and end of episodes in a short class."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.learn import Draws, Episodes, Flights, Task, Term


def height(episodes: Episodes) -> np.ndarray:
    """Return heights above the goal [m], shape (N, 1)."""
    return -episodes.position_error[:, 2:]


@dataclass(kw_only=True, eq=False)
class Climb(Task):
    """Climb to the height of the goal, from below, without tilting."""

    depth: float = 2.0
    """Largest distance below the goal at the start [m]."""
    observation: ClassVar = (Term(height), Term("velocity", 0.5), Term("rotation"))

    def begin(self, draws: Draws) -> Mapping[str, Any]:
        """Return places below the goal."""
        below = np.zeros((len(draws), 3))
        below[:, 2] = draws.uniform(-self.depth, -0.5 * self.depth, 1)[:, 0]
        return {"position": below}

    def reward(self, episodes: Episodes) -> np.ndarray:
        """Return more for a vehicle that is near the height."""
        return 1.0 - abs(height(episodes)[:, 0])

    def failed(self, episodes: Episodes) -> np.ndarray:
        """Return which have tilted or left."""
        return (episodes.uprightness < 0.9) | (episodes.distance > 2.0 * self.depth)


def test_a_task_of_ones_own_flies():
    """A task is a class of at most 40 lines: it flies, is rewarded by its formula and ends by it."""
    assert sum(len(inspect.getsource(part).splitlines()) for part in (height, Climb)) <= 40
    flights = Flights(Climb(depth=1.0), 3, seed=2)
    flights.begin(np.ones(3, dtype=bool))
    starts = flights.fleet.state.position[:, 2].copy()
    assert ((starts > -1.0) & (starts < -0.5)).all()
    assert flights.observe().shape == (3, 13)
    for _ in range(50):
        outcome = flights.step(np.full((3, 4), 0.6))
    heights = flights.fleet.state.position[:, 2]
    assert (heights > starts + 0.2).all()
    assert outcome.reward == pytest.approx(1.0 - abs(heights), abs=1e-6)
    assert not outcome.over.any()
    for _ in range(60):
        outcome = flights.step(np.tile([1.0, 1.0, -1.0, -1.0], (3, 1)))
    assert outcome.terminated.all()


@pytest.mark.parametrize(
    ("field", "value"), [("substeps", 0), ("substeps", 1.5), ("duration", -1.0), ("effort", 0.0)]
)
def test_bad_parameters(field, value):
    """Parameters of a task that are not allowed are refused, with their name."""
    with pytest.raises(ConfigError, match=f"{field} = {value}: must be"):
        Climb(**{field: value})


def test_actions_change_the_commands_of_hover():
    """Rotors begin at the speed of hover, which holds the height; actions change it by a share."""
    flights = Flights(Climb(vehicle="iris", effort=0.2), 1)
    flights.begin(np.ones(1, dtype=bool))
    rest, low, high = flights.episodes.rest_speed, flights.low, flights.high
    assert flights.fleet.state.rotor_speed[0] == pytest.approx(rest, rel=1e-6)
    assert low == pytest.approx(0.8 * rest)
    assert high == pytest.approx(np.minimum(1.2 * rest, 718.0))
    start = float(flights.fleet.state.position[0, 2])
    for _ in range(20):
        flights.step((2.0 * (rest - low) / (high - low) - 1.0)[None])
    assert flights.fleet.state.position[0, 2] == pytest.approx(start, abs=1e-3)
