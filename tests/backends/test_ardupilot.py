"""ArduPilot in lockstep, against a peer that speaks its side over real sockets, and against the real one."""

import json
import logging
import math
import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends.mavlink import messages
from pegasus.backends.mavlink.ardupilot import ArduPilot
from pegasus.backends.mavlink.json_link import Contact
from pegasus.backends.mavlink.ports import first_free_instance
from pegasus.components import build
from pegasus.environment import Environment, Geodetic
from pegasus.sensors.imu import IMU, Accelerometer, Gyroscope, ImuReading
from pegasus.settings import user_settings

pytestmark = pytest.mark.usefixtures("nothing_left")
PEER = Path(__file__).with_name("ardupilot_peer.py")
RATE = 400.0
SLOW_LOOP = {"SCHED_LOOP_RATE": 200}
"""What lets ArduPilot fly with physics at RATE."""


def source_tree(folder, *options):
    """Make what looks like a built ArduPilot: its program is the peer with these options."""
    binary = folder / "build" / "sitl" / "bin" / "arducopter"
    defaults = folder / "Tools" / "autotest" / "default_params" / "copter.parm"
    for file in (binary, defaults):
        file.parent.mkdir(parents=True)
    words = " ".join(f"'{option}'" for option in options)
    binary.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{PEER}" {words} "$@"\n')
    binary.chmod(0o755)
    defaults.write_text("FRAME_TYPE 0\n")
    return folder


def free_instance(count=1):
    """Return the first of so many instance numbers in a row whose ports are free."""
    start = user_settings().ardupilot.instance
    return first_free_instance(
        lambda n: [
            place
            for shift in range(10 * n, 10 * (n + count), 10)
            for place in (("udp", 9002 + shift), ("tcp", 5760 + shift))
        ],
        start,
    )


def vehicle(**arguments):
    """Return an Iris that has joined a simulation in all that a backend looks at."""
    made = Multirotor("iris", **arguments)
    made.environment, made.physics_rate = Environment(), RATE
    return made


class Rig:
    """A backend whose vehicle's state is written by hand, step by step."""

    def __init__(self, backend, *, count=1):
        self.vehicle, self.backend, self.step_count = vehicle(count=count), backend, 0
        self.force = np.tile([0.0, 0.0, 9.81], (count, 1))
        backend.bind(self.vehicle)
        self.peers = []

    def __enter__(self):
        self.backend.start()
        return self

    def __exit__(self, *_):
        self.backend.stop()
        for peer in self.peers:
            peer.kill()
            peer.wait()

    def add_peer(self, *options, instance=None):
        """Start an ArduPilot that was not launched by the backend."""
        number = self.backend.instances[0] if instance is None else instance
        command = [sys.executable, str(PEER), "-I", str(number), "--pilot", "echo", *options]
        self.peers.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))

    def publish(self):
        """Move every copy to a place of its own, at this step only, and publish; return the places in mm."""
        k, count, state = self.step_count, self.vehicle.count, self.vehicle.state
        place = 100 + (7 * k + 300 * np.arange(count)[:, None] + np.array([0, 211, 419])) % 800
        north, east, down = place.T / 1000.0
        state.position[:, 0], state.position[:, 1], state.position[:, 2] = east, north, -down
        reading = ImuReading(self.time, np.zeros((count, 3)), self.force)
        self.backend.publish(self.time, state, {"imu": reading})
        return place

    def step(self):
        """Return what the peers must answer at this step, and what the backend commands."""
        place = self.publish()
        command = self.backend.command(self.time)
        self.step_count += 1
        # The Iris turns a pulse width into 1000 u + 100 rad/s, and the echo is 1000 us and the millimetres.
        expected = np.concatenate([place + 100.0, np.full((self.vehicle.count, 1), 600.0)], axis=1)
        return expected, command

    def connect(self):
        """Step until all instances are in lockstep, and once more."""
        deadline = time.monotonic() + 10.0
        while any(link.contact is Contact.ABSENT for link in self.backend.links):
            assert time.monotonic() < deadline, "no peer came"
            self.step()
        self.step()

    def steps_match(self, count, copies=slice(None)):
        """Assert that for some steps the commands are the answers to the states of the same steps."""
        for _ in range(count):
            expected, command = self.step()
            np.testing.assert_allclose(command[copies], expected[copies], rtol=0, atol=1e-9)

    @property
    def time(self):
        return self.step_count / RATE


