"""What a controller follows: the output of a trajectory at one instant."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pegasus.arrays import Array, BoolArray


@dataclass(eq=False)
class Reference:
    """Reference of N vehicles at one instant, in the world frame (ENU)."""

    position: Array
    """Position [m], shape (N, 3)."""
    velocity: Array
    """Velocity [m/s], shape (N, 3)."""
    acceleration: Array
    """Acceleration [m/s^2], shape (N, 3)."""
    jerk: Array
    """Jerk [m/s^3], shape (N, 3)."""
    yaw: Array
    """Heading of the body's x axis, counter-clockwise from east [rad], shape (N,)."""
    yaw_rate: Array
    """Rate of the heading [rad/s], shape (N,)."""
    idle: BoolArray
    """Whether the rotors only idle (armed, on the ground), shape (N,)."""
    segment: str = ""
    """Name of the part of the flight that this instant belongs to."""

    @classmethod
    def hold(cls, position: Array, yaw: Array) -> "Reference":
        """Return a reference at rest.

        Args:
            position: Position [m], shape (N, 3).
            yaw: Heading [rad], shape (N,).
        """
        n = len(position)
        return cls(
            np.array(position, dtype=np.float64),
            np.zeros((n, 3)),
            np.zeros((n, 3)),
            np.zeros((n, 3)),
            np.array(yaw, dtype=np.float64),
            np.zeros(n),
            np.zeros(n, dtype=bool),
        )

    def copy(self) -> "Reference":
        """Return a copy that later steps leave alone."""
        copied: dict[str, Any] = {
            field.name: value if isinstance(value := getattr(self, field.name), str) else value.copy()
            for field in fields(self)
        }
        return Reference(**copied)
