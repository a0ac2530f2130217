"""ROS 2 camera by an action graph."""

from collections.abc import Mapping
from typing import Any

from pegasus.cameras import Camera
from pegasus.simulator.notices import refusal, require_known

__all__ = ["ROS2CameraGraph"]

_OUTPUTS = {
    "rgb": "rgb",
    "depth": "depth",
    "depth_pcl": "point_cloud",
    "semantic_segmentation": "semantic",
    "instance_segmentation": "instance",
}
_BOXES = ("bbox_2d_tight", "bbox_3d")
_KNOWN = ("types", "resolution", "namespace", "publish_labels", "graph_evaluator")
_INSTEAD = "use pegasus.isaac.camera_graph.publish_cameras: docs/isaac_sim.md"


class ROS2CameraGraph:
    """Camera 0.3 m in front of the body, which Isaac Sim's bridge publishes.

    Args:
        camera_prim_path: Path of its prim on the vehicle, such as `body/Camera`; the last part is its name.
        config: `types` of images, `resolution`, `namespace`.

    Raises:
        ConfigError: If a key or a type has no counterpart.
    """

    def __init__(self, camera_prim_path: str, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        require_known("ROS2CameraGraph", given, _KNOWN, _INSTEAD)
        types = [str(kind) for kind in given.get("types", ("rgb", "camera_info"))]
        for kind in types:
            if kind not in (*_OUTPUTS, *_BOXES, "camera_info"):
                raise refusal(f"ROS2CameraGraph: type {kind}", _INSTEAD)
        self.name = camera_prim_path.rpartition("/")[2]
        self.namespace: str | None = given.get("namespace") or None
        self.boxes = any(kind in _BOXES for kind in types)
        width, height = given.get("resolution", (640, 480))
        self._options: dict[str, Any] = {
            "resolution": (int(width), int(height)),
            "position": (0.3, 0.0, 0.0),
            "outputs": tuple(_OUTPUTS[kind] for kind in types if kind in _OUTPUTS) or ("rgb",),
        }

    def make(self) -> Camera:
        """Return a new camera of Pegasus."""
        return Camera(**self._options)
