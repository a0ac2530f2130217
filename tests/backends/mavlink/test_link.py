"""Tests of byte links: complete messages, non-blocking calls and detected disconnection."""

import os
import select
import socket
import struct
import sys
import threading
import time
import tty
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from pegasus.backends.mavlink.link import LONGEST_WAIT, LinkClosedError, TcpServerLink, open_link
from pegasus.backends.mavlink.messages import Decoder, encode, message_type
from pegasus.base.errors import ConfigError
from tests.waits import LIMIT, wait_until


def readable(link, limit=LIMIT):
    """Return whether a link's descriptor becomes readable in time."""
    return bool(select.select([link], [], [], limit)[0])


def received(link, size):
    """Return a number of bytes from a link."""
    data = b""
    while len(data) < size:
        assert readable(link), "nothing came"
        data += link.receive()
    return data


def message(number):
    """Return a message identified by a number."""
    return message_type("HIL_SENSOR")(time_usec=number, xacc=1.0, abs_pressure=950.0, fields_updated=0x1FFF)


class Pair:
    """A link and a plain socket at its other end."""

    def __init__(self, kind):
        self._listener = None
        if kind == "tcpin":
            self.link = TcpServerLink("127.0.0.1", 0)
            with socket.socket(fileno=os.dup(self.link.fileno())) as listener:
                self._place = listener.getsockname()
            self.connect()
        elif kind == "tcp":
            self._listener = socket.create_server(("127.0.0.1", 0))
            self.link = open_link(f"tcp:127.0.0.1:{self._listener.getsockname()[1]}")
            self.peer, _ = self._listener.accept()
        else:
            self.peer = socket.socket(type=socket.SOCK_DGRAM)
            self.peer.bind(("127.0.0.1", 0))
            self.link = open_link(f"udp:127.0.0.1:{self.peer.getsockname()[1]}")
        self.peer.settimeout(LIMIT)

    def connect(self):
        """Connect to a listening link, and have it accept."""
        self.peer = socket.create_connection(self._place, LIMIT)
        assert readable(self.link)
        assert self.link.accept()

    def reset(self):
        """End the other side like a crash, by a connection reset."""
        self.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.peer.close()

    def close(self):
        self.link.close()
        self.peer.close()
        if self._listener is not None:
            self._listener.close()


@pytest.fixture
def pair():
    """Return a function that makes a pair; all are closed after the test."""
    made = []

    def make(kind):
        made.append(Pair(kind))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.parametrize("kind", ["tcpin", "tcp", "udp"])
def test_bytes_go_both_ways(pair, kind):
    """Bytes would be lost in one direction of such a link."""
    ends = pair(kind)
    assert ends.link.connected
    assert not readable(ends.link, 0)
    assert ends.link.receive() == b""
    ends.link.send(b"sensor")
    data, address = ends.peer.recvfrom(100)
    assert data == b"sensor"
    if kind == "udp":
        ends.peer.connect(address)
    ends.peer.sendall(b"controls")
    assert received(ends.link, 8) == b"controls"
    assert ends.link.receive() == b""


@pytest.mark.parametrize("kind", ["tcpin", "tcp"])
def test_nobody_reads(pair, kind):
    """With an unresponsive autopilot a simulation would block, grow without limit, or send half a message."""
    ends, count = pair(kind), 10_000
    begin = time.monotonic()
    for number in range(count):
        ends.link.send(encode(message(number), sequence=number))
    assert time.monotonic() - begin < LIMIT
    assert sys.getsizeof(ends.link._backlog) < 2 * 65536

    decoder, numbers = Decoder(), []
    # Bytes that were held back are sent with the next message.
    while count not in numbers:
        ends.link.send(encode(message(count), sequence=count))
        numbers += [item.time_usec for item in decoder.feed(ends.peer.recv(1 << 20))]
    numbers = numbers[: numbers.index(count)]
    assert decoder.bad_byte_count == 0
    assert numbers == sorted(set(numbers))
    # More would be old messages, minutes of which a resumed autopilot would have to process.
    assert 100 < len(numbers) < 5000


@pytest.mark.parametrize("kind", ["tcpin", "tcp"])
@pytest.mark.parametrize("end", ["close", "reset"])
def test_the_other_side_ends(pair, kind, end):
    """A dead autopilot would be waited for, or the simulation end with it."""
    ends = pair(kind)
    getattr(ends.peer if end == "close" else ends, end)()
    # Until the closed end is read, sending does not fail.
    for _ in range(3):
        ends.link.send(b"sensor")
        time.sleep(0.01)
    assert readable(ends.link)
    with pytest.raises(LinkClosedError):
        ends.link.receive()
    ends.link.drop()
    assert not ends.link.connected
    assert (ends.link.fileno() >= 0) == (kind == "tcpin")


def test_what_was_sent_before_the_end_is_received(pair):
    """The last answer of an autopilot that ends would be lost."""
    ends = pair("tcpin")
    ends.peer.sendall(b"last")
    ends.peer.close()
    assert received(ends.link, 4) == b"last"
    with pytest.raises(LinkClosedError, match="closed by its peer"):
        ends.link.receive()


