"""Tests of ArduPilot in lockstep, with a peer that speaks its side over real sockets."""

import contextlib
import logging
import math
import struct
import time

import numpy as np
import pytest
from ardupilot_rig import RATE, Bare, Rig, launched, remote

from pegasus import AutopilotError, ConfigError, Multirotor
from pegasus.backends.ardupilot.lockstep import Contact
from pegasus.environment import Environment
from tests.waits import LIMIT

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_no_frame_of_delay():
    """The answer to a state would not be applied in the step of that state."""
    with Rig(remote(), count=2) as rig:
        for instance in rig.backend.instances:
            rig.add_peer(instance=instance)
        rig.connect()
        before = [link.frame_count for link in rig.backend.links]
        rig.steps_match(1000)
        assert [link.frame_count - n for link, n in zip(rig.backend.links, before, strict=True)] == [1000] * 2


@pytest.mark.parametrize(
    ("trick", "message"),
    [
        ("doubled@30=100", None),
        ("garbage@30=300", None),
        ("channels32@30", None),
        ("silence@30=0.3", None),
        ("lost@30=1", None),
        ("restart@30", "has restarted: frame 0 from port"),
    ],
)
def test_misbehaviour_that_costs_nothing(trick, message, caplog):
    """An extra reply would leave a lag of one frame for good, a missing one would hang."""
    more = ["--do", "channels16@60"] if "channels" in trick else []
    with Rig(remote()) as rig:
        rig.add_peer("--do", trick, *more, "--repeat", "0.6")
        rig.connect()
        rig.steps_match(100)
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == (message is not None)
    assert message is None or message in warnings[0]


def test_a_packet_that_comes_again_after_its_reply():
    """A repeated packet, which gets a second reply, would cause a lag of a step."""
    with Rig(remote()) as rig:
        rig.add_peer("--do", "again@30=0.6", "--do", "again@60=0.6")
        rig.connect()
        rig.steps_match(100)


def test_a_pause_of_any_length():
    """The packets repeated during a pause would be answered one by one afterwards."""
    with Rig(remote()) as rig:
        rig.add_peer("--repeat", "0.02")
        rig.connect()
        rig.steps_match(20)
        time.sleep(0.5)
        rig.steps_match(50)


def test_silence_beyond_the_limit(caplog):
    """A silent ArduPilot would affect other vehicles, cost more than one time limit, or be refused later."""
    hold = 20
    with Rig(remote(step_timeout=0.2, hold_time=hold / RATE), count=2) as rig:
        mute, other = rig.backend.instances
        rig.add_peer("--do", "silence@40=0.8", instance=mute)
        rig.add_peer(instance=other)
        rig.connect()
        last = None
        while rig.backend.links[0].contact is Contact.LOCKSTEP:
            began = time.monotonic()
            expected, command = rig.step()
            took = time.monotonic() - began
            np.testing.assert_allclose(command[1], expected[1], atol=1e-9)
            held, last = last, command[0]
        silent = rig.time - 1 / RATE
        assert 0.2 <= took < 0.5
        np.testing.assert_array_equal(last, held)
        slowest = 0.0
        for k in range(1, 60):
            began = time.monotonic()
            expected, command = rig.step()
            slowest = max(slowest, time.monotonic() - began)
            np.testing.assert_allclose(command[1], expected[1], atol=1e-9)
            np.testing.assert_array_equal(command[0], held if k < hold else 0.0)
        assert slowest < 0.15
        assert [record.getMessage() for record in caplog.records] == [
            f"ArduPilot {mute} of vehicle 'iris' has not answered within 0.2 s at t = {silent:.3f} s; "
            "its rotors keep their speed for 0.05 s, then stop"
        ]
        (failure,) = rig.backend.failures
        assert (failure.autopilot, failure.problem) == (f"ArduPilot {mute}", "has not answered within 0.2 s")
        assert (failure.time, failure.exit_status) == (silent, None)
        deadline = time.monotonic() + LIMIT
        while rig.backend.links[0].contact is not Contact.LOCKSTEP:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            rig.step()
        assert "answers again" in caplog.records[-1].getMessage()
        rig.step()
        rig.steps_match(100)


