"""Manual flight: take-off, go-to, velocity commands, landing and the limits of the reference."""

import math

import numpy as np
import pytest

from pegasus import Multirotor, Simulation
from pegasus.base.errors import ConfigError
from pegasus.contracts.state import VehicleState
from pegasus.panel.steering import STEERED, Steering

UP = np.array([0.0, 0.0, 2.0])


@pytest.fixture(params=["cascaded_pid", "geometric"])
def flight(request):
    """A hovering vehicle of two copies that heads north, with its simulation and its steering controller."""
    with Simulation("flat") as simulation:
        pilot = STEERED[request.param](height=2.0, spin_up=0.3)
        vehicle = simulation.add(
            Multirotor("iris", count=2, heading=math.pi / 2, backends=[pilot], sensors={})
        )
        simulation.run(0.25)
        vehicle.stood = vehicle.state.position.copy()
        simulation.run(7.0)
        yield simulation, vehicle, pilot.steering


def test_take_off_and_hover(flight):
    """The vehicles would not take off, climb to another height, or drift."""
    _, vehicle, steering = flight
    assert steering.airborne
    np.testing.assert_allclose(vehicle.state.position, vehicle.stood + UP, atol=0.01)
    np.testing.assert_allclose(vehicle.state.velocity, 0.0, atol=0.02)
    assert vehicle.reference.segment == "target"


def test_hover_while_it_takes_off():
    """A second press of the button would stop the take-off just above the ground."""
    with Simulation("flat") as simulation:
        pilot = STEERED["geometric"](height=2.0, spin_up=0.3)
        vehicle = simulation.add(Multirotor("iris", backends=[pilot], sensors={}))
        simulation.run(0.8)
        stood = 0.1
        assert pilot.steering.airborne
        assert vehicle.state.position[0, 2] < stood + 1.0
        pilot.steering.hover()
        simulation.run(6.0)
        np.testing.assert_allclose(vehicle.state.position[0, 2], stood + 2.0, atol=0.1)
        # In the air a vehicle that is told to hover stays where it is.
        pilot.steering.steer_to(np.array([0.0, 0.0, 6.0]))
        simulation.run(1.0)
        before = float(vehicle.reference.position[0, 2])
        pilot.steering.hover()
        simulation.run(4.0)
        assert abs(vehicle.state.position[0, 2] - before) < 1.0


def test_go_to(flight):
    """The formation would end elsewhere, lose its shape, or fly faster than allowed."""
    simulation, vehicle, steering = flight
    steering.steer_to(np.array([6.0, -3.0, 4.0]))
    fastest = 0.0
    for _ in simulation.stepping(12.0):
        fastest = max(fastest, float(np.linalg.norm(vehicle.reference.velocity, axis=1).max()))
    np.testing.assert_allclose(vehicle.state.position.mean(axis=0), [6.0, -3.0, 4.0], atol=0.03)
    apart = vehicle.start.position[0] - vehicle.start.position[1]
    np.testing.assert_allclose(vehicle.state.position[0] - vehicle.state.position[1], apart, atol=0.02)
    assert 2.5 < fastest <= 3.0 + 1e-6


@pytest.mark.parametrize("flight", ["geometric"], indirect=True)
def test_fly(flight):
    """Forward would not be along the nose, left would be right, or a yaw command would turn the wrong way."""
    simulation, vehicle, steering = flight
    steering.steer_at(np.array([1.0, 0.5, 0.25]), 0.0)
    simulation.run(4.0)
    np.testing.assert_allclose(vehicle.state.velocity[0], [-0.5, 1.0, 0.25], atol=0.05)
    steering.steer_at(np.zeros(3), 0.5)
    before = float(vehicle.reference.yaw[0])
    simulation.run(2.0)
    assert float(vehicle.reference.yaw[0]) - before == pytest.approx(1.0, abs=1e-9)
    heading = np.arctan2(vehicle.state.rotation[0, 1, 0], vehicle.state.rotation[0, 0, 0])
    assert math.remainder(float(heading) - before - 1.0, 2 * math.pi) == pytest.approx(0.0, abs=0.15)
    steering.release()
    there = vehicle.reference.position.copy()
    simulation.run(4.0)
    np.testing.assert_allclose(vehicle.state.position, there, atol=0.1)


@pytest.mark.parametrize("flight", ["geometric"], indirect=True)
def test_land_and_take_off_again(flight):
    """The rotors would keep running after a landing, stop in the air, or never start again."""
    simulation, vehicle, steering = flight
    steering.come_down()
    simulation.run(8.0)
    assert steering.finished
    assert vehicle.in_contact.all()
    np.testing.assert_array_equal(vehicle.rotor_command, 0.0)
    assert vehicle.reference.segment == "landed"
    simulation.run(1.0)
    steering.release()
    steering.come_down()
    simulation.run(1.0)
    np.testing.assert_array_equal(vehicle.rotor_command, 0.0)
    stood = vehicle.state.position.copy()
    steering.hover()
    simulation.run(6.0)
    np.testing.assert_allclose(vehicle.state.position, stood + UP, atol=0.05)


