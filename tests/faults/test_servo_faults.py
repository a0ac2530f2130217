"""Tests of faults of servos, and of rotors of aircraft with wings."""

import math

import numpy as np
import pytest
from flyers import HIGH
from seaplane import Stick

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.faults import (
    BladeLoss,
    CommandDelay,
    MotorLoss,
    MotorStuck,
    PropellerImbalance,
    ServoStuck,
    VoltageDrop,
)

JOINT = "left_elevon"


SLOW = {"extends": "plane", "joints": {JOINT: {"servo": {"rate_limit": 5.0}}}}
"""The plane with a servo that takes its time."""


@pytest.fixture
def flown():
    """Give a simulation, two planes high in the air, what commands them, and the places of their channels."""
    with Simulation("flat", seed=3) as sim:
        stick = Stick()
        stick.commands = np.zeros((2, 8))
        places = [HIGH, (20.0, 0.0, HIGH[2])]
        plane = sim.add(Multirotor(SLOW, name="plane", count=2, position=places, backends=[stick]))
        plane.place(places, velocity=(18.0, 0.0, 0.0))
        yield sim, plane, stick, [channel.name for channel in plane.channels]


def angles(plane, joint=JOINT):
    joints = [channel.name for channel in plane.channels][-plane.columns["joint_angle"].shape[1] :]
    return plane.columns["joint_angle"][:, joints.index(joint)].copy()


def test_a_servo_jams_where_it_is_and_follows_again(flown):
    """A servo that jams at its command, or in all copies, would go on turning or stand still elsewhere."""
    sim, plane, stick, names = flown
    stick.commands[:, names.index(JOINT)] = 0.3
    sim.step(20)
    stick.commands[:, names.index(JOINT)] = -0.3
    sim.step(12)
    before = angles(plane)
    # It is on its way.
    assert np.all(np.abs(before + 0.3) > 0.05)
    plane.inject(ServoStuck(JOINT, name="jam"), copies=[1])
    sim.step(100)
    assert angles(plane)[0] == pytest.approx(-0.3, abs=1e-3)
    assert angles(plane)[1] == pytest.approx(before[1], abs=1e-12)
    plane.heal("jam")
    sim.step(100)
    np.testing.assert_allclose(angles(plane), -0.3, atol=1e-3)


def test_a_hardover_turns_the_plane(flown):
    """An angle that does not reach the joint would leave the plane level."""
    sim, plane, _, _ = flown
    plane.inject(ServoStuck(JOINT, angle=0.4), copies=[1])
    sim.step(50)
    assert angles(plane)[1] == pytest.approx(0.4, abs=1e-2)
    assert abs(angles(plane)[0]) < 1e-3
    rates = np.abs(plane.state.angular_velocity[:, 0])
    assert rates[1] > 20 * rates[0]


def test_a_jammed_servo_waits_for_no_commands(flown):
    """Late commands would take the place of the angle at which the servo is stuck."""
    sim, plane, stick, names = flown
    plane.inject(ServoStuck(JOINT, angle=0.2))
    plane.inject(CommandDelay(delay=0.04))
    stick.commands[:, names.index(JOINT)] = -0.3
    sim.step(100)
    np.testing.assert_allclose(angles(plane), 0.2, atol=1e-3)


def test_commands_of_one_channel_are_late(flown):
    """A delay of another channel, or of all, would show in the other joint."""
    sim, plane, stick, names = flown
    other = "right_elevon"
    plane.inject(CommandDelay(channel=JOINT, delay=0.2))
    sim.step(1)
    for name in (JOINT, other):
        stick.commands[:, names.index(name)] = 0.3
    sim.step(25)
    assert np.all(np.abs(angles(plane)) < 1e-3)
    assert np.all(angles(plane, other) > 0.1)
    sim.step(100)
    np.testing.assert_allclose(angles(plane), 0.3, atol=1e-3)


