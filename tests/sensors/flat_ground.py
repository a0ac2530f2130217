"""A stand-in for a vehicle over level ground, whose rays meet the ground by closed form."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import (
    matrix_from_quaternion,
    multiply,
    quaternion_from_euler,
    quaternion_from_rotation_vector,
    rotate,
)
from pegasus.contracts.engine import RayHits
from pegasus.contracts.state import VehicleState
from pegasus.sensors import Sensor


class OverGround(SimpleNamespace):
    """Stand-in for N vehicles over the plane z = 0, level and at rest at a height."""

    def __init__(self, sensor: Sensor, *, count: int = 1, height: Any = 2.0, seed: int = 0) -> None:
        super().__init__(count=count, state=VehicleState.at_rest(count, 4))
        self.state.position[:, 2] = height
        vehicle: Any = self
        environment: Any = None
        sensor.bind(vehicle, environment, np.random.default_rng(seed))
        self.sensor = sensor

    def turn(self, roll: Any, pitch: Any, yaw: Any) -> None:
        """Set the attitude."""
        self.state.orientation[:] = quaternion_from_euler(roll, pitch, yaw)
        self.state.rotation[:] = matrix_from_quaternion(self.state.orientation)

    def move(self, dt: float, *, turn: Any = (0.0, 0.0, 0.0)) -> None:
        """Move at the velocity of the state, and rotate by a rotation vector in the body frame."""
        step = quaternion_from_rotation_vector(np.broadcast_to(turn, (self.count, 3)))
        self.state.position += self.state.velocity * dt
        self.state.orientation[:] = multiply(self.state.orientation, step)
        self.state.rotation[:] = matrix_from_quaternion(self.state.orientation)

    def measure(self, t: float) -> Any:
        return self.sensor.measure(self.state, t)

    def raycast(self, directions: Array, max_range: float, *, origin: Any = (0.0, 0.0, 0.0)) -> RayHits:
        """Return the hits of rays with the ground, those of the first vehicle first."""
        start = self.state.position + rotate(self.state.rotation, np.broadcast_to(origin, (self.count, 3)))
        falls = -(directions @ self.state.rotation[:, 2, :].T).T
        with np.errstate(divide="ignore"):
            distance = (start[:, 2, None] / falls).ravel()
        distance[(distance < 0) | (distance > max_range) | (falls.ravel() <= 0)] = np.inf
        none = np.zeros((len(distance), 3))
        return RayHits(np.isfinite(distance), distance, none, np.full(len(distance), -1))
