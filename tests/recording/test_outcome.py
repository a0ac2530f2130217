"""Tests of the outcomes of flights, beside drops whose contacts are known."""

from dataclasses import dataclass

import numpy as np
import pytest

from pegasus import Backend, Multirotor, Simulation
from pegasus.recording import OutcomeAudit

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")


@dataclass
class Lifting(Backend):
    """Turns the rotors so that they carry a part of the weight."""

    drives = True
    part: float = 0.8

    def bind(self, vehicle):
        self.vehicle = vehicle

    def command(self, t):
        vehicle, one = self.vehicle, np.ones((1, 1))
        thrust = self.part * vehicle.mass * 9.81 / vehicle.rotor_count
        unit = vehicle.thrust_curve.thrust(one, 0.0 * one, 1.225 * one)[0].item()
        return np.full((vehicle.count, vehicle.rotor_count), np.sqrt(thrust / unit))


def dropped(heights, *backends):
    """Return a simulation with an Iris for each height, and the audit of their outcomes."""
    audit = OutcomeAudit()
    simulation = Simulation("flat", observers=[audit])
    places = [(3.0 * k, 0.0, height) for k, height in enumerate(heights)]
    iris = simulation.add(Multirotor("iris", count=len(heights), position=places, backends=backends))
    return simulation, iris, audit


def test_drops_end_as_their_impact_speeds_say():
    """A vehicle that falls hard would count as landed, or one that settles softly as crashed."""
    simulation, iris, audit = dropped((0.1, 0.4, 3.0, 80.0))
    with simulation:
        simulation.run(3.0)
        outcome = audit.outcomes()["iris"]
        assert audit.settled(iris).tolist() == [True, True, True, False]
    assert outcome.words() == ["grounded", "landed", "crashed", "flying"]
    assert outcome.word() == "crashed"
    fall = np.sqrt(2 * 9.8 * (np.array([0.4, 3.0]) - 0.087))
    np.testing.assert_allclose(outcome.impact_speed[1:3], fall, rtol=0.05)
    assert outcome.crash_time[2] == pytest.approx(fall[1] / 9.8, rel=0.05)


def test_a_contact_in_flight_is_told():
    """A vehicle that bounces off an obstacle and flies on would count as landed."""
    simulation, iris, audit = dropped((0.4,))
    with simulation:
        while not iris.in_contact.any():
            simulation.step()
        iris.disturb(force=(0.0, 0.0, 19.0))
        simulation.run(0.4)
        iris.disturb()
        simulation.run(3.0)
        assert audit.outcomes()["iris"].words() == ["touched"]
        assert audit.settled(iris).all()


def test_a_vehicle_that_its_rotors_carry_has_not_landed():
    """A vehicle that hovers against an obstacle would count as landed."""
    simulation, iris, audit = dropped((0.4,), Lifting())
    with simulation:
        simulation.run(3.0)
        assert iris.in_contact.all()
        assert audit.outcomes()["iris"].words() == ["touched"]
        assert not audit.settled(iris).any()


def test_a_vehicle_that_lifts_off_twice_has_touched_nothing():
    """A landing between two flights would count as a collision."""
    simulation, iris, audit = dropped((0.4,))
    with simulation:
        for _ in range(2):
            simulation.run(1.5)
            assert audit.outcomes()["iris"].words() == ["landed"]
            iris.disturb(force=(0.0, 0.0, 19.0))
            simulation.run(0.45)
            assert audit.outcomes()["iris"].words() == ["flying"]
            iris.disturb()


def test_the_speed_of_an_impact_is_that_before_it():
    """A crash would be judged by the speed that the contact has left."""
    simulation, iris, audit = dropped((1.5,))
    with simulation:
        while not iris.in_contact.any():
            before = np.linalg.norm(iris.state.velocity[0])
            simulation.step()
        simulation.step()
        assert before > 4.0
        assert audit.outcomes()["iris"].impact_speed[0] == pytest.approx(before, rel=1e-12)


def test_contacts_are_told_apart_as_vehicles_come_and_go():
    """Contacts would be those of the vehicle that had the place in the arrays before."""
    simulation, iris, audit = dropped((0.4,))
    with simulation:
        high = simulation.add(Multirotor("iris", name="high", position=(5.0, 0.0, 60.0)))
        simulation.run(1.5)
        simulation.remove(iris)
        simulation.step(2)
        late = simulation.add(Multirotor("iris", name="late", position=(9.0, 0.0, 2.0)))
        simulation.run(1.0)
        outcomes = audit.outcomes()
        assert [outcomes[name].word() for name in ("iris", "high", "late")] == ["landed", "flying", "crashed"]
        assert audit.settled(late).all()
        assert not audit.settled(high).any()


@pytest.mark.parametrize("obstacle", [False, True], ids=["free", "into another vehicle"])
def test_a_rolling_landing_is_none_of_the_crashes(obstacle):
    """A touch-down at flying speed would be a crash, or a collision while rolling none."""
    audit = OutcomeAudit()
    with Simulation("flat", observers=[audit]) as simulation:
        plane = simulation.add(Multirotor("plane", sensors={}, position=(0.0, 0.0, 1.0)))
        simulation.step()
        plane.place((0.0, 0.0, 0.25), velocity=(6.0, 0.0, 0.0))
        if obstacle:
            simulation.add(Multirotor("iris", sensors={}, position=(6.0, 0.0, 0.1)))
        plane.command[:, [channel.name for channel in plane.channels].index("brake")] = 0.1
        simulation.run(12.0)
        outcome = audit.outcomes()["plane"]
    assert outcome.words() == ["crashed" if obstacle else "landed"]
    assert (outcome.impact_speed[0] > 3.0) == obstacle
