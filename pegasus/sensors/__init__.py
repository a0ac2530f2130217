"""Sensors: what a vehicle knows about itself, with the errors that real ones have."""

from pegasus.cameras import Camera, Lidar, Sonar, StereoCamera
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

SENSORS: dict[str, type[Sensor]] = {
    "imu": IMU,
    "gps": GPS,
    "barometer": Barometer,
    "magnetometer": Magnetometer,
    "airspeed": Airspeed,
    "rangefinder": Rangefinder,
    "optical_flow": OpticalFlow,
    "odometry": Odometry,
    "battery_monitor": BatteryMonitor,
    "camera": Camera,
    "stereo_camera": StereoCamera,
    "lidar": Lidar,
    "sonar": Sonar,
}
"""Shipped sensors by their name in YAML."""

__all__ = [
    "GPS",
    "IMU",
    "SENSORS",
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