def test_one_after_the_other(pair):
    """A restarted autopilot would be refused, or get the rest of its predecessor's message."""
    ends = pair("tcpin")
    wait_until(lambda: ends.link.send(bytes(100_000)) or len(ends.link._backlog) > 65536)
    ends.peer.close()
    ends.link.drop()
    assert not ends.link.accept()
    ends.connect()
    assert not ends.link.accept()
    ends.link.send(b"fresh")
    assert ends.peer.recv(100) == b"fresh"


def test_a_caller_that_is_gone_again(pair):
    """An autopilot that connects and ends at once would end the simulation."""
    ends = pair("tcpin")
    ends.reset()
    ends.link.drop()
    caller = Pair.__new__(Pair)
    caller.peer = socket.create_connection(ends._place, LIMIT)
    Pair.reset(caller)
    assert readable(ends.link)
    if ends.link.accept():
        assert readable(ends.link)
        with pytest.raises(LinkClosedError):
            ends.link.receive()
    ends.link.drop()
    ends.connect()


@pytest.mark.parametrize("kind", ["tcpin", "tcp", "udp"])
def test_closed(pair, kind):
    """A second `stop` would raise, or a closed link count as open."""
    ends = pair(kind)
    ends.link.close()
    ends.link.close()
    assert ends.link.fileno() == -1
    assert not ends.link.connected


def test_all_datagrams_at_once(pair):
    """Datagrams would queue up and be lost where a link is read once a second."""
    ends = pair("udp")
    ends.link.send(b"hello")
    _, address = ends.peer.recvfrom(100)
    for number in range(50):
        ends.peer.sendto(bytes([number]), address)
    assert readable(ends.link)
    assert ends.link.receive() == bytes(range(50))


