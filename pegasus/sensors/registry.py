"""All sensors that a vehicle file can name."""

from pegasus.cameras import Camera, Lidar, Sonar, StereoCamera
from pegasus.sensors.airspeed import Airspeed
from pegasus.sensors.barometer import Barometer
from pegasus.sensors.battery_monitor import BatteryMonitor
from pegasus.sensors.gps import GPS
from pegasus.sensors.imu import IMU
from pegasus.sensors.magnetometer import Magnetometer
from pegasus.sensors.odometry import Odometry
from pegasus.sensors.optical_flow import OpticalFlow
from pegasus.sensors.rangefinder import Rangefinder
from pegasus.sensors.sensor import Sensor

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
