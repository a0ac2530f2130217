"""Self-test: runs the tests for Kit in processes of Isaac Sim, and writes one report of them."""

import json
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError
from pegasus.isaac import process
from pegasus.version import __version__

EVENTS_VARIABLE = "PEGASUS_SELFTEST_FILE"
"""Environment variable with the path of the file of events."""
START, SHUTDOWN = "start", "shutdown"
"""Names of the checks around those of Kit."""
_LIMITS = {START: 900.0, SHUTDOWN: 120.0}
"""Longest time of a start, whose first compiles shaders for minutes, and of an end of Isaac Sim [s]."""
_LIMIT = 300.0
"""Longest time of another check [s]."""
_GPUS = ("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader")


def events_of(file: Path) -> list[dict[str, Any]]:
    """Return the events that a self-test has noted, one JSON object a line; the last line may be cut off."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def note(file: Path, **event: Any) -> None:
    """Append an event to the file."""
    with file.open("a", encoding="utf-8") as out:
        out.write(json.dumps(event) + "\n")


class _Watch:
    """Progress of a process of Isaac Sim by the events that it notes.

    Args:
        file: File of the events.
        limits: Longest times of checks by name [s].
    """

    def __init__(self, file: Path, limits: Mapping[str, float]) -> None:
        self._file, self._limits = file, limits
        self._began = len(events_of(file))
        self._size, self.since = -1, time.monotonic()
        self.check: str | None = START
        """The running check; None between two of them."""
        self.started = self.closing = self.killed = False

    def overdue(self) -> bool:
        """Return whether the running check has taken too long."""
        size = self._file.stat().st_size if self._file.exists() else 0
        if size != self._size:
            self._size, self.since = size, time.monotonic()
            for event in events_of(self._file)[self._began :]:
                if "plan" in event:
                    self.started, self.check = True, None
                elif "check" in event:
                    self.check = None if "result" in event else event["check"]
                elif "closing" in event:
                    self.closing, self.check = True, SHUTDOWN
        self.killed = time.monotonic() - self.since > self.limit
        return self.killed

    @property
    def limit(self) -> float:
        """Longest time of the running check [s]."""
        return self._limits.get(self.check or "", _LIMIT)

    def problem(self, code: int) -> str:
        """Return why the process ended, with its exit code."""
        if self.killed:
            return f"did not end within {self.limit:g} s, and was killed"
        return f"Isaac Sim ended with exit code {code}"


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    report: Path,
    *,
    limits: Mapping[str, float] = _LIMITS,
) -> int:
    """Run the self-test, print and write its report, and return the exit code: 0 if no check failed.

    A check that hangs or crashes Isaac Sim is noted as failed, and the others run in a new process.

    Args:
        command: Command of the tests in Isaac Sim.
        environment: Its environment variables, to which that with the file of events is added.
        report: File of the report, JSON.
        limits: Longest times of checks by name [s].

    Raises:
        ConfigError: If the report or the process cannot be made.
    """
    events = report.with_suffix(".events")
    try:
        report.parent.mkdir(parents=True, exist_ok=True)
        events.write_text("", encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=report) from None
    variables = {**environment, EVENTS_VARIABLE: str(events.resolve())}
    began, starts = time.monotonic(), 0
    try:
        while True:
            watch, before, starts = _Watch(events, limits), len(events_of(events)), starts + 1
            since = time.monotonic()
            code = process.run(command, variables, overdue=watch.overdue)
            if not watch.killed:
                watch.overdue()
            if watch.check is not None:
                passed = watch.check == SHUTDOWN and code == 0 and not watch.killed
                note(
                    events,
                    check=watch.check,
                    result="pass" if passed else "fail",
                    seconds=round(time.monotonic() - (watch.since if watch.started else since), 1),
                    message="" if passed else watch.problem(code),
                )
            # A process that ended before a check began would end so again.
            if not watch.started or watch.closing or not _has_run(events_of(events)[before:]):
                break
        found = _report(events_of(events), starts, time.monotonic() - began)
        report.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    finally:
        events.unlink(missing_ok=True)
    _print(found, report)
    return int(any(check["result"] == "fail" for check in found["checks"]))


def _has_run(events: Sequence[Mapping[str, Any]]) -> bool:
    return any("check" in event and event["check"] not in (START, SHUTDOWN) for event in events)


def _report(events: Sequence[dict[str, Any]], starts: int, seconds: float) -> dict[str, Any]:
    """Return the report of events."""
    about: dict[str, str] = next((event["about"] for event in events if "about" in event), {})
    plan: list[str] = next((event["plan"] for event in events if "plan" in event), [])
    results = {event["check"]: event for event in events if "result" in event}
    lost = {"result": "fail", "message": "was not run, since Isaac Sim had ended"}
    names = [START, *plan, SHUTDOWN]
    return {
        "pegasus": __version__,
        "versions": about,
        "system": platform.platform(),
        "gpus": _gpus(),
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "seconds": round(seconds, 1),
        "starts_of_isaac_sim": starts,
        "checks": [results.get(name, {"check": name, **lost}) for name in names],
    }


def _gpus() -> list[str]:
    """Return name, driver and memory of each GPU, as nvidia-smi tells them."""
    try:
        told = subprocess.run(_GPUS, capture_output=True, text=True, timeout=30.0, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        return [f"unknown: {error}"]
    return told.splitlines()


def _print(found: Mapping[str, Any], report: Path) -> None:
    """Print the checks, and where the report is."""
    for check in found["checks"]:
        figures = ", ".join(f"{name} {value:.6g}" for name, value in check.get("figures", {}).items())
        said = "; ".join(filter(None, (check.get("message", ""), figures)))
        print(f"{check['result']:4}  {check['check']}  {check.get('seconds', 0.0):.1f} s  {said}".rstrip())
    print(f"pegasus: the report is {report.resolve()}")
