"""Tests of points at several times: those of each time alone, for every kind of trajectory."""

import math

import numpy as np
import pytest

from pegasus.control import trajectories
from pegasus.control.trajectories import Point, Trajectory

POINTS = ((0.0, 0.0, 1.0), (4.0, 0.0, 2.0), (4.0, 5.0, 2.0))


class Ramp(Trajectory):
    """Trajectory of a user, by `sample` alone, that idles at first."""

    duration = 3.0

    def sample(self, t):
        return Point((t, 0.0, 1.0), velocity=(1.0, 0.0, 0.0), idle=t < 1.0)

    def segment(self, t):
        return "early" if t < 2.0 else "late"


FLIGHTS = {
    "takeoff": lambda: trajectories.takeoff(2.0),
    "hold": lambda: trajectories.hold(height=2.0, yaw=0.3, duration=2.0),
    "idle": lambda: trajectories.idle(2.0),
    "circle": lambda: trajectories.circle(2.0, yaw="forward"),
    "lemniscate": lambda: trajectories.lemniscate(2.0),
    "square": lambda: trajectories.square(2.0, yaw="forward"),
    "relay": lambda: trajectories.relay(yaw="forward"),
    "waypoints": lambda: trajectories.waypoints(POINTS, yaw="forward"),
    "stops": lambda: trajectories.waypoints(POINTS, stop=True, yaw="forward"),
    "ring": lambda: trajectories.minimum_snap(POINTS, closed=True, laps=2, yaw="forward"),
    "race line": lambda: trajectories.race_line(
        [{"position": (0.0, 0.0, 2.0), "radius": 1.0}], yaw="forward"
    ),
    "user": Ramp,
    "sequence": lambda: trajectories.sequence(
        trajectories.takeoff(1.0), trajectories.circle(2.0, yaw=1.0), trajectories.land(height=0.0)
    ),
}


@pytest.mark.parametrize("name", FLIGHTS)
def test_points_made_ahead_are_those_of_each_time(name):
    """If this fails, a flight depends on the instants at which its points are made ahead."""
    flight = FLIGHTS[name]()
    times = np.array([flight.duration * k / 200 for k in range(201)])
    numbers, idle = flight.samples(times)
    for t, row, idles in zip(times.tolist(), numbers, idle, strict=True):
        point = flight.sample(t)
        np.testing.assert_array_equal(row[:12], np.ravel(point.motion))
        np.testing.assert_array_equal(
            row[12:], [math.nan if point.yaw is None else point.yaw, point.yaw_rate]
        )
        assert bool(idles) == point.idle
        alone, _ = flight.samples(np.array([t]))
        np.testing.assert_array_equal(alone[0], row)


def test_points_ahead_end_with_the_segment():
    """If this fails, steps are recorded under the name of another segment."""
    flight = trajectories.sequence(Ramp(), trajectories.hold(position=(3.0, 0.0, 1.0), duration=1.0))
    times = np.arange(0.0, 4.0, 0.125)
    first, names = 0, []
    while first < len(times):
        points, idle, name = flight.ahead(times[first:])
        names += [name] * len(points)
        assert len(idle) == len(points) > 0
        first += len(points)
    assert names == [flight.segment(t) for t in times.tolist()]
    assert {"early", "late"} < set(names)
