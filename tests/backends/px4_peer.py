"""PX4's side of the HIL link over TCP, as a program for the tests of the PX4 backend.

It behaves like a recorded real PX4: it connects, identifies itself, does not answer the first sensor
messages, and then sends exactly one HIL_ACTUATOR_CONTROLS for each HIL_SENSOR, with the time of that message.
The time in those messages is its only clock; wall time passes only where a fault asks for it.

It prints one line per phase, `PHASE time`, with the simulated time in seconds:

- `CONNECTED`, and `CLOSED` when the simulator has closed the link (with what it received and answered);
- `DENIED sensors` once, if it is time to arm but sensors are missing or wrong;
- `ARMED`, `TAKEOFF`, `HOVER`, `SQUARE`, `LAND`, `LANDED`, `DISARMED`;
- `FAULT kind` for each fault, when it begins.

Exit status: 0 after SIGTERM, and when the simulator closes the link with nothing of the mission left to do;
1 if it finds no simulator; 3 if the simulator closes the link during the mission.

Run it with `python px4_peer.py --instance 0 --mission square`. It also takes the arguments that a PX4 is
started with (`ETC -s SCRIPT -i N -d`) and PX4_SIM_HOSTNAME, so that a script `bin/px4` of one line can stand
for a PX4: `exec python px4_peer.py --mission square "$@"`.
"""

import argparse
import importlib.util
import math
import os
import random
import re
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

CONTROLS_PER_ANSWER = 16
LOCKSTEP = 1
DISARMED, ARMED = 1, 129
ACCEL_AND_GYRO = 0x3F
RETRY_INTERVAL = 0.02  # [s]
LONGEST_LIFE = 120.0
"""How long it outlives its link before it ends by itself [s], lest a failed test leave it behind."""

FAULTS = {
    "silence": "no answer",
    "late": "the answer comes VALUE ms of wall time later",
    "stale": "an answer for the time VALUE (1) messages ago in place of the right one",
    "stale-first": "an answer for the time VALUE (1) messages ago in front of the right one",
    "double": "the answer comes twice",
    "garbage": "VALUE (64) bytes that are no message in front of the answer",
    "split": "half an answer, and the rest VALUE (50) ms later",
    "nan": "the outputs are not numbers",
    "freeze": "neither reads nor answers for VALUE ms, or for ever",
    "truncate": "half an answer, then as close",
    "close": "closes the link; with a VALUE connects again after as many ms, as a restarted PX4",
    "exit": "exits with status VALUE (0)",
    "kill": "kills itself (SIGKILL)",
}


