"""Start an autopilot's program, and end it with everything that it has started."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pegasus.errors import AutopilotError, ConfigError

_LIFELINE = Path(__file__).resolve().with_name("lifeline.py")
_PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR")
_START_LIMIT = 10.0
# Beyond the time that a process has for ending: to kill it, and to see that it is gone.
_KILL_LIMIT = 3.0
_TAIL_SIZE = 65536


class AutopilotProcess:
    """A program in a process group of its own, which ends when it is told to or when this process ends.

    A small supervisor of its own runs it (`lifeline.py`), so that it ends even when this process is killed;
    the thread that started it may end. It has no input, and no terminal that a Ctrl-C would reach it through.

    Args:
        arguments: The program, as an absolute path or a name on PATH, and its arguments.
        environment: Environment variables; of those of this process only PATH, HOME, LANG and TMPDIR are
            passed on besides.
        directory: Working directory; made when it is missing.
        log: File that what it prints is appended to.
        name: What messages call it.
        signals: What `stop` sends before SIGKILL, one after the other.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        *,
        environment: Mapping[str, str],
        directory: Path,
        log: Path,
        name: str,
        signals: Sequence[signal.Signals] = (signal.SIGTERM,),
    ) -> None:
        self.arguments, self.environment, self.signals = list(map(str, arguments)), environment, signals
        self.directory, self.log, self.name = directory, log, name
        self.pid: int | None = None
        """Process id of the program, also the id of its group; None before the first start."""
        self.returncode: int | None = None
        """How it ended: its exit status, -n for signal n; None before that is known, see `poll`."""
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._lifeline: socket.socket | None = None
        self._heard = b""
        self._log_start = 0

    def start(self) -> None:
        """Start the program and return when it runs.

        Raises:
            ConfigError: If the directory, the log or the program cannot be used.
            RuntimeError: If it runs already, or does not start in time.
        """
        if self.alive:
            raise RuntimeError(f"{self.name} runs already")
        self.pid = self.returncode = None
        self._lifeline, theirs = socket.socketpair()
        with theirs:
            try:
                self._supervisor = self._run(theirs)
            except BaseException:
                self._lifeline.close()
                raise
        try:
            self.pid = self._report(self._lifeline)
        except BaseException:
            self.stop()
            raise

    def poll(self, timeout: float = 0.0) -> int | None:
        """Return how the program ended: its exit status, -n for signal n; None if it runs or never ran.

        Args:
            timeout: How long an end is waited for, in wall time [s].
        """
        if self._supervisor is not None:
            if timeout > 0:
                with suppress(subprocess.TimeoutExpired):
                    self._supervisor.wait(timeout)
            if self._supervisor.poll() is not None:
                self._settle(self._supervisor.returncode)
        return self.returncode

    @property
    def alive(self) -> bool:
        """Whether the program runs."""
        return self.poll() is None and self._supervisor is not None

    def failed(self, problem: str, *, log_is_kept: bool = True) -> AutopilotError:
        """Return the error that tells of a failure of the program, with its last words.

        Args:
            problem: What has happened.
            log_is_kept: True if its log outlives the run, so that errors may name it.
        """
        last = " / ".join(self.last_lines(3)) or "nothing"
        remedy = f"see {self.log}" if log_is_kept else None
        return AutopilotError(f"{problem}; its last words: {last}", field=self.name, remedy=remedy)

    @property
    def ending(self) -> str:
        """Words for how the program ended, such as "was killed by SIGKILL"; for one that has ended."""
        if self.returncode is None or self.returncode >= 0:
            return f"has ended with status {self.returncode}"
        try:
            return f"was killed by {signal.Signals(-self.returncode).name}"
        except ValueError:
            return f"was killed by signal {-self.returncode}"

    def owns(self, pid: int) -> bool:
        """Return whether a process belongs to the program's group.

        Args:
            pid: Process id.
        """
        try:
            return self.pid is not None and os.getpgid(pid) == self.pid
        except ProcessLookupError:
            return False

    def last_lines(self, count: int = 5) -> list[str]:
        """Return the last lines that the program has printed since it was started, without empty ones.

        Args:
            count: How many at most.
        """
        try:
            with self.log.open("rb") as log:
                end = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start, end - _TAIL_SIZE))
                text = log.read().decode(errors="replace")
        except FileNotFoundError:
            return []
        return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]

    def stop(self, timeout: float = 2.0) -> None:
        """End the program and its group, and return when they are gone; calling it twice is allowed.

        Args:
            timeout: Time that they have for ending by themselves before they are killed [s].
        """
        stop_all([self], timeout)

    def _run(self, lifeline: socket.socket) -> "subprocess.Popen[bytes]":
        """Start the supervisor on the far end of the lifeline."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._error("directory", self.directory, error) from None
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            output = self.log.open("ab")
        except OSError as error:
            raise self._error("log", self.log, error) from None
        variables = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        variables |= self.environment
        with output:
            self._log_start = output.tell()
            try:
                return subprocess.Popen(
                    [
                        *(_interpreter(), "-I", "-S", str(_LIFELINE)),
                        ",".join(str(int(number)) for number in self.signals),
                        *(f"{name}={value}" for name, value in variables.items()),
                        *("--", *self.arguments),
                    ],
                    stdin=lifeline.fileno(),
                    stdout=output,
                    stderr=output,
                    cwd=self.directory,
                    start_new_session=True,
                )
            except OSError as error:
                raise self._error("start", error.filename or self.arguments[0], error) from None

    def _report(self, lifeline: socket.socket) -> int:
        """Return the process id of the program once its supervisor has told it."""
        lifeline.settimeout(_START_LIMIT)
        self._heard = b""
        try:
            self._heard = lifeline.recv(64)
            word, number = self._heard.split()[:2]
        except (OSError, ValueError):
            printed = " ".join(self.last_lines()) or "nothing printed"
            raise RuntimeError(f"{self.name} did not start: {printed}") from None
        if word == b"pid":
            return int(number)
        raise self._error(
            "program",
            self.arguments[0],
            OSError(int(number), os.strerror(int(number))),
            remedy="check that the path is right and that it was built for this machine",
        )

    def _ask_to_end(self, timeout: float) -> None:
        if not self.alive:
            return
        assert self._lifeline is not None
        try:
            self._lifeline.sendall(f"{timeout}\n".encode())
        except OSError:
            # The supervisor is just ending, or was asked before.
            return

    def _await_end(self, deadline: float) -> None:
        if self._supervisor is None:
            return
        try:
            self._supervisor.wait(max(deadline - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            # What waits in a device driver cannot be killed; the others are still to be waited for.
            with suppress(subprocess.TimeoutExpired):
                self._supervisor.wait(_KILL_LIMIT)
        self.poll()

    def _settle(self, status: int) -> None:
        """Take the supervisor's last word, and close what belonged to this run."""
        assert self._lifeline is not None
        with self._lifeline as lifeline:
            lifeline.setblocking(False)
            # Nothing more may have been said.
            with suppress(OSError):
                self._heard += lifeline.recv(64)
        *_, word, number = b"", b"", *self._heard.split()
        if word == b"ended":
            self.returncode = int(number)
        else:
            # A supervisor that was itself killed has left the group to be ended.
            self.returncode = status
            if self.pid is not None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
        self._supervisor = self._lifeline = None

    def _error(self, field: str, value: str | Path, error: OSError, remedy: str | None = None) -> ConfigError:
        return ConfigError(
            f"cannot be used: {error.strerror}", field=f"{self.name} {field}", value=str(value), remedy=remedy
        )


def stop_all(processes: Iterable[AutopilotProcess], timeout: float = 2.0) -> None:
    """End several processes in the time of one, and return when they are gone.

    Args:
        processes: The processes; those that do not run are left alone.
        timeout: Time that they have for ending by themselves before they are killed [s].
    """
    processes = list(processes)
    for process in processes:
        process._ask_to_end(timeout)
    deadline = time.monotonic() + timeout + _KILL_LIMIT
    for process in processes:
        process._await_end(deadline)


def _interpreter() -> str:
    """Return a Python to run the supervisor with; where Python is embedded, `sys.executable` is none."""
    beside = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    for candidate in (Path(sys.executable or "/"), beside):
        if candidate.name.startswith("python") and candidate.is_file():
            return str(candidate)
    if (found := shutil.which("python3")) is not None:
        return found
    raise ConfigError("no Python found to supervise autopilots with", remedy="put python3 on PATH")
