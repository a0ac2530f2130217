"""Cost of the lockstep with autopilots, beside a minimal simulator: python benchmarks/lockstep.py [SECONDS].

Peers answer at once in place of PX4 and ArduPilot, each in its own process (`autopilot_peer.py`). The minimal
simulator sends one constant sample with a new time, waits for the answer, and does nothing else. The two take
turns. `own` is the processor time of the simulator's process, system calls included; in lockstep with one
vehicle only one process computes at a time, so it is what the simulator adds to the time of an autopilot.
The parts are measured in a run of their own, in processor time of the stepping thread.
"""

import binascii
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pegasus import Backend, Multirotor, Simulation
from pegasus.backends import PX4, ArduPilot
from pegasus.backends.ardupilot.lockstep import JsonLockstep
from pegasus.backends.mavlink.messages import encode, make_message
from pegasus.backends.mavlink.ports import bind_udp
from pegasus.backends.px4.lockstep import HilLockstep
from pegasus.core.vehicle_manager import VehicleManager

PEER = Path(__file__).with_name("autopilot_peer.py")
RATE = 250.0
WARM_UP = 1.0
REPETITIONS = 5
HEIGHT = 2000.0
FREE_INSTANCE = 150
"""Instance of the first peer of the minimal simulator."""
LIMIT = 20.0
"""Maximum wait of the minimal simulator [s]."""
PARTS = ("sense", "publish", "wait", "command", "physics")
SAMPLE = make_message(
    "HIL_SENSOR",
    time_usec=1 << 40,
    zacc=-9.81,
    xmag=0.21,
    zmag=0.43,
    abs_pressure=956.0,
    pressure_alt=488.0,
    temperature=15.0,
    fields_updated=0x1FFF,
)
REPLY = (
    '\n{"timestamp":%.6f,"imu":{"gyro":[0,0,0],"accel_body":[0,0,-9.8]},"position":[0,0,0],'
    '"velocity":[0,0,0],"quaternion":[1,0,0,0],"no_time_sync":1}\n'
)


@contextmanager
def peers(kind: str, ports: list[tuple[int, int | None]]) -> Iterator[None]:
    """Run a peer for each instance and port; None for the port of the instance."""
    started = []
    try:
        for instance, port in ports:
            words = [str(word) for word in (kind, instance, port) if word is not None]
            started.append(subprocess.Popen([sys.executable, str(PEER), *words]))
        yield
    finally:
        for peer in started:
            peer.kill()
            peer.wait()


class MinimalPX4:
    """Simulator that sends a constant HIL_SENSOR to a number of PX4s and waits for their answers."""

    kind = "px4"

    def __init__(self, count: int) -> None:
        self._servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        self.ports: list[int | None] = [server.getsockname()[1] for server in self._servers]
        self._frame = bytearray(encode(SAMPLE, sequence=0)[:-2])
        self._step_count = 0
        self._links: list[socket.socket] = []

    def run(self, seconds: float) -> None:
        """Step for a simulated duration [s]."""
        if not self._links:
            for server in self._servers:
                server.settimeout(LIMIT)
                self._links.append(server.accept()[0])
                self._links[-1].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Bit-reversed bytes, whose CRC the standard library computes.
        mirror, extra = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256)), b"\x6c"
        frame, sent = self._frame, struct.Struct("<Q")
        for _ in range(round(seconds * RATE)):
            self._step_count += 1
            t = 4000 * self._step_count
            sent.pack_into(frame, 10, t)
            for link in self._links:
                crc = binascii.crc_hqx((frame[1:] + extra).translate(mirror), 0xFFFF)
                link.send(frame + bytes((mirror[crc >> 8], mirror[crc & 0xFF])))
            for link in self._links:
                while sent.unpack_from(link.recv(65536), 10)[0] != t:
                    pass

    def close(self) -> None:
        """Close the links."""
        for opened in (*self._links, *self._servers):
            opened.close()


