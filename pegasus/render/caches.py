"""Entity indices and lens rays shared by all renderers."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.optics.lens import Lens
from pegasus.scene.scene import Entity, Scene

CHUNK = 80_000
"""Rays that one thread processes at a time."""
_SMALL = 8_192
"""Pixels of an image up to which two threads would take longer than one."""
_LENSES = 8


class EntityIndex:
    """Entities that pixels can belong to, each under an index that never changes.

    Args:
        scene: Scene whose entities come first; none when None.
    """

    def __init__(self, scene: Scene | None = None) -> None:
        self.entities: list[Entity] = [] if scene is None else list(scene.entities.values())
        """The entities in the order of their indices."""
        self._indices = {_identity(entity): index for index, entity in enumerate(self.entities)}

    def index(self, entity: Entity) -> int:
        """Return the index of an entity, added if it is new."""
        index = self._indices.setdefault(_identity(entity), len(self.entities))
        if index == len(self.entities):
            self.entities.append(entity)
        return index


@dataclass(frozen=True, eq=False)
class RayChunk:
    """Consecutive rows of an image."""

    first: int
    """Index of the first pixel."""
    count: int
    """Number of pixels."""


class LensRays:
    """Rays of a lens at a resolution.

    Args:
        lens: The lens.
        resolution: Width and height [pixels].
    """

    def __init__(self, lens: Lens, resolution: tuple[int, int]) -> None:
        width, height = resolution
        self.width, self.height = width, height
        self.centers = _directions(lens, resolution, 0.5, width, height)
        """Directions through the pixel centres, row by row, shape (H W, 3); NaN outside the image circle."""
        self._lens, self._corners = lens, np.zeros((0, 3))
        grid = self.centers.reshape(height, width, 3)
        steps = [np.diff(grid, axis=axis) for axis in (0, 1)]
        spans = np.concatenate([np.sqrt((step * step).sum(axis=-1)).ravel() for step in steps])
        spans = spans[np.isfinite(spans)]
        self.cone = float(np.median(spans)) if len(spans) else 1e-3
        """Angle between neighbouring pixels [rad]."""
        rows = max(CHUNK // width, 1)
        # An even number of equal chunks keeps two or four threads busy to the end.
        count = -(-height // rows)
        count = 1 if width * height <= _SMALL else min(count + count % 2, height)
        edges = [height * k // count * width for k in range(count + 1)]
        self.chunks = [RayChunk(a, b - a) for a, b in pairwise(edges)]
        """The rows of the image in nearly equal parts, shared out among threads."""

    @property
    def corners(self) -> Array:
        """Directions through the pixel corners, row by row, shape ((H + 1) (W + 1), 3)."""
        if not len(self._corners):
            resolution = (self.width, self.height)
            self._corners = _directions(self._lens, resolution, 0.0, self.width + 1, self.height + 1)
        return self._corners


class LensRayCache:
    """Rays of the most recently used lenses."""

    def __init__(self) -> None:
        self._rays: dict[Any, LensRays] = {}

    def rays(self, lens: Lens, resolution: tuple[int, int]) -> LensRays:
        """Return the rays of a lens, computed on first use.

        Args:
            lens: The lens.
            resolution: Width and height [pixels].
        """
        key = lens, resolution
        if key not in self._rays:
            if len(self._rays) >= _LENSES:
                self._rays.pop(next(iter(self._rays)))
            self._rays[key] = LensRays(lens, resolution)
        return self._rays[key]


def require_drawable(scene: Scene) -> None:
    """Raise a ConfigError if a scene has no visible geometry."""
    if not any(len(scene.geometries[item.geometry].faces) for item in scene.instances):
        raise ConfigError(
            "holds nothing to draw", file=scene.source, remedy="give it a mesh or a shape that is visible"
        )


def _directions(lens: Lens, resolution: tuple[int, int], shift: float, columns: int, rows: int) -> Array:
    pixels = np.empty((rows, columns, 2))
    pixels[..., 0] = np.arange(columns) + shift
    pixels[..., 1] = (np.arange(rows) + shift)[:, None]
    return np.ascontiguousarray(lens.directions(pixels, resolution).reshape(-1, 3), dtype=np.float64)


def _identity(entity: Entity) -> tuple[str, tuple[tuple[str, str], ...]]:
    return entity.path, tuple(sorted(entity.labels.items()))
