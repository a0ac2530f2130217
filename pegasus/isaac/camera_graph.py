"""ROS 2 cameras by Isaac Sim's bridge: an action graph for each vehicle."""

import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pegasus.backends.ros2.frames import Frames
from pegasus.backends.ros2.names import copy_namespaces, default_namespace, full_namespace
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.core.aircraft import Aircraft
from pegasus.isaac import kit
from pegasus.isaac.bodies import free_path, vehicle_path
from pegasus.isaac.replicator import MountedCamera, mounted_cameras, replicator

_log = logging.getLogger(__name__)

_BRIDGE = "isaacsim.ros2.bridge"


class _Stream(NamedTuple):
    topic: str
    kind: str
    labels: str = ""
    info: str = ""


_STREAMS = {
    "rgb": _Stream("color/image_raw", "rgb", info="color/camera_info"),
    "distance_to_image_plane": _Stream("depth/image_raw", "depth", info="depth/camera_info"),
    "point_cloud": _Stream("points", "depth_pcl"),
    "semantic_segmentation": _Stream("semantic/image_raw", "semantic_segmentation", labels="semantic/labels"),
    "instance_segmentation": _Stream("instance/image_raw", "instance_segmentation", labels="instance/labels"),
}
"""Streams of ROS2CameraHelper by camera output."""
_BOXES = (
    _Stream("boxes_2d", "bbox_2d_tight", labels="boxes_2d/labels"),
    _Stream("boxes_3d", "bbox_3d", labels="boxes_3d/labels"),
)


class CameraGraph(kit.ClosedOnExit):
    """Action graphs of a vehicle; see `publish_cameras`."""

    def __init__(
        self,
        vehicle: Aircraft,
        *,
        namespace: str | None,
        domain_id: int | None,
        boxes: bool,
        frame_rate: float | None,
    ) -> None:
        rep = replicator("publishing cameras")
        self._stage: Any = kit.stage()
        self._cameras: list[MountedCamera] = []
        self._paths: list[str] = []
        spaces = copy_namespaces(namespace or default_namespace(vehicle.name), vehicle.count)
        try:
            for copy, space in enumerate(spaces):
                cameras = mounted_cameras(rep, vehicle, copy, ticks=True)
                self._cameras += cameras
                skips = {
                    camera.sensor: 0 if camera.ticks else frames_skipped(camera, frame_rate)
                    for camera in cameras
                }
                self._paths.append(
                    free_path(self._stage, f"{vehicle_path(vehicle.name)}/ros2_cameras_{copy}")
                )
                _make_graph(self._paths[-1], _nodes(cameras, space, skips, boxes=boxes), domain_id)
        except BaseException:
            self.close()
            raise

    @property
    def paths(self) -> Sequence[str]:
        """Prim paths of the graphs, one for each copy of the vehicle."""
        return self._paths

    def close(self) -> None:
        """Remove the graphs and their cameras; a second call has no effect."""
        for path in self._paths:
            if self._stage and self._stage.GetPrimAtPath(path):
                self._stage.RemovePrim(path)
        for camera in self._cameras:
            camera.close()
        self._paths, self._cameras = [], []


def publish_cameras(
    vehicle: Aircraft,
    *,
    namespace: str | None = None,
    domain_id: int | None = None,
    boxes: bool = False,
    frame_rate: float | None = None,
) -> CameraGraph:
    """Publish all cameras of a vehicle by Isaac Sim's ROS 2 bridge, until the result is closed.

    Topics and frames are those of the backend `ros2`, for the outputs that the bridge supports. While the
    timeline plays, Isaac Sim 6.0 renders and publishes each camera at its `rate_hz`, at most every frame of
    Kit. Isaac Sim 5.1 renders every frame, and publishes every n-th frame if `frame_rate` is n times the
    camera's rate, else every frame.

    Args:
        vehicle: The vehicle, which is on the stage.
        namespace: Namespace of its topics and frames; its name if None.
        domain_id: ROS domain; that of `ROS_DOMAIN_ID` if None.
        boxes: Publish 2D and 3D bounding boxes too.
        frame_rate: Frames of Kit per simulated second, such as `engine.frame_rate` of a script [Hz]; unknown
            if None. Isaac Sim 6.0 does not need it.

    Raises:
        ConfigError: If an extension is not enabled, the vehicle is not on the stage, or RTX cannot render
            one of its cameras.
    """
    import omni.kit.app

    if not omni.kit.app.get_app().get_extension_manager().is_extension_enabled(_BRIDGE):
        raise ConfigError(
            f"publishing cameras needs the extension {_BRIDGE}, which is not enabled",
            field="extension",
            remedy="enable it in the extension manager, or use the backend ros2",
        )
    if namespace is not None:
        full_namespace(namespace)
    if domain_id is not None and not 0 <= domain_id <= 232:
        raise ConfigError("must be from 0 to 232", field="domain_id", value=domain_id)
    valid = frame_rate is None or 0 < frame_rate < math.inf
    require(valid, "frame_rate", frame_rate, "must be above 0 and finite")
    return CameraGraph(vehicle, namespace=namespace, domain_id=domain_id, boxes=boxes, frame_rate=frame_rate)


