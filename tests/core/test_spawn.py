"""Start positions of vehicles that are given none; tests/worlds/test_every_world.py tries each world."""

import math

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.config.scenario import WorldSpec, parse
from pegasus.core.assembly import world_of


def test_a_position_is_exact():
    """A position or heading that was given would be moved to a spawn point."""
    with Simulation("box_room") as simulation:
        x, y, _ = simulation.world.spawn_points[0].position
        placed = simulation.add(Multirotor("iris", position=(x, y, 1.2)))
        assert placed.state.position.tolist() == [[x, y, 1.2]]
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


def test_more_vehicles_than_spawn_points():
    """Vehicles added one by one would leave a spawn point free, or stand in each other once all are taken."""
    with Simulation("box_room") as simulation:
        points = [point.position[:2] for point in simulation.world.spawn_points]
        added = [simulation.add(Multirotor("iris", sensors={})) for _ in range(len(points) + 3)]
        places = np.array([vehicle.state.position[0, :2] for vehicle in added])
        np.testing.assert_allclose(places[: len(points)], points)
        gaps = np.linalg.norm(places[:, None] - places, axis=2) + 10.0 * np.eye(len(added))
        assert gaps.min() > 2 * added[0].start.radius
        assert len(simulation.engine.contacts().body) == 0


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


def test_a_named_spawn_point():
    """Vehicles would start elsewhere, look elsewhere, or stand in each other."""
    with Simulation("courtyard") as simulation:
        (terrace,) = [p for p in simulation.world.spawn_points if p.name == "terrace"]
        first = simulation.add(Multirotor("iris", position="terrace"))
        assert tuple(first.state.position[0]) == terrace.position
        assert 2 * np.arctan2(*first.start.orientation[0, 2:]) == pytest.approx(terrace.heading)
        others = simulation.add(Multirotor("iris", count=3, position="terrace", heading=0.5))
        away = others.state.position - terrace.position
        assert np.sqrt((away * away).sum(axis=1)).max() < 4.0
        assert 2 * np.arctan2(*others.start.orientation[0, 2:]) == pytest.approx(0.5)
        assert len(simulation.engine.contacts().body) == 0
        first.place("terrace", velocity=(0.0, 0.0, 1.0))
        np.testing.assert_allclose(first.state.position, [terrace.position])
        np.testing.assert_allclose(first.state.heading, terrace.heading)
        others.place("spawn_2", heading=0.25, copies=1)
        np.testing.assert_allclose(others.state.position[1], simulation.world.spawn_points[1].position)
        assert others.state.heading[1] == pytest.approx(0.25)
        with pytest.raises(ConfigError, match="position = 'spawn_2': is a place for one copy; give copies=0"):
            others.place("spawn_2")
        with pytest.raises(ConfigError, match=r"'terace': no such spawn point; .* did you mean terrace\?"):
            simulation.add(Multirotor("iris", position="terace"))
        with pytest.raises(ConfigError, match=r"'terrace': is too small: the world has room for \d+ of 500"):
            simulation.add(Multirotor("iris", count=500, position="terrace"))


def test_names_of_spawn_points():
    """A spawn point without a name could not be used by name, or one of two would never be found."""
    points = [{"position": (0, 0, 0.1)}, {"name": "roof", "position": (0, 0, 9)}, {"position": (1, 0, 0.1)}]
    spec = WorldSpec(name="mine", generator={"model": "flat"}, spawn_points=points)
    with Simulation(spec) as simulation:
        assert [p.name for p in simulation.world.spawn_points] == ["spawn_1", "roof", "spawn_3"]
    points[2]["name"] = "roof"
    with pytest.raises(ConfigError, match=r"spawn_points = 'roof': is the name of two spawn points"):
        parse({"name": "mine", "usd": "mine.usda", "spawn_points": points}, WorldSpec)
