"""Multirotor simulator: exact dynamics, honest sensors, many vehicles."""

from pegasus.backends.backend import Backend
from pegasus.environment import Environment
from pegasus.errors import ConfigError
from pegasus.multirotor import Multirotor, RotorLayout
from pegasus.recording import Log, McapRecorder, read_log
from pegasus.simulation import Playback, Simulation
from pegasus.state import VehicleState
from pegasus.vehicle import Vehicle
from pegasus.vehicle_manager import VehicleManager
from pegasus.version import __version__

__all__ = [
    "Backend",
    "ConfigError",
    "Environment",
    "Log",
    "McapRecorder",
    "Multirotor",
    "Playback",
    "RotorLayout",
    "Simulation",
    "Vehicle",
    "VehicleManager",
    "VehicleState",
    "__version__",
    "read_log",
]
