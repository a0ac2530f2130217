"""Fair scheduling of browsers: frame rates, and one queue of actions per browser."""

import asyncio
import math
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, TypeVar

from viser.infra import Message, WebsockServer

FRAME_RATE = 30.0
"""Maximum frame rate of one browser [Hz]."""
_FULL_RATE_COUNT = 4
"""Number of browsers served at the full rate."""
_SHARED_RATE = 120.0
"""Total frame rate of all further browsers [Hz]."""
_MAX_WAITING = 16
"""Maximum number of waiting actions of one browser; further ones are dropped."""

CLIENT_LIMIT = 64
"""Maximum number of connected browsers."""
TIME_OUTS = {"open_timeout": 10.0, "ping_interval": 10.0, "ping_timeout": 20.0, "close_timeout": 2.0}
"""Websocket timeouts [s]."""


T = TypeVar("T")


class ClientPacing:
    """Frame rates of browsers: the full rate for a few, a bounded total rate for all others.

    The load of further browsers on the simulation is bounded, and earlier browsers are not slowed down.

    Args:
        server: Websocket server without clients yet.
    """

    def __init__(self, server: WebsockServer) -> None:
        self._server = server
        buffer = server.get_message_buffer()
        self._windows = buffer.window_generator
        # The buffer replaces unsent messages by newer ones.
        vars(buffer)["window_generator"] = self._paced
        self._full = buffer.max_window_size
        self._moved: dict[int, float] = {}

    def pause(self, client: int) -> float:
        """Return the pause of a browser between two frames [s]; 0 for the full rate.

        Args:
            client: Number of the browser, increasing with the time of connection.
        """
        clients = list(self._server._client_state_from_id)
        if sum(other < client for other in clients) < _FULL_RATE_COUNT:
            return 0.0
        return (len(clients) - _FULL_RATE_COUNT) / _SHARED_RATE

    def due(self, clients: Iterable[int], now: float) -> list[int]:
        """Return the browsers whose cameras are to be moved with this frame.

        Args:
            clients: Numbers of all connected browsers.
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
                # Full windows belong to the initial transfer of the world, which is not delayed.
                if len(window) < self._full:
                    await asyncio.sleep(self.pause(client_id))
        finally:
            await windows.aclose()


class ClientExecutor(Executor):
    """Executor with one queue and thread per browser.

    It replaces viser's thread pool, in which a browser with waiting actions blocks the others. Actions beyond
    the limit of a queue are dropped.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, deque[Callable[[], None]]] = {}
        self._closed = False

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """Queue a function after earlier actions of the same browser.

        Args:
            fn: The function, which runs in the browser's thread; a method `capture` of it is called now and
                returns the function to run.
            args: Its arguments; `client_id` of the first one identifies the browser.
            kwargs: Its keyword arguments.

        Raises:
            RuntimeError: If the executor is closed.
        """
        future: Future[T] = Future()
        client = int(getattr(args[0], "client_id", None) or 0) if args else -1
        capture = getattr(fn, "capture", None)
        with self._lock:
            if self._closed:
                raise RuntimeError("the page is closed")
            waiting = self._waiting.get(client)
            if waiting is not None and len(waiting) >= _MAX_WAITING:
                future.cancel()
                return future
            action = partial(fn, *args, **kwargs) if capture is None else capture(*args)
            work = partial(_done, future, action)
            if waiting is not None:
                waiting.append(work)
            else:
                self._waiting[client] = deque([work])
                name = f"pegasus-browser-{client}"
                threading.Thread(target=self._serve, args=(client,), name=name, daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Reject new actions and drop waiting ones; running ones are completed.

        Args:
            wait: Ignored: actions may wait for a simulation that is closed later.
            cancel_futures: Ignored.
        """
        with self._lock:
            self._closed = True
            for waiting in self._waiting.values():
                waiting.clear()

    def _serve(self, client: int) -> None:
        """Execute the actions of a browser until its queue is empty."""
        while True:
            with self._lock:
                waiting = self._waiting[client]
                if not waiting:
                    del self._waiting[client]
                    return
                work = waiting.popleft()
            work()


def _done(future: "Future[T]", action: Callable[[], T]) -> None:
    """Call a function and store its result or error in a future."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(action())
    except BaseException as error:
        future.set_exception(error)
