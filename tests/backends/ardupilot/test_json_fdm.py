"""Tests of ArduPilot's JSON interface against a model of ArduPilot's own parser."""

import json
import math
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from pegasus.backends.ardupilot.json_fdm import (
    LARGEST_DATAGRAM,
    OptionalReadings,
    ServoPacket,
    commands_from_pwm,
    decode_servos,
    encode_optional,
    encode_reply,
    fdm_rows,
)
from pegasus.backends.mavlink.airframe import OutputMap, in_body_frame
from pegasus.base.frames import (
    matrix_from_quaternion,
    normalize,
    quaternion_from_euler,
    swap_attitude_convention,
    swap_enu_ned,
    swap_flu_frd,
)
from pegasus.dynamics import IdealMotor
from pegasus.environment import Environment, Geodetic
from pegasus.model.machine import Channel
from pegasus.model.multirotor import rotor_channels
from pegasus.sensors import AirspeedReading, ImuReading, RangeReading, Reading

# Section, key and count of numbers, as the table of ArduPilot's SIM_JSON.h lists them.
KEYS = (
    ("", "timestamp", 0),
    ("imu", "gyro", 3),
    ("imu", "accel_body", 3),
    ("", "position", 3),
    ("", "attitude", 3),
    ("", "quaternion", 4),
    ("", "velocity", 3),
    *(("", f"rng_{i}", 0) for i in range(1, 7)),
    ("windvane", "direction", 0),
    ("windvane", "speed", 0),
    ("", "airspeed", 0),
    ("", "no_time_sync", 0),
)


def parse_as_ardupilot(text):
    """Parse like ArduPilot, which searches bare words and skips two characters after them."""
    found = {}
    for section, key, count in KEYS:
        at = text.find(section)
        if at < 0:
            continue
        at = text.find(key, at + len(section) + 1)
        if at < 0:
            continue
        value = text[at + len(key) + 2 :]
        if count:
            assert value[0] == "["
            numbers = [float(word) for word in value[1 : value.index("]")].split(",")]
            assert len(numbers) == count
            found[section, key] = numbers
        else:
            found[section, key] = float(value.split(",")[0].rstrip("}\n"))
    return found


def rows(**changes):
    fields = {
        "position": np.zeros((1, 3)),
        "orientation": np.array([[0.0, 0.0, 0.0, 1.0]]),
        "velocity": np.zeros((1, 3)),
        "angular_velocity": np.zeros((1, 3)),
        "specific_force": np.array([[0.0, 0.0, 9.81]]),
    }
    fields |= {name: np.array([value]) for name, value in changes.items()}
    return np.array(fdm_rows(**fields))


def reply(t=1.0, optional="", **changes):
    return encode_reply(t, rows(**changes)[0].tolist(), optional).decode()


def test_servo_packets_of_both_sizes():
    """A field read at a wrong offset would turn a wrong rotor."""
    short = bytes.fromhex("1a48 b004 d2040000".replace(" ", ""))
    # 18458 is 0x481a: the low byte comes first.
    assert decode_servos(short + struct.pack("<16H", *range(1000, 1016))) == ServoPacket(
        1200, 1234, tuple(range(1000, 1016))
    )
    long = struct.pack("<HHI32H", 29569, 400, 2**32 - 1, *range(1000, 1032))
    assert decode_servos(long) == ServoPacket(400, 2**32 - 1, tuple(range(1000, 1032)))
    assert len(long) < LARGEST_DATAGRAM


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"\x1a\x48",
        struct.pack("<HHI16H", 18459, 400, 1, *[1500] * 16),
        struct.pack("<HHI16H", 29569, 400, 1, *[1500] * 16),
        struct.pack("<HHI32H", 18458, 400, 1, *[1500] * 32),
        struct.pack("<HHI16H", 18458, 400, 1, *[1500] * 16)[:-1],
        struct.pack("<HHI16H", 18458, 400, 1, *[1500] * 16) + b"\0",
    ],
)
def test_what_is_no_servo_packet(datagram):
    """Invalid bytes taken for a packet would spin the rotors."""
    assert decode_servos(datagram) is None


def test_rotor_speeds_of_pulse_widths():
    """Pulse widths 1000 (disarmed) and 0 would not give rest, or 2000 not full speed."""
    pulses = [0, 900, 1000, 1001, 1100, 1500, 2000, 2300]
    rotors = OutputMap(range(8), [1000.0] * 8, [100.0] * 8, rotor_channels(IdealMotor(), 8))
    speeds = commands_from_pwm(pulses, rotors)
    np.testing.assert_allclose(speeds, [0, 0, 0, 101, 200, 600, 1100, 1100], rtol=1e-12)
    two = OutputMap(range(2), [100.0, 200.0], [0.0, 0.0], rotor_channels(IdealMotor(), 2))
    np.testing.assert_allclose(commands_from_pwm([1500, 1500], two), [50.0, 100.0], rtol=1e-12)


