"""Tests of the bytes to PX4: those of the first implementation, but for true north in the true states."""

import hashlib
import math

import numpy as np
import pytest
from px4_rig import call, controls

from pegasus import Multirotor
from pegasus.backends import PX4
from pegasus.backends.mavlink.messages import Decoder
from pegasus.environment import ConstantWind, Environment, Geodetic
from pegasus.sensors import (
    GPS,
    IMU,
    Airspeed,
    AirspeedReading,
    Barometer,
    BarometerReading,
    GpsReading,
    ImuReading,
    Magnetometer,
    MagnetometerReading,
    Odometry,
    OdometryReading,
    OpticalFlow,
    OpticalFlowReading,
    Rangefinder,
    RangeReading,
)

STEPS = 64
SEEN = {
    1: ["2d88390762b5402a8cfbd93326d1818ffa55a48ad089a23b18ffd06552ef2e4d"],
    3: [
        "2d88390762b5402a8cfbd93326d1818ffa55a48ad089a23b18ffd06552ef2e4d",
        "9e1c1c2eb020980fb0d39c234e69ec5ffc40650ca9bb9cffe523d2f21fa5a805",
        "a7177044adf8217ff55b61c3c1d106f0acf7748d90c8dccad66ddd0f5ad98ecc",
    ],
}
"""SHA-256 of the bytes to each copy without those of its number, by number of copies."""


def numbers(shape, k, scale=1.0):
    """Return numbers of both signs that do not depend on a generator: exact in binary."""
    index = np.arange(math.prod(shape)).reshape(shape)
    return scale * (((index * 37 + k * 101 + 13) % 257) - 128) / 64.0


def units(count, k):
    """Return unit quaternions."""
    q = np.add(numbers((count, 4), k), [0.0, 0.0, 0.0, 0.3])
    return q / np.sqrt((q * q).sum(axis=1, keepdims=True))


def readings(count, k):
    """Return the readings that are new at step k, of every kind that has a message."""
    t, found = 0.004 * k, {}
    found["imu"] = ImuReading(t, numbers((count, 3), k), numbers((count, 3), k + 5, 9.0))
    if k % 3 == 0:
        found["magnetometer"] = MagnetometerReading(t, numbers((count, 3), k, 1e-5))
    if k % 4 == 1:
        pressure = 9.5e4 + numbers((count,), k, 100.0)
        found["barometer"] = BarometerReading(t, pressure, numbers((count,), k) + 285, numbers((count,), k))
    if k % 6 == 2:
        found["airspeed"] = AirspeedReading(t, numbers((count,), k, 30.0), *np.zeros((2, count)))
    if k % 10 == 0:
        found["gps"] = GpsReading(
            t, 0.2, numbers((count,), k, 20.0), numbers((count,), k + 1, 50.0), numbers((count,), k, 100.0),
            numbers((count, 3), k, 4.0), np.full(count, 3), np.full(count, 11),
            np.full(count, 0.7), np.full(count, 1.3),
        )  # fmt: skip
    if k % 10 == 5:
        distance = 5 + numbers((count,), k)
        found["down"] = RangeReading(t, distance, distance > 4, 0.1, 40.0)
    if k % 10 == 7:
        found["flow"] = flow(count, k, t)
    if k % 8 == 3:
        found["vision"] = odometry(count, k, t)
    return found


def flow(count, k, t):
    """Return a reading of an optical flow sensor."""
    return OpticalFlowReading(
        t, 0.1, numbers((count, 2), k), numbers((count, 3), k), np.full(count, 3.5), np.full(count, 200)
    )


def odometry(count, k, t):
    """Return a reading of an odometry sensor."""
    return OdometryReading(
        t, t - 0.02, numbers((count, 3), k), units(count, k), numbers((count, 3), k + 1),
        numbers((count, 3), k), np.full((count, 3), 0.02), np.full((count, 3), 0.001), np.full(count, k % 7),
    )  # fmt: skip


def sent_to(count):
    """Return the bytes sent to each copy in some steps."""
    askew = IMU(orientation=(0.5, -0.5, 0.5, 0.5))
    fitted = {
        "imu": askew, "gps": GPS(), "barometer": Barometer(), "magnetometer": Magnetometer(),
        "airspeed": Airspeed(), "down": Rangefinder(), "flow": OpticalFlow(), "vision": Odometry(),
    }  # fmt: skip
    backends, starts = [PX4(launch=False)], np.zeros((count, 3))
    vehicle = Multirotor("iris", count=count, position=starts, sensors=fitted, backends=backends)
    wind = ConstantWind(mean_velocity=(3.0, -1.0, 0.5))
    vehicle.environment = Environment(origin=Geodetic(47.4, 8.5, 400.0), wind=wind)
    vehicle.physics_rate = 250.0
    fitted["vision"].vehicle, fitted["vision"].environment = vehicle, vehicle.environment
    (backend,) = vehicle.backends
    backend.bind(vehicle)
    backend.rc_channels = [1500, 1600]
    streams = [b""] * count
    try:
        links = [call(vehicle, copy=i) for i in range(count)]
        decoders = [Decoder() for _ in links]
        backend.start()
        for k in range(STEPS):
            move(vehicle.columns, k)
            backend.publish(0.004 * k, vehicle.state, readings(count, k))
            for i, link in enumerate(links):
                samples = []
                while not samples:
                    data = link.recv(65536)
                    streams[i] += data
                    samples = [m for m in decoders[i].feed(data) if m.msgname == "HIL_SENSOR"]
                link.sendall(controls(samples[-1], 0.5, 0.5, 0.5, 0.5))
            np.testing.assert_array_equal(backend.command(0.004 * k), 391.5)
        for link in links:
            link.close()
    finally:
        backend.stop()
    return streams


def move(columns, k):
    """Set the state of step k."""
    count = len(columns["position"])
    columns["position"][...], columns["velocity"][...] = (
        numbers((count, 3), k, 50.0),
        numbers((count, 3), k + 2, 5.0),
    )
    columns["orientation"][...] = q = units(count, k)
    x, y, z, w = q.T
    columns["rotation"][...] = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)
    columns["angular_velocity"][...] = numbers((count, 3), k + 3, 2.0)
    columns["acceleration"][...] = numbers((count, 3), k + 4, 20.0)


def without_number(stream):
    """Return frames without system id, which is that of a free port, and checksum, which covers it."""
    parts, at = [], 0
    while at < len(stream):
        end = at + 10 + stream[at + 1]
        parts += [stream[at : at + 5], stream[at + 6 : end]]
        at = end + 2
    return b"".join(parts)


@pytest.mark.parametrize("count", SEEN)
def test_the_same_bytes_as_ever(count):
    """PX4 would get other numbers, another order or other flags than the autopilots that were flown."""
    streams = sent_to(count)
    decoder = Decoder()
    # A message before the first HIL_SENSOR would be stamped before PX4's clock is set.
    assert all(next(Decoder().feed(stream)).msgname == "HIL_SENSOR" for stream in streams)
    # Whole frames with right checksums.
    assert len([message for stream in streams for message in decoder.feed(stream)]) > 100 * count
    assert decoder.bad_byte_count == 0
    found = [hashlib.sha256(without_number(stream)).hexdigest() for stream in streams]
    assert found == SEEN[count]
