"""Fairness among browsers: how often each is sent pictures, and a queue of its own for what it asks for."""

import asyncio
import math
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, TypeVar

from viser.infra import Message, WebsockServer

PICTURE_RATE = 30.0
"""Pictures per second that one browser gets at most [Hz]."""
_FULL_RATE_COUNT = 4
_SHARED_RATE = 120.0
"""Pictures per second of all browsers together that came after those with the full rate [Hz]."""
_MOST_WAITING = 16
"""Actions of one browser that may wait; what it asks for beyond is dropped."""

CLIENT_LIMIT = 64
"""Browsers that are served at once."""
TIME_OUTS = {"open_timeout": 10.0, "ping_interval": 10.0, "ping_timeout": 20.0, "close_timeout": 2.0}
"""Of a handshake, between questions whether a browser is there, of its answer, and of its farewell [s]."""


T = TypeVar("T")


class Pacing:
    """Send pictures to a few browsers at the full rate and to all others together at a bounded one.

    So further browsers cost the simulation a bounded share of the processor, and slow nobody who was there.

    Args:
        server: The websockets of a page that nobody knows yet.
    """

    def __init__(self, server: WebsockServer) -> None:
        self._server = server
        buffer = server.get_message_buffer()
        self._windows = buffer.window_generator
        # What is newer takes the place of what was not sent yet, in the buffer itself.
        vars(buffer)["window_generator"] = self._paced
        self._full = buffer.max_window_size
        self._moved: dict[int, float] = {}

    def pause(self, client: int) -> float:
        """Return how long a browser waits between two pictures [s]; 0 for each one as it comes.

        Args:
            client: Number of the browser; those that came earlier have lower ones.
        """
        clients = list(self._server._client_state_from_id)
        if sum(other < client for other in clients) < _FULL_RATE_COUNT:
            return 0.0
        return (len(clients) - _FULL_RATE_COUNT) / _SHARED_RATE

    def due(self, clients: Iterable[int], now: float) -> list[int]:
        """Return those of some browsers whose cameras are to be moved with this picture.

        Args:
            clients: Numbers of all browsers that are there.
            now: Wall time [s].
        """
        last = {client: self._moved.get(client, -math.inf) for client in clients}
        due = [client for client, moved in last.items() if now - moved >= self.pause(client)]
        self._moved = last | dict.fromkeys(due, now)
        return due

    async def _paced(
        self, client_id: int, backlog_done_message: Message | None = None
    ) -> AsyncGenerator[Sequence[Message], None]:
        windows = self._windows(client_id, backlog_done_message=backlog_done_message)
        try:
            async for window in windows:
                yield window
                # The world comes at once.
                if len(window) < self._full:
                    await asyncio.sleep(self.pause(client_id))
        finally:
            await windows.aclose()


class Desk(Executor):
    """Do what browsers ask for: for each one thing after the other, for all at the same time.

    It takes the place of viser's own threads, which all browsers share: there one whose actions wait holds up
    the others. What a browser asks for while too much of it waits is dropped.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, deque[Callable[[], None]]] = {}
        self._closed = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """Do something after what the same browser has asked for before.

        Args:
            fn: What is done, in a thread of the browser's own.
            args: Its arguments; the first one says by its `client_id` which browser asks.
            kwargs: More of them.

        Raises:
            RuntimeError: If it is closed.
        """
        future: Future[T] = Future()
        client = int(getattr(args[0], "client_id", None) or 0) if args else -1
        work = partial(_done, future, partial(fn, *args, **kwargs))
        with self._lock:
            if self._closed:
                raise RuntimeError("the page is closed")
            waiting = self._waiting.get(client)
            if waiting is not None and len(waiting) >= _MOST_WAITING:
                future.cancel()
            elif waiting is not None:
                waiting.append(work)
            else:
                self._waiting[client] = deque([work])
                name = f"pegasus-browser-{client}"
                threading.Thread(target=self._serve, args=(client,), name=name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take nothing more; what was begun is finished, what waits is dropped.

        Args:
            wait: Of no effect: actions may wait for a simulation that is closed later.
            cancel_futures: Of no effect.
        """
        with self._lock:
            self._closed = True
            for waiting in self._waiting.values():
                waiting.clear()

    def _serve(self, client: int) -> None:
        """Do all that a browser asks for, until nothing is left."""
        while True:
            with self._lock:
                waiting = self._waiting[client]
                if not waiting:
                    del self._waiting[client]
                    return
                work = waiting.popleft()
            work()


def _done(future: "Future[T]", action: Callable[[], T]) -> None:
    """Do something, and put what comes of it into a future."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(action())
    except BaseException as error:
        future.set_exception(error)