def test_axes_by_hand():
    """An exchanged or mirrored axis would flip the vehicle at take-off."""
    level_east = rows(position=(1.0, 2.0, 3.0), velocity=(4.0, 5.0, 6.0), angular_velocity=(0.1, 0.2, 0.3))[0]
    np.testing.assert_allclose(level_east[:3], [0.1, -0.2, -0.3])
    np.testing.assert_allclose(level_east[3:6], [0.0, 0.0, -9.81])
    np.testing.assert_allclose(level_east[6:9], [2.0, 1.0, -3.0])
    np.testing.assert_allclose(level_east[9:12], [5.0, 4.0, -6.0])
    # Facing east is a yaw of 90 degrees from north.
    np.testing.assert_allclose(level_east[12:], [math.sqrt(0.5), 0, 0, math.sqrt(0.5)], atol=1e-15)
    # Facing north, nose 20 degrees up: a pitch of +20 degrees about the right wing.
    nose_up = rows(orientation=quaternion_from_euler(0.0, -math.radians(20), math.pi / 2))[0, 12:]
    expected = np.array([math.cos(math.radians(10)), 0.0, math.sin(math.radians(10)), 0.0])
    np.testing.assert_allclose(nose_up * np.sign(nose_up[0]), expected, atol=1e-15)


def test_axes_of_any_state():
    """A wrong sign in the combined rotation would pass the axis-parallel cases."""
    rng = np.random.default_rng(5)
    position, velocity, rate, force = rng.normal(size=(4, 50, 3))
    attitude = normalize(rng.normal(size=(50, 4)))
    result = fdm_rows(position, attitude, velocity, rate, force)
    x, y, z, w = swap_attitude_convention(attitude).T
    expected = np.concatenate(
        [
            *(swap_flu_frd(rate), swap_flu_frd(force), swap_enu_ned(position), swap_enu_ned(velocity)),
            np.stack([w, x, y, z], axis=1),
        ],
        axis=1,
    )
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-15)


def test_a_turned_imu_is_turned_back():
    """Readings of a rotated IMU would not be converted to body axes."""
    turned = normalize(np.array([1.0, 0.2, -0.3, 0.1]))
    mounting = matrix_from_quaternion(turned)
    rate, force = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 9.0])
    seen = in_body_frame(ImuReading(0.0, (rate @ mounting)[None], (force @ mounting)[None]), mounting)
    np.testing.assert_allclose(
        rows(angular_velocity=seen.angular_velocity[0], specific_force=seen.specific_force[0]),
        rows(angular_velocity=rate, specific_force=force),
        rtol=1e-12,
        atol=1e-15,
    )


def test_zero_has_no_sign():
    """A vehicle at rest would be sent as different texts, by the direction of zero."""
    zeros = dict.fromkeys(("position", "velocity", "angular_velocity"), (-0.0, 0.0, -0.0))
    assert "-0.0" not in reply(specific_force=(-0.0, 0.0, 0.0), **zeros)


def test_ardupilot_finds_every_number():
    """ArduPilot's parser would read a wrong number: a key inside another one, or a space."""
    optional = encode_optional(ranges=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), airspeed=7.0, battery=(12.6, 20.5))
    state = {
        "position": (1.0, 2.0, 3.0),
        "velocity": (4.0, 5.0, 6.0),
        "angular_velocity": (0.1, 0.2, 0.3),
        "specific_force": (0.01, 0.02, 9.81),
    }
    for text in (reply(12.5, **state), reply(12.5, optional, **state)):
        found = parse_as_ardupilot(text)
        assert found["", "timestamp"] == pytest.approx(12.5, rel=2e-8)
        assert found["imu", "gyro"] == [0.1, -0.2, -0.3]
        assert found["imu", "accel_body"] == [0.01, -0.02, -9.81]
        assert found["", "position"] == [2.0, 1.0, -3.0]
        assert found["", "velocity"] == [5.0, 4.0, -6.0]
        assert found["", "quaternion"] == pytest.approx([math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5)])
        assert found["", "no_time_sync"] == 1.0
        assert ("", "attitude") not in found
    assert [found["", f"rng_{i}"] for i in range(1, 7)] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert found["", "airspeed"] == 7.0
    assert json.loads(text)["battery"] == {"voltage": 12.6, "current": 20.5}


