"""Stereo cameras: two cameras side by side, exposed at the same instant."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from pegasus.base.components import require
from pegasus.cameras.camera import Camera, CameraReading
from pegasus.cameras.capture import Capture, draw_seeds
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.environment import Environment


@dataclass(frozen=True, eq=False)
class StereoReading(CameraReading):
    """Reading of a stereo pair: that of the left camera, with the right camera's as an attribute."""

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
    """Rectified stereo pair with common exposure; the left camera has the pose of a `Camera`.

    The right one is offset by `baseline` along the image rows, so that rows of both images correspond.
    """

    baseline: float = 0.1
    """Distance between the lenses [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(0 < self.baseline < math.inf, "baseline", self.baseline, "must be above 0 m and finite")

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Attach the cameras to a vehicle.

        Args:
            vehicle: The vehicle, whose simulation renders the images.
            environment: Unused.
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
        """Return the poses of both cameras, and the state from which their images are rendered.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        capture = self._take(t)
        seeds = draw_seeds(self.rngs)
        second = Capture(
            self._right,
            capture.visuals,
            capture.vehicle,
            capture.snapshot,
            capture.previous,
            seeds,
            meter=capture,
        )
        right = CameraReading(t, *self._pose(self._right, state), self._matrix, second)
        return StereoReading(t, *self._pose(self._optics, state), self._matrix, capture, self.baseline, right)
