"""Tests of foreign PX4s and programs at the ports: they never fly the vehicle, and the user is told."""

import logging
import os
import socket
import subprocess
import sys
from contextlib import closing

import numpy as np
import pytest
import yaml
from px4_rig import Answerer, Elsewhere, call, controls, datagrams, free_instance, iris, refused

from pegasus import Simulation
from pegasus.backends import PX4
from pegasus.backends.mavlink.messages import Decoder
from pegasus.backends.mavlink.ports import bind_udp
from pegasus.cli.main import main
from tests.waits import LIMIT

pytestmark = pytest.mark.usefixtures("nothing_left")
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has connected")
OURS = "--controller none --outputs 0.3,0.3,0.3,0.3"


@pytest.fixture
def command_sockets(tmp_path, monkeypatch):
    """Return a function that gives the command socket of an instance, in a folder of the test."""
    template = str(tmp_path / "px4-sock-{}")
    monkeypatch.setattr("pegasus.backends.px4.program._COMMAND_SOCKET", template)
    return template.format


def warnings(caplog):
    """Return the logged warnings."""
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


@ON_LINUX
def test_a_stranger_does_not_fly_the_vehicle(px4, caplog):
    """A waiting PX4 would be armed and flown in place of the launched one."""
    backend = px4(OURS)
    with Simulation() as simulation:
        vehicle = simulation.add(iris(backend))
        number = backend.first_instance
        with closing(call(vehicle)) as stranger:
            simulation.run(0.3)
            assert backend.armed == [True]
            np.testing.assert_allclose(vehicle.rotor_command, 260.9, rtol=1e-6)
            # Its connection is closed, and it has received nothing.
            assert stranger.recv(1) == b""
        assert simulation.time > 0.2
    assert warnings(caplog) == [
        f"PX4 {number}: rejected the connection of this process (pid {os.getpid()}), which this run has not "
        "started; end it, or choose another instance"
    ]


