"""Tests of faults of links: lost, late and doubled messages, and lockstep with them."""

import numpy as np
import pytest
from fault_rig import flying
from flyers import Constant

from pegasus import ConfigError
from pegasus.backends.mavlink.airframe import OutputMap
from pegasus.backends.mavlink.link import Link
from pegasus.backends.mavlink.messages import Decoder, encode, make_message
from pegasus.backends.px4.hil_instance import HilInstance, Phase
from pegasus.core.link_state import FaultyLine
from pegasus.dynamics import IdealMotor
from pegasus.faults import LinkDelay, LinkDuplicate, LinkLoss
from pegasus.model.multirotor import rotor_channels

ARMED, LOCKSTEP = 128, 1
PERIOD = 0.004


class PX4(Constant):
    """Backend that has the name of the one with the link."""

    maps_outputs = True


class ROS2(Constant):
    """Backend that has the name of the one with the link."""


class Answering(Link):
    """PX4 that answers every HIL_SENSOR at once with outputs of 0.5."""

    def __init__(self):
        self.times, self.answers, self._decoder = [], b"", Decoder()

    @property
    def connected(self):
        return True

    def fileno(self):
        return -1

    def send(self, data):
        for message in self._decoder.feed(data):
            self.times.append(message.time_usec)
            answer = make_message(
                "HIL_ACTUATOR_CONTROLS",
                time_usec=message.time_usec,
                flags=LOCKSTEP,
                controls=(0.5,) * 16,
                mode=ARMED,
            )
            self.answers += encode(answer, sequence=0)

    def receive(self):
        data, self.answers = self.answers, b""
        return data

    def close(self):
        pass


class Queueing(Answering):
    """PX4 that answers once to what is in its queue, unless the newest sample has the time of the one before.

    So does VehicleAngularVelocity of PX4, which publishes no sample after which another one is queued, and
    none whose time has not advanced.
    """

    def __init__(self):
        super().__init__()
        self.latest = 0

    def send(self, data):
        new = [message.time_usec for message in self._decoder.feed(data)]
        self.times += new
        assert new == sorted(new)
        before = [self.latest, *new][-2]
        assert not new or new[0] >= self.latest
        if new and new[-1] > before:
            answer = make_message(
                "HIL_ACTUATOR_CONTROLS", time_usec=new[-1], flags=LOCKSTEP, controls=(0.5,) * 16, mode=ARMED
            )
            self.answers += encode(answer, sequence=0)
        self.latest = new[-1] if new else self.latest


class Flown:
    """Lockstep of one PX4 over a link with faults, by hand."""

    def __init__(self, vehicle, link=None):
        self.link = Answering() if link is None else link
        rotors = OutputMap(range(4), [1000.0] * 4, [0.0] * 4, rotor_channels(IdealMotor(), 4))
        self.instance = HilInstance("PX4", self.link, rotors, system=1, hold_time=0.1)
        self.vehicle, self.step = vehicle, 0
        self.run(20)
        assert self.instance.phase is Phase.LOCKSTEP

    def run(self, steps):
        """Fly some steps, of which none may be left waiting for an answer; return the speeds of a rotor."""
        speeds = []
        links = self.vehicle.faults.links
        for _ in range(steps):
            t = self.step * PERIOD
            self.step += 1
            self.vehicle.faults.update(t)
            if links.fail("mavlink") and self.instance.line is None:
                self.instance.line = FaultyLine(links, "mavlink", 0)
            elif self.instance.line is not None and self.instance.line.is_idle:
                self.instance.line = None
            time_usec = round((t + PERIOD) * 1e6)
            self.instance.add_sensor(make_message("HIL_SENSOR", time_usec=time_usec, fields_updated=0x1FFF))
            self.instance.send(t)
            self.instance.read()
            assert not self.instance.awaits
            speeds.append(self.instance.commands(t)[0])
        return speeds


def test_without_sensor_messages_the_rotors_stop_after_the_hold_time_and_turn_again():
    """A wait for answers to lost messages would hang; rotors that never stop would fly on."""
    with flying(backends=[PX4(500.0)]) as (_, vehicle):
        flown = Flown(vehicle)
        vehicle.inject(LinkLoss("mavlink", start=0.08, end=0.48))
        speeds = np.array(flown.run(100))
        assert (speeds[:25] == 500.0).all()
        assert (speeds[28:] == 0.0).all()
        assert len(flown.link.times) == 20
        assert flown.run(10)[-1] == 500.0


