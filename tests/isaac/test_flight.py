"""Flights through the code of the extension, on fakes with MuJoCo as physics."""

import dataclasses

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.core.simulation import Playback
from tests.isaac.contract import NEWEST, VERSIONS
from tests.isaac.trials import (
    MujocoOfStages,
    controller,
    flies_as_in_mujoco,
    flies_on_a_gpu_as_in_mujoco,
    flight,
    tumbles_as_in_mujoco,
)


@pytest.mark.parametrize(("version", "seconds"), [("5.1.0", 1.0), (NEWEST, 6.0)])
def test_a_flight_agrees_with_mujoco_directly(isaac, version, seconds):
    """The adapter would change the flight: an order of axes, a wrench, or a step."""
    kit = isaac(version, exact=True)
    way = flies_as_in_mujoco(kit, seconds=seconds)
    assert seconds < 6.0 or way.max() > 0.5
    assert kit.physics.steps_by == {"warmup": 2, "step": round(seconds * 250), "update": 0}


def test_a_flight_in_single_precision_stays_near(isaac):
    """A vehicle would not fly on Isaac Sim's single precision."""
    isaac()
    difference = flight("isaac", seconds=3.0) - flight("mujoco", seconds=3.0)
    assert np.abs(difference[:, :3]).max() < 1e-3


@pytest.mark.parametrize("version", VERSIONS)
def test_a_flight_on_a_gpu_agrees_with_mujoco(isaac, version):
    """A former state would be read, or a wrench applied before its copy has arrived."""
    flies_on_a_gpu_as_in_mujoco(isaac(version, exact=True))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_lopsided_body_tumbles_as_in_mujoco(isaac, version):
    """Velocities would be taken as the origin's, or torques as those in the world frame."""
    tumbles_as_in_mujoco(isaac(version, exact=True))


@pytest.mark.parametrize(("version", "seconds"), [("5.1.0", 2.0), (NEWEST, 11.0)])
def test_a_whole_flight_by_the_window(window, version, seconds):
    """Loading, adding, playing, flying, stopping or opening another stage would fail in sequence."""
    user = window(version, exact=True)
    kit = user.kit
    user.fly_square()
    kit.timeline.play()
    path = user.seen(seconds)
    assert kit.physics.steps_by["step"] == 0
    # As in a script without Isaac Sim, step by step.
    with Simulation("flat", engine=MujocoOfStages(), rate=250, seed=0) as direct:
        spec = user.vehicle.backends[0]
        other = direct.add(Multirotor("iris", position=(0.0, 0.0, 0.1), backends=[copied(spec)]))
        alone = [other.state.position[0].copy()]
        for _ in range(int(path[-1, 0])):
            direct.step()
            alone.append(other.state.position[0].copy())
    expected = np.array([alone[int(count)] for count in path[:, 0]])
    assert np.abs(path[:, 1:] - expected).max() < 1e-9
    if seconds > 10:
        assert np.ptp(path[:, 1:3], axis=0).min() > 1.4  # round the square
    assert path[-1, 0] == pytest.approx(seconds * 250, abs=5)

    kit.timeline.stop()
    user.update()
    assert user.simulation.playback is Playback.STOPPED
    assert user.simulation.step_count == 0
    np.testing.assert_allclose(user.vehicle.state.position, [[0.0, 0.0, 0.1]], atol=1e-12)
    kit.timeline.play()
    again = user.seen(0.5)
    np.testing.assert_array_equal(again, path[: len(again)])

    kit.context.new_stage()
    user.update()
    assert user.simulation is None
    assert kit.timeline.is_stopped()
    user.fly_square()
    kit.timeline.play()
    np.testing.assert_array_equal(user.seen(0.5), path[:30])


def copied(backend):
    """Return an unbound backend with the same parameters."""
    values = {f.name: getattr(backend, f.name) for f in dataclasses.fields(backend) if f.init}
    return type(backend)(**values)


def test_contacts_of_a_landed_vehicle_are_those_of_mujoco(isaac):
    """A contact would name a path of the stage, not of the world's file, or have another force."""
    isaac(exact=True)
    found = {}
    for engine in ("isaac", "mujoco"):
        with Simulation("courtyard", engine=engine, rate=250) as simulation:
            vehicle = simulation.add(
                Multirotor("iris", count=2, position=[(5, 5, 0.3), (0.0, 26.8, 5.6)], sensors={})
            )
            simulation.step(500)
            found[engine] = vehicle.contacts
            weight = -vehicle.mass * simulation.environment.gravity_vector(vehicle.position)
            for copy in range(2):
                total = sum(contact.force for contact in vehicle.contacts if contact.copy == copy)
                np.testing.assert_allclose(total, weight[copy], atol=1e-3)
    named = [{(c.copy, c.other, c.other_copy) for c in contacts} for contacts in found.values()]
    assert named[0] == named[1] == {(0, "/World/Ground/Collision", -1), (1, "/World/Roofs/North", -1)}


