"""Ports of autopilots: sockets, free instances, and the processes that hold a port."""

import errno
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pegasus.base.errors import ConfigError

PortKind = Literal["tcp", "udp"]

_HOSTS = ("0.0.0.0", "127.0.0.1")
"""Addresses at which a port is tried: not every system refuses 0.0.0.0 if the port is taken at one."""
_SOCKET_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
_PROC = Path("/proc")
# Columns of /proc/net/{tcp,udp}: local and remote address and port in hexadecimal, inode (proc(5)).
_LOCAL_COLUMN, _REMOTE_COLUMN, _INODE_COLUMN = 1, 2, 9
_CREDENTIALS = struct.Struct("3i")
"""Layout of SO_PEERCRED: pid, user and group of the process at the other end of a Unix socket (unix(7))."""


def listen(host: str, port: int) -> socket.socket:
    """Return a non-blocking TCP socket that listens; recently closed connections do not hold the port.

    Args:
        host: Address or name of this machine.
        port: Port; 0 for any free one.

    Raises:
        ConfigError: If the port is in use, with the name of its holder if visible, or port or host cannot be
            used.
    """
    return _bound(host, port, "tcp")


def bind_udp(host: str, port: int) -> socket.socket:
    """Return a non-blocking UDP socket bound to a port.

    Args:
        host: Address or name of this machine.
        port: Port; 0 for any free one.

    Raises:
        ConfigError: If the port is in use, with the name of its holder if visible, or port or host cannot be
            used.
    """
    return _bound(host, port, "udp")


def first_free_instance(
    ports_of: Callable[[int], list[tuple[PortKind, int]]], start: int = 0, limit: int = 250
) -> int:
    """Return the first instance number whose ports are all free.

    Args:
        ports_of: Function from an instance number to its ports.
        start: First number to try.
        limit: First number that is not allowed.

    Raises:
        ConfigError: If no instance is free.
    """
    for instance in range(start, limit):
        if all(_is_free(kind, port) for kind, port in ports_of(instance)):
            return instance
    raise ConfigError(
        f"the ports of every instance from {start} to {limit - 1} are in use",
        field="instance",
        remedy="end leftover autopilots or simulators",
    )


def require_free(port: int, kind: PortKind) -> None:
    """Raise a ConfigError that names the holder if a port is in use at any IPv4 address of this machine."""
    for host in _HOSTS:
        _bound(host, port, kind).close()


def holder_of(port: int, kind: PortKind) -> str | None:
    """Return the process that holds a port, such as "px4 (pid 1234)".

    Returns:
        None if no holder is visible: the port is free, the process belongs to another user, or the system is
        not Linux.
    """
    return next(map(name_of, _holders(_inodes_at(port, _rows(kind)))), None)


def is_held(port: int, *, beside: socket.socket) -> bool | None:
    """Return whether there is a UDP socket at a port; None if unknown.

    Args:
        port: The port.
        beside: UDP socket of this process; if the system does not list it, the answer is unknown.
    """
    rows = _rows_beside(beside)
    return None if rows is None else bool(_inodes_at(port, rows))


def senders_at(port: int, *, beside: socket.socket) -> set[int] | None:
    """Return the ids of the processes that hold the UDP sockets at a port.

    Args:
        port: The port.
        beside: UDP socket of this process; if the system does not list it, the answer is unknown.

    Returns:
        None if unknown, because the system is not Linux or hides its table of sockets; empty if there is no
        socket, or it belongs to another user.
    """
    rows = _rows_beside(beside)
    return None if rows is None else set(_holders(_inodes_at(port, rows)))


def peers_of(connection: socket.socket) -> set[int] | None:
    """Return the ids of the processes that hold the other end of a TCP connection on this machine.

    Args:
        connection: Connected IPv4 socket.

    Returns:
        None if unknown, because the system is not Linux or hides its table of sockets; empty if the other
        end is closed, or belongs to another user.
    """
    if connection.family != socket.AF_INET:
        return None
    rows = list(_rows("tcp"))
    try:
        own, other = _as_listed(connection.getsockname()), _as_listed(connection.getpeername())
    except OSError:
        # Reset by the peer.
        return set()
    if (own, other, str(os.fstat(connection.fileno()).st_ino)) not in rows:
        return None
    # IPv4 addresses of IPv6 sockets are listed with a prefix.
    ends = {inode for local, remote, inode in rows if local.endswith(other) and remote.endswith(own)}
    return set(_holders(ends))


