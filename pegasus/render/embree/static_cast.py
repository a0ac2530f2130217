"""Casts of many rays into a scene without moving objects, in one pass from rays to returns."""

import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.base.arrays import Array
from pegasus.core.renderer import Returns
from pegasus.render.embree.packet_kernels import LANES
from pegasus.render.embree.return_kernels import SCRATCH_BYTES, find_returns
from pegasus.render.embree.tracer import Tracer

_BLOCK = 256
"""Least number of rays of one row of a launch: Warp copies all arguments for each row."""


class StaticCast:
    """Cast of K rays into a scene without moving objects, in parts.

    Args:
        tracer: The scene.
        origins: Origins [m], float64, contiguous, shape (K, 3), or fewer, each of several neighbours.
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
        self.returns = Returns(
            np.empty(count), np.empty((count, 3)), np.empty(count, np.int32), np.empty(count, np.int32)
        )
        """Hits of the parts that were cast."""
        tiled = width if width % tile == 0 else 0
        rows = LANES * (tiled or 1)
        self.block = -(-_BLOCK // rows) * rows
        """Rays of one row of a launch; parts are whole blocks."""
        self._count, self._kept = count, (origins, directions)
        self._inputs = [
            tracer.tables,
            *world.embree.intersector(coherent=width > 0),
            tiled,
            tile,
            self.block,
            count // max(len(origins), 1),
            _address(origins),
            _address(directions),
            wp.vec3d(*world.center),
            max_range,
            *(_address(values) for values in self.returns),
        ]

    def cast(self, first: int, count: int) -> None:
        """Cast a part of the rays.

        Args:
            first: Index of the first ray, a multiple of `block`.
            count: Number of rays.
        """
        scratch = np.empty(self.block * SCRATCH_BYTES, np.uint8)
        last = min(first + count, self._count)
        inputs = [*self._inputs, _address(scratch), first, last]
        wp.launch(find_returns, -(-(last - first) // self.block), inputs=inputs, device="cpu")


def _address(values: npt.NDArray[np.generic]) -> int:
    address: int = values.__array_interface__["data"][0]
    return address
