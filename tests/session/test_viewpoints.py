"""Tests of the initial camera poses: the view of the world's thumbnail, then the added vehicles."""

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.cli.thumbnails import SIZE, load_world_view
from pegasus.session.snapshot import ViewpointSuggestions, vehicle_viewpoint, world_viewpoint


def direction(view):
    """Return the unit vector along which a view looks."""
    ahead = np.subtract(view.target, view.position)
    return ahead / np.linalg.norm(ahead)


def room_around(simulation, eye):
    """Return the distance from a point to the nearest surface [m]."""
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    hits = simulation.engine.raycast(np.tile(eye, (6, 1)), axes, 100.0, skip=np.full(6, -1))
    return np.where(hits.hit, hits.distance, np.inf).min()


@pytest.mark.parametrize("name", ["flat", "box_room", "box_with_cylinders", "hangar"])
def test_a_world_opens_as_its_thumbnail_shows_it(name):
    """If this fails, a page opens outside the building, inside a trunk or at the sky."""
    scene, thumbnail = load_world_view(name, SIZE)
    with Simulation(name) as simulation:
        view = world_viewpoint(scene, simulation.world.spawn_points)
        np.testing.assert_allclose(view.position, thumbnail.position, atol=1e-9)
        np.testing.assert_allclose(direction(view), thumbnail.rotation[:, 2], atol=1e-9)
        # Users orbit the view around its target.
        assert 3.0 <= np.linalg.norm(np.subtract(view.target, view.position)) <= 40.0
        assert room_around(simulation, view.position) > 0.2


@pytest.mark.parametrize("heading", [0.0, 1.5, 3.0, -1.5])
@pytest.mark.parametrize("position", [(0, 0, 0.1), (-5.6, 0, 0.1), (5.6, 4.6, 0.1), (-5.6, -4.6, 0.1)])
def test_a_vehicle_is_seen_from_within_the_room(position, heading):
    """If this fails, a vehicle added near a wall is viewed from outside, through that wall."""
    with Simulation("box_room") as simulation:
        vehicle = simulation.add(Multirotor("iris", position=position, heading=heading))
        view = vehicle_viewpoint(simulation, [vehicle])
        eye, target = np.array(view.position), np.array(view.target)
        np.testing.assert_allclose(target, vehicle.state.position[0])
        assert (np.abs(eye) < [6.0, 5.0, 4.0]).all()
        assert room_around(simulation, eye) > 0.2
        distance = np.linalg.norm(eye - target)
        assert 1.0 < distance < 4.0
        hits = simulation.engine.raycast(eye[None], direction(view)[None], 10.0, skip=np.array([-1]))
        assert hits.hit[0]
        # The first surface along the view is the vehicle.
        assert distance - 0.5 < hits.distance[0] <= distance


def test_a_vehicle_in_the_open_is_seen_from_behind():
    """If this fails, the initial view shows a vehicle's nose, with left and right exchanged."""
    with Simulation("flat") as simulation:
        vehicle = simulation.add(Multirotor("iris", position=(3, 4, 0.1), heading=2.0))
        assert direction(vehicle_viewpoint(simulation, [vehicle])) @ [np.cos(2.0), np.sin(2.0), 0.0] > 0.5


@pytest.mark.parametrize(("count", "spacing", "all_of_them"), [(9, 2.0, True), (100, 20.0, False)])
def test_copies_are_seen_together(count, spacing, all_of_them):
    """If this fails, the view shows one of nine copies, or a hundred as dots."""
    with Simulation("flat") as simulation:
        vehicle = simulation.add(Multirotor("iris", count=count, spacing=spacing, position=(0, 0, 0.1)))
        view = vehicle_viewpoint(simulation, [vehicle])
        offsets = vehicle.state.position - view.position
        cosines = offsets @ direction(view) / np.linalg.norm(offsets, axis=1)
        assert bool(cosines.min() > np.cos(np.radians(35.0))) is all_of_them
        assert np.linalg.norm(offsets, axis=1).min() < 25.0


def test_a_view_lasts_until_something_is_added():
    """If this fails, the camera moves while its user views the scene, or stays where nothing is."""
    suggestions = ViewpointSuggestions()
    with Simulation("box_room") as simulation:
        opening = suggestions.update(simulation)
        assert opening == world_viewpoint(simulation.scene, simulation.world.spawn_points)
        simulation.step(3)
        assert suggestions.update(simulation) is opening
        simulation.add(Multirotor("iris"))
        first = suggestions.update(simulation)
        assert first != opening
        simulation.step(3)
        assert suggestions.update(simulation) is first
        second = simulation.add(Multirotor("iris", position=(3, 0, 0.1)))
        other = suggestions.update(simulation)
        np.testing.assert_allclose(other.target, second.start.position[0], atol=0.01)
        simulation.remove(second.name)
        assert suggestions.update(simulation) is other
        # A new vehicle with the same name is another vehicle.
        simulation.add(Multirotor("iris", name=second.name, position=(-3, 0, 0.1)))
        assert suggestions.update(simulation) is not other
    with Simulation("flat") as simulation:
        simulation.add(Multirotor("iris", position=(1, 2, 0.1)))
        np.testing.assert_allclose(suggestions.update(simulation).target, (1, 2, 0.1), atol=0.01)
