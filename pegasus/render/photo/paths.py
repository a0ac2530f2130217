"""Radiance of a view by path tracing, and its denoising."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.contracts.renderer import View
from pegasus.render.caches import LensRays
from pegasus.render.photo.hits import Hits, Place
from pegasus.render.photo.integrator import PathIntegrator, Visibility
from pegasus.render.photo.materials import uploaded
from pegasus.render.photo.scenes import PhotoScenes
from pegasus.render.photo.shapes import ShapeStore
from pegasus.render.photo.surfaces import Surfaces

Floats = npt.NDArray[np.float32]

# Paths in flight at once; each takes some 200 bytes. Those of a photo of 640x480 fit.
_PATHS = 5 << 20


class Traced(NamedTuple):
    """Noisy image and its guides."""

    radiance: Floats
    """Linear light, shape (H, W, 3)."""
    albedo: Floats
    """Diffuse reflectance of visible surfaces, shape (H, W, 3)."""
    normal: Floats
    """Shading normals of visible surfaces, shape (H, W, 3)."""


class PathTracer:
    """Path tracer of views.

    Args:
        mitsuba: The module mitsuba, its variant set.
        drjit: The module drjit.
    """

    def __init__(self, mitsuba: Any, drjit: Any) -> None:
        self._mi, self._dr = mitsuba, drjit

    def clear(self) -> None:
        """Discard the scene and all materials."""
        self._surfaces = Surfaces(self._mi, self._dr)
        self._integrator: PathIntegrator | None = None

    def update(self, scenes: PhotoScenes, places: Sequence[Place], hits: Hits, store: ShapeStore) -> None:
        """Update to the present shapes and materials.

        Args:
            scenes: World and moving objects.
            places: Their shapes, in the order of the scenes.
            hits: Numbering of the shapes.
            store: Meshes and materials of the shapes.
        """
        surfaces, scene = self._surfaces, scenes.world
        surfaces.materials.update(store.materials)
        surfaces.update(places, hits, store.tables())
        sky = scene.environment()
        weighs = surfaces.has_lamps or (sky is not None and sky.sampling_weight() > 0.0)
        visibility = Visibility(self._mi, self._dr, scenes, hits, surfaces)
        self._integrator = PathIntegrator(self._mi, self._dr, scene, surfaces, visibility, weighs=weighs)

    def move(self, places: Sequence[Place]) -> None:
        """Update the poses.

        Args:
            places: The same places, their transforms changed.
        """
        self._surfaces.move(places)

    def trace(self, view: View, rays: LensRays, samples: int, *, seed: int) -> Traced:
        """Return the noisy image of a view."""
        image = self._means(view, rays, samples, seed)
        return Traced(
            np.ascontiguousarray(np.nan_to_num(image[..., :3], posinf=0.0), np.float32),
            np.ascontiguousarray(np.clip(np.nan_to_num(image[..., 3:6]), 0.0, 1.0), np.float32),
            np.ascontiguousarray(np.nan_to_num(image[..., 6:]), np.float32),
        )

    def _means(self, view: View, rays: LensRays, samples: int, seed: int) -> Floats:
        """Return sample means of each pixel, shape (H, W, 9)."""
        mi, dr = self._mi, self._dr
        assert self._integrator is not None
        width, height = view.resolution
        image = np.zeros((height, width, 9), np.float32)
        corners = uploaded(mi.Float, _corners(view, rays).astype(np.float32))
        parts = -(-height // max(1, _PATHS // (width * samples)))
        step = -(-height // parts)
        for row in range(0, height, step):
            count = min(step, height - row) * width
            index = dr.arange(mi.UInt32, count * samples)
            drawn = dr.opaque(mi.UInt32, (seed + row) & 0xFFFFFFFF)
            states = mi.sample_tea_32(index, drawn)
            random = mi.PCG32(initstate=mi.UInt64(states[0]), initseq=mi.UInt64(states[1]))
            # Numbers that differ from image to image must not become part of the compiled code.
            across, first = (dr.opaque(mi.UInt32, number) for number in (width, row * width))
            pixel = first + index // dr.opaque(mi.UInt32, samples)
            direction = self._directions(corners, pixel, across, random)
            seen = dr.isfinite(direction.x)
            direction = dr.select(seen, direction, mi.Vector3f(0.0, 0.0, 1.0))
            origin = mi.Point3f(*(dr.opaque(mi.Float, float(part)) for part in view.position))
            ray = mi.Ray3f(origin + dr.opaque(mi.Float, view.near) * direction, direction)
            ray.maxt = dr.opaque(mi.Float, view.far - view.near)
            dr.eval(index, ray, seen)
            found = self._integrator.follow(ray, index, drawn + 1, seen)
            means = [
                dr.block_sum(dr.select(seen & dr.isfinite(value), value, 0.0), samples)
                for part in found
                for value in part
            ]
            dr.eval(means)
            part = np.stack([np.array(value) for value in means], axis=-1) / np.float32(samples)
            image[row : row + step] = part.reshape(-1, width, 9)
        return image

    def _directions(self, corners: Any, pixel: Any, across: Any, random: Any) -> Any:
        """Return directions through random positions in pixels."""
        mi, dr = self._mi, self._dr
        corner = pixel + pixel // across
        x, y = random.next_float32(), random.next_float32()
        edges = [
            dr.lerp(dr.gather(mi.Vector3f, corners, first), dr.gather(mi.Vector3f, corners, first + 1), x)
            for first in (corner, corner + across + 1)
        ]
        return dr.normalize(dr.lerp(edges[0], edges[1], y))


class Denoiser:
    """Denoiser of images, by Intel's Open Image Denoise.

    Raises:
        ConfigError: If the package for it is not installed.
    """

    def __init__(self) -> None:
        try:
            import pyoidn
        except ImportError:
            raise ConfigError(
                "needs the package pyoidn, which is not installed",
                field="renderer",
                value="mitsuba",
                remedy="pip install pegasus-multirotor[photo]",
            ) from None
        self._oidn: Any = pyoidn

    def denoised(self, radiance: Floats, albedo: Floats, normal: Floats) -> Floats:
        """Return the denoised image, shape (H, W, 3).

        Args:
            radiance: Linear light, shape (H, W, 3).
            albedo: Reflectance of visible surfaces, 0 to 1, shape (H, W, 3).
            normal: Their unit normals, zero without a hit, shape (H, W, 3).
        """
        # OIDN expects values of about one.
        scale = np.float32(1.0 / max(float(radiance.mean()), 1e-20))
        clean: Floats = self._oidn.denoise(radiance * scale, albedo=albedo, normal=normal, hdr=True)
        return np.asarray(np.maximum(clean, 0.0) / scale, dtype=np.float32)


def _corners(view: View, rays: LensRays) -> Array:
    """Return the directions through the corners of the pixels in the world, shape ((H + 1) (W + 1), 3)."""
    return np.asarray(rays.corners @ np.asarray(view.rotation, dtype=np.float64).T)
