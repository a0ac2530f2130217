"""Autopilots and ROS 2, and the table of all backends."""

from pegasus.backends.ardupilot.ardupilot import ArduPilot
from pegasus.backends.ardupilot.guided import GuidedArduPilot
from pegasus.backends.px4.guided import GuidedPX4
from pegasus.backends.px4.px4 import PX4
from pegasus.backends.ros2.backend import ROS2
from pegasus.backends.ros2.rosbag import RosbagRecorder
from pegasus.contracts.backend import BACKENDS, Backend

__all__ = [
    "BACKENDS",
    "PX4",
    "ROS2",
    "ArduPilot",
    "Backend",
    "GuidedArduPilot",
    "GuidedPX4",
    "RosbagRecorder",
]
