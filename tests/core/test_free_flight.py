"""Free flight over seconds, against an independent integration of the model and conservation laws."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from pegasus import Backend, Multirotor, Simulation
from pegasus.config.scenario import WorldSpec
from pegasus.dynamics import FirstOrderMotor, LinearDrag, PolynomialThrust, QuadraticDrag, QuadraticThrust
from pegasus.environment.wind import ConstantWind
from tests.flyers import MULTIROTORS, Constant

WIND = np.array([3.0, -2.0, 1.0])
DENSITY = 1.0
CURVE = PolynomialThrust(
    coefficients=(0.0, 0.0, 1.5e-5), inflow_linear=-2.5e-4, moment_ratio=0.015, moment_linear=1e-5
)
MOTOR = FirstOrderMotor(time_constant_up=0.02, time_constant_down=0.04, max_speed=800.0, min_speed=50.0)
LINEAR = LinearDrag(coefficients=(0.5, 0.3, 0.2))
QUADRATIC = QuadraticDrag(areas=(0.05, 0.08, 0.1), angular_coefficients=(0.001, 0.002, 0.0005))
COM = np.array([0.03, -0.02, 0.05])
INERTIA = np.array([[0.03, 0.002, -0.001], [0.002, 0.04, 0.003], [-0.001, 0.003, 0.06]])
ROTORS = [
    {"position": [0.2, -0.2, 0.02], "direction": "ccw", "axis": [0.0, 0.2, 1.0]},
    {"position": [-0.2, 0.2, 0.02], "direction": "ccw"},
    {"position": [0.2, 0.2, 0.04], "direction": "cw", "axis": [0.1, 0.0, 2.0]},
    {"position": [-0.2, -0.2, 0.04], "direction": "cw"},
    {"position": [0.0, 0.3, 0.0], "direction": "cw"},
]
SPEC = {
    "name": "odd",
    "mass": 2.0,
    "inertia": [0.03, 0.04, 0.06, 0.002, -0.001, 0.003],
    "center_of_mass": COM.tolist(),
    "propeller": {"diameter": 0.2, "inertia": 5e-5},
    "rotors": ROTORS,
    "thrust_curve": {"model": "quadratic", "thrust_constant": 1e-5, "moment_ratio": 0.02},
    "sensors": {},
}
COMMANDS = np.random.default_rng(5).uniform(150.0, 780.0, (50, 5))
"""One command every 20 ms, held; the rates below divide this time."""


class Violent(Backend):
    """Commands far apart, changed every 20 ms."""

    drives = True

    def command(self, t):
        return COMMANDS[min(int(t / 0.02 + 1e-6), 49)][None]


def wrench(drag, rotation, velocity, spin, speeds):
    """Return force (world) and torque (body) of rotors and drag at the centre of mass, rotor by rotor."""
    force, torque = np.zeros(3), np.zeros(3)
    center = rotation.T @ (velocity - WIND)
    for rotor, w in zip(ROTORS, speeds, strict=True):
        axis = np.array(rotor.get("axis", [0, 0, 1.0])) / np.linalg.norm(rotor.get("axis", [0, 0, 1.0]))
        arm = np.array(rotor["position"]) - COM
        sense = 1 if rotor["direction"] == "ccw" else -1
        thrust = 1.5e-5 * w**2 - 2.5e-4 * (axis @ (center + np.cross(spin, arm))) * w
        force += thrust * axis
        torque += np.cross(arm, thrust * axis) - sense * (0.015 * thrust + 1e-5 * w) * axis
    if drag is LINEAR:
        force -= np.array([0.5, 0.3, 0.2]) * center
    else:
        force -= 0.5 * DENSITY * np.array([0.05, 0.08, 0.1]) * np.linalg.norm(center) * center
        torque -= np.array([0.001, 0.002, 0.0005]) * np.linalg.norm(spin) * spin
    return rotation @ force, torque


def spin_of(speeds):
    """Return the angular momentum of the rotors, body frame."""
    total = np.zeros(3)
    for rotor, w in zip(ROTORS, speeds, strict=True):
        axis = np.array(rotor.get("axis", [0, 0, 1.0])) / np.linalg.norm(rotor.get("axis", [0, 0, 1.0]))
        total += 5e-5 * (1 if rotor["direction"] == "ccw" else -1) * w * axis
    return total


def reference(drag, start, duration):
    """Return the centre of mass, attitude and body rates after a time, by DOP853 to 1e-12."""

    def rate(_, y, command):
        quaternion, velocity, spin, speeds = y[3:7], y[7:10], y[10:13], y[13:]
        rotation = Rotation.from_quat(quaternion).as_matrix()
        tau = np.where(command > speeds, 0.02, 0.04)
        change = (command - speeds) / tau
        force, torque = wrench(drag, rotation, velocity, spin, speeds)
        x, y_, z, w = quaternion
        p, q, r = spin
        turning = 0.5 * np.array(
            [w * p + y_ * r - z * q, w * q + z * p - x * r, w * r + x * q - y_ * p, -x * p - y_ * q - z * r]
        )
        momentum = INERTIA @ spin + spin_of(speeds)
        alpha = np.linalg.solve(INERTIA, torque - np.cross(spin, momentum) - spin_of(change))
        return np.concatenate([velocity, turning, force / 2.0 - [0, 0, 9.8], alpha, change])

    y = start
    for k in range(round(duration / 0.02)):
        y = solve_ivp(rate, (0, 0.02), y, "DOP853", args=(COMMANDS[k],), rtol=1e-12, atol=1e-12).y[:, -1]
    return y


def flat(acceleration=9.8, **fields):
    """Return a flat world with uniform gravity."""
    gravity = {"model": "uniform", "acceleration": acceleration}
    return WorldSpec(name="flat", generator={"model": "flat"}, gravity=gravity, **fields)


def in_wind(rate):
    sim = Simulation(flat(), rate=rate)
    sim.environment.wind = ConstantWind(mean_velocity=tuple(WIND))
    sim.environment.atmosphere = Uniform()
    return sim


@dataclasses.dataclass(frozen=True)
class Uniform:
    """Air of one density."""

    def density(self, altitude):
        return np.full_like(altitude, DENSITY)


def odd_vehicle(drag, backend):
    models = {"motor": MOTOR, "thrust_curve": CURVE, "drag": drag}
    return Multirotor(SPEC, **models, backends=[backend], position=(0, 0, 99))


def flown(rate, drag, backend):
    """Return centre of mass, attitude, body rates and rotor speeds after a second of commands far apart."""
    with in_wind(rate) as sim:
        drone = sim.add(odd_vehicle(drag, backend))
        sim.play()
        drone.place((0, 0, 99), velocity=(8.0, -6.0, 2.0), angular_velocity=(2.0, -1.0, 3.0))
        drone.columns["rotor_speed"][...] = 400.0
        center = np.array([0, 0, 99.0]) + COM
        start = np.concatenate(
            [center, [0, 0, 0, 1], np.array([8.0, -6.0, 2.0]) + np.cross([2, -1, 3], COM), [2.0, -1.0, 3.0],
             np.full(5, 400.0)]
        )  # fmt: skip
        sim.run(1.0)
        state = drone.state
        center = state.position[0] + state.rotation[0] @ COM
        found = np.concatenate(
            [center, state.orientation[0], state.angular_velocity[0], state.rotor_speed[0]]
        )
        return start, found


@pytest.mark.parametrize("drag", [LINEAR, QUADRATIC], ids=["linear", "quadratic"])
def test_violent_flight_follows_the_model_to_second_order_and_better(drag):
    """Forces held over the step, or taken at its start, would be first order and centimetres off."""
    errors, flights = [], [flown(rate, drag, Violent()) for rate in (250.0, 500.0, 1000.0)]
    expected = reference(drag, flights[0][0], 1.0)
    for _, found in flights:
        turn = Rotation.from_quat(expected[3:7]).inv() * Rotation.from_quat(found[3:7])
        errors.append([np.linalg.norm(found[:3] - expected[:3]), turn.magnitude()])
        np.testing.assert_allclose(found[10:], expected[13:], rtol=1e-9)
    errors = np.array(errors)
    assert errors[0, 0] < 0.002
    orders = np.log2(errors[:-1] / errors[1:])
    assert orders.min() > 2.0, (errors, orders)


NO_DRAG = LinearDrag(coefficients=(0.0, 0.0, 0.0))
NO_THRUST = QuadraticThrust(thrust_constant=1e-30, torque_constant=0.0)
STOPPED = QuadraticThrust(thrust_constant=1e-3, torque_constant=0.0)
"""Rotors that have no force in any air while they stand still."""


@pytest.mark.parametrize("name", MULTIROTORS)
def test_spinning_rotors_make_no_energy(name):
    """An explicit step of the gyroscopic torque multiplies the energy of a racer by 24 in five seconds."""
    with Simulation(flat(0.0)) as sim:
        kind = Multirotor(name)
        fast = np.where(kind.layout.spin > 0, kind.motor.max_speed, 0.0)
        still = {"thrust_curve": NO_THRUST, "drag": NO_DRAG, "sensors": {}}
        drone = sim.add(Multirotor(name, **still, position=(0, 0, 50), backends=[Constant(fast)]))
        sim.play()
        drone.place((0, 0, 50), angular_velocity=(5.0, 0.0, 0.0))
        drone.columns["rotor_speed"][...] = fast

        def energy():
            w, v = drone.state.angular_velocity[0], drone.state.velocity[0]
            center = v + drone.state.rotation[0] @ np.cross(w, drone.center_of_mass)
            return 0.5 * w @ drone.inertia @ w + 0.5 * drone.mass * center @ center

        first = energy()
        for _ in range(5):
            sim.run(1.0)
            assert energy() / first == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("name", ["typhoon_h", "pegasus", "octorotor", "x500"])
def test_free_fall_with_spin_keeps_angular_momentum(name):
    """A wrench held at the start attitude about an origin off the centre of mass loses percents of it."""
    with Simulation(flat()) as sim:
        bare = {"thrust_curve": STOPPED, "drag": NO_DRAG, "sensors": {}}
        drone = sim.add(Multirotor(name, **bare, position=(0, 0, 600)))
        sim.play()
        drone.place((0, 0, 600), angular_velocity=(8.0, 3.0, 1.0))

        def momentum():
            return drone.state.rotation[0] @ drone.inertia @ drone.state.angular_velocity[0]

        def center():
            return drone.state.position[0] + drone.state.rotation[0] @ drone.center_of_mass

        first, place = momentum(), center()
        speed = drone.state.rotation[0] @ np.cross([8.0, 3.0, 1.0], drone.center_of_mass)
        sim.run(10.0)
        np.testing.assert_allclose(momentum(), first, atol=1e-6 * np.linalg.norm(first))
        np.testing.assert_allclose(center(), place + 10 * speed - [0, 0, 0.5 * 9.8 * 100], atol=1e-6)


@pytest.mark.parametrize("rate", [100.0, 250.0])
def test_projectile_with_quadratic_drag(rate):
    """Drag of the step's start is 16 cm off after five seconds, and diverges where it is strong."""
    drag = QuadraticDrag(areas=(0.1, 0.1, 0.1))
    with Simulation(flat(), rate=rate) as sim:
        sim.environment.atmosphere = Uniform()
        bare = {"thrust_curve": STOPPED, "drag": drag, "sensors": {}}
        drone = sim.add(Multirotor("iris", **bare, position=(0, 0, 200)))
        sim.play()
        drone.place((0, 0, 200), velocity=(30.0, 0.0, 20.0))
        sim.run(5.0)

        def rate_of(_, y):
            return np.concatenate([y[3:], -0.05 / 1.5 * np.linalg.norm(y[3:]) * y[3:] - [0, 0, 9.8]])

        start = [0, 0, 200, 30.0, 0.0, 20.0]
        expected = solve_ivp(rate_of, (0, 5), start, "DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
        np.testing.assert_allclose(drone.state.position[0], expected[:3], atol=1e-5)
        np.testing.assert_allclose(drone.state.velocity[0], expected[3:], atol=1e-5)


def test_the_reported_wrench_is_the_mean_of_the_step():
    """An engine of another home would get another motion from the reported wrench."""
    with in_wind(2000.0) as sim:
        drone = sim.add(odd_vehicle(LINEAR, Violent()))
        sim.step(240)
        w0, v0 = drone.state.angular_velocity[0].copy(), drone.state.velocity[0].copy()
        v0 = v0 + drone.state.rotation[0] @ np.cross(w0, COM)
        sim.step()
        w1 = drone.state.angular_velocity[0]
        v1 = drone.state.velocity[0] + drone.state.rotation[0] @ np.cross(w1, COM)
        np.testing.assert_allclose(drone.applied_force[0], 2.0 * ((v1 - v0) * 2000 + [0, 0, 9.8]), rtol=1e-9)
        middle = 0.5 * (w0 + w1)
        expected = INERTIA @ (w1 - w0) * 2000 + np.cross(middle, INERTIA @ middle)
        np.testing.assert_allclose(drone.applied_torque[0], expected, atol=2e-6 * np.linalg.norm(expected))
        parts = drone.rotor_force + drone.drag_force, drone.rotor_torque + drone.drag_torque
        np.testing.assert_allclose(parts[0], drone.applied_force, rtol=1e-12)
        np.testing.assert_allclose(parts[1], drone.applied_torque, rtol=1e-12)
