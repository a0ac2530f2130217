"""ROS 2: messages, transports, and the contracts of the graph, with or without a ROS 2 installation."""

from pegasus.backends.ros2.contents import SENSOR_TOPICS, Content, SensorTopics
from pegasus.backends.ros2.frames import FrameNames, Frames
from pegasus.backends.ros2.graph import CLOCK, IMAGES, LATCHED, RELIABLE, SENSOR_DATA, QoS
from pegasus.backends.ros2.images import IMAGE_TOPICS, ImageTopic
from pegasus.backends.ros2.messages import CdrError, Message, Template, decode, encode, message
from pegasus.backends.ros2.transport import open_transport

__all__ = [
    "CLOCK",
    "IMAGES",
    "IMAGE_TOPICS",
    "LATCHED",
    "RELIABLE",
    "SENSOR_DATA",
    "SENSOR_TOPICS",
    "CdrError",
    "Content",
    "FrameNames",
    "Frames",
    "ImageTopic",
    "Message",
    "QoS",
    "SensorTopics",
    "Template",
    "decode",
    "encode",
    "message",
    "open_transport",
]
