"""Cost of flying the real PX4, beside a minimal simulator: python benchmarks/px4_beside.py [SECONDS] [COUNT].

Needs PX4_DIR. Both simulators fly the same number of PX4s in a hover, and take turns. The minimal one replays
what Pegasus has sent to its own PX4s from the start of the flight on, then the last seconds of it again and
again with new times, waits for each answer, and does nothing else. Times are processor times per simulated
second: that of the simulator with its system calls, and that of its PX4s.
"""

import contextlib
import os
import socket
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pegasus import Multirotor, Simulation
from pegasus.backends import PX4
from pegasus.backends.mavlink.messages import Decoder, dialect, encode
from pegasus.backends.mavlink.process import AutopilotProcess
from pegasus.backends.px4.program import HIL_PORT, PAYLOAD_PORT

REPETITIONS = 5
RATE = 250
HOVER = 10.0
"""Time from arming to the hover that is measured [s]."""
REPEATED = 2 * RATE
"""Number of last steps that the minimal simulator repeats; a multiple of all periods of messages."""
FIRST_INSTANCE = 100
"""Instance of the first PX4 of the minimal simulator."""
LIMIT = 60.0
"""Maximum time for a start, and maximum wait for an answer [s]."""
STAMP = struct.Struct("<Q")
STAMP_AT = 10
ARMED = 128
COMMAND = 76
"""Id of COMMAND_LONG."""
IDLE = "the last PX4 of the minimal simulator does not fly"
MISSION = [{"takeoff": {"height": 5.0}}, {"hold": {"duration": 1e5}}]


class Recording:
    """Messages to the PX4s of a backend: in each step those of the simulator, and those of its pilot."""

    def __init__(self, backend: PX4) -> None:
        self.steps: list[list[tuple[list[bytes], list[bytes]]]] = []
        """For each PX4, the messages of each step."""
        self._undo: list[Callable[[], None]] = []
        for instance, hub in zip(backend._instances, backend._hubs, strict=True):
            steps: list[tuple[list[bytes], list[bytes]]] = []
            self.steps.append(steps)
            self._record(instance, "send", lambda *_, i=instance, s=steps: s.append((i._outgoing.copy(), [])))
            self._record(hub.link, "send", lambda data, s=steps: s[-1][1].append(data) if s else None)

    def end(self) -> None:
        """Record no more."""
        for undo in self._undo:
            undo()

    def _record(self, owner: Any, name: str, see: Callable[..., None]) -> None:
        method = getattr(owner, name)

        def seen(*arguments: Any) -> None:
            see(*arguments)
            method(*arguments)

        setattr(owner, name, seen)
        self._undo.append(lambda: delattr(owner, name))


