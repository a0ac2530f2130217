"""Tests of vehicles on ROS 2 over rclpy, against a strict stand-in with rclpy's signatures.

Where rclpy itself is installed, the other tests of vehicles run on it.
"""

import threading

import numpy as np
import pytest
import rclpy_stand_in
from ros2_rig import begin
from ros2_types import KINDS, Clock, Float64, Float64MultiArray, PoseStamped, TFMessage

from pegasus import Multirotor, Simulation
from pegasus.backends import ROS2
from pegasus.backends.ros2.contents import sensor_contents, state_contents
from pegasus.backends.ros2.graph import CLOCK, LATCHED, RELIABLE
from pegasus.backends.ros2.messages import decode, encode
from pegasus.backends.ros2.transport import open_transport
from tests.waits import wait_until


@pytest.fixture
def graph(monkeypatch):
    """Return the stand-in's entities, with all messages; none may be left after the test."""
    packages = {}
    for name in KINDS.values():
        package, _, kind = name.split("/")
        packages.setdefault(package, []).append(kind)
    monkeypatch.setattr(rclpy_stand_in, "PACKAGES", packages)
    begin()
    threads = threading.active_count()
    with rclpy_stand_in.installed() as graph:
        yield graph
    assert graph.alive == []
    assert threading.active_count() == threads


def test_two_vehicles_are_heard_and_commanded(graph):  # noqa: ARG001
    """The backend would work over Cyclone DDS but not rclpy, or leave nodes behind."""
    with Simulation("flat") as sim:
        backend = ROS2("drone0", transport="rclpy")
        pair = sim.add(Multirotor("iris", count=2, backends=[backend]))
        other = open_transport("rclpy")
        node = other.node("listener", "drone1")
        state = state_contents(pair, backend.frames, backend.variances)
        contents = [*state, *(c for items in sensor_contents(pair).values() for c in items)]
        names = backend.frames.names("drone1")
        readers = {
            content.topic: node.subscription(content.message(names).__msgtype__, content.topic, content.qos)
            for content in contents
        }
        readers["/clock"] = node.subscription(Clock, "/clock", CLOCK)
        readers["/tf_static"] = node.subscription(TFMessage, "/tf_static", LATCHED)
        found = {}

        def heard():
            sim.step()
            found.update({topic: data[-1] for topic, reader in readers.items() if (data := reader.take())})
            return found.keys() == readers.keys()

        wait_until(heard)
        pose = decode(PoseStamped, found["state/pose"]).pose.position
        np.testing.assert_allclose([pose.x, pose.y], pair.state.position[1, :2], atol=1e-3)
        all_rotors = node.publisher(Float64MultiArray, "control/rotors", RELIABLE)
        one_rotor = node.publisher(Float64, "control/rotor2/ref", RELIABLE)
        all_rotors.publish(encode(Float64MultiArray(data=[10.0, 20.0, 30.0, 40.0])))
        wait_until(lambda: sim.step() and pair.command[1].tolist() == [10.0, 20.0, 30.0, 40.0])
        one_rotor.publish(encode(Float64(35.0)))
        wait_until(lambda: sim.step() and pair.command[1, 2] == 35.0)
        assert not pair.command[0].any()
        other.close()


def test_commands_are_followed_after_many_resets(graph):  # noqa: ARG001
    """A reset would destroy the subscriptions, and the vehicle would ignore all later commands."""
    commander = open_transport("rclpy")
    commands = commander.node("commander", "drone0").publisher(Float64MultiArray, "control/rotors", RELIABLE)
    with Simulation("flat") as sim:
        iris = sim.add(Multirotor("iris", backends=[ROS2("drone0", transport="rclpy")]))
        for number in range(25):
            speeds = [100.0 + number] * 4

            def followed(speeds=speeds):
                commands.publish(encode(Float64MultiArray(data=speeds)))
                sim.step()
                return iris.command[0].tolist() == speeds

            wait_until(followed)
            sim.reset()
    commander.close()
