"""Tests of the ROS 2 pilot, from commands to rotor speeds, in a real simulation without a network."""

import math

import numpy as np
import pytest

from pegasus import Backend, Multirotor, Simulation
from pegasus.backends.ros2.demand import CommandedPath, Demand, PathPoint
from pegasus.backends.ros2.pilot import Pilot, limited_step
from pegasus.base.frames import euler_from_quaternion
from tests.flyers import PLAIN_IRIS


class Told(Backend):
    """A backend that flies by commands of the test."""

    drives = True

    def __init__(self, *, hold=False, timeout=0.5):
        self._options = {"hold": hold, "timeout": timeout}

    def bind(self, vehicle):
        self.vehicle, self.pilot = vehicle, Pilot(vehicle, **self._options)
        self.demands = [Demand(vehicle.channels) for _ in range(vehicle.count)]

    def command(self, t):
        self.tell(t)
        return self.pilot.command(t, self.vehicle.state, self.demands)

    def tell(self, t):
        """Set the commands of this step."""


def flown(tell, duration, *, height=10.0, count=1, **options):
    """Return a vehicle after a flight by the commands of a function, and its backend."""
    backend = Told(**options)
    backend.tell = lambda t: tell(backend.demands, t)
    with Simulation("flat") as sim:
        vehicle = sim.add(
            Multirotor(PLAIN_IRIS, count=count, position=(0, 0, height), heading=0.5, backends=[backend])
        )
        sim.run(duration)
        vehicle.state = vehicle.state.copy()
    return vehicle, backend


def test_limited_step():
    """A commanded velocity would be reached at once, or never."""
    np.testing.assert_allclose(limited_step(np.zeros(3), np.array([3.0, 4.0, 0.0]), 1.0), [0.6, 0.8, 0.0])
    np.testing.assert_array_equal(limited_step(np.ones(3), np.ones(3) * 1.1, 1.0), np.ones(3) * 1.1)


def test_rotors_rest_until_they_are_told():
    """A vehicle without commands would spin its rotors."""
    vehicle, _ = flown(lambda *_: None, 0.1)
    assert not vehicle.state.rotor_speed.any()
    assert not vehicle.rotor_command.any()


def test_each_rotor_stops_by_its_own_age():
    """Repeated commands to one rotor would keep outdated ones alive."""

    def tell(demands, t):
        if t == 0:
            demands[0].take_channels([100.0, 200.0, 300.0, 400.0], t)
        demands[0].take_channels(350.0, t, chosen=2)

    _, backend = flown(tell, 0.4)
    np.testing.assert_array_equal(backend.pilot._speeds[0], [100, 200, 350, 400])
    _, backend = flown(tell, 0.6)
    np.testing.assert_array_equal(backend.pilot._speeds[0], [0, 0, 350, 0])


def test_velocity_is_ahead_of_the_vehicle():
    """Velocity would be taken along the world's axes, or the heading not turn at its rate."""

    def tell(demands, t):
        demands[0].take_velocity((1.0, 0.0, 0.5), 0.0, t)

    vehicle, _ = flown(tell, 4.0)
    wanted = [math.cos(0.5), math.sin(0.5), 0.5]
    np.testing.assert_allclose(vehicle.state.velocity[0], wanted, atol=0.03)

    def turn(demands, t):
        demands[0].take_velocity((0.0, 0.0, 0.0), 0.4, t)

    vehicle, _ = flown(turn, 3.0)
    assert vehicle.state.angular_velocity[0, 2] == pytest.approx(0.4, abs=0.02)
    assert euler_from_quaternion(vehicle.state.orientation)[0, 2] == pytest.approx(0.5 + 1.2, abs=0.05)