def test_form_of_the_line():
    """A missing newline would cause a lag of a frame, a space after a colon a wrong number."""
    text = reply(optional=encode_optional(ranges=(1.0,), battery=(12.0, 1.0)))
    assert (text[:2], text[-2:], text.count("\n")) == ("\n{", "}\n", 2)
    assert not any(character.isspace() for character in text.strip("\n"))
    assert text.index('"velocity"') == text.index("velocity") - 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_number_that_is_none(value):
    """NaN, on which ArduPilot aborts, would be sent."""
    for k in range(16):
        row = [1.0] * 16
        row[k] = value
        with pytest.raises(ValueError, match="must be finite"):
            encode_reply(0.0, row)
    optional = encode_optional(airspeed=value, battery=(value, 1.0))
    assert optional == ""


def test_a_rangefinder_that_sees_nothing():
    """A range without a target would be omitted, and ArduPilot keep the last distance."""
    assert encode_optional(ranges=(math.inf, 2.0)) == ',"rng_1":10000.000000000000,"rng_2":2.000000000000'
    assert encode_optional(ranges=(math.nan, 2.0)) == ',"rng_2":2.000000000000'


def test_more_than_ardupilot_takes():
    """A seventh rangefinder would be dropped without an error."""
    with pytest.raises(ValueError, match="at most 6 rangefinders"):
        encode_optional(ranges=(1.0,) * 7)


def test_readings_besides_the_imus():
    """Rangefinder or battery readings would be lost, or reach a wrong vehicle."""

    def ranging(t, first, second, valid=(True, True)):
        return RangeReading(t, np.array([first, second]), np.array(valid), 0.1, 40.0)

    # 2,500 m up the air has 78.1 % of its density at sea level (US Standard Atmosphere 1976, table I).
    place = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 2500.0]])
    air = Environment(origin=Geodetic(0.0, 0.0, 0.0))
    bare = OptionalReadings(air)
    bare.take({"imu": Reading(0.0)}, place)
    assert bare.text(0) == ""
    battery = SimpleNamespace(voltage=np.array([12.0, 11.0]), current=np.array([20.0, 30.0]))
    readings = OptionalReadings(air, battery)
    readings.take({"front": ranging(0.0, 40.0, 0.1, (False, False)), "down": ranging(0.0, 1.0, 2.0)}, place)
    pressure = np.zeros(2)
    readings.take({"pitot": AirspeedReading(0.0, pressure, np.array([-9.0, 8.0]), pressure)}, place)
    readings.take({"imu": Reading(0.1), "down": ranging(0.1, 1.5, 2.5)}, place)
    true = pytest.approx(8.0 / math.sqrt(0.7812), rel=1e-4)
    expected = [(10000.0, 1.5, 0.0, (12.0, 20.0)), (0.0, 2.5, true, (11.0, 30.0))]
    for copy, (front, down, airspeed, battery) in enumerate(expected):
        text = reply(1.0, readings.text(copy))
        found = parse_as_ardupilot(text)
        assert (found["", "rng_1"], found["", "rng_2"], found["", "airspeed"]) == (front, down, airspeed)
        assert tuple(json.loads(text)["battery"].values()) == battery


@pytest.mark.parametrize("rate", [400.0, 720.0, 1000.0, 1200.0])
@pytest.mark.parametrize("first", [0.0, 7000.0])
def test_ardupilots_clock_loses_nothing(rate, first):
    """Stamps cut to microseconds would lose 62 ms in 300 s at 1 kHz."""
    row, clock, last = [0.0] * 16, 0, None
    steps = int(10 * rate)
    for k in range(steps + 1):
        stamp = float(encode_reply(first + k / rate, row).split(b":", 2)[1].split(b",")[0])
        if last is not None:
            clock = int(clock + (stamp - last) * 1e6)
        last = stamp
    assert clock == 10_000_000


def test_servos_rest_in_the_middle():
    """A rudder would be deflected to one side only, and fully while its servo is not driven."""
    channels = (Channel("throttle", "", 0.0, 1.0), Channel("rudder", "rad", -0.4, 0.4, idle=0.05))
    outputs = OutputMap(range(2), [1.0, 0.4], [0.0, 0.0], channels)
    found = [commands_from_pwm([pulse, pulse], outputs) for pulse in (0, 1000, 1500, 1750, 2000, 2100)]
    wanted = [[0.0, 0.05], [0.0, -0.4], [0.5, 0.0], [0.75, 0.2], [1.0, 0.4], [1.0, 0.4]]
    np.testing.assert_allclose(found, wanted, atol=1e-15)
