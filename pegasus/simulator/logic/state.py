"""State of a vehicle or person."""

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.frames import (
    matrix_from_quaternion,
    rotate_inverse,
    swap_attitude_convention,
    swap_enu_ned,
    swap_flu_frd,
)
from pegasus.contracts.state import VehicleState

__all__ = ["State"]


class State:
    """State in the axes east, north, up and of the body forward, left, up."""

    def __init__(self) -> None:
        self.position: Array = np.zeros(3)
        """Position [m]."""
        self.attitude: Array = np.array([0.0, 0.0, 0.0, 1.0])
        """Unit quaternion xyzw, body to world."""
        self.linear_body_velocity: Array = np.zeros(3)
        """Velocity in the body frame [m/s]."""
        self.linear_velocity: Array = np.zeros(3)
        """Velocity [m/s]."""
        self.angular_velocity: Array = np.zeros(3)
        """Angular velocity in the body frame [rad/s]."""
        self.linear_acceleration: Array = np.zeros(3)
        """Acceleration [m/s^2]."""

    @classmethod
    def of(cls, state: VehicleState) -> "State":
        """Return a copy of the state of the first copy of a vehicle."""
        made = cls()
        made.position, made.attitude = state.position[0].copy(), state.orientation[0].copy()
        made.linear_velocity = state.velocity[0].copy()
        made.angular_velocity = state.angular_velocity[0].copy()
        made.linear_acceleration = state.acceleration[0].copy()
        made.linear_body_velocity = made._in_body(made.linear_velocity)
        return made

    def get_position_ned(self) -> Array:
        """Return the position in north, east, down [m]."""
        return swap_enu_ned(self.position)

    def get_attitude_ned_frd(self) -> Array:
        """Return the unit quaternion xyzw of the body (forward, right, down) in north, east, down."""
        return swap_attitude_convention(self.attitude)

    def get_linear_body_velocity_ned_frd(self) -> Array:
        """Return the velocity in the body frame forward, right, down [m/s]."""
        return swap_flu_frd(self._in_body(self.linear_velocity))

    def get_linear_velocity_ned(self) -> Array:
        """Return the velocity in north, east, down [m/s]."""
        return swap_enu_ned(self.linear_velocity)

    def get_angular_velocity_frd(self) -> Array:
        """Return the angular velocity in the body frame forward, right, down [rad/s]."""
        return swap_flu_frd(self.angular_velocity)

    def get_linear_acceleration_ned(self) -> Array:
        """Return the acceleration in north, east, down [m/s^2]."""
        return swap_enu_ned(self.linear_acceleration)

    def _in_body(self, vector: Array) -> Array:
        return rotate_inverse(matrix_from_quaternion(self.attitude), vector)
