"""Tests of received commands: conversion, and rejection of invalid ones."""

import math

import numpy as np
import pytest
from ros2_types import (
    Duration,
    Float64,
    Float64MultiArray,
    Header,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
    Quaternion,
    Time,
    Transform,
    Twist,
    Vector3,
)

from pegasus import ConfigError
from pegasus.backends.ros2.commands import (
    Commands,
    Motion,
    channel_taker,
    take_attitude_thrust,
    take_channels,
    take_trajectory,
    take_velocity,
    trajectory_taker,
)
from pegasus.backends.ros2.demand import Demand, Mode
from pegasus.backends.ros2.messages import encode
from pegasus.backends.ros2.names import Claims
from pegasus.backends.ros2.topics import Topics
from pegasus.contracts.state import VehicleState
from pegasus.dynamics import IdealMotor
from pegasus.model.machine import Channel
from pegasus.model.multirotor import rotor_channels

HERE = Motion((1.0, 2.0, 3.0), (0.5, 0.0, 0.0), 0.25)
NAN = math.nan
ROTORS = rotor_channels(IdealMotor(max_speed=700.0), 4)
PLANE = (Channel("throttle", "", 0.0, 1.0), Channel("elevator", "rad", -0.4, 0.5, idle=0.1))


def point(seconds, x, *, velocity=None, acceleration=None, rotation=None):
    """Return a point of a trajectory at (x, 0, 5)."""
    return MultiDOFJointTrajectoryPoint(
        transforms=[Transform(Vector3(x, 0.0, 5.0), rotation or Quaternion())],
        velocities=[] if velocity is None else [Twist(Vector3(*velocity))],
        accelerations=[] if acceleration is None else [Twist(Vector3(*acceleration))],
        time_from_start=Duration(*divmod(round(seconds * 1e9), 10**9)),
    )


def path_of(message, t=10.0):
    """Return the path of a trajectory message that arrives at a time."""
    demand = Demand(ROTORS)
    take_trajectory(demand, message, t, HERE)
    return demand


def test_times_count_from_the_arrival_or_the_stamp():
    """A path would be flown too early or too late."""
    points = [point(0.0, 0.0), point(2.0, 4.0)]
    now = path_of(MultiDOFJointTrajectory(points=points))
    assert (now.mode, now.path_begin, now.stamp) == (Mode.PATH, 10.0, 12.0)
    later = path_of(MultiDOFJointTrajectory(Header(Time(11, 500_000_000), "map"), points=points))
    assert (later.path_begin, later.stamp) == (11.5, 13.5)


def test_the_way_to_the_first_point_begins_at_the_vehicle():
    """The reference would jump to the first point, or start at the world's origin."""
    demand = path_of(MultiDOFJointTrajectory(points=[point(2.0, 4.0), point(3.0, 5.0)]))
    begin = demand.path.at(0.0)
    np.testing.assert_array_equal(begin.motion[0], HERE.position)
    assert begin.yaw == pytest.approx(HERE.yaw)
    np.testing.assert_allclose(demand.path.at(2.0).motion[0], [4, 0, 5], atol=1e-12)
    # A path that began before its arrival is joined at its present point.
    late = path_of(MultiDOFJointTrajectory(Header(Time(9, 0)), points=[point(2.0, 4.0)]))
    np.testing.assert_array_equal(late.path.at(1.0).motion[0], HERE.position)
    running = path_of(MultiDOFJointTrajectory(Header(Time(9, 0)), points=[point(0.0, 0.0), point(2.0, 4.0)]))
    np.testing.assert_allclose(running.path.at(1.0).motion[0], [2, 0, 5])


def test_velocities_and_headings_are_taken():
    """A path would be flown with the wrong derivatives, or sideways."""
    half = math.radians(45.0)
    turned = Quaternion(0.0, 0.0, math.sin(half), math.cos(half))
    points = [point(0.0, 0.0, velocity=(1, 0, 0)), point(2.0, 4.0, velocity=(3, 0, 0), rotation=turned)]
    path = path_of(MultiDOFJointTrajectory(points=points)).path
    assert path.at(0.0).motion[1, 0] == pytest.approx(1.0)
    assert path.at(2.0 - 1e-9).motion[1, 0] == pytest.approx(3.0)
    assert path.at(2.0).yaw == pytest.approx(math.pi / 2)


def test_a_quaternion_need_not_be_of_unit_length():
    """A quaternion of another length would give a wrong heading."""
    points = [point(1.0, 0.0, rotation=Quaternion(0.0, 0.0, 3.0, 3.0))]
    assert path_of(MultiDOFJointTrajectory(points=points)).path.at(1.0).yaw == pytest.approx(math.pi / 2)


def numbers(*data):
    """Return a message with numbers."""
    return Float64MultiArray(data=list(data))


def path(*points, frame="map", seconds=0):
    """Return a message with a path."""
    return MultiDOFJointTrajectory(Header(Time(seconds, 0), frame), points=list(points))


