"""Test rigs of ArduPilot: a source tree whose program is the peer, and a backend with a prescribed state."""

import json
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from pegasus import Multirotor
from pegasus.backends.ardupilot.ardupilot import ArduPilot
from pegasus.backends.ardupilot.lockstep import Contact
from pegasus.backends.mavlink.ports import first_free_instance
from pegasus.config.settings import user_settings
from pegasus.environment import Environment
from pegasus.sensors.imu import ImuReading
from tests.waits import LIMIT

PEER = Path(__file__).with_name("ardupilot_peer.py")
RATE = 400.0
SLOW_LOOP = {"SCHED_LOOP_RATE": 200}
"""What lets ArduPilot fly with physics at RATE."""


def source_tree(folder, *options):
    """Make a folder like a built ArduPilot whose program is the peer with these options."""
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
    """Return the first of a number of consecutive instances whose ports are free."""
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
    """Return an Iris with all the links to a simulation that a backend uses."""
    made = Multirotor("iris", **arguments)
    made.environment, made.physics_rate = Environment(), RATE
    return made


class Rig:
    """A backend whose vehicle's state is set directly, step by step."""

    def __init__(self, backend, *, count=1):
        self.vehicle, self.backend, self.step_count = vehicle(count=count, backends=[backend]), backend, 0
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
        """Move each copy to a different position at this step, and publish; return the positions in mm."""
        k, count, state = self.step_count, self.vehicle.count, self.vehicle.state
        place = 100 + (7 * k + 300 * np.arange(count)[:, None] + np.array([0, 211, 419])) % 800
        north, east, down = place.T / 1000.0
        self.vehicle.columns["position"].T[...] = east, north, -down
        reading = ImuReading(self.time, np.zeros((count, 3)), self.force)
        self.backend.publish(self.time, state, {"imu": reading})
        return place

    def step(self):
        """Return the answers expected from the peers at this step, and the backend's commands."""
        place = self.publish()
        command = self.backend.command(self.time)
        self.step_count += 1
        # The Iris converts a pulse width to 653 u + 65 rad/s; the echo is 1000 us plus the millimetres.
        expected = np.concatenate([0.653 * place + 65.0, np.full((self.vehicle.count, 1), 391.5)], axis=1)
        return expected, command

    def connect(self):
        """Step until all instances are in lockstep, and then once more."""
        deadline = time.monotonic() + LIMIT
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


class Bare:
    """ArduPilot's end of the socket, controlled by the test."""

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


def remote(**options):
    return ArduPilot(launch=False, **{"parameters": SLOW_LOOP, "step_timeout": 5.0, **options})


def launched(folder, *options, **arguments):
    return ArduPilot(source_tree(folder, *options), **{"parameters": SLOW_LOOP, **arguments})
