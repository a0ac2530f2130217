"""Visuals of a simulation: poses of bodies and propellers, added and removed objects, choice of renderer."""

import math
import sys

import numpy as np
import pytest
from analytic_renderer import GROUND, AnalyticRenderer

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_rotation_vector
from pegasus.cameras import Pinhole
from pegasus.render import View

DOWN = np.array([[0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])


def simulation(**parameters):
    renderer = AnalyticRenderer()
    return Simulation("flat", renderer=renderer, **parameters), renderer


def view_from(height):
    return View(Pinhole(horizontal_fov=1.0), (9, 9), np.array([0.0, 0.0, height]), DOWN)


def test_bodies_are_where_the_state_says():
    """An image would show vehicles at other poses than those of the physics."""
    sim, _ = simulation()
    iris = sim.add(Multirotor("iris", count=2, position=[(0, 0, 2), (3, 1, 4)], heading=(0.4, -1.0)))
    sim.step(30)
    snapshot = sim.visuals.snapshot(sim.time)
    poses = snapshot.entity_poses
    assert list(poses) == ["/World/iris/0", "/World/iris/1"]
    for row, pose in enumerate(poses.values()):
        np.testing.assert_array_equal(pose[:3, 3], iris.state.position[row])
        np.testing.assert_allclose(pose[:3, :3], iris.state.rotation[row], atol=1e-15)
    paths = [item.path for item in snapshot.objects]
    assert len(set(paths)) == len(paths) == len(snapshot.poses) == 2 * (1 + 4)
    # Copies share what is built from them.
    assert snapshot.objects[0].scene is snapshot.objects[5].scene


def test_propellers_turn_about_their_axes():
    """Propellers would stand still, leave their motors, turn the wrong way, or ignore their tilt."""
    for model in ("iris", "tilted_hexarotor"):
        sim, _ = simulation()
        vehicle = sim.add(Multirotor(model, position=(0, 0, 3)))
        sim.step()
        layout = vehicle.layout
        vehicle.columns["rotor_speed"][...] = speed = np.linspace(100, 200, layout.count)[None]
        now = sim.visuals.snapshot(0.0)
        later = now.at(1e-3)
        body = vehicle.state.rotation[0]
        for index, item in enumerate(now.objects[1:]):
            before, after = now.poses[index + 1], later.poses[index + 1]
            # All of a propeller, in its own frame, is near the axis that it turns about.
            corners = np.concatenate(
                [
                    item.scene.geometries[i.geometry].vertices @ i.transform[:3, :3].T + i.transform[:3, 3]
                    for i in item.scene.instances
                ]
            )
            assert np.abs(corners[:, :2]).max() < 0.6 * vehicle.spec.propeller.diameter
            np.testing.assert_allclose(np.abs(corners[:, 2]).max(), 0.0, atol=0.05)
            np.testing.assert_allclose(before[:3, 3], after[:3, 3], atol=0.02)
            turn = after[:3, :3] @ before[:3, :3].T
            axis = body @ layout.axis[index] * layout.spin[index]
            expected = matrix_from_quaternion(quaternion_from_rotation_vector(axis * speed[0, index] * 1e-3))
            np.testing.assert_allclose(turn, expected, atol=2e-4)


def test_propellers_at_rest_are_as_drawn():
    """The parts of a vehicle would not meet: at rest every part is where its file puts it."""
    sim, _ = simulation()
    vehicle = sim.add(Multirotor("iris", position=(1, 2, 3), heading=0.5))
    snapshot = sim.visuals.snapshot(7.0)
    body = snapshot.poses[0]
    placed = {
        i.path: pose @ i.transform
        for item, pose in zip(snapshot.objects, snapshot.poses, strict=True)
        for i in item.scene.instances
    }
    assert placed.keys() == {i.path for i in vehicle.asset.scene.instances}
    for i in vehicle.asset.scene.instances:
        np.testing.assert_allclose(placed[i.path], body @ i.transform, atol=1e-12)


def test_a_moment_later():
    """Sub-frames would show other places than those of constant velocities; against the closed form."""
    sim, _ = simulation()
    iris = sim.add(Multirotor("iris", position=(0, 0, 5)))
    sim.play()
    iris.place((0, 0, 5), heading=0.3, velocity=(1.0, -2.0, 0.5), angular_velocity=(0.0, 0.0, 2.0))
    snapshot = sim.visuals.snapshot(1.0)
    later = snapshot.at(0.02)
    assert later.time == 1.02
    assert snapshot.at(0.0) is snapshot
    np.testing.assert_allclose(later.position[0], [0.02, -0.04, 5.01], atol=1e-15)
    pose = later.entity_poses["/World/iris"]
    np.testing.assert_allclose(pose[:2, 0], [math.cos(0.34), math.sin(0.34)], atol=1e-12)
    # The first one is still what it was, and so it stays whatever the simulation does.
    sim.step(50)
    np.testing.assert_array_equal(snapshot.position[0], [0, 0, 5])


def test_objects_come_and_go():
    """A removed vehicle would stay in the image, or a new one with its name be drawn as the old one."""
    sim, renderer = simulation()
    first = sim.add(Multirotor("iris", name="one", position=(0, 0, 2)))
    early = sim.visuals.snapshot(0.0)
    sim.remove(first)
    sim.add(Multirotor("crazyflie", name="one", position=(1, 0, 2)))
    sim.add(Multirotor("iris", name="two", position=(3, 0, 2)))
    late = sim.visuals.snapshot(0.0)
    for snapshot in (early, late, early):
        sim.visuals.render(snapshot, view_from(9.0), ("entity",))
        assert [renderer.objects[item.path][0] for item in snapshot.objects] == snapshot.objects
        assert len(renderer.objects) == len(snapshot.objects)
    sim.visuals.render(late, view_from(9.0), ("entity",), hidden=("/World/one",))
    assert {item.entity.path for item, _ in renderer.objects.values()} == {"/World/two"}
    # In another order they are still themselves.
    sim.remove("one")
    sim.add(Multirotor("iris", name="one", position=(-3, 0, 2)))
    poses = sim.visuals.snapshot(0.0).entity_poses
    assert {path: pose[0, 3] for path, pose in poses.items()} == {"/World/two": 3.0, "/World/one": -3.0}


def test_rays_meet_what_a_snapshot_holds():
    """A lidar would hit the world of another instant."""
    sim, _ = simulation()
    iris = sim.add(Multirotor("iris", position=(0, 0, 2)))
    before = sim.visuals.snapshot(0.0)
    iris.place((0, 0, 3))
    after = sim.visuals.snapshot(0.0)
    origin, down = np.array([[0.0, 0.0, 9.0]]), np.array([[0.0, 0.0, -1.0]])
    distances = [float(sim.visuals.cast(s, origin, down, 100.0).distance[0]) for s in (before, after, before)]
    assert distances == pytest.approx([6.9, 5.9, 6.9])
    hidden = sim.visuals.cast(before, origin, down, 100.0, hidden=("/World/iris",))
    assert hidden.distance[0] == pytest.approx(9.0)
    assert sim.visuals.entities[hidden.entity[0]].path == GROUND.path


def test_a_closed_simulation_draws_no_more():
    """The renderer would stay in memory, or an image requested afterwards end in a crash."""
    sim, renderer = simulation()
    snapshot = sim.visuals.snapshot(0.0)
    sim.visuals.render(snapshot, view_from(2.0), ("distance",))
    sim.close()
    assert renderer.closed
    sim.visuals.close()
    with pytest.raises(RuntimeError, match="this simulation is closed"):
        sim.visuals.render(snapshot, view_from(2.0), ("distance",))


def test_names_of_renderers(monkeypatch):
    """A typing mistake, or an extra that is not installed, would end in a traceback."""
    with pytest.raises(ConfigError, match="renderer = 'opengl': must be auto, embree or mitsuba"):
        Simulation("flat", renderer="opengl")
    monkeypatch.setitem(sys.modules, "embreex", None)
    monkeypatch.setitem(sys.modules, "mitsuba", None)
    for name, extra in (("auto", "render"), ("embree", "render"), ("mitsuba", "photo")):
        sim = Simulation("flat", renderer=name)
        sim.step()
        with pytest.raises(ConfigError) as error:
            sim.visuals.render(sim.visuals.snapshot(0.0), view_from(2.0), ("distance",))
        assert f"pip install pegasus-multirotor[{extra}]" in str(error.value)
        assert "\n" not in str(error.value)