@pytest.mark.parametrize("hold", [False, True])
def test_an_old_velocity(hold):
    """An outdated command would be followed, or the wrong time-out action be taken."""

    def tell(demands, t):
        if t < 2.0:
            demands[0].take_velocity((2.0, 0.0, 0.0), 0.0, t)

    vehicle, backend = flown(tell, 2.55, hold=hold)
    assert bool(backend.pilot._speeds.any()) is hold
    assert bool(backend.pilot.reference.idle[0]) is not hold
    if hold:
        vehicle, _ = flown(tell, 6.0, hold=hold)
        assert np.abs(vehicle.state.velocity).max() < 0.05
        assert vehicle.state.position[0, 2] == pytest.approx(10.0, abs=0.2)


def test_attitude_and_thrust():
    """Roll, pitch and yaw would be exchanged, or the thrust not be in newtons."""
    wanted = (0.1, -0.15, 0.8)

    def tell(demands, t):
        demands[0].take_attitude(wanted, 1.5 * 9.80665, t)

    vehicle, _ = flown(tell, 1.5)
    np.testing.assert_allclose(euler_from_quaternion(vehicle.state.orientation)[0], wanted, atol=0.02)
    assert np.linalg.norm(vehicle.rotor_force) == pytest.approx(1.5 * 9.80665, rel=0.01)


def test_a_path_is_followed():
    """Points would be taken at the wrong times, or the vehicle not stop at the last one."""
    path = CommandedPath(
        [
            PathPoint(0.0, (0, 0, 10), 0.5, (0, 0, 0), (0, 0, 0)),
            PathPoint(3.0, (2, 1, 11), 0.0, (0, 0, 0), (0, 0, 0)),
        ]
    )
    errors = []

    def tell(demands, t):
        if t == 0.0:
            demands[0].take_path(path, t)

    backend = Told(hold=True)
    backend.tell = lambda t: tell(backend.demands, t)
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor(PLAIN_IRIS, position=(0, 0, 10), heading=0.5, backends=[backend]))
        for t in sim.stepping(5.0):
            errors.append(np.abs(path.at(t).motion[0] - vehicle.state.position[0]).max())
    # The rotors start from rest, so the vehicle sinks at first.
    assert max(errors[500:]) < 0.1
    assert errors[-1] < 0.03


def test_copies_do_as_each_was_told():
    """One copy's command or mode would affect another copy."""

    def tell(demands, t):
        demands[0].take_channels(700.0, t)
        demands[1].take_velocity((0.0, 0.0, 1.0), 0.0, t)
        demands[2].take_attitude((0.0, 0.0, 0.5), 10.0, t)

    vehicle, backend = flown(tell, 2.0, count=4)
    np.testing.assert_array_equal(backend.pilot._speeds[0], np.full(4, 700.0))
    assert vehicle.state.velocity[1, 2] == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose(np.linalg.norm(vehicle.rotor_force[2]), 10.0, rtol=0.02)
    assert not backend.pilot._speeds[3].any()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_turn_that_no_vehicle_follows(sign):
    """A rate of the heading out of reach would throw the vehicle down."""
    vehicle, _ = flown(lambda demands, t: demands[0].take_velocity((0.0, 0.0, 0.0), sign * 30.0, t), 4.0)
    assert vehicle.state.angular_velocity[0] == pytest.approx([0.0, 0.0, sign * 3.5], abs=0.1)
    assert vehicle.state.position[0, 2] == pytest.approx(10.0, abs=0.3)


def test_a_speed_out_of_reach_costs_neither_height_nor_time():
    """The reference would run away, so that the vehicle sank, or went on for long after a new command."""

    def tell(demands, t):
        demands[0].take_velocity((90.0 if t < 20.0 else 0.0, 0.0, 0.0), 0.0, t)

    backend = Told()
    backend.tell = lambda t: tell(backend.demands, t)
    with Simulation("flat") as sim:
        vehicle = sim.add(Multirotor(PLAIN_IRIS, position=(0, 0, 10), backends=[backend]))
        sim.run(20.0)
        fast = vehicle.state.velocity[0, 0]
        sim.run(3.0)
        assert vehicle.state.velocity[0, 0] < fast - 4.0
        assert vehicle.state.position[0, 2] == pytest.approx(10.0, abs=1.0)
