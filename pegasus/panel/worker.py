"""A thread that has one thing to itself: it does what others ask for between two turns of its own."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """Run turns in a thread of its own, and what others ask for in between.

    Args:
        name: Name of the thread.
        turn: Done over and over; returns how long to wait for what is asked for before the next one [s].
        asked: Done after each thing that was asked for, before whoever asked goes on.
        failed: Takes the error of something that was put off.
    """

    def __init__(
        self,
        name: str,
        *,
        turn: Callable[[], float],
        asked: Callable[[], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._turn, self._asked, self._failed = turn, asked, failed
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._deadlines: dict[str, tuple[float, Callable[[], None]]] = {}
        # Whoever asks before the end is answered: nothing comes in after it.
        self._door = threading.Lock()
        self._closed = False
        # Of the interpreter's own accord it ends with the program, even if nobody closes it.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def wanted(self) -> bool:
        """Whether somebody has asked for something."""
        return not self._calls.empty()

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def call(self, action: Callable[[], T]) -> T:
        """Do something in the thread, and return what it gives; errors come back as well.

        Args:
            action: What is done.

        Raises:
            RuntimeError: If the worker is closed.
        """
        if threading.current_thread() is self._thread:
            return action()
        future: Future[T] = Future()
        with self._door:
            if self._closed:
                raise RuntimeError("this session is closed; make a new one")
            self._calls.put((action, future))
        return future.result()

    def within(self, key: str, seconds: float | None, action: Callable[[], None]) -> None:
        """Do something after some wall time unless the same key is set again before.

        Args:
            key: Names what is put off.
            seconds: Wall time [s]; None to forget it.
            action: What is done, in the thread.
        """

        def put_off() -> None:
            self._deadlines.pop(key, None)
            if seconds is not None:
                self._deadlines[key] = time.perf_counter() + seconds, action

        self.call(put_off)

    def forget(self) -> None:
        """Forget all that was put off; to be called in the thread."""
        self._deadlines.clear()

    def close(self, last: Callable[[], None]) -> None:
        """Do what was asked for, then one last thing, and end the thread; calling it twice is allowed.

        Args:
            last: The last thing that is done.
        """
        with self._door:
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
        """Do what is asked for, and wait a while for it where there is time."""
        try:
            action, future = self._calls.get(timeout=wait) if wait > 0 else self._calls.get_nowait()
        except Empty:
            return
        try:
            result = action()
        except BaseException as error:
            self._asked()
            future.set_exception(error)
        else:
            self._asked()
            future.set_result(result)

    def _meet_deadlines(self) -> None:
        if not self._deadlines:
            return
        now = time.perf_counter()
        for key in [key for key, (end, _) in self._deadlines.items() if now >= end]:
            try:
                self._deadlines.pop(key)[1]()
            except Exception as error:
                self._failed(error)
