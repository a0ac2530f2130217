"""Take the ports that autopilots talk to, and say who holds one that is not free."""

import errno
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

from pegasus.errors import ConfigError

PortKind = Literal["tcp", "udp"]

_SOCKET_KINDS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}
_PROC = Path("/proc")
# Of the columns of /proc/net/{tcp,udp}: local address and port in hexadecimal, and inode (proc(5)).
_LOCAL_COLUMN, _INODE_COLUMN = 1, 9


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


def holder_of(port: int, kind: PortKind) -> str | None:
    """Return the process that holds a port, such as "px4 (pid 1234)".

    Args:
        port: The port.
        kind: "tcp" or "udp".

    Returns:
        None where none is to be seen: the port is free, the process another user's, or the system not Linux.
    """
    held = {f"socket:[{inode}]" for inode in _inodes(port, kind)}
    if not held:
        return None
    for descriptors in _PROC.glob("[0-9]*/fd"):
        pid = int(descriptors.parent.name)
        # A process may end meanwhile, and another user's does not show its descriptors.
        with suppress(OSError):
            if not held.isdisjoint(_targets(descriptors)):
                name = "this process" if pid == os.getpid() else _name(pid)
                return f"{name} (pid {pid})"
    return None


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
    # A port taken at one address counts, and not every system refuses it to all addresses then.
    for host in ("0.0.0.0", "127.0.0.1"):
        try:
            _open(host, port, kind).close()
        except (OSError, OverflowError):
            return False
    return True


def _inodes(port: int, kind: PortKind) -> Iterator[str]:
    """Yield the inodes of the sockets at a port; 0 stands for one that no process holds any more."""
    for table in (_PROC / "net" / kind, _PROC / "net" / f"{kind}6"):
        if not table.is_file():
            continue
        for row in table.read_text().splitlines()[1:]:
            columns = row.split()
            inode = columns[_INODE_COLUMN]
            if int(columns[_LOCAL_COLUMN].rpartition(":")[2], 16) == port and inode != "0":
                yield inode


def _targets(folder: Path) -> Iterator[str]:
    """Yield what the descriptors of a process stand for."""
    for descriptor in folder.iterdir():
        # It may have been closed meanwhile.
        with suppress(FileNotFoundError):
            yield str(descriptor.readlink())


def _name(pid: int) -> str:
    return (_PROC / str(pid) / "comm").read_text().strip()
