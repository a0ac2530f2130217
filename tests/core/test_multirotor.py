"""Multirotors in a simulation: accelerations, layout, errors, random streams and readings."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.streams import stream
from pegasus.core.aircraft import as_aircraft
from pegasus.environment.wind import ConstantWind
from pegasus.sensors import GPS, IMU, GpsReading, ImuReading
from tests.core.test_free_flight import COM, CURVE, LINEAR, MOTOR, SPEC, WIND
from tests.flyers import Constant


def odd_vehicle(commands, **kwargs):
    return Multirotor(
        SPEC, motor=MOTOR, thrust_curve=CURVE, drag=LINEAR, backends=[Constant(commands)], **kwargs
    )


def in_wind(rate=250.0):
    sim = Simulation("flat", rate=rate)
    sim.environment = dataclasses.replace(sim.environment, wind=ConstantWind(mean_velocity=tuple(WIND)))
    sim.vehicles._environment = sim.environment
    return sim


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
    """A reading would be that of another sensor, or a missing one raise a KeyError."""
    with Simulation("flat") as simulation:
        vehicle = simulation.add(Multirotor("iris", sensors={"imu": IMU(), "a": GPS(), "b": GPS()}))
        with pytest.raises(ConfigError, match="has not been given; step the simulation first"):
            vehicle.reading(ImuReading)
        simulation.step()
        assert vehicle.reading(ImuReading) is vehicle.readings["imu"]
        assert vehicle.reading(GpsReading, "b") is vehicle.readings["b"]
        with pytest.raises(ConfigError, match="is given by a, b; name one of them"):
            vehicle.reading(GpsReading)
        with pytest.raises(
            ConfigError, match=r"sensor 'c'.* has not been given; .* sensors are imu, a, b, battery$"
        ):
            vehicle.reading(GpsReading, "c")


def test_a_part_for_multirotors_refuses_other_vehicles():
    """A part would fail somewhere within, on a vehicle of another kind, and nobody be told why."""
    glider = SimpleNamespace(name="glider")
    with pytest.raises(ConfigError, match="vehicle = 'glider': must be an Aircraft"):
        as_aircraft(glider)
    iris = Multirotor("iris")
    assert as_aircraft(iris) is iris