def frames_skipped(camera: MountedCamera, frame_rate: float | None) -> int:
    """Return the number of skipped frames between published ones; 0 if the rates do not fit.

    Args:
        camera: The camera, rendered every frame.
        frame_rate: Frames of Kit per simulated second [Hz]; unknown if None.
    """
    if frame_rate is None:
        return 0
    ratio = frame_rate / camera.rate_hz
    if round(ratio) >= 1 and math.isclose(ratio, round(ratio), rel_tol=1e-6):
        return round(ratio) - 1
    _log.warning(
        "camera %s is published every frame: %g frames per second are not a multiple of its %g Hz",
        camera.sensor,
        frame_rate,
        camera.rate_hz,
    )
    return 0


class _Node(NamedTuple):
    name: str
    type: str
    inputs: dict[str, Any]


def _nodes(
    cameras: Sequence[MountedCamera], space: str, skips: Mapping[str, int], *, boxes: bool
) -> list[_Node]:
    """Return the nodes that publish the cameras of one copy; `skips` has the skipped frames by sensor."""
    nodes: list[_Node] = []
    names = Frames().names(space)
    for camera in cameras:
        below = "/".join(part for part in (camera.sensor, camera.side) if part)
        common: dict[str, Any] = {
            "nodeNamespace": space.strip("/"),
            "frameId": names.own(camera.frame),
            # Explicit, since the defaults of 5.1 and 6.0 differ.
            "resetSimulationTimeOnStop": True,
        }
        if skips[camera.sensor] > 0:
            common["frameSkipCount"] = skips[camera.sensor]
        streams = [_STREAMS[name] for name in camera.outputs if name in _STREAMS]
        for stream in [*streams, *(_BOXES if boxes else ())]:
            inputs = {
                **common,
                "renderProductPath": str(camera.product.path),
                "topicName": f"{below}/{stream.topic}",
                "type": stream.kind,
            }
            if stream.labels:
                inputs["enableSemanticLabels"] = True
                inputs["semanticLabelsTopicName"] = f"{below}/{stream.labels}"
            nodes.append(_Node(_name(below, stream.kind), f"{_BRIDGE}.ROS2CameraHelper", inputs))
            if stream.info and camera.side != "right":
                info = {
                    **common,
                    "renderProductPath": str(camera.product.path),
                    "topicName": f"{below}/{stream.info}",
                }
                if camera.side == "left":
                    right = next(c for c in cameras if (c.sensor, c.side) == (camera.sensor, "right"))
                    info["renderProductPathRight"] = str(right.product.path)
                    info["frameIdRight"] = names.own(right.frame)
                    info["topicNameRight"] = f"{camera.sensor}/right/{stream.info}"
                name = _name(below, f"{stream.kind}_info")
                nodes.append(_Node(name, f"{_BRIDGE}.ROS2CameraInfoHelper", info))
    return nodes


def _name(below: str, kind: str) -> str:
    return "".join(c if c.isascii() and c.isalnum() else "_" for c in f"{below}_{kind}")


def _make_graph(path: str, nodes: Sequence[_Node], domain_id: int | None) -> None:
    """Add an action graph that runs the nodes while the timeline plays."""
    import omni.graph.core as og

    domain: dict[str, Any] = {} if domain_id is None else {"domain_id": domain_id, "useDomainIDEnvVar": False}
    made = [
        _Node("tick", "omni.graph.action.OnPlaybackTick", {}),
        _Node("context", f"{_BRIDGE}.ROS2Context", domain),
        *nodes,
    ]
    links = [
        pair
        for node in nodes
        for pair in (
            ("tick.outputs:tick", f"{node.name}.inputs:execIn"),
            ("context.outputs:context", f"{node.name}.inputs:context"),
        )
    ]
    keys = og.Controller.Keys
    og.Controller.edit(
        {"graph_path": path, "evaluator_name": "execution"},
        {
            keys.CREATE_NODES: [(node.name, node.type) for node in made],
            keys.SET_VALUES: [
                (f"{node.name}.inputs:{name}", value) for node in made for name, value in node.inputs.items()
            ],
            keys.CONNECT: links,
        },
    )
