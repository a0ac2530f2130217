"""Tests of foreign packets at ArduPilot's port: they neither move the vehicle nor receive replies."""

import logging
import os
import signal
import time

import numpy as np
import pytest
from ardupilot_rig import Bare, Rig, launched, remote, vehicle

from pegasus.backends.ardupilot import lockstep
from pegasus.backends.ardupilot.lockstep import Contact
from pegasus.sensors.imu import ImuReading
from tests.waits import LIMIT

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture
def warnings(caplog):
    """Return a function that returns the warnings until now."""

    def so_far():
        return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]

    return so_far


def pour(rig, count, *senders):
    """Step with foreign packets at every step; the commands must stay those of the own peer."""
    for k in range(count):
        for sender in senders:
            sender.send(k, pulse=2000)
        rig.steps_match(1)


def test_a_stranger_is_not_taken_for_the_program(tmp_path, warnings):
    """The first sender to the port would fly the vehicle in place of the started program."""
    with Rig(launched(tmp_path / "ardupilot", "--pilot", "echo")) as rig:
        instance = rig.backend.instances[0]
        with Bare(instance) as stranger:
            stranger.send(7, pulse=2000)
            rig.steps_match(1)
            pour(rig, 100, stranger)
            port = stranger.socket.getsockname()[1]
            stranger.socket.setblocking(False)
            with pytest.raises(BlockingIOError):
                stranger.socket.recv(65536)
        assert warnings() == [
            f"ArduPilot {instance} of vehicle 'iris': packets from 127.0.0.1:{port}, "
            f"this process (pid {os.getpid()}) are ignored, because they come from another program"
        ]
        assert rig.backend.failures == []


def test_a_second_ardupilot_at_the_port(tmp_path, warnings):
    """A second ArduPilot at this port would stop the rotors, or alternate with the first."""
    with Rig(launched(tmp_path / "ardupilot", "--pilot", "echo")) as rig:
        rig.connect()
        rig.add_peer("--repeat", "0.01")
        deadline = time.monotonic() + LIMIT
        while not warnings():
            assert time.monotonic() < deadline
            rig.steps_match(1)
        rig.steps_match(200)
        (warning,) = warnings()
        assert f"(pid {rig.peers[0].pid})" in warning
        assert "restarted" not in warning


def test_the_program_restarts_beside_a_stranger(tmp_path, warnings):
    """A rebooted program with a new port would be ignored, or a foreign one be accepted."""
    with Rig(launched(tmp_path / "ardupilot", "--pilot", "echo", "--do", "restart@30")) as rig:
        with Bare(rig.backend.instances[0]) as stranger:
            rig.connect()
            pour(rig, 100, stranger)
        assert len(warnings()) == 2
        assert any("has restarted: frame 0 from port" in warning for warning in warnings())


def test_nobody_takes_the_place_of_a_program_that_has_ended(tmp_path):
    """A foreign sender would drive the rotors after the program was killed."""
    with Rig(launched(tmp_path / "ardupilot", "--pilot", "echo")) as rig:
        rig.connect()
        os.kill(rig.backend.processes[0].pid, signal.SIGKILL)
        with Bare(rig.backend.instances[0]) as stranger:
            while rig.backend.links[0].contact is not Contact.ENDED:
                rig.step()
            for k in range(300):
                stranger.send(1000 + k, pulse=2000)
                _, command = rig.step()
            assert rig.backend.links[0].contact is Contact.ENDED
            np.testing.assert_array_equal(command, 0.0)


@pytest.mark.parametrize("blind", [False, True])
def test_the_first_sender_is_kept(warnings, blind, tmp_path, monkeypatch):
    """An ArduPilot started elsewhere would lose its vehicle to the next sender."""
    if blind:
        # As where the operating system does not tell the holder of a port.
        monkeypatch.setattr("pegasus.backends.mavlink.ports._PROC", tmp_path)
    with Rig(remote()) as rig:
        rig.add_peer()
        rig.connect()
        with Bare(rig.backend.instances[0]) as stranger:
            pour(rig, 100, stranger)
        assert len(warnings()) == 1
        assert "are ignored" in warnings()[0]


def test_the_next_sender_when_the_first_has_ended(warnings, monkeypatch):
    """A restart of ArduPilot by hand would require a restart of the simulation, or a wait."""
    monkeypatch.setattr(lockstep, "_REFUSAL", 0.0)
    with Rig(remote()) as rig, Bare(rig.backend.instances[0]) as second:
        with Bare(rig.backend.instances[0]) as first:
            first.send(0, pulse=1200)
            rig.publish()
            second.send(5, pulse=2000)
            first.send(1, pulse=1300)
            np.testing.assert_allclose(rig.backend.command(rig.time), 260.9)
        rig.publish()
        second.send(6, pulse=1700)
        np.testing.assert_allclose(rig.backend.command(rig.time), 522.1)
        assert "are ignored" in warnings()[0]
        assert "has restarted" in warnings()[1]


def test_the_next_sender_when_the_first_is_silent(warnings, monkeypatch):
    """A hung ArduPilot would keep the vehicle forever, or lose it by a short pause."""
    monkeypatch.setattr(lockstep, "SILENCE_LIMIT", 0.4)
    monkeypatch.setattr(lockstep, "_REFUSAL", 0.0)
    with Rig(remote(step_timeout=0.05)) as rig:
        instance = rig.backend.instances[0]
        with Bare(instance) as first, Bare(instance) as second:
            first.send(0, pulse=1200)
            rig.step()
            # A pause of the simulation does not count as silence: both have sent meanwhile.
            time.sleep(0.5)
            second.send(5, pulse=2000)
            first.send(1, pulse=1300)
            began = time.monotonic()
            rig.step()
            assert rig.backend.links[0].frame_count == 1
            while rig.backend.links[0].frame_count == 1:
                assert time.monotonic() < began + 10.0
                second.send(6, pulse=1700)
                rig.step()
            assert time.monotonic() - began > 0.4
            assert rig.backend.links[0].frame_count == 6
        assert len([warning for warning in warnings() if "has restarted" in warning]) == 1


def test_one_that_came_while_the_simulation_was_busy():
    """A simulation that compiles its step for a minute would then report that ArduPilot has not connected."""
    flown, backend = vehicle(), remote(start_timeout=0.05)
    backend.bind(flown)
    backend.start()
    try:
        with Bare(backend.instances[0]) as bare:
            bare.send(0)
            time.sleep(0.1)
            backend.publish(0.0, flown.state, {"imu": ImuReading(0.0, np.zeros((1, 3)), np.zeros((1, 3)))})
            assert len(bare.replies()) == 1
    finally:
        backend.stop()
