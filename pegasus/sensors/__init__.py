"""Sensors: what a vehicle knows about itself, with the errors that real ones have."""

from pegasus.sensors.barometer import Barometer, BarometerReading
from pegasus.sensors.gps import GPS, GpsReading
from pegasus.sensors.imu import IMU, Accelerometer, Gyroscope, ImuReading, Vibration
from pegasus.sensors.magnetometer import Magnetometer, MagnetometerReading
from pegasus.sensors.noise import NoiseModel, NoiseProcess
from pegasus.sensors.sensor import NoiseBlock, Reading, Schedule, Sensor

SENSORS: dict[str, type[Sensor]] = {
    "imu": IMU,
    "gps": GPS,
    "barometer": Barometer,
    "magnetometer": Magnetometer,
}
"""Shipped sensors by their name in YAML."""

__all__ = [
    "GPS",
    "IMU",
    "SENSORS",
    "Accelerometer",
    "Barometer",
    "BarometerReading",
    "GpsReading",
    "Gyroscope",
    "ImuReading",
    "Magnetometer",
    "MagnetometerReading",
    "NoiseBlock",
    "NoiseModel",
    "NoiseProcess",
    "Reading",
    "Schedule",
    "Sensor",
    "Vibration",
]
