"""Access control of the page: a secret token in every address, and a check of the origin."""

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
_INSTALLATION = threading.Lock()

Answer = Callable[[ServerConnection, Request], Response | None]


class Guard:
    """Rejection of HTTP requests and websocket handshakes without the token, or from pages of other sites.

    The token is the first part of the path. A page derives the address of its websocket from its own address,
    so the websocket carries the token too. A cookie would be sent to every port of the machine.
    """

    def __init__(self, host: str, *, limit: int) -> None:
        self._limit = limit
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        """Secret token in URL encoding."""
        self._names = own_names(host)

    def refusal(self, request: Request) -> str | None:
        """Return the reason why a request is rejected; None if it is accepted."""
        if not self._has_token(request.path):
            return "This page requires the complete address printed by Pegasus, including its token.\n"
        headers = request.headers
        if not is_own_page(headers.get("Origin"), headers.get("Host"), names=self._names):
            return "A page of another site may not use this one.\n"
        return None

    def without_token(self, request: Request) -> Request:
        """Return a request with the token removed from its path."""
        path, mark, query = request.path.partition("?")
        return replace(request, path=f"/{path.split('/', 2)[2] if path.count('/') > 1 else ''}{mark}{query}")

    @contextlib.contextmanager
    def installed(self, **options: Any) -> Iterator[None]:
        """Guard the websocket server that is started within the context.

        Args:
            options: Further options of the server, such as timeouts.

        Raises:
            RuntimeError: If no server was guarded, as none must run unguarded.
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
                response = process_request(connection, self.without_token(request))
                if response is not None:
                    # The address must not be disclosed to other sites.
                    response.headers["Referrer-Policy"] = "no-referrer"
                return response

            return serve(*arguments, process_request=answer, **{**given, **options})

        # viser has no hook for handshakes, but looks up this name when it starts.
        with _INSTALLATION:
            serve = websockets.asyncio.server.serve
            vars(websockets.asyncio.server)["serve"] = guarded
            try:
                yield
            finally:
                vars(websockets.asyncio.server)["serve"] = serve
        if not installed:
            raise RuntimeError(
                "the server of the page was not guarded; this version of viser is not supported"
            )

    def _has_token(self, path: str) -> bool:
        first = path.partition("?")[0].split("/", 2)[1:2] or [""]
        # As bytes, because non-ASCII strings cannot be compared in constant time.
        return secrets.compare_digest(first[0].encode("utf-8", "surrogateescape"), self.token.encode())


def own_names(host: str) -> frozenset[str] | None:
    """Return the valid host names of a server; None if it is reachable from this machine only."""
    if _is_loopback(host):
        return None
    name = socket.gethostname().lower()
    return frozenset({host.lower(), "localhost", name, f"{name}.local", socket.getfqdn().lower()})


def is_own_page(origin: str | None, host: str | None, *, names: frozenset[str] | None) -> bool:
    """Return whether a request comes from the server's own page, or has no origin.

    Browsers send the page that opened a websocket as Origin, and the address they connect to as Host. Both
    must agree and name this server, because a foreign host name can resolve to it (DNS rebinding). Requests
    of other programs, and those that open the address, have no Origin.

    Args:
        origin: Header Origin, if present.
        host: Header Host.
        names: Host names of the server, besides all addresses; None if reachable from this machine only.
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
