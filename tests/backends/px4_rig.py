"""Test rigs of PX4: a source tree whose program is the peer, a vehicle, and observers."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pegasus
from pegasus import Backend, ConfigError, Multirotor, Simulation
from pegasus.backends.mavlink.messages import Decoder, encode, make_message
from pegasus.backends.mavlink.ports import first_free_instance
from pegasus.config.settings import user_settings
from pegasus.sensors import GPS, IMU, Barometer, Magnetometer
from pegasus.sensors.imu import Accelerometer, Gyroscope
from tests.waits import LIMIT

PEER = Path(__file__).with_name("px4_peer.py")
_SCRIPT = """\
#!/bin/sh
# Started as ETC -s SCRIPT -i N -d; the options of instance N, else those of all.
env > environment
options="{folder}/options"
[ -f "$options.$5" ] && options="$options.$5"
export PYTHONPATH="{package}"
exec "{python}" "{peer}" $(cat "$options") "$@"
"""


class PX4Tree:
    """A folder like a built PX4-Autopilot whose program is the peer.

    Args:
        folder: Folder to make.
        airframes: Airframes in it.
    """

    def __init__(self, folder, airframes=("10016_none_iris", "6011_gazebo-classic_typhoon_h480")):
        self.folder, build = folder, folder / "build" / "px4_sitl_default"
        (build / "bin").mkdir(parents=True)
        known = build / "etc" / "init.d-posix" / "airframes"
        known.mkdir(parents=True)
        for name in airframes:
            (known / name).touch()
        self.binary = build / "bin" / "px4"
        package = Path(pegasus.__file__).parents[1]
        self.binary.write_text(
            _SCRIPT.format(folder=folder, package=package, python=sys.executable, peer=PEER)
        )
        self.binary.chmod(0o755)
        self.say("")

    def say(self, options, instance=None):
        """Set the options of the peer, separated by spaces, for all instances or for one."""
        name = "options" if instance is None else f"options.{instance}"
        (self.folder / name).write_text(options)


def sensors():
    """Return the sensors of the Iris without drifts of metres, which would hide errors."""
    # Biases are those after a calibration, as in the vehicle's file.
    imu = IMU(gyroscope=Gyroscope(turn_on_bias=0.002), accelerometer=Accelerometer(turn_on_bias=0.03))
    gps = GPS(position_error_sigma=(0.0, 0.0, 0.0), startup_delay=0.0, initial_accuracy=1.0, eph=0.3, epv=0.4)
    return {"imu": imu, "magnetometer": Magnetometer(), "barometer": Barometer(drift_sigma=0.0), "gps": gps}


def iris(backend, *others, **options):
    """Return an Iris with a backend."""
    return Multirotor("iris", backends=[backend, *others], **({"sensors": sensors()} | options))


def free_instance(count=1):
    """Return the first of a number of consecutive instances whose ports are free."""
    start = user_settings().px4.instance or 0
    return first_free_instance(lambda n: [("tcp", 4560 + n + i) for i in range(count)], start)


def phases(log):
    """Return the times [s] at which a peer reached each phase, the last one each, from its log."""
    times = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        name, *rest = line.split()
        with contextlib.suppress(ValueError, IndexError):
            times[name] = float(rest[0])
    return times


class Recorder(Backend):
    """Record every step, as a backend of one vehicle and as an observer of the simulation."""

    def __init__(self):
        self.t, self.position, self.imu, self.command, self.wall = [], [], [], [], []

    def bind(self, vehicle):
        """Store the vehicle."""
        self.vehicle = vehicle

    def start(self, simulation=None):
        """Begin, as a backend and as an observer."""

    def publish(self, t, state, readings):
        """Record time, wall time, positions and IMU samples."""
        self.t.append(t)
        self.wall.append(time.monotonic())
        self.position.append(state.position.copy())
        self.imu.append(readings.get("imu"))

    def record(self, simulation):
        """Record the motor commands."""
        self.command.append(self.vehicle.rotor_command.copy())

    def between(self, start, end):
        """Return the positions between two times."""
        t = np.array(self.t)
        return np.array(self.position)[(t > start) & (t < end)]


class Elsewhere:
    """Peer that is not started by a backend; it runs while the context is entered.

    Args:
        folder: Folder in its command line, by which a remaining process is found.
        instance: Number of the instance.
        options: Options of the peer.
    """

    def __init__(self, folder, instance, *options):
        command = [sys.executable, str(PEER), str(folder), "-i", str(instance), *options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(LIMIT)


class Answerer(Backend):
    """Autopilot in the test's process that reads HIL messages and answers by a function.

    Args:
        connect: Called with that backend's vehicle; returns a connected socket, or a stand-in.
        answer: Called with a HIL_SENSOR and its number; returns the bytes to send.
    """

    def __init__(self, connect, answer):
        self._connect, self._answer = connect, answer
        self.messages, self.frames, self._link = [], b"", None

    def bind(self, vehicle):
        """Connect."""
        self.messages.clear()
        self._link = self._connect(vehicle)
        self._link.settimeout(LIMIT)
        self._decoder = Decoder()

    def publish(self, t, state, readings):
        """Answer, if there is something to answer."""
        if "imu" not in readings or self._link is None:
            return
        came = []
        while not (samples := [message for message in came if message.msgname == "HIL_SENSOR"]):
            data = self._link.recv(65536)
            self.frames += data
            came += self._decoder.feed(data)
        self.messages += came
        if answer := self._answer(samples[-1], len(self.sensors)):
            self._link.sendall(answer)

    def stop(self):
        """End the connection."""
        if self._link is not None:
            self._link.close()
            self._link = None

    @property
    def sensors(self):
        """The HIL_SENSOR messages so far."""
        return [message for message in self.messages if message.msgname == "HIL_SENSOR"]


def call(vehicle, *, copy=0):
    """Connect to the port at which the first backend of a vehicle listens for the autopilot of a copy."""
    number = vehicle.backends[0].first_instance + copy
    return socket.create_connection(("127.0.0.1", 4560 + number), LIMIT)


def datagrams(receiver):
    """Return the datagrams that wait in a socket, with their senders."""
    found = []
    with contextlib.suppress(BlockingIOError):
        while True:
            found.append(receiver.recvfrom(65536))
    return found


def controls(message, *outputs, mode=129, flags=1):
    """Return the answer to a HIL_SENSOR, as bytes."""
    filled = (*outputs, *[0.0] * (16 - len(outputs)))
    return encode(
        make_message(
            "HIL_ACTUATOR_CONTROLS", time_usec=message.time_usec, flags=flags, controls=filled, mode=mode
        ),
        sequence=0,
        component=1,
    )


def distance(positions, place):
    """Return the distances to a point [m]."""
    return np.sqrt(((positions - np.asarray(place)) ** 2).sum(axis=-1))


def fly_until(simulation, condition, limit=60.0):
    """Run until a condition holds, tested every tenth step; fail after a limit of simulated time [s]."""
    for _ in simulation.stepping(limit):
        if simulation.step_count % 10 == 0 and condition():
            return
    pytest.fail("not within the limit")


def says(backend, phase, copy=0):
    """Return whether a peer started by a backend has reached a phase."""
    return phase in phases(backend.run_folder / f"px4_{backend.first_instance + copy}.log")


def processes(folder):
    """Return the command lines of the processes that name a folder, or are children of this one."""
    command = ["ps", "-axo", "ppid=,command="]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    found = [line.split(maxsplit=1) for line in listing]
    return sorted(
        line
        for parent, line in found
        if (str(folder) in line or parent == str(os.getpid())) and not line.startswith("ps -axo")
    )


def open_files():
    """Return the open files of this process, sockets with their ports; nothing if they are not visible."""
    if sys.platform != "linux":
        return []
    targets = []
    for file in Path("/proc/self/fd").iterdir():
        try:
            targets.append(str(file.readlink()))
        except FileNotFoundError:
            # The descriptor through which the folder itself was read.
            continue
    return sorted(targets)


def refused(backend, duration=None, **options):
    """Return the error of a backend when it is added; with a duration, when it is added and run."""
    with Simulation() as simulation:
        if duration is not None:
            simulation.add(iris(backend, **options))
        with pytest.raises(ConfigError) as caught:
            simulation.run(duration) if duration is not None else simulation.add(iris(backend, **options))
        assert len(simulation.vehicles) == (duration is not None)
    message = str(caught.value)
    assert "\n" not in message
    return message


def started_with(backend):
    """Return the environment variables that the first PX4 of a backend was started with."""
    with Simulation() as simulation:
        simulation.add(iris(backend))
        simulation.step()
        text = (backend.run_folder / f"px4_{backend.first_instance}" / "environment").read_text()
    return dict(line.split("=", 1) for line in text.splitlines())