def test_datagrams_to_nobody():
    """Hardware that is not yet switched on would end the simulation."""
    with socket.socket(type=socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with closing(open_link(f"udp:127.0.0.1:{port}")) as link:
        for _ in range(10):
            link.send(b"sensor")
            assert link.receive() == b""


def test_listens_for_a_text():
    """A remote autopilot could not connect to the port of the connection string."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with closing(open_link(f"tcpin:{port}")) as link:
        assert not link.connected
        with socket.create_connection(("127.0.0.1", port), LIMIT) as peer:
            assert readable(link)
            assert link.accept()
            peer.sendall(b"hello")
            assert received(link, 5) == b"hello"


FORMS = "must be tcp:HOST:PORT, udp:HOST:PORT, serial:DEVICE:BAUD or tcpin:PORT"
BAUD = "is not a baud rate; give a number from 1 to 100000000"
PORT = "is not a port; give a number from 1 to 65535"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("serial:/dev/ttyACM0:fast", f"'fast' {BAUD}"),
        ("serial:/dev/ttyACM0:0", f"'0' {BAUD}"),
        ("serial:/dev/ttyACM0:-57600", f"'-57600' {BAUD}"),
        ("serial:/dev/ttyACM0:57600.0", f"'57600.0' {BAUD}"),
        ("serial:/dev/ttyACM0:²", f"'²' {BAUD}"),
        ("serial:/dev/ttyACM0:", f"'' {BAUD}"),
        ("serial:/dev/ttyACM0", FORMS),
        ("tcp:127.0.0.1:65536", f"'65536' {PORT}"),
        ("tcp:127.0.0.1:http", f"'http' {PORT}"),
        ("udp:127.0.0.1:0", f"'0' {PORT}"),
        ("udp:127.0.0.1", FORMS),
        ("tcpin:0", f"'0' {PORT}"),
        ("tcpin:127.0.0.1:4560", FORMS),
        ("usb:/dev/ttyACM0:57600", FORMS),
        ("4560", FORMS),
        ("", FORMS),
    ],
)
def test_wrong_text(text, problem):
    """An invalid connection string would end in a traceback, or be taken for another."""
    with pytest.raises(ConfigError) as caught:
        open_link(text)
    assert str(caught.value) == f"connection = {text!r}: {problem}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("tcp:127.0.0.1:{port}", "cannot be reached: [Errno"),
        ("tcp:nowhere.invalid:4560", "cannot be reached: [Errno"),
        (f"tcp:{'x' * 64}.invalid:4560", "cannot be reached: "),
        ("udp:nowhere.invalid:14560", "cannot be resolved: [Errno"),
    ],
)
def test_nobody_at_the_place(text, problem):
    """An unreachable address would end in a traceback of the socket library."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        text = text.format(port=unused.getsockname()[1])
    with pytest.raises(ConfigError) as caught:
        open_link(text)
    assert str(caught.value).startswith(f"connection = {text!r}: {problem}")
    assert "\n" not in str(caught.value)


def test_serial_without_pyserial(monkeypatch):
    """A missing pyserial would cause an ImportError instead of its remedy."""
    monkeypatch.setitem(sys.modules, "serial", None)
    with pytest.raises(ConfigError) as caught:
        open_link("serial:/dev/ttyACM0:921600")
    assert str(caught.value) == (
        "connection = 'serial:/dev/ttyACM0:921600': needs pyserial; pip install pyserial"
    )


@pytest.fixture
def line():
    """Return a serial link and the descriptor at the far end of its line."""
    pytest.importorskip("serial", reason="needs pyserial: pip install pyserial")
    far, near = os.openpty()
    tty.setraw(far)
    link = open_link(f"serial:{os.ttyname(near)}:921600")
    os.close(near)
    os.set_blocking(far, False)
    ends = [far]
    yield link, ends
    link.close()
    for end in ends:
        os.close(end)


def test_serial_bytes_go_both_ways(line):
    """Bytes would be lost or changed in one direction of a serial line."""
    link, (far,) = line
    everything = bytes(range(256))
    assert link.connected
    assert link.receive() == b""
    link.send(everything)
    assert select.select([far], [], [], LIMIT)[0]
    assert os.read(far, 1000) == everything
    os.write(far, everything)
    assert received(link, 256) == everything
    assert link.receive() == b""


def test_serial_line_that_is_full(line):
    """A simulation would block, or send half a message, when hardware does not read."""
    link, (far,) = line
    count, decoder, numbers = 3000, Decoder(), []
    for number in range(count):
        link.send(encode(message(number), sequence=number))
    while count not in numbers:
        link.send(encode(message(count), sequence=count))
        assert select.select([far], [], [], LIMIT)[0]
        numbers += [item.time_usec for item in decoder.feed(os.read(far, 65536))]
    numbers = numbers[: numbers.index(count)]
    assert decoder.bad_byte_count == 0
    assert numbers == sorted(set(numbers))
    assert 20 < len(numbers) < count, "nothing was left out: this tests nothing"


def test_serial_line_that_is_unplugged(line):
    """Hardware that is unplugged would be waited for, or end the simulation."""
    link, ends = line
    os.close(ends.pop())
    link.send(b"sensor")
    assert readable(link)
    with pytest.raises(LinkClosedError):
        link.receive()
    link.drop()
    assert link.fileno() == -1


@pytest.mark.parametrize("device", ["/dev/not-there", os.devnull])
def test_serial_device_that_is_none(device):
    """A wrong device would end in a traceback of pyserial."""
    pytest.importorskip("serial", reason="needs pyserial: pip install pyserial")
    with pytest.raises(ConfigError) as caught:
        open_link(f"serial:{device}:57600")
    assert str(caught.value).startswith(f"connection = 'serial:{device}:57600': cannot be opened: ")
    assert "\n" not in str(caught.value)


def test_nothing_stays():
    """Each refused link would leak an open file or a thread."""
    before, threads = len(list(Path("/dev/fd").iterdir())), threading.active_count()
    for text in ("tcp:127.0.0.1:1", "udp:nowhere.invalid:1", "tcpin:x", "serial:/dev/not-there:57600"):
        with pytest.raises(ConfigError):
            open_link(text)
    assert len(list(Path("/dev/fd").iterdir())) == before
    assert threading.active_count() == threads


@pytest.mark.parametrize("kind", ["tcpin", "tcp", "udp"])
def test_a_wait_ends_with_the_bytes(pair, kind):
    """A step would take as long as the longest wait, or miss an answer that comes during the wait."""
    ends = pair(kind)
    ends.link.send(b"sample")
    _, place = ends.peer.recvfrom(100)
    answer = (
        partial(ends.peer.sendto, b"answer", place) if kind == "udp" else partial(ends.peer.send, b"answer")
    )
    late = threading.Timer(LONGEST_WAIT / 10, answer)
    late.start()
    try:
        assert ends.link.await_bytes() == b"answer"
    finally:
        late.join()


@pytest.mark.parametrize("kind", ["tcpin", "tcp", "udp"])
def test_a_wait_has_an_end(pair, kind):
    """An autopilot that hangs would block the simulation forever."""
    ends = pair(kind)
    begin = time.monotonic()
    assert ends.link.await_bytes() == b""
    assert time.monotonic() - begin > 0.9 * LONGEST_WAIT


@pytest.mark.parametrize("kind", ["tcpin", "tcp"])
def test_a_peer_that_goes_ends_a_wait(pair, kind):
    """A crash of an autopilot would be detected only when its answer is late."""
    ends = pair(kind)
    ends.reset()
    with pytest.raises(LinkClosedError):
        ends.link.await_bytes()


def test_messages_sent_at_once(pair):
    """Messages of one step would be lost or change order, or share a datagram instead of one each."""
    messages = [b"gps", b"truth", b"sensor"]
    stream, datagrams = pair("tcp"), pair("udp")
    stream.link.send_all(messages)
    assert stream.peer.recv(100) == b"gpstruthsensor"
    datagrams.link.send_all(messages)
    assert [datagrams.peer.recv(100) for _ in messages] == messages