@ON_LINUX
def test_strangers_that_try_again_and_again(px4, caplog):
    """Repeated foreign connections would fill the log, be misnamed, or be accepted in the end."""
    backend = px4(OURS + " --fault exit@100")
    with Simulation() as simulation:
        vehicle = simulation.add(iris(backend, position=(0.0, 0.0, 0.1)))
        caller = [sys.executable, "-c", CALLER, str(4560 + backend.first_instance)]
        with subprocess.Popen(caller, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
            other.stdout.readline()
            simulation.run(1.0)
            assert backend.armed == [False]
            np.testing.assert_array_equal(vehicle.rotor_command, 0.0)
            refusals = int(other.communicate("\n", timeout=LIMIT)[0])
    assert refusals >= 1
    named = [line for line in warnings(caplog) if "rejected the connection" in line]
    assert len(named) == 1
    assert f"(pid {other.pid})" in named[0]


CALLER = """
import socket, sys, threading

over = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), over.set()), daemon=True).start()
refusals = 0
while not over.is_set():
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as link:
        if refusals == 0:
            print("called", flush=True)
        link.settimeout(0.05)
        while not over.is_set():
            try:
                assert link.recv(1) == b""
            except TimeoutError:
                continue
            except ConnectionResetError:
                pass
            refusals += 1
            break
print(refusals)
"""


@ON_LINUX
@pytest.mark.parametrize("known", [True, False])
def test_ours_does_not_start_beside_a_stranger(tree, known):
    """The run would continue with a foreign PX4, and end with exit code 0."""
    tree.binary.write_text("#!/bin/sh\necho PX4 server already running for instance $5; exit 255\n")
    backend = PX4(tree.folder, instance=free_instance() if known else None)
    with Simulation() as simulation:
        vehicle = simulation.add(iris(backend))
        with closing(call(vehicle)), pytest.raises(ValueError, match="has ended with status 255") as caught:
            simulation.run(1.0)
    assert f"PX4 server already running for instance {backend.first_instance}" in str(caught.value)


def test_one_that_ends_before_it_flies(px4):
    """A PX4 that fails after it has connected would only cause a warning."""
    message = refused(px4(OURS + " --fault exit@5:3"), 1.0)
    assert "has ended with status 3; its last words: " in message


def test_the_exit_code_of_the_command(tree, tmp_path, monkeypatch, capsys):
    """A run whose PX4 has ended at the start would exit with the code of success."""
    tree.binary.write_text("#!/bin/sh\necho no such model; exit 255\n")
    backend = {"model": "px4", "directory": str(tree.folder)}
    vehicles = [{"model": "iris", "backends": [backend]}]
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(
        yaml.safe_dump({"name": "start", "world": "flat", "duration": 1.0, "vehicles": vehicles})
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["pegasus", "run", str(scenario)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 3
    assert "has ended with status 255; its last words: no such model" in capsys.readouterr().err


def test_a_px4_that_listens_for_commands(px4, command_sockets):
    """A PX4 without a port yet would not be noticed: the launched one would end, or the other fly."""
    number = free_instance()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(command_sockets(number))
        server.listen()
        message = refused(px4(OURS, instance=number))
        name = f"this process (pid {os.getpid()})" if sys.platform == "linux" else "another process"
        assert message == (
            f"instance = {number}: a PX4 of this number is already running: {name}; "
            "end it, or choose another instance"
        )
        with Simulation() as simulation:
            backend = px4(OURS)
            simulation.add(iris(backend))
            assert backend.first_instance > number


def test_what_a_killed_px4_leaves(px4, command_sockets):
    """An instance would stay occupied after its PX4 was killed."""
    number = free_instance()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(command_sockets(number))
        server.listen()
    with Simulation() as simulation:
        backend = px4(OURS)
        vehicle = simulation.add(iris(backend))
        assert backend.first_instance == number
        simulation.run(0.2)
        np.testing.assert_allclose(vehicle.rotor_command, 260.9, rtol=1e-6)


@pytest.mark.parametrize("first", [13030, 14280, 14580, 18570])
def test_a_udp_port_that_is_in_use(px4, first):
    """An occupied UDP port would be reported in PX4's log alone."""
    number = free_instance()
    with bind_udp("127.0.0.1", first + number):
        message = refused(px4(OURS, instance=number))
        assert message.startswith(f"UDP port = {first + number}: in use")
        assert message.endswith("; end that process, or choose another instance")
        if sys.platform == "linux":
            assert f"this process (pid {os.getpid()})" in message


def test_a_px4_elsewhere_holds_its_own_ports(tmp_path):
    """A PX4 started by the user would be rejected because of the ports that it uses itself."""
    number = free_instance()
    elsewhere = Elsewhere(tmp_path, number, *OURS.split())
    with elsewhere, bind_udp("127.0.0.1", 18570 + number), Simulation() as simulation:
        backend = PX4(launch=False, instance=number)
        simulation.add(iris(backend))
        simulation.run(0.2)
        assert backend.armed == [True]


def test_the_offboard_port_is_left_to_others():
    """MAVSDK at 14540 + N would get nothing: PX4 answers only the first sender at its port 14580 + N.

    For the same reason set-points and requests must come from one socket: otherwise no estimate of PX4
    arrives.
    """
    backend = PX4(launch=False, trajectory=[{"takeoff": {"height": 1.0}}, "land"])

    def answer(message, _):
        return controls(message, *[0.5] * 4)

    with Simulation() as simulation:
        simulation.add(iris(backend, Answerer(call, answer)))
        number = backend.first_instance
        with (
            bind_udp("127.0.0.1", 14280 + number) as payload,
            bind_udp("127.0.0.1", 14580 + number) as offboard,
        ):
            simulation.run(1.5)
            assert datagrams(offboard) == []
            came = datagrams(payload)
    decoder = Decoder()
    messages = [message for data, _ in came for message in decoder.feed(data)]
    kinds = {(message.msgname, getattr(message, "command", None)) for message in messages}
    assert len({sender for _, sender in came}) == 1
    assert {("HEARTBEAT", None), ("COMMAND_LONG", 511), ("COMMAND_LONG", 176)} <= kinds
    assert ("SET_POSITION_TARGET_LOCAL_NED", None) in kinds


def test_armed_before_the_first_step(px4):
    """Reading `armed[i]` before the first step would raise an IndexError."""
    backend = px4(OURS)
    with Simulation() as simulation:
        simulation.add(iris(backend, count=2))
        assert backend.armed == [False, False]
        simulation.run(0.2)
        assert backend.armed == [True, True]
        simulation.stop()
        assert backend.armed == [False, False]
