"""Print how fast the real ArduPilot flies in Pegasus, beside a minimal simulator in the same minutes.

The minimal simulator answers every packet with the same line of text but for its time stamp: no physics, no
sensors, no checks. What ArduPilot and two sockets cost by themselves is its speed; the ratio is what Pegasus
leaves of that. The two take turns, each with an ArduPilot of its own, found as the backend finds it:
python benchmarks/ardupilot.py [SECONDS]
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path
from signal import SIGINT
from types import TracebackType

from pegasus import Multirotor, Simulation
from pegasus.backends.mavlink import ArduPilot
from pegasus.backends.mavlink.ardupilot_program import PARAMETER_FILE, Program, format_parameters
from pegasus.backends.mavlink.ports import bind_udp
from pegasus.backends.mavlink.process import AutopilotProcess

INSTANCE = 200
"""Instance that the minimal simulator starts."""
WARM_UP = 2.0
"""Simulated time before anything is measured [s]."""
REPETITIONS = 5
HEIGHT = 2000.0
PARAMETERS = {250.0: {"SCHED_LOOP_RATE": 138.0}, 1000.0: {}}
"""Parameters at each rate [Hz] at which it is measured."""
REPLY = (
    '\n{"timestamp":%.6f,"imu":{"gyro":[0,0,0],"accel_body":[0,0,-9.8]},"position":[0,0,0],'
    '"velocity":[0,0,0],"quaternion":[1,0,0,0],"no_time_sync":1}\n'
)


class Minimal:
    """A simulator of a vehicle at rest, with an ArduPilot that it starts.

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
        self._process = AutopilotProcess(
            Program.find().arguments(INSTANCE, home="38.7,-9.1,0,0"),
            environment={},
            directory=folder,
            log=folder / "log",
            name="ArduPilot",
            signals=(SIGINT,),
        )

    def __enter__(self) -> "Minimal":
        self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.stop()
        self._socket.close()
        self._folder.cleanup()

    def run(self, seconds: float) -> None:
        """Answer the packets of so much simulated time."""
        # What has been repeated meanwhile is answered once.
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


def factors(rate: float, seconds: float) -> tuple[float, float, float]:
    """Return times real time of the minimal simulator and of Pegasus, and the ratio, each a median."""
    rows = []
    backend = ArduPilot(parameters=PARAMETERS[rate])
    with Minimal(rate) as minimal, Simulation(rate=rate) as simulation:
        vehicle = simulation.add(Multirotor("iris", backends=[backend]))
        minimal.run(WARM_UP)
        simulation.run(WARM_UP)
        for _ in range(REPETITIONS):
            place = vehicle.state.position.copy()
            place[:, 2] = HEIGHT
            vehicle.teleport(place)
            begin = time.perf_counter()
            minimal.run(seconds)
            between = time.perf_counter()
            simulation.run(seconds)
            end = time.perf_counter()
            rows.append((between - begin, end - between))
        assert not simulation.failures
    fast, slow = (seconds / statistics.median(column) for column in zip(*rows, strict=True))
    return fast, slow, statistics.median(alone / pegasus for alone, pegasus in rows)


def main(seconds: float) -> None:
    """Print a row for each rate."""
    print("times real time, in the air, on this machine")
    print(f"{'rate [Hz]':>9} {'minimal':>8} {'Pegasus':>8} {'ratio':>6}")
    for rate in PARAMETERS:
        fast, slow, ratio = factors(rate, seconds)
        print(f"{rate:>9g} {fast:>8.1f} {slow:>8.1f} {ratio:>6.2f}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0)
