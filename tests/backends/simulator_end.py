"""A minimal simulator's end of the HIL link, with the peer's process at the other end."""

import socket
import subprocess
import sys
from pathlib import Path

from pegasus.backends.mavlink.messages import Decoder, encode, make_message
from tests.waits import LIMIT

PEER = Path(__file__).with_name("px4_peer.py")


def sensor(count, *, fields=0x1FFF, usec=None, **values):
    """Return the message of a vehicle at rest, level, heading north; 4 ms apart."""
    at_rest = {
        "xacc": 0.0,
        "yacc": 0.0,
        "zacc": -9.81,
        "xgyro": 0.0,
        "ygyro": 0.0,
        "zgyro": 0.0,
        "xmag": 0.21,
        "ymag": 0.0,
        "zmag": 0.43,
        "abs_pressure": 956.0,
        "diff_pressure": 0.0,
        "pressure_alt": 488.0,
        "temperature": 15.0,
    }
    return make_message(
        "HIL_SENSOR",
        time_usec=4000 * count if usec is None else usec,
        **(at_rest | values),
        fields_updated=fields,
    )


class Simulator:
    """The simulator's end of the link, and the peer's process."""

    def __init__(self, *options):
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(LIMIT)
        port = str(self._server.getsockname()[1])
        command = [sys.executable, str(PEER), "--port", port, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.link = None
        self.accept()

    def accept(self):
        if self.link is not None:
            self.link.close()
        self.link, _ = self._server.accept()
        self.link.settimeout(LIMIT)
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.decoder, self.raw = Decoder(), b""
        self._waiting = []
        self._sequence = 0

    def send(self, message):
        self.link.sendall(encode(message, sequence=self._sequence))
        self._sequence += 1

    def receive(self):
        """Return the next message; raise EOFError at the end of the link."""
        while not self._waiting:
            data = self.link.recv(65536)
            if not data:
                raise EOFError
            self.raw += data
            self._waiting.extend(self.decoder.feed(data))
        return self._waiting.pop(0)

    def answers(self, message):
        """Send a sensor message; return all messages up to and including its answer."""
        self.send(message)
        seen = []
        while not seen or seen[-1].time_usec != message.time_usec:
            seen.append(self.receive())
        return seen

    def steps(self, first, last):
        """Run steps in lockstep; return the times of the answers to each, in steps."""
        return [[a.time_usec // 4000 for a in self.answers(sensor(k))] for k in range(first, last + 1)]

    def handshake(self):
        return self.receive(), self.receive()

    def lines(self):
        """Close the link; return the peer's printed lines, split, once it has ended."""
        self.link.close()
        output, errors = self.process.communicate(timeout=LIMIT)
        assert errors == ""
        return [line.split() for line in output.splitlines()]

    def end(self):
        self.link.close()
        self._server.close()
        self.process.kill()
        self.process.communicate()
