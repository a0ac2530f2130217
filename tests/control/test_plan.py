"""Tests of the remaining path of a flight, against the path that is flown."""

import numpy as np

from pegasus import Multirotor, Simulation
from pegasus.control import GeometricController, trajectories


def test_the_way_ahead_is_the_way_that_is_flown():
    """The panel would draw a path that the vehicle does not follow, or that of another copy."""
    flight = trajectories.sequence(
        trajectories.takeoff(height=2.0), trajectories.circle(radius=2.0, height=2.0, speed=2.0)
    )
    with Simulation("flat") as simulation:
        pilot = GeometricController(flight, spin_up=0.2)
        vehicle = simulation.add(Multirotor("iris", count=2, backends=[pilot], sensors={}))
        simulation.run(0.1)
        assert vehicle.plan(simulation.time) is None
        simulation.run(4.9)
        plan = vehicle.plan(simulation.time)
        paths = [plan.path(copy, horizon=4.0, interval=0.5) for copy in range(2)]
        assert [len(path) for path in paths] == [9, 9]
        for k in range(9):
            for copy, path in enumerate(paths):
                np.testing.assert_allclose(path[k], vehicle.reference.position[copy], atol=0.02)
            simulation.run(0.5)
        simulation.run(30.0)
        assert vehicle.plan(simulation.time) is None
        # A plan that was returned earlier does not change.
        np.testing.assert_array_equal(plan.path(horizon=4.0, interval=0.5), paths[0])
