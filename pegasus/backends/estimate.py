"""What an autopilot believes, beside what is true."""

import math
from dataclasses import dataclass

import numpy as np

from pegasus.arrays import Array


@dataclass(eq=False)
class Estimate:
    """What the estimators of N autopilots say; world ENU, body FLU; NaN where nothing is known.

    The errors compare each word with the truth at the instant at which it came, so that the time from one
    word to the next adds nothing to them.
    """

    received: Array
    """Simulation time at which the last word on the position came [s], shape (N,)."""
    position: Array
    """Position in the world [m], shape (N, 3)."""
    velocity: Array
    """Velocity in the world [m/s], shape (N, 3)."""
    orientation: Array
    """Attitude, unit quaternions xyzw, shape (N, 4)."""
    position_error: Array
    """Estimated less true position [m], shape (N, 3)."""
    velocity_error: Array
    """Estimated less true velocity [m/s], shape (N, 3)."""
    attitude_error: Array
    """Angle between the estimated and the true attitude [rad], shape (N,)."""

    @classmethod
    def unknown(cls, count: int) -> "Estimate":
        """Return the estimates of autopilots that have said nothing yet.

        Args:
            count: Number of autopilots N.
        """
        return cls(*(np.full((count, *shape), math.nan) for shape in ((), (3,), (3,), (4,), (3,), (3,), ())))
