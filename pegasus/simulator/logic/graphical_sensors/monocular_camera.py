"""Camera."""

import math
from collections.abc import Mapping
from typing import Any

from pegasus.cameras import Camera
from pegasus.simulator.logic.graphical_sensors.mounting import camera_euler, position_of
from pegasus.simulator.notices import refusal, require_known

__all__ = ["MonocularCamera"]

_KNOWN = ("depth", "position", "orientation", "resolution", "clipping_range", "frequency", "update_rate")
_INSTEAD = "use pegasus.cameras.Camera with its lens: docs/cameras.md"
_FIELD_OF_VIEW = math.radians(70.0)


class MonocularCamera:
    """Camera for colours and, unless `depth` is off, depth.

    Args:
        camera_name: Its name on the vehicle.
        config: `depth`, `position` [m], `orientation` (yaw, pitch, roll) [deg], `resolution`,
            `clipping_range` [m], `frequency` [Hz]. `update_rate` has no effect, as there.

    Raises:
        ConfigError: If a key has no counterpart.
    """

    def __init__(self, camera_name: str, config: Mapping[str, Any] | None = None) -> None:
        given = {key: value for key, value in (config or {}).items() if value is not None}
        require_known("MonocularCamera", given, _KNOWN, _INSTEAD)
        if "/" in camera_name:
            raise refusal(f"MonocularCamera: camera_name {camera_name}", _INSTEAD)
        self.name = camera_name
        near, far = given.get("clipping_range", (0.05, 100.0))
        width, height = given.get("resolution", (1920, 1200))
        self._options: dict[str, Any] = {
            "rate_hz": float(given.get("frequency", 30.0)),
            "resolution": (int(width), int(height)),
            "horizontal_fov": _FIELD_OF_VIEW,
            "position": position_of(given.get("position", (0.3, 0.0, 0.0))),
            "orientation": camera_euler(given.get("orientation", (0.0, 0.0, 180.0))),
            "outputs": ("rgb", "depth") if given.get("depth", True) else ("rgb",),
            "near": float(near),
            "far": float(far),
        }

    def make(self) -> Camera:
        """Return a new camera of Pegasus."""
        return Camera(**self._options)
