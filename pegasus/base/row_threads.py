"""Threads that run portions of the rows of a launch beside the calling one."""

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence

from pegasus.base.system import processor_count

PORTION = 64
"""Number of rows that a thread takes at a time."""
FEWEST = 512
"""Number of rows from which on threads are worth while: waking them takes some tens of microseconds."""
_SHARE = 4
"""Portions for each thread that is woken: on a large machine a few thousand rows need few threads."""
_LIMIT = "OMP_NUM_THREADS"


def thread_count() -> int:
    """Return the number of threads of a launch: one for each processor, OMP_NUM_THREADS at most."""
    limit = os.environ.get(_LIMIT, "")
    count = processor_count()
    return min(count, max(int(limit), 1)) if limit.isdecimal() else count


def portions(count: int) -> list[tuple[int, int]]:
    """Return the first row and the number of rows of each portion of a launch; one if threads do not pay.

    Args:
        count: Number of rows.
    """
    if count < FEWEST or thread_count() == 1:
        return [(0, count)]
    return [(first, min(PORTION, count - first)) for first in range(0, count, PORTION)]


def run_together(calls: Sequence[Callable[[], None]]) -> None:
    """Run calls that do not depend on each other, by this thread and others; return when all are done.

    No call waits for a thread that is asleep: this one takes all that no other has taken.

    Args:
        calls: Calls that let other threads of Python run meanwhile, and raise no error.
    """
    _thread_pool().run(calls)


class _ThreadPool:
    """Threads that wait for calls.

    Args:
        count: Number of threads.
    """

    def __init__(self, count: int) -> None:
        self._helpers = [_Helper() for _ in range(count)]
        self._used = threading.Lock()

    def run(self, calls: Sequence[Callable[[], None]]) -> None:
        """Run all calls."""
        left = iter(calls)
        # The crew of another simulation's step is left alone.
        if not self._used.acquire(blocking=False):
            _run_each(left)
            return
        helpers = self._helpers[: len(calls) // _SHARE]
        try:
            for helper in helpers:
                helper.wake(left)
            _run_each(left)
        finally:
            # After Ctrl-C too, so that no thread works on while the next step begins.
            for helper in helpers:
                helper.wait()
            self._used.release()


class _Helper:
    """Thread that sleeps until it is woken."""

    def __init__(self) -> None:
        self._left: Iterator[Callable[[], None]] = iter(())
        self._asleep, self._busy = threading.Lock(), threading.Lock()
        self._asleep.acquire()
        threading.Thread(target=self._work, name="pegasus rows", daemon=True).start()

    def wake(self, left: Iterator[Callable[[], None]]) -> None:
        """Let the thread take calls until none is left."""
        self._left = left
        # A thread that has not begun since it was woken last finds these calls instead.
        if self._asleep.locked():
            self._asleep.release()

    def wait(self) -> None:
        """Wait until the thread has finished the call that it has taken, if any."""
        with self._busy:
            pass

    def _work(self) -> None:
        while True:
            self._asleep.acquire()
            with self._busy:
                _run_each(self._left)


def _run_each(left: Iterator[Callable[[], None]]) -> None:
    # Each call is taken once: an iterator of a sequence goes on by one instruction of Python.
    for call in left:
        call()


@functools.cache
def _thread_pool() -> _ThreadPool:
    """Return the threads of this process."""
    return _ThreadPool(thread_count() - 1)


if hasattr(os, "register_at_fork"):
    # A fork has none of the threads of its parent.
    os.register_at_fork(after_in_child=_thread_pool.cache_clear)