def remote(**options):
    return ArduPilot(launch=False, **{"parameters": SLOW_LOOP, "step_timeout": 5.0, **options})


def launched(folder, *options, **arguments):
    return ArduPilot(source_tree(folder, *options), **{"parameters": SLOW_LOOP, **arguments})


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
    """Such a packet gets a second reply; the lag of it must not last."""
    with Rig(remote()) as rig:
        rig.add_peer("--do", "again@30=0.6")
        rig.connect()
        wrong = 0
        for _ in range(60):
            expected, command = rig.step()
            wrong += not np.allclose(command, expected)
        assert wrong <= 2
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


def test_what_the_program_is_started_with(tmp_path):
    """A missing option costs a flight: no packet without --serial0, a plus frame without the parameters."""
    number = free_instance(2)
    backend = ArduPilot(
        source_tree(tmp_path / "ardupilot"),
        instance=number,
        parameters={"SCHED_LOOP_RATE": 200, "EK3_YAW_M_NSE": 0.05},
        parameter_files=(tmp_path / "more.parm",),
        speedup=2,
    )
    (tmp_path / "more.parm").write_text("# mine\nSCHED_LOOP_RATE 400\nGPS1_TYPE,100 @READONLY\n\n")
    backend.run_folder = tmp_path / "run"
    made = vehicle(count=2, heading=[0.0, math.pi])
    made.environment = Environment(origin=Geodetic(38.5, -9.25, 91.0))
    backend.bind(made)
    backend.start()
    arguments = [process.arguments for process in backend.processes]
    backend.stop()
    folder, defaults = tmp_path / "ardupilot", "Tools/autotest/default_params/copter.parm"
    assert arguments == [
        [
            *(f"{folder}/build/sitl/bin/arducopter", "--model", "JSON:127.0.0.1", "--speedup", "2"),
            *("-I", str(number + i), "--sysid", str(number + 1 + i)),
            *("--home", f"38.500000000,-9.250000000,91.000,{heading}"),
            *("--defaults", f"{folder}/{defaults},{tmp_path}/more.parm,own.parm", "--serial0", "tcp:0", "-w"),
        ]
        for i, heading in enumerate(["90.000", "270.000"])
    ]
    for i in range(2):
        own = (tmp_path / "run" / f"ardupilot_{number + i}" / "own.parm").read_text()
        assert own.splitlines() == [
            "SERIAL5_PROTOCOL 2",
            "FRAME_CLASS 1",
            "FRAME_TYPE 1",
            "SCHED_LOOP_RATE 200",
            "EK3_YAW_M_NSE 0.05",
        ]


def test_parameters_are_kept_only_where_asked(tmp_path):
    """Parameters of an earlier flight must not haunt the next one, unless the user named their folder."""
    kept = launched(tmp_path / "ardupilot", working_directory=tmp_path / "kept")
    kept.bind(vehicle())
    kept.start()
    assert "-w" not in kept.processes[0].arguments
    kept.stop()
    assert (tmp_path / "kept" / f"ardupilot_{kept.instances[0]}" / "ardupilot.log").is_file()
    passing = ArduPilot(tmp_path / "ardupilot", parameters=SLOW_LOOP)
    passing.bind(vehicle())
    passing.start()
    folder = passing.processes[0].directory
    assert folder.is_dir()
    passing.stop()
    assert not folder.parent.exists()


def test_a_working_directory_that_cannot_be_written(tmp_path):
    """Such a folder must be named before any program runs in it."""
    (tmp_path / "file").write_text("")
    backend = launched(tmp_path / "ardupilot", working_directory=tmp_path / "file")
    backend.bind(vehicle())
    with pytest.raises(
        ConfigError, match=r"working_directory = '.*file/ardupilot_.*': cannot be written: Not"
    ):
        backend.start()
    backend.stop()
    assert backend.processes == []


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


def test_the_yaml_form():
    """A scenario file must be able to say all of it."""
    spec = {"model": "ardupilot", "directory": "~/ardupilot", "instance": 3, "parameters": {"GPS1_TYPE": 100}}
    backend = build(ArduPilot, {"ardupilot": ArduPilot}, spec, field="backends.0")
    assert (backend.directory, backend.instance, backend.parameters) == ("~/ardupilot", 3, {"GPS1_TYPE": 100})
    with pytest.raises(ConfigError, match=r"backends.0.instance = 250: must be from 0 to 249"):
        build(ArduPilot, {"ardupilot": ArduPilot}, {**spec, "instance": 250}, field="backends.0")


