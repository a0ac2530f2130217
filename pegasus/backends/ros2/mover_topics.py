"""Topic of movers: their shapes and poses as markers."""

from typing import Any

import numpy as np

from pegasus.backends.ros2.contents import STATE_RATE, Content, Numbers
from pegasus.backends.ros2.frames import FrameNames
from pegasus.backends.ros2.graph import RELIABLE
from pegasus.backends.ros2.messages import Message, constants, message
from pegasus.base.frames import matrix_from_quaternion, multiply, rotate
from pegasus.contracts.state import VehicleState
from pegasus.core.aircraft import Aircraft
from pegasus.scene.scene import Collider, ColliderShape

_KIND = "visualization_msgs/msg/Marker"
_GREY = (0.5, 0.5, 0.5)


def mover_contents(vehicle: Aircraft) -> list[Content]:
    """Return the topic `movers`: the collision shapes of the movers of the simulation, in `map`.

    Those that are there when the run starts; a marker's `ns` is the name of the mover.

    Args:
        vehicle: The vehicle.
    """
    movers = tuple(vehicle.manager.movers)
    shapes = [
        (mover, part, collider)
        for mover in movers
        for part, colliders in enumerate(mover.shapes)
        for collider in colliders
        if collider.shape is not ColliderShape.PLANE
    ]
    if not shapes:
        return []

    def make(names: FrameNames) -> Message:
        markers = [
            {
                "header": {"frame_id": names.map},
                "ns": mover.name,
                "id": number,
                "pose": {"orientation": {"w": 1.0}},
                "color": {**dict(zip("rgb", _color(mover.objects[part].scene), strict=True)), "a": 1.0},
                **_shape(collider),
            }
            for number, (mover, part, collider) in enumerate(shapes)
        ]
        return message("visualization_msgs/msg/MarkerArray", markers=markers)

    def numbers(_: VehicleState) -> Numbers:
        poses = {mover: mover.poses(vehicle.sensors.now) for mover in movers}
        row: list[float] = []
        for mover, part, collider in shapes:
            position, orientation = (values[part] for values in poses[mover])
            row += (position + rotate(matrix_from_quaternion(orientation), collider.position)).tolist()
            row += multiply(orientation, collider.orientation).tolist()
        return [row] * vehicle.count

    paths = [f"markers.{k}" for k in range(len(shapes))]
    varying = *(f"{path}.header.stamp" for path in paths), *(f"{path}.pose" for path in paths)
    return [Content("movers", make, varying, numbers, RELIABLE, STATE_RATE, stamp_count=len(shapes))]


def _shape(collider: Collider) -> dict[str, Any]:
    """Return type, scale and points of a marker."""
    kinds, size = constants(_KIND), collider.size
    if collider.shape is ColliderShape.MESH:
        assert collider.vertices is not None
        assert collider.faces is not None
        corners = collider.vertices[collider.faces].reshape(-1, 3).tolist()
        points = [dict(zip("xyz", point, strict=True)) for point in corners]
        return {"type": kinds.TRIANGLE_LIST, "scale": dict.fromkeys("xyz", 1.0), "points": points}
    if collider.shape is ColliderShape.BOX:
        kind, lengths = kinds.CUBE, [2.0 * half for half in size]
    elif collider.shape in (ColliderShape.SPHERE, ColliderShape.ELLIPSOID):
        kind, lengths = kinds.SPHERE, [2.0 * half for half in (*size, *size, *size)[:3]]
    else:
        # ROS has no capsules.
        kind, lengths = kinds.CYLINDER, [2.0 * size[0], 2.0 * size[0], 2.0 * size[1]]
    return {"type": kind, "scale": dict(zip("xyz", lengths, strict=True))}


def _color(scene: Any) -> tuple[float, ...]:
    """Return the colour of a scene's first material, sRGB; grey for a texture."""
    linear = next((item.diffuse_color for item in scene.materials.values()), None)
    if not isinstance(linear, tuple):
        return _GREY
    shade: list[float] = np.power(linear, 1 / 2.2).tolist()
    return tuple(shade)
