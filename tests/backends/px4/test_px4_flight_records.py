"""Tests of the reader of ULogs, on files that are written by the format's public description."""

import struct

import numpy as np
import pytest

pytest.importorskip("pyulog", reason="pip install pegasus-multirotor[ulog]")

from pegasus import ConfigError
from pegasus.backends.px4 import read_ulog
from pegasus.core.aircraft import Aircraft
from tests.flyers import PLAIN_IRIS

FORMATS = {
    "actuator_motors": "uint64_t timestamp;uint64_t timestamp_sample;float[12] control",
    "vehicle_local_position": "uint64_t timestamp;uint64_t timestamp_sample;float x;float y;float z;"
    "float vx;float vy;float vz",
    "vehicle_attitude": "uint64_t timestamp;uint64_t timestamp_sample;float[4] q",
    "sensor_combined": "uint64_t timestamp;float[3] gyro_rad;uint32_t gyro_integral_dt;"
    "float[3] accelerometer_m_s2",
}
PACKED = {
    "actuator_motors": "<QQ12f",
    "vehicle_local_position": "<QQ6f",
    "vehicle_attitude": "<QQ4f",
    "sensor_combined": "<Q3fI3f",
}


def message(kind, body):
    """Return a message of a ULog: size, kind, content (docs.px4.io, ULog file format)."""
    return struct.pack("<HB", len(body), ord(kind)) + body


def ulog(samples):
    """Return a file with samples of topics, as rows of numbers by topic."""
    text = b"\x55\x4c\x6f\x67\x01\x12\x35\x01" + struct.pack("<Q", 0)
    text += message("B", bytes(40))
    for topic in samples:
        text += message("F", f"{topic}:{FORMATS[topic]};".encode())
    for number, topic in enumerate(samples):
        text += message("A", struct.pack("<BH", 0, number) + topic.encode())
    for number, (topic, rows) in enumerate(samples.items()):
        for row in rows:
            text += message("D", struct.pack("<H", number) + struct.pack(PACKED[topic], *row))
    return text


def flight(step=4000):
    """Return samples of a flight north at 2 m/s, nose east, 5 m up, that climbs and rolls to the right."""
    stamps = [1_000_000 + k * step for k in range(200)]
    half = np.sqrt(0.5)
    return {
        "actuator_motors": [(t, t - 500, 0.5, 0.51, 0.52, 0.53, *[np.nan] * 8) for t in stamps],
        "vehicle_local_position": [(t, t, 2e-6 * t, 0.0, -5.0, 2.0, 0.0, -0.5) for t in stamps],
        # FRD to NED: nose east is a turn by 90 degrees about down, w first.
        "vehicle_attitude": [(t, t, half, 0.0, 0.0, half) for t in stamps],
        "sensor_combined": [(t, 0.3, 0.1, 0.2, 4000, 0.4, 0.5, -9.8) for t in stamps],
    }


def test_a_ulog_gives_commands_and_motion(tmp_path):
    """Outputs become rotor speeds by the px4 section; NED and FRD become ENU and FLU."""
    (tmp_path / "flight.ulg").write_bytes(ulog(flight()))
    record = read_ulog(tmp_path / "flight.ulg", Aircraft(PLAIN_IRIS))
    # The file says scale 1000 and offset 100.
    np.testing.assert_allclose(record.command[0], [600.0, 610.0, 620.0, 630.0], rtol=1e-6)
    assert record.command_time[0] == pytest.approx(0.9995)
    assert not record.held
    values = {m.label: (m.time[0], m.values[0]) for m in record.measured}
    np.testing.assert_allclose(values["ekf position"][1], [0.0, 2.0, 5.0], atol=1e-6)
    np.testing.assert_allclose(values["ekf velocity"][1], [0.0, 2.0, 0.5], atol=1e-6)
    # Nose east is no rotation in ENU.
    np.testing.assert_allclose(np.abs(values["ekf orientation"][1]), [0.0, 0.0, 0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(values["imu angular_velocity"][1], [0.3, -0.1, -0.2], rtol=1e-6)
    np.testing.assert_allclose(values["imu specific_force"][1], [0.4, -0.5, 9.8], rtol=1e-6)
    assert values["imu specific_force"][0] == pytest.approx(1.0 - 0.002)


@pytest.mark.parametrize(
    ("samples", "line"),
    [
        (
            {"vehicle_attitude": flight()["vehicle_attitude"]},
            "holds no commands: no topic actuator_motors; set SDLOG",
        ),
        (flight(step=100_000), "actuator_motors: is logged every 0.10 s: too seldom"),
        ({"actuator_motors": flight()["actuator_motors"]}, "has no topic vehicle_local_position"),
        (
            {"actuator_motors": [(t, t, *[np.nan] * 12) for t in range(1, 9)]},
            "actuator_motors: holds no commands: the motors were never armed",
        ),
    ],
)
def test_ulogs_without_what_is_needed(tmp_path, samples, line):
    """A log without commands, with too few of them, or without motion is named in one line."""
    (tmp_path / "flight.ulg").write_bytes(ulog(samples))
    with pytest.raises(ConfigError, match=line):
        read_ulog(tmp_path / "flight.ulg", Aircraft(PLAIN_IRIS))


def test_files_that_are_no_ulogs(tmp_path):
    """A file of another kind is refused."""
    (tmp_path / "flight.ulg").write_bytes(b"no log at all")
    with pytest.raises(ConfigError, match=r"flight.ulg: is no readable ULog: .*; give a .ulg file of PX4"):
        read_ulog(tmp_path / "flight.ulg", Aircraft(PLAIN_IRIS))
