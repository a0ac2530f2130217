"""All backends that a scenario file can name."""

from pegasus.backends.backend import Backend
from pegasus.backends.mavlink import PX4, ArduPilot
from pegasus.control import CONTROLLERS

BACKENDS: dict[str, type[Backend]] = {**CONTROLLERS, "px4": PX4, "ardupilot": ArduPilot}
"""Shipped backends by their name in YAML."""
