"""Tests of the energy audit against closed forms."""

from dataclasses import astuple

import numpy as np
import pytest
from recording_stand_ins import Simulation, Vehicle, fly, turn
from scipy.integrate import solve_ivp

from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler, rotate
from pegasus.recording import EnergyAudit, EnergyBalance
from pegasus.recording.audits import kinetic_energy, wrench_work

G = 9.81


def audit(vehicle: Vehicle, move, *, steps: int = 500, rate: float = 250.0) -> EnergyBalance:
    """Return the energy balance of a motion."""
    energy = EnergyAudit()
    fly([energy], vehicle, move, steps=steps, rate=rate)
    return energy.balances()[vehicle.name]


def pose(vehicle: Vehicle, orientation) -> None:
    """Set a vehicle's attitude."""
    vehicle.state.orientation[:] = orientation
    vehicle.state.rotation[:] = matrix_from_quaternion(vehicle.state.orientation)


def test_kinetic_energy_is_that_of_the_bodys_points() -> None:
    """The audit would omit products of inertia, or exchange body and world frame."""
    rng = np.random.default_rng(2)
    masses, points = rng.random(20), rng.standard_normal((20, 3))
    points -= masses @ points / masses.sum()
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    velocity, rate = rng.standard_normal((5, 3)), rng.standard_normal((5, 3))
    speeds = velocity[:, None] + np.cross(rate[:, None], points[None])
    wanted = 0.5 * (masses * (speeds**2).sum(-1)).sum(-1)
    found = kinetic_energy(velocity, rate, mass=masses.sum(), inertia=inertia)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_work_is_force_times_way_and_torque_times_angle() -> None:
    """The work of forces or torques would be missing or have the wrong sign."""
    one, two = np.array([[1.0, -2.0, 3.0]]), np.array([[0.5, 0.25, -1.0]])
    zero = np.zeros((1, 3))
    assert wrench_work(one, zero, two, one) == [-3.0]
    assert wrench_work(zero, one, one, two) == [-3.0]
    assert wrench_work(one, one, two, two) == [-6.0]


def test_free_fall_gains_nothing() -> None:
    """Gravity would count as external work, or height not as potential energy."""

    def fall(vehicle: Vehicle, t: float) -> None:
        vehicle.state.position[:] = (3 * t, 0, 100 - G * t * t / 2)
        vehicle.state.velocity[:] = (3, 0, -G * t)

    balance = audit(Vehicle(), fall)
    fallen = 1.5 * G * (G * 2**2 / 2)
    assert balance.gross == pytest.approx(fallen, rel=1e-12)
    assert abs(balance.gained) < 1e-11 * fallen
    assert balance.relative_residual < 1e-11
    assert (balance.rotors, balance.drag, balance.others, balance.contacts) == (0, 0, 0, 0)


def climb(vehicle: Vehicle, t: float) -> None:
    """Climb with 2 m/s^2 from rest."""
    vehicle.state.position[:, 2], vehicle.state.velocity[:, 2] = t * t, 2 * t


@pytest.mark.parametrize("heading", [0.0, 2.0])
def test_constant_thrust_works_force_times_height(heading: float) -> None:
    """The rotors' work in a climb would be wrong."""
    vehicle = Vehicle()
    pose(vehicle, quaternion_from_euler(0, 0, heading))
    vehicle.rotor_force[:] = vehicle.applied_force[:] = (0, 0, 1.5 * (G + 2.0))

    balance = audit(vehicle, climb)
    assert balance.rotors == pytest.approx(1.5 * (G + 2.0) * 4.0, rel=1e-12)
    assert balance.gained == pytest.approx(0.5 * 1.5 * 4.0**2 + 1.5 * G * 4.0, rel=1e-12)
    assert balance.relative_residual < 1e-12


def test_torque_works_torque_times_angle_in_the_body() -> None:
    """Torques would be rotated into the wrong frame, or their work use the wrong angle."""
    vehicle = Vehicle()
    tilted = quaternion_from_euler(0.7, -0.4, 1.1)
    torque, moment = 0.02, 0.055
    axis = rotate(matrix_from_quaternion(tilted), np.array([0.0, 0.0, 1.0]))
    vehicle.rotor_torque[:] = vehicle.applied_torque[:] = (0.0, 0.0, torque)

    def spin(vehicle: Vehicle, t: float) -> None:
        pose(vehicle, tilted)
        turn(vehicle, (torque / moment) * t * t / 2 * axis)
        vehicle.state.angular_velocity[:] = (0, 0, torque / moment * t)

    balance = audit(vehicle, spin)
    angle = torque / moment * 2**2 / 2
    assert balance.rotors == pytest.approx(torque * angle, rel=1e-12)
    assert balance.gained == pytest.approx(moment * (torque / moment * 2) ** 2 / 2, rel=1e-12)
    assert balance.relative_residual < 1e-12


