"""Backends: custom ones, PX4, ArduPilot and ROS 2."""

from pegasus.simulator.logic.backends.ardupilot_mavlink_backend import (
    ArduPilotMavlinkBackend,
    ArduPilotMavlinkBackendConfig,
)
from pegasus.simulator.logic.backends.backend import Backend, BackendConfig
from pegasus.simulator.logic.backends.px4_mavlink_backend import PX4MavlinkBackend, PX4MavlinkBackendConfig
from pegasus.simulator.logic.backends.ros2_backend import ROS2Backend

__all__ = [
    "ArduPilotMavlinkBackend",
    "ArduPilotMavlinkBackendConfig",
    "Backend",
    "BackendConfig",
    "PX4MavlinkBackend",
    "PX4MavlinkBackendConfig",
    "ROS2Backend",
]
