"""Tests of the schedule of faults: time, place, condition, copies, healing and resets."""

import numpy as np
import pytest
from fault_rig import flying
from flyers import PLAIN_IRIS, Constant

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from pegasus.core.programs import VehicleGroup
from pegasus.faults import BatteryCold, GpsLoss, MotorLoss, Region, SensorNoise, WindShock


def acting_steps(sim, injection, steps):
    """Return by step and copy where a fault acts."""
    found = []
    for _ in range(steps):
        sim.step(1)
        found.append(injection.active.copy())
    return np.array(found)


def test_a_fault_acts_from_the_step_of_its_start_to_that_before_its_end():
    """A step too early or too late would shift every fault of a campaign."""
    with flying() as (sim, vehicle):
        injection = vehicle.inject(MotorLoss(0, start=0.02, end=0.04))
        acting = acting_steps(sim, injection, 20)[:, 0]
        np.testing.assert_array_equal(np.flatnonzero(acting), [5, 6, 7, 8, 9])
        first, last = vehicle.faults.events
        assert (first.time, first.begins, first.label) == (0.02, True, "motor_loss rotor 0")
        assert (last.time, last.begins, last.copies) == (0.04, False, (0,))


def test_a_fault_begins_in_its_region_copy_by_copy():
    """A fault that begins for all copies, or at once, would not be bound to a place."""
    with flying(speed=0.0, count=3) as (sim, vehicle):
        vehicle.place([(0, 0, 50), (5, 0, 50), (10, 0, 60)])
        box = Region(box=((-20, -20, 0), (7, 20, 49.9)))
        injection = vehicle.inject(MotorLoss(0, where=box))
        acting = acting_steps(sim, injection, 60)
        np.testing.assert_array_equal(acting.any(axis=0), [True, True, False])
        # It falls 0.1 m in 0.143 s.
        assert np.flatnonzero(acting[:, 0])[0] == pytest.approx(0.143 * 250, abs=2)
        assert acting[-1, 0]


@pytest.mark.parametrize(
    ("region", "inside"),
    [
        (Region(center=(0, 0, 10), radius=2.0), [True, False]),
        (Region(lowest=5.0, highest=11.0), [True, False]),
        (Region(box=((1, 1, 12), (-1, -1, 8))), [True, False]),
        (Region(lowest=20.0), [False, True]),
    ],
)
def test_regions_contain_what_is_in_them(region, inside):
    """Corners in another order, or a sphere of another size, would be another region."""
    np.testing.assert_array_equal(region.contains(np.array([[0.5, 0, 9], [0, 0, 30.0]])), inside)


def test_a_fault_without_latch_acts_only_while_its_condition_holds():
    """A jamming zone that goes on after it was left, or acts only once, would be no zone."""
    with flying(speed=0.0) as (sim, vehicle):
        injection = vehicle.inject(WindShock(where=Region(lowest=49.0), latch=False))
        sim.step(2)
        assert injection.acts
        vehicle.place((0, 0, 30))
        sim.step(1)
        assert not injection.acts
        vehicle.place((0, 0, 50))
        sim.step(1)
        assert injection.acts
        assert [event.begins for event in vehicle.faults.events] == [True, False, True]


def test_conditions_are_comparisons_or_functions():
    """A comparison with the wrong sign or quantity would begin at another time."""
    with flying(speed=0.0) as (sim, vehicle):
        fast = vehicle.inject(MotorLoss(0, when="speed > 1.0"))
        asked = vehicle.inject(MotorLoss(1, when=lambda v: v.state.velocity[:, 2] < -2.0))
        sim.step(120)
        begun = [float(injection.begun[0]) for injection in (fast, asked)]
        np.testing.assert_allclose(begun, [1.0 / 9.8, 2.0 / 9.8], atol=0.008)


def test_faults_end_when_they_are_healed_and_one_by_one():
    """Healing one fault or copy must not end others."""
    with flying(count=2) as (sim, vehicle):
        first, second = vehicle.inject(MotorLoss(0)), vehicle.inject(MotorLoss(1, name="other"))
        sim.step(2)
        vehicle.heal(first.fault, copies=1)
        sim.step(1)
        np.testing.assert_array_equal(first.active, [True, False])
        np.testing.assert_array_equal(second.active, True)
        assert vehicle.heal("other") == ["other"]
        sim.step(1)
        assert not second.acts
        with pytest.raises(ConfigError, match="fault = 'nope': is not in the vehicle; there are motor_loss"):
            vehicle.heal("nope")


def flown(reset=False):
    """Return positions of a flight with faults, flown again after a reset if asked."""
    with flying(seed=5) as (sim, vehicle):
        vehicle.inject(MotorLoss(2, start=0.1, duration=0.2))
        vehicle.inject(SensorNoise("imu", "specific_force", 0.3, start=0.2))
        if reset:
            sim.step(100)
            vehicle.inject(MotorLoss(0))
            sim.step(30)
            sim.reset()
        found = []
        for _ in range(150):
            sim.step(1)
            found.append(np.r_[vehicle.state.position[0], vehicle.readings["imu"].specific_force[0]])
        return np.array(found)