def test_commands_on_the_ground():
    """A vehicle on the ground would move sideways, or drop the command without a message."""
    steering = Steering(count=1, spin_up=1.0, height=2.0, speed=3.0, acceleration=3.0)
    for command in (lambda: steering.steer_to(np.ones(3)), lambda: steering.steer_at(np.ones(3), 0.0)):
        with pytest.raises(ConfigError, match="is not in the air; take off first"):
            command()
    assert not steering.finished
    steering.come_down()
    assert steering.finished


def test_leash():
    """The reference would run away from a blocked vehicle, which would then dart off once it is free."""
    steering = Steering(count=1, spin_up=0.0, height=2.0, speed=3.0, acceleration=3.0)
    state = VehicleState.at_rest(1, 4)
    steering.update(0.0, state)
    steering.update(0.01, state)
    steering.steer_to(np.array([100.0, 0.0, 5.0]))
    for k in range(2, 2000):
        steering.update(0.01 * k, state)
        assert np.linalg.norm(steering.reference.position - state.position) <= 1.5 + 1e-9
    assert steering.reference.position[0, 0] > 1.4


def test_reference_is_smooth():
    """Velocity or acceleration of the reference would jump, or not be the derivative of the former."""
    steering = Steering(count=1, spin_up=0.0, height=0.5, speed=3.0, acceleration=3.0)
    state = VehicleState.at_rest(1, 4)
    dt, rows = 0.004, []
    for k in range(2000):
        steering.update(k * dt, state)
        state.position[...] = steering.reference.position
        if k == 500:
            steering.steer_to(np.array([5.0, 2.0, 1.0]))
        r = steering.reference
        rows.append(np.concatenate([r.position, r.velocity, r.acceleration]).copy())
    position, velocity, acceleration = np.moveaxis(np.array(rows), 1, 0)
    np.testing.assert_allclose(np.diff(position, axis=0) / dt, velocity[1:], atol=1e-9)
    np.testing.assert_allclose(np.diff(velocity, axis=0)[1:] / dt, acceleration[2:], atol=1e-9)
    assert np.abs(np.diff(acceleration, axis=0)).max() <= 3.0 * 2 * dt / 0.1


@pytest.mark.parametrize("option", ["height", "speed", "acceleration"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_wrong_options(option, value):
    """A controller would be built that can never take off or never arrive."""
    with pytest.raises(ConfigError, match=f"{option} = .*must be above 0"):
        STEERED["geometric"](**{option: value})


def test_a_plane_is_steered():
    """A plane could not be flown by hand, turned during its launch, fell, or flew the wrong way."""
    with Simulation("flat") as simulation:
        pilot = STEERED["plane"](height=25.0)
        plane = simulation.add(Multirotor("plane", position=(0, 0, 0.15), backends=[pilot], sensors={}))
        simulation.run(1.0)
        steering = pilot.steering
        assert plane.state.velocity[0, 0] > 3.0
        early = lambda: steering.steer_to(UP), lambda: steering.steer_at(UP, 0.0), steering.come_down
        for command in early:
            with pytest.raises(ConfigError, match="plane: takes off; wait until it circles"):
                command()
        steering.hover()
        simulation.run(16.0)
        assert pilot.mission.segment == "circle"
        height = float(plane.state.position[0, 2])
        assert abs(height - 25.0) < 3.0
        # Up and to the left, as by keys that are held.
        begin = float(plane.state.heading[0])
        for _ in range(40):
            steering.steer_at(np.array([0.0, 2.0, 1.0]), 0.0)
            simulation.run(0.1)
        turned = (float(plane.state.heading[0]) - begin + math.pi) % (2 * math.pi) - math.pi
        assert turned > 0.5
        assert plane.state.position[0, 2] > height + 1.0
        steering.release()
        simulation.run(1.0)
        assert pilot.mission.segment == "circle"
        steering.steer_to(np.array([300.0, 100.0, 40.0]))
        gap = np.linalg.norm(plane.state.position[0] - [300.0, 100.0, 40.0])
        simulation.run(5.0)
        assert np.linalg.norm(plane.state.position[0] - [300.0, 100.0, 40.0]) < gap - 20.0
        steering.release()
        assert pilot.mission.segment == "line"
        steering.come_down()
        assert len(pilot.mission.courses[0].coming) >= 3
        simulation.reset()
        simulation.run(1.0)
        assert plane.state.velocity[0, 0] > 3.0
