"""Who may use the page: browsers that were opened at it, and no page of another site inside of them."""

import ipaddress
import socket
from urllib.parse import urlsplit

import viser
from viser import infra

_REFUSED = 1008
"""The websocket status of what a policy forbids."""


def guard(server: viser.ViserServer, *, host: str) -> None:
    """Let a server refuse every connection that a page of another site has opened.

    Args:
        server: The server; connections that it already has are made anew.
        host: Address that it listens at.
    """
    connections, names = server._websock_server, own_names(host)

    async def look(client: infra.WebsockClientConnection) -> None:
        connection = connections._live_connections[client.client_id]
        headers = connection.request.headers if connection.request is not None else {}
        if is_own_page(headers.get("Origin"), headers.get("Host"), names=names):
            return
        del connections._live_connections[client.client_id]
        del connections._client_state_from_id[client.client_id]
        await connection.close(_REFUSED, "a page of another site may not use this one")
        # The end of the connection, before anything that it has sent already is looked at.
        raise PermissionError("refused")

    connections.on_client_connect(look)
    connections.disconnect_all_clients()


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
    """Return whether a connection comes from the server's own page, or from no browser at all.

    A browser says in Origin which page has opened the connection, and in Host whom it believes to talk to.
    The two must be one place, and one that is this server's: a name of somebody else's may be made to lead
    here.

    Args:
        origin: The header Origin; None from a program that is no browser.
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
