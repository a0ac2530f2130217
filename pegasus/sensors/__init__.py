"""Sensors: what a vehicle knows about itself, with the errors that real ones have."""

from pegasus.sensors.airspeed import Airspeed, AirspeedReading
from pegasus.sensors.barometer import Barometer, BarometerReading
from pegasus.sensors.battery_monitor import BatteryMonitor, BatteryReading
from pegasus.sensors.gps import GPS, GpsReading
from pegasus.sensors.imu import IMU, Accelerometer, Gyroscope, ImuReading, Vibration
from pegasus.sensors.magnetometer import Magnetometer, MagnetometerReading
from pegasus.sensors.noise import NoiseModel, NoiseProcess
from pegasus.sensors.odometry import Odometry, OdometryReading
from pegasus.sensors.optical_flow import OpticalFlow, OpticalFlowReading
from pegasus.sensors.rangefinder import Rangefinder, RangeReading
from pegasus.sensors.sensor import NoiseBlock, Reading, Schedule, Sensor

__all__ = [
    "GPS",
    "IMU",
    "Accelerometer",
    "Airspeed",
    "AirspeedReading",
    "Barometer",
    "BarometerReading",
    "BatteryMonitor",
    "BatteryReading",
    "GpsReading",
    "Gyroscope",
    "ImuReading",
    "Magnetometer",
    "MagnetometerReading",
    "NoiseBlock",
    "NoiseModel",
    "NoiseProcess",
    "Odometry",
    "OdometryReading",
    "OpticalFlow",
    "OpticalFlowReading",
    "RangeReading",
    "Rangefinder",
    "Reading",
    "Schedule",
    "Sensor",
    "Vibration",
]
