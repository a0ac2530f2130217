"""Where a camera sits on a vehicle."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array
from pegasus.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.scene.scene import Instance, Scene

if TYPE_CHECKING:
    from pegasus.rotor_specs import RotorSpec

OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""Optical frame (x right, y down, z forward) to the camera's FLU frame (x forward, y left, z up)."""

_GAP = 0.01  # [m]


def optical_rotation(orientation: tuple[float, float, float]) -> Array:
    """Return the rotation of an optical frame to the body frame, shape (3, 3).

    Args:
        orientation: Roll, pitch and yaw of the camera on the body (ZYX) [rad]; zeros look forward.
    """
    rotation: Array = matrix_from_quaternion(quaternion_from_euler(*orientation)) @ OPTICAL
    return rotation


def nose(scene: Scene, rotors: "Sequence[RotorSpec]") -> tuple[float, float, float]:
    """Return a point just before what is foremost in the middle of a vehicle [m].

    Args:
        scene: The vehicle in its body frame.
        rotors: Its rotors, which do not count.
    """
    from pegasus.scene.vehicle_asset import rotor_of

    front, height = 0.0, 0.0
    for item in scene.instances:
        if rotor_of(item.path, rotors) is None:
            corners = _placed(scene, item)
            low, high = corners.min(axis=0, initial=np.inf), corners.max(axis=0, initial=-np.inf)
            if low[1] <= 0.0 <= high[1] and high[0] > front:
                front, height = float(high[0]), float((low[2] + high[2]) / 2)
    return front + _GAP, 0.0, height


def _placed(scene: Scene, item: Instance) -> Array:
    vertices = scene.geometries[item.geometry].vertices.astype(np.float64)
    placed: Array = vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
    return placed
