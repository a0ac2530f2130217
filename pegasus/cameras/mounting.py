"""Where a camera sits on a vehicle, and what it must not sit in."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.frames import matrix_from_quaternion, quaternion_from_euler
from pegasus.scene.scene import Instance, Scene
from pegasus.scene.vehicle_asset import rotor_of

if TYPE_CHECKING:
    from pegasus.rotor_specs import RotorSpec

OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""Optical frame (x right, y down, z forward) to the camera's FLU frame (x forward, y left, z up)."""

Vertices = npt.NDArray[np.float32]

_GAP = 0.01  # [m]
_AXES = np.concatenate([np.eye(3), -np.eye(3)])


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
    front, height = 0.0, 0.0
    for item in scene.instances:
        if rotor_of(item.path, rotors) is None:
            corners = _placed(scene, item)
            low, high = corners.min(axis=0, initial=np.inf), corners.max(axis=0, initial=-np.inf)
            if low[1] <= 0.0 <= high[1] and high[0] > front:
                front, height = float(high[0]), float((low[2] + high[2]) / 2)
    return front + _GAP, 0.0, height


def enclosing_path(scene: Scene, point: Array) -> str | None:
    """Return the path of a drawn thing that a point is inside of, or None.

    It is inside where it sees the back of the same thing's surface in all six directions.

    Args:
        scene: What is drawn.
        point: The point in the scene's frame [m], shape (3,).
    """
    boxes = {key: _box(geometry.vertices) for key, geometry in scene.geometries.items()}
    for item in scene.instances:
        (middle, half), linear = boxes[item.geometry], item.transform[:3, :3]
        apart = np.abs(point - linear @ middle - item.transform[:3, 3])
        if (apart < np.abs(linear) @ half).all() and _inside(_triangles(scene, item), point):
            return item.path
    return None


def _box(vertices: Vertices) -> tuple[Array, Array]:
    """Return middle and half lengths of the axis-aligned box around points."""
    if not len(vertices):
        return np.zeros(3), np.full(3, -1.0)
    low, high = vertices.min(axis=0).astype(np.float64), vertices.max(axis=0).astype(np.float64)
    return (low + high) / 2, (high - low) / 2


def _placed(scene: Scene, item: Instance) -> Array:
    vertices = scene.geometries[item.geometry].vertices.astype(np.float64)
    placed: Array = vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
    return placed


def _triangles(scene: Scene, item: Instance) -> Array:
    faces = scene.geometries[item.geometry].faces
    # A mirrored placement turns the triangles' sense round.
    if np.linalg.det(item.transform[:3, :3]) < 0:
        faces = faces[:, ::-1]
    corners: Array = _placed(scene, item)[faces]
    return corners


def _inside(triangles: Array, point: Array) -> bool:
    """Return whether rays along all six axes meet the back of a triangle first (Möller, Trumbore 1997)."""
    first = triangles[:, 1] - triangles[:, 0]
    second = triangles[:, 2] - triangles[:, 0]
    from_corner = point - triangles[:, 0]
    crossed = np.cross(from_corner, first)
    for axis in _AXES:
        normal = np.cross(axis, second)
        determinant = (first * normal).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            u = (from_corner * normal).sum(axis=1) / determinant
            v = crossed @ axis / determinant
            distance = (second * crossed).sum(axis=1) / determinant
            hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (distance > 0)
        # The determinant is above 0 where the ray meets the front.
        if not hit.any() or determinant[np.argmin(np.where(hit, distance, np.inf))] > 0:
            return False
    return True