def load_messages() -> ModuleType:
    """Load the codec alone, in a tenth of the time that the whole package takes."""
    (package,) = importlib.util.find_spec("pegasus").submodule_search_locations
    file = Path(package) / "backends" / "mavlink" / "messages.py"
    spec = importlib.util.spec_from_file_location("messages", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


messages = load_messages()


@dataclass
class Fault:
    """Fault of the peer, with the time at which it occurs.

    The text form is KIND@START, KIND@START- or KIND@START-END, optionally followed by :VALUE. START and END
    are included; they count sensor messages of the process from 1, or are simulated times with the suffix
    `s`. START alone means once.
    """

    kind: str
    start: float
    end: float | None
    timed: bool
    value: float | None
    begun: bool = False

    @classmethod
    def parse(cls, text: str) -> "Fault":
        """Parse a fault from its text."""
        form = re.fullmatch(r"([a-z-]+)@([\d.]+)(s?)(-(?:([\d.]+)s?)?)?(?::([\d.]+))?", text)
        if form is None or form[1] not in FAULTS:
            raise argparse.ArgumentTypeError(f"{text!r} is no KIND@START[-[END]][:VALUE]")
        last = None if form[4] is None else float(form[5] or math.inf)
        return cls(form[1], float(form[2]), last, form[3] == "s", float(form[6]) if form[6] else None)

    def due(self, count: int, t: float) -> bool:
        """Return whether the fault is due at a sensor message of a given number and time."""
        now = t if self.timed else count
        if self.end is None:
            return now >= self.start and not self.begun
        return self.start <= now <= self.end

    def number(self, default: float) -> float:
        """Return the value, or a default."""
        return default if self.value is None else self.value


class Constant:
    """Controller with constant outputs; armed if any are given."""

    over = True

    def __init__(self, outputs: list[float]) -> None:
        self.armed = bool(outputs)
        self._answer = tuple(outputs) + (0.0,) * (CONTROLS_PER_ANSWER - len(outputs))

    def gps(self, message: Any) -> None:
        """Take a HIL_GPS."""

    def sensor(self, message: Any) -> tuple[float, ...]:
        """Take a HIL_SENSOR and return the outputs that answer it."""
        return self._answer


class Echo:
    """Controller that answers with the measurement: 0.5 + rate / 40, then 0.5 + specific force / 400."""

    over = True
    armed = True

    def gps(self, message: Any) -> None:
        """Take a HIL_GPS."""

    def sensor(self, message: Any) -> tuple[float, ...]:
        """Take a HIL_SENSOR and return the outputs that answer it."""
        rates = (0.5 + rate / 40 for rate in (message.xgyro, message.ygyro, message.zgyro))
        forces = (0.5 + force / 400 for force in (message.xacc, message.yacc, message.zacc))
        outputs = [max(0.0, min(1.0, output)) for output in (*rates, *forces)]
        return (*outputs, *[0.0] * (CONTROLS_PER_ANSWER - len(outputs)))


class Hangup(Exception):  # noqa: N818
    """Raised to close the link; the peer connects again after a pause [s], or never."""

    def __init__(self, pause: float | None) -> None:
        self.pause = pause


class Session:
    """One connection, from the handshake until either side closes it.

    Args:
        link: Connected socket.
        controller: Controller of the outputs.
        faults: Faults to apply.
        options: Options of the command line.
        count: Sensor messages of earlier connections.
        report: Called with a phase and its time [s].
    """

    def __init__(
        self,
        link: socket.socket,
        controller: Any,
        faults: list[Fault],
        options: argparse.Namespace,
        count: int,
        report: Callable[[str, float], None],
    ) -> None:
        self._link, self._controller, self._faults = link, controller, faults
        self._silent, self._every, self._system = options.silent, options.every, options.instance + 1
        self._report = report
        self.count = count
        self.received = self.answered = 0
        self.t = 0.0
        self._newest = -1
        self._sequence = 0
        self._answer_type = messages.message_type("HIL_ACTUATOR_CONTROLS")

    def run(self) -> None:
        """Answer until the simulator closes the link."""
        # The two messages of a real PX4, value for value.
        self._link.sendall(
            self._frame(messages.make_message("COMMAND_LONG", param1=115.0, param2=5000.0, command=511))
            + self._frame(messages.make_message("HEARTBEAT", autopilot=12, mavlink_version=3))
        )
        decoder, receive = messages.Decoder("HIL_SENSOR", "HIL_GPS"), self._link.recv
        while data := receive(65536):
            for message in decoder.feed(data):
                if message.msgname == "HIL_SENSOR":
                    self._take(message)
                else:
                    self._controller.gps(message)

    def _take(self, message: Any) -> None:
        self.count += 1
        self.received += 1
        usec = message.time_usec
        # A real PX4 does not answer to a repeated time, nor without accelerometer and gyroscope.
        if usec <= self._newest or message.fields_updated & ACCEL_AND_GYRO != ACCEL_AND_GYRO:
            return
        step, self._newest, self.t = usec - max(self._newest, 0), usec, usec * 1e-6
        outputs = self._controller.sensor(message)
        due = [fault for fault in self._faults if fault.due(self.count, self.t)] if self._faults else ()
        for fault in due:
            self._misbehave(fault)
        if self.received <= self._silent or self.received % self._every:
            return
        if due:
            self._answer_badly({fault.kind: fault for fault in due}, usec, step, outputs)
        else:
            self._link.sendall(self._answer(usec, outputs))

    def _frame(self, message: Any) -> bytes:
        frame: bytes = messages.encode(message, sequence=self._sequence, system=self._system, component=1)
        self._sequence += 1
        return frame

    def _answer(self, usec: int, outputs: tuple[float, ...]) -> bytes:
        self.answered += 1
        mode = ARMED if self._controller.armed else DISARMED
        return self._frame(self._answer_type(time_usec=usec, flags=LOCKSTEP, controls=outputs, mode=mode))

    def _misbehave(self, fault: Fault) -> None:
        """Apply a fault that does not concern an answer."""
        if not fault.begun:
            fault.begun = True
            self._report(f"FAULT {fault.kind}", self.t)
        if fault.kind == "freeze":
            time.sleep(LONGEST_LIFE if fault.value is None else fault.value / 1e3)
        elif fault.kind == "close":
            raise Hangup(None if fault.value is None else fault.value / 1e3)
        elif fault.kind == "exit":
            raise SystemExit(int(fault.number(0)))
        elif fault.kind == "kill":
            os.kill(os.getpid(), signal.SIGKILL)

    def _answer_badly(self, due: dict[str, Fault], usec: int, step: int, outputs: tuple[float, ...]) -> None:
        if "silence" in due:
            return
        if "late" in due:
            time.sleep(due["late"].number(50) / 1e3)
        if "nan" in due:
            outputs = (math.nan,) * 4 + outputs[4:]
        data = b""
        if "garbage" in due:
            data += random.Random(self.count).randbytes(int(due["garbage"].number(64)))
        if stale := due.get("stale-first") or due.get("stale"):
            data += self._answer(max(usec - int(stale.number(1)) * step, 0), outputs)
        if "stale" not in due:
            answer = self._answer(usec, outputs)
            data += answer
            if "double" in due:
                data += answer
        if not {"split", "truncate"} & due.keys():
            self._link.sendall(data)
            return
        half = len(data) // 2
        self._link.sendall(data[:half])
        if cut := due.get("truncate"):
            raise Hangup(None if cut.value is None else cut.value / 1e3)
        time.sleep(due["split"].number(50) / 1e3)
        self._link.sendall(data[half:])


def connect(host: str, port: int, limit: float) -> socket.socket:
    """Return a connection to the simulator, which may begin to listen later."""
    for _ in range(max(1, round(limit / RETRY_INTERVAL))):
        try:
            link = socket.create_connection((host, port))
        except OSError:
            time.sleep(RETRY_INTERVAL)
            continue
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return link
    print(f"no simulator listens on {host}:{port}", file=sys.stderr)
    raise SystemExit(1)


def controller(options: argparse.Namespace) -> Any:
    """Return the controller of the outputs, in a fresh state."""
    if options.controller == "none":
        return Constant(options.outputs)
    if options.controller == "echo":
        return Echo()
    from px4_pilot import Pilot

    return Pilot(
        options.mission,
        report,
        ready_time=options.ready,
        height=options.height,
        side=options.side,
        hover_time=options.hover_time,
        declination=math.radians(options.declination),
    )


def report(phase: str, t: float) -> None:
    """Print a phase and its time [s]."""
    name, _, detail = phase.partition(" ")
    print(name, f"{t:.3f}", *([detail] if detail else []), flush=True)


def command_line() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="Faults: " + "; ".join(f"{kind}: {what}" for kind, what in FAULTS.items()),
    )
    add = parser.add_argument
    add("etc", nargs="?", help="ignored: what PX4 is started with")
    add("-s", dest="script", help="ignored: what PX4 is started with")
    add("-d", dest="daemon", action="store_true", help="ignored: what PX4 is started with")
    add("-i", "--instance", type=int, default=0, help="number N; the system id is N + 1 (0)")
    add("--host", default=os.environ.get("PX4_SIM_HOSTNAME", "127.0.0.1"), help="where the simulator listens")
    add("--port", type=int, help="where the simulator listens (4560 + N)")
    add("--connect-limit", type=float, default=30.0, help="how long it tries to connect [s] (30)")
    add("--silent", type=int, default=11, help="sensor messages without an answer at first (11)")
    add("--every", type=int, default=1, help="answer every n-th sensor message only (1)")
    add("--controller", choices=["pilot", "none", "echo"], default="pilot", help="what it answers (pilot)")
    add("--outputs", type=_floats, default=[], help="outputs of `none`, armed with them: 0.5,0.5,0.5,0.5")
    add("--mission", choices=["none", "hover", "square"], default="none", help="what the pilot flies (none)")
    add("--ready", type=float, default=6.0, help="simulated time before it arms [s] (6)")
    add("--height", type=float, default=5.0, help="height of the mission [m] (5)")
    add("--side", type=float, default=5.0, help="side of the square [m] (5)")
    add("--hover-time", type=float, default=5.0, help="time from HOVER to SQUARE [s] (5)")
    add(
        "--declination", type=float, default=0.0, help="of the magnetic field, to within 10 degrees [deg] (0)"
    )
    add("--fault", type=Fault.parse, action="append", default=[], help="KIND@START[-[END]][:VALUE]")
    add("--linger", action="store_true", help="live on after the link, as PX4 does, until SIGTERM")
    add("--ignore-term", action="store_true", help="ignore SIGTERM, as PX4 does while it starts")
    options = parser.parse_args()
    if options.port is None:
        options.port = 4560 + options.instance
    return options


def main() -> int:
    """Act as PX4 until the link or the process ends."""
    options = command_line()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if options.ignore_term else _end)
    signal.signal(signal.SIGINT, _end)
    count = 0
    while True:
        with connect(options.host, options.port, options.connect_limit) as link:
            pilot = controller(options)
            session = Session(link, pilot, options.fault, options, count, report)
            report("CONNECTED", 0.0)
            pause = None
            try:
                session.run()
            except Hangup as hangup:
                pause = hangup.pause
                lives_on = True
            except (ConnectionResetError, BrokenPipeError):
                lives_on = options.linger
            else:
                lives_on = options.linger
        if pause is None:
            break
        count = session.count
        time.sleep(pause)
    report(f"CLOSED received={session.received} answered={session.answered}", session.t)
    if lives_on:
        time.sleep(LONGEST_LIFE)
    return 0 if pilot.over else 3


def _end(*_: Any) -> None:
    raise SystemExit(0)


def _floats(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
