"""Tests of the PX4 peer against the recording of a real PX4, over a real socket."""

import gzip
import json
import math
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from simulator_end import PEER, Simulator, sensor

from pegasus.backends.mavlink.messages import Decoder, make_message
from tests.waits import LIMIT

TRANSCRIPT = Path(__file__).parents[1] / "data" / "px4_transcript.json.gz"
SILENT = 11
"""Sensor messages that the recorded PX4 left without an answer."""
ARM_SENT = 6.3
"""When the recorded PX4 was told to arm [s]."""


@pytest.fixture
def simulate():
    started = []

    def start(*options):
        started.append(Simulator(*options))
        return started[-1]

    yield start
    for simulator in started:
        simulator.end()


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


def test_an_instance_has_its_own_system_id(simulate):
    """If this fails, two vehicles have the same id on a link."""
    simulator = simulate("--instance", "4", "--silent", "0")
    command, heartbeat = simulator.handshake()
    assert (command.command, command.param1, command.param2) == (511, 115.0, 5000.0)
    assert heartbeat.autopilot == 12
    simulator.steps(1, 3)
    frames = simulator.raw.split(b"\xfd")[1:]
    assert [frame[4] for frame in frames] == [5] * 5


def test_it_starts_as_px4_is_started(simulate):
    """If this fails, a launcher that starts PX4 cannot start the peer in its place."""
    simulator = simulate("etc", "-s", "etc/init.d-posix/rcS", "-i", "2", "-d")
    simulator.handshake()
    assert simulator.raw[5] == 3


def test_a_time_that_was_is_not_answered_nor_a_message_without_imu(simulate):
    """If this fails, the peer accepts repeated times or missing fields, with which a real PX4 hangs."""
    simulator = simulate("--silent", "0")
    simulator.handshake()
    simulator.steps(1, 3)
    for message in (sensor(3), sensor(2), sensor(4, fields=0x1FC7), sensor(5, fields=0x1FF8)):
        simulator.send(message)
    assert simulator.steps(6, 6) == [[6]]


def test_outputs_depend_on_the_message_that_they_answer(simulate):
    """If this fails, delay tests measure the peer's own delay."""
    simulator = simulate("--silent", "0", "--controller", "echo")
    simulator.handshake()
    for k in range(1, 50):
        answer = simulator.answers(sensor(k, xgyro=k / 10))[-1]
        assert answer.mode == 129
        assert answer.controls[0] == pytest.approx(0.5 + k / 400, abs=1e-7)


def test_constant_outputs(simulate):
    """If this fails, long runs fly with other outputs than given, or are disarmed."""
    simulator = simulate("--silent", "0", "--controller", "none", "--outputs", "0.25,0.5,0.75,1")
    simulator.handshake()
    assert simulator.answers(sensor(1)) == [
        make_message(
            "HIL_ACTUATOR_CONTROLS",
            time_usec=4000,
            flags=1,
            controls=(0.25, 0.5, 0.75, 1.0, *[0.0] * 12),
            mode=129,
        )
    ]


