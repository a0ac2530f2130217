"""Simulator of aircraft: exact dynamics, honest sensors, many vehicles."""

from pegasus.version import __version__ as __version__

# The name alone tells type checkers; the module `typing` would delay the answer to Ctrl-C.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pegasus.base.errors import AutopilotError as AutopilotError
    from pegasus.base.errors import ConfigError as ConfigError
    from pegasus.contracts.backend import Backend as Backend
    from pegasus.contracts.state import VehicleState as VehicleState
    from pegasus.core.aircraft import Aircraft as Aircraft
    from pegasus.core.aircraft import Multirotor as Multirotor
    from pegasus.core.host import start_host as start_host
    from pegasus.core.simulation import Playback as Playback
    from pegasus.core.simulation import Simulation as Simulation
    from pegasus.core.snapshot import Snapshot as Snapshot
    from pegasus.core.vehicle_manager import VehicleManager as VehicleManager
    from pegasus.environment import Environment as Environment
    from pegasus.model.rotors import RotorLayout as RotorLayout
    from pegasus.recording import Log as Log
    from pegasus.recording import McapRecorder as McapRecorder
    from pegasus.recording import read_log as read_log

_MODULES = {
    "Aircraft": "pegasus.core.aircraft",
    "AutopilotError": "pegasus.base.errors",
    "Backend": "pegasus.contracts.backend",
    "ConfigError": "pegasus.base.errors",
    "Environment": "pegasus.environment",
    "Log": "pegasus.recording",
    "McapRecorder": "pegasus.recording",
    "Multirotor": "pegasus.core.aircraft",
    "Playback": "pegasus.core.simulation",
    "RotorLayout": "pegasus.model.rotors",
    "Simulation": "pegasus.core.simulation",
    "Snapshot": "pegasus.core.snapshot",
    "VehicleManager": "pegasus.core.vehicle_manager",
    "VehicleState": "pegasus.contracts.state",
    "read_log": "pegasus.recording",
    "start_host": "pegasus.core.host",
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
