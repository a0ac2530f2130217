"""Codec of ArduPilot's JSON interface: servo packets in, vehicle states out."""

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pegasus.backends.mavlink.airframe import OutputMap, other_attitude
from pegasus.base.arrays import Array
from pegasus.dynamics.battery_state import BatteryState
from pegasus.environment import Environment
from pegasus.model.machine import Channel
from pegasus.sensors import AirspeedReading, RangeReading, Reading
from pegasus.sensors.airspeed import true_airspeed

_HEADER = struct.Struct("<HHI")
_LAYOUTS = {
    (magic, struct.calcsize(form)): struct.Struct(form)
    for magic, form in ((18458, "<HHI16H"), (29569, "<HHI32H"))
}
_LARGEST_PACKET = 72
LARGEST_DATAGRAM = _LARGEST_PACKET + 1
"""Bytes to read from a socket: one more than a servo packet, so that longer datagrams are recognised."""

_REST = 1000
_FULL = 2000
_PER_PULSE = 1.0 / (_FULL - _REST)
"""Pulse widths at rest and at full output [us]."""

# ArduPilot truncates time differences to whole microseconds. Stamps of whole microseconds with a small
# surplus, so that rounding never loses one, keep the clocks together: its clock gains 36 us per hour. A
# tenth of the surplus suffices at 1 kHz, but not at 1.2 kHz.
_MICRO = 1e-6 * (1 + 1e-8)

_OUT_OF_REACH = 10_000.0
"""Distance sent for a rangefinder out of range [m]."""

MAX_RANGES = 6
"""Maximum number of rangefinders in a reply."""

# ArduPilot's parser searches a key by its bare name and skips two characters after it: no space may follow a
# colon, and `velocity` must precede any key that contains these letters. Without a leading newline it reads
# the previous line.
_VECTOR = "[%.12f,%.12f,%.12f]"
_TEMPLATE = (
    '\n{"timestamp":%.12f,"imu":{"gyro":' + _VECTOR + ',"accel_body":' + _VECTOR + '},"position":' + _VECTOR
) + (',"velocity":' + _VECTOR + ',"quaternion":[%.12f,%.12f,%.12f,%.12f],"no_time_sync":1%s}\n')


class ServoPacket(NamedTuple):
    """Servo packet of ArduPilot."""

    frame_rate: int
    """Frame rate that it has measured in the time stamps [Hz]."""
    frame_count: int
    """Number of replies received since its start."""
    pwm: tuple[int, ...]
    """Sixteen or thirty-two pulse widths [us]; 0 for no output."""


def decode_servos(datagram: bytes) -> ServoPacket | None:
    """Return the servo packet of a datagram; None for other datagrams."""
    if len(datagram) < _HEADER.size:
        return None
    layout = _LAYOUTS.get((_HEADER.unpack_from(datagram)[0], len(datagram)))
    if layout is None:
        return None
    _, rate, count, *pwm = layout.unpack(datagram)
    return ServoPacket(rate, count, tuple(pwm))


def commands_from_pwm(pwm: Sequence[int], outputs: OutputMap) -> list[float]:
    """Return the commands of pulse widths, by channel.

    A command is scale u + offset with u = (pwm - 1000) / 1000, of a servo whose commands may be negative with
    u = (pwm - 1500) / 500; it is constant from 2000 us on, and that at rest up to 1000 us (servo: at 0 us).

    Args:
        pwm: Pulse width of each channel [us].
        outputs: Scale and offset of each channel.
    """
    return [
        _command(*each) for each in zip(pwm, outputs.scale, outputs.offset, outputs.channels, strict=True)
    ]


def _command(pulse: int, scale: float, offset: float, channel: Channel) -> float:
    centered = channel.low < 0.0 and not channel.supplied
    if pulse <= (0 if centered else _REST):
        return channel.idle
    u = (min(pulse, _FULL) - _REST) * _PER_PULSE
    return scale * (max(2.0 * u - 1.0, -1.0) if centered else u) + offset


def fdm_rows(
    position: Array, orientation: Array, velocity: Array, angular_velocity: Array, specific_force: Array
) -> list[tuple[float, ...]]:
    """Return the sixteen numbers of each of N replies in the order of the text.

    Angular velocity [rad/s] and specific force [m/s^2] in FRD, position [m] and velocity [m/s] in NED, unit
    quaternion wxyz FRD to NED. Source: ArduPilot, libraries/SITL/SIM_JSON.h.

    Args:
        position: Position in the world, ENU [m], shape (N, 3).
        orientation: Unit quaternion xyzw, FLU to ENU, shape (N, 4).
        velocity: Velocity in the world, ENU [m/s], shape (N, 3).
        angular_velocity: Reading of the gyroscope in the body frame [rad/s], shape (N, 3).
        specific_force: Reading of the accelerometer in the body frame [m/s^2], shape (N, 3).
    """
    # Zero less or plus a number: its text has no sign if it is zero.
    return [
        (
            *(p + 0.0, 0.0 - q, 0.0 - r, ax + 0.0, 0.0 - ay, 0.0 - az),
            *(n + 0.0, e + 0.0, 0.0 - u, vn + 0.0, ve + 0.0, 0.0 - vu),
            *other_attitude(x, y, z, w),
        )
        for (e, n, u), (x, y, z, w), (ve, vn, vu), (p, q, r), (ax, ay, az) in zip(
            position.tolist(),
            orientation.tolist(),
            velocity.tolist(),
            angular_velocity.tolist(),
            specific_force.tolist(),
            strict=True,
        )
    ]


