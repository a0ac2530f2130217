"""Tests of the energy audit against closed forms."""

from dataclasses import astuple, dataclass, replace
from itertools import pairwise

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

from recording_stand_ins import turn
from scipy.integrate import solve_ivp
from scripted_motion import Body, flown

from pegasus import Multirotor, Simulation
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_euler, rotate
from pegasus.base.step_math import Vec3
from pegasus.environment import InverseSquareGravity, UniformGravity
from pegasus.environment.gravity import Gravity
from pegasus.recording import EnergyAudit, EnergyBalance
from pegasus.step.energy import kinetic_energy, wrench_work
from tests.flyers import PLAIN_IRIS

G = 9.81


def pose(body: Body, orientation) -> None:
    """Set the attitude of the copies."""
    body.state.orientation[:] = orientation
    body.state.rotation[:] = matrix_from_quaternion(body.state.orientation)


def test_kinetic_energy_is_that_of_the_bodys_points() -> None:
    """The audit would omit products of inertia, or exchange body and world frame."""
    rng = np.random.default_rng(2)
    masses, points = rng.random(20), rng.standard_normal((20, 3))
    points -= masses @ points / masses.sum()
    inertia = sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(masses, points, strict=True))
    velocity, rate = rng.standard_normal((5, 3)), rng.standard_normal((5, 3))
    speeds = velocity[:, None] + np.cross(rate[:, None], points[None])
    wanted = 0.5 * (masses * (speeds**2).sum(-1)).sum(-1)
    body = Multirotor(PLAIN_IRIS).machines[0].body
    x, y, z = (Vec3(*row) for row in inertia.tolist())
    body = replace(body, mass=masses.sum(), inertia_x=x, inertia_y=y, inertia_z=z)
    found = [kinetic_energy(body, Vec3(*v), Vec3(*w)) for v, w in zip(velocity, rate, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_work_is_force_times_way_and_torque_times_angle() -> None:
    """The work of forces or torques would be missing or have the wrong sign."""
    one, two, zero = Vec3(1.0, -2.0, 3.0), Vec3(0.5, 0.25, -1.0), Vec3(0.0, 0.0, 0.0)
    assert wrench_work(one, zero, two, one) == -3.0
    assert wrench_work(zero, one, one, two) == -3.0
    assert wrench_work(one, one, two, two) == -6.0


def test_free_fall_gains_nothing() -> None:
    """Gravity would count as external work, or height not as potential energy."""

    def fall(body: Body, t: float) -> None:
        body.state.position[:] = (3 * t, 0, 100 - G * t * t / 2)
        body.state.velocity[:] = (3, 0, -G * t)

    balance = flown(Body(), fall)
    fallen = 1.5 * G * (G * 2**2 / 2)
    assert balance.gross == pytest.approx(fallen, rel=1e-12)
    assert abs(balance.gained) < 1e-11 * fallen
    assert balance.relative_residual < 1e-11
    assert (balance.rotors, balance.drag, balance.others, balance.contacts) == (0, 0, 0, 0)


def climb(body: Body, t: float) -> None:
    """Climb with 2 m/s^2 from rest."""
    body.state.position[:, 2], body.state.velocity[:, 2] = t * t, 2 * t


@pytest.mark.parametrize("heading", [0.0, 2.0])
def test_constant_thrust_works_force_times_height(heading: float) -> None:
    """The rotors' work in a climb would be wrong."""
    body = Body()
    pose(body, quaternion_from_euler(0, 0, heading))
    body.rotor_force[:] = body.applied_force[:] = (0, 0, 1.5 * (G + 2.0))

    balance = flown(body, climb)
    assert balance.rotors == pytest.approx(1.5 * (G + 2.0) * 4.0, rel=1e-12)
    assert balance.gained == pytest.approx(0.5 * 1.5 * 4.0**2 + 1.5 * G * 4.0, rel=1e-12)
    assert balance.relative_residual < 1e-12


def test_torque_works_torque_times_angle_in_the_body() -> None:
    """Torques would be rotated into the wrong frame, or their work use the wrong angle."""
    body = Body()
    tilted = quaternion_from_euler(0.7, -0.4, 1.1)
    torque, moment = 0.02, 0.055
    axis = rotate(matrix_from_quaternion(tilted), np.array([0.0, 0.0, 1.0]))
    body.rotor_torque[:] = body.applied_torque[:] = (0.0, 0.0, torque)

    def spin(body: Body, t: float) -> None:
        pose(body, tilted)
        turn(body, (torque / moment) * t * t / 2 * axis)
        body.state.angular_velocity[:] = (0, 0, torque / moment * t)

    balance = flown(body, spin)
    angle = torque / moment * 2**2 / 2
    assert balance.rotors == pytest.approx(torque * angle, rel=1e-12)
    assert balance.gained == pytest.approx(moment * (torque / moment * 2) ** 2 / 2, rel=1e-12)
    assert balance.relative_residual < 1e-12


def test_energy_is_that_of_the_centre_of_mass() -> None:
    """A body that rotates about its centre of mass would seem to gain energy."""
    body = Body(center_of_mass=(0.1, -0.05, 0.3))
    rate = 4.0

    def tumble(body: Body, t: float) -> None:
        pose(body, quaternion_from_euler(0.0, rate * t, 0.0))
        arm = rotate(body.state.rotation, body.center_of_mass)
        spin = np.array([0.0, rate, 0.0])
        body.state.angular_velocity[:] = spin
        body.state.position[:] = np.array([2 * t, 0, 50 - G * t * t / 2]) - arm
        body.state.velocity[:] = np.array([2, 0, -G * t]) - np.cross(spin, arm)

    balance = flown(body, tumble)
    assert abs(balance.gained) < 1e-11 * balance.gross
    assert balance.relative_residual < 1e-11


MU, RADIUS = 3.986004418e14, 6378137.0


@dataclass(frozen=True)
class NumpyGravity(Gravity):
    """Gravity by the inverse square of the distance, in NumPy."""

    def magnitude(self, altitude):
        return MU / (RADIUS + altitude) ** 2


@pytest.mark.parametrize("gravity", [InverseSquareGravity(MU / RADIUS**2, RADIUS), NumpyGravity()])
def test_gravity_that_falls_off_with_height_still_balances(gravity: Gravity) -> None:
    """A high climb would seem to gain energy from the change of gravity."""
    body, origin = Body(), RADIUS + 300.0
    path = solve_ivp(
        lambda _, y: (y[1], -MU / (origin + y[0]) ** 2),
        (0, 60),
        (0.0, 1500.0),
        method="DOP853",
        rtol=1e-13,
        atol=1e-9,
        t_eval=np.arange(0, 60.0001, 0.02),
    )

    def shoot(body: Body, t: float) -> None:
        body.state.position[:, 2], body.state.velocity[:, 2] = path.y[:, round(t * 50)]

    def replace_gravity(simulation: Simulation, _: int) -> None:
        simulation.environment.gravity = gravity

    balance = flown(body, shoot, steps=3000, rate=50.0, altitude=300.0, then=replace_gravity)
    assert path.y[0, -1] > 70e3
    assert balance.gross == pytest.approx(1.5 * MU * (1 / origin - 1 / (origin + path.y[0, -1])), rel=1e-9)
    assert balance.relative_residual < 1e-10


def test_gravity_replaced_in_flight_counts_from_then_on() -> None:
    """The audit would go on with the gravity of the start."""

    def fall(body: Body, t: float) -> None:
        slow = max(t - 1.0, 0.0)
        fast = min(t, 1.0)
        body.state.position[:, 2] = -G / 2 * fast * fast - G * slow - 1.62 / 2 * slow * slow
        body.state.velocity[:, 2] = -G * fast - 1.62 * slow

    def land_on_the_moon(simulation: Simulation, step: int) -> None:
        if step == 250:
            simulation.environment.gravity = UniformGravity(1.62)

    balance = flown(Body(), fall, then=land_on_the_moon)
    assert balance.gross == pytest.approx(1.5 * (G * G / 2 + 1.62 * (G + 1.62 / 2)), rel=1e-11)
    assert balance.relative_residual < 1e-11


def test_energy_made_by_an_integrator_is_found() -> None:
    """A wrong integrator would pass the audit.

    Explicit Euler with a constant acceleration a makes m a^2 dt^2 / 2 in every step.
    """
    body = Body()
    body.rotor_force[:] = body.applied_force[:] = (3.0, 0.0, 1.5 * G)
    acceleration, dt, steps = 2.0, 1 / 250, 500

    def euler(body: Body, t: float) -> None:
        k = round(t / dt)
        body.state.velocity[:, 0] = acceleration * k * dt
        body.state.position[:, 0] = acceleration * dt * dt * k * (k - 1) / 2

    balance = flown(body, euler, steps=steps)
    assert balance.residual == pytest.approx(steps * 1.5 * (acceleration * dt) ** 2 / 2, rel=1e-9)
    assert balance.contacts == 0


def test_what_a_landing_takes_is_the_contacts() -> None:
    """The energy lost at an impact would count as an integration error."""
    body = Body(count=2)

    def drop(body: Body, t: float) -> None:
        down = t > 1.0
        body.state.position[:, 2] = 0.0 if down else G / 2 * (1 - t * t)
        body.state.velocity[:, 2] = 0.0 if down else -G * t
        # The second copy keeps falling; contacts belong to the step that ends here.
        body.state.position[1, 2], body.state.velocity[1, 2] = G / 2 * (1 - t * t), -G * t
        body.in_contact[0] = down

    balance = flown(body, drop)
    lost = 0.5 * 1.5 * G**2
    assert balance.contacts == pytest.approx(lost, rel=1e-12)
    assert balance.gained == pytest.approx(-lost, rel=1e-12)
    assert abs(balance.residual) < 1e-11 * balance.gross


def test_work_is_split_by_its_source() -> None:
    """The work of drag or of an external force would be counted for the rotors."""
    body = Body(count=3)
    body.rotor_force[:] = (0.0, 0.0, 20.0)
    body.drag_force[:] = (0.0, 0.0, -4.0)
    body.drag_torque[:] = (0.0, 0.0, -0.01)
    body.applied_force[:] = (0.0, 0.0, 20.0 - 4.0 + 1.0)
    body.applied_torque[:] = (0.0, 0.0, -0.01)

    def rise(body: Body, t: float) -> None:
        body.state.position[:, 2] = 3 * t
        body.state.velocity[:, 2] = 3
        turn(body, np.array([[0.0, 0.0, 2.0 / 250]]))
        body.state.angular_velocity[:] = (0, 0, 2)

    balance = flown(body, rise, steps=250)
    assert balance.rotors == pytest.approx(3 * 60.0)
    assert balance.drag == pytest.approx(3 * (-12.0 - 0.02))
    assert balance.others == pytest.approx(3 * 3.0)
    parts = balance.rotors + balance.drag + balance.others - balance.contacts + balance.residual
    assert balance.gained == pytest.approx(parts, rel=1e-12)
    assert balance.gross == pytest.approx(3 * (60 + 12.02 + 3 + 1.5 * G * 3))


def test_a_wrench_counts_for_the_step_that_follows_it() -> None:
    """Work would lag by a step, and arrays written in place would be missed."""
    none = {"model": "uniform", "acceleration": 0.0}

    def pushed_in_the_first_step(body: Body, t: float) -> None:
        body.applied_force[:, 0] = 10.0 if t == 0 else 0.0
        body.state.position[:, 0] = t

    assert flown(Body(), pushed_in_the_first_step, steps=4, rate=1.0, gravity=none).others == 10.0


@pytest.mark.parametrize("count", [1, 3, 600])
def test_any_motion_has_the_balance_that_arrays_of_all_steps_give(count: int) -> None:
    """A formula of the step would be wrong, or rows of copies mixed up."""
    center = np.array([0.1, -0.05, 0.3])
    body = Body(count=count, center_of_mass=tuple(center), products=(0.002, -0.004, 0.001))
    rng, seen = np.random.default_rng(5), []

    def shake(body: Body, _: float) -> None:
        for array in (body.state.position, body.state.velocity, body.state.angular_velocity):
            array[:] = rng.standard_normal(array.shape)
        pose(body, quaternion_from_euler(*rng.standard_normal((3, count))))
        wrenches = [rng.standard_normal((2, count, 3)) for _ in range(3)]
        for part, (force, torque) in zip(("applied", "rotor", "drag"), wrenches, strict=True):
            getattr(body, f"{part}_force")[:], getattr(body, f"{part}_torque")[:] = force, torque
        body.in_contact[:] = rng.random(count) < 0.3
        arm = rotate(body.state.rotation, center)
        turned = rotate(body.state.rotation, body.state.angular_velocity)
        velocity = body.state.velocity + np.cross(turned, arm)
        spin = body.state.angular_velocity.copy()
        seen.append((body.state.position + arm, velocity, spin, wrenches, body.in_contact.copy()))

    balance = flown(body, shake, steps=20)
    inertia = np.array([[0.03, 0.002, -0.004], [0.002, 0.03, 0.001], [-0.004, 0.001, 0.055]])
    wanted = np.zeros(7)
    for before, after in pairwise(seen):
        way, angle = after[0] - before[0], (after[2] + before[2]) / 2 / 250
        applied, rotors, drag = ((f * way + m * angle).sum(axis=1) for f, m in before[3])
        energies = [
            0.75 * (v**2).sum(axis=1) + 0.5 * np.einsum("ni,ij,nj->n", w, inertia, w) + 1.5 * G * x[:, 2]
            for x, v, w, _, _ in (before, after)
        ]
        gained, others = energies[1] - energies[0], applied - rotors - drag
        weight = -1.5 * G * way[:, 2]
        excess = gained - applied
        touched = after[4]
        gross = sum(abs(work) for work in (rotors, drag, others, weight))
        entries = gained, rotors, drag, others, -excess * touched, excess * ~touched, gross
        wanted += np.array(entries).sum(axis=1)
    np.testing.assert_allclose(astuple(balance), wanted, rtol=1e-10, atol=1e-10 * balance.gross)
    assert min(map(abs, astuple(balance))) > 1.0


def test_an_audited_flight_is_the_same_flight() -> None:
    """An observer would change what it observes."""
    ends = []
    for observers in ([], [EnergyAudit()]):
        with Simulation("flat", observers=observers) as sim:
            vehicle = sim.add(Multirotor("typhoon_h", count=2))
            sim.play()
            vehicle.place([(0, 0, 1), (5, 0, 3)], velocity=(2, 1, 0), angular_velocity=(0.3, 0.2, 1))
            sim.step(250)
            ends.append(vehicle.state.copy())
    for name, values in vars(ends[0]).items():
        np.testing.assert_array_equal(values, getattr(ends[1], name), err_msg=name)


def test_a_teleport_is_neither_work_nor_contact() -> None:
    """A vehicle moved by hand would seem to gain the energy of its new place."""
    audit = EnergyAudit()
    with Simulation("flat", observers=[audit]) as sim:
        vehicle = sim.add(Multirotor("typhoon_h", position=(0, 0, 50), sensors={}))
        vehicle.drag = None
        sim.step(50)
        vehicle.place((0, 0, 500), orientation=(0.6, 0, 0, 0.8), velocity=(20, 0, 0), angular_velocity=1)
        sim.step(50)
        balance = audit.balances()["typhoon_h"]
    assert abs(balance.gained - balance.rotors) < 1e-5  # Its stopped blades are the only brake.
    assert balance.relative_residual < 1e-6
    assert balance.contacts == 0.0


def test_vehicles_come_and_go() -> None:
    """Work would be lost or counted twice where vehicles are added, removed and replaced."""

    def falling(name: str) -> Multirotor:
        place = {"first": 0.0, "second": 5.0, "third": 10.0}[name]
        vehicle = Multirotor(PLAIN_IRIS, name=name, position=(place, 0, 100), sensors={})
        vehicle.drag = None
        return vehicle

    def fallen(balance: EnergyBalance) -> float:
        """Return the time of a fall by its work, m (g t)^2 / 2 [s]."""
        return float(np.sqrt(2 * balance.gross / 1.5) / 9.8064)

    audit, late = EnergyAudit(), EnergyAudit()
    with Simulation("flat", observers=[audit]) as sim:
        first, second = sim.add(falling("first")), sim.add(falling("second"))
        assert audit.balances() == {}
        sim.step(250)
        sim.remove(first)
        third = sim.add(falling("third"))
        sim.add_observer(late)
        sim.step(250)
        sim.remove(second)
        sim.add(falling("second"))
        sim.step(125)
        found = audit.balances()
        assert list(found) == ["first", "second", "third"]
        assert fallen(found["first"]) == pytest.approx(1.0, rel=1e-4)
        assert fallen(found["second"]) == pytest.approx(np.hypot(2.0, 0.5), rel=1e-4)
        assert fallen(found["third"]) == pytest.approx(1.5, rel=1e-4)
        assert list(late.balances()) == ["second", "third"]
        assert fallen(late.balances()["second"]) == pytest.approx(np.sqrt(3 + 0.25), rel=1e-4)
        sim.stop()
        assert audit.balances() == found
        sim.step(250)
        assert list(audit.balances()) == ["third", "second"]
        assert fallen(audit.balances()["third"]) == pytest.approx(1.0, rel=1e-4)
        assert third.columns["energy_gross"][0] == audit.balances()["third"].gross
    assert fallen(audit.balances()["second"]) == pytest.approx(1.0, rel=1e-4)
