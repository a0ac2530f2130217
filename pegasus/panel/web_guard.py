"""Access to the page: a token in its address, asked of every request, and the origin that browsers state."""

import contextlib
import http
import ipaddress
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import websockets.asyncio.server
from websockets.asyncio.server import ServerConnection
from websockets.http11 import Request, Response

_TOKEN_BYTES = 24
_ONE_AT_A_TIME = threading.Lock()

Answer = Callable[[ServerConnection, Request], Response | None]


class Guard:
    """Refuse every HTTP request and websocket handshake without the token, and those of other sites' pages.

    The token is the first part of the path. A page derives the address of its websocket from its own, so
    the websocket carries the token too, without a cookie, which browsers send to every port of a machine.

    Args:
        host: Address that the server listens at.
        limit: Websockets that are open at once.
    """

    def __init__(self, host: str, *, limit: int) -> None:
        self._limit = limit
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        """What an address must hold, as URLs have it."""
        self._names = own_names(host)

    def refusal(self, request: Request) -> str | None:
        """Return why a request is refused; None if it is not.

        Args:
            request: What came in.
        """
        if not self._has_token(request.path):
            return "This page needs the whole address that Pegasus printed, with its token.\n"
        headers = request.headers
        if not is_own_page(headers.get("Origin"), headers.get("Host"), names=self._names):
            return "A page of another site may not use this one.\n"
        return None

    def within(self, request: Request) -> Request:
        """Return a request that is let in as the server behind the guard knows it, without the token.

        Args:
            request: What came in.
        """
        path, mark, query = request.path.partition("?")
        return replace(request, path=f"/{path.split('/', 2)[2] if path.count('/') > 1 else ''}{mark}{query}")

    @contextlib.contextmanager
    def installed(self, **options: Any) -> Iterator[None]:
        """Let a websocket server that is started meanwhile ask before it answers anything.

        Args:
            options: Further options of the server, such as its time-outs.

        Raises:
            RuntimeError: If no server has asked for it: none must run unguarded.
        """
        installed = False

        def guarded(*arguments: Any, process_request: Answer, **given: Any) -> Any:
            nonlocal installed
            installed = True

            def answer(connection: ServerConnection, request: Request) -> Response | None:
                if (reason := self.refusal(request)) is not None:
                    return connection.respond(http.HTTPStatus.FORBIDDEN, reason)
                if "Upgrade" in request.headers and len(connection.server.connections) >= self._limit:
                    text = f"This page serves {self._limit} browsers at once; close one.\n"
                    return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, text)
                response = process_request(connection, self.within(request))
                if response is not None:
                    # Other sites must not learn the address of the page.
                    response.headers["Referrer-Policy"] = "no-referrer"
                return response

            return serve(*arguments, process_request=answer, **{**given, **options})

        # viser has no hook for what comes before a connection; it looks this name up when it starts.
        with _ONE_AT_A_TIME:
            serve = websockets.asyncio.server.serve
            vars(websockets.asyncio.server)["serve"] = guarded
            try:
                yield
            finally:
                vars(websockets.asyncio.server)["serve"] = serve
        if not installed:
            raise RuntimeError(
                "the server of the page has not asked for its guard; this version is not known"
            )

    def _has_token(self, path: str) -> bool:
        said = path.partition("?")[0].split("/", 2)[1:2] or [""]
        # Bytes, since texts that are not ASCII cannot be compared in constant time.
        return secrets.compare_digest(said[0].encode("utf-8", "surrogateescape"), self.token.encode())


def own_names(host: str) -> frozenset[str] | None:
    """Return the names that a server is rightly called by, beside addresses; None for this machine alone.

    Args:
        host: Address that it listens at.
    """
    if _is_loopback(host):
        return None
    name = socket.gethostname().lower()
    return frozenset({host.lower(), "localhost", name, f"{name}.local", socket.getfqdn().lower()})


def is_own_page(origin: str | None, host: str | None, *, names: frozenset[str] | None) -> bool:
    """Return whether a request comes from the server's own page, or states no page.

    A browser says in Origin which page has opened a websocket, and in Host whom it believes to talk to.
    The two must be one place, and one that is this server's: a name of somebody else's may be made to lead
    here. Programs that are no browsers, and browsers that only open an address, state no origin.

    Args:
        origin: The header Origin; None where there is none.
        host: The header Host.
        names: Names of the server, beside all addresses; None where it is reached from this machine alone.
    """
    if origin is None:
        return True
    try:
        place = urlsplit(origin)
        if host is None or place.netloc.lower() != host.lower():
            return False
        name = (place.hostname or "").lower()
    except ValueError:
        return False
    if names is None:
        return _is_loopback(name)
    return name in names or _is_address(name)


def _is_loopback(name: str) -> bool:
    return name.lower() == "localhost" or (_is_address(name) and ipaddress.ip_address(name).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
