"""Tests of faults against closed forms over time: their physics, not only that they act."""

import contextlib

import numpy as np
import pytest
from fault_rig import flying
from flyers import Constant

from pegasus import Multirotor, Simulation
from pegasus.control import GeometricController, trajectories
from pegasus.dynamics import Battery, FirstOrderMotor, LinearDrag, QuadraticThrust
from pegasus.dynamics.battery_step import cell_voltage
from pegasus.estimation import EKF
from pegasus.faults import (
    BirdStrike,
    CellFailure,
    CommandDelay,
    GpsSpoofing,
    MotorLoss,
    MotorSeized,
    PayloadLoss,
    ThrustLoss,
    WindShock,
)

NO_DRAG = LinearDrag(coefficients=(0.0, 0.0, 0.0))
FORCE = 8.54858e-6
"""Thrust constant of PX4's models of the X500 and the Typhoon H [N s^2]."""
STILL = QuadraticThrust(thrust_constant=FORCE, moment_ratio=0.016)
"""The same thrust in a climb and in a fall, so that oracles have closed forms."""


def gravity(vehicle):
    return -float(vehicle.environment.gravity_vector(vehicle.state.position)[0, 2])


def at_speed(sim, vehicle, steps=200):
    """Let the rotors reach their speeds, and begin at rest in the air."""
    sim.step(steps)
    vehicle.place((0.0, 0.0, 50.0))


@contextlib.contextmanager
def hovering(*, steps=200, drag=NO_DRAG, **kwargs):
    """Give a simulation and an X500 at rest whose rotors carry its weight; its arms are even."""
    with flying(model="x500", sensors={}, drag=drag, thrust_curve=STILL, **kwargs) as (sim, vehicle):
        driver = vehicle.backends[0]
        driver.speed = np.sqrt(vehicle.mass * gravity(vehicle) / 4 / FORCE)
        driver.answer[...] = driver.speed
        at_speed(sim, vehicle, steps)
        yield sim, vehicle


def test_a_hexarotor_hovers_on_four_rotors_when_one_motor_and_its_opposite_are_at_rest():
    """A lost motor that still pushes, or that changes other rotors, would move the vehicle.

    Oracle: without a rotor and the one across, forces and torques of the other four balance the weight; of an
    alternating hexarotor no other hover is left (Du et al. 2015, Controllability analysis for multirotor
    helicopter rotor degradation and failure).
    """
    backend = Constant(500.0)
    equipment = {"sensors": {}, "drag": NO_DRAG, "thrust_curve": STILL}
    with flying(model="typhoon_h", backends=[backend], **equipment) as (sim, vehicle):
        arm = vehicle.layout.position - vehicle.center_of_mass
        rows = np.array([np.ones(6), arm[:, 1], -arm[:, 0], vehicle.layout.spin])
        weight = vehicle.mass * gravity(vehicle)
        thrust = np.linalg.solve(rows[:, 2:], [weight, 0.0, 0.0, 0.0])
        backend.answer[0, 2:] = np.sqrt(thrust / FORCE)
        # The lost motor is commanded on; the one across from it is not.
        backend.answer[0, 1] = 0.0
        vehicle.inject(MotorLoss(0))
        at_speed(sim, vehicle)
        sim.step(2500)
        np.testing.assert_allclose(vehicle.state.position[0], [0.0, 0.0, 50.0], atol=1e-6)
        np.testing.assert_allclose(vehicle.state.angular_velocity[0], 0.0, atol=1e-9)


def test_a_fall_on_rotors_that_give_a_part_of_their_thrust():
    """Another share of the thrust would give another fall than (1 - s) g t^2 / 2."""
    share = 0.7
    with hovering() as (sim, vehicle):
        for rotor in range(4):
            vehicle.inject(ThrustLoss(rotor, share=share))
        sim.step(50)
        fallen = 0.5 * (1.0 - share) * gravity(vehicle) * (50 * sim.dt) ** 2
        assert 50.0 - vehicle.state.position[0, 2] == pytest.approx(fallen, rel=2e-5)


