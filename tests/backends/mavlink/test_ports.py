"""Tests of ports: binding, naming the holder of an occupied port, and the search for free ports."""

import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pegasus.backends.mavlink.ports import (
    bind_udp,
    first_free_instance,
    holder_of,
    listen,
    peers_of,
    server_at,
)
from pegasus.base.errors import ConfigError
from tests.waits import LIMIT

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a port")
OPEN = {"tcp": listen, "udp": bind_udp}
HOLDER = """
import socket, sys
kind, host = sys.argv[1:]
family = socket.AF_INET6 if ":" in host else socket.AF_INET
held = socket.socket(family, socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM)
held.bind((host, 0))
if kind == "tcp":
    held.listen()
print(held.getsockname()[1], flush=True)
sys.stdin.read()
"""


class Holder:
    """Another process that holds a port while it is entered."""

    def __init__(self, kind, host="127.0.0.1"):
        command = [sys.executable, "-I", "-S", "-c", HOLDER, kind, host]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline() or 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate(timeout=LIMIT)


def has_ipv6():
    """Return whether this machine has an IPv6 address, whatever Python was built with."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


def number(opened):
    """Return the port number of a socket."""
    return opened.getsockname()[1]


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_does_not_block(kind):
    """A simulation step would block in a socket until data or a connection arrives."""
    with OPEN[kind]("127.0.0.1", 0) as opened:
        assert not opened.getblocking()


def test_listens():
    """A connection made before the simulation accepts would be refused."""
    with listen("127.0.0.1", 0) as listener:
        with closing(socket.create_connection(listener.getsockname(), timeout=LIMIT)) as client:
            client.sendall(b"early")
            listener.settimeout(5)
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(5) == b"early"
        connection_port = number(listener)
    # A closed connection lingers for a minute; a restarted simulation must not wait for it.
    listen("127.0.0.1", connection_port).close()


def test_receives():
    """Datagrams to the port would be lost."""
    with bind_udp("127.0.0.1", 0) as receiver, socket.socket(type=socket.SOCK_DGRAM) as sender:
        sender.sendto(b"servo", receiver.getsockname())
        receiver.settimeout(5)
        assert receiver.recv(16) == b"servo"


@ON_LINUX
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1"])
@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_holder(kind, host):
    """The process that holds a port would not be found, or another one be named."""
    if ":" in host and not has_ipv6():
        pytest.skip("no IPv6 here")
    with Holder(kind, host) as holder:
        name = Path(f"/proc/{holder.process.pid}/comm").read_text().strip()
        assert holder_of(holder.port, kind) == f"{name} (pid {holder.process.pid})"
        assert holder_of(holder.port, "udp" if kind == "tcp" else "tcp") is None
    assert holder_of(holder.port, kind) is None


@ON_LINUX
def test_holder_is_this_process():
    """Two vehicles that want one port would cause the advice to end another program."""
    with listen("127.0.0.1", 0) as listener:
        assert holder_of(number(listener), "tcp") == f"this process (pid {os.getpid()})"


CALLER = """
import socket, sys
mapped = sys.argv[2] == "mapped"
family, host = (socket.AF_INET6, "::ffff:127.0.0.1") if mapped else (socket.AF_INET, "127.0.0.1")
link = socket.socket(family)
link.connect((host, int(sys.argv[1])))
sys.stdin.readline()
link.close()
print("closed", flush=True)
sys.stdin.read()
"""


@ON_LINUX
@pytest.mark.parametrize("family", ["plain", "mapped"])
def test_peers(family):
    """The program at the other end of a connection would be identified wrongly."""
    if family == "mapped" and not has_ipv6():
        pytest.skip("no IPv6 here")
    with listen("127.0.0.1", 0) as listener:
        command = [sys.executable, "-I", "-S", "-c", CALLER, str(number(listener)), family]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as caller:
            listener.settimeout(10)
            connection, _ = listener.accept()
            with connection:
                assert peers_of(connection) == {caller.pid}
                caller.stdin.write("\n")
                caller.stdin.flush()
                assert caller.stdout.readline() == "closed\n"
                assert peers_of(connection) == set()
            caller.communicate(timeout=LIMIT)


@ON_LINUX
def test_a_table_without_our_own_sockets_tells_nothing(monkeypatch, tmp_path):
    """Every autopilot would be refused in a sandbox that hides the socket table."""
    monkeypatch.setattr("pegasus.backends.mavlink.ports._PROC", tmp_path)
    with listen("127.0.0.1", 0) as listener, closing(socket.create_connection(listener.getsockname())):
        listener.settimeout(10)
        connection, _ = listener.accept()
        with connection:
            assert peers_of(connection) is None


def test_server_at_a_unix_socket(tmp_path):
    """The file of a killed server would count as a server, or a running server not."""
    path = tmp_path / "socket"
    assert server_at(path) is None
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        seen = f"this process (pid {os.getpid()})" if sys.platform == "linux" else "another process"
        assert server_at(path) == seen
    assert path.exists()
    assert server_at(path) is None


@pytest.mark.parametrize("kind", ["tcp", "udp"])
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_port_in_use(kind, host):
    """An occupied port would be shared, or its error lack the port, the holder or the remedy."""
    with Holder(kind, host) as holder:
        with pytest.raises(ConfigError) as caught:
            OPEN[kind](host, holder.port)
        seen = f"pid {holder.process.pid}" if sys.platform == "linux" else ""
    assert str(caught.value).startswith(f"{kind.upper()} port = {holder.port}: in use")
    assert seen in str(caught.value)
    assert str(caught.value).endswith("; end that process, or choose another instance")


@pytest.mark.parametrize(
    ("host", "port", "message"),
    [
        ("127.0.0.1", 65536, "UDP port = 65536: must be 0 to 65535"),
        ("127.0.0.1", -1, "UDP port = -1: must be 0 to 65535"),
        (
            "192.0.2.1",
            14550,
            "host = '192.0.2.1': is not an address of this machine; use 0.0.0.0 for all addre",
        ),
        ("not an address", 14550, "host = 'not an address': is not an address: "),
    ],
)
def test_wrong_address(host, port, message):
    """A wrong port or host would end in a traceback of the socket library."""
    with pytest.raises(ConfigError) as caught:
        bind_udp(host, port)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("kind", ["tcp", "udp"])
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_first_free_instance(kind, host):
    """An instance with an occupied port would be chosen, or a free one be skipped."""
    with Holder(kind, host) as holder, OPEN[kind]("127.0.0.1", 0) as other, bind_udp("127.0.0.1", 0) as spare:
        free = number(spare)
        spare.close()
        ports = {0: holder.port, 1: free, 2: number(other), 3: free}

        def ports_of(instance):
            return [("udp", free), (kind, ports[instance])]

        assert first_free_instance(ports_of) == 1
        assert first_free_instance(ports_of, start=2) == 3
        with pytest.raises(ConfigError) as caught:
            first_free_instance(ports_of, start=2, limit=3)
        assert "instance: the ports of every instance from 2 to 2 are in use" in str(caught.value)
        # The search must not bind them.
        assert first_free_instance(ports_of) == 1


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc/self/fd to count open files in")
def test_nothing_stays_open():
    """Each refused or tested port would leak an open file."""
    with Holder("tcp") as holder:
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(3):
            with pytest.raises(ConfigError):
                listen("127.0.0.1", holder.port)
            with pytest.raises(ConfigError):
                first_free_instance(lambda _: [("tcp", holder.port)], limit=3)
            first_free_instance(lambda _: [("udp", 0), ("tcp", 0)])
        assert len(list(Path("/proc/self/fd").iterdir())) == before
