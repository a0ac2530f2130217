"""Randomizer of camera poses, focal lengths and exposure."""

import dataclasses
import math
from dataclasses import dataclass, replace

import numpy as np

from pegasus.base.components import require
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_rotation_vector
from pegasus.cameras.capture import Optics
from pegasus.cameras.imaging import Imaging
from pegasus.dataset.randomizers.randomizer import Randomizer, note
from pegasus.optics.lens import FocusedLens, Lens


@dataclass(frozen=True, kw_only=True)
class CameraJitter(Randomizer):
    """Perturbs pose, focal length and exposure of cameras, anew in each frame."""

    position: float = 0.0
    """Largest shift along each axis of the body [m]."""
    orientation: float = 0.0
    """Largest turn about each axis of the camera [rad]."""
    focal_length: float = 0.0
    """Largest relative change of the focal length."""
    exposure: float = 0.0
    """Largest change of the exposure [stops]."""

    def __post_init__(self) -> None:
        for name in ("position", "orientation", "exposure"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")
        zoom = self.focal_length
        require(0 <= zoom < 1, "focal_length", zoom, "must be at least 0 and below 1")

    def optics(self, optics: Optics, rng: np.random.Generator) -> Optics:
        """Return perturbed optics."""
        shift = rng.uniform(-1.0, 1.0, size=3) * self.position
        turn = rng.uniform(-1.0, 1.0, size=3) * self.orientation
        zoom = 1.0 + float(rng.uniform(-1.0, 1.0)) * self.focal_length
        stops = float(rng.uniform(-1.0, 1.0)) * self.exposure
        note(rng, position=shift, orientation=turn, focal_length=zoom - 1.0, exposure=stops)
        return replace(
            optics,
            position=optics.position + shift,
            rotation=optics.rotation @ matrix_from_quaternion(quaternion_from_rotation_vector(turn)),
            lens=zoomed(optics.lens, zoom, optics.resolution),
            imaging=exposed(optics.imaging, stops),
        )


def zoomed(lens: Lens, factor: float, resolution: tuple[int, int]) -> Lens:
    """Return a lens with a scaled focal length; lenses of user code are returned unchanged.

    Args:
        lens: The lens.
        factor: Factor of the focal length.
        resolution: Width and height of the image [pixels].
    """
    if factor == 1.0 or not isinstance(lens, FocusedLens):
        return lens
    matrix = lens.matrix(resolution)
    focal = float(matrix[0, 0] * factor), float(matrix[1, 1] * factor)
    return dataclasses.replace(lens, horizontal_fov=None, focal_length=focal)


def exposed(imaging: Imaging, stops: float) -> Imaging:
    """Return imaging with a changed exposure.

    Args:
        imaging: Imaging of the camera.
        stops: Change of the exposure in powers of two.
    """
    if stops == 0.0:
        return imaging
    if imaging.exposure is not None:
        return replace(imaging, exposure=imaging.exposure * 2.0**stops)
    return replace(imaging, metered_level=imaging.metered_level * 2.0**stops)
