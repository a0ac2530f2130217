"""Byte links to an autopilot: TCP from either side, UDP, and serial lines. None of them ever blocks."""

import contextlib
import os
import select
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from pegasus.backends.mavlink.ports import bind_udp, listen
from pegasus.errors import ConfigError

_CHUNK = 65536
_LARGEST_BACKLOG = 65536
"""Bytes that may wait for a peer that does not read; beyond it whole messages are left out."""
_MOST_DATAGRAMS = 1000
_CONNECT_LIMIT = 5.0


class LinkClosedError(ConnectionError):
    """The other side has closed the link."""


class Link(ABC):
    """A link that sends and receives bytes without waiting."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether there is another side, as far as is known."""

    @abstractmethod
    def fileno(self) -> int:
        """Return the descriptor that becomes readable when there is something to do; -1 when closed."""

    def accept(self) -> bool:
        """Take the other side if it has come; return whether it has just done so."""
        return False

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Send a whole message, or leave it out if the other side does not read or is gone.

        Args:
            data: The message.
        """

    @abstractmethod
    def receive(self) -> bytes:
        """Return what has come, nothing if nothing has.

        Raises:
            LinkClosedError: If the other side is gone.
        """

    def drop(self) -> None:
        """Let the other side go; a link that listens waits for the next one, any other is closed."""
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close everything; calling it twice is allowed."""


