"""PX4 in lockstep over MAVLink."""

from pegasus.backends.px4.flight_records import read_ulog
from pegasus.backends.px4.hil_sensors import HIL_SOURCES, HilSource

__all__ = ["HIL_SOURCES", "HilSource", "read_ulog"]
