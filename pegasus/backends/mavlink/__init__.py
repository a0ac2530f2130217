"""Autopilots that fly vehicles: PX4 over MAVLink, ArduPilot over JSON."""

from pegasus.backends.mavlink.ardupilot import ArduPilot
from pegasus.backends.mavlink.px4 import PX4

__all__ = ["PX4", "ArduPilot"]
