"""Contacts of vehicles: with what, where, and how hard."""

import numpy as np
import pytest
from flyers import HIGH, PLAIN_IRIS

from pegasus import McapRecorder, Multirotor, Simulation, read_log


def test_contacts_of_a_landed_vehicle_carry_its_weight(tmp_path):
    """Contacts would be those of another copy, lack the ground's prim, or push with another force."""
    recorder = McapRecorder(tmp_path / "log")
    with Simulation("flat", observers=[recorder]) as sim:
        flying = sim.add(Multirotor(PLAIN_IRIS, position=HIGH, name="high", sensors={}))
        landed = sim.add(Multirotor(PLAIN_IRIS, count=3, name="low", position=(9, 0, 0.3), sensors={}))
        sim.step(500)
        assert flying.contacts == []
        weight = -sim.environment.gravity_vector(landed.state.position) * landed.mass
        for copy in range(landed.count):
            own = [contact for contact in landed.contacts if contact.copy == copy]
            np.testing.assert_allclose(sum(c.force for c in own), weight[copy], atol=1e-4)
            assert all(c.normal[2] == pytest.approx(1.0) for c in own)
            assert all(np.linalg.norm(c.position - landed.position[copy]) < 0.5 for c in own)
        assert {(c.other, c.other_copy) for c in landed.contacts} == {(sim.scene.colliders[0].path, -1)}
        points = [sum(c.copy == copy for c in landed.contacts) for copy in range(3)]
        sim.step()
        landed.place((9, 0, 5.0), copies=1)
        sim.step(3)
        assert {c.copy for c in landed.contacts} == {0, 2}
    log = read_log(tmp_path / "log")
    assert "high/contacts" not in log.topics
    found = log["low/contacts"]
    row = int(np.searchsorted(found.time, 2.0))
    assert found.time[0] > 0.1
    assert found.time[row] == 2.0
    assert found.contact_count[row].tolist() == points
    np.testing.assert_allclose(found.force[row], weight, atol=1e-4)
    assert found.others[row] == sim.scene.colliders[0].path
    assert found.contact_count[-1].tolist() == [points[0], 0, points[2]]


def test_vehicles_in_collision_name_each_other(tmp_path):
    """Only one of two vehicles would have the contact, or their forces would not be opposite."""
    recorder = McapRecorder(tmp_path / "log", state_rate=250.0)
    with Simulation("flat", observers=[recorder]) as sim:
        one = sim.add(Multirotor(PLAIN_IRIS, count=2, name="one", position=(0, 0, 50), sensors={}))
        two = sim.add(Multirotor(PLAIN_IRIS, name="two", position=(30, 0, 50), sensors={}))
        sim.step()
        two.place(one.position[1] + [0.0, 0.0, 0.6], velocity=(0, 0, -4.0))
        for _ in range(200):
            before = [vehicle.velocity.copy() for vehicle in (one, two)]
            sim.step()
            if two.contacts:
                break
        assert {(c.copy, c.other, c.other_copy) for c in one.contacts} == {(1, "two", 0)}
        assert {(c.copy, c.other, c.other_copy) for c in two.contacts} == {(0, "one", 1)}
        for mine, theirs in zip(one.contacts, two.contacts, strict=True):
            np.testing.assert_array_equal(mine.force, -theirs.force)
            np.testing.assert_array_equal(mine.normal, -theirs.normal)
            np.testing.assert_array_equal(mine.position, theirs.position)
        assert one.in_contact.tolist() == [False, True]
        # Newton's second law over the step.
        for vehicle, last, copy in ((one, before[0], 1), (two, before[1], 0)):
            force = sum(contact.force for contact in vehicle.contacts)
            gained = vehicle.mass * (vehicle.velocity[copy] - last[copy]) / sim.dt
            weight = vehicle.mass * vehicle.columns["gravity"][copy]
            assert abs(force[2]) > 100.0
            np.testing.assert_allclose(force + vehicle.applied_force[copy] + weight, gained, atol=1e-3)
        sim.step(100)
    log = read_log(tmp_path / "log")
    assert log["two/contacts"].others[0] == "one/1"
    assert log["one/contacts"].others[0] == "two/0"
    np.testing.assert_array_equal(log["one/contacts"].force[0, 1], -log["two/contacts"].force[0, 0])
    assert log["two/contacts"].contact_count[-1].tolist() == [0]
    assert log["two/contacts"].others[-1] == ""


def test_contacts_name_the_prim_of_the_world():
    """A roof would have the name of the ground, or of another prim before it in the file."""
    places = {
        "/World/Roofs/North": (0.0, 26.8, 5.6),
        "/World/Roofs/West": (-26.6, -4.0, 4.6),
        "/World/Ground/Collision": (5.0, 5.0, 0.3),
        "/World/Ramp": (17.0, 25.5, 1.2),
    }
    with Simulation("courtyard") as sim:
        vehicle = sim.add(Multirotor(PLAIN_IRIS, count=4, position=list(places.values()), sensors={}))
        sim.step(250)
        assert vehicle.in_contact.all()
        assert {(c.copy, c.other) for c in vehicle.contacts} == set(enumerate(places))
