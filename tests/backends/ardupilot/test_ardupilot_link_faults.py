"""Tests of faults of ArduPilot's JSON link: lost, late and doubled replies, and lockstep with them."""

import logging

import numpy as np
import pytest
from ardupilot_rig import RATE, Rig, launched, remote

from pegasus import Multirotor, Simulation
from pegasus.backends.ardupilot.lockstep import Contact
from pegasus.faults import LinkDelay, LinkDuplicate, LinkLoss

pytestmark = pytest.mark.usefixtures("nothing_left")


class FaultyRig(Rig):
    """A rig whose vehicle has faults, with records of expected answers, commands and frames by step."""

    def __init__(self, backend, **arguments):
        super().__init__(backend, **arguments)
        self.vehicle.faults.links.reset(7, "iris")
        self.expected, self.commands, self.frames = [], [], []

    def run(self, count):
        """Fly some steps."""
        for _ in range(count):
            self.vehicle.faults.update(self.time)
            expected, command = self.step()
            self.expected.append(expected[0])
            self.commands.append(command[0])
            self.frames.append(self.backend.links[0].frame_count)

    def record(self):
        """Return expected answers and commands of the steps flown, and the replies taken in each."""
        return np.array(self.expected), np.array(self.commands), np.diff(self.frames, prepend=self.first)

    def connect(self):
        super().connect()
        self.first = self.backend.links[0].frame_count


def flown(*faults, counts, **options):
    """Fly some steps with faults whose times count in steps from the connection; return the record."""
    with FaultyRig(remote(**options)) as rig:
        rig.add_peer()
        rig.connect()
        begin = rig.step_count
        for kind, amount, start, end in faults:
            rig.vehicle.inject(
                kind("json", amount=amount, start=(begin + start) / RATE, end=(begin + end) / RATE)
            )
        rig.run(counts)
        assert rig.backend.links[0].contact is Contact.LOCKSTEP
        return rig.record()


def test_lost_replies_stop_clock_and_rotors_and_leave_no_lag(caplog):
    """A wait for the answer to a lost reply would hang; a lag of a frame would stay for good."""
    expected, commands, taken = flown((LinkLoss, 1.0, 20, 80), counts=200, hold_time=20 / RATE)
    np.testing.assert_allclose(commands[:20], expected[:20], atol=1e-9)
    np.testing.assert_array_equal(commands[20:40], np.tile(commands[19], (20, 1)))
    np.testing.assert_array_equal(commands[40:80], 0.0)
    np.testing.assert_allclose(commands[80:], expected[80:], atol=1e-9)
    np.testing.assert_array_equal(taken, [1] * 20 + [0] * 60 + [1] * 120)
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_share_of_replies_is_lost_and_the_same_ones_with_the_same_seed():
    """Replies that are lost by wall time would not repeat, and an answered one would lag."""
    first = flown((LinkLoss, 0.3, 0, 1000), counts=1000)
    expected, commands, taken = first
    assert 640 < taken.sum() < 760
    assert set(taken) == {0, 1}
    got = taken == 1
    np.testing.assert_allclose(commands[got], expected[got], atol=1e-9)
    lost = np.flatnonzero(~got[1:]) + 1
    np.testing.assert_array_equal(commands[lost], commands[lost - 1])
    for a, b in zip(first, flown((LinkLoss, 0.3, 0, 1000), counts=1000), strict=True):
        np.testing.assert_array_equal(a, b)


def test_late_replies_arrive_in_order_after_the_delay_and_all_at_its_end():
    """A delay of other than its number of steps, or replies that stay in the socket, would be no delay."""
    late = 20
    expected, commands, taken = flown((LinkDelay, late / RATE, 10, 110), counts=200)
    np.testing.assert_array_equal(commands[10 : 10 + late], np.tile(commands[9], (late, 1)))
    np.testing.assert_allclose(commands[10 + late : 110], expected[10 : 110 - late], atol=1e-9)
    np.testing.assert_allclose(commands[110:], expected[110:], atol=1e-9)
    np.testing.assert_array_equal(taken, [1] * 10 + [0] * late + [1] * 80 + [1 + late] + [1] * 89)


def test_doubled_replies_are_answered_twice_in_their_step():
    """The second of two replies would stay in the socket and delay every later one by a frame."""
    expected, commands, taken = flown((LinkDuplicate, 1.0, 10, 110), counts=200)
    np.testing.assert_allclose(commands, expected, atol=1e-9)
    np.testing.assert_array_equal(taken, [1] * 10 + [2] * 100 + [1] * 90)


def test_replies_that_wait_longer_than_the_time_limit_are_no_timeout(caplog):
    """A thousand late replies that arrive together would count as an ArduPilot that does not answer."""
    late = 1000
    expected, commands, taken = flown(
        (LinkDelay, 60.0, 0, late), counts=late + 100, step_timeout=0.05, hold_time=1.0
    )
    np.testing.assert_allclose(commands[late:], expected[late:], atol=1e-9)
    assert taken[late] == late + 1
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == []


def test_a_restart_amid_late_replies_forgets_them():
    """Replies for the program before the restart would be sent to the new one."""
    with FaultyRig(remote()) as rig:
        rig.add_peer("--do", "restart@60")
        rig.connect()
        rig.vehicle.inject(LinkDelay("json", amount=1.0, name="slow"))
        rig.run(100)
        rig.vehicle.heal("slow")
        rig.run(1)
        rig.run(100)
        expected, commands, _ = rig.record()
        np.testing.assert_allclose(commands[101:], expected[101:], atol=1e-9)
        # Those before the restart were taken; 40 of 101 late replies were left.
        assert rig.backend.links[0].frame_count < 110


def test_only_the_copies_of_the_fault_lose_replies():
    """The fault of one link would stop other copies."""
    with Rig(remote(), count=2) as rig:
        for instance in rig.backend.instances:
            rig.add_peer(instance=instance)
        rig.connect()
        rig.vehicle.inject(LinkLoss("json"), copies=[0])
        for _ in range(100):
            rig.vehicle.faults.update(rig.time)
            before = rig.backend.links[0].frame_count
            expected, command = rig.step()
            np.testing.assert_allclose(command[1], expected[1], atol=1e-9)
            assert rig.backend.links[0].frame_count == before


def test_a_flight_on_a_bad_link_repeats_bit_by_bit(tmp_path):
    """Losses by wall time, or answers to other steps, would make each flight another."""

    def fly(name):
        backend = launched(tmp_path / name)
        with Simulation("flat", rate=RATE, seed=2) as sim:
            iris = sim.add(Multirotor("iris", backends=[backend]))
            iris.inject(LinkLoss("json", amount=0.05, start=1.5))
            iris.inject(LinkDelay("json", amount=0.01, start=2.0, end=3.5))
            iris.inject(LinkDuplicate("json", amount=0.2, start=2.5))
            places = [iris.state.position[0].copy() for _ in sim.stepping(4.5)]
        return np.array(places)

    first = fly("first")
    # It flies all the same.
    assert first[:, 2].max() > 2.0
    np.testing.assert_array_equal(fly("second"), first)