def test_energy_is_that_of_the_centre_of_mass() -> None:
    """A body that rotates about its centre of mass would seem to gain energy."""
    vehicle = Vehicle()
    vehicle.center_of_mass = np.array([0.1, -0.05, 0.3])
    rate = 4.0

    def tumble(vehicle: Vehicle, t: float) -> None:
        pose(vehicle, quaternion_from_euler(0.0, rate * t, 0.0))
        arm = rotate(vehicle.state.rotation, vehicle.center_of_mass)
        spin = np.array([0.0, rate, 0.0])
        vehicle.state.angular_velocity[:] = spin
        vehicle.state.position[:] = np.array([2 * t, 0, 50 - G * t * t / 2]) - arm
        vehicle.state.velocity[:] = np.array([2, 0, -G * t]) - np.cross(spin, arm)

    balance = audit(vehicle, tumble)
    assert abs(balance.gained) < 1e-11 * balance.gross
    assert balance.relative_residual < 1e-11


def test_gravity_that_falls_off_with_height_still_balances() -> None:
    """A high climb would seem to gain energy from the change of gravity."""
    mu, radius = 3.986004418e14, 6378137.0

    class InverseSquare:
        def gravity_vector(self, position):
            vectors = np.zeros_like(position)
            vectors[:, 2] = -mu / (radius + position[:, 2]) ** 2
            return vectors

    vehicle = Vehicle()
    vehicle.environment = InverseSquare()
    path = solve_ivp(
        lambda _, y: (y[1], -mu / (radius + y[0]) ** 2),
        (0, 60),
        (0.0, 1500.0),
        method="DOP853",
        rtol=1e-13,
        atol=1e-9,
        t_eval=np.arange(0, 60.0001, 0.02),
    )

    def shoot(vehicle: Vehicle, t: float) -> None:
        vehicle.state.position[:, 2], vehicle.state.velocity[:, 2] = path.y[:, round(t * 50)]

    balance = audit(vehicle, shoot, steps=3000, rate=50.0)
    assert path.y[0, -1] > 70e3
    assert balance.gross == pytest.approx(1.5 * mu * (1 / radius - 1 / (radius + path.y[0, -1])), rel=1e-9)
    assert balance.relative_residual < 1e-10


def test_energy_made_by_an_integrator_is_found() -> None:
    """A wrong integrator would pass the audit.

    Explicit Euler with a constant acceleration a makes m a^2 dt^2 / 2 in every step.
    """
    vehicle = Vehicle()
    vehicle.rotor_force[:] = vehicle.applied_force[:] = (3.0, 0.0, 1.5 * G)
    acceleration, dt, steps = 2.0, 1 / 250, 500

    def euler(vehicle: Vehicle, t: float) -> None:
        k = round(t / dt)
        vehicle.state.velocity[:, 0] = acceleration * k * dt
        vehicle.state.position[:, 0] = acceleration * dt * dt * k * (k - 1) / 2

    balance = audit(vehicle, euler, steps=steps)
    assert balance.residual == pytest.approx(steps * 1.5 * (acceleration * dt) ** 2 / 2, rel=1e-9)
    assert balance.contacts == 0


def test_what_a_landing_takes_is_the_contacts() -> None:
    """The energy lost at an impact would count as an integration error."""
    vehicle = Vehicle(count=2)

    def drop(vehicle: Vehicle, t: float) -> None:
        down = t > 1.0
        vehicle.state.position[:, 2] = 0.0 if down else G / 2 * (1 - t * t)
        vehicle.state.velocity[:, 2] = 0.0 if down else -G * t
        # The second copy keeps falling; contacts belong to the step that ends here.
        vehicle.state.position[1, 2], vehicle.state.velocity[1, 2] = G / 2 * (1 - t * t), -G * t
        vehicle.in_contact[0] = down

    balance = audit(vehicle, drop)
    lost = 0.5 * 1.5 * G**2
    assert balance.contacts == pytest.approx(lost, rel=1e-12)
    assert balance.gained == pytest.approx(-lost, rel=1e-12)
    assert abs(balance.residual) < 1e-11 * balance.gross


