"""Sensors of Gazebo models, as sensors of a vehicle file."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import euler_from_quaternion, quaternion_from_matrix
from pegasus.design.gazebo.models import Model
from pegasus.design.gazebo.nodes import Node
from pegasus.design.gazebo.plugins import kind_of, rounded

_MODELS = {
    "imu": "imu",
    "magnetometer": "magnetometer",
    "air_pressure": "barometer",
    "barometer": "barometer",
    "navsat": "gps",
    "gps": "gps",
    "air_speed": "airspeed",
    "airspeed": "airspeed",
    "camera": "camera",
    "depth_camera": "camera",
    "depth": "camera",
    "rgbd_camera": "camera",
    "gpu_lidar": "lidar",
    "lidar": "lidar",
    "gpu_ray": "lidar",
    "ray": "lidar",
}
"""Models of sensors by the type of Gazebo's."""
_OUTPUTS = {"depth_camera": ["depth"], "depth": ["depth"], "rgbd_camera": ["rgb", "depth"]}
_WHOLE_TURN = 1.9 * math.pi
"""Angle from which on the rays are those of a spinning head [rad]."""
_LEAST_HEIGHT = 1e-3
"""Least angle between the first and the last row of a raster [rad]."""
_CLASSIC = ("imu", "gps", "magnetometer", "barometer", "airspeed")


def sensor_fields(model: Model) -> dict[str, Any]:
    """Return the sensors of a model by name.

    Args:
        model: The model.
    """
    made: dict[str, Any] = {}
    for link in model.attached:
        for node in model.links[link].every("sensor"):
            kind = node.attributes.get("type", "")
            # Sensors of Gazebo classic are plugins within others.
            inner = [kind_of(plugin) for plugin in node.every("plugin")]
            kind = next((each for each in inner if each in _CLASSIC), kind)
            if kind in _MODELS:
                sensor = _Sensor(model, node, kind, model.pose(link) @ node.pose())
                fields = _FIELDS[_MODELS[kind]](sensor)
                _add(made, fields["model"], fields)
            else:
                model.notes.append(
                    f"sensor {node.attributes.get('name', '')}: no counterpart of type {kind!r}"
                )
    for _, plugin in model.plugins:
        found = kind_of(plugin)
        if found in _CLASSIC and found not in made:
            made[found] = {"model": found}
    return made


def _add(made: dict[str, Any], name: str, fields: dict[str, Any]) -> None:
    count = sum(other["model"] == name for other in made.values())
    made[f"{name}_{count}" if count else name] = fields


def _noise(node: Node | None, rate: float) -> dict[str, float]:
    """Return the noise on one of the axes of an IMU.

    Gazebo adds white noise of a standard deviation at its rate, and a bias that random noise drives.
    """
    noise = node.child("noise") if node is not None else None
    if noise is None or not rate > 0:
        return {}
    noise.child("mean")
    made = {"noise_density": noise.number("stddev") / math.sqrt(rate)}
    walk, time = noise.number("dynamic_bias_stddev"), noise.number("dynamic_bias_correlation_time")
    if time > 0:
        made |= {"bias_random_walk": walk, "bias_correlation_time": time}
    return {name: float(f"{value:.5g}") for name, value in made.items()}


