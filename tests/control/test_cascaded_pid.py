"""Tests of the cascaded PID controller in closed loop."""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Quat, Vec3
from pegasus.control import CascadedPIDController, trajectories
from pegasus.control.cascaded_pid import angle_error


def flown(vehicles, trajectory, duration, *, start=(0, 0, 0), spin_up=0.0, wind=(0, 0, 0), yaw=0.0, **gains):
    """Fly the Iris and return the plant, the tracking errors (K, N, 3), the states and the references."""
    vehicle = vehicles.StandIn()
    controller = CascadedPIDController(trajectory, spin_up=spin_up, **gains)
    controller.bind(vehicle)
    controller.start()
    plant = vehicles.Plant(vehicle, position=start, wind_force=wind, yaw=yaw)
    plant.state.rotor_speed[:] = 0.0 if spin_up else 650.0
    _, states, references = plant.fly(controller, duration)
    errors = np.array([s.position - r.position for s, r in zip(states, references, strict=True)])
    return plant, errors, states, references


def error_of(rotation, thrust, yaw):
    error = angle_error(Quat(*rotation.as_quat().tolist()), Vec3(*thrust), yaw)
    return np.array([error[0], error[1], error[2]])


def test_angle_error_is_that_of_the_angles():
    """If this fails, an axis is turned the wrong way, or by the wrong amount."""
    rng = np.random.default_rng(1)
    for roll, pitch, yaw in rng.uniform([-0.5, -0.5, -3], [0.5, 0.5, 3], (50, 3)):
        turn = rng.uniform(-3, 3)
        error = error_of(Rotation.from_euler("ZYX", [yaw, pitch, roll]), (0.0, 0.0, 9.8), yaw + turn)
        np.testing.assert_allclose(error, [-roll, -pitch, turn], atol=1e-12)
    # Thrust that leans forward by 0.2 rad wants that pitch, one that leans left the roll to the right side.
    level, lean = Rotation.from_euler("Z", 0.7), math.tan(0.2)
    ahead = (math.cos(0.7) * lean, math.sin(0.7) * lean, 1.0)
    np.testing.assert_allclose(error_of(level, ahead, 0.7), [0, 0.2, 0], atol=1e-12)
    left = (-math.sin(0.7) * lean, math.cos(0.7) * lean, 1.0)
    np.testing.assert_allclose(error_of(level, left, 0.7), [-0.2, 0, 0], atol=1e-12)


def test_hovers(vehicles):
    """If this fails, the vehicle does not stay where it is told."""
    _, errors, _, _ = flown(
        vehicles, trajectories.hold(position=(0, 0, 2)), 6.0, start=(0.3, -0.2, 1.5), relative=False
    )
    assert np.linalg.norm(errors[-250:, 0], axis=1).max() < 0.01


def test_the_integrals_take_steady_wind_out(vehicles):
    """If this fails, steady wind leaves an error for ever."""
    _, errors, _, _ = flown(
        vehicles, trajectories.hold(position=(0, 0, 2)), 15.0, start=(0, 0, 2), wind=(1.0, -0.5, 0.3)
    )
    assert np.linalg.norm(errors[-1, 0]) < 0.01


def test_follows_a_circle(vehicles):
    """If this fails, moderate curves are not followed."""
    circle = trajectories.circle(5.0, height=2.0, speed=3.0, laps=0.5, yaw="forward")
    _, errors, _, _ = flown(
        vehicles, circle, circle.duration, start=(5.0, 0.0, 2.0), relative=False, yaw=math.pi / 2
    )
    assert np.linalg.norm(errors[:, 0], axis=1).max() < 0.1


def test_turns_to_a_heading_the_short_way(vehicles):
    """If this fails, the heading loop winds the long way round, or moves the vehicle while it turns."""
    hold = trajectories.hold(position=(0, 0, 2), yaw=-3.0)
    _, errors, states, _ = flown(vehicles, hold, 6.0, start=(0, 0, 2), yaw=3.0)
    yaw = np.unwrap([math.atan2(s.rotation[0, 1, 0], s.rotation[0, 0, 0]) for s in states])
    assert yaw[-1] == pytest.approx(2 * math.pi - 3.0, abs=0.01)
    assert yaw.min() > 2.99
    assert np.linalg.norm(errors[:, 0], axis=1).max() < 0.05


def test_takes_off_and_lands(vehicles):
    """If this fails, the vehicle tips over on the ground or falls onto it."""
    flight = trajectories.sequence(trajectories.takeoff(2.0), trajectories.land())
    plant, errors, _, references = flown(vehicles, flight, 14.0, start=(0, 0, 0.05), spin_up=1.0)
    flying = np.array([not r.idle[0] for r in references])
    assert np.linalg.norm(errors[flying, 0], axis=1).max() < 0.08
    assert plant.state.rotor_speed.max() < 1e-3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tilt_limit": 1.2}, "tilt_limit = 1.2: must be above 0 and at most 1 rad"),
        ({"attitude_gain": 0.0}, "attitude_gain = 0.0: must be above 0"),
        ({"yaw_rate_integral_gain": -1.0}, "yaw_rate_integral_gain = -1.0: must not be negative"),
        (
            {"velocity_integral_gain": (0.0, -1.0, 0.0)},
            "velocity_integral_gain = (0.0, -1.0, 0.0): none may be negative",
        ),
    ],
)
def test_bad_gains_are_named(parameters, message):
    """If this fails, a gain of the wrong sign is accepted and causes a crash."""
    with pytest.raises(ConfigError) as caught:
        CascadedPIDController(trajectories.hold(height=1.0), **parameters)
    assert str(caught.value) == message