def test_a_share_of_messages_is_lost():
    """Another share, or other messages with other seeds, would not be that of the fault."""
    with flying(backends=[PX4(500.0)]) as (_, vehicle):
        flown = Flown(vehicle)
        vehicle.inject(LinkLoss("mavlink", amount=0.3))
        flown.run(1000)
        assert 640 < len(flown.link.times) - 20 < 760


def test_a_fault_that_comes_again_loses_other_messages():
    """Each outage would repeat the first one message by message, or a reset would not repeat the flight."""
    with flying(backends=[PX4(500.0)]) as (sim, vehicle):
        flown = Flown(vehicle)
        vehicle.inject(LinkLoss("mavlink", amount=0.3, start=0.08, end=0.48))
        vehicle.inject(LinkLoss("mavlink", amount=0.3, start=0.88, end=1.28))
        flown.run(380)
        steps = np.round(np.array(flown.link.times) / (PERIOD * 1e6)).astype(int) - 1
        lost = np.setdiff1d(np.arange(400), steps)
        first, second = lost[lost < 200] - 20, lost[lost >= 200] - 220
        assert min(len(first), len(second)) > 15
        assert not np.array_equal(first, second)
        sim.reset()
        again = Flown(vehicle)
        again.run(380)
        assert again.link.times == flown.link.times


def test_late_messages_arrive_in_order_after_the_delay():
    """Messages that overtake others, or arrive early, would not come through a slow link."""
    with flying(backends=[PX4(500.0)]) as (_, vehicle):
        flown = Flown(vehicle)
        vehicle.inject(LinkDelay("mavlink", amount=0.04, start=0.08, end=0.28))
        flown.run(10)
        assert len(flown.link.times) == 20
        flown.run(30)
        assert len(flown.link.times) == 50
        flown.run(20)
        assert flown.link.times == sorted(flown.link.times)
        assert len(flown.link.times) == 80


def test_doubled_messages_do_not_confuse_lockstep():
    """Two answers to one message must not be taken for answers to two."""
    with flying(backends=[PX4(500.0)]) as (_, vehicle):
        flown = Flown(vehicle)
        vehicle.inject(LinkDuplicate("mavlink", end=1.0))
        speeds = flown.run(50)
        assert speeds == [500.0] * 50
        # The copy of the last one is still to come.
        assert len(flown.link.times) == 20 + 100 - 1
        assert flown.instance.phase is Phase.LOCKSTEP
        assert flown.link.times == sorted(flown.link.times)


@pytest.mark.parametrize("late", [0.0, 0.04])
def test_doubled_messages_find_px4_with_an_empty_queue(late):
    """PX4 does not answer a sample whose copy is in its queue too; the step would wait for the answer."""
    with flying(backends=[PX4(500.0)]) as (_, vehicle):
        flown = Flown(vehicle, Queueing())
        vehicle.inject(LinkDuplicate("mavlink", start=0.08, end=0.48))
        if late:
            # At the end of a delay many arrive together.
            vehicle.inject(LinkDelay("mavlink", amount=late, start=0.08, end=0.32))
        flown.run(200)
        assert len(flown.link.times) == 220 + 100
        assert flown.instance.phase is Phase.LOCKSTEP


def test_a_line_passes_messages_unchanged_once_it_is_healed():
    """Messages that stay under way after the end would be lost for ever."""
    with flying(backends=[ROS2(500.0)]) as (_, vehicle):
        vehicle.inject(LinkDelay("ros2", amount=1.0, name="slow"))
        vehicle.faults.update(0.0)
        line = FaultyLine(vehicle.faults.links, "ros2", 0)
        assert line.passed([b"a", b"b"], 0.0) == []
        vehicle.heal("slow")
        vehicle.faults.update(0.1)
        assert not line.is_idle
        assert line.passed([b"c"], 0.1) == [b"a", b"b", b"c"]
        assert line.is_idle


def test_links_that_do_not_exist_are_named():
    """A fault of a link that no backend has would have no effect."""
    with flying() as (_, vehicle):
        with pytest.raises(ConfigError, match=r"link = 'mavlink': needs a backend PX4 on 'iris'"):
            vehicle.inject(LinkLoss("mavlink"))
        with pytest.raises(ConfigError, match=r"link = 'json': needs a backend ArduPilot on 'iris'"):
            vehicle.inject(LinkLoss("json"))
        with pytest.raises(ConfigError, match=r"link = 'can': must be one of mavlink, json, ros2"):
            vehicle.inject(LinkLoss("can"))
        with pytest.raises(ConfigError, match=r"amount = 1\.5"):
            vehicle.inject(LinkLoss("ros2", amount=1.5))
