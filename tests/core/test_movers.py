"""Tests of movers in a simulation: landing, doors, images, labels, and runs that stay the same."""

import math

import numpy as np
import pytest

from pegasus import ConfigError, McapRecorder, Multirotor, Simulation, read_log
from pegasus.backends.scenario import scenario_simulation
from pegasus.config import load_scenario
from pegasus.control import GeometricController, trajectories
from pegasus.labels.entities import EntityTable
from pegasus.movers import Mover, SolidMover
from pegasus.sensors import Rangefinder

PLATFORM = {
    "name": "platform",
    "label": "platform",
    "box": [3.0, 3.0, 0.2],
    "center": [0.0, 0.0, -0.1],
    "motion": {"model": "oscillation", "position": [0, 0, 1.0], "amplitude": [1.5, 0.5, 0], "period": 9.0},
}
DOOR = {
    "name": "door",
    "label": "door",
    "box": [0.9, 0.05, 2.0],
    "center": [0.45, 0.0, 1.0],
    "motion": {"model": "hinge", "position": [1, 0, 0], "times": [0, 2, 4], "angles": [0, 0, 1.5]},
}


class Approach(trajectories.Trajectory):
    """Flight above a mover that begins and ends on it."""

    duration = 9.0

    def __init__(self, mover, start):
        self.mover, self.start = mover, start

    def sample(self, t):
        """Return a point above the mover; the rotors idle before it starts and after it has landed."""
        position, _ = self.mover.poses(t + self.start)
        height = 1.0 - math.cos(math.pi * min(t / 4.0, 1.0)) if t < 4.0 else max(2.0 - 0.5 * (t - 4.0), 0.0)
        return trajectories.Point(tuple(position[0] + [0.0, 0.0, 0.5 * height + 0.05]), yaw=0.0, idle=t > 8.2)


def angle(door, t):
    """Return the angle of a door [rad]."""
    _, orientation = door.poses(t)
    return 2 * math.atan2(orientation[0, 2], orientation[0, 3])


def test_a_vehicle_lands_on_a_moving_platform_and_is_carried():
    """A vehicle that lands would be left behind, or slide off while its weight holds it by friction."""
    with Simulation("flat", seed=2) as simulation:
        platform = simulation.add_mover(PLATFORM)
        fly = GeometricController(Approach(platform, start=3.25), relative=False, spin_up=1.5)
        iris = simulation.add(Multirotor("iris", position=(0.0, 0.0, 1.1), backends=[fly]))
        simulation.run(7.0)
        assert not iris.contacts
        assert iris.state.position[0, 2] > 1.8
        simulation.run(5.5)
        start = iris.state.position - platform.motion(simulation.time).position
        for _ in range(10):
            simulation.run(0.5)
            motion = platform.motion(simulation.time)
            assert {contact.other for contact in iris.contacts} == {"/World/platform/shape"}
            np.testing.assert_allclose(iris.state.velocity, motion.velocity, atol=1e-4)
            np.testing.assert_allclose(iris.state.position - motion.position, start, atol=1e-3)


def test_rays_hit_the_door_where_it_is():
    """A sensor would see the door where it was a step before, or not see that it opens."""
    with Simulation("flat", seed=1) as simulation:
        door = simulation.add_mover(DOOR)
        ahead = Rangefinder(
            direction=(0, 1, 0), position=(0, 0, 0.5), noise_sigma=0.0, proportional_noise=0.0, rate_hz=250.0
        )
        iris = simulation.add(
            Multirotor("iris", position=(1.3, -2.0, 0.1), extra_sensors={"ahead": ahead}, backends=[])
        )

        def distance(t, x, y):
            # To the face of the leaf, 2.5 cm before its middle.
            a = angle(door, t)
            return (x - 1.0) * math.tan(a) - 0.025 / math.cos(a) - y

        for duration in (1.0, 1.5, 0.3):
            simulation.run(duration)
            now, before = simulation.time, simulation.time - simulation.dt
            hit = simulation.engine.raycast(
                np.array([[1.3, -2.0, 1.5]]), np.array([[0.0, 1.0, 0.0]]), 20.0, skip=np.array([-1])
            )
            assert hit.distance[0] == pytest.approx(distance(now, 1.3, -2.0), abs=1e-9)
            x, y, _ = iris.state.position[0]
            # The newest reading is of the start of the last step.
            assert iris.readings["ahead"].distance[0] == pytest.approx(distance(before, x, y), abs=1e-6)
        simulation.run(2.0)
        assert not iris.readings["ahead"].distance[0] < 5.0


