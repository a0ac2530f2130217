"""From state and readings to the HIL messages: FLU and ENU to FRD and NED, SI to MAVLink's units."""

import math

from pegasus.backends.mavlink.messages import HilGps, HilSensor, HilStateQuaternion
from pegasus.environment import Environment
from pegasus.frames import rotate_inverse, swap_attitude_convention
from pegasus.sensors import (
    AirspeedReading,
    BarometerReading,
    GpsReading,
    ImuReading,
    MagnetometerReading,
)
from pegasus.state import VehicleState

ACCELEROMETER, GYROSCOPE, MAGNETOMETER = 0x007, 0x038, 0x1C0
BAROMETER, DIFFERENTIAL_PRESSURE = 0x1A00, 0x400
"""Groups of `fields_updated`; PX4 takes a group whole or not at all."""

_GAUSS = 1e4
_NO_COURSE = 65535
_ABSENT = 65535
_SLOWEST_COURSE = 0.05
"""Speed below which a direction of motion means nothing [m/s]."""
_KELVIN = 273.15
_STANDARD_GRAVITY = 9.80665
_SEA_LEVEL_DENSITY = 1.225
"""Density of the air that an airspeed indicator supposes [kg/m^3]."""


class SensorMessage:
    """The HIL_SENSOR of one vehicle: the newest of every group, and which of them are new.

    Args:
        copy: Row of the vehicle in the readings.
    """

    def __init__(self, copy: int) -> None:
        self._copy = copy
        self._magnetic_field = [0.0, 0.0, 0.0]
        self._pressure = self._altitude = self._differential_pressure = 0.0
        self._temperature = 15.0
        self._new = 0

    def take_magnetometer(self, reading: MagnetometerReading) -> None:
        """Take a reading; it goes with the next message."""
        x, y, z = reading.magnetic_field[self._copy].tolist()
        self._magnetic_field = [x * _GAUSS, -y * _GAUSS, -z * _GAUSS]
        self._new |= MAGNETOMETER

    def take_barometer(self, reading: BarometerReading) -> None:
        """Take a reading; it goes with the next message."""
        self._pressure = float(reading.pressure[self._copy]) / 100.0
        self._altitude = float(reading.pressure_altitude[self._copy])
        self._temperature = float(reading.temperature[self._copy]) - _KELVIN
        self._new |= BAROMETER

    def take_airspeed(self, reading: AirspeedReading) -> None:
        """Take a reading; it goes with the next message."""
        self._differential_pressure = float(reading.differential_pressure[self._copy]) / 100.0
        self._new |= DIFFERENTIAL_PRESSURE

    def message(self, time_usec: int, imu: ImuReading) -> HilSensor:
        """Return the message of an IMU sample, with all that is new since the last one.

        Args:
            time_usec: Time of the sample [us].
            imu: The sample.
        """
        ax, ay, az = imu.specific_force[self._copy].tolist()
        wx, wy, wz = imu.angular_velocity[self._copy].tolist()
        mx, my, mz = self._magnetic_field
        new, self._new = self._new | ACCELEROMETER | GYROSCOPE, 0
        return HilSensor(
            time_usec,
            ax,
            -ay,
            -az,
            wx,
            -wy,
            -wz,
            mx,
            my,
            mz,
            self._pressure,
            self._differential_pressure,
            self._altitude,
            self._temperature,
            new,
        )


def gps_message(time_usec: int, reading: GpsReading, copy: int) -> HilGps:
    """Return the HIL_GPS of one vehicle.

    Args:
        time_usec: Time of the reading [us].
        reading: The reading.
        copy: Row of the vehicle in it.
    """
    east, north, up = reading.velocity[copy].tolist()
    speed = math.hypot(east, north)
    course = _NO_COURSE
    if speed > _SLOWEST_COURSE:
        course = round(math.degrees(math.atan2(east, north)) * 100) % 36000
    return HilGps(
        time_usec,
        round(float(reading.latitude[copy]) * 1e7),
        round(float(reading.longitude[copy]) * 1e7),
        round(float(reading.altitude[copy]) * 1e3),
        _centi_unsigned(float(reading.eph[copy])),
        _centi_unsigned(float(reading.epv[copy])),
        _centi_unsigned(speed),
        _centi(north),
        _centi(east),
        _centi(-up),
        course,
        int(reading.fix_type[copy]),
        int(reading.satellite_count[copy]),
    )


def truth_message(
    time_usec: int, state: VehicleState, environment: Environment, copy: int, t: float
) -> HilStateQuaternion:
    """Return the HIL_STATE_QUATERNION of one vehicle: its true state, for the autopilot's log.

    Args:
        time_usec: Time of the state [us].
        state: True state.
        environment: Geographic origin, wind and air.
        copy: Row of the vehicle in the state.
        t: Simulation time [s].
    """
    row = slice(copy, copy + 1)
    x, y, z, w = swap_attitude_convention(state.orientation[copy]).tolist()
    p, q, r = state.angular_velocity[copy].tolist()
    east, north, up = state.velocity[copy].tolist()
    latitude, longitude, altitude = environment.geodetic(state.position[row])
    acceleration = rotate_inverse(state.rotation[row], state.acceleration[row])[0]
    ax, ay, az = (acceleration / _STANDARD_GRAVITY * 1e3).tolist()
    through_air = state.velocity[copy] - environment.wind_velocity(state.position[row], t)[0]
    airspeed = math.hypot(*through_air.tolist())
    share = math.sqrt(float(environment.air_density(state.position[row])[0]) / _SEA_LEVEL_DENSITY)
    return HilStateQuaternion(
        time_usec,
        (w, x, y, z),
        p,
        -q,
        -r,
        round(float(latitude[0]) * 1e7),
        round(float(longitude[0]) * 1e7),
        round(float(altitude[0]) * 1e3),
        _centi(north),
        _centi(east),
        _centi(-up),
        _centi_unsigned(share * airspeed),
        _centi_unsigned(airspeed),
        _int16(ax),
        _int16(-ay),
        _int16(-az),
    )


def _centi(value: float) -> int:
    return _int16(100.0 * value)


def _centi_unsigned(value: float) -> int:
    return min(round(100.0 * value), _ABSENT - 1)


def _int16(value: float) -> int:
    return max(-32768, min(32767, round(value)))
