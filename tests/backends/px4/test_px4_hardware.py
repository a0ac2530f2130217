"""Tests of PX4 started elsewhere: its links, and the messages of a flight controller in both directions."""

import os
import socket
import tty

import numpy as np
import pytest
from px4_rig import Answerer, Recorder, controls, iris

from pegasus import Simulation
from pegasus.backends import PX4
from pegasus.backends.mavlink.messages import encode, make_message
from tests.waits import LIMIT

pytestmark = pytest.mark.usefixtures("nothing_left")


@pytest.fixture(params=["tcp", "tcpin", "udp", "serial"])
def connection(request):
    """Return a connection string, and a function that connects an autopilot to its other end."""
    closing = []
    if request.param == "tcp":
        server = socket.create_server(("127.0.0.1", 0))
        closing.append(server)
        text, connect = f"tcp:127.0.0.1:{server.getsockname()[1]}", lambda _: server.accept()[0]
    elif request.param == "udp":
        end = socket.socket(type=socket.SOCK_DGRAM)
        end.bind(("127.0.0.1", 0))
        text, connect = f"udp:127.0.0.1:{end.getsockname()[1]}", lambda _: Datagrams(end)
    elif request.param == "tcpin":
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        text, connect = f"tcpin:{port}", lambda _: socket.create_connection(("127.0.0.1", port), LIMIT)
    else:
        pytest.importorskip("serial", reason="needs pyserial: pip install pyserial")
        far, near = os.openpty()
        tty.setraw(far)
        text, connect = f"serial:{os.ttyname(near)}:921600", lambda _: Line(far)
        closing.append(os.fdopen(near))
    yield text, connect
    for one in closing:
        one.close()


class Datagrams:
    """A UDP socket that answers the last sender."""

    def __init__(self, end):
        self._end = end
        self.settimeout, self.close = end.settimeout, end.close

    def recv(self, size):
        data, self._sender = self._end.recvfrom(size)
        return data

    def sendall(self, data):
        self._end.sendto(data, self._sender)


class Line:
    """The far end of a serial line."""

    def __init__(self, descriptor):
        self._descriptor = descriptor

    def settimeout(self, limit):
        """Do nothing: reads block, and the time limit of the test applies."""

    def recv(self, size):
        return os.read(self._descriptor, size)

    def sendall(self, data):
        os.write(self._descriptor, data)

    def close(self):
        os.close(self._descriptor)


def test_links(connection):
    """A PX4 started elsewhere would not fly by this link, or not in lockstep."""
    text, connect = connection

    def counting(message, number):
        return controls(message, number / 1000)

    answerer, recorder = Answerer(connect, counting), Recorder()
    with Simulation(seed=8, observers=[recorder]) as simulation:
        simulation.add(iris(PX4(connection=text), answerer, recorder))
        simulation.run(0.4)
    assert len(answerer.sensors) == 100
    speeds = [command[0, 0] for command in recorder.command]
    # The answer to each message is applied in the step of that message.
    np.testing.assert_allclose(speeds[10:], [65 + 0.653 * k for k in range(11, 101)], rtol=1e-6)


def beliefs(number):
    """Return the estimate messages of a flight controller that is 2 m north and 3 m above its start."""
    words = (
        make_message("LOCAL_POSITION_NED", x=2.0, z=-3.0, vx=0.5),
        # The vehicle heads north: FRD and NED are the same.
        make_message("ATTITUDE_QUATERNION", q1=1.0),
    )
    return b"".join(encode(word, sequence=number, system=1, component=1) for word in words)


def test_hardware_is_not_told_the_truth_and_tells_what_it_believes(connection):
    """A flight controller would publish the true state as its own estimate, and read it as IMU data.

    PX4 does so with HIL_STATE_QUATERNION on a flight controller (mavlink_receiver.cpp). Its estimate comes
    over the same link.
    """
    text, connect = connection

    def hardware(message, number):
        return controls(message, *[0.5] * 4, flags=0) + beliefs(number)

    backend, answerer = PX4(connection=text), Answerer(connect, hardware)
    with Simulation(seed=8) as simulation:
        vehicle = simulation.add(iris(backend, answerer))
        start = vehicle.state.position[0].copy()
        simulation.run(0.3)
        estimate = vehicle.estimate
        assert simulation.time - estimate.received[0] < 0.05
        np.testing.assert_allclose(estimate.position[0], start + np.array([0.0, 2.0, 3.0]), atol=0.05)
        np.testing.assert_allclose(estimate.velocity[0], [0.0, 0.5, 0.0])
        np.testing.assert_allclose(np.abs(estimate.orientation[0]), [0, 0, 0.5**0.5, 0.5**0.5], atol=1e-7)
    kinds = {message.msgname for message in answerer.messages}
    assert kinds == {"HIL_SENSOR", "HIL_GPS", "COMMAND_LONG"}
    asked = [message for message in answerer.messages if message.msgname == "COMMAND_LONG"]
    assert [(m.command, m.param1, m.target_system) for m in asked[:3]] == [(511, n, 1) for n in (31, 32, 49)]


def test_a_px4_in_lockstep_elsewhere_logs_the_truth(connection):
    """The log of a PX4 on another machine would lack the true state."""
    text, connect = connection

    def half(message, _):
        return controls(message, *[0.5] * 4)

    answerer = Answerer(connect, half)
    with Simulation(seed=8) as simulation:
        simulation.add(iris(PX4(connection=text), answerer))
        simulation.run(0.3)
    truth = [message.time_usec for message in answerer.messages if message.msgname == "HIL_STATE_QUATERNION"]
    assert truth == [20_000 * k for k in range(1, 16)][-len(truth) :]
    assert len(truth) >= 13