def test_a_door_pushes_a_vehicle_out_of_its_way():
    """A leaf would pass through a vehicle that stands in its way, or stop at it."""
    with Simulation("flat") as simulation:
        door = simulation.add_mover(DOOR)
        iris = simulation.add(Multirotor("iris", position=(1.4, 0.6, 0.1)))
        simulation.run(2.0)
        start = iris.state.position.copy()
        simulation.run(3.0)
        assert np.linalg.norm(iris.state.position - start) > 0.3
        # Its centre is on the far side of the open leaf.
        x, y, _ = iris.state.position[0] - [1.0, 0.0, 0.0]
        a = angle(door, simulation.time)
        assert -x * math.sin(a) + y * math.cos(a) > 0.1


def test_renderers_draw_movers_where_they_are():
    """An image or a lidar would show a mover at another instant, or no mover at all."""
    with Simulation("flat") as simulation:
        door = simulation.add_mover(DOOR)
        for _ in range(3):
            simulation.run(1.1)
            snapshot = simulation.visuals.snapshot(simulation.time)
            found = simulation.visuals.cast(
                snapshot, np.array([[1.3, -2.0, 1.5]]), np.array([[0.0, 1.0, 0.0]]), 20.0
            )
            a = angle(door, simulation.time)
            distance = 0.3 * math.tan(a) - 0.025 / math.cos(a) + 2.0
            if a < 1.3:
                assert found.distance[0] == pytest.approx(distance, abs=1e-5)
                assert simulation.visuals.entities[found.entity[0]].path == "/World/door"
        # An older snapshot still shows the past.
        early = simulation.visuals.snapshot(0.5)
        found = simulation.visuals.cast(
            early, np.array([[1.3, -2.0, 1.5]]), np.array([[0.0, 1.0, 0.0]]), 20.0
        )
        assert found.distance[0] == pytest.approx(1.975, abs=1e-5)


def test_labels_have_the_derivative_of_the_poses_as_velocity():
    """A tracker would learn velocities that are not those of the boxes, or an id that changes."""
    with Simulation("flat") as simulation:
        simulation.add_mover(PLATFORM)
        simulation.add_mover(DOOR)
        table = EntityTable(simulation.scene)
        boxes, ids = [], []
        h = 1e-4
        for t in (2.5 - h, 2.5, 2.5 + h):
            snapshot = simulation.visuals.snapshot(t)
            simulation.visuals.cast(snapshot, np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), 1.0)
            labelled = table.entities(
                simulation.visuals.entities,
                snapshot.objects,
                snapshot.poses,
                None,
                snapshot.entity_velocities,
            )
            ids.append([k for k, item in enumerate(labelled) if item.label in ("platform", "door")])
            boxes.append([labelled[k] for k in ids[-1]])
        assert ids[0] == ids[1] == ids[2]
        for before, now, after in zip(*boxes, strict=True):
            assert now.shape is not None
            speed = (after.pose[:3, 3] - before.pose[:3, 3]) / (2 * h)
            np.testing.assert_allclose(now.velocity, speed, atol=1e-8)
            turn = (after.pose[:3, :3] - before.pose[:3, :3]) @ now.pose[:3, :3].T / (2 * h)
            np.testing.assert_allclose(now.angular_velocity, [turn[2, 1], turn[0, 2], turn[1, 0]], atol=1e-7)
        assert np.abs(boxes[1][1].angular_velocity[2]) > 0.3
        np.testing.assert_allclose(boxes[1][0].shape.extent, [[-1.5, -1.5, -0.2], [1.5, 1.5, 0.0]], atol=1e-6)