def test_a_reset_begins_all_anew():
    """A fault that is over stays over, or one injected in flight remains, if a reset forgets it."""
    np.testing.assert_array_equal(flown(), flown(reset=True))


def test_times_of_a_copy_count_from_its_reset():
    """A copy that begins a new episode must meet its faults anew, and others go on."""
    with flying(count=2, backends=[]) as (sim, vehicle):
        injection = vehicle.inject(MotorLoss(0, start=0.1, duration=0.1))
        sim.step(100)
        assert injection.ended.all()
        vehicle.reset([1])
        acting = acting_steps(sim, injection, 60)
        np.testing.assert_array_equal(acting.sum(axis=0), [0, 25])


def test_copies_of_a_batch_fail_as_alone():
    """A fault must not depend on the number of copies or on other vehicles."""

    def fly(count):
        places = [(10.0 * k, 0.0, 20.0) for k in range(count)]
        with Simulation("flat", seed=3) as sim:
            hold = GeometricController(trajectories.hold(height=20.0), spin_up=0.0)
            vehicle = sim.add(Multirotor(PLAIN_IRIS, name="a", count=count, position=places, backends=[hold]))
            vehicle.inject(MotorLoss(1, start=0.2, end=0.4), copies=0)
            if count > 1:
                vehicle.inject(WindShock(name="blow"), copies=[1, 2])
                sim.add(Multirotor(PLAIN_IRIS, name="b", position=(0, 30, 20), backends=[Constant(500.0)]))
            sim.step(200)
            return vehicle.state.position[0].copy()

    np.testing.assert_array_equal(fly(1), fly(3))


def test_faults_that_have_not_begun_change_no_bit():
    """A fault that waits must leave the flight as it is without one."""

    def fly(*faults):
        with flying(seed=2) as (sim, vehicle):
            for fault in faults:
                vehicle.inject(fault)
            sim.step(100)
            return vehicle.state.position.copy(), vehicle.readings["imu"].specific_force

    waiting = (MotorLoss(0, start=99.0), SensorNoise("imu", "specific_force", 1.0, start=99.0))
    for one, other in zip(fly(), fly(*waiting), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: MotorLoss(0, when="speed is high"), "when = 'speed is high': must compare"),
        (lambda: MotorLoss(0, when="sped > 3"), "did you mean speed"),
        (lambda: MotorLoss(0, when="battery.charge < 0.3"), "needs a battery"),
        (lambda: MotorLoss(0, where=Region(radius=3.0, lowest=0.0)), "together with radius"),
        (lambda: MotorLoss(0, latch=False), "latch = False"),
        (lambda: Region(), "must have a box"),
        (lambda: "motor_loss", "must be a Fault"),
    ],
)
def test_wrong_places_and_conditions_are_named(make, says):
    """Bad input must be told in one line when it is given."""
    with flying() as (_, vehicle), pytest.raises(ConfigError, match=says):
        vehicle.inject(make())


def test_names_are_unique():
    """Two faults of one name could not be healed one by one."""
    with flying() as (_, vehicle):
        labels = [vehicle.inject(MotorLoss(0)).label for _ in range(2)]
        assert labels == ["motor_loss rotor 0", "motor_loss rotor 0 (2)"]
        vehicle.inject(MotorLoss(0, name="mine"))
        with pytest.raises(ConfigError, match="name = 'mine': is the name of another fault"):
            vehicle.inject(MotorLoss(1, name="mine"))


def test_faults_that_alter_no_step_need_no_code_of_their_own(monkeypatch):
    """The first reading that a fault takes away would stop the flight for seconds, to compile the step."""
    prepared = []
    prepare = VehicleGroup.prepare

    def noted(self, *, local_air, faults=False):
        prepared.append(faults)
        return prepare(self, local_air=local_air, faults=faults)

    monkeypatch.setattr(VehicleGroup, "prepare", noted)
    with Simulation("flat", seed=1) as sim:
        iris = sim.add(Multirotor("iris", position=(0.0, 0.0, 5.0)))
        sim.step()
        iris.inject(GpsLoss())
        iris.inject(BatteryCold(capacity_share=0.5))
        sim.step(30)
        assert "fix_type=0" in repr(iris.readings["gps"])
        assert not any(prepared)
    prepared.clear()
    with Simulation("flat", seed=1) as sim:
        iris = sim.add(Multirotor("iris", position=(0.0, 0.0, 5.0)))
        iris.inject(MotorLoss(0, start=0.1))
        sim.play()
        assert any(prepared), "the step with faults is compiled before the run"
