"""Speed of ArduPilot in Pegasus and in a minimal simulator: python benchmarks/ardupilot.py [SECONDS].

The minimal simulator answers every packet with a constant line of text with a new time stamp: no physics, no
sensors, no checks. The two alternate, each with its own ArduPilot, which is found as the backend finds it. In
lockstep only one process computes at a time, so the processor times of simulator and autopilot add up; unlike
wall time, they depend little on other load.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGINT
from types import TracebackType

from pegasus import Multirotor, Simulation
from pegasus.backends import ArduPilot
from pegasus.backends.ardupilot.program import PARAMETER_FILE, Program, format_parameters
from pegasus.backends.mavlink.ports import bind_udp
from pegasus.backends.mavlink.process import AutopilotProcess

INSTANCE = 200
"""Instance that the minimal simulator starts."""
WARM_UP = 2.0
"""Simulated time before the measurement [s]."""
REPETITIONS = 5
HEIGHT = 2000.0
PARAMETERS = {250.0: {"SCHED_LOOP_RATE": 138.0}, 1000.0: {}}
"""Parameters for each measured rate [Hz]."""
REPLY = (
    '\n{"timestamp":%.6f,"imu":{"gyro":[0,0,0],"accel_body":[0,0,-9.8]},"position":[0,0,0],'
    '"velocity":[0,0,0],"quaternion":[1,0,0,0],"no_time_sync":1}\n'
)


class Minimal:
    """Simulator of a vehicle at rest that starts an ArduPilot.

    Args:
        rate: Steps per simulated second [Hz].
    """

    def __init__(self, rate: float) -> None:
        self._rate, self._step_count = rate, 0
        self._folder = tempfile.TemporaryDirectory()
        folder = Path(self._folder.name)
        (folder / PARAMETER_FILE).write_text(format_parameters({"FRAME_CLASS": 1.0, **PARAMETERS[rate]}))
        self._socket = bind_udp("127.0.0.1", 9002 + 10 * INSTANCE)
        self._socket.settimeout(60.0)
        self.process = AutopilotProcess(
            Program.find().arguments(INSTANCE, home="38.7,-9.1,0,0"),
            environment={},
            directory=folder,
            log=folder / "log",
            name="ArduPilot",
            signals=(SIGINT,),
        )

    def __enter__(self) -> "Minimal":
        self.process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.stop()
        self._socket.close()
        self._folder.cleanup()

    def run(self, seconds: float) -> None:
        """Answer the packets of a simulated duration [s]."""
        # Packets that were repeated in the meantime are answered once.
        self._socket.setblocking(False)
        sender = None
        try:
            while True:
                _, sender = self._socket.recvfrom(128)
        except BlockingIOError:
            self._socket.settimeout(60.0)
        for _ in range(round(seconds * self._rate)):
            if sender is None:
                _, sender = self._socket.recvfrom(128)
            self._step_count += 1
            self._socket.sendto((REPLY % (self._step_count / self._rate)).encode(), sender)
            sender = None


def processor_time(pid: int | None) -> float:
    """Return the processor time of all threads of a process [s] (proc(5))."""
    fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def per_step(
    run: Callable[[float], None], seconds: float, rate: float, pid: int | None
) -> tuple[float, float]:
    """Return the processor time of simulator and ArduPilot per step [us]."""
    own, program = time.process_time(), processor_time(pid)
    run(seconds)
    scale = 1e6 / (seconds * rate)
    return (time.process_time() - own) * scale, (processor_time(pid) - program) * scale


def measure(rate: float, seconds: float) -> tuple[list[float], list[float], float]:
    """Return the median processor times per step of the minimal simulator and Pegasus, and their ratio."""
    alone, flown = [], []
    backend = ArduPilot(parameters=PARAMETERS[rate])
    with Minimal(rate) as minimal, Simulation(rate=rate) as simulation:
        vehicle = simulation.add(Multirotor("iris", backends=[backend]))
        minimal.run(WARM_UP)
        simulation.run(WARM_UP)
        for _ in range(REPETITIONS):
            place = vehicle.state.position.copy()
            place[:, 2] = HEIGHT
            vehicle.place(place)
            alone.append(per_step(minimal.run, seconds, rate, minimal.process.pid))
            flown.append(per_step(simulation.run, seconds, rate, backend.processes[0].pid))
        assert not simulation.failures
    ratio = statistics.median(sum(a) / sum(b) for a, b in zip(alone, flown, strict=True))
    return medians(alone), medians(flown), ratio


def medians(rows: list[tuple[float, float]]) -> list[float]:
    """Return the median of each column."""
    return [statistics.median(column) for column in zip(*rows, strict=True)]


def main(seconds: float) -> None:
    """Print two rows for each rate."""
    print("processor time per step in flight [us], and the real-time factor that it allows")
    print(
        f"{'rate [Hz]':>9} {'simulator':>9} {'itself':>7} {'ArduPilot':>9} {'x real time':>11} {'ratio':>6}"
    )
    for rate in PARAMETERS:
        alone, flown, ratio = measure(rate, seconds)
        for name, (own, program), share in (("minimal", alone, 1.0), ("Pegasus", flown, ratio)):
            factor = 1e6 / (own + program) / rate
            cells = f"{name:>9} {own:>7.1f} {program:>9.1f} {factor:>11.1f} {share:>6.2f}"
            print(f"{rate:>9g} {cells}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
