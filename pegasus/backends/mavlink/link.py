"""Byte links to an autopilot: TCP server and client, UDP, serial."""

import contextlib
import os
import select
import socket
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from pegasus.backends.mavlink.ports import bind_udp, listen
from pegasus.base.errors import ConfigError

LONGEST_WAIT = 0.1
"""Maximum time of one wait for bytes on one link, in wall time [s]."""

_CHUNK = 65536
_MAX_BACKLOG = 65536
"""Maximum number of bytes queued for a peer that does not read; further messages are dropped."""
_MAX_DATAGRAMS = 1000
_CONNECT_TIMEOUT = 5.0


class LinkClosedError(ConnectionError):
    """Error for a link closed by its peer."""


def wait_in_kernel(connection: socket.socket) -> None:
    """Make `recv` of a socket wait for bytes, but at most `LONGEST_WAIT`: one system call for both.

    It then raises BlockingIOError. With MSG_DONTWAIT, calls do not wait.
    """
    connection.setblocking(True)
    seconds, microseconds = divmod(round(LONGEST_WAIT * 1e6), 10**6)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", seconds, microseconds))


class Link(ABC):
    """Link that sends and receives bytes, without waiting except in `await_bytes`."""

    @property
    @abstractmethod
    def connected(self) -> bool:
        """Whether a peer is connected, as far as is known."""

    @abstractmethod
    def fileno(self) -> int:
        """Return the file descriptor to poll for reading; -1 when closed."""

    def accept(self) -> bool:
        """Accept a waiting peer; return whether one was accepted."""
        return False

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Send a whole message, or drop it if the peer does not read or is gone."""

    def send_all(self, messages: Sequence[bytes]) -> None:
        """Send whole messages, at once if the link is a stream."""
        for message in messages:
            self.send(message)

    @abstractmethod
    def receive(self) -> bytes:
        """Return the received bytes, empty if there are none.

        Raises:
            LinkClosedError: If the peer is gone.
        """

    def await_bytes(self) -> bytes:
        """Return the received bytes, waiting for them at most `LONGEST_WAIT`; empty if there are none.

        Raises:
            LinkClosedError: If the peer is gone.
        """
        poll = select.poll()
        poll.register(self, select.POLLIN)
        return self.receive() if poll.poll(LONGEST_WAIT * 1e3) else b""

    def drop(self) -> None:
        """Disconnect the peer; a server link waits for the next one, any other link closes."""
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Close the link; repeated calls are allowed."""