def refused(backend, **changes):
    made = vehicle(**{name: value for name, value in changes.items() if name != "physics_rate"})
    made.physics_rate = changes.get("physics_rate", 1000.0)
    backend.bind(made)


@pytest.mark.parametrize(
    ("options", "changes", "message"),
    [
        (
            {"directory": "nowhere"},
            {},
            "directory = 'nowhere': no such directory; set .* directory, ardupilot.dir",
        ),
        (
            {"directory": None},
            {},
            "ardupilot not found; set the backend's option directory, ardupilot.directory",
        ),
        (
            {"directory": "."},
            {},
            r"directory = .*: holds no build/sitl/bin/arducopter; build it there: ./waf",
        ),
        (
            {"launch": False},
            {"physics_rate": 719.0},
            "rate = 719.0: ArduPilot, whose main loop runs at 400 Hz, does not arm with physics below 720 "
            "Hz; raise it, or set ArduPilot's parameter SCHED_LOOP_RATE to 399 or less",
        ),
        (
            {"launch": False, "parameters": {"SCHED_LOOP_RATE": 500}},
            {"physics_rate": 720.0},
            "whose main loop runs at 500 Hz, does not arm with physics below 900 Hz",
        ),
        ({"launch": False}, {"physics_rate": 80.0}, "does not arm with physics below 720 Hz; raise it$"),
        ({"launch": False}, {"sensors": {}}, r"sensors = \[\]: ArduPilot needs an IMU; add one"),
        (
            {"launch": False, "parameters": {"frame class": 1}},
            {},
            "parameters = 'frame class': must be up to 16",
        ),
        (
            {"launch": False, "parameters": {"GPS1_TYPE": math.nan}},
            {},
            "parameters.GPS1_TYPE = nan: must be fin",
        ),
        (
            {"launch": False, "parameter_files": ("no.parm",)},
            {},
            "parameter_files = 'no.parm': cannot be read: No",
        ),
        (
            {"launch": False, "instance": 249},
            {"count": 2},
            "instance = 249: with 2 vehicles must be at most 248",
        ),
        ({"launch": False, "address": "192.0.2.1"}, {}, "host = '192.0.2.1': is no address of this machine"),
    ],
)
def test_bad_input_fails_at_the_door(options, changes, message, tmp_path, monkeypatch):
    """Each of these would otherwise fail in the middle of a start, or not fly."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message) as raised:
        refused(ArduPilot(**options), **changes)
    assert "\n" not in str(raised.value)


def test_a_parameter_file_that_is_none(tmp_path):
    """A line that ArduPilot would pass over in silence must be named."""
    file = tmp_path / "bad.parm"
    file.write_text("FRAME_CLASS 1\nGPS1_TYPE\n")
    with pytest.raises(ConfigError, match=r"bad.parm: line 2 = 'GPS1_TYPE': must be NAME VALUE"):
        refused(ArduPilot(launch=False, parameter_files=(file,)))


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ({"channels": [0, 1, 2]}, r"ardupilot.channels = \[0, 1, 2\]: must hold one item for each of the 4"),
        ({"offset": [1.0]}, r"ardupilot.offset = \[1.0\]: must hold one item for each of the 4 rotors"),
    ],
)
def test_outputs_that_do_not_fit(outputs, message):
    """A list that is too short must be named, or a rotor would turn by another one's figures."""
    spec = Multirotor("iris").spec
    changed = spec.model_copy(update={"ardupilot": spec.ardupilot.model_copy(update=outputs)})
    made = Multirotor(changed)
    made.environment, made.physics_rate = Environment(), RATE
    with pytest.raises(ConfigError, match=message):
        remote().bind(made)


@pytest.mark.parametrize(
    ("name", "value"),
    [("instance", -1), ("step_timeout", 0.0), ("hold_time", -1.0), ("speedup", math.inf)],
)
def test_bad_options(name, value):
    """An option out of its range must be refused when it is given."""
    with pytest.raises(ConfigError, match=f"{name} = {value}: must"):
        ArduPilot(**{name: value})