FAULTS = {
    "nothing": ((), [[4], [5], [6], [7], [8]]),
    "silence once": (("silence@5",), [[4], None, [6], [7], [8]]),
    "silence from to": (("silence@5-7",), [[4], None, None, None, [8]]),
    "silence by time": (("silence@0.02s-0.0245s",), [[4], None, None, [7], [8]]),
    "stale": (("stale@6:3",), [[4], [5], None, [3, 7], [8]]),
    "stale first": (("stale-first@6",), [[4], [5], [5, 6], [7], [8]]),
    "double": (("double@6",), [[4], [5], [6], [6, 7], [8]]),
    "two at once": (("double@6", "stale-first@6:2"), [[4], [5], [4, 6], [6, 7], [8]]),
    "every second": ((), [[4], None, [6], None, [8]]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_answers_that_are_missing_stale_or_doubled(simulate, name):
    """If this fails, tests of missing, stale or repeated answers get other answers than those shown."""
    faults, expected = FAULTS[name]
    options = [part for fault in faults for part in ("--fault", fault)]
    simulator = simulate("--silent", "3", *options, *(["--every", "2"] if name == "every second" else []))
    simulator.handshake()
    for k in (1, 2, 3):
        simulator.send(sensor(k))
    for k, answers in enumerate(expected, start=4):
        if answers is None:
            simulator.send(sensor(k))
        else:
            assert simulator.steps(k, k) == [answers]


def test_garbage_comes_in_front_of_a_whole_answer(simulate):
    """If this fails, tests of invalid bytes get none."""
    simulator = simulate("--silent", "0", "--fault", "garbage@2-3:100")
    simulator.handshake()
    assert simulator.steps(1, 4) == [[1], [2], [3], [4]]
    assert simulator.decoder.bad_byte_count == 200


@pytest.mark.parametrize(
    ("fault", "delay"), [("late@2:80", 0.08), ("split@2:250", 0.25), ("freeze@2:80", 0.08)]
)
def test_an_answer_that_takes_its_time(simulate, fault, delay):
    """If this fails, tests of late answers get answers in time."""
    simulator = simulate("--silent", "0", "--fault", fault)
    simulator.handshake()
    simulator.steps(1, 1)
    start = time.monotonic()
    simulator.send(sensor(2))
    if fault.startswith("split"):
        first = simulator.link.recv(65536)
        assert list(simulator.decoder.feed(first)) == []
        assert len(first) > 10
    assert simulator.receive().time_usec == 8000
    assert time.monotonic() - start >= delay
    assert simulator.steps(3, 4) == [[3], [4]]


def test_outputs_that_are_no_numbers(simulate):
    """If this fails, no NaN is sent, or NaN is sent forever."""
    simulator = simulate("--silent", "0", "--fault", "nan@2")
    simulator.handshake()
    controls = [simulator.answers(sensor(k))[0].controls for k in (1, 2, 3)]
    assert [[math.isnan(output) for output in four[:5]] for four in controls] == [
        [False] * 5,
        [True] * 4 + [False],
        [False] * 5,
    ]


@pytest.mark.parametrize("fault", ["close", "truncate"])
def test_a_link_that_it_closes_and_opens_again(simulate, fault):
    """If this fails, tests of a PX4 restart get no handshake or no new connection."""
    simulator = simulate("--silent", "2", "--fault", f"{fault}@4:20")
    simulator.handshake()
    for k in (1, 2):
        simulator.send(sensor(k))
    simulator.steps(3, 3)
    simulator.send(sensor(4))
    before = len(simulator.raw)
    with pytest.raises(EOFError):
        simulator.receive()
    assert (len(simulator.raw) > before) == (fault == "truncate")
    simulator.accept()
    assert [message.msgname for message in simulator.handshake()] == ["COMMAND_LONG", "HEARTBEAT"]
    for k in (5, 6):
        simulator.send(sensor(k))
    assert simulator.steps(7, 8) == [[7], [8]]
    assert [line[0] for line in simulator.lines()] == ["CONNECTED", "FAULT", "CONNECTED", "CLOSED"]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (("--fault", "exit@2:7"), 7),
        (("--fault", "kill@2"), -signal.SIGKILL),
        (("--mission", "none"), 0),
        (("--mission", "square"), 3),
    ],
)
def test_exit_status(simulate, options, status):
    """If this fails, a peer outlives its link, or an aborted mission looks complete."""
    simulator = simulate("--silent", "0", *options)
    simulator.handshake()
    simulator.steps(1, 1)
    simulator.send(sensor(2))
    if "--fault" in options:
        with pytest.raises((EOFError, ConnectionResetError)):
            simulator.receive()
    simulator.link.close()
    assert simulator.process.wait(LIMIT) == status


@pytest.mark.parametrize("fault", [(), ("--fault", "freeze@1"), ("--fault", "close@1")])
def test_it_lives_on_until_sigterm(simulate, fault):
    """If this fails, a launcher that leaves or kills processes passes its test."""
    simulator = simulate("--silent", "0", "--linger", *fault)
    simulator.handshake()
    simulator.send(sensor(1))
    for line in simulator.process.stdout:
        if not fault or line.startswith("FAULT"):
            break
    simulator.link.close()
    with pytest.raises(subprocess.TimeoutExpired):
        simulator.process.wait(0.1)
    simulator.process.terminate()
    assert simulator.process.wait(LIMIT) == 0


def test_sigterm_can_be_ignored(simulate):
    """If this fails, the launcher's SIGKILL is not tested."""
    simulator = simulate("--silent", "0", "--ignore-term")
    simulator.handshake()
    simulator.process.terminate()
    assert simulator.steps(1, 2) == [[1], [2]]


def test_it_waits_for_a_simulator_and_gives_up():
    """If this fails, the peer of a failed test runs forever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    command = [sys.executable, str(PEER), "--port", str(port), "--connect-limit", "0.1"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert result.returncode == 1
    assert str(port) in result.stderr
