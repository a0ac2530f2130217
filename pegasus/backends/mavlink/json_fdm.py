"""ArduPilot's JSON interface in bytes: servo packets in, the state of the vehicle out as one line of text.

Nothing here knows of sockets or of time that passes; `pegasus.backends.mavlink.ardupilot` does.
"""

import math
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pegasus.arrays import Array, namespace, row_product
from pegasus.sensors import AirspeedReading, RangeReading, Reading
from pegasus.sensors.airspeed import true_airspeed

if TYPE_CHECKING:
    from pegasus.environment import Environment

_HEADER = struct.Struct("<HHI")
_LAYOUTS = {
    (magic, struct.calcsize(form)): struct.Struct(form)
    for magic, form in ((18458, "<HHI16H"), (29569, "<HHI32H"))
}
_LARGEST_PACKET = 72
LARGEST_DATAGRAM = _LARGEST_PACKET + 1
"""Bytes to ask a socket for: one more than a servo packet has, so that a longer datagram is none."""

_REST = 1000
_FULL = 2000
"""Pulse widths of a motor that stands, and of one at full output [us]."""

# ArduPilot cuts every step between two time stamps to whole microseconds. Stamps of whole microseconds, and
# so much more of each that no difference falls below its own by rounding, keep the clocks together: its clock
# gains 36 us per hour. A tenth of that would do at 1 kHz, but not at 1.2 kHz.
_MICRO = 1e-6 * (1 + 1e-8)

_OUT_OF_REACH = 10_000.0
"""Stands for a rangefinder that sees nothing: farther than any of them measures [m]."""

MOST_RANGES = 6
"""Rangefinders whose distances a reply can hold."""

_HALF = math.sqrt(0.5)
_FIELDS = 16
_GYRO, _ACCEL, _POSITION, _VELOCITY, _ATTITUDE = (
    slice(0, 3),
    slice(3, 6),
    slice(6, 9),
    slice(9, 12),
    slice(12, 16),
)
_FLU_TO_FRD = np.diag([1.0, -1.0, -1.0])
_ENU_TO_NED = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
# xyzw of FLU in ENU to wxyz of FRD in NED, as row vector times matrix: what
# `pegasus.frames.swap_attitude_convention` does.
_ATTITUDE_TO_NED = _HALF * np.array(
    [[0.0, 1.0, 1.0, 0.0], [0.0, 1.0, -1.0, 0.0], [1.0, 0.0, 0.0, -1.0], [1.0, 0.0, 0.0, 1.0]]
)

# ArduPilot's parser looks for a key by its bare name and skips two characters from its end: no space may
# follow a colon, and `velocity` must stand before any key that holds the same letters. Without the newline
# in front it reads the line before.
_VECTOR = "[%.12f,%.12f,%.12f]"
_TEMPLATE = (
    '\n{"timestamp":%.12f,"imu":{"gyro":' + _VECTOR + ',"accel_body":' + _VECTOR + '},"position":' + _VECTOR
) + (',"velocity":' + _VECTOR + ',"quaternion":[%.12f,%.12f,%.12f,%.12f],"no_time_sync":1%s}\n')


class ServoPacket(NamedTuple):
    """What ArduPilot commands."""

    frame_rate: int
    """Frames per second that it last saw in our time stamps [Hz]."""
    frame_count: int
    """Number of replies that it has taken since it started."""
    pwm: tuple[int, ...]
    """Sixteen or thirty-two pulse widths [us]; 0 where there is no output."""


def decode_servos(datagram: bytes) -> ServoPacket | None:
    """Return the servo packet of a datagram, None if it is none.

    Args:
        datagram: What came from the socket.
    """
    if len(datagram) < _HEADER.size:
        return None
    layout = _LAYOUTS.get((_HEADER.unpack_from(datagram)[0], len(datagram)))
    if layout is None:
        return None
    _, rate, count, *pwm = layout.unpack(datagram)
    return ServoPacket(rate, count, tuple(pwm))


def rotor_speed_from_pwm(pwm: Array, *, scale: Any, offset: Any) -> Array:
    """Return the rotor speeds that pulse widths stand for [rad/s], shape (..., R).

    u = (pwm - 1000) / 1000 turns with scale u + offset; 1000 us and less, 0 for no output among them, is a
    rotor at rest, and above 2000 us there is no more.

    Args:
        pwm: Pulse width of each rotor [us], shape (..., R).
        scale: Rotor speed per unit of u [rad/s], scalar or shape (R,).
        offset: Rotor speed at a u just above zero [rad/s], scalar or shape (R,).
    """
    xp = namespace(pwm)
    output = (xp.minimum(pwm, xp.asarray(float(_FULL))) - _REST) * (1.0 / (_FULL - _REST))
    speed: Array = xp.where(output > 0, scale * output + offset, 0.0)
    return speed


def fdm_conversion(mounting: Array | None = None) -> Array:
    """Return the matrix that takes rows of `fdm_rows` from FLU and ENU to FRD and NED, shape (16, 16).

    Args:
        mounting: Rotation matrix from the frame of the IMU to the body frame, shape (3, 3); they are the
            same when None.
    """
    matrix = np.zeros((_FIELDS, _FIELDS))
    to_body = np.eye(3) if mounting is None else mounting.T
    matrix[_GYRO, _GYRO] = matrix[_ACCEL, _ACCEL] = row_product(to_body, _FLU_TO_FRD)
    matrix[_POSITION, _POSITION] = matrix[_VELOCITY, _VELOCITY] = _ENU_TO_NED
    matrix[_ATTITUDE, _ATTITUDE] = _ATTITUDE_TO_NED
    return matrix