def test_a_fall_after_the_loss_of_all_motors_follows_their_time_constant():
    """Thrust that stops at once, or rotors that run down at another rate, would give another fall.

    Oracle: w = w0 exp(-t / tau), thrust m g exp(-2 t / tau), v = -g (t - tau (1 - exp(-2 t / tau)) / 2).
    """
    tau = 0.2
    motor = FirstOrderMotor(time_constant_up=tau, time_constant_down=tau, max_speed=1100.0)
    with hovering(motor=motor, steps=5000) as (sim, vehicle):
        hover, begin = vehicle.backends[0].speed, sim.step_count
        for rotor in range(4):
            vehicle.inject(MotorLoss(rotor))
        for steps in (25, 50, 100):
            sim.step(steps - (sim.step_count - begin))
            t = steps * sim.dt
            np.testing.assert_allclose(vehicle.state.rotor_speed[0], hover * np.exp(-t / tau), rtol=1e-9)
            speed = gravity(vehicle) * (t - 0.5 * tau * (1.0 - np.exp(-2.0 * t / tau)))
            assert -vehicle.state.velocity[0, 2] == pytest.approx(speed, rel=2e-4)


def test_rotor_speeds_behind_a_delay_are_those_without_it_later():
    """A delay by other than its number of samples, or one that alters commands, would change the speeds."""

    def speeds(*faults):
        class Sweeping(Constant):
            def command(self, t):
                self.answer[...] = 500.0 + 100.0 * np.sin(7.0 * t)
                return self.answer

        seen = []
        with flying(backends=[Sweeping(500.0)], sensors={}) as (sim, vehicle):
            for fault in faults:
                vehicle.inject(fault)
            for _ in range(300):
                sim.step(1)
                seen.append(vehicle.rotor_command[0].copy())
        return np.array(seen)

    late = speeds(CommandDelay(delay=0.1))
    np.testing.assert_array_equal(late[25:], speeds()[:-25])


def test_the_voltage_of_a_pack_with_a_failed_cell_obeys_kirchhoff():
    """A pack that loses resistance, power or another share of its voltage would have another voltage.

    Oracle: the larger root of V^2 - U V + R P = 0 with U of the cells that are left, and the same power.
    """
    pack = Battery(cell_count=4, capacity=3.0, resistance=0.05, cutoff_voltage=1.0)
    with flying(battery=pack, speed=400.0) as (sim, vehicle):
        sim.step(200)
        power = vehicle.battery.voltage[0] * vehicle.battery.current[0]
        vehicle.inject(CellFailure(1))
        sim.step(200)
        left = 3.0 * float(cell_voltage(vehicle.battery.charge)[0])
        root = 0.5 * (left + np.sqrt(left**2 - 4.0 * pack.resistance * power))
        # The cell's curve is interpolated in a table.
        assert vehicle.battery.voltage[0] == pytest.approx(root, abs=0.02)
        assert vehicle.battery.voltage[0] * vehicle.battery.current[0] == pytest.approx(power, rel=1e-3)


def test_a_bird_changes_both_momenta_of_a_spinning_vehicle_by_its_impulse():
    """An impulse of another size, in another frame or at another arm would give other momenta.

    Oracle: change of m v by J, and of the angular momentum in the world by (R r) x J.
    """
    impulse, place = np.array([0.6, -0.4, 0.9]), np.array([0.12, 0.05, -0.03])
    with flying(speed=0.0, sensors={}, drag=NO_DRAG) as (sim, vehicle):
        turned = np.array([0.0, 0.0, np.sin(0.5), np.cos(0.5)])
        vehicle.place((0.0, 0.0, 50.0), orientation=turned)
        sim.step(1)
        before = vehicle.state.copy()
        vehicle.inject(BirdStrike(tuple(impulse), tuple(place)))
        sim.step(1)
        state = vehicle.state
        fallen = np.array([0.0, 0.0, -gravity(vehicle) * sim.dt])
        gained = vehicle.mass * (state.velocity - before.velocity - fallen)[0]
        np.testing.assert_allclose(gained, impulse, atol=1e-4)
        spin = state.rotation[0] @ vehicle.inertia @ state.angular_velocity[0]
        arm = before.rotation[0] @ (place - vehicle.center_of_mass)
        np.testing.assert_allclose(spin, np.cross(arm, impulse), atol=1e-4)
        # Nothing acts on it from then on: the angular momentum stays.
        sim.step(250)
        later = vehicle.state.rotation[0] @ vehicle.inertia @ vehicle.state.angular_velocity[0]
        np.testing.assert_allclose(later, spin, rtol=1e-6)


