"""Trajectories from plain functions of time."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_positive
from pegasus.base.errors import ConfigError
from pegasus.contracts.path_derivatives import path_motion
from pegasus.contracts.trajectory import TimedPath, points_of


@dataclass(frozen=True, eq=False)
class FunctionPath(TimedPath):
    """Trajectory from a function of time; velocity, acceleration and jerk are found from its positions.

    See `path_motion` for their accuracy: motions of up to about 2 Hz should be smooth.

    Raises:
        ConfigError: If the function gives neither three nor four finite numbers at its ends.
    """

    name = "function"

    function: Callable[[Any], Any]
    """From the time since the beginning [s] to the position [m], or position and heading [rad]: three or four
    numbers."""
    duration: float = math.inf
    """Time from beginning to end [s]; may be infinite."""

    def __post_init__(self) -> None:
        require(callable(self.function), "function", self.function, "must be a function of time")
        require_positive("duration", self.duration, "s")
        for t in (0.0, self.duration if math.isfinite(self.duration) else 1.0):
            self._one(t)

    def samples(self, times: Array) -> tuple[Array, Array]:
        """Return the points at several times; see `Trajectory.samples`."""
        motion = path_motion(self._values, times, self.duration)
        headed = motion.shape[2] == 4
        yaw, yaw_rate = (motion[:, 0, 3], motion[:, 1, 3]) if headed else (None, 0.0)
        return points_of(len(times), [motion[:, k, :3] for k in range(4)], yaw, yaw_rate)

    def _values(self, times: Array) -> Array:
        """Return positions, and headings without jumps of whole turns, shape (n, 3) or (n, 4)."""
        values = np.array([self._one(t) for t in times.tolist()])
        if values.shape[1] == 4:
            values[:, 3] = np.unwrap(values[:, 3])
        return values

    def _one(self, t: float) -> Array:
        try:
            value = np.asarray(self.function(t), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"fails at t = {t:g} s: {error}",
                field="trajectory",
                value=getattr(self.function, "__name__", self.function),
                remedy="return three or four numbers: the position [m], and the heading [rad] if wanted",
            ) from None
        fits = value.shape in ((3,), (4,)) and bool(np.isfinite(value).all())
        allowed = f"must give three or four finite numbers at t = {t:g} s: position [m], and heading [rad]"
        require(fits, "trajectory", value.tolist(), allowed)
        return value
