"""Tests of the PX4 peer against the recording of a real PX4, over a real socket."""

import gzip
import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from pegasus.backends.mavlink.messages import Decoder
from tests.waits import LIMIT

PEER = Path(__file__).parents[1] / "px4_peer.py"
TRANSCRIPT = Path(__file__).parents[1] / "data" / "px4_transcript.json.gz"
SILENT = 11
"""Sensor messages that the recorded PX4 left without an answer."""
ARM_SENT = 6.3
"""When the recorded PX4 was told to arm [s]."""


class Simulator:
    """A minimal simulator's end of the HIL link, and the peer's process."""

    def __init__(self, *options):
        with socket.create_server(("127.0.0.1", 0)) as server:
            server.settimeout(LIMIT)
            command = [sys.executable, str(PEER), "--port", str(server.getsockname()[1]), *options]
            self.process = subprocess.Popen(command)
            self.link, _ = server.accept()
        self.link.settimeout(LIMIT)
        self.decoder, self.raw = Decoder(), b""
        self._waiting = []

    def receive(self):
        """Return the next message."""
        while not self._waiting:
            data = self.link.recv(65536)
            assert data, "the peer has closed the link"
            self.raw += data
            self._waiting.extend(self.decoder.feed(data))
        return self._waiting.pop(0)

    def handshake(self):
        return self.receive(), self.receive()


@pytest.fixture
def simulate():
    started = []

    def start(*options):
        started.append(Simulator(*options))
        return started[-1]

    yield start
    for simulator in started:
        simulator.link.close()
        simulator.process.kill()
        simulator.process.wait(LIMIT)


@pytest.fixture(scope="module")
def recording():
    """Return (sender, frame, message) of every frame that a real PX4 and its simulator exchanged."""
    frames = json.loads(gzip.decompress(TRANSCRIPT.read_bytes()))["frames"]
    decoder = Decoder()
    result = []
    for _, sender, text in frames:
        (message,) = decoder.feed(frame := bytes.fromhex(text))
        result.append((sender, frame, message))
    return result


def replay(simulator, recording):
    """Send the messages of the recorded simulator; return the peer's answers."""
    answers, sent = [], 0
    for sender, frame, message in recording:
        if sender != "sim":
            continue
        simulator.link.sendall(frame)
        if message.msgname == "HIL_SENSOR":
            sent += 1
            while sent > SILENT and (not answers or answers[-1].time_usec < message.time_usec):
                answers.append(simulator.receive())
    return answers


def check_rules(sensors, answers):
    """Assert the rules that PX4's answers to sensor messages follow in any flight."""
    times = [message.time_usec for message in sensors]
    assert [answer.time_usec for answer in answers] == times[SILENT:]
    for answer in answers:
        assert answer.flags == 1
        assert answer.mode in (1, 129)
        assert answer.controls[4:] == (0.0,) * 12
        if answer.mode == 1:
            assert answer.controls[:4] == (0.0,) * 4
        else:
            assert all(0 <= output <= 1 for output in answer.controls[:4])


def test_it_answers_by_the_rules_of_the_recorded_px4(simulate, recording):
    """If this fails, the peer answers in another way than a PX4."""
    sensors = [message for _, _, message in recording if message.msgname == "HIL_SENSOR"]
    recorded = [message for _, _, message in recording if message.msgname == "HIL_ACTUATOR_CONTROLS"]
    check_rules(sensors, recorded)
    simulator = simulate("--mission", "hover", "--ready", str(ARM_SENT), "--declination", "3.1")
    simulator.handshake()
    answers = replay(simulator, recording)
    check_rules(sensors, answers)

    # The peer has armed at its time, so it accepted the sensors of the recording.
    def armed_at(messages):
        return next(message.time_usec for message in messages if message.mode == 129)

    assert 0 <= armed_at(answers) / 1e6 - ARM_SENT <= 0.02
    assert abs(armed_at(answers) - armed_at(recorded)) <= 20_000
    at_first = answers[[answer.mode for answer in answers].index(129)]
    assert at_first.controls == next(answer for answer in recorded if answer.mode == 129).controls


def test_before_it_arms_every_byte_is_that_of_the_recorded_px4(simulate, recording):
    """If this fails, system id, sequence, fields or layout differ from those of a PX4."""
    start = [
        entry for entry in recording if not hasattr(entry[2], "time_usec") or entry[2].time_usec < 1_500_000
    ]
    simulator = simulate()
    simulator.handshake()
    replay(simulator, start)
    assert simulator.raw == b"".join(frame for sender, frame, _ in start if sender == "px4")
