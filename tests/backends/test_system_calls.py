"""Tests of the cost of a step with an autopilot: system calls, and work that is done only when due."""

import struct

import numpy as np
import pytest
from ardupilot_rig import RATE, Bare, remote, vehicle
from px4_rig import Answerer, call, controls, free_instance, iris

from pegasus import Simulation
from pegasus.backends import PX4
from pegasus.backends.mavlink.hub import Inbox
from pegasus.backends.mavlink.link import UdpLink
from pegasus.control.mission import Course, Mission
from pegasus.sensors.imu import ImuReading

pytestmark = pytest.mark.usefixtures("nothing_left")
STEPS = 50


class Counted:
    """Socket whose calls are counted."""

    def __init__(self, counted, calls):
        self._socket, self._calls = counted, calls

    def __getattr__(self, name):
        method = getattr(self._socket, name)
        if name in ("send", "sendto", "recv", "recvfrom", "poll"):
            self._calls.append(name)
        return method


def half(message, _):
    """Answer like an armed PX4 that holds all outputs at one half."""
    return controls(message, *[0.5] * 16)


@pytest.mark.parametrize(("vehicle_count", "copies"), [(1, 1), (1, 3), (3, 1)])
def test_px4_costs_one_send_and_one_receive(vehicle_count, copies, monkeypatch):
    """Empty reads, polls and repeated sends would make ten vehicles spend most time in the kernel."""
    empty = []
    receive = UdpLink.receive
    monkeypatch.setattr(UdpLink, "receive", lambda self: empty.append(self) or receive(self))
    first, calls = free_instance(3), []
    with Simulation(seed=8) as simulation:
        backends = [PX4(launch=False, instance=first + i) for i in range(vehicle_count)]
        for i, backend in enumerate(backends):
            peers = [Answerer(lambda v, k=k: call(v, copy=k), half) for k in range(copies)]
            simulation.add(iris(backend, *peers, count=copies, position=(0.0, 5.0 * i, 0.1)))
        simulation.step(100)
        selects = []
        for backend in backends:
            for link in backend._links:
                link._socket = Counted(link._socket, calls)
            backend._lockstep._poll = Counted(backend._lockstep._poll, selects)
        simulation.step(STEPS)
    assert sorted(set(calls)) == ["recv", "send"]
    assert calls.count("send") == calls.count("recv") == STEPS * vehicle_count * copies
    # One poll of the payload links of all copies, which are silent.
    assert selects == ["poll"] * STEPS * vehicle_count
    assert empty == []


def test_ardupilot_costs_one_send_and_one_receive():
    """Each step would cost extra system calls by reading and polling its socket until it is empty."""
    flown, calls = vehicle(count=2), []
    backend = remote()
    backend.bind(flown)
    backend.start()
    reading = ImuReading(0.0, np.zeros((2, 3)), np.zeros((2, 3)))
    peers = [Bare(number) for number in backend.instances]
    try:
        for link in backend.links:
            link._socket = Counted(link._socket, calls)
        for k in range(STEPS):
            if k == STEPS // 2:
                calls.clear()
            for peer in peers if k == 0 else ():
                peer.send(0)
            backend.publish(k / RATE, flown.state, {"imu": reading})
            for peer in peers:
                peer.socket.recv(65536)
                peer.send(k + 1, 1500)
            backend.command(k / RATE)
    finally:
        backend.stop()
        for peer in peers:
            peer.socket.close()
    assert sorted(calls) == ["recvfrom"] * STEPS + ["sendto"] * STEPS


def test_the_pilot_thinks_when_it_speaks(monkeypatch):
    """A trajectory would be evaluated at every step, although set-points are sent only 20 times a second."""
    times, update, made, advance = [], Mission.update, [], Course.advance
    monkeypatch.setattr(Mission, "update", lambda self, t, *rest: times.append(t) or update(self, t, *rest))
    monkeypatch.setattr(Course, "advance", lambda *arguments: made.append(1) or advance(*arguments))
    backend = PX4(launch=False, trajectory=[{"takeoff": {"height": 2.0}}])
    with Simulation(seed=8) as simulation:
        simulation.add(iris(backend, Answerer(call, half)))
        simulation.run(2.0)
    assert 38 <= len(times) <= 40
    np.testing.assert_allclose(np.diff(times), 0.052, atol=1e-9)
    # Points are made for many set-points: at the first two, and with each phase of the flight.
    assert len(made) < 8


def test_estimates_are_read_when_they_come(monkeypatch):
    """Links would be read at every step, although only 29 estimates arrive in a second."""
    backend, peer, read = PX4(launch=False), Answerer(call, half), []
    ready = Inbox.ready
    monkeypatch.setattr(Inbox, "ready", lambda self: read.append(found := ready(self)) or found)
    with Simulation(seed=8) as simulation:
        simulation.add(iris(backend, peer))
        simulation.run(0.5)
        assert all(found == [] for found in read)
        backend._hubs[0].deliver(struct.pack("B", 0xFD))
        simulation.step()
        assert [len(found) for found in read[-2:]] == [1, 1]
