"""ROS 2: messages, their bytes, and the way onto the graph, with or without a ROS installation."""

from pegasus.backends.ros2.cdr import CdrError, decode, encode
from pegasus.backends.ros2.frame_names import Frames
from pegasus.backends.ros2.qos import CLOCK, LATCHED, RELIABLE, SENSOR_DATA, QoS
from pegasus.backends.ros2.template import Template
from pegasus.backends.ros2.transport import open_transport

__all__ = [
    "CLOCK",
    "LATCHED",
    "RELIABLE",
    "SENSOR_DATA",
    "CdrError",
    "Frames",
    "QoS",
    "Template",
    "decode",
    "encode",
    "open_transport",
]
