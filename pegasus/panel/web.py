"""The panel in browsers: a server on this machine that shows a simulation, and takes what its users do."""

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

from pegasus.cli_view import LOCAL, PORT
from pegasus.errors import ConfigError
from pegasus.panel.snapshot import Snapshot
from pegasus.panel.view_part import ViewPart
from pegasus.panel.web_camera import WebCameras
from pegasus.panel.web_clients import CLIENT_LIMIT, PICTURE_RATE, TIME_OUTS, Desk, Pacing
from pegasus.panel.web_guard import Guard
from pegasus.panel.web_marks import WebMarks
from pegasus.panel.web_scene import WebScene

_LINGER = 0.1
"""How often it is looked whether somebody watches, while nobody does [s]."""

_log = logging.getLogger(__name__)

Refresh = Callable[[Snapshot], None]


class WebView:
    """Show a simulation in browsers; what they do, and when they come and go, never touches it.

    Args:
        source: Gives the last snapshot of the simulation; it must not wait.
        look: What is looked at and drawn.
        host: Address to listen at; 127.0.0.1 is for this machine alone.
        port: Port to listen at; a free one when 0.

    Raises:
        ConfigError: If the port is in use or the address is not one of this machine's.
    """

    def __init__(
        self,
        source: Callable[[], Snapshot],
        look: ViewPart,
        *,
        host: str = LOCAL,
        port: int = PORT,
    ) -> None:
        self._source, self._look = source, look
        self._guard = Guard(host, limit=CLIENT_LIMIT)
        self.server = _server(self._guard, host, port)
        """The server."""
        self._host = host
        self._scene = WebScene(self.server)
        self._marks = WebMarks(self.server)
        self._cameras = WebCameras(self.server, look, Pacing(self.server._websock_server))
        self.server.on_client_connect(lambda client: _set_by_its_loop(client._websock_connection))
        self._refreshers: list[Refresh] = []
        self._ended = threading.Event()
        self._failed_on = -1
        self._thread = threading.Thread(target=self._run, name="pegasus-web", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where a browser finds it, with the token that lets it in."""
        host = LOCAL if self._host in ("0.0.0.0", "") else self._host
        port = self.server.get_port()
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/{self._guard.token}/"

    @property
    def watched(self) -> bool:
        """Whether a browser is connected."""
        return bool(self.server.get_clients())

    def on_picture(self, refresh: Refresh) -> None:
        """Let something else be brought up to date with every picture, in the thread of the view.

        Args:
            refresh: Called with the snapshot that is shown.
        """
        self._refreshers.append(refresh)

    def close(self) -> None:
        """End the server and let its browsers go; calling it twice is allowed."""
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
            # What nobody looks at costs nothing; who comes later finds the world, which is made at once.
            new_world = snapshot.generation != shown
            if self.watched or new_world:
                shown = snapshot.generation
                self._show(snapshot)
                due = max(due + 1.0 / PICTURE_RATE, time.perf_counter())
                self._ended.wait(due - time.perf_counter())
            else:
                self._ended.wait(_LINGER)

    def _show(self, snapshot: Snapshot) -> None:
        try:
            with self.server.atomic():
                self._scene.show(snapshot)
                self._marks.show(snapshot, self._look.drawing, self._look.followed_vehicle(snapshot))
                for refresh in self._refreshers:
                    refresh(snapshot)
            self._cameras.show(snapshot)
        except Exception as error:
            # A picture that fails is said once for each world, and the simulation goes on.
            if snapshot.generation != self._failed_on:
                self._failed_on = snapshot.generation
                _log.error("the view cannot be shown", exc_info=error)


class _Server(viser.ViserServer):
    """A server that no page can ask to make itself public."""

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Refuse to be reached through a relay on the internet."""
        return None


class _LoopEvent(asyncio.Event):
    """An event that its loop alone sets.

    asyncio's events are not for threads. The buffers of viser set theirs in the thread that sends, which
    fails now and then while a browser comes or goes, and once more through the loop, which is enough.
    """

    def set(self) -> None:
        """Set it, in the thread of its loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        super().set()


def _set_by_its_loop(sender: WebsockMessageHandler) -> None:
    """Let what a buffer of messages waits for be set in the thread of its loop alone."""
    buffer = sender.get_message_buffer()
    before, buffer.message_event = buffer.message_event, _LoopEvent()
    # Who waits already looks again, and then at the new one.
    buffer.event_loop.call_soon_threadsafe(before.set)


def _server(guard: Guard, host: str, port: int) -> viser.ViserServer:
    """Return a server at exactly this port that lets in nobody whom a guard refuses."""
    _require_free(host, port)
    # A browser that goes away in the middle of a sentence is no error of anybody's.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    with _quiet(), guard.installed(**TIME_OUTS):
        server = _Server(host=host, port=port, label="Pegasus", verbose=False)
    _set_by_its_loop(server._websock_server)
    _replace_threads(server, Desk())
    if port not in (0, server.get_port()):
        with _quiet():
            server.stop()
        raise _in_use(port)
    server.gui.configure_theme(
        show_logo=False, show_share_button=False, control_width="large", brand_color=(35, 105, 190)
    )
    return server


def _replace_threads(server: viser.ViserServer, desk: Desk) -> None:
    """Let a desk do what browsers ask for, in the place of viser's own threads."""
    server._thread_executor.shutdown(wait=False)
    for place in (server, server.gui, server.scene):
        vars(place)["_thread_executor"] = desk


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
            "needs an administrator", field="--port", value=port, remedy="choose one from 1024 up"
        ) from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise _in_use(port) from None
        raise ConfigError(
            "is no address of this machine",
            field="--host",
            value=host,
            remedy=f"{LOCAL} for this machine alone, 0.0.0.0 for its whole network",
        ) from None


def _in_use(port: int) -> ConfigError:
    return ConfigError(
        "is in use by another program",
        field="--port",
        value=port,
        remedy="end that one, or choose another port; 0 takes a free one",
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the server from writing about itself on the terminal."""
    console = rich.get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before
