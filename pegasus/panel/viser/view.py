"""Web server that displays a simulation in browsers."""

import asyncio
import contextlib
import errno
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import TracebackType

import rich
import viser
from viser.infra import WebsockMessageHandler

from pegasus.base.errors import ConfigError
from pegasus.base.system import LOCAL, PORT
from pegasus.panel.view_part import ViewPart
from pegasus.panel.viser.camera import WebCameras
from pegasus.panel.viser.clients import CLIENT_LIMIT, FRAME_RATE, TIME_OUTS, ClientExecutor, ClientPacing
from pegasus.panel.viser.guard import Guard
from pegasus.panel.viser.scene import WebMarks, WebScene
from pegasus.session.snapshot import Snapshot

_LINGER = 0.1
"""Idle polling interval without browsers [s]."""

_log = logging.getLogger(__name__)

Refresh = Callable[[Snapshot], None]


class WebView:
    """Display of a simulation in browsers, without effect on the simulation.

    Args:
        source: Returns the last snapshot of the simulation; must not block.
        settings: Settings of the view.
        host: Address to listen at; 127.0.0.1 accepts this machine only.
        port: Port to listen at; a free one when 0.

    Raises:
        ConfigError: If the port is in use or the address is not a local one.
    """

    def __init__(
        self,
        source: Callable[[], Snapshot],
        settings: ViewPart,
        *,
        host: str = LOCAL,
        port: int = PORT,
    ) -> None:
        self._source, self._settings = source, settings
        self._guard = Guard(host, limit=CLIENT_LIMIT)
        self.server = _server(self._guard, host, port)
        """Server of the page."""
        self._host = host
        self._scene = WebScene(self.server)
        self._marks = WebMarks(self.server)
        self._cameras = WebCameras(self.server, settings, ClientPacing(self.server._websock_server))
        self.server.on_client_connect(lambda client: _set_by_its_loop(client._websock_connection))
        self._refreshers: list[Refresh] = []
        self._ended = threading.Event()
        self._failed_on = -1
        self._thread = threading.Thread(target=self._run, name="pegasus-web", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """URL of the page, including the access token."""
        host = LOCAL if self._host in ("0.0.0.0", "") else self._host
        port = self.server.get_port()
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/{self._guard.token}/"

    @property
    def has_clients(self) -> bool:
        """Whether a browser is connected."""
        return bool(self.server.get_clients())

    def on_frame(self, refresh: Refresh) -> None:
        """Register a function that is called with every frame, in the thread of the view.

        Args:
            refresh: Called with the displayed snapshot.
        """
        self._refreshers.append(refresh)

    def close(self) -> None:
        """Stop the server and disconnect all browsers; repeated calls are allowed."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._thread.join()
        with _quiet():
            self.server.stop()

    def __enter__(self) -> "WebView":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        due = time.perf_counter()
        shown = -1
        while not self._ended.is_set():
            snapshot = self._source()
            # Without browsers nothing is updated except a new world, so that later ones find it ready.
            new_world = snapshot.generation != shown
            if self.has_clients or new_world:
                shown = snapshot.generation
                self._show(snapshot)
                due = max(due + 1.0 / FRAME_RATE, time.perf_counter())
                self._ended.wait(due - time.perf_counter())
            else:
                self._ended.wait(_LINGER)

    def _show(self, snapshot: Snapshot) -> None:
        try:
            with self.server.atomic():
                self._scene.show(snapshot)
                self._marks.show(snapshot, self._settings.drawing, self._settings.followed_vehicle(snapshot))
                for refresh in self._refreshers:
                    refresh(snapshot)
            self._cameras.show(snapshot)
        except Exception as error:
            # Reported once per world; the simulation continues.
            if snapshot.generation != self._failed_on:
                self._failed_on = snapshot.generation
                _log.error("the view cannot be shown", exc_info=error)


class _Server(viser.ViserServer):
    """Server that cannot be published on the internet by a page."""

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Reject publication through viser's public relay."""
        return None


class _LoopEvent(asyncio.Event):
    """Event that can be set by its loop only.

    asyncio's events are not thread-safe. viser sets the event of a message buffer in the sending thread,
    which fails occasionally while a browser connects or disconnects, and a second time through the loop,
    which suffices.
    """

    def set(self) -> None:
        """Set the event if called in the thread of its loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        super().set()


def _set_by_its_loop(sender: WebsockMessageHandler) -> None:
    """Replace the event of a message buffer by one that is set by its loop only."""
    buffer = sender.get_message_buffer()
    before, buffer.message_event = buffer.message_event, _LoopEvent()
    # Wakes waiting tasks, which then wait for the new event.
    buffer.event_loop.call_soon_threadsafe(before.set)


def _server(guard: Guard, host: str, port: int) -> viser.ViserServer:
    """Return a guarded server at exactly this port."""
    _require_free(host, port)
    # A browser that disconnects during a handshake is not an error.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    with _quiet(), guard.installed(**TIME_OUTS):
        server = _Server(host=host, port=port, label="Pegasus", verbose=False)
    _set_by_its_loop(server._websock_server)
    _replace_threads(server, ClientExecutor())
    if port not in (0, server.get_port()):
        with _quiet():
            server.stop()
        raise _in_use(port)
    server.gui.configure_theme(
        show_logo=False, show_share_button=False, control_width="large", brand_color=(35, 105, 190)
    )
    return server


def _replace_threads(server: viser.ViserServer, executor: ClientExecutor) -> None:
    """Replace viser's thread pool for actions of browsers."""
    server._thread_executor.shutdown(wait=False)
    for place in (server, server.gui, server.scene):
        vars(place)["_thread_executor"] = executor


def _require_free(host: str, port: int) -> None:
    if not 0 <= port <= 65535:
        raise ConfigError("must be from 0 to 65535", field="--port", value=port, remedy="choose another")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            attempt.bind(address)
    except PermissionError:
        raise ConfigError(
            "requires administrator rights", field="--port", value=port, remedy="choose one from 1024 up"
        ) from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise _in_use(port) from None
        raise ConfigError(
            "is not a local address",
            field="--host",
            value=host,
            remedy=f"use {LOCAL} for this machine only, or 0.0.0.0 for the whole network",
        ) from None


def _in_use(port: int) -> ConfigError:
    return ConfigError(
        "is in use by another program",
        field="--port",
        value=port,
        remedy="end that program, or choose another port (0 for a free one)",
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress terminal output of the server."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
