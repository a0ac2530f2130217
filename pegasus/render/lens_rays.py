"""The directions that the pixels of a lens look along, cut into chunks that threads share."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from pegasus.arrays import Array
from pegasus.cameras.lens import Lens


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of an image."""

    first: int
    """Number of its first pixel."""
    count: int
    """Number of its pixels."""
    axis: Array
    """Unit vector along the middle of its rays, optical frame, shape (3,)."""
    angle: float
    """Largest angle of a ray to the axis [rad]."""


class LensRays:
    """Rays of a lens at a resolution.

    Args:
        lens: The lens.
        resolution: Width and height [pixels].
        chunk: About how many pixels a chunk holds.
    """

    def __init__(self, lens: Lens, resolution: tuple[int, int], chunk: int) -> None:
        width, height = resolution
        self.width, self.height = width, height
        self.centers = _directions(lens, resolution, 0.5, width, height)
        """Through the centres of pixels, row by row, shape (H W, 3); not a number where nothing is seen."""
        self._lens, self._corners = lens, np.zeros((0, 3))
        grid = self.centers.reshape(height, width, 3)
        steps = [np.diff(grid, axis=axis) for axis in (0, 1)]
        spans = np.concatenate([np.sqrt((step * step).sum(axis=-1)).ravel() for step in steps])
        spans = spans[np.isfinite(spans)]
        self.cone = float(np.median(spans)) if len(spans) else 1e-3
        """Angle between neighbouring pixels [rad]."""
        rows = max(chunk // width, 1)
        # An even number of like chunks keeps two or four threads busy to the end.
        count = -(-height // rows)
        count = min(count + count % 2, height)
        edges = [height * k // count * width for k in range(count + 1)]
        self.chunks = [self._chunk(a, b) for a, b in pairwise(edges)]
        """The rows of the image, in like parts."""

    @property
    def corners(self) -> Array:
        """Directions through the corners of the pixels, row by row, shape ((H + 1) (W + 1), 3)."""
        if not len(self._corners):
            resolution = (self.width, self.height)
            self._corners = _directions(self._lens, resolution, 0.0, self.width + 1, self.height + 1)
        return self._corners

    def _chunk(self, first: int, end: int) -> Chunk:
        directions = self.centers[first:end]
        directions = directions[np.isfinite(directions[:, 0])]
        axis = directions.sum(axis=0)
        length = float(np.sqrt(axis @ axis))
        if length < 1e-6:
            return Chunk(first, end - first, np.array([0.0, 0.0, 1.0]), np.pi)
        axis = axis / length
        angle = float(np.arccos(np.clip((directions @ axis).min(), -1.0, 1.0)))
        # Rays of several samples reach half a pixel farther than the centres.
        return Chunk(first, end - first, axis, angle + self.cone)


def _directions(lens: Lens, resolution: tuple[int, int], shift: float, columns: int, rows: int) -> Array:
    pixels = np.empty((rows, columns, 2))
    pixels[..., 0] = np.arange(columns) + shift
    pixels[..., 1] = (np.arange(rows) + shift)[:, None]
    return np.ascontiguousarray(lens.directions(pixels, resolution).reshape(-1, 3), dtype=np.float64)
