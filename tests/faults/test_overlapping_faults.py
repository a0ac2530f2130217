"""Tests of faults that act together: their effects in either order, and what the last one leaves."""

import numpy as np
import pytest
from fault_rig import SPEED, flying, run_to_speed
from flyers import Constant

from pegasus.dynamics import Battery
from pegasus.faults import (
    BatteryCold,
    BatteryEmpty,
    BladeLoss,
    CommandDelay,
    MotorLoss,
    MotorSeized,
    MotorStuck,
    PayloadLoss,
    PayloadShift,
    ThrustLoss,
    VoltageDrop,
    WindShock,
)

PACK = Battery(cell_count=4, capacity=3.0, resistance=0.02, cutoff_voltage=2.0)


class Sweeping(Constant):
    """Commands that differ in each step and at each rotor."""

    def command(self, t):
        self.answer[...] = 600.0 + 80.0 * np.sin(7.0 * t + np.arange(self.answer.shape[1]))
        return self.answer


def digests(faults, *, steps=160, **kwargs):
    """Return the state after each step of a flight with faults, injected in the given order."""
    found = []
    with flying(backends=[Sweeping(SPEED)], sensors={}, battery=PACK, **kwargs) as (sim, vehicle):
        for fault in faults:
            vehicle.inject(fault)
        for _ in range(steps):
            sim.step(1)
            state = vehicle.state
            parts = state.position, state.velocity, state.angular_velocity, state.rotor_speed
            found.append(np.concatenate([p[0] for p in (*parts, vehicle.rotor_command)]))
    return np.array(found)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (CommandDelay(delay=0.04, start=0.1, end=0.4), MotorStuck(2, start=0.2, end=0.3)),
        (CommandDelay(delay=0.04, start=0.2, end=0.3), MotorStuck(2, start=0.1, end=0.4)),
        (CommandDelay(delay=0.04, start=0.1, end=0.3), CommandDelay(delay=0.02, start=0.2, end=0.4)),
        (MotorStuck(2, start=0.1, end=0.3), MotorStuck(start=0.2, end=0.4)),
        (ThrustLoss(1, share=0.7, start=0.1, end=0.3), BladeLoss(1, start=0.2, end=0.4)),
        (MotorLoss(0, start=0.1, end=0.3), VoltageDrop(start=0.2, end=0.4)),
        (MotorSeized(0, start=0.1, end=0.3), MotorLoss(0, start=0.2, end=0.4)),
        (BatteryEmpty(start=0.1, end=0.3), BatteryEmpty(name="again", start=0.2, end=0.4)),
        (BatteryEmpty(start=0.1, end=0.2), BatteryEmpty(name="again", start=0.2, end=0.4)),
        (BatteryCold(start=0.1, end=0.3), BatteryEmpty(start=0.2, end=0.4)),
        (WindShock(start=0.1, end=0.3), WindShock((0.0, 5.0, 1.0), name="again", start=0.2, end=0.4)),
    ],
)
def test_two_faults_do_the_same_in_either_order(one, other):
    """A fault that puts back what it found, or replaces what another one set, depends on the order."""
    np.testing.assert_array_equal(digests([one, other]), digests([other, one]))


def test_a_held_command_stays_while_any_fault_holds_it():
    """A second fault that holds later commands would move the rotor, and the end of the first release it."""
    with flying(backends=[Sweeping(SPEED)], sensors={}) as (sim, vehicle):
        sim.step(20)
        held = vehicle.rotor_command[0, 2]
        vehicle.inject(MotorStuck(2, duration=0.2))
        sim.step(20)
        vehicle.inject(MotorStuck(2, duration=0.2))
        for _ in range(50):
            assert vehicle.rotor_command[0, 2] == held
            sim.step(1)
        sim.step(1)
        assert vehicle.rotor_command[0, 2] == vehicle.command[0, 2]


def test_a_speed_controller_holds_what_has_reached_it():
    """A controller behind a slow bus that held the newest command would know it before it arrived."""
    with flying(backends=[Sweeping(SPEED)], sensors={}) as (sim, vehicle):
        vehicle.inject(CommandDelay(delay=0.04))
        sim.step(30)
        late = vehicle.rotor_command[0].copy()
        vehicle.inject(MotorStuck())
        sim.step(5)
        np.testing.assert_array_equal(vehicle.rotor_command[0], late)


