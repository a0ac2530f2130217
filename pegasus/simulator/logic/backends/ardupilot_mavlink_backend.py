"""ArduPilot backend."""

from collections.abc import Mapping
from typing import Any

from pegasus.backends import ArduPilot
from pegasus.backends.ardupilot.program import highest_loop_rate
from pegasus.simulator.logic.backends.backend import BackendConfig
from pegasus.simulator.notices import refusal, require_known

__all__ = ["ArduPilotMavlinkBackend", "ArduPilotMavlinkBackendConfig"]

DEFAULT_AIRFRAME = "gazebo-iris"
_KNOWN = (
    "vehicle_id",
    "ardupilot_autolaunch",
    "ardupilot_dir",
    "ardupilot_vehicle_model",
    "enable_lockstep",
    "num_rotors",
    "update_rate",
)
_INSTEAD = "use pegasus.backends.ArduPilot, and the section ardupilot of the vehicle's YAML file"


class ArduPilotMavlinkBackendConfig(BackendConfig):
    """Configuration of ArduPilot: `vehicle_id`, `ardupilot_autolaunch`, `ardupilot_dir`.

    ArduPilot always runs in lockstep here, with the frame of the vehicle's file.

    Raises:
        ConfigError: If another key, or another vehicle model, is given.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        require_known("ArduPilotMavlinkBackendConfig", given, _KNOWN, _INSTEAD)
        if given.get("ardupilot_vehicle_model", DEFAULT_AIRFRAME) != DEFAULT_AIRFRAME:
            raise refusal("ArduPilotMavlinkBackendConfig: ardupilot_vehicle_model", _INSTEAD)
        self.vehicle_id = int(given.get("vehicle_id", 0))
        self.ardupilot_autolaunch = bool(given.get("ardupilot_autolaunch", True))
        self.ardupilot_dir = given.get("ardupilot_dir") or None


class ArduPilotMavlinkBackend:
    """ArduPilot in lockstep."""

    def __init__(self, config: ArduPilotMavlinkBackendConfig | None = None) -> None:
        self.config = config or ArduPilotMavlinkBackendConfig()

    def make(self, rate: float) -> ArduPilot:
        """Return the backend of Pegasus, whose main loop is slow enough for the rate of physics [Hz]."""
        config = self.config
        return ArduPilot(
            config.ardupilot_dir,
            instance=config.vehicle_id,
            launch=config.ardupilot_autolaunch,
            parameters={"SCHED_LOOP_RATE": highest_loop_rate(rate)},
        )
