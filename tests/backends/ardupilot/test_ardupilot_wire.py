"""Tests of the bytes to ArduPilot: equal to those of the first implementation, reply by reply."""

import hashlib

import numpy as np
import pytest
from ardupilot_rig import RATE, Bare, remote, vehicle

from pegasus.dynamics import Battery
from pegasus.sensors import IMU, Rangefinder, RangeReading
from pegasus.sensors.imu import ImuReading

STEPS = 48
BATTERY = Battery(cell_count=3, capacity=5.1, resistance=0.0088, rated_voltage=11.1, avionics_power=5.0)
SEEN = {
    (1, False): ["4eeb348070d896a3f1c8988559aedefec0ae33f94fdbea0aee41a79b81cba2f7"],
    (3, False): [
        "048652740c543c3838739cf391fcb8fcaf313414a0c80ab38eaac6e7b82d8362",
        "675b2ae5c111f1ca98c7371af6c0e229679242fb1ec1e1239f34654171ca2a38",
        "6fc93ece984e277753de97d70dabc65357bf1556fff6152fce6fc547415e8078",
    ],
    (2, True): [
        "169186938217904be974605dc62d52b00baf224211b7765305cdde53bdf5bccc",
        "da2d60f9d2a635599621926c53b25738169469ee06d5aba21c277a45b248fabc",
    ],
}
"""SHA-256 of the replies to each copy, by number of copies, and whether the IMU is mounted askew."""


def numbers(shape, k, scale=1.0):
    """Return numbers of both signs, and zeros, that do not depend on a generator: exact in binary."""
    index = np.arange(np.prod(shape)).reshape(shape)
    return scale * (((index * 37 + k * 101 + 13) % 257) - 128) / 64.0


def replies(count, askew):
    """Return the replies to each copy in some steps, one after the other."""
    imu = IMU(orientation=(0.5, -0.5, 0.5, 0.5)) if askew else IMU()
    sensors = {"imu": imu, "down": Rangefinder()}
    flown = vehicle(count=count, sensors=sensors, battery=BATTERY)
    backend = remote()
    backend.bind(flown)
    backend.start()
    state, columns, found = flown.state, flown.columns, [b""] * count
    peers = [Bare(number) for number in backend.instances]
    try:
        for k in range(STEPS):
            for peer in peers:
                peer.send(k)
            columns["position"][...] = numbers((count, 3), k, 50.0)
            columns["velocity"][...] = numbers((count, 3), k + 2)
            columns["orientation"][...] = q = np.add(numbers((count, 4), k), [0.0, 0.0, 0.0, 0.3])
            columns["orientation"] /= np.sqrt((q * q).sum(axis=1, keepdims=True))
            t = k / RATE
            new = {"imu": ImuReading(t, numbers((count, 3), k + 1), numbers((count, 3), k + 3, 8.0))}
            if k % 7 == 3:
                near = numbers((count,), k) > 0
                new["down"] = RangeReading(t, 5 + numbers((count,), k), near, 0.1, 6.0)
            if k % 9 == 2:
                columns["voltage"][...], columns["current"][...] = numbers((2, count), k) + 12
            backend.publish(t, state, new)
            for i, peer in enumerate(peers):
                found[i] += peer.socket.recv(65536)
            if k + 1 < STEPS:
                for peer in peers:
                    peer.send(k + 1)
                backend.command(t)
    finally:
        backend.stop()
        for peer in peers:
            peer.socket.close()
    return found


@pytest.mark.parametrize(("count", "askew"), SEEN)
def test_the_same_bytes_as_ever(count, askew):
    """ArduPilot would get other numbers or another text than the one that was flown."""
    found = [hashlib.sha256(stream).hexdigest() for stream in replies(count, askew)]
    assert found == SEEN[count, askew]
