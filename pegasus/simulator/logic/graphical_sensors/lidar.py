"""Lidar."""

from collections.abc import Mapping
from typing import Any

from pegasus import cameras
from pegasus.simulator.logic.graphical_sensors.mounting import lidar_euler, position_of
from pegasus.simulator.notices import require_known

__all__ = ["Lidar"]

_KNOWN = ("position", "orientation", "frequency", "update_rate")


class Lidar:
    """Spinning lidar with 16 beams (`vlp16`).

    Args:
        lidar_name: Its name on the vehicle.
        config: `position` [m], `orientation` (yaw, pitch, roll) [deg]. `frequency` and `update_rate` have no
            effect on its scans, as there.

    Raises:
        ConfigError: If a key has no counterpart, such as `sensor_configuration`.
    """

    def __init__(self, lidar_name: str, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        require_known("Lidar", given, _KNOWN, "use pegasus.cameras.Lidar(pattern=...): docs/lidar.md")
        self.name = lidar_name
        self._options: dict[str, Any] = {
            "position": position_of(given.get("position", (0.0, 0.0, 0.1))),
            "orientation": lidar_euler(given.get("orientation", (0.0, 0.0, 0.0))),
        }

    def make(self) -> cameras.Lidar:
        """Return a new lidar of Pegasus."""
        return cameras.Lidar(**self._options)
