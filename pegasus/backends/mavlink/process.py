"""Processes of autopilots: start, supervision, log, and end with all child processes."""

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

from pegasus.base.errors import AutopilotError, ConfigError

_SUPERVISOR = Path(__file__).resolve().with_name("lifeline.py")
_INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")
_START_LIMIT = 10.0
_KILL_LIMIT = 3.0
"""Time for the kill after the time that a process has to end [s]."""
_TAIL_SIZE = 65536


class AutopilotProcess:
    """Program in its own process group, which ends with `stop` or with this process.

    A supervisor process (`lifeline.py`) ends it even if this process is killed. The program has no input and
    no terminal, so Ctrl-C does not reach it.

    Args:
        arguments: The program, as an absolute path or a name on PATH, and its arguments.
        environment: Environment variables; only PATH, HOME, LANG and TMPDIR are inherited.
        directory: Working directory; created if missing.
        log: File to which its output is appended.
        name: Name in messages.
        signals: Signals that `stop` sends in turn before SIGKILL.
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
        """Exit status, -n for signal n; None while unknown, see `poll`."""
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._lifeline: socket.socket | None = None
        self._received = b""
        self._log_start = 0

    def start(self) -> None:
        """Start the program and wait until it runs.

        Raises:
            ConfigError: If the directory, the log or the program cannot be used.
            RuntimeError: If it is already running, or does not start in time.
        """
        if self.alive:
            raise RuntimeError(f"{self.name} is already running")
        self.pid = self.returncode = None
        self._lifeline, far_end = socket.socketpair()
        with far_end:
            try:
                self._supervisor = self._run(far_end)
            except BaseException:
                self._lifeline.close()
                raise
        try:
            self.pid = self._report(self._lifeline)
        except BaseException:
            self.stop()
            raise

    def poll(self, timeout: float = 0.0) -> int | None:
        """Return the exit status of the program, -n for signal n; None if it runs or never ran.

        Args:
            timeout: Maximum wait for its end, in wall time [s].
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
        """Return the error for a failure of the program, with its last output.

        Args:
            problem: Description of the failure.
            log_is_kept: True if its log outlives the run and can be named.
        """
        last = " / ".join(self.last_lines(3)) or "nothing"
        remedy = f"see {self.log}" if log_is_kept else None
        return AutopilotError(f"{problem}; its last words: {last}", field=self.name, remedy=remedy)

    @property
    def ending(self) -> str:
        """Description of the end of the program, such as "was killed by SIGKILL"."""
        if self.returncode is None or self.returncode >= 0:
            return f"has ended with status {self.returncode}"
        try:
            return f"was killed by {signal.Signals(-self.returncode).name}"
        except ValueError:
            return f"was killed by signal {-self.returncode}"

    def owns(self, pid: int) -> bool:
        """Return whether a process belongs to the program's group."""
        try:
            return self.pid is not None and os.getpgid(pid) == self.pid
        except ProcessLookupError:
            return False

    def last_lines(self, count: int = 5) -> list[str]:
        """Return the last non-empty lines printed since the start."""
        try:
            with self.log.open("rb") as log:
                end = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start, end - _TAIL_SIZE))
                text = log.read().decode(errors="replace")
        except FileNotFoundError:
            return []
        return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]

    def stop(self, timeout: float = 2.0) -> None:
        """End the program with its group and wait for them; repeated calls are allowed.

        Args:
            timeout: Time to end by themselves before they are killed [s].
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
        variables = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        variables |= self.environment
        with output:
            self._log_start = output.tell()
            try:
                return subprocess.Popen(
                    [
                        *(_interpreter(), "-I", "-S", str(_SUPERVISOR)),
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
        """Return the process id of the program, reported by its supervisor."""
        lifeline.settimeout(_START_LIMIT)
        self._received = b""
        try:
            self._received = lifeline.recv(64)
            word, number = self._received.split()[:2]
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
            # The supervisor is ending, or was already asked.
            return

    def _await_end(self, deadline: float) -> None:
        if self._supervisor is None:
            return
        try:
            self._supervisor.wait(max(deadline - time.monotonic(), 0.0))
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            # A process that waits in a device driver cannot be killed; the others are still waited for.
            with suppress(subprocess.TimeoutExpired):
                self._supervisor.wait(_KILL_LIMIT)
        self.poll()

    def _settle(self, status: int) -> None:
        """Read the supervisor's last report and release the resources of this run."""
        assert self._lifeline is not None
        with self._lifeline as lifeline:
            lifeline.setblocking(False)
            with suppress(OSError):
                self._received += lifeline.recv(64)
        *_, word, number = b"", b"", *self._received.split()
        if word == b"ended":
            self.returncode = int(number)
        else:
            # The supervisor itself was killed and has left the group running.
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
    """End several processes at the same time and wait for them.

    Args:
        processes: The processes; those that do not run are skipped.
        timeout: Time to end by themselves before they are killed [s].
    """
    processes = list(processes)
    for process in processes:
        process._ask_to_end(timeout)
    deadline = time.monotonic() + timeout + _KILL_LIMIT
    for process in processes:
        process._await_end(deadline)


def _interpreter() -> str:
    """Return a Python interpreter for the supervisor; in embedded Python `sys.executable` is not one."""
    beside = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    for candidate in (Path(sys.executable or "/"), beside):
        if candidate.name.startswith("python") and candidate.is_file():
            return str(candidate)
    if (found := shutil.which("python3")) is not None:
        return found
    raise ConfigError("no Python interpreter found to supervise autopilots", remedy="put python3 on PATH")
