"""Pacing of a run: its speed limit, and Ctrl-C between two steps."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

LONGEST_SLEEP = 0.05
"""Maximum time between two checks of the state of the run [s]."""
_LARGEST_LAG = 0.25  # [s]


class Pacer:
    """Limit of the speed of a run.

    Args:
        speed: Speed [times real time]; unlimited if None.
        now: Simulated time at the start [s].
    """

    def __init__(self, speed: float | None, now: float) -> None:
        self._speed = speed
        self.restart(now)

    def restart(self, now: float) -> None:
        """Measure the speed from now on.

        Args:
            now: Simulated time [s].
        """
        self._began, self._first = time.perf_counter(), now

    def sleep(self, now: float) -> bool:
        """Sleep if the simulation is ahead, for `LONGEST_SLEEP` at most, and return whether it was.

        Args:
            now: Simulated time [s].
        """
        if self._speed is None:
            return False
        ahead = (now - self._first) / self._speed - (time.perf_counter() - self._began)
        if ahead > 0:
            time.sleep(min(ahead, LONGEST_SLEEP))
            return True
        if ahead < -_LARGEST_LAG:
            # Drop the lag, so that no burst of steps follows.
            self.restart(now)
        return False


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], None]]:
    """Defer Ctrl-C, in the main thread only, until the function that this yields is called.

    A second Ctrl-C takes effect at once.
    """
    pending = False

    def raise_pending() -> None:
        if pending:
            raise KeyboardInterrupt

    def interrupt(*_: Any) -> None:
        nonlocal pending
        raise_pending()
        pending = True

    if threading.current_thread() is not threading.main_thread():
        yield raise_pending
        return
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield raise_pending
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)


class ThreadInBlock:
    """Thread that is within a block; as a context manager it marks the block."""

    def __init__(self) -> None:
        self.thread: int | None = None

    def __enter__(self) -> None:
        self.thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        self.thread = None


class Stepper:
    """Threads that run and step a simulation."""

    def __init__(self) -> None:
        self.running, self.within_step = ThreadInBlock(), ThreadInBlock()

    def require_free(self, action: str = "step") -> None:
        """Raise a RuntimeError within a step, and while another thread runs the simulation.

        Args:
            action: What is to be done with the simulation, for the message.
        """
        here = threading.get_ident()
        if self.within_step.thread == here:
            raise RuntimeError(
                f"an observer or backend cannot {action} its simulation; do so after `sim.step()`"
            )
        if self.running.thread not in (None, here):
            raise RuntimeError("another thread runs this simulation; step it or wait in that thread")