def test_contacts_of_colliding_vehicles_are_opposite_in_isaac_sim(isaac):
    """Only one of two vehicles would have the contact, whatever the order of PhysX's pair."""
    isaac(exact=True)
    with Simulation("flat", engine="isaac", rate=250) as simulation:
        one, two = (
            simulation.add(Multirotor("iris", name=name, position=(0, 0, height), sensors={}))
            for name, height in (("one", 50.0), ("two", 50.6))
        )
        simulation.step()
        two.place(one.position[0] + [0.0, 0.0, 0.6], velocity=(0, 0, -4.0))
        for _ in range(200):
            simulation.step()
            if two.contacts:
                break
        assert {(c.other, c.other_copy) for c in one.contacts} == {("two", 0)}
        assert {(c.other, c.other_copy) for c in two.contacts} == {("one", 0)}
        np.testing.assert_array_equal([c.force for c in one.contacts], [-c.force for c in two.contacts])
        assert np.linalg.norm(sum(c.force for c in one.contacts)) > 10.0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_vehicle_added_in_flight_on_a_gpu_disturbs_no_other(isaac, version, caplog):
    """PhysX would ignore the new body, or the start of physics anew change the flight of the others."""
    kit = isaac(version, exact=True)
    from pegasus.isaac.engine import IsaacEngine

    def flown(*, add):
        with Simulation(
            "flat", engine=IsaacEngine(rate=250, device="cuda:0"), rate=250, seed=3
        ) as simulation:
            first = simulation.add(Multirotor("iris", position=(0.0, 0.0, 0.1), backends=[controller()]))
            simulation.step(400)
            if add:
                late = simulation.add(Multirotor("iris", name="late", position=(5.0, 0.0, 5.0)))
                assert kit.physics.running is False
                assert "physics on cuda:0 starts anew" in caplog.text
            simulation.step(200)
            assert kit.device.is_cuda
            assert simulation.time == pytest.approx(2.4)
            if add:
                assert 5.0 - late.state.position[0, 2] == pytest.approx(0.5 * 9.81 * 0.8**2, abs=0.1)
                assert late.state.position[0, 0] == pytest.approx(5.0, abs=0.01)
            return np.hstack([first.state.position, first.state.orientation, first.state.velocity])

    alone = flown(add=False)
    assert np.abs(alone[0, 7:]).max() > 0.3
    np.testing.assert_allclose(flown(add=True), alone, rtol=0, atol=1e-9)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_vehicle_added_on_a_gpu_in_the_window_is_refused_in_one_line(isaac, version):
    """PhysX would ignore the new body, and the vehicle hang in the air."""
    kit = isaac(version)
    from pegasus.isaac.engine import IsaacEngine
    from pegasus.isaac.timeline_link import TimelineLink

    failures = []
    with Simulation("flat", engine=IsaacEngine(rate=250, device="cuda:0"), rate=250) as simulation:
        link = TimelineLink(simulation, play=simulation.play, failed=failures.append)
        simulation.add(Multirotor("iris", position=(0.0, 0.0, 5.0)))
        kit.timeline.play()
        kit.update()
        late = Multirotor("iris", name="late", position=(5.0, 0.0, 5.0))
        with pytest.raises(ConfigError) as error:
            simulation.add(late)
        assert str(error.value) == (
            "device = 'cuda:0': vehicles cannot be added while the timeline runs physics on the GPU; stop "
            "first, or use device cpu"
        )
        assert [vehicle.name for vehicle in simulation.vehicles] == ["iris"]
        kit.timeline.stop()
        kit.update()
        simulation.add(late)
        kit.timeline.play()
        for _ in range(5):
            kit.update()
        assert late.state.position[0, 2] < 5.0
        assert not failures
        kit.timeline.stop()
        kit.update()
        link.close()


def test_a_snapshot_is_refused(isaac):
    """A state without the contacts of the solver would be saved as if it were whole."""
    isaac()
    with Simulation("flat", engine="isaac") as sim:
        sim.add(Multirotor("iris"))
        sim.step()
        refused = r"^engine = 'IsaacEngine': keeps contacts of its own.*; use the engine mujoco$"
        with pytest.raises(ConfigError, match=refused):
            sim.snapshot()
