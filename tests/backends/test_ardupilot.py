"""ArduPilot in lockstep, against a peer that speaks its side over real sockets."""

import json
import logging
import math
import socket
import struct
import time

import numpy as np
import pytest
from ardupilot_rig import RATE, Rig, launched, remote

from pegasus import ConfigError, Multirotor
from pegasus.backends.mavlink.json_link import Contact
from pegasus.environment import Environment

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_no_frame_of_delay():
    """The answer to a state must act in the very step of that state: a peer simulator loses three steps."""
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
    """Every reply too many would leave one frame of lag for good, every one too few would hang."""
    more = ["--do", "channels16@60"] if "channels" in trick else []
    with Rig(remote()) as rig:
        rig.add_peer("--do", trick, *more, "--repeat", "0.6")
        rig.connect()
        rig.steps_match(100)
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(warnings) == (message is not None)
    assert message is None or message in warnings[0]


def test_a_packet_that_comes_again_after_its_reply():
    """Such a packet gets a second reply; it must cost no step of lag, whoever is the faster one."""
    with Rig(remote()) as rig:
        rig.add_peer("--do", "again@30=0.6", "--do", "again@60=0.6")
        rig.connect()
        rig.steps_match(100)


def test_a_pause_of_any_length():
    """The packets that ArduPilot repeats meanwhile must not be answered one by one afterwards."""
    with Rig(remote()) as rig:
        rig.add_peer("--repeat", "0.02")
        rig.connect()
        rig.steps_match(20)
        time.sleep(0.5)
        rig.steps_match(50)


def test_silence_beyond_the_limit(caplog):
    """One mute ArduPilot must cost one time limit, its own rotors and nothing else, and be welcome back."""
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
            f"ArduPilot {mute} of 'iris' has not answered for 0.2 s; "
            "its rotors keep their last command for 0.05 s and then stop"
        ]
        deadline = time.monotonic() + 10.0
        while rig.backend.links[0].contact is not Contact.LOCKSTEP:
            assert time.monotonic() < deadline
            time.sleep(0.01)
            rig.step()
        assert "answers again" in caplog.records[-1].getMessage()
        rig.step()
        rig.steps_match(100)


@pytest.mark.parametrize(("trick", "status"), [("exit@40=7", "7"), ("kill@40", "-9")])
def test_a_program_that_ends(tmp_path, caplog, trick, status):
    """A dead ArduPilot must be reported at once with its last words, and take nobody along."""
    backend = launched(tmp_path / "ardupilot", "--pilot", "echo")
    backend.run_folder = tmp_path
    with Rig(backend, count=2) as rig:
        # The second copy's program is an ordinary one; the first misbehaves.
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
        assert f"ArduPilot {first} of 'iris' has ended with status {status}" in record.getMessage()
        assert trick.split("=")[0].replace("@", " ") in record.getMessage()


def test_a_program_that_ends_before_it_is_heard(tmp_path, caplog):
    """ArduPilot exits at once when it cannot have its ports: that must not look like a long start."""
    backend = launched(tmp_path / "ardupilot", "--no-such-option")
    with Rig(backend) as rig:
        deadline = time.monotonic() + 10.0
        while backend.links[0].contact is not Contact.ENDED:
            assert time.monotonic() < deadline
            assert (rig.step()[1] == 0.0).all()
    assert "unrecognized arguments: --no-such-option" in caplog.text


def test_start_up_keeps_to_real_time():
    """Before the first packet the simulation must neither stand still nor run away."""
    with Rig(remote()) as rig:
        began = time.monotonic()
        for _ in range(80):
            assert (rig.step()[1] == 0.0).all()
        took = time.monotonic() - began
        assert 80 / RATE <= took < 10 * 80 / RATE
        used = time.process_time()
        for _ in range(80):
            rig.step()
        assert time.process_time() - used < 0.5 * 80 / RATE
        rig.add_peer()
        rig.connect()
        rig.steps_match(20)


def test_a_long_wait_is_mentioned_once(monkeypatch, caplog):
    """Who waits for an ArduPilot that never comes must be told what the simulation waits for."""
    monkeypatch.setattr("pegasus.backends.mavlink.ardupilot._LONG_START", 0.05)
    with Rig(remote()) as rig:
        for _ in range(60):
            rig.step()
    (record,) = caplog.records
    assert "of 'iris' has sent nothing for 0.05 s; it is still waited for" in record.getMessage()


def test_stop_and_start_again(tmp_path):
    """A reset must end the program and begin with a new one, at the same ports."""
    with Rig(launched(tmp_path / "ardupilot", "--pilot", "echo")) as rig:
        rig.connect()
        rig.steps_match(20)
        instances, first = rig.backend.instances, rig.backend.processes[0].pid
        began = time.monotonic()
        rig.backend.stop()
        # SIGTERM is not heeded by the peer, as it is not by ArduPilot.
        assert time.monotonic() - began < 1.0
        rig.backend.stop()
        rig.backend.start()
        rig.step_count = 0
        rig.connect()
        assert rig.backend.instances == instances
        assert rig.backend.processes[0].pid != first
        rig.steps_match(20)


class Bare:
    """ArduPilot's end of the socket, in the test's own hands."""

    def __init__(self, instance):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(2.0)
        self.target = ("127.0.0.1", 9002 + 10 * instance)

    def send(self, count, pulse=1500):
        self.socket.sendto(struct.pack("<HHI16H", 18458, 400, count, *[pulse] * 16), self.target)

    def replies(self):
        found = [self.socket.recv(65536)]
        self.socket.setblocking(False)
        try:
            while True:
                found.append(self.socket.recv(65536))
        except BlockingIOError:
            self.socket.settimeout(2.0)
            return [json.loads(reply) for reply in found]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def test_one_reply_to_the_newest_packet():
    """Answering each of several waiting packets would leave as many frames of lag less one."""
    with Rig(remote()) as rig, Bare(rig.backend.instances[0]) as bare:
        for count in (5, 6, 7):
            bare.send(count)
        rig.publish()
        assert len(bare.replies()) == 1
        assert rig.backend.links[0].frame_count == 7
        rig.publish()
        bare.send(8, pulse=1700)
        np.testing.assert_allclose(rig.backend.command(rig.time), 800.0)


def test_the_reply_holds_the_imus_reading_and_the_truth():
    """ArduPilot must feel the noisy IMU, and make its own GPS from the true position."""
    with Rig(remote()) as rig, Bare(rig.backend.instances[0]) as bare:
        state = rig.vehicle.state
        state.velocity[0] = 1.0, 2.0, 3.0
        state.angular_velocity[0] = 9.0, 9.0, 9.0
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
    """ArduPilot aborts on NaN; who sent it must be told here."""
    with Rig(remote(), count=2) as rig, Bare(rig.backend.instances[1]) as bare:
        bare.send(0)
        rig.force[1, 1] = math.nan
        with pytest.raises(
            ConfigError, match="IMU reading of vehicle 'iris', copy 1, at t = 0 s: must be fin"
        ):
            rig.publish()


def test_outputs_of_the_vehicle_file():
    """A rotor on the wrong output, or at the wrong speed, cannot fly."""
    spec = Multirotor("iris").spec
    outputs = spec.ardupilot.model_copy(
        update={"channels": [17, 1, 2, 3], "scale": [100.0, 200.0, 300.0, 400.0], "offset": 0.0}
    )
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
