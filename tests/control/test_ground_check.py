"""Tests of the check of flights against the terrain of the world."""

import logging

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.control import GeometricController, trajectories

PLACES = np.array([[22.4, -67.3, 40.0], [60.0, 0.0, 40.0], [0.0, 60.0, 40.0]])
"""Places high above the hills, where copies begin their flights."""


def begin(caplog, flight, *, world="hills", position=PLACES[0], count=1, **parameters):
    """Return the vehicle's world heights below it and along 20 m in x, and the warnings at its first step."""
    caplog.clear()
    with Simulation(world) as sim:
        controller = GeometricController(flight, spin_up=0.0, **parameters)
        iris = sim.add(Multirotor("iris", count=count, position=position, backends=[controller]))
        offsets = np.stack([np.linspace(0.0, 20.0, 400), np.zeros(400), np.zeros(400)], axis=1)
        above = (iris.position[:, None] * (1.0, 1.0, 0.0) + offsets + (0.0, 0.0, 100.0)).reshape(-1, 3)
        down = np.tile((0.0, 0.0, -1.0), (len(above), 1))
        heights = 100.0 - sim.vehicles.cast(iris, above, down, 1e3).distance
        with caplog.at_level(logging.WARNING):
            sim.step()
    return heights.reshape(count, -1), [record.getMessage() for record in caplog.records]


def across(height):
    """Return a straight path of 20 m along x at a height."""
    return trajectories.waypoints(((0.0, 0.0, height), (20.0, 0.0, height)), ground=-100.0)


def test_a_path_through_a_hill(caplog):
    """If this fails, a path whose points are above z = 0 is flown into a hill without a word."""
    heights, lines = begin(caplog, across(60.0))
    assert lines == []
    highest = float(heights.max())
    height = highest - 2.0
    assert height > 10.0
    _, (line,) = begin(caplog, across(height))
    assert "trajectory of iris: " in line
    deepest = float(line.split(" m below the ground")[0].split()[-1])
    assert deepest == pytest.approx(2.0, abs=0.15)
    place = np.array(line.split("(")[1].split(")")[0].split(","), dtype=float)
    assert place[0] == pytest.approx(PLACES[0, 0] + heights.argmax() * 20.0 / 399.0, abs=1.5)
    # The remedy.
    assert begin(caplog, across(height + float(line.split("raise it by ")[1].split()[0])))[1] == []
    with pytest.raises(ConfigError, match="below the ground"):
        begin(caplog, across(height), strict=True)


def test_each_copy_has_its_own_ground(caplog):
    """If this fails, only the ground of the first copy is looked at."""
    heights, _ = begin(caplog, across(60.0), position=PLACES, count=3)
    peaks = heights.max(axis=1)
    order = np.argsort(peaks)
    assert peaks[order[2]] > peaks[order[1]] + 1.0
    height = float(peaks[order[1]]) + 0.5
    _, (line,) = begin(caplog, across(height), position=PLACES, count=3)
    deepest = float(line.split(" m below the ground")[0].split()[-1])
    assert deepest == pytest.approx(peaks[order[2]] - height, rel=0.1)
    # In world coordinates only the first is there.
    at_first = trajectories.waypoints(
        ((22.4, -67.3, 45.0), (22.4, -67.3, float(heights[0, 0]) - 1.0)), ground=-100.0
    )
    _, (line,) = begin(caplog, at_first, relative=False)
    assert "is 1 m below the ground" in line


@pytest.mark.parametrize("world", ["flat", "hills"])
def test_landings_and_flights_on_the_ground_pass(caplog, world):
    """If this fails, every landing warns."""
    height = 0.0 if world == "flat" else 60.0
    flight = trajectories.sequence(trajectories.takeoff(height=height + 2.0), trajectories.land())
    place = (0.0, 0.0, 0.1) if world == "flat" else PLACES[0]
    assert begin(caplog, flight, world=world, position=place)[1] == []
    low = trajectories.sequence(trajectories.takeoff(height=height + 2.0), trajectories.land(height=-30.0))
    assert begin(caplog, low, world=world, position=place)[1] == []


def test_a_tunnel_of_ones_own(caplog):
    """If this fails, the flat world's ground is not looked at under functions, which have no `ground`."""
    flight = trajectories.function(lambda t: (t, 0.0, 1.0 - 0.2 * t), duration=10.0)
    _, (line,) = begin(caplog, flight, world="flat", position=(0.0, 0.0, 2.0))
    assert "function at " in line
    assert "m below the ground" in line
