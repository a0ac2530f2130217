"""Vehicles that are given no position."""

import itertools
import math

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.assembly import world_of
from pegasus.settings import names


def require_free(simulation):
    """Assert that no vehicle touches anything, and that all stand on the ground where they are."""
    positions = simulation.vehicles.bodies.position.copy()
    assert len(simulation.engine.contacts().body) == 0
    radii = np.repeat([v.radius for v in simulation.vehicles], [v.count for v in simulation.vehicles])
    for a, b in itertools.combinations(range(len(positions)), 2):
        assert math.dist(positions[a], positions[b]) > radii[a] + radii[b]
    simulation.step(round(0.5 * simulation.rate))
    bodies = simulation.vehicles.bodies
    moved = bodies.position - positions
    assert np.hypot(moved[:, 0], moved[:, 1]).max() < 0.3
    assert moved[:, 2].min() > -0.5


@pytest.mark.parametrize("world", names("worlds"))
def test_every_world(world):
    """The second line of a newcomer's script would start a vehicle in a tree, or in the first one."""
    with Simulation(world) as simulation:
        points = simulation.world.spawn_points
        first = simulation.add(Multirotor("iris"))
        assert tuple(first.state.position[0, :2]) == points[0].position[:2]
        assert 0.0 <= first.state.position[0, 2] - points[0].position[2] < 0.1
        heading = 2 * np.arctan2(*first.start_orientation[0, 2:])
        assert np.remainder(heading - points[0].heading + 0.1, 2 * np.pi) == pytest.approx(0.1)
        simulation.add(Multirotor("iris", count=7))
        simulation.add(Multirotor("heavy_octorotor"))
        simulation.add(Multirotor("crazyflie", count=30))
        for _ in points:
            simulation.add(Multirotor("iris"))
        require_free(simulation)


def test_a_position_is_exact():
    """A position or heading that was given would be moved to a spawn point."""
    with Simulation("forest") as simulation:
        placed = simulation.add(Multirotor("iris", position=(-0.3, 36.0, 1.2)))
        assert placed.state.position.tolist() == [[-0.3, 36.0, 1.2]]
        # It hovers over the first spawn point, which is taken by it.
        second = simulation.add(Multirotor("iris", heading=0.5))
        assert math.dist(second.state.position[0], simulation.world.spawn_points[0].position) > 1.0
        assert 2 * np.arctan2(*second.start_orientation[0, 2:]) == pytest.approx(0.5)


def test_no_spawn_points():
    """In a world without spawn points a vehicle would start elsewhere than at the origin."""
    world = world_of("flat")[0].model_copy(update={"spawn_points": []})
    with Simulation(world) as simulation:
        vehicle = simulation.add(Multirotor("iris"))
        assert vehicle.state.position.tolist() == [[0.0, 0.0, 0.1]]


def test_places_of_vehicles_to_come():
    """A vehicle without a position would take the place of one that is added after it."""
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
        x, y = np.abs(copies.state.position[:, :2]).max(axis=0) + copies.radius
        assert x < 6.0
        assert y < 5.0


def test_too_many():
    """Without room for all copies some would start in walls, or nobody be told how many there is room for."""
    with Simulation("box_room") as simulation, pytest.raises(ConfigError, match=r"room for \d+ of 100 "):
        simulation.add(Multirotor("iris", count=100))
