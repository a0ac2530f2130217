"""Sensors of a vehicle's motion, position and surroundings, with realistic errors."""

from pegasus.contracts.reading import Reading
from pegasus.contracts.sensor import SENSORS, NoiseBlock, Sensor
from pegasus.core.compiled_sensor import CompiledSensor, SensorRows
from pegasus.sensors.airspeed import Airspeed, AirspeedReading
from pegasus.sensors.barometer import Barometer, BarometerReading
from pegasus.sensors.battery_monitor import BatteryMonitor, BatteryReading
from pegasus.sensors.gps import GPS, GpsReading
from pegasus.sensors.gps_errors import Rtk
from pegasus.sensors.imu import IMU, ImuReading
from pegasus.sensors.inertial_noise import Accelerometer, Gyroscope, Thermal
from pegasus.sensors.magnetometer import Magnetometer, MagnetometerReading
from pegasus.sensors.noise import NoiseModel
from pegasus.sensors.odometry import Odometry, OdometryReading
from pegasus.sensors.optical_flow import OpticalFlow, OpticalFlowReading
from pegasus.sensors.rangefinder import Rangefinder, RangeReading, Sonar
from pegasus.sensors.sky_view import SkyView
from pegasus.sensors.uwb import UWB, UwbReading
from pegasus.sensors.vibration import Vibration

__all__ = [
    "GPS",
    "IMU",
    "SENSORS",
    "UWB",
    "Accelerometer",
    "Airspeed",
    "AirspeedReading",
    "Barometer",
    "BarometerReading",
    "BatteryMonitor",
    "BatteryReading",
    "CompiledSensor",
    "GpsReading",
    "Gyroscope",
    "ImuReading",
    "Magnetometer",
    "MagnetometerReading",
    "NoiseBlock",
    "NoiseModel",
    "Odometry",
    "OdometryReading",
    "OpticalFlow",
    "OpticalFlowReading",
    "RangeReading",
    "Rangefinder",
    "Reading",
    "Rtk",
    "Sensor",
    "SensorRows",
    "SkyView",
    "Sonar",
    "Thermal",
    "UwbReading",
    "Vibration",
]
