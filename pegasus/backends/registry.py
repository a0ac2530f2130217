"""All backends that a scenario file can name."""

from pegasus.backends.backend import Backend
from pegasus.backends.mavlink import PX4, ArduPilot
from pegasus.backends.ros2.backend import ROS2
from pegasus.control import CONTROLLERS

BACKENDS: dict[str, type[Backend]] = {**CONTROLLERS, "px4": PX4, "ardupilot": ArduPilot, "ros2": ROS2}
"""Shipped backends by their name in YAML."""
