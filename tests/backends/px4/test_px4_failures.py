"""Tests of MAV_CMD_INJECT_FAILURE: what is injected, and what is answered."""

import numpy as np
import pytest
from flyers import HIGH, PLAIN_IRIS, Constant

from pegasus import Multirotor, Simulation
from pegasus.backends.mavlink.airframe import output_map
from pegasus.backends.mavlink.hub import LinkHub
from pegasus.backends.mavlink.link import Link
from pegasus.backends.mavlink.messages import Decoder, encode, make_message
from pegasus.backends.px4.failures import FailureListener
from pegasus.faults import MotorLoss, MotorStuck, SensorDelay, SensorDropouts, SensorOff, SensorStuck


class Wire(Link):
    """Link whose other end is the test."""

    def __init__(self):
        self.sent = []

    @property
    def connected(self):
        return True

    def fileno(self):
        return -1

    def send(self, data):
        self.sent.append(data)

    def receive(self):
        return b""

    def close(self):
        pass


@pytest.fixture
def asked():
    """Give a vehicle of two copies, and a function that sends a command of the second one's PX4."""
    with Simulation("flat") as sim:
        vehicle = sim.add(
            Multirotor(PLAIN_IRIS, count=2, position=[HIGH, (5.0, 0.0, 50.0)], backends=[Constant(500.0)])
        )
        rotors = output_map(vehicle.spec.px4, vehicle.channels, output_count=16, field="px4")
        wires = [Wire(), Wire()]
        hubs = [LinkHub(wire) for wire in wires]
        taps = [hub.tap() for hub in hubs]
        listener = FailureListener(list(enumerate(taps)), [1, 2], vehicle, rotors)

        def ask(unit, kind, instance=0):
            command = make_message(
                "COMMAND_LONG", param1=unit, param2=kind, param3=instance, command=420, target_system=1
            )
            hubs[1].deliver(encode(command, sequence=0, system=2, component=1))
            listener.read()
            assert not wires[0].sent
            (ack,) = Decoder().feed(wires[1].sent.pop())
            assert ack.msgname == "COMMAND_ACK"
            assert (ack.command, ack.target_system) == (420, 2)
            sim.step(1)
            return ack.result

        yield vehicle, rotors, ask


def acting(vehicle):
    """Return the faults that act, which must concern the second copy alone."""
    for injection in vehicle.faults.acting:
        np.testing.assert_array_equal(injection.active, [False, True])
    return [injection.fault for injection in vehicle.faults.acting]


def test_a_motor_is_lost_and_returns(asked):
    """`failure motor off -i 2` must stop the rotor of PX4's second output, until `failure motor ok`."""
    vehicle, rotors, ask = asked
    assert ask(101, 1, 2) == 0
    assert acting(vehicle) == [MotorLoss(list(rotors.outputs).index(1))]
    assert ask(101, 0) == 0
    assert acting(vehicle) == []
    assert ask(101, 2) == 0
    assert acting(vehicle) == [MotorStuck(rotor) for rotor in range(4)]


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        (1, SensorOff("gps")),
        (2, SensorStuck("gps")),
        (5, SensorDropouts("gps", probability=0.5)),
        (6, SensorDelay("gps", delay=0.5)),
        (7, SensorDropouts("gps", probability=0.5)),
    ],
)
def test_sensors_fail_by_type(asked, kind, fault):
    """Each type of failure must have its own fault."""
    vehicle, _, ask = asked
    assert ask(4, kind) == 0
    assert acting(vehicle) == [fault]
    assert ask(4, 0) == 0
    assert acting(vehicle) == []


def test_what_cannot_be_injected_is_refused(asked):
    """An unknown unit, type or instance must be answered, and not be injected."""
    vehicle, _, ask = asked
    assert ask(101, 3) == 3
    assert ask(101, 1, 9) == 3
    assert ask(102, 1) == 3
    assert ask(7, 1) == 3
    assert ask(100, 1) == 2
    assert acting(vehicle) == []