def flight(*, mover=None, times=(), seed=5):
    """Return the positions of a flight beside which a mover comes and goes."""
    with Simulation("flat", seed=seed) as simulation:
        up, circle = trajectories.takeoff(height=1.0), trajectories.circle(radius=1.0, height=1.0)
        fly = GeometricController(trajectories.sequence(up, circle))
        iris = simulation.add(Multirotor("iris", position=(8.0, 0.0, 0.1), backends=[fly]))
        path = []
        for step in range(500):
            if mover is not None and step == times[0]:
                simulation.add_mover(mover)
            if mover is not None and step == times[1]:
                simulation.remove_mover(mover["name"])
            simulation.step()
            path.append(np.concatenate([iris.state.position[0], iris.state.angular_velocity[0]]))
        return np.array(path)


def test_a_mover_that_comes_and_goes_disturbs_no_one_else():
    """Another vehicle's flight would change in its last bits when a mover is added or removed."""
    alone = flight()
    np.testing.assert_array_equal(flight(mover=PLATFORM, times=(100, 300)), alone)
    np.testing.assert_array_equal(flight(mover=DOOR, times=(0, 499)), alone)


def test_runs_with_movers_repeat_bit_for_bit():
    """A second run, or the run after a reset, would differ though nothing else has changed."""
    paths = []
    with Simulation("flat", seed=3) as simulation:
        simulation.add_mover(PLATFORM)
        iris = simulation.add(Multirotor("iris", position=(0.3, 0.1, 1.2)))
        for _ in range(2):
            path = []
            for _ in range(400):
                simulation.step()
                path.append(iris.state.position[0].copy())
            paths.append(path)
            simulation.stop()
    np.testing.assert_array_equal(*paths)
    with Simulation({"extends": "flat", "movers": [PLATFORM]}, seed=3) as simulation:
        iris = simulation.add(Multirotor("iris", position=(0.3, 0.1, 1.2)))
        again = []
        for _ in range(400):
            simulation.step()
            again.append(iris.state.position[0].copy())
    np.testing.assert_array_equal(again, paths[0])


def test_a_custom_mover_of_two_parts():
    """A user's own class would need more than objects, shapes and poses."""

    class Scissors(Mover):
        name = "scissors"

        def __init__(self):
            still = {"model": "oscillation", "position": [0, 0, 0], "amplitude": [0, 0, 0], "period": 1}
            arms = [
                SolidMover({"name": f"scissors_{k}", "box": [1, 0.1, 0.1], "motion": still}) for k in (0, 1)
            ]
            self.objects = [arm.objects[0] for arm in arms]
            self.shapes = [arm.shapes[0] for arm in arms]

        def poses(self, t):
            half = 0.25 * math.sin(t)
            turns = [[0, 0, math.sin(s * half), math.cos(s * half)] for s in (1, -1)]
            return np.array([[3.0, 0, 1], [3.0, 0, 1.2]]), np.array(turns)

    with Simulation("flat") as simulation:
        simulation.add_mover(Scissors())
        simulation.run(0.5)
        down = np.array([[0.0, 0.0, -1.0]])
        hit = simulation.engine.raycast(np.array([[3.0, 0, 5.0]]), down, 9.0, skip=np.array([-1]))
        assert hit.distance[0] == pytest.approx(5.0 - 1.25, abs=1e-9)