@pytest.mark.parametrize(
    ("trick", "problem", "status"),
    [("exit@40=7", "has ended with status 7", 7), ("kill@40", "was killed by SIGKILL", -9)],
)
def test_a_program_that_ends(tmp_path, caplog, trick, problem, status):
    """A dead ArduPilot would be reported late or without its last output, or affect other vehicles."""
    backend = launched(tmp_path / "ardupilot", "--pilot", "echo")
    backend.run_folder = tmp_path
    with Rig(backend, count=2) as rig:
        # The second copy's program is a normal one; the first has the fault.
        backend.stop()
        binary = tmp_path / "ardupilot" / "build" / "sitl" / "bin" / "arducopter"
        first = backend.instances[0]
        ordinary = binary.read_text()
        binary.write_text(
            ordinary.replace(
                "exec", f'case " $* " in *" -I {first} "*) set -- "$@" --do {trick};; esac\nexec'
            )
        )
        backend.start()
        rig.connect()
        while backend.links[0].contact is Contact.LOCKSTEP:
            began = time.monotonic()
            rig.steps_match(1, copies=1)
            took = time.monotonic() - began
        assert backend.links[0].contact is Contact.ENDED
        assert took < 0.5
        rig.steps_match(300, copies=1)
        assert (rig.step()[1][0] == 0.0).all()
        (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert f"ArduPilot {first} of vehicle 'iris': {problem}; its last words: " in record.getMessage()
        (failure,) = backend.failures
        assert (failure.autopilot, failure.problem) == (f"ArduPilot {first}", problem)
        assert failure.exit_status == status
        assert trick.split("=")[0].replace("@", " ") in record.getMessage()


@pytest.mark.parametrize("kept", [True, False])
def test_a_program_that_ends_before_it_is_heard(tmp_path, kept):
    """A run whose ArduPilot exits at its start would wait instead of ending with its output."""
    backend = launched(tmp_path / "ardupilot", "--no-such-option")
    backend.run_folder = tmp_path / "run" if kept else None
    with Rig(backend) as rig, pytest.raises(AutopilotError) as caught:
        rig.step()
    number = backend.instances[0]
    log = f"; see {tmp_path / 'run' / f'ardupilot_{number}' / 'ardupilot.log'}" if kept else ""
    said = f"ArduPilot {number} of vehicle 'iris': has ended with status 2; its last words: "
    assert str(caught.value).startswith(said)
    assert str(caught.value).endswith(f"unrecognized arguments: --no-such-option{log}")
    (failure,) = backend.failures
    assert (failure.problem, failure.exit_status, failure.time) == ("has ended with status 2", 2, 0.0)


def test_a_program_that_stays_mute(tmp_path):
    """A run whose ArduPilot never sends would not end at its time limit."""
    backend = launched(tmp_path / "ardupilot", start_timeout=0.5)
    binary = tmp_path / "ardupilot" / "build" / "sitl" / "bin" / "arducopter"
    binary.write_text("#!/bin/sh\necho stuck; exec sleep 600\n")
    began = time.monotonic()
    with Rig(backend) as rig, pytest.raises(AutopilotError) as caught:
        rig.step()
    assert 0.5 <= time.monotonic() - began < 10.0
    assert "of vehicle 'iris': has not connected within 0.5 s; its last words: stuck" in str(caught.value)
    assert [failure.problem for failure in backend.failures] == ["has not connected within 0.5 s"]


def test_an_ardupilot_that_is_waited_for_does_not_come():
    """A run without its external ArduPilot would cause no message at its time limit."""
    with Rig(remote(start_timeout=0.3), count=2) as rig, Bare(rig.backend.instances[0]) as bare:
        bare.send(0)
        with pytest.raises(AutopilotError) as caught:
            rig.step()
    absent = rig.backend.instances[1]
    assert str(caught.value) == (
        f"ArduPilot {absent} of vehicle 'iris': has not connected within 0.3 s; "
        "start it, or let Pegasus launch it"
    )
    assert rig.backend.failures[-1].autopilot == f"ArduPilot {absent}"


def test_the_first_step_waits_for_the_first_packet():
    """The steps before ArduPilot's first packet would be flown without it."""
    with Rig(remote()) as rig:
        rig.add_peer()
        rig.steps_match(20)
        assert rig.backend.links[0].frame_count == 20


def test_stop_and_start_again(tmp_path):
    """A reset would not end the program and start a new one at the same ports."""
    with Rig(launched(tmp_path / "ardupilot", "--pilot", "echo")) as rig:
        rig.connect()
        rig.steps_match(20)
        instances, first = rig.backend.instances, rig.backend.processes[0].pid
        began = time.monotonic()
        rig.backend.stop()
        # The peer ignores SIGTERM, like ArduPilot.
        assert time.monotonic() - began < 1.0
        rig.backend.stop()
        rig.backend.start()
        rig.step_count = 0
        rig.connect()
        assert rig.backend.instances == instances
        assert rig.backend.processes[0].pid != first
        rig.steps_match(20)


def test_one_reply_to_the_newest_packet():
    """Replies to each of several waiting packets would leave a lag of as many frames less one."""
    with Rig(remote()) as rig, Bare(rig.backend.instances[0]) as bare:
        for count in (5, 6, 7):
            bare.send(count)
        rig.publish()
        assert len(bare.replies()) == 1
        assert rig.backend.links[0].frame_count == 7
        rig.publish()
        bare.send(8, pulse=1700)
        np.testing.assert_allclose(rig.backend.command(rig.time), 522.1)


def test_the_reply_holds_the_imus_reading_and_the_truth():
    """ArduPilot would not get the noisy IMU and the true position for its own GPS."""
    with Rig(remote()) as rig, Bare(rig.backend.instances[0]) as bare:
        state, columns = rig.vehicle.state, rig.vehicle.columns
        columns["velocity"][0] = 1.0, 2.0, 3.0
        columns["angular_velocity"][0] = 9.0, 9.0, 9.0
        rig.force = np.array([[0.1, 0.2, 9.7]])
        rig.step_count = 4
        bare.send(0)
        rig.publish()
        (reply,) = bare.replies()
        assert reply["timestamp"] == pytest.approx(0.01, rel=2e-8)
        assert reply["imu"] == {"gyro": [0.0, 0.0, 0.0], "accel_body": [0.1, -0.2, -9.7]}
        assert reply["velocity"] == [2.0, 1.0, -3.0]
        assert reply["position"] == pytest.approx([0.128, 0.339, 0.547])
        # A slower IMU is held between its readings.
        bare.send(1)
        rig.backend.publish(0.0125, state, {})
        assert bare.replies()[0]["imu"]["accel_body"] == [0.1, -0.2, -9.7]


def test_a_number_that_is_none_stops_the_run():
    """NaN, on which ArduPilot aborts, would be sent without naming its source."""
    with Rig(remote(), count=2) as rig, contextlib.ExitStack() as opened:
        for instance in rig.backend.instances:
            opened.enter_context(Bare(instance)).send(0)
        rig.force[1, 1] = math.nan
        with pytest.raises(
            ConfigError, match="IMU reading of vehicle 'iris', copy 1, at t = 0 s: must be fin"
        ):
            rig.publish()


def test_outputs_of_the_vehicle_file():
    """A rotor would have a wrong output or a wrong speed."""
    spec = Multirotor("iris").spec
    by_hand = {
        "channels": [17, 1, 2, 3],
        "scale": [100.0, 200.0, 300.0, 400.0],
        "offset": 0.0,
        "parameters": {"FRAME_CLASS": 1, "FRAME_TYPE": 1},
    }
    outputs = spec.ardupilot.model_copy(update=by_hand)
    made = Multirotor(spec.model_copy(update={"ardupilot": outputs}))
    made.environment, made.physics_rate = Environment(), RATE
    backend = remote()
    backend.bind(made)
    backend.start()
    with Bare(backend.instances[0]) as bare:
        for channels, magic, first in ((16, 18458, 0.0), (32, 29569, 100.0)):
            packet = struct.pack(f"<HHI{channels}H", magic, 400, channels, *[2000] * channels)
            bare.socket.sendto(packet, bare.target)
            backend.publish(0.0, made.state, {})
            np.testing.assert_allclose(backend.command(0.0), [[first, 200.0, 300.0, 400.0]])
    backend.stop()