def test_two_vehicles_with_the_same_instance():
    """Two simulated vehicles at one port would fly each other's ArduPilot; the holder must be named."""
    first = remote()
    first.bind(vehicle())
    number = first.instances[0]
    second = remote(instance=number)
    port = 9002 + 10 * number
    with pytest.raises(ConfigError, match=rf"UDP port = {port}: in use.*choose another instance"):
        second.bind(vehicle())
    third = remote()
    third.bind(vehicle())
    assert third.instances[0] != number
    for backend in (first, third):
        backend.stop()


def test_the_instance_of_the_settings(own_settings):
    """Ports come from the option, else they are the first free ones from the user's settings on."""
    number = free_instance(8)
    (own_settings / "settings.yaml").write_text(f"ardupilot: {{instance: {number}}}\n")
    for backend, first in ((remote(), number), (remote(instance=number + 5), number + 5)):
        backend.bind(vehicle(count=2))
        assert backend.instances == range(first, first + 2)
        backend.stop()


def test_a_mavlink_port_in_use(tmp_path):
    """ArduPilot exits when its MAVLink port is taken: better to say so, and by whom, before."""
    number = free_instance()
    backend, port = launched(tmp_path / "ardupilot", instance=number), 5760 + 10 * number
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", port))
        taken.listen()
        with pytest.raises(ConfigError, match=f"TCP port = {port}: in use"):
            backend.bind(vehicle())


def test_vehicles_of_one_file_get_parameters_of_their_own():
    """A default shared between backends would carry one vehicle's parameters to another."""
    first, second = ArduPilot(), ArduPilot()
    first.parameters["GPS1_TYPE"] = 100
    assert second.parameters == {}


def phases(log):
    """Return when each phase of a peer's flight began, by name; `square` is the list of its corners."""
    found = {}
    for line in log.read_text().splitlines():
        if line.startswith("phase "):
            _, name, t = line.split()
            found.setdefault(name, []).append(float(t))
    return found


def test_a_flight_of_two_launched_instances(tmp_path):
    """Take-off, hover, square and landing, by two programs at once that know the JSON alone."""
    backend = launched(tmp_path / "ardupilot", hold_time=0.1)
    backend.run_folder = tmp_path / "run"
    times, places = [], []
    with Simulation("flat", rate=RATE, seed=2) as sim:
        iris = sim.add(Multirotor("iris", count=2, heading=[0.0, 2.0], backends=[backend]))
        start = iris.start_position.copy()
        for t in sim.stepping(40.0):
            times.append(t)
            places.append(iris.state.position - start)
            if sim.step_count % 400 == 0 and all(
                "landed" in phases(process.log) for process in backend.processes
            ):
                break
        assert [link.contact for link in backend.links] == [Contact.LOCKSTEP] * 2
        assert (iris.state.rotor_speed < 20.0).all()
    times, places = np.array(times), np.array(places)
    for i, process in enumerate(backend.processes):
        begins = phases(process.log)
        place = places[:, i]
        hover = place[(times >= begins["hover"][0] + 0.5) & (times < begins["square"][0])]
        assert np.abs(hover - [0.0, 0.0, 5.0]).max() < 0.2
        ends = [*begins["square"][1:], *begins["land"]]
        for t, corner in zip(ends, [(0, 5), (5, 5), (5, 0), (0, 0)], strict=True):
            assert np.abs(place[np.searchsorted(times, t)] - [*corner, 5.0]).max() < 0.5
        assert np.abs(place[-1]).max() < 0.2


class GroundStation:
    """What is needed of MAVLink to fly the real ArduPilot in guided mode."""

    guided, armed = 4, 128

    def __init__(self, instance):
        self.system, self.sequence = instance + 1, 0
        self.decoder, self.heartbeat = messages.Decoder(), messages.Heartbeat()
        self.socket = socket.create_connection(("127.0.0.1", 5760 + 10 * instance), timeout=5.0)
        self.socket.setblocking(False)

    def command(self, number, **parameters):
        self.send(
            messages.CommandLong(command=number, target_system=self.system, target_component=1, **parameters)
        )

    def send(self, message):
        self.sequence += 1
        self.socket.sendall(messages.encode(message, sequence=self.sequence, system=255, component=190))

    def go_to(self, north, east, down):
        """Send SET_POSITION_TARGET_LOCAL_NED with positions only (message 84, CRC_EXTRA 143)."""
        self.sequence += 1
        payload = struct.pack("<I11fHBBB", 0, north, east, down, *[0.0] * 8, 0xDF8, self.system, 1, 1)
        header = struct.pack("<BBBBBBBHB", 0xFD, len(payload), 0, 0, self.sequence & 255, 255, 190, 84, 0)
        check = messages.checksum(header[1:] + payload + bytes([143]))
        self.socket.sendall(header + payload + check)

    def poll(self):
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return
        for message in self.decoder.feed(data):
            if isinstance(message, messages.Heartbeat) and message.autopilot == 3:
                self.heartbeat = message


