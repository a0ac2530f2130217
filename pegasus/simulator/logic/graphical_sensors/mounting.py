"""Orientations of mounted sensors."""

import math
from collections.abc import Sequence

import numpy as np

from pegasus.base.frames import euler_from_quaternion, quaternion_from_euler

Euler = tuple[float, float, float]


def camera_euler(degrees: Sequence[float]) -> Euler:
    """Return roll, pitch and yaw [rad] of a camera by its `orientation` in Pegasus Simulator.

    That one is yaw, pitch and roll [deg], whose quaternion xyzw is read as wxyz there: (0, 0, 180), its
    default, looks forward.
    """
    yaw, pitch, roll = (math.radians(value) for value in degrees)
    w, x, y, z = quaternion_from_euler(roll, pitch, yaw).tolist()
    return _triple(np.array([x, y, z, w]))


def lidar_euler(degrees: Sequence[float]) -> Euler:
    """Return roll, pitch and yaw [rad] by yaw, pitch and roll [deg]."""
    yaw, pitch, roll = (math.radians(value) for value in degrees)
    return roll, pitch, yaw


def position_of(values: Sequence[float]) -> tuple[float, float, float]:
    """Return a position [m] as three numbers."""
    x, y, z = (float(value) for value in values)
    return x, y, z


def _triple(quaternion: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Euler:
    roll, pitch, yaw = (float(value) for value in euler_from_quaternion(quaternion))
    return roll, pitch, yaw
