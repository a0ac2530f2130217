"""The wrench on the airframe, rotor by rotor, against a plain computation from the formulas."""

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus import Backend, ConfigError, Multirotor, Simulation
from pegasus.aerodynamics import LinearDrag
from pegasus.environment.wind import ConstantWind
from pegasus.propulsion import FirstOrderMotor, PolynomialThrust
from pegasus.sensors import GPS, IMU, GpsReading, ImuReading
from pegasus.streams import stream

WIND = np.array([3.0, -2.0, 1.0])
CURVE = PolynomialThrust(
    coefficients=(0.0, 0.0, 1.5e-5), inflow_linear=-2.5e-4, moment_ratio=0.015, moment_linear=1e-5
)
MOTOR = FirstOrderMotor(time_constant_up=0.02, time_constant_down=0.04, max_speed=800.0, min_speed=50.0)
DRAG = LinearDrag(coefficients=(0.5, 0.3, 0.2))
COM = np.array([0.03, -0.02, 0.05])
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


class Command(Backend):
    """Command given rotor speeds."""

    drives = True

    def __init__(self, speeds):
        self.speeds = np.atleast_2d(np.asarray(speeds, dtype=float))

    def command(self, t):
        return self.speeds


def plain_wrench(rotation, velocity, spin, start, command, dt):
    """Return force (world) and torque (body) at the centre of mass, and the rotor speeds at the end."""
    force, torque, ends = np.zeros(3), np.zeros(3), []
    through_air = rotation.T @ (velocity - WIND)
    for rotor, w0, wanted in zip(ROTORS, start, command, strict=True):
        wanted = min(max(wanted, 50.0), 800.0)
        tau = 0.02 if wanted > w0 else 0.04
        w1 = wanted + (w0 - wanted) * np.exp(-dt / tau)
        w = (w0 + w1) / 2
        axis = np.array(rotor.get("axis", [0, 0, 1.0])) / np.linalg.norm(rotor.get("axis", [0, 0, 1.0]))
        position = np.array(rotor["position"])
        sense = 1 if rotor["direction"] == "ccw" else -1
        inflow = axis @ (through_air + np.cross(spin, position))
        thrust = 1.5e-5 * w**2 - 2.5e-4 * inflow * w
        force += thrust * axis
        torque += np.cross(position - COM, thrust * axis) - sense * (0.015 * thrust + 1e-5 * w) * axis
        momentum = 5e-5 * sense * axis
        torque -= np.cross(spin, momentum * w) + momentum * (w1 - w0) / dt
        ends.append(w1)
    force += -np.array([0.5, 0.3, 0.2]) * (through_air + np.cross(spin, COM))
    return rotation @ force, torque, np.array(ends)


def odd_vehicle(commands, **kwargs):
    return Multirotor(
        SPEC, motor=MOTOR, thrust_curve=CURVE, drag=DRAG, backends=[Command(commands)], **kwargs
    )


def in_wind(rate=250.0):
    sim = Simulation("flat", rate=rate)
    sim.environment = dataclasses.replace(sim.environment, wind=ConstantWind(mean_velocity=tuple(WIND)))
    sim.vehicles._environment = sim.environment
    return sim


def test_wrench_agrees_with_the_formulas_rotor_by_rotor():
    """Any lever arm, axis, sense of rotation, inflow, wind, lag, momentum or frame gone wrong shows here."""
    rng = np.random.default_rng(7)
    command = np.array([[300.0, 500.0, 900.0, 20.0, 650.0], [600.0, 100.0, 400.0, 700.0, 55.0]])
    with in_wind() as sim:
        vehicle = sim.add(odd_vehicle(command, count=2, position=[(0, 0, 40), (9, 0, 40)]))
        sim.play()
        for heading in (0.3, -2.0, 1.4):
            velocity, spin = rng.normal(scale=4, size=(2, 3)), rng.normal(scale=3, size=(2, 3))
            vehicle.teleport(
                [(0, 0, 40), (9, 0, 40)], heading=heading, velocity=velocity, angular_velocity=spin
            )
            sim.step(2)
            state = vehicle.state.copy()
            sim.advance()
            for i in range(2):
                rotation = Rotation.from_quat(state.orientation[i]).as_matrix()
                force, torque, ends = plain_wrench(
                    rotation,
                    state.velocity[i],
                    state.angular_velocity[i],
                    state.rotor_speed[i],
                    command[i],
                    sim.dt,
                )
                np.testing.assert_allclose(vehicle.applied_force[i], force, rtol=1e-10, atol=1e-12)
                np.testing.assert_allclose(vehicle.applied_torque[i], torque, rtol=1e-10, atol=1e-12)
                np.testing.assert_allclose(vehicle.state.rotor_speed[i], ends, rtol=1e-12)
            parts = vehicle.rotor_force + vehicle.drag_force, vehicle.rotor_torque + vehicle.drag_torque
            np.testing.assert_allclose(parts[0], vehicle.applied_force, rtol=1e-12)
            np.testing.assert_allclose(parts[1], vehicle.applied_torque, rtol=1e-12)


