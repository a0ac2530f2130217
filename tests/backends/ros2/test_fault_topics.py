"""Tests of the topics by which ROS 2 clients inject and heal faults, and of faults of ROS 2 itself."""

import logging

import pytest
from flyers import Constant
from ros2_types import Float64

from pegasus import Multirotor, Simulation
from pegasus.backends.ros2.commands import Commands
from pegasus.backends.ros2.demand import Demand
from pegasus.backends.ros2.fault_topics import FaultTopics
from pegasus.backends.ros2.messages import decode, encode, message
from pegasus.faults import LinkDelay

STRING = "std_msgs/msg/String"


class ROS2(Constant):
    """Backend that has the name of the one with the link."""


class Wire:
    """Topic whose other end is the test."""

    def __init__(self):
        self.waiting, self.published = [], []

    def take(self):
        taken, self.waiting = self.waiting, []
        return taken

    def publish(self, data):
        self.published.append(decode(STRING, data).data)


class Wires:
    """Topics of two copies by name."""

    def __init__(self):
        self.known = {}

    def subscriptions(self, topic, kind, qos):
        return self.known.setdefault(topic, [Wire(), Wire()])

    def publishers(self, topic, kind, qos):
        return self.subscriptions(topic, kind, qos), None


@pytest.fixture
def flown():
    """Give a simulation, a vehicle of two copies, and its topics."""
    with Simulation("flat") as sim:
        places = [(0.0, 0.0, 50.0), (5.0, 0.0, 50.0)]
        yield sim, sim.add(Multirotor("iris", count=2, position=places, backends=[ROS2(500.0)])), Wires()


def test_faults_are_injected_told_and_healed(flown):
    """A fault of the copy of another namespace, or one that nobody is told of, would mislead clients."""
    sim, vehicle, wires = flown
    topics = FaultTopics(wires, vehicle)

    def step():
        topics.update()
        sim.step(10)

    text = "{model: motor_loss, rotor: 2, name: lost}"
    wires.known["faults/inject"][1].waiting.append(encode(message(STRING, data=text)))
    step()
    (injection,) = vehicle.faults.acting
    assert injection.active.tolist() == [False, True]
    step()
    assert [wire.published for wire in wires.known["faults/acting"]] == [[], ["lost"]]
    wires.known["faults/heal"][1].waiting.append(encode(message(STRING, data="lost")))
    step()
    step()
    assert not vehicle.faults.acting
    assert wires.known["faults/acting"][1].published == ["lost", ""]


@pytest.mark.parametrize("text", ["motor_loss", "{model: motor_loss, rotor: 9}", "{", "{model: nope}", ""])
def test_invalid_faults_are_logged_and_change_nothing(flown, caplog, text):
    """A typing error of a client must not end the simulation."""
    _, vehicle, wires = flown
    topics = FaultTopics(wires, vehicle)
    wires.known["faults/inject"][0].waiting.append(encode(message(STRING, data=text)))
    with caplog.at_level(logging.WARNING):
        topics.update()
    assert "invalid fault for copy 0 of iris" in caplog.text
    assert not vehicle.faults.injections


def test_received_commands_are_late_while_the_link_is_slow(flown):
    """A command that arrives early, or never, would not come through a slow link."""
    _, vehicle, wires = flown
    commands = Commands(wires, vehicle.channels, frame="map", flown=True)
    demands = [Demand(vehicle.channels), Demand(vehicle.channels)]
    vehicle.inject(LinkDelay("ros2", amount=0.1, end=1.0))
    vehicle.faults.update(0.0)
    commands.fail(vehicle.faults.links)
    before = vars(demands[0]).copy()
    wires.known["control/rotor1/ref"][0].waiting.append(encode(Float64(data=300.0)))
    commands.read(0.0, demands, vehicle.state)
    commands.read(0.096, demands, vehicle.state)
    assert vars(demands[0]).keys() == before.keys()
    assert demands[0].mode == before["mode"]
    commands.read(0.1, demands, vehicle.state)
    assert demands[0].mode != before["mode"]