@dataclass(frozen=True)
class _Sensor:
    """Sensor of a model, and its pose in the body frame."""

    model: Model
    node: Node
    kind: str
    pose: Array

    def start(self) -> dict[str, Any]:
        """Return its model and rate."""
        rate = self.node.number("update_rate")
        return {"model": _MODELS[self.kind]} | ({"rate_hz": rate} if rate > 0 else {})

    def position(self) -> dict[str, Any]:
        """Return its position."""
        place = rounded(self.pose[:3, 3])
        return {"position": place} if any(place) else {}

    def orientation(self) -> dict[str, Any]:
        """Return its orientation by angles."""
        angles = rounded(euler_from_quaternion(quaternion_from_matrix(self.pose[:3, :3])))
        return {"orientation": angles} if any(angles) else {}

    def tell(self, words: str) -> None:
        """Add a note on it."""
        self.model.notes.append(f"sensor {self.node.attributes.get('name', '')}: {words}")

    def imu(self) -> dict[str, Any]:
        """Return the fields of an IMU."""
        fields, rate = self.start() | self.position(), self.node.number("update_rate")
        if self.orientation():
            fields["orientation"] = rounded(quaternion_from_matrix(self.pose[:3, :3]))
        for name, tag in (("gyroscope", "angular_velocity"), ("accelerometer", "linear_acceleration")):
            axes = [_noise(self.node.child("imu", tag, axis), rate) for axis in "xyz"]
            if axes[0] != axes[1] or axes[0] != axes[2]:
                self.tell(f"all axes of {tag} have the noise of x")
            if axes[0]:
                # Gazebo has no offset that is drawn at the start.
                fields[name] = axes[0] | {"turn_on_bias": 0.0}
        return fields

    def plain(self) -> dict[str, Any]:
        """Return the fields of a sensor whose orientation does not matter here."""
        fields = self.start()
        if self.kind == "magnetometer":
            fields |= self.position()
            if self.orientation():
                self.tell("its orientation is left out")
            if self.node.child("magnetometer") is not None:
                self.tell("its noise is left out, whose unit depends on the version of Gazebo")
        elif self.position():
            self.tell("its position is left out")
        rate, noise = self.node.number("update_rate"), self.node.child("air_pressure", "pressure", "noise")
        if noise is not None and rate > 0:
            noise.child("mean")
            fields["noise_density"] = float(f"{noise.number('stddev') / math.sqrt(rate):.5g}")
        return fields

    def airspeed(self) -> dict[str, Any]:
        """Return the fields of an airspeed sensor."""
        axis = rounded(self.pose[:3, 0])
        return self.start() | ({} if axis == [1.0, 0.0, 0.0] else {"axis": axis})

    def camera(self) -> dict[str, Any]:
        """Return the fields of a camera, of depth as well."""
        fields, node = self.start() | {"position": rounded(self.pose[:3, 3])}, self.node.child("camera")
        fields |= self.orientation() | ({"outputs": _OUTPUTS[self.kind]} if self.kind in _OUTPUTS else {})
        if node is None:
            return fields
        width, height = (
            node.number("image", "width", default=320),
            node.number("image", "height", default=240),
        )
        fields["horizontal_fov"] = node.number("horizontal_fov", default=1.047)
        fields["resolution"] = [int(width), int(height)]
        fields["near"] = node.number("clip", "near", default=0.1)
        fields["far"] = node.number("clip", "far", default=100.0)
        return fields

    def lidar(self) -> dict[str, Any]:
        """Return the fields of a lidar, or of a rangefinder of one ray."""
        fields, node = self.start() | self.position(), self.node.child("lidar") or self.node.child("ray")
        if node is None:
            return fields | self.orientation()
        fields["min_range"] = node.number("range", "min")
        fields["max_range"] = node.number("range", "max", default=10.0)
        fields["noise_sigma"] = node.number("noise", "stddev")
        columns, left, right = self.scan(node.child("scan", "horizontal"), 640)
        rows, bottom, top = self.scan(node.child("scan", "vertical"), 1)
        if columns == rows == 1:
            return fields | {"model": "rangefinder", "direction": rounded(self.pose[:3, 0])}
        if right - left > _WHOLE_TURN:
            elevations = rounded(np.linspace(bottom, top, rows))
            pattern: dict[str, Any] = {"model": "spinning", "elevations": elevations, "column_count": columns}
        else:
            height = max(top - bottom, _LEAST_HEIGHT)
            pattern = {"model": "raster", "column_count": columns, "row_count": rows}
            pattern |= {"horizontal_fov": right - left, "vertical_fov": height}
            if abs(left + right) > _LEAST_HEIGHT or abs(bottom + top) > _LEAST_HEIGHT:
                self.tell("its rays are centred about its axis")
        return fields | self.orientation() | {"pattern": pattern}

    @staticmethod
    def scan(node: Node | None, usual: int) -> tuple[int, float, float]:
        """Return the number of rays along a direction, and their least and largest angle [rad]."""
        if node is None:
            return usual, 0.0, 0.0
        return int(node.number("samples", default=usual)), node.number("min_angle"), node.number("max_angle")


_FIELDS = {
    "imu": _Sensor.imu,
    "gps": _Sensor.plain,
    "barometer": _Sensor.plain,
    "magnetometer": _Sensor.plain,
    "airspeed": _Sensor.airspeed,
    "camera": _Sensor.camera,
    "lidar": _Sensor.lidar,
}