class _StreamLink(Link):
    """Base of stream links: whole messages only, even when the line is full."""

    def __init__(self) -> None:
        self._backlog = b""

    @abstractmethod
    def _write(self, data: bytes) -> int: ...

    @abstractmethod
    def _read(self, flags: int = 0) -> bytes: ...

    def send(self, data: bytes) -> None:
        """Send a whole message; see `Link.send`."""
        self.send_all((data,))

    def send_all(self, messages: Sequence[bytes]) -> None:
        """Send whole messages at once; see `Link.send_all`."""
        data = b"".join(messages)
        if self._backlog:
            data = self._backlog + data if len(self._backlog) <= _MAX_BACKLOG else self._backlog
        try:
            sent = self._write(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            # The peer is gone; the next `receive` reports it.
            sent = len(data)
        # Complete every started message, or the peer loses its place in the stream.
        self._backlog = data[sent:]

    def receive(self, *flags: int) -> bytes:
        """Return the received bytes; see `Link.receive`."""
        try:
            data = self._read(*flags)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise LinkClosedError(error.strerror or str(error)) from None
        if not data:
            raise LinkClosedError("closed by its peer")
        return data


class _TcpLink(_StreamLink):
    """TCP connection of either direction."""

    _socket: socket.socket | None = None

    @property
    def connected(self) -> bool:
        """Whether a peer is connected."""
        return self._socket is not None

    def fileno(self) -> int:
        """Return the file descriptor to poll."""
        return -1 if self._socket is None else self._socket.fileno()

    def close(self) -> None:
        """Close the link."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _take(self, connection: socket.socket) -> None:
        wait_in_kernel(connection)
        # Some systems refuse this on a connection that is already reset; the next read reports it.
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Otherwise it grows to megabytes: minutes of old samples for an autopilot that has hung.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MAX_BACKLOG)
        self._socket, self._backlog = connection, b""

    def _write(self, data: bytes) -> int:
        assert self._socket is not None
        return self._socket.send(data, socket.MSG_DONTWAIT)

    def _read(self, flags: int = socket.MSG_DONTWAIT) -> bytes:
        assert self._socket is not None
        return self._socket.recv(_CHUNK, flags)

    def await_bytes(self) -> bytes:
        """Return the received bytes, waiting for them; see `Link.await_bytes`."""
        return self.receive(0)


class TcpServerLink(_TcpLink):
    """TCP server for one autopilot at a time, as PX4's simulator link requires.

    Raises:
        ConfigError: If the port is in use.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        self._listener = listen(host, port)
        self.admits: Callable[[socket.socket], bool] = lambda _: True
        """Function that returns True to accept a new connection; others are closed."""

    def fileno(self) -> int:
        """Return the file descriptor to poll: that of the peer, else of the listener."""
        return super().fileno() if self.connected else self._listener.fileno()

    def accept(self) -> bool:
        """Accept a waiting peer."""
        if self.connected:
            return False
        try:
            connection, _ = self._listener.accept()
        except OSError:
            # No peer, or already gone.
            return False
        if not self.admits(connection):
            connection.close()
            return False
        self._take(connection)
        return True

    def drop(self) -> None:
        """Disconnect the peer and listen again."""
        super().close()

    def close(self) -> None:
        """Close the link."""
        super().close()
        self._listener.close()


class TcpClientLink(_TcpLink):
    """TCP client of an autopilot, or of a bridge to one.

    Raises:
        ConfigError: If the connection is refused.
    """

    def __init__(self, host: str, port: int) -> None:
        super().__init__()
        try:
            self._take(socket.create_connection((host, port), timeout=_CONNECT_TIMEOUT))
        except (OSError, UnicodeError) as error:
            raise _unusable(f"tcp:{host}:{port}", f"cannot be reached: {error}") from None


class UdpLink(Link):
    """UDP datagrams to and from a fixed address.

    Raises:
        ConfigError: If the name cannot be resolved.
    """

    def __init__(self, host: str, port: int) -> None:
        try:
            self._peer = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0][4]
        except (OSError, UnicodeError) as error:
            raise _unusable(f"udp:{host}:{port}", f"cannot be resolved: {error}") from None
        self._socket = bind_udp("0.0.0.0", 0)

    @property
    def connected(self) -> bool:
        """Whether the link is open; UDP has no connection state."""
        return self.fileno() >= 0

    def fileno(self) -> int:
        """Return the file descriptor to poll."""
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        """Send a whole message; see `Link.send`."""
        # UDP: a datagram without receiver or buffer space is lost.
        with contextlib.suppress(OSError):
            self._socket.sendto(data, self._peer)

    def receive(self) -> bytes:
        """Return the received bytes; see `Link.receive`."""
        parts: list[bytes] = []
        try:
            # Limited, because a flood of datagrams would never end.
            while len(parts) < _MAX_DATAGRAMS:
                parts.append(self._socket.recv(_CHUNK))
        except OSError:
            pass
        return b"".join(parts)

    def close(self) -> None:
        """Close the link."""
        self._socket.close()


class SerialLink(_StreamLink):
    """Serial line to a flight controller; needs pyserial.

    Raises:
        ConfigError: If pyserial is missing, the device cannot be opened, or the baud rate is invalid.
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
        """Whether a peer is connected."""
        return self.fileno() >= 0

    def fileno(self) -> int:
        """Return the file descriptor to poll."""
        return int(self._port.fileno()) if self._port.is_open else -1

    def close(self) -> None:
        """Close the link."""
        self._port.close()

    def _write(self, data: bytes) -> int:
        return os.write(self.fileno(), data)

    def _read(self, flags: int = 0) -> bytes:
        data = os.read(self.fileno(), _CHUNK)
        # An idle line reads like an unplugged one, but only the latter stays readable.
        if not data and not select.select([self], [], [], 0)[0]:
            raise BlockingIOError
        return data


def open_link(connection: str) -> Link:
    """Return the open link of a connection text.

    Args:
        connection: `tcp:HOST:PORT`, `udp:HOST:PORT`, `serial:DEVICE:BAUD`, or `tcpin:PORT` to listen.

    Raises:
        ConfigError: If the text is malformed, or the link cannot be opened.
    """
    kind, _, rest = connection.partition(":")
    place, _, number = rest.rpartition(":")
    if kind not in ("tcp", "udp", "serial", "tcpin") or bool(place) == (kind == "tcpin"):
        raise _unusable(connection, "must be tcp:HOST:PORT, udp:HOST:PORT, serial:DEVICE:BAUD or tcpin:PORT")
    what, limit = ("baud rate", 10**8) if kind == "serial" else ("port", 65535)
    if not (number.isascii() and number.isdecimal()) or not 0 < int(number) <= limit:
        raise _unusable(connection, f"{number!r} is not a {what}", remedy=f"give a number from 1 to {limit}")
    if kind == "tcp":
        return TcpClientLink(place, int(number))
    if kind == "udp":
        return UdpLink(place, int(number))
    if kind == "serial":
        return SerialLink(place, int(number))
    return TcpServerLink("0.0.0.0", int(number))


def _unusable(connection: str, problem: str, *, remedy: str | None = None) -> ConfigError:
    return ConfigError(problem, field="connection", value=connection, remedy=remedy)