class Mission:
    """Arm, take off to 5 m, hover, fly a square, land.

    `fly` is to be asked for its next item every half second of the flight until it has none.
    """

    def __init__(self, station, iris, copy):
        self.station, self.hover, self.corners = station, [], []
        self._position, self._start = iris.state.position[copy], iris.state.position[copy].copy()

    def place(self):
        return self._position - self._start

    def fly(self):
        station = self.station
        while not station.heartbeat.base_mode & station.armed:
            if station.heartbeat.custom_mode != station.guided:
                station.command(176, param1=1.0, param2=float(station.guided))
            else:
                station.command(400, param1=1.0)
            yield
        station.command(22, param7=5.0)
        yield from self.wait(14.0)
        for _ in range(10):
            self.hover.append(self.place())
            yield
        for north, east in ((5, 0), (5, 5), (0, 5), (0, 0)):
            station.go_to(north, east, -5)
            yield from self.wait(8.0)
            self.corners.append(self.place() - [east, north, 5.0])
        station.command(21)
        while station.heartbeat.base_mode & station.armed:
            yield

    def wait(self, duration):
        for _ in range(int(2 * duration)):
            yield


@pytest.mark.ardupilot
@pytest.mark.skipif("ARDUPILOT_DIR" not in os.environ, reason="ARDUPILOT_DIR names no built ArduPilot")
@pytest.mark.parametrize(
    ("rate", "parameters", "count"), [(1000.0, {}, 1), (400.0, SLOW_LOOP, 2)], ids=["1 kHz", "two"]
)
def test_a_flight_of_the_real_ardupilot(rate, parameters, count, tmp_path):
    """What the peer believes of ArduPilot may be wrong: the real one must fly as well."""
    # A GPS that needs no search, and a compass that is trusted, halve the time until it arms.
    quick = {"GPS1_TYPE": 100, "EK3_YAW_M_NSE": 0.05, **parameters}
    # A biased accelerometer shifts the height that it keeps by some decimetres: the white noise is enough.
    steady = {"turn_on_bias": 0.0, "bias_random_walk": 0.0}
    imu = IMU(gyroscope=Gyroscope(**steady), accelerometer=Accelerometer(**steady))
    backend = ArduPilot(REAL, parameters=quick)
    backend.run_folder = tmp_path
    with Simulation("flat", rate=rate, seed=3) as sim:
        iris = sim.add(Multirotor("iris", count=count, backends=[backend], sensors={"imu": imu}))
        missions, ended = [], set()
        for _ in sim.stepping(150.0):
            if sim.step_count % round(rate / 2):
                continue
            if not missions and all(link.contact is Contact.LOCKSTEP for link in backend.links):
                made = [Mission(GroundStation(n), iris, i) for i, n in enumerate(backend.instances)]
                missions = [(mission, mission.fly()) for mission in made]
            for mission, flight in missions:
                mission.station.poll()
                if next(flight, "ended") == "ended":
                    ended.add(mission)
            if len(ended) == count:
                break
        for mission, _ in missions:
            mission.station.socket.close()
        exchanged = [link.frame_count for link in backend.links]
        assert len(ended) == count
    # One frame for each step, but for those before the first packet.
    assert all(sim.step_count - frames < 3 * rate for frames in exchanged)
    for mission in ended:
        assert np.abs(np.array(mission.hover) - [0.0, 0.0, 5.0]).max() < 0.2
        assert np.abs(np.array(mission.corners)).max() < 0.4
        assert np.abs(mission.place()[2]) < 0.1


REAL = os.environ.get("ARDUPILOT_DIR")
