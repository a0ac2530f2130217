"""Readings as the dictionaries of Pegasus Simulator: its keys, units and axes (NED, body FRD)."""

import math
from typing import Any

from pegasus.base.frames import swap_flu_frd
from pegasus.cameras import CameraReading, LidarReading
from pegasus.contracts.reading import Reading
from pegasus.sensors import BarometerReading, GpsReading, ImuReading, MagnetometerReading
from pegasus.simulator.logic.state import State

_ZERO_CELSIUS, _GAUSS, _HECTOPASCAL = 273.15, 1e-4, 100.0


def sensor_data(name: str, reading: Reading, state: State) -> tuple[str, bool, dict[str, Any]] | None:
    """Return kind, whether it is a graphical sensor, and data of a reading; None if it has no such form.

    Args:
        name: Name of the sensor.
        reading: Its reading.
        state: True state.
    """
    if isinstance(reading, ImuReading):
        return (
            "IMU",
            False,
            {
                "orientation": state.get_attitude_ned_frd(),
                "angular_velocity": swap_flu_frd(reading.angular_velocity[0]),
                "linear_acceleration": swap_flu_frd(reading.specific_force[0]),
            },
        )
    if isinstance(reading, GpsReading):
        return "GPS", False, _gps(reading)
    if isinstance(reading, BarometerReading):
        return (
            "Barometer",
            False,
            {
                "absolute_pressure": float(reading.pressure[0]) / _HECTOPASCAL,
                "pressure_altitude": float(reading.pressure_altitude[0]),
                "temperature": float(reading.temperature[0]) - _ZERO_CELSIUS,
            },
        )
    if isinstance(reading, MagnetometerReading):
        return "Magnetometer", False, {"magnetic_field": swap_flu_frd(reading.magnetic_field[0]) / _GAUSS}
    if isinstance(reading, CameraReading):
        return "MonocularCamera", True, {"camera_name": name, "reading": reading}
    if isinstance(reading, LidarReading):
        return "Lidar", True, {"lidar_name": name, "reading": reading}
    return None


def _gps(reading: GpsReading) -> dict[str, Any]:
    east, north, up = reading.velocity[0].tolist()
    return {
        "latitude": float(reading.latitude[0]),
        "longitude": float(reading.longitude[0]),
        "altitude": float(reading.altitude[0]),
        "eph": float(reading.eph[0]),
        "epv": float(reading.epv[0]),
        "speed": math.hypot(east, north),
        "velocity_north": north,
        "velocity_east": east,
        "velocity_down": -up,
        "fix_type": int(reading.fix_type[0]),
        "cog": math.degrees(math.atan2(east, north)) % 360.0,
        "sattelites_visible": int(reading.satellite_count[0]),
    }
