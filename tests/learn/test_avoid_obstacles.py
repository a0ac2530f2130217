"""Tests of flying through obstacles: what the camera sees, how an episode ends, other pillars."""

import numpy as np
import pytest

from pegasus.base.errors import ConfigError
from pegasus.learn import Flights
from pegasus.learn.tasks import AvoidObstacles

HOVER = 0.0


@pytest.fixture(scope="module")
def flights():
    """Return flights of four rows among three pillars."""
    return Flights(AvoidObstacles(pillars=3, tilt=0.0, speed=0.0), 4, seed=3)


def stand(flights, row, *pillars):
    """Place the pillars of a row, x and y each [m]; others far away."""
    numbers = np.tile((0.0, 0.0, -100.0), (3, 1))
    for k, (x, y) in enumerate(pillars):
        numbers[k] = x, y, 0.0
    flights.fleet.columns["cylinders.position"][:, row] = numbers.ravel()
    flights.fleet.columns["cylinders.size"][:, row] = np.tile((0.2, 2.5, 0.0), 3)


def test_pillars_are_drawn_anew(flights):
    """Pillars differ between rows and episodes, stand in the lane, and are those of a seed."""
    every, one = np.ones(4, dtype=bool), np.arange(4) == 2
    flights.start(9)
    flights.begin(every)
    columns = flights.fleet.columns
    first = columns["cylinders.position"][:, :4].copy()
    assert len({tuple(row) for row in first.T.tolist()}) == 4
    x, y = first[0::3], first[1::3]
    assert ((x >= 1.5) & (x <= 6.5) & (abs(y) <= 3.0)).all()
    flights.begin(one)
    assert (columns["cylinders.position"][:, :4] != first).any(axis=0).tolist() == one.tolist()
    flights.start(9)
    flights.begin(every)
    assert np.array_equal(columns["cylinders.position"][:, :4], first)


def test_the_camera_sees_a_pillar(flights):
    """A pillar ahead is near in the middle columns of the image, and not at the sides; others see none."""
    flights.begin(np.ones(4, dtype=bool))
    flights.fleet.state.position[...] = (0.0, 0.0, 1.2)
    flights.fleet.state.orientation[...] = (0.0, 0.0, 0.0, 1.0)
    for row in range(4):
        stand(flights, row)
    stand(flights, 1, (2.0, 0.0))
    seen = flights.observe()[:, :192].reshape(4, 12, 16)
    assert seen[1, 5, 7:9] == pytest.approx(1.0 - 1.8 / 5.0, abs=0.01)
    assert seen[1, 5, [0, 15]] == pytest.approx(0.0, abs=1e-6)
    assert seen[[0, 2, 3], 5] == pytest.approx(0.0, abs=1e-6)
    # Ground is seen in the lower half, by its distance along the middle axis.
    assert seen[0, 11, 8] > 0.5
    assert not seen[0, 0].any()


@pytest.mark.parametrize(
    ("place", "failed"),
    [
        ((2.0, 0.0, 1.2), False),
        ((2.75, 0.0, 1.2), True),
        ((2.0, 0.0, 0.05), True),
        ((2.0, 3.1, 1.2), True),
        ((2.0, 0.0, 2.6), True),
        ((-1.2, 0.0, 1.2), True),
    ],
)
def test_touching_ends_an_episode(flights, place, failed):
    """Touching a pillar or the ground, or leaving the lane, fails; flying in it does not."""
    flights.begin(np.ones(4, dtype=bool))
    for row in range(4):
        stand(flights, row, (3.0, 0.0))
    flights.fleet.state.position[...] = place
    outcome = flights.step(np.full((4, 4), HOVER))
    assert outcome.failed.tolist() == [failed] * 4
    assert not outcome.finished.any()


def test_the_end_of_the_lane(flights):
    """An episode is done at the place at the end, with a reward for it."""
    flights.begin(np.ones(4, dtype=bool))
    flights.fleet.state.position[...] = flights.episodes.goal["position"] + (-0.2, 0.1, 0.0)
    outcome = flights.step(np.full((4, 4), HOVER))
    assert outcome.finished.all()
    assert (outcome.reward > 15.0).all()


def test_bad_parameters():
    """A lane that cannot be is named by its field, and so is a sense that nothing gives."""
    for wrong in ({"pillars": 0}, {"radius": (0.3, 0.1)}, {"clear": 4.0}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            AvoidObstacles(**wrong)
    flights = Flights(AvoidObstacles(pillars=1), 1)
    with pytest.raises(ConfigError, match=r"sense = 'smell'.*Task\.senses"):
        flights.episodes.sensed("smell")
