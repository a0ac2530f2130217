"""ROS 2 backend."""

from collections.abc import Iterable, Mapping
from typing import Any

from pegasus.backends import ROS2
from pegasus.cameras import Camera, Lidar
from pegasus.contracts.sensor import Sensor
from pegasus.simulator.notices import require_known

__all__ = ["ROS2Backend"]

_STATE = {
    "pose": "state/pose",
    "twist": "state/twist",
    "twist_inertial": "state/twist_inertial",
    "accel": "state/accel",
}
_SENSORS = {
    "imu": "sensors/imu",
    "mag": "sensors/mag",
    "gps": "sensors/gps",
    "gps_vel": "sensors/gps_twist",
}
_SWITCHES = ("pub_state", "pub_sensors", "pub_graphical_sensors", "pub_tf", "sub_control")


class ROS2Backend:
    """ROS 2 topics below `<namespace><vehicle_id>/`.

    Args:
        vehicle_id: Number at the end of the namespace.
        num_rotors: That of the vehicle is used.
        config: `namespace`, and switches and names of topics.

    Raises:
        ConfigError: If a key has no counterpart.
    """

    def __init__(self, vehicle_id: int, num_rotors: int = 4, config: Mapping[str, Any] | None = None) -> None:
        given = dict(config or {})
        named = (key for name in (*_STATE, *_SENSORS) for key in (f"pub_{name}", f"{name}_topic"))
        known = ("namespace", *_SWITCHES, *named)
        require_known("ROS2Backend", given, known, "use pegasus.backends.ROS2 with its topics")
        self._config = given
        self._namespace = f"{given.get('namespace', f'drone{vehicle_id}')}{vehicle_id}"

    def make(self, *, drives: bool, graphical: Mapping[str, Sensor]) -> ROS2:
        """Return the backend of Pegasus.

        Args:
            drives: Commands may drive the vehicle.
            graphical: Cameras and lidars of the vehicle by name.
        """
        wanted = self._config.get
        topics: dict[str, Any] = {}
        for switch, group in ("pub_state", _STATE), ("pub_sensors", _SENSORS):
            for name, topic in group.items():
                if not (wanted(switch, True) and wanted(f"pub_{name}", True)):
                    topics[topic] = False
                elif (chosen := wanted(f"{name}_topic", topic)) != topic:
                    topics[topic] = {"name": chosen}
        if not wanted("pub_tf", False):
            topics["/tf"] = False
        topics |= _of_graphical(graphical.items(), published=bool(wanted("pub_graphical_sensors", True)))
        control = drives and bool(wanted("sub_control", True))
        return ROS2(self._namespace, control=control, topics=topics)


def _of_graphical(sensors: Iterable[tuple[str, Sensor]], *, published: bool) -> dict[str, Any]:
    """Return the options of topics of cameras and lidars, with the names of Pegasus Simulator."""
    topics: dict[str, Any] = {}
    for name, sensor in sensors:
        if isinstance(sensor, Lidar):
            topics[f"{name}/points"] = {"name": f"{name}/pointcloud"} if published else False
        elif isinstance(sensor, Camera):
            if "distance_to_image_plane" in sensor.outputs:
                topics[f"{name}/depth/image_raw"] = {"name": f"{name}/depth"} if published else False
            if not published:
                topics[f"{name}/color/image_raw"] = False
    return topics
