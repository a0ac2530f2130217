"""Supervisor of a program that must not outlive its owner.

Started as ``python -I -S lifeline.py SIGNAL[,SIGNAL...] NAME=VALUE... -- COMMAND...`` with one end of a
socket pair as its standard input, the lifeline; the owner keeps the other end. It uses only the standard
library, because it is run by path.

The command gets its own process group, the given environment and no input; it inherits the output of this
program. Messages on the lifeline, one line each:

- from here: ``pid NUMBER`` once the command runs, or ``error ERRNO`` if it could not be started; and
  ``ended STATUS`` when its group is gone, with a negative STATUS for a signal.
- from the owner: the seconds that the command has to end. If the lifeline breaks, because the owner has died,
  it has two.

The group is ended by each of the signals in turn, an equal share of the time for each, and by SIGKILL.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable

_LIFELINE = 0
_GRACE = 2.0
_KILL_LIMIT = 1.0
# The lifeline stays open in processes that the owner has forked, so the parent is polled as well.
_POLL_PERIOD = 1.0
_GONE_PERIOD = 0.02
_SIGNALS = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


class Group:
    """Process group of the command.

    Args:
        leader: Process id of the command, a child of this process.
        wake: File descriptor that becomes readable when a signal arrives, also when a child ends.
    """

    def __init__(self, leader: int, wake: int) -> None:
        self.leader, self.wake = leader, wake
        self.status: int | None = None
        """Wait status of the leader after its end."""

    def reap(self) -> None:
        """Reap all ended children."""
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self.leader:
                    self.status = found[1]
        except ChildProcessError:
            return

    def send(self, number: int) -> bool:
        """Send a signal to all members; return whether there are any."""
        try:
            os.killpg(self.leader, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def ends_within(self, limit: float) -> bool:
        """Wait until no member is left; return whether that happened within the limit [s]."""
        deadline = time.monotonic() + limit
        while True:
            self.reap()
            if self.status is not None and not self.send(0):
                return True
            if time.monotonic() >= deadline:
                return False
            select.select([self.wake], [], [], _GONE_PERIOD)
            drain(self.wake)

    def end(self, signals: list[int], grace: float) -> None:
        """End all members by each signal in turn, with equal shares of the grace [s], then by SIGKILL."""
        for number in signals:
            self.send(number)
            if self.ends_within(grace / len(signals)):
                return
        self.send(signal.SIGKILL)
        self.ends_within(_KILL_LIMIT)


def main(arguments: list[str]) -> int:
    """Run the command to its end; return its exit status, 128 + n for signal n."""
    separator = arguments.index("--")
    signals = [int(number) for number in arguments[0].split(",")]
    environment = dict(item.split("=", 1) for item in arguments[1:separator])
    owner = os.getppid()
    wake = wake_on_signals()
    child, error = launch(arguments[separator + 1 :], environment)
    if error:
        say(f"error {error}")
        return 127
    say(f"pid {child}")
    group = Group(child, wake)
    grace = watch(group, owner)
    # If the command has ended by itself, its leftovers get no grace.
    group.end(signals if grace is not None else [], grace or 0.0)
    status = -signal.SIGKILL if group.status is None else os.waitstatus_to_exitcode(group.status)
    say(f"ended {status}")
    return status if status >= 0 else 128 - status


def watch(group: Group, owner: int) -> float | None:
    """Wait until the command has ended (return None) or must end (return its time for that [s])."""
    while True:
        ready, _, _ = select.select([_LIFELINE, group.wake], [], [], _POLL_PERIOD)
        caught = [number for number in drain(group.wake) if number != signal.SIGCHLD]
        group.reap()
        if group.status is not None:
            return None
        if _LIFELINE in ready:
            try:
                return float(os.read(_LIFELINE, 64))
            except (OSError, ValueError):
                return _GRACE
        if caught or os.getppid() != owner:
            return _GRACE


def launch(command: list[str], environment: dict[str, str]) -> tuple[int, int]:
    """Start the command; return its process id and the error number, 0 if it runs."""
    bind_life = life_binder()
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            bind_life()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            # Ignored signals are inherited: reset those that Python or the owner ignores.
            for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(command[0], command, environment)
        except OSError as error:
            os.write(sender, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(sender)
    # The pipe closes when the command replaces the forked process.
    error_number = int(os.read(receiver, 16) or 0)
    os.close(receiver)
    if error_number:
        os.waitpid(child, 0)
    return child, error_number


def life_binder() -> Callable[[], None]:
    """Return the function by which the forked process binds its life to this one; a no-op outside Linux.

    On Linux this process also adopts orphans of the command, so that no zombies stay in a container whose
    first process does not reap them.
    """
    if sys.platform != "linux":
        return lambda: None
    import ctypes

    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    parent = os.getpid()

    def bind_life() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(127)

    return bind_life


def wake_on_signals() -> int:
    """Return a file descriptor that yields the numbers of arriving signals."""
    wake, sender = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(sender, False)
    signal.set_wakeup_fd(sender)
    for number in _SIGNALS:
        signal.signal(number, lambda *_: None)
    # Signals blocked by the owner would never arrive, neither here nor at the command.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    return wake


def drain(wake: int) -> bytes:
    """Return the numbers of the arrived signals."""
    try:
        return os.read(wake, 64)
    except BlockingIOError:
        return b""


def say(line: str) -> None:
    """Send a line to the owner, if it still exists."""
    try:
        os.write(_LIFELINE, f"{line}\n".encode())
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
