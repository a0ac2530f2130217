"""Panel clients in a separate process, for `panel_clients`; few imports, so that it starts fast."""

import base64
import os
import selectors
import socket
import sys
from urllib.parse import urlsplit


def opened(address: str, protocol: str, first: bytes) -> socket.socket:
    """Return the websocket of a page as a plain socket, after sending a first message.

    Args:
        address: Address of the page.
        protocol: Subprotocol of the websocket.
        first: The message, at most 65,535 bytes.
    """
    place = urlsplit(address)
    assert place.hostname is not None
    lines = (
        f"GET {place.path or '/'} HTTP/1.1",
        f"Host: {place.netloc}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        f"Sec-WebSocket-Protocol: {protocol}",
    )
    line = socket.create_connection((place.hostname, place.port or 80), timeout=20.0)
    line.sendall("\r\n".join((*lines, "", "")).encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        if not (more := line.recv(1)):
            break
        answer += more
    if b" 101 " not in answer:
        raise RuntimeError("the page has refused a client")
    # A final binary frame whose mask changes nothing.
    line.sendall(b"\x82\xfe" + len(first).to_bytes(2, "big") + bytes(4) + first)
    return line


class Reader:
    """Reader of the messages that a page sends to a client; answers its pings.

    Args:
        line: The websocket.
    """

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self._rest, self._skip = b"", 0

    def read(self, buffer: bytearray) -> bool:
        """Read the available data, and return whether the connection is open."""
        count = self.line.recv_into(buffer)
        if count <= self._skip:
            self._skip -= count
            return count > 0
        data, self._skip = self._rest + bytes(memoryview(buffer)[self._skip : count]), 0
        while len(data) >= 10 or (len(data) >= 2 and data[1] < 126):
            size, begin = data[1], 2
            if size >= 126:
                begin = 4 if size == 126 else 10
                size = int.from_bytes(data[2:begin], "big")
            if data[0] & 15 == 9:
                if len(data) < begin + size:
                    break
                self.line.sendall(bytes((0x8A, 0x80 | size)) + bytes(4) + data[begin : begin + size])
            self._skip = max(0, begin + size - len(data))
            data = data[begin + size :]
        self._rest = data
        return True


def browse(address: str, count: int, *, reads: bool, protocol: str, first: bytes) -> None:
    """Run a number of clients until the standard input ends.

    Args:
        address: Address of the page.
        count: Number of clients.
        reads: Whether they read the messages sent to them.
        protocol: Subprotocol of the websocket.
        first: Message that each client sends.
    """
    selector = selectors.DefaultSelector()
    lines = [opened(address, protocol, first) for _ in range(count)]
    for line in lines if reads else ():
        selector.register(line, selectors.EVENT_READ, Reader(line))
    selector.register(sys.stdin, selectors.EVENT_READ)
    print("ready", flush=True)
    buffer = bytearray(1 << 20)
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return
            if not key.data.read(buffer):
                selector.unregister(key.fileobj)


if __name__ == "__main__":
    browse(
        sys.argv[1],
        int(sys.argv[2]),
        reads=bool(int(sys.argv[3])),
        protocol=sys.argv[4],
        first=bytes.fromhex(sys.argv[5]),
    )