def test_delays_add():
    """Two delays of which only one acted, or that sent commands twice, would be another bus."""
    backend = Constant(SPEED)
    with flying(backends=[backend], sensors={}) as (sim, vehicle):
        run_to_speed(sim, vehicle)
        vehicle.inject(CommandDelay(delay=0.04))
        vehicle.inject(CommandDelay(1, delay=0.02))
        sim.step(40)
        backend.answer[...] = 300.0
        reached = []
        for _ in range(20):
            sim.step(1)
            reached.append(vehicle.rotor_command[0].copy())
        steps = (np.array(reached) == SPEED).sum(axis=0)
        np.testing.assert_array_equal(steps, [10, 15, 10, 10])


def test_an_empty_battery_has_its_charge_when_the_last_fault_ends():
    """A fault that begins while another acts would keep the charge of that, and leave the battery empty."""
    with flying(battery=PACK) as (sim, vehicle):
        sim.step(100)
        charge = vehicle.battery.charge[0]
        vehicle.inject(BatteryEmpty(duration=0.4))
        sim.step(50)
        vehicle.inject(BatteryEmpty(duration=0.4))
        assert vehicle.battery.charge[0] == 0.0
        sim.step(90)
        assert vehicle.battery.empty[0]
        sim.step(20)
        assert vehicle.battery.charge[0] == pytest.approx(charge, abs=1e-4)
        sim.step(100)
        assert vehicle.state.rotor_speed[0].min() > 100.0


def test_payloads_that_are_back_leave_the_vehicle_as_it_was_built():
    """Masses that are taken and added again would leave a vehicle that differs in its last bits."""
    with flying(speed=0.0) as (sim, vehicle):
        built = vehicle.parameters[0]
        lost = vehicle.inject(PayloadLoss(0.13, (0.01, 0.0, -0.02), duration=0.08))
        moved = vehicle.inject(PayloadShift(0.07, (0.0, 0.02, 0.0), start=0.04, end=0.12))
        sim.step(15)
        assert lost.acts
        assert moved.acts
        sim.step(10)
        assert not lost.acts
        alone = vehicle.parameters[0]
        sim.step(10)
        for field in ("mass", "inertia", "center_of_mass"):
            np.testing.assert_array_equal(getattr(vehicle.parameters[0], field), getattr(built, field))
        assert not vehicle.is_refitted
    with flying(speed=0.0) as (sim, vehicle):
        vehicle.inject(moved.fault)
        sim.step(20)
        np.testing.assert_array_equal(vehicle.parameters[0].inertia, alone.inertia)


def test_a_step_that_is_broken_off_leaves_no_trace_of_its_faults():
    """Inputs that are put back after a step would stay, and be taken for the usual ones, if it breaks off."""
    broken = []

    def wrench(*_):
        if broken:
            raise broken.pop()
        return np.zeros(3), np.zeros(3)

    with flying(sensors={}, wrench=wrench) as (sim, vehicle):
        run_to_speed(sim, vehicle)
        vehicle.inject(ThrustLoss(0, share=0.5, duration=0.05))
        vehicle.inject(VoltageDrop(share=0.9, duration=0.05))
        sim.step(2)
        broken.append(KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            sim.step(1)
        sim.step(30)
        np.testing.assert_array_equal(vehicle.rotor_command, SPEED)
        np.testing.assert_array_equal(vehicle.columns["thrust_share"], 1.0)


def test_a_fault_that_is_over_leaves_the_bits_of_a_flight_without_it():
    """An effect that is left in any column would show in a vehicle that is placed anew."""

    def flown(*faults):
        with flying(backends=[Constant(SPEED)], battery=PACK, seed=3) as (sim, vehicle):
            for fault in faults:
                vehicle.inject(fault)
            sim.step(60)
            assert not vehicle.faults.acting
            sim.reset()
            vehicle.heal()
            sim.step(60)
            return vehicle.columns

    kinds = MotorLoss(0), MotorStuck(1), CommandDelay(2), ThrustLoss(3), BladeLoss(0), MotorSeized(1)
    more = BatteryCold(), WindShock(), PayloadLoss(0.1), VoltageDrop()
    faults = [type(f)(**{**vars(f), "start": 0.0, "end": 0.1}) for f in (*kinds, *more)]
    for (name, values), other in zip(flown(*faults).items(), flown().values(), strict=True):
        np.testing.assert_array_equal(values, other, err_msg=name)