def encode_reply(t: float, row: Sequence[float], optional: str = "") -> bytes:
    """Return the datagram that answers a servo packet.

    It tells ArduPilot that the simulator sets the pace.

    Args:
        t: Simulation time [s].
        row: One row of `fdm_rows`.
        optional: Text of `encode_optional`.

    Raises:
        ValueError: If a number is not finite; ArduPilot aborts on those.
    """
    if not math.isfinite(sum(row)):
        raise ValueError("must be finite")
    return (_TEMPLATE % (round(t * 1e6) * _MICRO, *row, optional)).encode("ascii")


def encode_optional(
    *,
    ranges: Sequence[float] = (),
    airspeed: float | None = None,
    battery: tuple[float, float] | None = None,
) -> str:
    """Return the text of optional readings in a reply; values that are not finite are omitted.

    Args:
        ranges: Distances of up to six rangefinders [m], infinite if out of range; `rng_1` to `rng_6`, which
            need RNGFND1_TYPE 100 and so on.
        airspeed: True airspeed [m/s], which ArduPilot divides by its EAS2TAS before it computes the pressure;
            it needs ARSPD_TYPE 100. Source: ArduPilot, libraries/SITL/SIM_JSON.cpp and
            `_update_airspeed(float true_airspeed)` in libraries/AP_HAL_SITL/sitl_airspeed.cpp.
        battery: Voltage [V] and current [A]; read by ArduPilot 4.7 and later.

    Raises:
        ValueError: If there are too many rangefinders.
    """
    if len(ranges) > MAX_RANGES:
        raise ValueError(f"must be at most {MAX_RANGES} rangefinders")
    parts = [
        f',"rng_{i}":{min(distance, _OUT_OF_REACH):.12f}'
        for i, distance in enumerate(ranges, start=1)
        if distance >= 0
    ]
    if airspeed is not None and math.isfinite(airspeed):
        parts.append(f',"airspeed":{airspeed:.12f}')
    if battery is not None and math.isfinite(sum(battery)):
        parts.append(f',"battery":{{"voltage":{battery[0]:.12f},"current":{battery[1]:.12f}}}')
    return "".join(parts)


class OptionalReadings:
    """Optional readings for ArduPilot: rangefinders, one airspeed sensor, and the vehicle's battery.

    Args:
        environment: Environment, whose air density converts indicated to true airspeed.
        battery: The vehicle's battery; None if it has none.
    """

    def __init__(self, environment: Environment, battery: BatteryState | None = None) -> None:
        self._environment, self._battery = environment, battery
        self._true_airspeed: Array = np.zeros(0)
        self._latest: dict[str, Reading] = {}
        self._rangefinders: list[str] = []
        self._airspeeds: list[str] = []

    def take(self, readings: Mapping[str, Reading], position: Array) -> None:
        """Store new readings.

        Args:
            readings: Readings by sensor name.
            position: Positions of the vehicles in the world [m], shape (N, 3).
        """
        known = len(self._latest)
        self._latest.update(readings)
        if len(self._latest) > known:
            latest = self._latest.items()
            self._rangefinders = [name for name, reading in latest if isinstance(reading, RangeReading)]
            self._airspeeds = [name for name, reading in latest if isinstance(reading, AirspeedReading)]
        for name in self._airspeeds[:1]:
            if isinstance(reading := readings.get(name), AirspeedReading):
                density = self._environment.air_density(position)
                self._true_airspeed = true_airspeed(reading.indicated_airspeed, air_density=density)

    def text(self, copy: int) -> str:
        """Return the text of a vehicle's readings by `encode_optional`.

        Rangefinders are numbered in the order of the vehicle's sensors; those after the sixth are omitted.
        """
        if not (self._rangefinders or self._airspeeds or self._battery):
            return ""
        latest: dict[str, Any] = self._latest
        airspeed = battery = None
        if self._airspeeds:
            # ArduPilot squares it, which would lose the sign.
            airspeed = max(float(self._true_airspeed[copy]), 0.0)
        if self._battery is not None:
            battery = float(self._battery.voltage[copy]), float(self._battery.current[copy])
        ranges = [_range(latest[name], copy) for name in self._rangefinders[:MAX_RANGES]]
        return encode_optional(ranges=ranges, airspeed=airspeed, battery=battery)


def _range(reading: RangeReading, copy: int) -> float:
    """Return a distance: infinite if out of range, 0 if too near."""
    distance = float(reading.distance[copy])
    if reading.valid[copy]:
        return distance
    return math.inf if distance >= reading.max_range else 0.0
