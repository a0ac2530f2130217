"""Take the ports that autopilots talk to, and say who holds one that is not free."""

import errno
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pegasus.errors import ConfigError

PortKind = Literal["tcp", "udp"]

_HOSTS = ("0.0.0.0", "127.0.0.1")
"""Addresses to try a port at: taken at one counts, and not every system refuses it to all addresses then."""
_SOCKET_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
_PROC = Path("/proc")
# Columns of /proc/net/{tcp,udp}: local and remote address and port in hexadecimal, inode (proc(5)).
_LOCAL_COLUMN, _REMOTE_COLUMN, _INODE_COLUMN = 1, 2, 9
_CREDENTIALS = struct.Struct("3i")
"""Layout of SO_PEERCRED: pid, user and group of the process at the other end of a Unix socket (unix(7))."""


def listen(host: str, port: int) -> socket.socket:
    """Return a TCP socket that listens and does not block.

    A connection that has been closed shortly before does not hold the port.

    Args:
        host: Address or name of this machine to listen at.
        port: Port; 0 for any that is free.

    Raises:
        ConfigError: If the port is in use, with the name of its holder where it can be seen, or if it or the
            host cannot be listened at.
    """
    return _bound(host, port, "tcp")


def bind_udp(host: str, port: int) -> socket.socket:
    """Return a UDP socket that receives at a port and does not block.

    Args:
        host: Address or name of this machine to receive at.
        port: Port; 0 for any that is free.

    Raises:
        ConfigError: If the port is in use, with the name of its holder where it can be seen, or if it or the
            host cannot be received at.
    """
    return _bound(host, port, "udp")


def first_free_instance(
    ports_of: Callable[[int], list[tuple[PortKind, int]]], start: int = 0, limit: int = 250
) -> int:
    """Return the first instance number all of whose ports are free.

    Args:
        ports_of: Returns the ports of an instance.
        start: First number to look at.
        limit: First number that is not allowed.

    Raises:
        ConfigError: If there is none.
    """
    for instance in range(start, limit):
        if all(_is_free(kind, port) for kind, port in ports_of(instance)):
            return instance
    raise ConfigError(
        f"the ports of every instance from {start} to {limit - 1} are in use",
        field="instance",
        remedy="end autopilots or simulators that are left over",
    )


def require_free(port: int, kind: PortKind) -> None:
    """Raise a ConfigError that names the holder if a port is in use at any IPv4 address of this machine.

    Args:
        port: The port.
        kind: "tcp" or "udp".
    """
    for host in _HOSTS:
        _bound(host, port, kind).close()


def holder_of(port: int, kind: PortKind) -> str | None:
    """Return the process that holds a port, such as "px4 (pid 1234)".

    Args:
        port: The port.
        kind: "tcp" or "udp".

    Returns:
        None where none is to be seen: the port is free, the process another user's, or the system not Linux.
    """
    return next(map(name_of, _holders(_inodes_at(port, _rows(kind)))), None)


def is_held(port: int, *, beside: socket.socket) -> bool | None:
    """Return whether there is a UDP socket at a port; None where the system does not tell.

    Args:
        port: The port.
        beside: UDP socket of this process: a system that does not list it tells nothing.
    """
    rows = _rows_beside(beside)
    return None if rows is None else bool(_inodes_at(port, rows))


def senders_at(port: int, *, beside: socket.socket) -> set[int] | None:
    """Return the ids of the processes that hold the UDP sockets at a port.

    Args:
        port: The port.
        beside: UDP socket of this process: a system that does not list it tells nothing.

    Returns:
        None where the system does not tell, because it is not Linux or hides its table of sockets; nothing if
        there is no socket, or it is another user's.
    """
    rows = _rows_beside(beside)
    return None if rows is None else set(_holders(_inodes_at(port, rows)))


def peers_of(connection: socket.socket) -> set[int] | None:
    """Return the ids of the processes that hold the other end of a TCP connection on this machine.

    Args:
        connection: Connected IPv4 socket.

    Returns:
        None where the system does not tell, because it is not Linux or hides its table of sockets; nothing if
        the other end is closed, or held by another user.
    """
    if connection.family != socket.AF_INET:
        return None
    rows = list(_rows("tcp"))
    try:
        own, other = _as_listed(connection.getsockname()), _as_listed(connection.getpeername())
    except OSError:
        # Reset by the other side.
        return set()
    if (own, other, str(os.fstat(connection.fileno()).st_ino)) not in rows:
        return None
    # An IPv6 socket that talks IPv4 is listed with a prefix.
    ends = {inode for local, remote, inode in rows if local.endswith(other) and remote.endswith(own)}
    return set(_holders(ends))


def name_of(pid: int) -> str:
    """Return how messages call a process, such as "px4 (pid 1234)".

    Args:
        pid: Its process id.
    """
    if pid == os.getpid():
        return f"this process (pid {pid})"
    try:
        return f"{(_PROC / str(pid) / 'comm').read_text().strip()} (pid {pid})"
    except OSError:
        # It has ended, or the system is not Linux.
        return f"process {pid}"


def server_at(path: Path) -> str | None:
    """Return the process that listens at a Unix socket, such as "px4 (pid 1234)"; None if none does.

    The file of a socket stays when its process is killed: only one that can be connected to counts.

    Args:
        path: File of the socket.
    """
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (BlockingIOError, PermissionError):
            # Too many wait there already, or it is another user's.
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
        raise ConfigError(f"is no address: {error.strerror}", field="host", value=host) from None
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            raise ConfigError(
                "is no address of this machine",
                field="host",
                value=host,
                remedy="0.0.0.0 takes all of its addresses",
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
            remedy="end what holds it, or choose another instance",
        ) from None


def _open(host: str, port: int, kind: PortKind) -> socket.socket:
    """Return a socket at a port, listening if it is a TCP one; raise the system's own errors."""
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
    """Yield local address, remote address and inode of all sockets that a process holds."""
    for table in (_PROC / "net" / kind, _PROC / "net" / f"{kind}6"):
        if not table.is_file():
            continue
        for row in table.read_text().splitlines()[1:]:
            columns = row.split()
            # 0 stands for a socket that no process holds any more.
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
    """Return an IPv4 address and port as the table of sockets has them."""
    host, port = address
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def _holders(inodes: set[str]) -> Iterator[int]:
    """Yield the ids of the processes that hold any of the sockets with these inodes."""
    held = {f"socket:[{inode}]" for inode in inodes}
    for descriptors in _PROC.glob("[0-9]*/fd") if held else ():
        # A process may end meanwhile, and another user's does not show its descriptors.
        with suppress(OSError):
            if not held.isdisjoint(_targets(descriptors)):
                yield int(descriptors.parent.name)


def _targets(folder: Path) -> Iterator[str]:
    """Yield what the descriptors of a process stand for."""
    for descriptor in folder.iterdir():
        # It may have been closed meanwhile.
        with suppress(FileNotFoundError):
            yield str(descriptor.readlink())
