"""Tests of the levels of commands: the controllers of a simulation, bit by bit, and what they reach."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.control import GeometricController, trajectories
from pegasus.control.guided import guided_geometric_law
from pegasus.control.guided_step import ATTITUDE, BODY_RATES, TARGET
from pegasus.environment import Environment
from pegasus.fleet import Fleet
from pegasus.fleet.levels import LEVELS
from tests.flyers import MULTIROTORS

RATE, HEIGHT = 500.0, 60.0
TILTED = np.array([0.06, -0.03, 0.1, 0.9928])


@dataclass(eq=False)
class Ordered(GeometricController):
    """Controller whose orders are written into the columns of its law."""

    law: ClassVar[Any] = staticmethod(guided_geometric_law)


def order_of(level, k, weight):
    """Return the orders of step k: directive, orientation, rates and thrust, and the command of the level."""
    lift = weight * (1.0 + 0.1 * np.sin(0.01 * k))
    if level == "attitude":
        turned = TILTED * (1.0, -1.0 if k % 700 < 350 else 1.0, 1.0, 1.0)
        turned /= np.sqrt((turned * turned).sum())
        return ATTITUDE, turned, np.zeros(3), lift, [lift, *turned]
    rates = np.array([0.3 * np.sin(0.02 * k), 0.2 * np.cos(0.015 * k), 0.1])
    return BODY_RATES, TILTED, rates, lift, [lift, *rates]


@pytest.mark.parametrize(
    ("model", "level"),
    [
        *((model, "reference") for model in MULTIROTORS),
        *(
            (model, level)
            for model in ("crazyflie", "iris", "tilted_hexarotor")
            for level in ("attitude", "rates")
        ),
    ],
)
def test_controllers_have_the_bits_of_a_simulation(model, level):
    """A row that is controlled flies as a vehicle with the geometric controller, step by step."""
    duration = 10.0 if model in ("iris", "crazyflie") else 2.0
    path = trajectories.lemniscate(radius=4.0, height=HEIGHT)
    controller = Ordered(path, spin_up=0.0, relative=False)
    fleet = Fleet(model, 2, level=level, rate=RATE, dtype="float64")
    with Simulation(rate=RATE) as sim:
        vehicle = sim.add(
            Multirotor(model, position=(0, 0, HEIGHT), backends=[controller], sensors={}, estimator=None)
        )
        sim.play()
        weight = vehicle.mass * 9.8
        fleet.reset(position=vehicle.state.position[0])
        for k in range(round(duration * RATE)):
            columns = controller.columns
            if level == "reference":
                columns["directive"][...] = TARGET
            else:
                directive, orientation, rates, lift, command = order_of(level, k, weight)
                columns["directive"][...], columns["attitude"][...] = directive, orientation
                columns["rates"][...], columns["lift"][...] = rates, lift
            sim.step()
            if level == "reference":
                r = controller.reference
                vectors = [*r.position[0], *r.velocity[0], *r.acceleration[0], *r.jerk[0]]
                command = [*vectors, r.yaw[0], r.yaw_rate[0]]
            fleet.step(command)
            assert np.array_equal(fleet.state.position[1], vehicle.state.position[0]), sim.time
            assert np.array_equal(fleet.state.rotor_speed[0], vehicle.columns["rotor_speed"][0]), sim.time
        assert np.array_equal(fleet.state.orientation[1], vehicle.state.orientation[0])
        assert np.linalg.norm(vehicle.state.velocity) > 0.2


def test_levels_reach_what_they_are_told():
    """Controllers in a launch reach a velocity, a position with its heading, body rates and an attitude."""
    hover = {"rotor_speed": np.full(4, 600.0)}
    fleets = {level: Fleet("iris", 3, level=level) for level in LEVELS[2:6]}
    for fleet in fleets.values():
        fleet.reset(**hover)
    fleets["velocity"].step([2.0, -1.0, 0.5, 0.4], 3000)
    assert np.abs(fleets["velocity"].state.velocity - (2.0, -1.0, 0.5)).max() < 0.05
    fleets["position"].step([[1, 2, 3, 0.4], [-1, 0, 5, 0.4], [20, 0, 0, 0.4]], 7000)
    assert np.abs(fleets["position"].state.position - [[1, 2, 3], [-1, 0, 5], [20, 0, 0]]).max() < 0.05
    assert np.abs(fleets["position"].state.orientation[:, 2] - np.sin(0.2)).max() < 0.01
    fleets["rates"].step([16.0, 0.5, -0.3, 0.2], 300)
    assert np.abs(fleets["rates"].state.angular_velocity - (0.5, -0.3, 0.2)).max() < 0.05
    fleets["attitude"].step([16.0, 0.1, 0.0, 0.0, np.sqrt(0.99)], 1000)
    assert np.abs(fleets["attitude"].state.orientation[:, 0] - 0.1).max() < 0.01


def test_thrusts_are_inverted():
    """Thrusts give the rotor speeds of the thrust curve's inverse at the density of the place."""
    by_thrust, by_speed = (
        Fleet("iris", 3, level=level, dtype="float64") for level in ("thrusts", "channels")
    )
    thrusts = np.array([[3.0, 4.0, 5.0, 6.0], [4.0, 4.0, 4.0, 4.0], [1.0, 2.0, 0.0, 0.5]])
    place = np.array([(0.0, 0.0, z) for z in (0.0, 500.0, 2000.0)])
    density = Environment().air_density(place)[:, None]
    speeds = Multirotor("iris").thrust_curve.rotor_speed(thrusts, density)
    for fleet, command in ((by_thrust, thrusts), (by_speed, speeds)):
        fleet.reset(position=place)
        fleet.step(command)
    assert np.array_equal(by_thrust.state.rotor_speed, by_speed.state.rotor_speed)
    assert by_thrust.state.rotor_speed[0].min() > 0


def test_inputs_are_named():
    """Each level lists its commands with units; a vehicle without a controller is refused in one line."""
    assert [str(c) for c in Fleet("iris", 1, level="rates").inputs] == [
        "thrust [N], 0 to inf",
        *(f"rate_{axis} [rad/s], -inf to inf" for axis in "xyz"),
    ]
    with pytest.raises(ConfigError, match="is not commanded by the speeds of rotors"):
        Fleet("plane", 2, level="position")
    with pytest.raises(ConfigError, match="level = 'speeds': must be one of channels, thrusts"):
        Fleet("iris", 2, level="speeds")
