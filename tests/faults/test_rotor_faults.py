"""Tests of faults of rotors and propellers: their effect, and their end."""

import numpy as np
import pytest
from fault_rig import SPEED, flying, quiet_imu, run_to_speed
from flyers import Constant

from pegasus import ConfigError
from pegasus.faults import (
    BladeLoss,
    CommandDelay,
    MotorLoss,
    MotorSeized,
    MotorStuck,
    PropellerImbalance,
    ThrustLoss,
    VoltageDrop,
)


def test_a_lost_motor_runs_down_and_turns_again_after_its_end():
    """A fault that does not reach the motor, or a motor that stays lost, would show in the rotor's speed."""
    with flying() as (sim, vehicle):
        run_to_speed(sim, vehicle)
        vehicle.inject(MotorLoss(2, duration=0.5))
        sim.step(125)
        speeds = vehicle.state.rotor_speed[0]
        assert speeds[2] < 1.0
        np.testing.assert_allclose(speeds[[0, 1, 3]], SPEED, rtol=1e-6)
        # One rotor without thrust turns the vehicle over.
        assert np.abs(vehicle.state.angular_velocity[0, :2]).max() > 1.0
        sim.step(100)
        np.testing.assert_allclose(vehicle.state.rotor_speed, SPEED, rtol=1e-3)


def test_a_ramp_grows_linearly():
    """A ramp that is not linear, or begins late, would give another command halfway."""
    with flying() as (sim, vehicle):
        run_to_speed(sim, vehicle)
        vehicle.inject(MotorLoss(1, ramp=1.0))
        sim.step(126)
        assert vehicle.rotor_command[0, 1] == pytest.approx(0.5 * SPEED, rel=1e-12)


def test_thrust_and_torque_fall_to_their_shares():
    """Shares that act on the wrong rotor or quantity would give another force or torque."""
    with flying() as (sim, vehicle):
        run_to_speed(sim, vehicle)
        vehicle.place((0.0, 0.0, 50.0))
        sim.step(1)
        whole, torque = vehicle.rotor_force[0, 2], vehicle.rotor_torque[0].copy()
        vehicle.place((0.0, 0.0, 50.0))
        vehicle.inject(ThrustLoss(0, share=0.5, torque_share=0.25, duration=0.004))
        sim.step(1)
        lost = whole / 8
        assert vehicle.rotor_force[0, 2] == pytest.approx(whole - lost, rel=1e-4)
        arm = vehicle.layout.position[0] - vehicle.center_of_mass
        assert vehicle.rotor_torque[0, 0] - torque[0] == pytest.approx(-arm[1] * lost, rel=2e-3)
        _, one = vehicle.thrust_curve.thrust(np.array([[SPEED]]), np.zeros((1, 1)), 1.2)
        yaw = 0.75 * float(one[0, 0]) * vehicle.layout.spin[0]
        assert vehicle.rotor_torque[0, 2] - torque[2] == pytest.approx(yaw, rel=0.05)
        vehicle.place((0.0, 0.0, 50.0))
        sim.step(1)
        assert vehicle.rotor_force[0, 2] == pytest.approx(whole, rel=1e-4)


def test_a_stuck_motor_holds_its_last_command():
    """A fault that lets later commands through would follow them."""
    backend = Constant(SPEED)
    with flying(backends=[backend]) as (sim, vehicle):
        run_to_speed(sim, vehicle)
        vehicle.inject(MotorStuck(3, name="stuck"))
        sim.step(1)
        backend.answer[...] = 300.0
        sim.step(10)
        np.testing.assert_array_equal(vehicle.rotor_command[0], [300.0, 300.0, 300.0, SPEED])
        np.testing.assert_array_equal(vehicle.command[0], 300.0)
        vehicle.heal("stuck")
        sim.step(1)
        np.testing.assert_array_equal(vehicle.rotor_command[0], 300.0)


def test_a_seized_motor_hands_its_angular_momentum_to_the_airframe():
    """Angular momentum that vanishes with the rotor would leave the airframe without its yaw."""
    with flying(model="x500", sensors={}) as (sim, vehicle):
        run_to_speed(sim, vehicle)
        inertia = vehicle.parameters[0].rotor_inertia
        assert inertia > 0
        momentum = inertia * SPEED * vehicle.layout.spin[0]
        before = vehicle.state.angular_velocity[0, 2]
        vehicle.inject(MotorSeized(0, duration=0.02))
        sim.step(1)
        turned = vehicle.inertia[2, 2] * (vehicle.state.angular_velocity[0, 2] - before)
        # The drag of the other rotors adds less than a tenth of it in one step.
        assert turned == pytest.approx(momentum, rel=0.1)
        assert vehicle.state.rotor_speed[0, 0] == 0.0
        sim.step(120)
        assert vehicle.state.rotor_speed[0, 0] == pytest.approx(SPEED, rel=1e-3)


