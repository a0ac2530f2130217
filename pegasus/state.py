"""The state of a vehicle, as a struct of arrays over its N copies."""

from dataclasses import dataclass, fields

import numpy as np

from pegasus.arrays import Array


@dataclass(eq=False)
class VehicleState:
    """State of N identical vehicles at one instant; world ENU, body FLU, SI units.

    The arrays are live: the simulation writes into them at every step. Take a `copy()` to keep one.
    """

    position: Array
    """Origin of the body frame in the world [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternion xyzw, body to world, shape (N, 4)."""
    velocity: Array
    """Velocity of the body frame's origin in the world [m/s], shape (N, 3)."""
    angular_velocity: Array
    """Angular velocity in the body frame [rad/s], shape (N, 3)."""
    rotation: Array
    """Rotation matrix of `orientation`, body to world, shape (N, 3, 3)."""
    acceleration: Array
    """Change of `velocity` over the last step divided by its length [m/s^2], shape (N, 3)."""
    angular_acceleration: Array
    """Change of `angular_velocity` over the last step divided by its length [rad/s^2], shape (N, 3)."""
    rotor_speed: Array
    """Speed of each rotor, positive in its own spin direction [rad/s], shape (N, R)."""

    @classmethod
    def at_rest(cls, count: int, rotor_count: int) -> "VehicleState":
        """Return a level, motionless state at the world's origin.

        Args:
            count: Number of vehicles N.
            rotor_count: Number of rotors R.
        """
        orientation = np.zeros((count, 4))
        orientation[:, 3] = 1.0
        return cls(
            position=np.zeros((count, 3)),
            orientation=orientation,
            velocity=np.zeros((count, 3)),
            angular_velocity=np.zeros((count, 3)),
            rotation=np.tile(np.eye(3), (count, 1, 1)),
            acceleration=np.zeros((count, 3)),
            angular_acceleration=np.zeros((count, 3)),
            rotor_speed=np.zeros((count, rotor_count)),
        )

    def copy(self) -> "VehicleState":
        """Return a copy that later steps leave alone."""
        return VehicleState(**{field.name: getattr(self, field.name).copy() for field in fields(self)})
