"""Casts of many rays into a scene without moving objects, in one pass from rays to hits."""

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.base.arrays import Array
from pegasus.contracts.renderer import Returns
from pegasus.render.embree.geometry_store import Prototype
from pegasus.render.embree.packet_kernels import LANES
from pegasus.render.embree.return_kernels import SCRATCH_BYTES, find_returns

_BLOCK = 256
"""Least number of rays of one row of a launch: Warp copies all arguments for each row."""


class StaticCast:
    """Cast of K rays into a scene without moving objects, in parts.

    Args:
        tables: Kernel tables of triangles and materials.
        world: The scene.
        origins: Origins [m], float64, contiguous, shape (K, 3), or fewer, each of several neighbours.
        directions: Unit directions, float64, contiguous, shape (K, 3); a NaN direction hits nothing.
        start: Minimum distance of hits [m].
        end: Maximum distance of hits [m].
        cone: Angle between neighbouring rays [rad].
        coherent: Whether neighbouring rays are nearly parallel.
        width: See `pegasus.render.embree.tracer.Rays`.
        tile: See `pegasus.render.embree.tracer.Rays`.
        normals: Whether to compute normals.
    """

    def __init__(
        self,
        tables: Any,
        world: Prototype,
        origins: Array,
        directions: Array,
        *,
        start: float = 0.0,
        end: float,
        cone: float = 0.0,
        coherent: bool,
        width: int,
        tile: int,
        normals: bool = True,
    ) -> None:
        assert world.embree is not None
        count = len(directions)
        self.returns = Returns(
            np.empty(count),
            np.empty((count if normals else 0, 3)),
            np.empty(count, np.int32),
            np.empty(count, np.int32),
        )
        """Hits of the parts that were cast; normals have the shape (0, 3) if not computed."""
        tiled = width if width % tile == 0 else 0
        rows = LANES // tile * tiled or LANES
        self.block = -(-_BLOCK // rows) * rows
        """Rays of one row of a launch; parts are whole blocks."""
        self._count, self._kept = count, (origins, directions)
        distances, facing, entities, materials = self.returns
        self._inputs = [
            tables,
            *world.embree.intersector(coherent=coherent),
            tiled,
            tile,
            self.block,
            count // max(len(origins), 1),
            _address(origins),
            _address(directions),
            wp.vec3d(*world.center),
            start,
            end - start,
            cone,
            _address(distances),
            _address(facing) if normals else 0,
            _address(entities),
            _address(materials),
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
