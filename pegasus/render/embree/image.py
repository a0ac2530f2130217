"""Rendering of one image in chunks, shared out among threads."""

import math

import numpy as np
import warp as wp

from pegasus.contracts.renderer import Images, View
from pegasus.render.caches import LensRays, RayChunk
from pegasus.render.embree.geometry_store import device_array
from pegasus.render.embree.lighting import Floats, Lighting
from pegasus.render.embree.ray_kernels import launch_groups, turn_rays
from pegasus.render.embree.tracer import Hits, Rays, Tracer

_CENTER = (-1.0, -1.0)


class ImageTask:
    """Channels of a view.

    Args:
        tracer: Casts the rays.
        lighting: Lights the hits.
        view: The camera.
        lens: Rays of its lens.
        channels: Names from `CHANNELS`.
        samples: Rays per pixel of the radiance.
    """

    def __init__(
        self,
        tracer: Tracer,
        lighting: Lighting,
        view: View,
        lens: LensRays,
        channels: frozenset[str],
        samples: int,
    ) -> None:
        shape = (view.resolution[1], view.resolution[0])
        self.images = Images(
            np.empty((*shape, 3), np.float32) if "radiance" in channels else None,
            np.empty(shape, np.float32) if "distance" in channels else None,
            np.empty((*shape, 3), np.float32) if "normal" in channels else None,
            np.empty(shape, np.int32) if "entity" in channels else None,
            np.empty(shape, np.int32) if "material" in channels else None,
        )
        """Channels, complete when all chunks are rendered."""
        self._tracer, self._lighting, self._lens = tracer, lighting, lens
        self._samples = samples
        self._near, self._far = view.near, view.far
        self._origin = np.array(view.position, dtype=np.float64).reshape(1, 3)
        self._rotation = np.array(view.rotation, dtype=np.float64)
        self._turn = wp.mat33d(*self._rotation.ravel().tolist())
        self._centers = device_array(lens.centers, wp.vec3d)
        self._corners = device_array(lens.corners if samples > 1 else np.zeros((0, 3)), wp.vec3d)

    def draw(self, chunk: RayChunk) -> None:
        """Render some rows."""
        images = self.images
        geometric = any(channel is not None for channel in images[1:])
        lit = images.radiance is not None and self._samples == 1
        if geometric or lit:
            rays = self._rays(chunk, _CENTER)
            hits = self._tracer.trace(
                rays, cone=self._lens.cone, normals=images.normal is not None, shading=lit
            )
            self._keep(chunk, hits)
        if images.radiance is None:
            return
        part = images.radiance.reshape(-1, 3)[chunk.first : chunk.first + chunk.count]
        if lit:
            part[:] = self._light(rays, hits, 0)
            return
        part[:] = 0.0
        cone = self._lens.cone / math.sqrt(self._samples)
        for sample, place in enumerate(_places(self._samples)):
            rays = self._rays(chunk, place)
            hits = self._tracer.trace(rays, cone=cone, shading=True)
            part += self._light(rays, hits, sample)
        part *= np.float32(1.0 / self._samples)

    def _light(self, rays: Rays, hits: Hits, sample: int) -> Floats:
        return self._lighting.radiance(
            self._tracer,
            rays,
            hits,
            cone=self._lens.cone / math.sqrt(self._samples),
            sample=sample,
            samples=self._samples,
        )

    def _keep(self, chunk: RayChunk, hits: Hits) -> None:
        """Write the geometric channels."""
        images, rows = self.images, slice(chunk.first, chunk.first + chunk.count)
        if images.distance is not None:
            images.distance.reshape(-1)[rows] = hits.distance
        if images.normal is not None:
            images.normal.reshape(-1, 3)[rows] = hits.normal
        if images.entity is not None:
            images.entity.reshape(-1)[rows] = hits.entity
        if images.material is not None:
            images.material.reshape(-1)[rows] = hits.material

    def _rays(self, chunk: RayChunk, place: tuple[float, float]) -> Rays:
        """Return rays through a point of each pixel, from 0 to 1 along and down; or through its centre."""
        directions = np.empty((chunk.count, 3))
        launch_groups(
            turn_rays,
            chunk.count,
            [
                self._centers,
                self._corners,
                chunk.first,
                self._lens.width,
                *place,
                self._turn,
                device_array(directions, wp.vec3d),
            ],
        )
        return Rays(
            self._origin,
            directions,
            start=self._near,
            end=self._far,
            coherent=True,
            width=self._lens.width,
        )


def _places(count: int) -> list[tuple[float, float]]:
    """Return sample positions in a pixel: a grid for square numbers, else Hammersley points (1960)."""
    side = math.isqrt(count)
    if side * side == count:
        return [((k % side + 0.5) / side, (k // side + 0.5) / side) for k in range(count)]
    return [((k + 0.5) / count, _mirrored_bits(k)) for k in range(count)]


def _mirrored_bits(number: int) -> float:
    value, weight = 0.0, 0.5
    while number:
        value, weight, number = value + weight * (number & 1), weight / 2, number >> 1
    return value