class MinimalArduPilot:
    """Simulator that answers the packets of one ArduPilot with a constant line and a new time."""

    kind = "ardupilot"

    def __init__(self, count: int) -> None:
        assert count == 1
        self._socket = bind_udp("127.0.0.1", 0)
        self._socket.settimeout(LIMIT)
        self.ports: list[int | None] = [self._socket.getsockname()[1]]
        self._step_count = 0

    def run(self, seconds: float) -> None:
        """Answer the packets of a simulated duration [s]."""
        for _ in range(round(seconds * RATE)):
            _, sender = self._socket.recvfrom(128)
            self._step_count += 1
            self._socket.sendto((REPLY % (self._step_count / RATE)).encode(), sender)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class Parts:
    """Processor time of the parts of a step."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._within: list[float] = []
        self._undo: list[Callable[[], None]] = []

    def measure(self, owner: Any, name: str, part: str) -> None:
        """Add the time of a method to a part, without that of measured methods that it calls."""
        method = getattr(owner, name)

        def measured(*arguments: Any, **options: Any) -> Any:
            self._within.append(0.0)
            begin = time.thread_time()
            try:
                return method(*arguments, **options)
            finally:
                took = time.thread_time() - begin
                self.spent[part] += took - self._within.pop()
                if self._within:
                    self._within[-1] += took

        setattr(owner, name, measured)
        self._undo.append(lambda: setattr(owner, name, method))

    def end(self) -> None:
        """Put the methods back."""
        for undo in self._undo:
            undo()


class Flight:
    """Pegasus with a number of autopilots: copies of one vehicle, or vehicles added one by one.

    Args:
        kind: "px4" or "ardupilot".
        vehicles: Number of vehicles.
        copies: Copies of each.
    """

    def __init__(self, kind: str, vehicles: int, copies: int) -> None:
        self.kind, self._copies, self._resources = kind, copies, ExitStack()
        self._simulation = self._resources.enter_context(Simulation(rate=RATE))
        self.instances: list[tuple[int, int | None]] = []
        self._vehicles = []
        for i in range(vehicles):
            backend: Backend
            if kind == "px4":
                backend = PX4(launch=False)
            else:
                backend = ArduPilot(launch=False, parameters={"SCHED_LOOP_RATE": 138.0})
            vehicle = Multirotor("iris", count=copies, position=(0.0, 3.0 * i, 0.1), backends=[backend])
            self._vehicles.append(self._simulation.add(vehicle))
            first = backend.first_instance if isinstance(backend, PX4) else backend.instances[0]
            self.instances += [(first + k, None) for k in range(copies)]

    def run(self, seconds: float) -> None:
        """Fly for a simulated duration [s]."""
        self._simulation.run(seconds)

    def lift(self) -> None:
        """Move the vehicles high into the air, away from the ground and its contact forces."""
        for vehicle in self._vehicles:
            place = vehicle.state.position.copy()
            place[:, 2] = HEIGHT
            vehicle.place(place)

    def parts(self, seconds: float) -> dict[str, float]:
        """Return the processor time of each part [us per step]."""
        parts, px4 = Parts(), self.kind == "px4"
        waiting = (HilLockstep, "collect") if px4 else (JsonLockstep, "await_answers")
        for owner, name, part in (
            (VehicleManager, "sense", "sense"),
            (Multirotor, "publish", "publish"),
            (*waiting, "wait"),
            (PX4 if px4 else ArduPilot, "command", "command"),
            (self._simulation.engine, "step", "physics"),
        ):
            parts.measure(owner, name, part)
        try:
            begin = time.thread_time()
            self.run(seconds)
            total = time.thread_time() - begin
        finally:
            parts.end()
        scale = 1e6 / (seconds * RATE)
        found = {part: parts.spent[part] * scale for part in PARTS}
        return found | {"other": total * scale - sum(found.values())}

    def close(self) -> None:
        """Close the simulation."""
        assert not self._simulation.failures
        self._resources.close()


def timed(run: Callable[[float], None], seconds: float) -> tuple[float, float]:
    """Return the own processor time per simulated second [s], and the real-time factor."""
    own, wall = time.process_time(), time.perf_counter()
    run(seconds)
    return (time.process_time() - own) / seconds, seconds / (time.perf_counter() - wall)


def row(name: str, runs: list[tuple[float, float]], parts: dict[str, float] | None = None) -> None:
    """Print a row of a table."""
    own, factor = (statistics.median(column) for column in zip(*runs, strict=True))
    cells = "".join(f" {parts[part]:>8.1f}" for part in (*PARTS, "other")) if parts is not None else ""
    print(f"{name:<34} {own:>8.4f} {factor:>7.1f}{cells}", flush=True)


def compare(minimal: Any, flight: Flight, name: str, seconds: float) -> None:
    """Print a row for the minimal simulator and one for Pegasus."""
    asked = [(FREE_INSTANCE + i, port) for i, port in enumerate(minimal.ports)]
    alone, flown = [], []
    try:
        with peers(minimal.kind, asked), peers(flight.kind, flight.instances):
            minimal.run(WARM_UP)
            flight.run(WARM_UP)
            for _ in range(REPETITIONS):
                flight.lift()
                alone.append(timed(minimal.run, seconds))
                flown.append(timed(flight.run, seconds))
            flight.lift()
            parts = flight.parts(seconds)
            row(f"{name}: minimal simulator", alone)
            row(f"{name}: Pegasus", flown, parts)
            flight.close()
    finally:
        minimal.close()


def main(seconds: float) -> None:
    """Print the tables."""
    print("processor time per simulated second at 250 Hz [s], real-time factor, and parts of a step [us]")
    print(f"{'':<34} {'own':>8} {'factor':>7}" + "".join(f" {part:>8}" for part in (*PARTS, "other")))
    compare(MinimalPX4(1), Flight("px4", 1, 1), "PX4, one", seconds)
    compare(MinimalPX4(10), Flight("px4", 1, 10), "PX4, ten copies", seconds)
    compare(MinimalPX4(10), Flight("px4", 10, 1), "PX4, ten vehicles", seconds)
    compare(MinimalArduPilot(1), Flight("ardupilot", 1, 1), "ArduPilot, one", seconds)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 4.0)