@pytest.mark.parametrize("fault", [MotorLoss(0), MotorStuck(), VoltageDrop(share=0.5)])
def test_faults_of_rotors_leave_servos_alone(flown, fault):
    """A fault of all rotors that takes all channels would hold the surfaces too."""
    sim, plane, stick, names = flown
    stick.commands[:, 0] = 300.0
    sim.step(50)
    plane.inject(fault)
    stick.commands[:, 0] = 400.0
    stick.commands[:, names.index(JOINT)] = 0.3
    sim.step(200)
    wanted = {MotorLoss: 0.0, MotorStuck: 300.0, VoltageDrop: 200.0}[type(fault)]
    np.testing.assert_allclose(plane.rotor_command[:, 0], wanted)
    np.testing.assert_allclose(angles(plane), 0.3, atol=1e-3)


@pytest.mark.parametrize("fault", [PropellerImbalance(0, unbalance=1e-5), BladeLoss(0)])
def test_a_rough_propeller_shakes_a_plane(flown, fault):
    """A fault that multirotors alone have would be refused, or leave the plane still."""
    sim, plane, stick, _ = flown
    stick.commands[:, 0] = 500.0
    sim.step(50)
    plane.inject(fault, copies=[0])
    sim.step(1)
    force = np.linalg.norm(plane.columns["fault_force"], axis=1)
    assert force[0] > 0.5
    assert force[1] == 0.0


def test_a_rough_propeller_shakes_across_the_axis_that_its_joint_has_turned():
    """At the axis of the hanging joint, a tilted rotor would be shaken along its shaft, at a wrong arm."""
    with Simulation("flat", seed=3) as sim:
        stick = Stick()
        tilted = sim.add(Multirotor("tiltrotor", position=HIGH, backends=[stick]))
        names = [channel.name for channel in tilted.channels]
        stick.commands = np.array([[channel.idle for channel in tilted.channels]])
        stick.commands[0, 0], stick.commands[0, names.index("right_tilt")] = 400.0, 0.9
        sim.step(150)
        tilted.inject(PropellerImbalance(0, unbalance=1e-4))
        center = tilted.center_of_mass
        for _ in range(5):
            rotation, angle = tilted.state.rotation[0].copy(), angles(tilted, "right_tilt")[0]
            assert angle == pytest.approx(0.9, abs=1e-3)
            sim.step(1)
            force = rotation.T @ tilted.columns["fault_force"][0]
            axis = np.array([math.sin(angle), 0.0, math.cos(angle)])
            assert np.linalg.norm(force) > 1.0
            assert abs(force @ axis) < 1e-9
            # The hub stands 0.05 m above the hinge line.
            hub = np.array([0.35, -0.35, 0.02]) + 0.05 * axis
            torque = np.cross(hub - center, force)
            np.testing.assert_allclose(tilted.columns["fault_torque"][0], torque, atol=1e-9)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (ServoStuck("flap"), r"joint = 'flap': must be a joint of 'plane': .*left_elevon"),
        (ServoStuck(JOINT, angle=9.0), "angle = 9.0: must be from .* rad, the limits of 'left_elevon'"),
        (ServoStuck(JOINT, angle=math.nan), "angle = nan: must be from"),
        (CommandDelay(channel="flap"), r"channel = 'flap': must be a channel of 'plane': .*left_elevon"),
        (MotorLoss(4), "rotor = 4: must be a rotor of 'plane', from 0 to 0"),
    ],
)
def test_what_the_plane_does_not_have(flown, fault, says):
    """A name that is not there would act on nothing, or on another channel."""
    _, plane, _, _ = flown
    with pytest.raises(ConfigError, match=says):
        plane.inject(fault)


def test_a_rotor_and_a_channel_at_once():
    """Of two places, one would be taken in silence."""
    with pytest.raises(ConfigError, match="channel = 'throttle': must be left out where rotor is given"):
        CommandDelay(1, channel="throttle")