class _StreamLink(Link):
    """What the links share that carry a stream: whole messages only, even when the line is full."""

    def __init__(self) -> None:
        self._backlog = b""

    @abstractmethod
    def _write(self, data: bytes) -> int: ...

    @abstractmethod
    def _read(self) -> bytes: ...

    def send(self, data: bytes) -> None:
        """Send a whole message; see `Link.send`."""
        if self._backlog:
            data = self._backlog + data if len(self._backlog) <= _LARGEST_BACKLOG else self._backlog
        try:
            sent = self._write(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            # The other side is gone; whoever watches the descriptor learns it from the next `receive`.
            sent = len(data)
        # A message once begun must be ended, or the other side loses its place in the stream.
        self._backlog = data[sent:]

    def receive(self) -> bytes:
        """Return what has come; see `Link.receive`."""
        try:
            data = self._read()
        except BlockingIOError:
            return b""
        except OSError as error:
            raise LinkClosedError(error.strerror or str(error)) from None
        if not data:
            raise LinkClosedError("closed by the other side")
        return data


class _TcpLink(_StreamLink):
    """A TCP connection, whoever has begun it."""

    _socket: socket.socket | None = None

    @property
    def connected(self) -> bool:
        """Whether there is another side."""
        return self._socket is not None

    def fileno(self) -> int:
        """Return the descriptor to watch."""
        return -1 if self._socket is None else self._socket.fileno()

    def close(self) -> None:
        """Close the link."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _take(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        # Not every system allows it on a connection that has been reset already, as the next read will tell.
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # It would grow to megabytes: minutes of samples, for an autopilot that hangs to find afterwards.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST_BACKLOG)
        self._socket, self._backlog = connection, b""

    def _write(self, data: bytes) -> int:
        assert self._socket is not None
        return self._socket.send(data)

    def _read(self) -> bytes:
        assert self._socket is not None
        return self._socket.recv(_CHUNK)


class TcpServerLink(_TcpLink):
    """Listen on a port and take one autopilot after the other, as PX4's simulator link wants it.

    Args:
        host: Address to listen at.
        port: TCP port.

    Raises:
        ConfigError: If the port is in use.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self._listener = listen(host, port)
        self.admits: Callable[[socket.socket], bool] = lambda _: True
        """Return True to keep a new connection; a refused one is closed and the wait goes on."""

    def fileno(self) -> int:
        """Return the descriptor to watch: that of the other side, or where it is waited for."""
        return super().fileno() if self.connected else self._listener.fileno()

    def accept(self) -> bool:
        """Take whoever waits at the port."""
        if self.connected:
            return False
        try:
            connection, _ = self._listener.accept()
        except OSError:
            # Nobody there, or gone again.
            return False
        if not self.admits(connection):
            connection.close()
            return False
        self._take(connection)
        return True

    def drop(self) -> None:
        """Let the other side go and listen again."""
        super().close()

    def close(self) -> None:
        """Close the link."""
        super().close()
        self._listener.close()


class TcpClientLink(_TcpLink):
    """Connect to an autopilot, or a bridge to one, that listens.

    Args:
        host: Name or address.
        port: TCP port.

    Raises:
        ConfigError: If nobody listens there.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        try:
            self._take(socket.create_connection((host, port), timeout=_CONNECT_LIMIT))
        except (OSError, UnicodeError) as error:
            raise _unusable(f"tcp:{host}:{port}", f"cannot be reached: {error}") from None


class UdpLink(Link):
    """Datagrams to and from a fixed place.

    Args:
        host: Name or address of the autopilot.
        port: Its UDP port.

    Raises:
        ConfigError: If the name is not known.
    """

    def __init__(self, host: str, port: int) -> None:
        try:
            self._peer = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0][4]
        except (OSError, UnicodeError) as error:
            raise _unusable(f"udp:{host}:{port}", f"is not known: {error}") from None
        self._socket = bind_udp("0.0.0.0", 0)

    @property
    def connected(self) -> bool:
        """Whether there is another side; nobody can tell, so it is there until the link is closed."""
        return self.fileno() >= 0

    def fileno(self) -> int:
        """Return the descriptor to watch."""
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        """Send a whole message; see `Link.send`."""
        # A datagram that nobody takes, or for which there is no room, is lost: that is what UDP is.
        with contextlib.suppress(OSError):
            self._socket.sendto(data, self._peer)

    def receive(self) -> bytes:
        """Return what has come; see `Link.receive`."""
        parts: list[bytes] = []
        with contextlib.suppress(OSError):
            # No more at once, or who sends without end would be listened to without end.
            while len(parts) < _MOST_DATAGRAMS:
                parts.append(self._socket.recv(_CHUNK))
        return b"".join(parts)

    def close(self) -> None:
        """Close the link."""
        self._socket.close()


class SerialLink(_StreamLink):
    """A serial line to real hardware; needs pyserial.

    Args:
        device: Device file.
        baud_rate: Bits per second.

    Raises:
        ConfigError: If pyserial is missing, the device cannot be opened, or the baud rate is none.
    """

    def __init__(self, device: str, baud_rate: int) -> None:
        super().__init__()
        connection = f"serial:{device}:{baud_rate}"
        try:
            import serial
        except ImportError:
            raise _unusable(connection, "needs pyserial", remedy="pip install pyserial") from None
        try:
            self._port: Any = serial.Serial(device, baud_rate, timeout=0, write_timeout=0, exclusive=True)
        except (OSError, ValueError, OverflowError) as error:
            raise _unusable(connection, f"cannot be opened: {error}") from None
        os.set_blocking(self._port.fileno(), False)

    @property
    def connected(self) -> bool:
        """Whether there is another side."""
        return self.fileno() >= 0

    def fileno(self) -> int:
        """Return the descriptor to watch."""
        return int(self._port.fileno()) if self._port.is_open else -1

    def close(self) -> None:
        """Close the link."""
        self._port.close()

    def _write(self, data: bytes) -> int:
        return os.write(self.fileno(), data)

    def _read(self) -> bytes:
        data = os.read(self.fileno(), _CHUNK)
        # A line that has nothing to say reads like one that is unplugged, but only the latter stays readable.
        if not data and not select.select([self], [], [], 0)[0]:
            raise BlockingIOError
        return data


def open_link(connection: str) -> Link:
    """Return the link that a text names.

    It is `tcp:HOST:PORT`, `udp:HOST:PORT` or `serial:DEVICE:BAUD`; `tcpin:PORT` listens instead.

    Args:
        connection: The text.

    Raises:
        ConfigError: If it is written wrong, or cannot be opened.
    """
    kind, _, rest = connection.partition(":")
    place, _, number = rest.rpartition(":")
    if kind not in ("tcp", "udp", "serial", "tcpin") or bool(place) == (kind == "tcpin"):
        raise _unusable(connection, "must be tcp:HOST:PORT, udp:HOST:PORT, serial:DEVICE:BAUD or tcpin:PORT")
    what, largest = ("baud rate", 10**8) if kind == "serial" else ("port", 65535)
    if not (number.isascii() and number.isdecimal()) or not 0 < int(number) <= largest:
        raise _unusable(connection, f"{number!r} is no {what}", remedy=f"give a number from 1 to {largest}")
    if kind == "tcp":
        return TcpClientLink(place, int(number))
    if kind == "udp":
        return UdpLink(place, int(number))
    if kind == "serial":
        return SerialLink(place, int(number))
    return TcpServerLink("0.0.0.0", int(number))


def _unusable(connection: str, problem: str, *, remedy: str | None = None) -> ConfigError:
    return ConfigError(problem, field="connection", value=connection, remedy=remedy)
