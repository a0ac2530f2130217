"""Stereo pairs: two cameras side by side that shoot at the same instant."""

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pegasus.cameras.camera import Camera, CameraReading
from pegasus.cameras.shot import Shot
from pegasus.components import require
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor


@dataclass(frozen=True, eq=False)
class StereoReading(CameraReading):
    """What a stereo pair sees: by itself the left camera's reading, with the right one's beside it."""

    baseline: float
    """Distance between the lenses [m]."""
    right: CameraReading = field(metadata={"recorded": False})
    """Reading of the right camera."""

    @property
    def left(self) -> CameraReading:
        """Reading of the left camera."""
        return self

    @property
    def cameras(self) -> dict[str, CameraReading]:
        """The readings of both cameras by their names."""
        return {"left": self, "right": self.right}


@dataclass(kw_only=True, eq=False)
class StereoCamera(Camera):
    """Two equal cameras side by side, exposed alike and at once; the left one is where a `Camera` would be.

    The right one stands `baseline` to the right along the image's rows, so that rows of both pictures match.
    """

    baseline: float = 0.1
    """Distance between the lenses [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.baseline < math.inf, "baseline", self.baseline, "must be above 0 m and finite")

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle.

        Args:
            vehicle: The vehicle, whose simulation draws the pictures.
            environment: Not used.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        left = self._optics
        self._right = replace(
            left,
            name=f"right {left.name}",
            position=left.position + left.rotation[:, 0] * self.baseline,
        )

    def measure(self, state: VehicleState, t: float) -> StereoReading:
        """Return where both cameras are, and what their pictures can be drawn from.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        shot = self._take(t)
        seeds = self._draw_seeds()
        second = Shot(
            self._right, shot.visuals, shot.vehicle, shot.snapshot, shot.previous, seeds, meter=shot
        )
        right = CameraReading(t, *self._pose(self._right, state), self._matrix, second)
        return StereoReading(t, *self._pose(self._optics, state), self._matrix, shot, self.baseline, right)