def name_of(pid: int) -> str:
    """Return the description of a process for messages, such as "px4 (pid 1234)"."""
    if pid == os.getpid():
        return f"this process (pid {pid})"
    try:
        return f"{(_PROC / str(pid) / 'comm').read_text().strip()} (pid {pid})"
    except OSError:
        # The process has ended, or the system is not Linux.
        return f"process {pid}"


def server_at(path: Path) -> str | None:
    """Return the process that listens at a Unix socket, such as "px4 (pid 1234)"; None if there is none.

    The file of a socket outlives a killed process, so a connection is tried.
    """
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (BlockingIOError, PermissionError):
            # Its queue is full, or it belongs to another user.
            return "another process"
        except OSError:
            return None
        if sys.platform != "linux":
            return "another process"
        size = _CREDENTIALS.size
        pid, *_ = _CREDENTIALS.unpack(probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        return name_of(pid)


def _bound(host: str, port: int, kind: PortKind) -> socket.socket:
    field = f"{kind.upper()} port"
    if not 0 <= port <= 65535:
        raise ConfigError("must be 0 to 65535", field=field, value=port)
    try:
        return _open(host, port, kind)
    except socket.gaierror as error:
        raise ConfigError(f"is not an address: {error.strerror}", field="host", value=host) from None
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise ConfigError(
                "is not an address of this machine",
                field="host",
                value=host,
                remedy="use 0.0.0.0 for all addresses",
            ) from None
        if error.errno != errno.EADDRINUSE:
            raise ConfigError(
                f"cannot be used at {host}: {error.strerror}", field=field, value=port
            ) from None
        holder = holder_of(port, kind)
        raise ConfigError(
            f"in use by {holder}" if holder else "in use",
            field=field,
            value=port,
            remedy="end that process, or choose another instance",
        ) from None


def _open(host: str, port: int, kind: PortKind) -> socket.socket:
    """Return a socket bound to a port, listening if TCP; errors are those of the system."""
    family, *_, address = socket.getaddrinfo(host, port, type=_SOCKET_KINDS[kind])[0]
    opened = socket.socket(family, _SOCKET_KINDS[kind])
    try:
        opened.setblocking(False)
        if kind == "tcp":
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        if kind == "tcp":
            opened.listen()
    except BaseException:
        opened.close()
        raise
    return opened


def _is_free(kind: PortKind, port: int) -> bool:
    for host in _HOSTS:
        try:
            _open(host, port, kind).close()
        except (OSError, OverflowError):
            return False
    return True


def _rows(kind: PortKind) -> Iterator[tuple[str, str, str]]:
    """Yield local address, remote address and inode of all sockets held by processes."""
    for table in (_PROC / "net" / kind, _PROC / "net" / f"{kind}6"):
        if not table.is_file():
            continue
        for row in table.read_text().splitlines()[1:]:
            columns = row.split()
            # Inode 0: held by no process any more.
            if (inode := columns[_INODE_COLUMN]) != "0":
                yield columns[_LOCAL_COLUMN], columns[_REMOTE_COLUMN], inode


def _rows_beside(own: socket.socket) -> list[tuple[str, str, str]] | None:
    """Return the table of UDP sockets if it lists one of this process."""
    rows = list(_rows("udp"))
    return rows if str(os.fstat(own.fileno()).st_ino) in {inode for *_, inode in rows} else None


def _inodes_at(port: int, rows: Iterable[tuple[str, str, str]]) -> set[str]:
    """Return the inodes of the sockets at a port."""
    return {inode for local, _, inode in rows if int(local.rpartition(":")[2], 16) == port}


def _as_listed(address: tuple[str, int]) -> str:
    """Return an IPv4 address and port in the notation of the table of sockets."""
    host, port = address
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def _holders(inodes: set[str]) -> Iterator[int]:
    """Yield the ids of the processes that hold any of these inodes."""
    held = {f"socket:[{inode}]" for inode in inodes}
    for descriptors in _PROC.glob("[0-9]*/fd") if held else ():
        # The process may have ended, or belong to another user.
        with suppress(OSError):
            if not held.isdisjoint(_targets(descriptors)):
                yield int(descriptors.parent.name)


def _targets(folder: Path) -> Iterator[str]:
    """Yield the targets of the file descriptors of a process."""
    for descriptor in folder.iterdir():
        # It may have been closed.
        with suppress(FileNotFoundError):
            yield str(descriptor.readlink())
