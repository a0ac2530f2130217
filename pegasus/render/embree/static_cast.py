"""Casts of many rays into a scene without moving objects, in one pass from rays to returns."""

import numpy as np
import warp as wp

from pegasus.base.arrays import Array
from pegasus.core.renderer import Returns
from pegasus.render.embree.geometry_store import device_array
from pegasus.render.embree.packet_kernels import LANES
from pegasus.render.embree.return_kernels import find_returns
from pegasus.render.embree.tracer import Tracer, empty_hits

_BLOCK = 256
"""Least number of rays of one row of a launch: Warp copies all arguments for each row."""


class StaticCast:
    """Cast of K rays into a scene without moving objects, in parts.

    Args:
        tracer: The scene.
        origins: Origins [m], float64, contiguous, shape (K, 3).
        directions: Unit directions, float64, contiguous, shape (K, 3).
        max_range: Maximum range [m].
        width: See `pegasus.render.embree.tracer.Rays`.
        tile: See `pegasus.render.embree.tracer.Rays`.
    """

    def __init__(
        self,
        tracer: Tracer,
        origins: Array,
        directions: Array,
        max_range: float,
        *,
        width: int,
        tile: int,
    ) -> None:
        world = tracer.world
        assert world.embree is not None
        count = len(directions)
        hits = empty_hits(count, normals=True, textured=False)
        self.returns = Returns(hits.distance, np.empty((count, 3)), hits.entity, hits.material)
        """Hits of the parts that were cast."""
        tiled = width if width % tile == 0 else 0
        rows = LANES * (tiled or 1)
        self.block = -(-_BLOCK // rows) * rows
        """Rays of one row of a launch; parts are whole blocks."""
        short = [np.empty((count, 3), np.float32) for _ in range(2)]
        found = np.empty(count, np.float32), np.empty(count, np.int32), *np.empty((2, count), np.float32)
        self._kept = origins, directions, hits, short, found
        self._inputs = [
            tracer.tables,
            *world.embree.intersector(coherent=width > 0),
            tiled,
            tile,
            self.block,
            device_array(origins, wp.vec3d),
            device_array(directions, wp.vec3d),
            wp.vec3d(*world.center),
            max_range,
            *(device_array(values, wp.vec3f) for values in short),
            device_array(found[0], wp.float32),
            device_array(found[1], wp.int32),
            device_array(found[2], wp.float32),
            device_array(found[3], wp.float32),
            device_array(np.zeros(0, np.float32), wp.float32),
            device_array(np.zeros(0, np.int32), wp.int32),
            hits.surface,
            device_array(self.returns.normal, wp.vec3d),
        ]

    def cast(self, first: int, count: int) -> None:
        """Cast a part of the rays.

        Args:
            first: Index of the first ray, a multiple of `block`.
            count: Number of rays.
        """
        blocks = -(-count // self.block)
        wp.launch(find_returns, blocks, inputs=[*self._inputs, first], device="cpu")