class Replay:
    """Link to one PX4 that gets recorded messages."""

    def __init__(self, steps: list[tuple[list[bytes], list[bytes]]], process: AutopilotProcess, number: int):
        self._payload = socket.socket(type=socket.SOCK_DGRAM)
        self._address = "127.0.0.1", PAYLOAD_PORT + number
        with socket.create_server(("127.0.0.1", HIL_PORT + number)) as server:
            process.start()
            server.settimeout(LIMIT)
            self.link = server.accept()[0]
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.link.setblocking(False)
        self._checksum = dialect().mcrf4xx
        kinds = dialect().mavlink_map.values()
        self._extras = {kind.id: bytes((kind.crc_extra,)) for kind in kinds if "time_usec" in kind.fieldnames}
        self._steps = [(frames, self._addressed(orders, number + 1)) for frames, orders in steps]
        # A PX4 that was late at the first request to arm gets it again with each repetition.
        requests = [
            order for _, orders in self._steps for order in orders if order[7] | order[8] << 8 == COMMAND
        ]
        self._steps[len(steps) - REPEATED][1].extend(dict.fromkeys(requests))
        self._begin = self._time(len(steps) - REPEATED)
        self._span = self._time(len(steps) - 1) - self._begin + self._time(1) - self._time(0)

    def send(self, step: int) -> bytes:
        """Send the messages of a step; return the time that its answer carries."""
        rounds = max(0, 1 + (step - len(self._steps)) // REPEATED)
        frames, orders = self._steps[step - rounds * REPEATED]
        if rounds:
            frames = [self._moved(frame, rounds * self._span) for frame in frames]
        self.link.sendall(b"".join(frames))
        for order in orders:
            self._payload.sendto(order, self._address)
        return frames[-1][STAMP_AT : STAMP_AT + STAMP.size]

    def close(self) -> None:
        """Close the links."""
        self.link.close()
        self._payload.close()

    def _time(self, step: int) -> int:
        time_usec: int = STAMP.unpack_from(self._steps[step][0][-1], STAMP_AT)[0]
        return time_usec

    def _moved(self, frame: bytes, later: int) -> bytes:
        extra = self._extras.get(frame[7] | frame[8] << 8)
        if extra is None:
            return frame
        (before,) = STAMP.unpack_from(frame, STAMP_AT)
        body = frame[1:STAMP_AT] + STAMP.pack(before + later) + frame[STAMP_AT + STAMP.size : -2]
        return frame[:1] + body + self._checksum(body + extra).to_bytes(2, "little")

    def _addressed(self, orders: list[bytes], system: int) -> list[bytes]:
        """Return messages to another system."""
        addressed = []
        for order in orders:
            for message in Decoder().feed(order):
                if isinstance(message, tuple):
                    message = message._replace(target_system=system)  # type: ignore[attr-defined]
                elif "target_system" in message.fieldnames:
                    message.target_system = system
                addressed.append(encode(message, sequence=order[4], system=order[5], component=order[6]))
        return addressed


class Minimal:
    """Minimal simulator of a number of flying PX4s."""

    def __init__(self, backend: PX4, recording: Recording, folder: Path) -> None:
        assert backend._program is not None
        self.processes, self._replays, self._step = [], [], 0
        for i, steps in enumerate(recording.steps):
            number, place = FIRST_INSTANCE + i, folder / f"minimal_{i}"
            log = folder / f"minimal_{i}.log"
            process = backend._program.process(number, directory=place, log=log, speed=None)
            self.processes.append(process)
            self._replays.append(Replay(steps, process, number))
        # Paced until all have answered, as the first steps get no answer.
        silent = {replay.link for replay in self._replays}
        begin = time.monotonic()
        while silent:
            silent -= self._paced()
            if time.monotonic() - begin > LIMIT:
                raise SystemExit("a PX4 of the minimal simulator does not answer")
        for replay in self._replays:
            replay.link.settimeout(LIMIT)
        self.run(len(recording.steps[0]) / RATE)
        begin = time.monotonic()
        while not self.flies:
            if time.monotonic() - begin > LIMIT:
                raise SystemExit(IDLE)
            self.run(REPEATED / RATE)

    def run(self, seconds: float) -> None:
        """Step for a simulated duration [s]."""
        for _ in range(round(seconds * RATE)):
            due = [(replay.link, replay.send(self._step)) for replay in self._replays]
            self._step += 1
            for link, stamp in due:
                while stamp not in (answer := link.recv(65536)):
                    pass
        *_, controls = Decoder("HIL_ACTUATOR_CONTROLS").feed(answer)
        self.flies = bool(controls.mode & ARMED)

    def close(self) -> None:
        """End its PX4s."""
        for process in self.processes:
            process.stop()
        for replay in self._replays:
            replay.close()

    def _paced(self) -> set[socket.socket]:
        """Do one step of the start in real time; return the links that have been answered."""
        due = [(replay.link, replay.send(self._step)) for replay in self._replays]
        self._step += 1
        time.sleep(1.0 / RATE)
        answered = set()
        for link, stamp in due:
            with contextlib.suppress(BlockingIOError):
                if stamp in link.recv(65536):
                    answered.add(link)
        return answered


def processor_time(process: AutopilotProcess) -> float:
    """Return the processor time of a program so far [s]."""
    words = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def timed(run: Callable[[float], None], processes: list[AutopilotProcess], seconds: float) -> list[float]:
    """Return the processor times of simulator and each PX4 per simulated second [s], and the speed."""
    programs, own, wall = sum(map(processor_time, processes)), time.process_time(), time.perf_counter()
    run(seconds)
    wall, own = time.perf_counter() - wall, time.process_time() - own
    programs = sum(map(processor_time, processes)) - programs
    return [own / seconds, programs / seconds / len(processes), seconds / wall]


def main(seconds: float, count: int) -> None:
    """Print the table."""
    if "PX4_DIR" not in os.environ:
        raise SystemExit("set PX4_DIR to a built PX4-Autopilot")
    # A busy machine may let an answer wait for long.
    backend = PX4(trajectory=MISSION, step_timeout=LIMIT)
    with tempfile.TemporaryDirectory() as folder, Simulation("flat", seed=3) as simulation:
        backend.run_folder = Path(folder)
        simulation.add(Multirotor("iris", count=count, backends=[backend]))
        simulation.play()
        recording = Recording(backend)
        while simulation.time < 1.0 or not all(backend.armed):
            simulation.run(0.5)
        simulation.run(HOVER)
        recording.end()
        minimal = Minimal(backend, recording, Path(folder))
        try:
            alone, flown = [], []
            for _ in range(REPETITIONS):
                alone.append(timed(minimal.run, minimal.processes, seconds))
                flown.append(timed(simulation.run, backend._processes, seconds))
                if not minimal.flies:
                    raise SystemExit(IDLE)
        finally:
            minimal.close()
    print(f"processor time per simulated second with {count} PX4 [s], medians of {REPETITIONS} turns")
    print(f"{'':<18} {'own':>8} {'each PX4':>9} {'all':>8} {'times real time':>16}")
    sums = []
    for name, rows in (("minimal simulator", alone), ("Pegasus", flown)):
        own, each, factor = (statistics.median(column) for column in zip(*rows, strict=True))
        sums.append(statistics.median(row[0] + count * row[1] for row in rows))
        print(f"{name:<18} {own:>8.4f} {each:>9.4f} {sums[-1]:>8.4f} {factor:>16.2f}")
    print(f"minimal by Pegasus, all processor time: {sums[0] / sums[1]:.2f}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 8.0, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