def test_state_change_follows_newton_and_euler():
    """The reported accelerations over a step must be what the wrench does to mass and inertia."""
    with in_wind(rate=20000.0) as sim:
        vehicle = sim.add(odd_vehicle([600.0, 610.0, 590.0, 620.0, 100.0], position=(0, 0, 40)))
        sim.step(4000)
        spin = vehicle.state.angular_velocity[0].copy()
        rotation = vehicle.state.rotation[0].copy()
        gravity = sim.environment.gravity_vector(vehicle.state.position)[0]
        sim.step()
        torque = vehicle.applied_torque[0]
        alpha = np.linalg.solve(vehicle.inertia, torque - np.cross(spin, vehicle.inertia @ spin))
        size = np.linalg.norm(alpha)
        np.testing.assert_allclose(vehicle.state.angular_acceleration[0], alpha, atol=5e-4 * size)
        center = vehicle.applied_force[0] / 2.0 + gravity
        origin = center - rotation @ (np.cross(alpha, COM) + np.cross(spin, np.cross(spin, COM)))
        np.testing.assert_allclose(vehicle.state.acceleration[0], origin, rtol=2e-3, atol=0.02)


def test_rotor_momentum_makes_no_energy():
    """The gyroscopic torque of spinning rotors must be at right angles to the angular velocity."""
    heavy, light = (SPEC | {"propeller": {"diameter": 0.2, "inertia": j}} for j in (1e-3, 0.0))
    command, spin = np.full(5, 500.0), np.array([2.0, -3.0, 1.0])
    with Simulation("flat") as sim:
        vehicles = [
            sim.add(Multirotor(spec, name=name, position=(x, 0, 40), backends=[Command(command)]))
            for spec, name, x in ((heavy, "heavy", 0), (light, "light", 20))
        ]
        # The ideal motor's speed jumps in the first step; from then on there is gyroscopic torque only.
        sim.step()
        for vehicle, x in zip(vehicles, (0, 20), strict=True):
            vehicle.teleport((x, 0, 40), angular_velocity=spin)
        sim.advance()
        extra = vehicles[0].rotor_torque[0] - vehicles[1].rotor_torque[0]
        assert np.linalg.norm(extra) > 0.1
        assert abs(extra @ spin) < 1e-12


def test_layout_of_the_iris():
    """Rotor order and senses must be those of PX4: front right and rear left counter-clockwise."""
    layout = Multirotor("iris").layout
    np.testing.assert_array_equal(layout.spin, [1, 1, -1, -1])
    np.testing.assert_array_equal(np.sign(layout.position[:, :2]), [[1, -1], [-1, 1], [1, 1], [-1, -1]])


def test_errors_name_the_vehicles_file(tmp_path):
    """An error in a component must lead to the file that it stands in."""
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\nmass: 1\ninertia: [0.01, 0.01, 0.018]\nrotors: {count: 4, radius: 0.2}\n"
        "thrust_curve: {model: quadratic, thrust_constant: -1, moment_ratio: 0.1}\n"
    )
    with pytest.raises(ConfigError, match=rf"^{path}: thrust_curve.thrust_constant = -1.0: must be above 0$"):
        Multirotor(path)


def test_streams_depend_on_seed_and_every_name():
    """Two sensors, vehicles or seeds with one stream would have the same noise."""
    keys = [(0, "a", "b"), (1, "a", "b"), (0, "a", "c"), (0, "b", "b"), (0, "ab"), (0, "a", "b\0"), (0, "a")]
    draws = [stream(*key).standard_normal() for key in keys]
    assert len(set(draws)) == len(keys)
    assert stream(0, "a", "b").standard_normal() == draws[0]


def test_reading_by_its_class():
    """A reading would be that of another sensor, or one that is missing be told of by a KeyError."""
    with Simulation("flat") as simulation:
        vehicle = simulation.add(Multirotor("iris", sensors={"imu": IMU(), "a": GPS(), "b": GPS()}))
        with pytest.raises(ConfigError, match="has not been given; step the simulation first"):
            vehicle.reading(ImuReading)
        simulation.step()
        assert vehicle.reading(ImuReading) is vehicle.readings["imu"]
        assert vehicle.reading(GpsReading, "b") is vehicle.readings["b"]
        with pytest.raises(ConfigError, match="is given by a, b; name one of them"):
            vehicle.reading(GpsReading)
        with pytest.raises(ConfigError, match=r"sensor 'c'.* has not been given; .* sensors are imu, a, b$"):
            vehicle.reading(GpsReading, "c")
