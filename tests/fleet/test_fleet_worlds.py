"""Tests of worlds of fleets from files: what they hold, and what is named that they cannot hold."""

import numpy as np
import pytest

from pegasus import Simulation
from pegasus.base.errors import ConfigError
from pegasus.fleet import Fleet, world_of_file


def test_a_room_from_its_file():
    """A vehicle in a shipped room stands on its floor and stays within its walls."""
    fleet = Fleet("iris", 2, world="box_room")
    fleet.reset(position=[(0.0, 0.0, 0.3), (5.0, 0.0, 0.3)], velocity=[(0.0, 0.0, 0.0), (6.0, 0.0, 0.0)])
    fleet.step(np.zeros(4), 1500)
    assert fleet.state.position[0, 2] == pytest.approx(0.087, abs=1e-3)
    assert fleet.state.position[1, 0] < 6.0
    assert fleet.state.clearance[1] > 0.0


def test_distances_are_those_of_the_engine():
    """Shapes of a file stand where the engine has them: rays down and aside hit them alike."""
    world = world_of_file("box_with_cylinders")
    assert world.cylinders.count == 30
    with Simulation(world="box_with_cylinders") as sim:
        shapes = [c for c in sim.scene.colliders if c.shape.value == "cylinder"]
        sizes = np.array([c.size for c in shapes])
        assert np.array_equal(world.cylinders.position, [c.position for c in shapes])
        assert np.array_equal(world.cylinders.size()[:, :2], sizes)
        assert world.ground == 0.0


def test_what_it_cannot_hold_is_named():
    """A mesh that is no terrain is named by its path; it can be left out."""
    with pytest.raises(ConfigError, match=r"world = 'courtyard'.*/World/Ramp.*partial=True"):
        Fleet("iris", 1, world="courtyard")
    with pytest.raises(ConfigError, match="at most 128"):
        world_of_file("courtyard", partial=True)
    near = world_of_file("courtyard", near=(0.0, 0.0, 1.0))
    assert "/World/Ramp" in near.left_out
    assert sum(shapes.count for shapes in near.sets().values()) == 128
