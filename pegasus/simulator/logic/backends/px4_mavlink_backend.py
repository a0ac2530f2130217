"""PX4 backend."""

from collections.abc import Mapping
from typing import Any

from pegasus.backends import PX4
from pegasus.simulator.logic.backends.backend import BackendConfig
from pegasus.simulator.notices import refusal, require_known

__all__ = ["PX4MavlinkBackend", "PX4MavlinkBackendConfig"]

DEFAULT_AIRFRAME = "gazebo-classic_iris"
_IRIS = (DEFAULT_AIRFRAME, "iris")
_DEFAULTS = {"enable_lockstep": True, "connection_type": "tcpin", "connection_ip": "localhost"}
_KNOWN = ("vehicle_id", "px4_autolaunch", "px4_dir", "px4_vehicle_model", "num_rotors", "update_rate")
_INSTEAD = "use pegasus.backends.PX4, and the section px4 of the vehicle's YAML file for scale and offset"


class PX4MavlinkBackendConfig(BackendConfig):
    """Configuration of PX4: `vehicle_id`, `px4_autolaunch`, `px4_dir`, `px4_vehicle_model`.

    `num_rotors` and `update_rate` are those of the vehicle and of physics.

    Raises:
        ConfigError: If another key has a value that has no counterpart.
    """

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        for key, value in _DEFAULTS.items():
            if given.pop(key, value) != value:
                raise refusal(f"PX4MavlinkBackendConfig: {key}", _INSTEAD)
        require_known("PX4MavlinkBackendConfig", given, _KNOWN, _INSTEAD)
        self.vehicle_id = int(given.get("vehicle_id", 0))
        self.px4_autolaunch = bool(given.get("px4_autolaunch", True))
        self.px4_dir = given.get("px4_dir") or None
        self.px4_vehicle_model = str(given.get("px4_vehicle_model", DEFAULT_AIRFRAME))


class PX4MavlinkBackend:
    """PX4 in lockstep."""

    def __init__(self, config: PX4MavlinkBackendConfig | None = None) -> None:
        self.config = config or PX4MavlinkBackendConfig()

    def make(self) -> PX4:
        """Return the backend of Pegasus."""
        config = self.config
        return PX4(
            config.px4_dir,
            airframe=None if config.px4_vehicle_model in _IRIS else config.px4_vehicle_model,
            instance=config.vehicle_id,
            launch=config.px4_autolaunch,
        )
