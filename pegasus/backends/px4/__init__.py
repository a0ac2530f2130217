"""PX4 in lockstep over MAVLink."""

from pegasus.backends.px4.hil_sensors import HIL_SOURCES, HilSource

__all__ = ["HIL_SOURCES", "HilSource"]