def test_work_is_split_by_its_source() -> None:
    """The work of drag or of an external force would be counted for the rotors."""
    vehicle = Vehicle(count=3)
    vehicle.rotor_force[:] = (0.0, 0.0, 20.0)
    vehicle.drag_force[:] = (0.0, 0.0, -4.0)
    vehicle.drag_torque[:] = (0.0, 0.0, -0.01)
    vehicle.applied_force[:] = (0.0, 0.0, 20.0 - 4.0 + 1.0)
    vehicle.applied_torque[:] = (0.0, 0.0, -0.01)

    def rise(vehicle: Vehicle, t: float) -> None:
        vehicle.state.position[:, 2] = 3 * t
        vehicle.state.velocity[:, 2] = 3
        turn(vehicle, np.array([[0.0, 0.0, 2.0 / 250]]))
        vehicle.state.angular_velocity[:] = (0, 0, 2)

    balance = audit(vehicle, rise, steps=250)
    assert balance.rotors == pytest.approx(3 * 60.0)
    assert balance.drag == pytest.approx(3 * (-12.0 - 0.02))
    assert balance.others == pytest.approx(3 * 3.0)
    parts = balance.rotors + balance.drag + balance.others - balance.contacts + balance.residual
    assert balance.gained == pytest.approx(parts, rel=1e-12)
    assert balance.gross == pytest.approx(3 * (60 + 12.02 + 3 + 1.5 * G * 3))


def test_a_wrench_counts_for_the_step_that_follows_it() -> None:
    """Work would lag by a step, and arrays written in place would be missed."""
    vehicle = Vehicle()
    vehicle.environment.gravity_vector = np.zeros_like  # type: ignore[method-assign]

    def pushed_in_the_first_step(vehicle: Vehicle, t: float) -> None:
        vehicle.applied_force[:, 0] = 10.0 if t == 0 else 0.0
        vehicle.state.position[:, 0] = t

    assert audit(vehicle, pushed_in_the_first_step, steps=4, rate=1.0).others == 10.0


def test_another_vehicle_of_the_same_name_is_no_jump() -> None:
    """Replacing a vehicle or resetting the clock would seem to change the energy."""
    high, low = Vehicle(), Vehicle()
    high.state.position[:, 2] = 1000.0
    simulation, energy = Simulation([high]), EnergyAudit()
    energy.start(simulation)
    for step, vehicle in enumerate((high, high, low, low, low)):
        simulation.step_count, simulation.vehicles = step, [vehicle]
        energy.record(simulation)
    simulation.step_count = 0
    low.state.position[:, 2] = 500.0
    energy.record(simulation)
    assert energy.balances()["iris"].gained == 0.0
    energy.start(simulation)
    assert energy.balances() == {}


@pytest.mark.parametrize("count", [1, 3, 600])
def test_figures_do_not_depend_on_how_many_steps_are_evaluated_together(count: int) -> None:
    """Steps at the ends of blocks would be lost or counted twice."""

    class AskedAtEveryStep(EnergyAudit):
        def record(self, simulation: Simulation) -> None:
            super().record(simulation)
            self.balances()

    vehicle, rng = Vehicle(count=count), np.random.default_rng(5)

    def shake(vehicle: Vehicle, _: float) -> None:
        for array in (vehicle.state.position, vehicle.state.velocity, vehicle.state.angular_velocity):
            array[:] = rng.standard_normal(array.shape)
        pose(vehicle, quaternion_from_euler(*rng.standard_normal(3)))
        for part in ("applied", "rotor", "drag"):
            getattr(vehicle, f"{part}_force")[:] = rng.standard_normal((count, 3))
            getattr(vehicle, f"{part}_torque")[:] = rng.standard_normal((count, 3))
        vehicle.in_contact[:] = rng.random(count) < 0.3

    together, one_by_one = EnergyAudit(), AskedAtEveryStep()
    fly([together, one_by_one], vehicle, shake, steps=1100 if count < 600 else 20)
    found, wanted = together.balances()["iris"], one_by_one.balances()["iris"]
    assert astuple(found) == pytest.approx(astuple(wanted), rel=1e-10)
    assert min(map(abs, astuple(found))) > 1.0
