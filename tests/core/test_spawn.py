"""Start positions of vehicles that are given none; tests/worlds/test_every_world.py tries each world."""

import math

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.core.assembly import world_of


def test_a_position_is_exact():
    """A position or heading that was given would be moved to a spawn point."""
    with Simulation("forest") as simulation:
        placed = simulation.add(Multirotor("iris", position=(-0.3, 36.0, 1.2)))
        assert placed.state.position.tolist() == [[-0.3, 36.0, 1.2]]
        # It hovers over the first spawn point, which is taken by it.
        second = simulation.add(Multirotor("iris", heading=0.5))
        assert math.dist(second.state.position[0], simulation.world.spawn_points[0].position) > 1.0
        assert 2 * np.arctan2(*second.start.orientation[0, 2:]) == pytest.approx(0.5)


def test_no_spawn_points():
    """In a world without spawn points a vehicle would start elsewhere than at the origin."""
    world = world_of("flat")[0].model_copy(update={"spawn_points": []})
    with Simulation(world) as simulation:
        vehicle = simulation.add(Multirotor("iris"))
        assert vehicle.state.position.tolist() == [[0.0, 0.0, 0.1]]


def test_places_of_vehicles_to_come():
    """A vehicle without a position would take the position of one that is added after it."""
    with Simulation("flat") as simulation:
        exact = Multirotor("iris", position=(0.0, 0.0, 0.1))
        free = simulation.add(Multirotor("iris"), before=[exact])
        assert tuple(free.state.position[0]) == simulation.world.spawn_points[1].position
        simulation.add(exact)


def test_a_wall_beside_a_spawn_point():
    """Copies would stand in a wall, or behind it."""
    with Simulation("box_room") as simulation:
        # The grid of 8 by 8 is too long for the room of 12 m by 10 m.
        copies = simulation.add(Multirotor("iris", count=60))
        assert len(simulation.engine.contacts().body) == 0
        assert np.abs(copies.state.position[:, 2] - 0.1).max() < 1e-9
        x, y = np.abs(copies.state.position[:, :2]).max(axis=0) + copies.start.radius
        assert x < 6.0
        assert y < 5.0


def test_too_many():
    """Without room for all copies, some would start in walls, or the error would not name the limit."""
    with Simulation("box_room") as simulation, pytest.raises(ConfigError, match=r"room for \d+ of 100 "):
        simulation.add(Multirotor("iris", count=100))
