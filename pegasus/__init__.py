"""Multirotor simulator: exact dynamics, honest sensors, many vehicles."""

from pegasus.version import __version__ as __version__

# The name alone tells type checkers; the module `typing` would delay the answer to Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pegasus.backends.backend import Backend as Backend
    from pegasus.environment import Environment as Environment
    from pegasus.errors import AutopilotError as AutopilotError
    from pegasus.errors import ConfigError as ConfigError
    from pegasus.multirotor import Multirotor as Multirotor
    from pegasus.multirotor import RotorLayout as RotorLayout
    from pegasus.recording import Log as Log
    from pegasus.recording import McapRecorder as McapRecorder
    from pegasus.recording import read_log as read_log
    from pegasus.simulation import Playback as Playback
    from pegasus.simulation import Simulation as Simulation
    from pegasus.state import VehicleState as VehicleState
    from pegasus.vehicle import Vehicle as Vehicle
    from pegasus.vehicle_manager import VehicleManager as VehicleManager

_MODULES = {
    "AutopilotError": "pegasus.errors",
    "Backend": "pegasus.backends.backend",
    "ConfigError": "pegasus.errors",
    "Environment": "pegasus.environment",
    "Log": "pegasus.recording",
    "McapRecorder": "pegasus.recording",
    "Multirotor": "pegasus.multirotor",
    "Playback": "pegasus.simulation",
    "RotorLayout": "pegasus.multirotor",
    "Simulation": "pegasus.simulation",
    "Vehicle": "pegasus.vehicle",
    "VehicleManager": "pegasus.vehicle_manager",
    "VehicleState": "pegasus.state",
    "read_log": "pegasus.recording",
}
"""Modules of the public names; each is imported when its name is first used."""
__all__ = [*_MODULES, "__version__"]


def __getattr__(name: str) -> object:
    """Return a public name from the module that defines it."""
    if name not in _MODULES:
        raise AttributeError(f"module 'pegasus' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names of the package, for completion in a shell."""
    return sorted({*globals(), *__all__})
