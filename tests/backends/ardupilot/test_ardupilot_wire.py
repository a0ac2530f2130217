"""Tests of the bytes to ArduPilot: equal to those of the first implementation, reply by reply."""

import hashlib

import numpy as np
import pytest
from ardupilot_rig import RATE, Bare, remote, vehicle

from pegasus.sensors import IMU, BatteryMonitor, Rangefinder, RangeReading
from pegasus.sensors.battery_monitor import BatteryReading
from pegasus.sensors.imu import ImuReading

STEPS = 48
SEEN = {
    (1, False): ["49dff9fa69f4b08b3f80d3c223530f37f4e65193e0bd757e0d0bde6ad84e010a"],
    (3, False): [
        "49dff9fa69f4b08b3f80d3c223530f37f4e65193e0bd757e0d0bde6ad84e010a",
        "2c39c24fdd6bda9d4e1daa057201a356366bf56d30304fbb79ca23f87e7494b4",
        "eed882a9bffdc02f8353c22cd1bd754e40464314dad52c77b3f28418b934cb54",
    ],
    (2, True): [
        "c2f78501a89b2cb7ec3da96a798140285d74b313fa323bc914ba114705aec7b5",
        "9328d7bc3a293bf17b62788573cf9551f1c027442d3f73915b74a322430ea5cd",
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
    sensors = {"imu": imu, "down": Rangefinder(), "battery": BatteryMonitor()}
    flown = vehicle(count=count, sensors=sensors)
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
                new["battery"] = BatteryReading(t, *(numbers((count,), k + i) + 12 for i in range(3)))
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