@pytest.mark.parametrize(
    ("take", "message", "problem"),
    [
        (channel_taker(0), Float64(NAN), "data = [nan]: must be finite numbers"),
        (
            take_channels,
            numbers(1, 2, 3, 4, 5),
            "must contain 4 commands (rotor_0 [rad/s], 0 to 700; rotor_1 ",
        ),
        (take_channels, numbers(1, 2, math.inf, 3), "must be finite numbers"),
        (take_attitude_thrust, numbers(0, 0, 0), "must contain 4 numbers: roll, pitch, yaw [rad] and"),
        (take_attitude_thrust, numbers(0, NAN, 0, 9), "must be finite numbers"),
        (take_attitude_thrust, numbers(0, 0, 0, -1), "thrust = -1.0: must not be negative"),
        (take_velocity, Twist(Vector3(0.0, NAN, 0.0)), "linear = [0.0, nan, 0.0]: must be finite"),
        (take_velocity, Twist(angular=Vector3(0.0, 0.0, NAN)), "angular = [0.0, 0.0, nan]: must be"),
        (take_attitude_thrust, numbers(0, 45, 0, 9), "pitch = 45.0: must be within 3.142 rad"),
        (take_velocity, Twist(Vector3(-1e6, 0.0, 0.0)), "linear = 1000000.0: must be within 100 m/s"),
        (take_velocity, Twist(angular=Vector3(0.0, 0.0, -1e6)), "angular.z = -1000000.0: must be within 35"),
        (take_trajectory, path(point(0, 0), point(1, 1e6)), "speed = 1000000.0: must be within 100 m/s"),
        (take_trajectory, path(point(1, 1e6)), "speed = "),
        (
            take_trajectory,
            path(point(0, 0, acceleration=(0, 0, 1e6)), point(1, 1)),
            "points.0.accelerations = 1000000.0: must be within 200 m/s^2",
        ),
        (
            take_trajectory,
            path(point(0, 0), point(0.01, 0, rotation=Quaternion(0, 0, 1, 1))),
            "rate of the heading = 157.0",
        ),
        (take_trajectory, path(point(-1, 0), point(1, 1)), "points.0.time_from_start = -1.0: must not be"),
        (take_trajectory, path(), "points: must contain a point in the future"),
        (trajectory_taker("world"), path(point(1, 0)), "frame_id = 'map': must be world or empty"),
        (take_trajectory, path(point(1.0, 0.0), seconds=1), "in the future"),
        # Wall time, where simulation time is needed.
        (
            take_trajectory,
            path(point(1.0, 0.0), seconds=1_700_000_010),
            "stamp = 1700000010.0: is 1700000000 s ahead of simulation time; set use_sim_time, or set",
        ),
        (take_trajectory, path(point(1.0, NAN)), "points.0 = [nan, 0.0, 5.0]: must be finite"),
        (take_trajectory, path(point(1, 0), point(1, 1)), "points.1.time_from_start = 1.0: must be later"),
        (take_trajectory, path(MultiDOFJointTrajectoryPoint()), "points.0.transforms: must not be empty"),
        (take_trajectory, path(point(1.0, 0.0, rotation=Quaternion(w=0.0))), "points.0 = [nan]"),
    ],
)
def test_what_is_refused(take, message, problem):
    """An invalid command would reach the rotors, or end the run."""
    demand = Demand(ROTORS)
    demand.take_channels([1.0, 2.0, 3.0, 4.0], 9.0)
    with pytest.raises(ConfigError) as caught:
        take(demand, message, 10.0, HERE)
    assert problem in str(caught.value)
    assert (demand.mode, demand.stamp) == (Mode.CHANNELS, 9.0)
    assert demand.command.tolist() == [1.0, 2.0, 3.0, 4.0]


class Inbox:
    """A node whose subscriptions return the test's messages."""

    namespace = "/drone0"

    def __init__(self):
        self.boxes = {}

    def subscription(self, message, topic, qos):
        class Box:
            def __init__(self):
                self.waiting = []

            def take(self):
                waiting, self.waiting = self.waiting, []
                return waiting

        return self.boxes.setdefault(topic, Box())


def test_bad_bytes_are_reported_once_a_second(caplog):
    """Another program's invalid messages would flood the terminal, or end the run."""
    node, demand = Inbox(), Demand(ROTORS)
    commands = Commands(
        Topics([node], {}, physics_rate=250.0, claims=Claims([])), ROTORS, frame="map", flown=True
    )
    state = VehicleState.at_rest(1, 4)
    for step in range(500):
        node.boxes["control/rotor1/ref"].waiting = [b"\x00\x01\x00\x00\x01"]
        commands.read(step / 250.0, [demand], state)
    assert len(caplog.records) == 2
    assert demand.mode is Mode.NONE
    node.boxes["control/rotor1/ref"].waiting = [b"", encode(Float64(300.0))]
    commands.read(2.0, [demand], state)
    assert demand.command.tolist() == [0.0, 300.0, 0.0, 0.0]


def test_channels_that_are_no_rotors_have_topics_by_their_names():
    """A vehicle with other channels than rotors could not be commanded, or by attitudes it cannot follow."""
    node, demand = Inbox(), Demand(PLANE)
    topics = Topics([node], {}, physics_rate=250.0, claims=Claims([]))
    commands = Commands(topics, PLANE, frame="map", flown=False)
    assert list(node.boxes) == ["control/throttle/ref", "control/elevator/ref", "control/channels"]
    assert demand.of_channels(0.0, 0.5).tolist() == [0.0, 0.1]
    state = VehicleState.at_rest(1, 2)
    node.boxes["control/channels"].waiting = [encode(numbers(0.5, 0.2))]
    commands.read(1.0, [demand], state)
    node.boxes["control/throttle/ref"].waiting = [encode(Float64(0.7))]
    commands.read(1.4, [demand], state)
    assert demand.of_channels(1.5, 0.5).tolist() == [0.7, 0.2]
    assert demand.of_channels(1.6, 0.5).tolist() == [0.7, 0.1]
