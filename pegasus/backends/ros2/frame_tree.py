"""The frames of a vehicle below `map`, and where each of its sensors stands in them (REP 103, REP 105)."""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pegasus.arrays import Array
from pegasus.cameras import Camera, Lidar, StereoCamera
from pegasus.cameras.mounting import nose, optical_rotation
from pegasus.frames import quaternion_from_euler, quaternion_from_matrix
from pegasus.sensors import IMU, Airspeed, Rangefinder, Sensor

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor

BASE_LINK_FRD = "base_link_frd"
"""The body as autopilots have it: x ahead, y right, z down."""

_NO_TURN = np.array([0.0, 0.0, 0.0, 1.0])
_HALF_TURN_ABOUT_X = np.array([1.0, 0.0, 0.0, 0.0])


class Mounting(NamedTuple):
    """A frame that is fixed to the body."""

    frame: str
    """Name of the frame, below the vehicle's own prefix."""
    position: Array
    """Its origin in the body frame [m], shape (3,)."""
    orientation: Array
    """Unit quaternion xyzw, frame to body, shape (4,)."""


def x_axis_along(direction: Array) -> Array:
    """Return a quaternion xyzw that turns the x axis into a direction the shortest way, shape (4,).

    Args:
        direction: The direction, of any length but zero, shape (3,).
    """
    x, y, z = (direction / np.sqrt(direction @ direction)).tolist()
    if x < -1 + 1e-12:
        return np.array([0.0, 0.0, 1.0, 0.0])
    # Half way between both: (x cross d, 1 + x . d), made a unit quaternion.
    length = math.sqrt(2 * (1 + x))
    return np.array([0.0, -z / length, y / length, (1 + x) / length])


def optical_frame(sensor: str, camera: str = "") -> str:
    """Return the name of a camera's optical frame: x right, y down, z ahead.

    Args:
        sensor: Name of the sensor.
        camera: Which camera of the sensor, such as `left`; empty where there is one.
    """
    return "_".join(part for part in (sensor, camera, "optical") if part)


def mountings(vehicle: "Multirotor") -> list[Mounting]:
    """Return all frames that are fixed to a vehicle's body.

    Args:
        vehicle: The vehicle.
    """
    found = [Mounting(BASE_LINK_FRD, np.zeros(3), _HALF_TURN_ABOUT_X)]
    for name, sensor in vehicle.sensors.items():
        if isinstance(sensor, Camera):
            found += _camera_mountings(name, sensor, vehicle)
        else:
            found.append(Mounting(name, *_place(sensor)))
    return found


def _camera_mountings(name: str, camera: Camera, vehicle: "Multirotor") -> list[Mounting]:
    place = camera.position
    if place is None:
        place = nose(vehicle.scene, vehicle.spec.rotor_list())
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
    """Return where a sensor without pictures stands; at the body's origin where it has no place."""
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
