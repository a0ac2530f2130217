"""Peers that answer at once in place of autopilots: autopilot_peer.py px4|ardupilot INSTANCE [PORT].

They do what costs the simulator something, and nothing else: exactly one answer to each sample, and the
estimate on a link of its own, as PX4 sends it on its payload link and ArduPilot at the port of SERIAL5.
"""

import importlib.util
import re
import socket
import struct
import sys
import time
from pathlib import Path
from types import ModuleType

ESTIMATE_INTERVAL = 0.034
"""Simulated time between two estimates [s]; PX4 sends 29 per second at 4000 bytes per second."""
PULSES = (1300,) * 4 + (0,) * 12
OUTPUTS = (0.3,) * 4 + (0.0,) * 12
LIMIT = 20.0
"""Maximum time to wait for the simulator [s]."""


def load_codec() -> ModuleType:
    """Load the codec alone, in a tenth of the time that the whole package takes."""
    file = Path(__file__).parents[1] / "pegasus" / "backends" / "mavlink" / "messages.py"
    spec = importlib.util.spec_from_file_location("messages", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


codec = load_codec()


def estimate(t: float) -> bytes:
    """Return the messages of an estimate at time t [s]."""
    stamp = round(t * 1e3)
    attitude = codec.make_message("ATTITUDE_QUATERNION", time_boot_ms=stamp, q1=1.0)
    position = codec.make_message("LOCAL_POSITION_NED", time_boot_ms=stamp, z=-1.0)
    return b"".join(codec.encode(message, sequence=0, component=1) for message in (attitude, position))


def connect(port: int) -> socket.socket:
    """Return a connection to the simulator."""
    end = time.monotonic() + LIMIT
    while True:
        try:
            link = socket.create_connection(("127.0.0.1", port))
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
            continue
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return link


def px4(instance: int, port: int) -> None:
    """Answer each HIL_SENSOR until the simulator closes the link."""
    payload = socket.socket(type=socket.SOCK_DGRAM)
    payload.bind(("127.0.0.1", 14280 + instance))
    payload.setblocking(False)
    link, partner, due, sequence = connect(port), None, 0.0, 0
    form = codec.make_message("HIL_ACTUATOR_CONTROLS", flags=1, controls=OUTPUTS, mode=129)
    while data := link.recv(65536):
        at, newest = 0, 0
        while at < len(data):
            if data[at + 7] == 107:
                (newest,) = struct.unpack_from("<Q", data, at + 10)
            at += data[at + 1] + 12
        if not newest:
            continue
        link.send(codec.encode(form._replace(time_usec=newest), sequence=sequence, system=instance + 1))
        sequence += 1
        if newest * 1e-6 >= due:
            due = newest * 1e-6 + ESTIMATE_INTERVAL
            if partner is None:
                try:
                    _, partner = payload.recvfrom(65536)
                except BlockingIOError:
                    continue
            payload.sendto(estimate(newest * 1e-6), partner)


def ardupilot(instance: int, port: int) -> None:
    """Send the next servo packet after each reply, until none comes any more."""
    server = socket.create_server(("127.0.0.1", 5765 + 10 * instance))
    server.setblocking(False)
    link, target, listener, due = socket.socket(type=socket.SOCK_DGRAM), ("127.0.0.1", port), None, 0.0
    stamp, count = re.compile(rb'"timestamp":([0-9.]+)'), 0
    link.settimeout(0.1)
    begin = time.monotonic()
    while True:
        link.sendto(struct.pack("<HHI16H", 18458, 250, count, *PULSES), target)
        try:
            reply = link.recv(65536)
        except TimeoutError:
            if time.monotonic() - begin > LIMIT:
                return
            continue
        link.settimeout(LIMIT)
        count += 1
        found = stamp.search(reply)
        assert found is not None
        t = float(found[1])
        if t >= due:
            due = t + ESTIMATE_INTERVAL
            if listener is None:
                try:
                    listener, _ = server.accept()
                except BlockingIOError:
                    continue
            listener.send(estimate(t))


def main() -> None:
    """Act as the autopilot of the command line."""
    kind, instance = sys.argv[1], int(sys.argv[2])
    act, first, step = {"px4": (px4, 4560, 1), "ardupilot": (ardupilot, 9002, 10)}[kind]
    act(instance, int(sys.argv[3]) if len(sys.argv) > 3 else first + step * instance)


if __name__ == "__main__":
    main()