def test_names_and_poses_are_checked():
    """Two objects would have one path, or a NaN reach the physics."""

    class Broken(SolidMover):
        def poses(self, t):
            position, orientation = super().poses(t)
            return position * (math.nan if t > 0.1 else 1.0), orientation

    with Simulation("flat") as simulation:
        simulation.add_mover(PLATFORM)
        with pytest.raises(ConfigError, match="is taken"):
            simulation.add_mover(PLATFORM)
        with pytest.raises(ConfigError, match="is taken"):
            simulation.add(Multirotor("iris", name="platform"))
        simulation.add_mover(Broken({**DOOR, "name": "broken"}))
        with pytest.raises(ConfigError, match=r"mover 'broken'.*poses at t ="):
            simulation.run(1.0)
    with pytest.raises(ConfigError, match=r"movers\.0\.motion\.times"):
        Simulation(
            {"extends": "flat", "movers": [{**DOOR, "motion": {**DOOR["motion"], "times": [3, 2, 1]}}]}
        )


def test_the_log_holds_the_poses_of_movers(tmp_path):
    """A replay would not know where a platform was, or a mover appear among the vehicles."""
    file = tmp_path / "flight.mcap"
    with Simulation("flat", seed=1, observers=[McapRecorder(file, state_rate=50)]) as simulation:
        platform = simulation.add_mover(PLATFORM)
        simulation.add(Multirotor("iris", position=(0.0, 0.0, 1.1)))
        simulation.run(1.0)
        door = simulation.add_mover(DOOR)
        simulation.run(2.0)
    log = read_log(file)
    assert log.vehicles == {"iris": 1}
    assert log.movers == {"platform": 1, "door": 1}
    for mover, count in ((platform, 150), (door, 100)):
        track = log[f"{mover.name}/state"]
        assert len(track) == count
        for k in (0, 60, -1):
            motion = mover.motion(float(track.time[k]))
            np.testing.assert_allclose(track.position[k], motion.position, atol=1e-12)
            np.testing.assert_allclose(track.orientation[k], motion.orientation, atol=1e-12)
            np.testing.assert_allclose(track.angular_velocity[k], motion.angular_velocity, atol=1e-7)


def test_the_shipped_scenario_rides_the_platform_and_passes_the_door():
    """The scenario would drop its vehicle, or fly it against the closed door."""
    simulation = scenario_simulation(*load_scenario("moving_platform"))
    with simulation:
        iris = simulation.vehicles["iris"]
        simulation.run(3.0)
        motion = simulation.movers["platform"].motion(3.0)
        np.testing.assert_allclose(iris.state.velocity, motion.velocity, atol=1e-4)
        assert motion.velocity[0, 0] > 0.5
        touched = set()
        for _ in simulation.stepping(15.0):
            touched |= {contact.other for contact in iris.contacts}
        assert "/World/door/shape" not in touched
        np.testing.assert_allclose(iris.state.position[0, :2], [8.0, 0.0], atol=0.1)


def test_vehicles_come_and_go_while_a_platform_carries_another():
    """Another vehicle's arrival would move the platform back to its start, or shake what it carries."""

    def carried(*, visitor):
        with Simulation("flat", seed=1) as simulation:
            platform = simulation.add_mover(PLATFORM)
            iris = simulation.add(Multirotor("iris", position=(0.5, 0.0, 1.1)))
            path = []
            for step in range(600):
                if visitor and step == 300:
                    place = platform.motion(simulation.time).position[0] + [-0.7, 0.0, 0.1]
                    simulation.add(Multirotor("iris", name="visitor", position=tuple(place)))
                if visitor and step == 500:
                    other = simulation.vehicles["visitor"]
                    assert {contact.other for contact in other.contacts} == {"/World/platform/shape"}
                    speed = platform.motion(simulation.time).velocity
                    np.testing.assert_allclose(other.state.velocity, speed, atol=1e-3)
                    simulation.remove("visitor")
                simulation.step()
                path.append(np.concatenate([iris.state.position[0], iris.state.orientation[0]]))
            return np.array(path)

    np.testing.assert_array_equal(carried(visitor=True), carried(visitor=False))
