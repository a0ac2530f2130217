"""Frames of a vehicle: their names, and the poses of its sensors (REP 103, REP 105)."""

import math
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.frames import quaternion_from_euler, quaternion_from_matrix
from pegasus.cameras import Camera, Lidar, StereoCamera
from pegasus.cameras.camera import nose, optical_rotation
from pegasus.core.aircraft import Aircraft
from pegasus.sensors import IMU, Airspeed, Rangefinder, Sensor

Tree = Literal["full", "map", "odom"]

_NAME = re.compile(r"[^\s/][^\s]*")


class FrameNames(NamedTuple):
    """Names of the frames of one copy of a vehicle."""

    prefix: str
    """Prefix of the vehicle's frames, with its slash."""
    map: str
    """World frame: x east, y north, z up."""
    odom: str
    """World frame of an external estimator, which drifts."""
    base_link: str
    """Body frame: x forward, y left, z up."""

    def own(self, frame: str) -> str:
        """Return the full name of a frame of the vehicle.

        Args:
            frame: Its name without prefix.
        """
        return self.prefix + frame


@dataclass(frozen=True, kw_only=True)
class Frames:
    """Names of a vehicle's frames, and the tree that they form (REP 105)."""

    tree: Tree = "full"
    """Transforms on `/tf`: `full` map, odom, base_link; `map` map to base_link; `odom` odom to base_link."""
    map: str = "map"
    """World frame, shared by all vehicles."""
    odom: str = "odom"
    """Odometry frame, after the prefix."""
    base_link: str = "base_link"
    """Body frame, after the prefix."""
    prefix: str | None = None
    """Prefix of the vehicle's frames; its namespace and a slash if None."""

    def __post_init__(self) -> None:
        trees = get_args(Tree)
        require(self.tree in trees, "tree", self.tree, f"must be one of {', '.join(trees)}")
        names = {name: getattr(self, name) for name in ("map", "odom", "base_link")}
        for field, name in names.items():
            allowed = "must be a name without blanks that does not begin with a slash"
            require(isinstance(name, str) and bool(_NAME.fullmatch(name)), field, name, allowed)
        prefix = self.prefix
        fits = not prefix or (isinstance(prefix, str) and bool(_NAME.fullmatch(prefix)))
        require(fits, "prefix", prefix, "must have no blanks and not begin with a slash")
        require(len(set(names.values())) == 3, "map, odom, base_link", [*names.values()], "must differ")

    def names(self, namespace: str) -> FrameNames:
        """Return the names of the frames of a vehicle.

        Args:
            namespace: Its namespace.
        """
        prefix = f"{namespace.strip('/')}/".removeprefix("/") if self.prefix is None else self.prefix
        return FrameNames(prefix, self.map, prefix + self.odom, prefix + self.base_link)


BASE_LINK_FRD = "base_link_frd"
"""Body frame of autopilots: x forward, y right, z down."""

_NO_TURN = np.array([0.0, 0.0, 0.0, 1.0])
_HALF_TURN_ABOUT_X = np.array([1.0, 0.0, 0.0, 0.0])


class Mounting(NamedTuple):
    """Frame that is fixed to the body."""

    frame: str
    """Name of the frame, without the vehicle's prefix."""
    position: Array
    """Origin in the body frame [m], shape (3,)."""
    orientation: Array
    """Unit quaternion xyzw, frame to body, shape (4,)."""


def x_axis_along(direction: Array) -> Array:
    """Return the shortest rotation from the x axis to a direction: quaternion xyzw, shape (4,).

    Args:
        direction: The direction, not zero, shape (3,).
    """
    x, y, z = (direction / np.sqrt(direction @ direction)).tolist()
    if x < -1 + 1e-12:
        return np.array([0.0, 0.0, 1.0, 0.0])
    # (x cross d, 1 + x . d), normalised.
    length = math.sqrt(2 * (1 + x))
    return np.array([0.0, -z / length, y / length, (1 + x) / length])


def optical_frame(sensor: str, camera: str = "") -> str:
    """Return the name of a camera's optical frame: x right, y down, z forward.

    Args:
        sensor: Name of the sensor.
        camera: Camera of the sensor, such as `left`; empty if there is only one.
    """
    return "_".join(part for part in (sensor, camera, "optical") if part)


def mountings(vehicle: Aircraft) -> list[Mounting]:
    """Return all frames that are fixed to a vehicle's body."""
    found = [Mounting(BASE_LINK_FRD, np.zeros(3), _HALF_TURN_ABOUT_X)]
    for name, sensor in vehicle.sensors.items():
        if isinstance(sensor, Camera):
            found += _camera_mountings(name, sensor, vehicle)
        else:
            found.append(Mounting(name, *_place(sensor)))
    return found


def _camera_mountings(name: str, camera: Camera, vehicle: Aircraft) -> list[Mounting]:
    place = camera.position
    if place is None:
        place = nose(vehicle.asset.scene, vehicle.spec.rotor_list())
    turn = optical_rotation(camera.orientation)
    orientation = quaternion_from_matrix(turn)
    if not isinstance(camera, StereoCamera):
        return [Mounting(optical_frame(name), np.array(place), orientation)]
    aside = turn[:, 0] * camera.baseline
    return [
        Mounting(optical_frame(name, "left"), np.array(place), orientation),
        Mounting(optical_frame(name, "right"), place + aside, orientation),
    ]


def _place(sensor: Sensor) -> tuple[Array, Array]:
    """Return position and orientation of a sensor without images; the body's origin by default."""
    position = np.array(getattr(sensor, "position", (0.0, 0.0, 0.0)), dtype=np.float64)
    if isinstance(sensor, IMU):
        return position, np.array(sensor.orientation)
    if isinstance(sensor, Rangefinder):
        return position, x_axis_along(np.array(sensor.direction))
    if isinstance(sensor, Airspeed):
        return position, x_axis_along(np.array(sensor.axis))
    if isinstance(sensor, Lidar):
        return position, quaternion_from_euler(*sensor.orientation)
    return position, _NO_TURN
