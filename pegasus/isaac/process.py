"""Isaac Sim as a child process group: signals, exit code, terminal and cleanup."""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from pegasus.base.errors import ConfigError

EXIT_CODE_VARIABLE = "PEGASUS_EXIT_CODE_FILE"
"""Environment variable with the path of the exit-code file: python.sh replaces exit codes by 1."""
PATIENCE = 60.0
"""Time for Isaac Sim to end after a signal [s]."""
_POLL = 0.05
_INPUT = 0
_PR_SET_CHILD_SUBREAPER = 36
_PASSED_ON = ("SIGINT", "SIGTERM", "SIGHUP")


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    *,
    patience: float = PATIENCE,
    overdue: Callable[[], bool] = lambda: False,
) -> int:
    """Run a command in its own process group, and return its exit code.

    Signals that would end this process are forwarded to the whole group. Processes that remain after the
    command are terminated, and killed after a timeout.

    Args:
        command: The command.
        environment: Its environment variables.
        patience: Time for the group to end after a signal [s].
        overdue: Called at short intervals; the group is killed once it returns True.

    Raises:
        ConfigError: If the command cannot be run.
    """
    with tempfile.TemporaryDirectory(prefix="pegasus-") as folder:
        handed_over = Path(folder) / "exit_code"
        variables = {**environment, EXIT_CODE_VARIABLE: str(handed_over)}
        try:
            code = _wait(command, variables, _Group(handed_over, patience, overdue))
        except OSError as error:
            raise ConfigError(f"cannot be run: {error.strerror}", value=command[0]) from None
        if handed_over.is_file() and (text := handed_over.read_text(encoding="utf-8").strip()).isdigit():
            return int(text)
        return code if code >= 0 else 128 - code


def hand_over(code: int) -> None:
    """Write the exit code of this process to the exit-code file of `run`."""
    if file := os.environ.get(EXIT_CODE_VARIABLE):
        with contextlib.suppress(OSError):
            Path(file).write_text(str(code), encoding="utf-8")


class _Group:
    """Process group with its leader and its deadline."""

    def __init__(self, handed_over: Path, patience: float, overdue: Callable[[], bool]) -> None:
        self.leader: subprocess.Popen[bytes] | None = None
        self.handed_over, self.patience, self.overdue = handed_over, patience, overdue
        self.told: list[int] = []
        self.until = float("inf")

    def tell(self, number: int, _: FrameType | None = None) -> None:
        """Forward a signal, and start the deadline."""
        self.told.append(number)
        self.limit()
        if self.leader is not None:
            self.pass_on(number)

    def pass_on(self, number: int) -> None:
        """Send a signal to all processes of the group, also those stopped by Ctrl-Z."""
        self.send(number)
        if os.name != "nt":
            self.send(signal.SIGCONT)

    def limit(self) -> None:
        """Start the deadline, unless it is running."""
        self.until = min(self.until, time.monotonic() + self.patience)

    def send(self, number: int) -> bool:
        """Send a signal to all processes of the group; return False if there is none."""
        assert self.leader is not None
        if os.name == "nt":
            if self.leader.poll() is None:
                self.leader.terminate()
            return self.leader.poll() is None
        try:
            os.killpg(self.leader.pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def watch(self) -> None:
        """Wait for the leader; kill the group after the deadline, or when it is overdue."""
        assert self.leader is not None
        terminal = _Terminal(self.leader.pid)
        try:
            while self.leader.poll() is None:
                if self.until == float("inf") and self.handed_over.exists():
                    self.limit()
                if time.monotonic() > self.until or self.overdue():
                    self.send(signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
                terminal.stop_with_the_leader()
                time.sleep(_POLL)
        finally:
            terminal.take()

    def finish(self) -> None:
        """Wait for the remaining processes of the group, and kill them after the deadline."""
        if os.name == "nt" or not self._remains():
            return
        if not self.told:
            self.tell(signal.SIGTERM)
        while self._remains():
            if time.monotonic() > self.until:
                self.send(signal.SIGKILL)
            time.sleep(_POLL)

    def _remains(self) -> bool:
        """Reap ended processes of the group, and return whether others remain."""
        assert self.leader is not None
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-self.leader.pid, os.WNOHANG)[0]:
                pass
        return self.send(0)


class _Terminal:
    """Terminal of this process, lent to a process group so that it can read input and receive Ctrl-C."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._given = False
        # A background process may take the terminal back only if it ignores this signal.
        self._before = None if os.name == "nt" else signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        self._give()

    def _give(self) -> None:
        if os.name == "nt":
            return
        with contextlib.suppress(OSError):
            if os.tcgetpgrp(_INPUT) == os.getpgrp():
                os.tcsetpgrp(_INPUT, self._leader)
                self._given = True
                os.killpg(self._leader, signal.SIGCONT)

    def take(self) -> None:
        """Take the terminal back."""
        if self._given:
            with contextlib.suppress(OSError):
                os.tcsetpgrp(_INPUT, os.getpgrp())
        if self._before is not None:
            signal.signal(signal.SIGTTOU, self._before)

    def stop_with_the_leader(self) -> None:
        """Stop this process when Ctrl-Z has stopped the leader, and resume both together."""
        if not self._given or os.waitid(os.P_PID, self._leader, os.WSTOPPED | os.WNOHANG) is None:
            return
        os.tcsetpgrp(_INPUT, os.getpgrp())
        self._given = False
        os.kill(os.getpid(), signal.SIGSTOP)
        self._give()
        os.killpg(self._leader, signal.SIGCONT)


def _wait(command: Sequence[str], environment: Mapping[str, str], group: _Group) -> int:
    """Run a command until its group has ended; return the exit code of its leader."""
    with _passing_on(group):
        if sys.platform == "linux":
            # Orphans of the leader become children of this process.
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        own: dict[str, Any] = {} if os.name == "nt" else {"process_group": 0}
        group.leader = subprocess.Popen(command, env=environment, **own)
        for number in list(group.told):
            group.pass_on(number)
        group.watch()
        group.finish()
    return int(group.leader.returncode)


@contextlib.contextmanager
def _passing_on(group: _Group) -> Iterator[None]:
    """Forward signals to a group, except those that this process ignores, as the group inherits."""
    before = {}
    for name in _PASSED_ON:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, group.tell)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
