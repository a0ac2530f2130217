"""Tests of blows and payloads: momentum, and the end of each."""

import numpy as np
import pytest
from fault_rig import flying

from pegasus import ConfigError
from pegasus.dynamics import LinearDrag
from pegasus.faults import BirdStrike, PayloadLoss, PayloadShift, WindShock
from pegasus.sensors import Airspeed

NO_DRAG = LinearDrag(coefficients=(0.0, 0.0, 0.0))


def test_a_wind_shock_blows_at_airframe_and_airspeed_sensor_until_its_end():
    """A shock that only one of them feels, or that stays, would not be wind."""
    pitot = Airspeed()
    with flying(speed=0.0, extra_sensors={"pitot": pitot}) as (sim, vehicle):
        vehicle.inject(WindShock((-12.0, 0.0, 0.0), start=0.2, end=0.4))
        sim.step(49)
        calm = vehicle.readings["pitot"].differential_pressure[0]
        assert vehicle.state.velocity[0, 0] == 0.0
        sim.step(41)
        blown = vehicle.readings["pitot"].differential_pressure[0]
        density = sim.environment.air_density(vehicle.state.position)[0]
        through_air = 12.0 + vehicle.state.velocity[0, 0]
        assert blown - calm == pytest.approx(0.5 * density * through_air**2, rel=0.03)
        assert vehicle.drag_force[0, 0] < 0.0
        assert vehicle.state.velocity[0, 0] < 0.0
        sim.step(40)
        assert abs(vehicle.readings["pitot"].differential_pressure[0] - calm) < 10.0
        np.testing.assert_array_equal(vehicle.columns["wind"][0], 0.0)
        assert vehicle.drag_force[0, 0] > 0.0


def test_a_bird_changes_momentum_and_angular_momentum_by_its_impulse():
    """An impulse of another size, or without its arm, would give other velocities."""
    impulse, place = np.array([0.3, -0.2, 0.1]), np.array([0.1, 0.05, 0.0])
    with flying(speed=0.0, drag=NO_DRAG) as (sim, vehicle):
        sim.step(1)
        before = vehicle.state.copy()
        vehicle.inject(BirdStrike(tuple(impulse), tuple(place)))
        sim.step(1)
        fallen = np.array([0.0, 0.0, -9.8 * sim.dt])
        change = vehicle.state.velocity[0] - before.velocity[0] - fallen
        np.testing.assert_allclose(change, impulse / vehicle.mass, atol=2e-3)
        turned = vehicle.inertia @ (vehicle.state.angular_velocity[0] - before.angular_velocity[0])
        np.testing.assert_allclose(turned, np.cross(place - vehicle.center_of_mass, impulse), atol=1e-4)
        after = vehicle.state.copy()
        sim.step(1)
        np.testing.assert_allclose(vehicle.state.angular_velocity, after.angular_velocity, atol=0.05)


def momenta(vehicle):
    """Return centre of mass and velocity of it in the world, and angular momentum about it in the body."""
    p, state = vehicle.parameters[0], vehicle.state
    rotation, rate = state.rotation[0], state.angular_velocity[0]
    center = state.position[0] + rotation @ p.center_of_mass
    velocity = state.velocity[0] + rotation @ np.cross(rate, p.center_of_mass)
    return center, velocity, p.inertia @ rate


def test_a_shifting_payload_keeps_momentum_and_a_reset_undoes_it():
    """Momentum from nothing, or a shift that survives a reset, would make flights differ for no reason.

    Oracle: the inertia by the parallel axis theorem, written apart for a point mass.
    """
    shift = PayloadShift(0.2, (0.0, 0.0, -0.05), shift=(0.06, 0.03, 0.0), name="load")
    with flying(speed=0.0) as (sim, vehicle):
        vehicle.place((0.0, 0.0, 50.0), velocity=(1.0, 2.0, 0.0), angular_velocity=(1.0, -2.0, 3.0))
        sim.step(1)
        vehicle.faults.time = sim.time
        before = momenta(vehicle)
        injection = vehicle.inject(shift)
        vehicle.faults.update(sim.time)
        assert injection.acts
        after = momenta(vehicle)
        for one, other in zip(before, after, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)
        p = vehicle.parameters[0]
        np.testing.assert_allclose(p.center_of_mass, 0.2 / vehicle.mass * np.array([0.06, 0.03, 0.0]))
        rest_mass = vehicle.mass - 0.2
        rest_center = -0.2 * np.array([0.0, 0.0, -0.05]) / rest_mass

        def about(point, mass, place):
            r = place - point
            return mass * (r @ r * np.eye(3) - np.outer(r, r))

        rest = vehicle.inertia - about(np.zeros(3), 0.2, np.array([0.0, 0.0, -0.05]))
        rest -= about(np.zeros(3), rest_mass, rest_center)
        whole = rest + about(p.center_of_mass, rest_mass, rest_center)
        whole += about(p.center_of_mass, 0.2, np.array([0.06, 0.03, -0.05]))
        np.testing.assert_allclose(p.inertia, whole, rtol=1e-9, atol=1e-12)
        assert sim.engine._model.body_mass[1] == pytest.approx(vehicle.mass)
        np.testing.assert_allclose(sim.engine._model.body_ipos[1], p.center_of_mass)
        vehicle.heal("load")
        vehicle.faults.update(sim.time)
        np.testing.assert_allclose(vehicle.parameters[0].center_of_mass, 0.0, atol=1e-15)
        sim.reset()
        assert not vehicle.is_refitted
        np.testing.assert_array_equal(vehicle.parameters[0].inertia, vehicle.inertia)


def test_a_lost_payload_leaves_a_lighter_vehicle_with_its_velocity():
    """A mass that stays, or a jump of the velocity, would not be a payload that falls off."""
    with flying(speed=0.0, drag=NO_DRAG) as (sim, vehicle):
        vehicle.place((0.0, 0.0, 50.0), velocity=(1.0, 2.0, 0.0))
        before = vehicle.state.copy()
        vehicle.inject(PayloadLoss(0.3, (0.0, 0.0, -0.02), duration=0.04))
        sim.step(1)
        assert vehicle.parameters[0].mass == pytest.approx(vehicle.mass - 0.3)
        np.testing.assert_allclose(vehicle.state.velocity[0, :2], before.velocity[0, :2], rtol=1e-3)
        vehicle.disturb(force=(1.0, 0.0, 0.0))
        speed = vehicle.state.velocity[0, 0]
        sim.step(1)
        gained = (vehicle.state.velocity[0, 0] - speed) / sim.dt
        assert gained == pytest.approx(1.0 / (vehicle.mass - 0.3), rel=0.05)
        sim.step(15)
        assert vehicle.parameters[0].mass == pytest.approx(vehicle.mass)


def test_payloads_that_the_vehicle_cannot_hold_are_refused():
    """A payload heavier than its vehicle, or too far out, would leave a body that cannot be."""
    with flying() as (_, vehicle):
        with pytest.raises(ConfigError, match=r"mass = 99.*below the mass"):
            vehicle.inject(PayloadLoss(99.0))
        with pytest.raises(ConfigError, match="too far out"):
            vehicle.inject(PayloadLoss(1.0, (0.5, 0.0, 0.0)))
        with pytest.raises(ConfigError, match="velocity"):
            vehicle.inject(WindShock((1.0, float("nan"), 0.0)))