def test_a_seized_motor_turns_the_airframe_by_its_angular_momentum():
    """Angular momentum that is lost, or found, would turn the airframe at another rate.

    Oracle: I_z w_z takes I_r w_r of a rotor that gives no torque to the air.
    """
    curve = QuadraticThrust(thrust_constant=FORCE, moment_ratio=1e-9)
    with flying(model="x500", speed=500.0, sensors={}, drag=NO_DRAG, thrust_curve=curve) as (sim, vehicle):
        at_speed(sim, vehicle)
        inertia = vehicle.parameters[0].rotor_inertia
        vehicle.inject(MotorSeized(0))
        before = vehicle.state.angular_velocity[0, 2]
        sim.step(1)
        turned = vehicle.inertia[2, 2] * (vehicle.state.angular_velocity[0, 2] - before)
        assert turned == pytest.approx(inertia * 500.0 * vehicle.layout.spin[0], rel=1e-3)


def test_a_vehicle_climbs_by_the_weight_of_the_payload_that_it_lost():
    """A payload whose mass, or thrust whose size, remains as it was would give another climb."""
    with hovering() as (sim, vehicle):
        whole = vehicle.mass
        vehicle.inject(PayloadLoss(mass=0.3, position=tuple(vehicle.center_of_mass)))
        sim.step(50)
        climbed = 0.5 * gravity(vehicle) * (whole / (whole - 0.3) - 1.0) * (50 * sim.dt) ** 2
        assert vehicle.state.position[0, 2] - 50.0 == pytest.approx(climbed, rel=2e-5)


def test_a_wind_shock_carries_a_vehicle_away_by_its_drag():
    """A shock that acts as a force, or not on drag, would give another speed than w (1 - exp(-k t / m))."""
    drag = LinearDrag(coefficients=(0.6, 0.6, 0.0))
    with hovering(drag=drag) as (sim, vehicle):
        vehicle.inject(WindShock((5.0, -3.0, 0.0)))
        sim.step(500)
        reached = 1.0 - np.exp(-0.6 * 2.0 / vehicle.mass)
        np.testing.assert_allclose(vehicle.state.velocity[0, :2], [5.0 * reached, -3.0 * reached], rtol=1e-3)


def test_a_vehicle_on_spoofed_estimates_flies_against_the_forged_velocity():
    """A spoofed receiver that an estimator does not follow, or follows with another sign, would not mislead.

    Oracle: the estimate holds the reference, so the vehicle moves against the forged velocity.
    """
    forged = np.array([0.8, -0.5, 0.0])
    hold = GeometricController(trajectories.hold(height=5.0))
    with Simulation("flat", seed=3) as sim:
        vehicle = sim.add(Multirotor("iris", backends=[hold], estimator=EKF()))
        vehicle.inject(GpsSpoofing(velocity=tuple(forged), start=15.0, ramp=5.0))
        sim.run(duration=15.0)
        place, estimate = vehicle.state.position[0].copy(), vehicle.estimate.position[0].copy()
        sim.run(duration=30.0)
        away = vehicle.state.position[0] - place
        np.testing.assert_allclose(vehicle.estimate.position[0] - estimate, 0.0, atol=0.2)
        # v (t - ramp / 2), but for the correlated errors of the receiver.
        np.testing.assert_allclose(away[:2], -forged[:2] * (30.0 - 2.5), atol=0.4)