def test_commands_arrive_after_their_delay():
    """A line that is too short or too long by one step would pass the step of the command early or late."""
    backend = Constant(SPEED)
    with flying(backends=[backend]) as (sim, vehicle):
        run_to_speed(sim, vehicle)
        vehicle.inject(CommandDelay(delay=0.04, duration=0.2))
        sim.step(5)
        backend.answer[...] = 300.0
        sim.step(10)
        np.testing.assert_array_equal(vehicle.rotor_command[0], SPEED)
        sim.step(1)
        np.testing.assert_array_equal(vehicle.rotor_command[0], 300.0)
        sim.step(40)
        backend.answer[...] = 500.0
        sim.step(1)
        np.testing.assert_array_equal(vehicle.rotor_command[0], 500.0)


def test_a_voltage_drop_lowers_the_speeds():
    """A share that is not applied to the limited command would not lower a saturated motor."""
    with flying(speed=1e6) as (sim, vehicle):
        sim.step(5)
        limit = vehicle.motor.max_speed
        vehicle.inject(VoltageDrop(share=0.8, duration=0.04))
        sim.step(5)
        np.testing.assert_allclose(vehicle.rotor_command[0], 0.8 * limit, rtol=1e-12)
        sim.step(10)
        np.testing.assert_array_equal(vehicle.rotor_command[0], limit)


def test_an_unbalanced_propeller_shakes_by_its_centrifugal_force():
    """A force of another size, or one that does not turn with the rotor, would give another vibration.

    Oracle: the mean of m e w^2 (cos, sin) over steps of angle w dt has the mean square
    (m e w^2)^2 sinc^2(w dt / 2); the IMU measures the accelerations of the steps.
    """
    unbalance = 5e-6
    with flying(sensors={"imu": quiet_imu()}) as (sim, vehicle):
        run_to_speed(sim, vehicle)
        forces = []
        vehicle.inject(PropellerImbalance(1, unbalance=unbalance, duration=2.0, name="shaken"))
        accelerations = []
        for _ in range(500):
            before = vehicle.state.velocity[0].copy()
            sim.step(1)
            gone = vehicle.applied_force[0] - vehicle.rotor_force[0] - vehicle.drag_force[0]
            forces.append(gone)
            accelerations.append((vehicle.state.velocity[0] - before) / sim.dt)
        half = 0.5 * SPEED * sim.dt
        expected = (unbalance * SPEED**2 * np.sin(half) / half) ** 2
        assert np.mean((np.array(forces) ** 2).sum(axis=1)) == pytest.approx(expected, rel=0.02)
        assert np.abs(np.diff(accelerations, axis=0)).max() > 0.5 * np.sqrt(expected) / vehicle.mass
        sim.step(5)
        quiet = vehicle.applied_force[0] - vehicle.rotor_force[0] - vehicle.drag_force[0]
        np.testing.assert_allclose(quiet, 0.0, atol=1e-12)


def test_a_lost_blade_takes_thrust_and_balance():
    """A lost blade without imbalance, or with the thrust of the whole propeller, would not be one."""
    with flying() as (sim, vehicle):
        run_to_speed(sim, vehicle)
        vehicle.place((0.0, 0.0, 50.0))
        sim.step(1)
        whole = vehicle.rotor_force[0, 2]
        vehicle.place((0.0, 0.0, 50.0))
        vehicle.inject(BladeLoss(0, blade_mass=0.003, duration=0.004))
        sim.step(1)
        share = 1.0 / vehicle.spec.propeller.blade_count / vehicle.rotor_count
        assert vehicle.rotor_force[0, 2] == pytest.approx(whole * (1 - share), rel=1e-3)
        shaken = vehicle.applied_force[0] - vehicle.rotor_force[0] - vehicle.drag_force[0]
        half = 0.5 * SPEED * sim.dt
        size = 0.003 * 0.225 * vehicle.spec.propeller.diameter * SPEED**2 * abs(np.sin(half) / half)
        assert np.sqrt((shaken**2).sum()) == pytest.approx(size, rel=1e-3)
        vehicle.place((0.0, 0.0, 50.0))
        sim.step(1)
        assert vehicle.rotor_force[0, 2] == pytest.approx(whole, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: MotorLoss(4), "rotor = 4"),
        (lambda: MotorLoss(-1), "rotor = -1"),
        (lambda: VoltageDrop(9), "rotor = 9"),
        (lambda: ThrustLoss(0, share=1.5), "share = 1.5"),
        (lambda: CommandDelay(delay=0.0), "delay = 0.0"),
        (lambda: MotorSeized(0, ramp=1.0), "ramp = 1.0"),
        (lambda: PropellerImbalance(0, unbalance=0.0), "unbalance = 0.0"),
        (lambda: BladeLoss(0, blade_mass=-1.0), "blade_mass = -1.0"),
    ],
)
def test_wrong_rotors_and_parameters_are_named(make, field):
    """A rotor that does not exist must not fail another one, nor fail later."""
    with flying() as (_, vehicle), pytest.raises(ConfigError, match=field):
        vehicle.inject(make())
