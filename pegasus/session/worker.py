"""Worker thread of a session and pacing of simulated time against wall time."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from pegasus.base.components import require

T = TypeVar("T")

LOWEST_SPEED, HIGHEST_SPEED = 0.1, 1000.0

_LARGEST_LAG = 0.25
_SPAN = 1.0
"""Wall time over which the achieved speed is measured [s]."""


class Worker:
    """Thread that repeats a function, and executes calls of other threads in between.

    Args:
        name: Name of the thread.
        turn: Function that is repeated; returns how long to wait for calls before the next turn [s].
        after_call: Called after each call, before the caller continues.
        on_error: Called with the error of a function run by a timeout.
    """

    def __init__(
        self,
        name: str,
        *,
        turn: Callable[[], float],
        after_call: Callable[[], None],
        on_error: Callable[[Exception], None],
    ) -> None:
        self._turn, self._after_call, self._on_error = turn, after_call, on_error
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._deadlines: dict[str, tuple[float, Callable[[], None]]] = {}
        # Guards `_closed`: every call made before closing is executed, later ones are rejected.
        self._lock = threading.Lock()
        self._closed = False
        # Daemon thread: exits with the interpreter.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def has_pending(self) -> bool:
        """Whether calls are waiting."""
        return not self._calls.empty()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def call(self, action: Callable[[], T]) -> T:
        """Call a function in the thread, and return its result or raise its error.

        Raises:
            RuntimeError: If the worker is closed.
        """
        if threading.current_thread() is self._thread:
            return action()
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("this session is closed; make a new one")
            self._calls.put((action, future))
        return future.result()

    def set_timeout(self, key: str, seconds: float | None, action: Callable[[], None]) -> None:
        """Call a function after some wall time, unless the same key is set again earlier.

        Args:
            key: Name of the timeout.
            seconds: Wall time [s]; None to cancel.
            action: The function; it runs in the thread.
        """

        def schedule() -> None:
            self._deadlines.pop(key, None)
            if seconds is not None:
                self._deadlines[key] = time.perf_counter() + seconds, action

        self.call(schedule)

    def clear_timeouts(self) -> None:
        """Cancel all timeouts; must be called in the thread."""
        self._deadlines.clear()

    def close(self, last: Callable[[], None]) -> None:
        """Execute the waiting calls and a final function, then end the thread; repeated calls are allowed."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._calls.put((last, Future()))
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while not self._closed or not self._calls.empty():
            wait = self._turn()
            self._meet_deadlines()
            self._answer(wait)

    def _answer(self, wait: float) -> None:
        """Execute one call; wait up to a time for it."""
        try:
            action, future = self._calls.get(timeout=wait) if wait > 0 else self._calls.get_nowait()
        except Empty:
            return
        try:
            result = action()
        except BaseException as error:
            self._after_call()
            future.set_exception(error)
        else:
            self._after_call()
            future.set_result(result)

    def _meet_deadlines(self) -> None:
        if not self._deadlines:
            return
        now = time.perf_counter()
        for key in [key for key, (end, _) in self._deadlines.items() if now >= end]:
            try:
                self._deadlines.pop(key)[1]()
            except Exception as error:
                self._on_error(error)


class Pace:
    """Pacing of simulated time to a multiple of wall time."""

    def __init__(self) -> None:
        self.speed: float | None = 1.0
        """Target speed as a multiple of real time; None for unlimited."""
        self.real_time_factor = 0.0
        """Achieved speed over the last second, as a multiple of real time."""
        self._mark = self._factor_mark = 0.0, 0.0

    @staticmethod
    def check(speed: float | None) -> None:
        """Validate a speed.

        Args:
            speed: Multiple of real time; None for unlimited.

        Raises:
            ConfigError: If it is not allowed.
        """
        allowed = f"must be from {LOWEST_SPEED:g} to {HIGHEST_SPEED:g} times real time, or max"
        require(speed is None or LOWEST_SPEED <= speed <= HIGHEST_SPEED, "speed", speed, allowed)

    def begin(self, now: float, time: float) -> None:
        """Restart pacing and measurement.

        Args:
            now: Wall time [s].
            time: Simulated time [s].
        """
        self._mark = self._factor_mark = now, time
        self.real_time_factor = 0.0

    def wait(self, now: float, time: float) -> float:
        """Return the wall time until the next step is due [s]; 0 if it is due.

        Args:
            now: Wall time [s].
            time: Simulated time [s].
        """
        if self.speed is None:
            return 0.0
        began, first = self._mark
        ahead = (time - first) / self.speed - (now - began)
        if ahead < -_LARGEST_LAG:
            # Lost time is not made up for by a burst of steps.
            self._mark = now, time
        return max(ahead, 0.0)

    def measure(self, now: float, time: float) -> None:
        """Update the achieved speed.

        Args:
            now: Wall time [s].
            time: Simulated time [s].
        """
        began, first = self._factor_mark
        if now - began >= _SPAN:
            self.real_time_factor = (time - first) / (now - began)
            self._factor_mark = now, time