def fdm_rows(
    position: Array,
    orientation: Array,
    velocity: Array,
    angular_velocity: Array,
    specific_force: Array,
    *,
    conversion: Array,
) -> Array:
    """Return the numbers of N replies in the order in which they are written, shape (N, 16).

    Angular velocity [rad/s] and specific force [m/s^2] in FRD, position [m] and velocity [m/s] in NED, unit
    quaternion wxyz FRD to NED. Source: ArduPilot, libraries/SITL/SIM_JSON.h.

    Args:
        position: Position in the world, ENU [m], shape (N, 3).
        orientation: Unit quaternion xyzw, FLU to ENU, shape (N, 4).
        velocity: Velocity in the world, ENU [m/s], shape (N, 3).
        angular_velocity: What the gyroscope reads, in its own frame [rad/s], shape (N, 3).
        specific_force: What the accelerometer reads, in its own frame [m/s^2], shape (N, 3).
        conversion: Matrix of `fdm_conversion`.
    """
    xp = namespace(position)
    rows = xp.concat([angular_velocity, specific_force, position, velocity, orientation], axis=-1)
    return row_product(rows, conversion)


def encode_reply(t: float, row: Sequence[float], optional: str = "") -> bytes:
    """Return the datagram that answers a servo packet.

    It asks ArduPilot to leave the pace to the simulator.

    Args:
        t: Simulation time [s].
        row: One row of `fdm_rows` as plain numbers.
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
    """Return the text of what a reply may hold besides the state; what is no number is left out.

    Args:
        ranges: Distances of up to six rangefinders [m], infinite for nothing in range; `rng_1` to `rng_6`,
            which need RNGFND1_TYPE 100 and so on.
        airspeed: True airspeed [m/s], which ArduPilot divides by its EAS2TAS at its altitude before it takes
            the pressure from it; it needs ARSPD_TYPE 100. Source: ArduPilot, libraries/SITL/SIM_JSON.cpp and
            `_update_airspeed(float true_airspeed)` in libraries/AP_HAL_SITL/sitl_airspeed.cpp.
        battery: Voltage [V] and current [A]; read by ArduPilot 4.7 and later.

    Raises:
        ValueError: If there are more rangefinders than ArduPilot takes.
    """
    if len(ranges) > MOST_RANGES:
        raise ValueError(f"must be at most {MOST_RANGES} rangefinders")
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
    """Readings that ArduPilot takes besides the IMU's: rangefinders, one airspeed sensor, one battery.

    A battery is whatever sensor's reading has a `voltage` [V] and a `current` [A], each of shape (N,).

    Args:
        environment: Air, whose density makes true airspeed of what a tube indicates.
    """

    def __init__(self, environment: "Environment") -> None:
        self._environment = environment
        self._true_airspeed: Array = np.zeros(0)
        self._latest: dict[str, Reading] = {}
        self._rangefinders: list[str] = []
        self._airspeeds: list[str] = []
        self._batteries: list[str] = []

    def take(self, readings: Mapping[str, Reading], position: Array) -> None:
        """Take new readings; the last of every sensor counts.

        Args:
            readings: Readings by the name of their sensor.
            position: Where they were taken, in the world [m], shape (N, 3).
        """
        known = len(self._latest)
        self._latest.update(readings)
        if len(self._latest) > known:
            latest = self._latest.items()
            self._rangefinders = [name for name, reading in latest if isinstance(reading, RangeReading)]
            self._airspeeds = [name for name, reading in latest if isinstance(reading, AirspeedReading)]
            self._batteries = [name for name, reading in latest if hasattr(reading, "voltage")]
        for name in self._airspeeds[:1]:
            if isinstance(reading := readings.get(name), AirspeedReading):
                density = self._environment.air_density(position)
                self._true_airspeed = true_airspeed(reading.indicated_airspeed, air_density=density)

    def text(self, copy: int) -> str:
        """Return what `encode_optional` makes of a vehicle's readings.

        Rangefinders are numbered in the order of the vehicle's sensors, and those after the sixth left out.

        Args:
            copy: Row of the vehicle in the readings.
        """
        if not (self._rangefinders or self._airspeeds or self._batteries):
            return ""
        latest: dict[str, Any] = self._latest
        airspeed = battery = None
        if self._airspeeds:
            # ArduPilot squares it, which would turn the air around.
            airspeed = max(float(self._true_airspeed[copy]), 0.0)
        for name in self._batteries[:1]:
            battery = float(latest[name].voltage[copy]), float(latest[name].current[copy])
        ranges = [_range(latest[name], copy) for name in self._rangefinders[:MOST_RANGES]]
        return encode_optional(ranges=ranges, airspeed=airspeed, battery=battery)


def _range(reading: RangeReading, copy: int) -> float:
    """Return a distance: infinite where nothing is in reach, 0 where something is too near to tell."""
    distance = float(reading.distance[copy])
    if reading.valid[copy]:
        return distance
    return math.inf if distance >= reading.max_range else 0.0
