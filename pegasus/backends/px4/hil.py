"""HIL messages of MAVLink from states and readings: FLU and ENU to FRD and NED, SI to MAVLink units."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from pegasus.backends.mavlink.airframe import other_attitude
from pegasus.backends.mavlink.local_axes import LocalAxes
from pegasus.backends.mavlink.messages import make_message, message_type
from pegasus.base.components import require
from pegasus.base.frames import matrix_from_quaternion, rotate_inverse
from pegasus.sensors import (
    AirspeedReading,
    BarometerReading,
    GpsReading,
    ImuReading,
    MagnetometerReading,
    OdometryReading,
    OpticalFlowReading,
    RangeReading,
)

ACCELEROMETER, GYROSCOPE, MAGNETOMETER = 0x007, 0x038, 0x1C0
BAROMETER, DIFFERENTIAL_PRESSURE = 0x1A00, 0x400
"""Groups of `fields_updated`; PX4 accepts only whole groups."""

_GAUSS = 1e4
_NO_COURSE = 65535
_ABSENT = 65535
_MIN_COURSE_SPEED = 0.05
"""Speed below which the course is undefined [m/s]."""
_KELVIN = 273.15
_LOCAL_NED, _BODY_FRD = 1, 12
_VISUAL_INERTIAL = 3
_LASER = 0
_FULL_SIGNAL, _NO_SIGNAL = 100, 1
_UNKNOWN_COVARIANCE = 255
_NO_CHANNEL, _CHANNEL_COUNT, _FULL_STRENGTH = 65535, 18, 254


class SensorMessages:
    """HIL_SENSOR of N vehicles: newest value of every group, and flags of the groups that are new to each.

    Args:
        count: Number of vehicles N.
        number: Number of the sensors among those of their kind; PX4's clock is that of number 0.
    """

    def __init__(self, count: int, number: int = 0) -> None:
        self._number = number
        self._force = self._rate = [(0.0, 0.0, 0.0)] * count
        self._magnetic_field = [(0.0, 0.0, 0.0)] * count
        self._pressure = self._altitude = self._differential_pressure = [0.0] * count
        self._temperature = [15.0] * count
        self._new = [0] * count
        self._message: Callable[[tuple[Any, ...]], Any] = message_type("HIL_SENSOR").template.order(
            *("time_usec", "xacc", "yacc", "zacc", "xgyro", "ygyro", "zgyro", "xmag", "ymag", "zmag"),
            *("abs_pressure", "diff_pressure", "pressure_alt", "temperature", "fields_updated", "id"),
        )

    def take_imu(self, reading: ImuReading) -> None:
        """Store a reading in the body frame for the next messages."""
        self._force, self._rate = reading.specific_force.tolist(), reading.angular_velocity.tolist()
        self._mark(ACCELEROMETER | GYROSCOPE)

    def take_magnetometer(self, reading: MagnetometerReading) -> None:
        """Store a reading for the next messages."""
        field = reading.magnetic_field.tolist()
        self._magnetic_field = [(x * _GAUSS, -y * _GAUSS, -z * _GAUSS) for x, y, z in field]
        self._mark(MAGNETOMETER)

    def take_barometer(self, reading: BarometerReading) -> None:
        """Store a reading for the next messages."""
        self._pressure = [pressure / 100.0 for pressure in reading.pressure.tolist()]
        self._altitude = reading.pressure_altitude.tolist()
        self._temperature = [temperature - _KELVIN for temperature in reading.temperature.tolist()]
        self._mark(BAROMETER)

    def take_airspeed(self, reading: AirspeedReading) -> None:
        """Store a reading for the next messages."""
        self._differential_pressure = [
            pressure / 100.0 for pressure in reading.differential_pressure.tolist()
        ]
        self._mark(DIFFERENTIAL_PRESSURE)

    def message(
        self,
        copy: int,
        time_usec: int,
        force: Sequence[float],
        rate: Sequence[float],
        groups: int = ACCELEROMETER | GYROSCOPE,
    ) -> Any:
        """Return the message of an IMU sample, with the values that are new since the last one.

        Args:
            copy: Row of the vehicle.
            time_usec: Time of the sample [us].
            force: Specific force of the vehicle, body frame (FLU) [m/s^2].
            rate: Angular velocity of the vehicle, body frame (FLU) [rad/s].
            groups: Groups that are new with the sample.
        """
        ax, ay, az = force
        wx, wy, wz = rate
        new, self._new[copy] = self._new[copy] | groups, 0
        pressure, differential = self._pressure[copy], self._differential_pressure[copy]
        air = pressure, differential, self._altitude[copy], self._temperature[copy]
        field = self._magnetic_field[copy]
        return self._message((time_usec, ax, -ay, -az, wx, -wy, -wz, *field, *air, new, self._number))

    def new_message(self, copy: int, time_usec: int) -> Any:
        """Return the message of the values that are new since the last one, None if there are none.

        Args:
            copy: Row of the vehicle.
            time_usec: Time of the readings [us].
        """
        if not self._new[copy]:
            return None
        return self.message(copy, time_usec, self._force[copy], self._rate[copy], groups=0)

    def _mark(self, group: int) -> None:
        self._new = [new | group for new in self._new]


def gps_message(time_usec: int, reading: GpsReading, copy: int, *, number: int = 0) -> Any:
    """Return the HIL_GPS of one vehicle.

    Args:
        time_usec: Time of the reading [us].
        reading: The reading.
        copy: Row of the vehicle in it.
        number: Number of the receiver among those of the vehicle.
    """
    east, north, up = reading.velocity[copy].tolist()
    speed = math.hypot(east, north)
    course = _NO_COURSE
    if speed > _MIN_COURSE_SPEED:
        course = round(math.degrees(math.atan2(east, north)) * 100) % 36000
    return make_message(
        "HIL_GPS",
        time_usec=time_usec,
        fix_type=int(reading.fix_type[copy]),
        lat=round(float(reading.latitude[copy]) * 1e7),
        lon=round(float(reading.longitude[copy]) * 1e7),
        alt=round(float(reading.altitude[copy]) * 1e3),
        eph=centi_unsigned(float(reading.eph[copy])),
        epv=centi_unsigned(float(reading.epv[copy])),
        vel=centi_unsigned(speed),
        vn=centi(north),
        ve=centi(east),
        vd=centi(-up),
        cog=course,
        satellites_visible=int(reading.satellite_count[copy]),
        id=number,
    )


def range_message(time_usec: int, reading: RangeReading, copy: int, *, orientation: int) -> Any:
    """Return the DISTANCE_SENSOR of one vehicle.

    Args:
        time_usec: Time of the reading [us].
        reading: The reading.
        copy: Row of the vehicle in it.
        orientation: MAV_SENSOR_ORIENTATION of the beam.
    """
    return make_message(
        "DISTANCE_SENSOR",
        time_boot_ms=time_usec // 1000,
        min_distance=_centimetres(reading.min_range),
        max_distance=_centimetres(reading.max_range),
        current_distance=_centimetres(float(reading.distance[copy])),
        type=_LASER,
        orientation=orientation,
        covariance=_UNKNOWN_COVARIANCE,
        signal_quality=_FULL_SIGNAL if reading.valid[copy] else _NO_SIGNAL,
    )


def flow_message(time_usec: int, reading: OpticalFlowReading, copy: int) -> Any:
    """Return the HIL_OPTICAL_FLOW of one vehicle; flow and angles about y and z change sign from FLU to FRD.

    Args:
        time_usec: Time of the reading [us].
        reading: The reading.
        copy: Row of the vehicle in it.
    """
    x, y = reading.integrated_flow[copy].tolist()
    gx, gy, gz = reading.integrated_rate[copy].tolist()
    return make_message(
        "HIL_OPTICAL_FLOW",
        time_usec=time_usec,
        integration_time_us=round(reading.integration_time * 1e6),
        integrated_x=x,
        integrated_y=-y,
        integrated_xgyro=gx,
        integrated_ygyro=-gy,
        integrated_zgyro=-gz,
        quality=int(reading.quality[copy]),
        distance=float(reading.distance[copy]),
    )


def odometry_message(time_usec: int, reading: OdometryReading, copy: int, *, axes: LocalAxes) -> Any:
    """Return the ODOMETRY of one vehicle: pose in NED, twist in the body (FRD), variances on the diagonals.

    Args:
        time_usec: Time of the reading [us].
        reading: The reading.
        copy: Row of the vehicle in it.
        axes: East and north at the start of the vehicle.
    """
    east, north, up = axes.vector(reading.position[copy].tolist())
    attitude = other_attitude(*axes.attitude(reading.orientation[copy].tolist()))
    rotation = matrix_from_quaternion(reading.orientation[copy])
    vx, vy, vz = rotate_inverse(rotation, reading.velocity[copy]).tolist()
    p, q, r = reading.angular_velocity[copy].tolist()
    pe, pn, pu = reading.position_variance[copy].tolist()
    oe, on, ou = reading.orientation_variance[copy].tolist()
    return make_message(
        "ODOMETRY",
        time_usec=time_usec,
        frame_id=_LOCAL_NED,
        child_frame_id=_BODY_FRD,
        x=north,
        y=east,
        z=-up,
        q=attitude,
        vx=vx,
        vy=-vy,
        vz=-vz,
        rollspeed=p,
        pitchspeed=-q,
        yawspeed=-r,
        pose_covariance=_diagonal(pn, pe, pu, on, oe, ou),
        # Unknown covariance of the twist: NaN first.
        velocity_covariance=(math.nan, *[0.0] * 20),
        reset_counter=int(reading.reset_count[copy]) & 0xFF,
        estimator_type=_VISUAL_INERTIAL,
        quality=100,
    )


def rc_message(time_usec: int, channels: Sequence[int]) -> Any:
    """Return the RC_CHANNELS of a receiver.

    Args:
        time_usec: Time [us].
        channels: Pulse widths [us], at most 18.

    Raises:
        ConfigError: If there are more channels, or one is not a pulse width.
    """
    fits = len(channels) <= _CHANNEL_COUNT and all(0 <= pulse < _NO_CHANNEL for pulse in channels)
    require(
        fits, "rc_channels", channels, f"must be at most {_CHANNEL_COUNT}, from 0 to {_NO_CHANNEL - 1} us"
    )
    filled = [*channels, *[_NO_CHANNEL] * (_CHANNEL_COUNT - len(channels))]
    pulses = {f"chan{number}_raw": pulse for number, pulse in enumerate(filled, 1)}
    return make_message(
        "RC_CHANNELS",
        time_boot_ms=time_usec // 1000,
        chancount=len(channels),
        **pulses,
        rssi=_FULL_STRENGTH,
    )


def centi(value: float) -> int:
    """Return a number in hundredths, within the range of 16 bits."""
    return int16(100.0 * value)


def centi_unsigned(value: float) -> int:
    """Return a number above zero in hundredths, at most 65534."""
    return min(round(100.0 * value), _ABSENT - 1)


def int16(value: float) -> int:
    """Return the nearest whole number within the range of 16 bits."""
    whole = round(value)
    return whole if -32768 <= whole <= 32767 else max(-32768, min(32767, whole))


def _diagonal(*values: float) -> tuple[float, ...]:
    """Return the upper triangle of a 6x6 matrix, row by row, with these values on its diagonal."""
    triangle: list[float] = []
    for row, value in enumerate(values):
        triangle += [value, *[0.0] * (5 - row)]
    return tuple(triangle)


def _centimetres(distance: float) -> int:
    return min(round(100 * distance), 65534)
