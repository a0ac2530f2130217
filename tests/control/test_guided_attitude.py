"""Attitudes and body rates commanded to guided controllers."""

import math

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.base.frames import euler_from_quaternion
from pegasus.control import GeometricController, GuidedController, GuidedPIDController, trajectories
from pegasus.control.guided import Guided
from tests.flyers import PLAIN_IRIS

HEIGHT = 10.0
KINDS = [GuidedController, GuidedPIDController]


@pytest.fixture(params=KINDS)
def flight(request):
    """Two copies that hover far from each other, with their simulation and controller."""
    with hovering(request.param()) as sim:
        (vehicle,) = sim.vehicles
        yield sim, vehicle, vehicle.backends.driver


def hovering(pilot):
    """Return a simulation with two copies in the air."""
    sim = Simulation("flat")
    places = [[0.0, 0.0, 0.1], [40.0, 0.0, 0.1]]
    sim.add(Multirotor(PLAIN_IRIS, count=2, position=places, backends=[pilot], sensors={}))
    pilot.takeoff(height=HEIGHT).wait(sim)
    return sim


def test_an_attitude_is_reached_and_held(flight):
    """A planner that commands attitudes would fly in another direction, or sink."""
    sim, vehicle, pilot = flight
    thrust = 1.05 * vehicle.mass * 9.81
    pilot.attitude(roll=0.3, yaw=1.0, thrust=thrust, copies=0).wait(sim, timeout=4.0)
    sim.run(2.0)
    np.testing.assert_allclose(euler_from_quaternion(vehicle.orientation)[0], [0.3, 0.0, 1.0], atol=0.03)
    state = vehicle.state
    rotation, velocity = state.rotation[0], state.velocity[0]
    drag = np.array([0.5, 0.3, 0.0]) * (rotation.T @ velocity)
    force = rotation @ ([0.0, 0.0, thrust] - drag) - [0.0, 0.0, vehicle.mass * 9.81]
    np.testing.assert_allclose(state.acceleration[0], force / vehicle.mass, atol=0.05)
    pilot.attitude(pitch=-0.2, copies=0).wait(sim, timeout=2.0)
    np.testing.assert_allclose(euler_from_quaternion(vehicle.orientation)[0], [0.0, -0.2, 1.0], atol=0.08)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_body_rates_are_reached(flight, axis):
    """A racing controller would turn by another angle than it planned."""
    sim, vehicle, pilot = flight
    rates = np.zeros(3)
    rates[axis] = 2.5
    pilot.body_rates(rates, copies=0)
    sim.run(1.0)
    before = vehicle.orientation[0].copy()
    sim.run(0.4)
    np.testing.assert_allclose(vehicle.angular_velocity[0], rates, atol=0.15)
    cosine = min(abs(float(before @ vehicle.orientation[0])), 1.0)
    assert 2 * math.acos(cosine) == pytest.approx(2.5 * 0.4, rel=0.05)


def test_the_thrust_is_that_commanded(flight):
    """The height of a flight by body rates would drift although its thrust is right."""
    sim, vehicle, pilot = flight
    pilot.body_rates((0.0, 0.0, 0.0), thrust=np.array([1.2, 1.0]) * vehicle.mass * 9.81)
    sim.run(1.5)
    climb = vehicle.velocity[:, 2].copy()
    sim.run(1.0)
    np.testing.assert_allclose(vehicle.velocity[:, 2] - climb, [0.2 * 9.81, 0.0], atol=0.06)


@pytest.mark.parametrize("kind", KINDS)
def test_the_others_fly_on(kind):
    """A command for one copy would move another."""
    ends = []
    for turned in (False, True):
        pilot = kind()
        with hovering(pilot) as sim:
            if turned:
                pilot.body_rates((1.0, 0.5, 2.0), copies=0)
            sim.run(1.0)
            if turned:
                pilot.attitude(roll=0.4, copies=0)
            sim.run(1.0)
            ends.append(sim.vehicles["iris"].position[1].copy())
    np.testing.assert_array_equal(*ends)


def test_a_hold_after_turns_begins_where_the_vehicle_is(flight):
    """The reference would have stayed behind, and the vehicle fly back to it at once."""
    sim, vehicle, pilot = flight
    pilot.attitude(pitch=0.3, copies=0)
    sim.run(2.0)
    assert vehicle.position[0, 0] > 3.0
    speed = vehicle.velocity[0, 0]
    pilot.hold(copies=0)
    sim.step(2)
    reference = pilot.mission.reference
    np.testing.assert_allclose(reference.position[0], vehicle.position[0], atol=0.05)
    assert reference.velocity[0, 0] == pytest.approx(speed, abs=0.2)
    sim.run(9.0)
    assert np.abs(vehicle.velocity[0]).max() < 0.05
    assert vehicle.position[0, 0] > 3.0
    pilot.land().wait(sim, timeout=90.0)
    pilot.takeoff(height=1.0).wait(sim)


def test_a_take_off_after_turns_is_level(flight):
    """The vehicle would go on turning when it takes off again."""
    sim, vehicle, pilot = flight
    pilot.land().wait(sim, timeout=90.0)
    pilot.takeoff(height=2.0).wait(sim)
    pilot.attitude(roll=0.2)
    sim.stop()
    pilot.takeoff(height=2.0).wait(sim)
    assert np.abs(euler_from_quaternion(vehicle.orientation)[:, :2]).max() < 0.05


class Following(Guided, GeometricController):
    """Guided controller with the law of another one."""


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("attitude", {"roll": 20}, "roll = 20: must be in radians"),
        ("attitude", {"pitch": [0.1]}, r"pitch = \[0.1\]: must be finite numbers of shape"),
        ("attitude", {"yaw": np.nan}, "yaw = nan: must be finite"),
        ("body_rates", {"rates": [0.0, 1.0]}, r"rates = \[0.0, 1.0\]: must be finite numbers of shape"),
        ("body_rates", {"rates": [0, 0, 1], "thrust": 100.0}, r"thrust = 100.0: must be from 0 to 41\.\d+ N"),
        ("body_rates", {"rates": [0, 0, 1], "thrust": -1.0}, "thrust = -1.0: must be from 0 to"),
    ],
)
def test_wrong_turns(flight, name, values, message):
    """A wrong command would turn the vehicle over."""
    _, _, pilot = flight
    with pytest.raises(ConfigError, match=message):
        getattr(pilot, name)(**values)


def test_turns_of_a_law_that_has_none():
    """The command would be accepted, and nothing follow it."""
    with hovering(Following(trajectories.hold(height=1.0))) as sim:
        pilot = sim.vehicles["iris"].backends.driver
        with pytest.raises(ConfigError, match="Following: follows positions and velocities only; use Guided"):
            pilot.body_rates((0.0, 0.0, 1.0))


def test_turns_on_the_ground():
    """The rotors would turn on the ground before the take-off."""
    pilot = GuidedController()
    for command in (lambda: pilot.attitude(roll=0.1), lambda: pilot.body_rates((0.0, 0.0, 1.0))):
        with pytest.raises(ConfigError, match="vehicle: is not in the air; take off first"):
            command()
