"""Radiance of a view by paths of light, and what guides the removal of its noise."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.render.lens_rays import LensRays
from pegasus.render.mitsuba_hits import Hits, Place, is_clear
from pegasus.render.mitsuba_integrator import DEPTH, PathIntegrator
from pegasus.render.mitsuba_shapes import ShapeStore
from pegasus.render.mitsuba_surfaces import Surfaces
from pegasus.render.mitsuba_visibility import Visibility
from pegasus.render.renderer import View

Floats = npt.NDArray[np.float32]

# Paths in flight at once; each takes some 200 bytes.
_PATHS = 1 << 22
_GUIDE_SHARE = 4


class Traced(NamedTuple):
    """A noisy picture and its guides."""

    radiance: Floats
    """Linear light, shape (H, W, 3)."""
    albedo: Floats
    """Diffuse reflectance of what is seen, shape (H, W, 3)."""
    normal: Floats
    """Shading normals of what is seen, shape (H, W, 3)."""


class PathTracer:
    """Traces paths of light.

    Args:
        mitsuba: The module, its variant set.
        drjit: The module drjit.
    """

    def __init__(self, mitsuba: Any, drjit: Any) -> None:
        self._mi, self._dr = mitsuba, drjit
        self._vectorized = mitsuba.variant().startswith("llvm")

    def load(self) -> None:
        """Forget all materials."""
        if self._vectorized:
            self._surfaces = Surfaces(self._mi, self._dr)

    def update(self, scene: Any, places: Sequence[Place], hits: Hits, store: ShapeStore) -> None:
        """Take over what there is now.

        Args:
            scene: What is seen.
            places: Its shapes, in the order of the scene.
            hits: How they are numbered.
            store: What they are made of.
        """
        self._scene = scene
        if self._vectorized:
            surfaces = self._surfaces
            surfaces.materials.update(store.materials)
            surfaces.update(places, hits, store.tables())
            weighs = surfaces.has_lamps or samples_sky(scene)
            visibility = Visibility(self._mi, self._dr, scene, hits, surfaces)
            self._integrator = PathIntegrator(self._mi, self._dr, scene, surfaces, visibility, weighs=weighs)
            return
        clear = any(is_clear(material) for material in store.materials)
        # Only volpath lets light through what is cut out.
        kind = "volpath" if clear else "path"
        self._light = self._mi.load_dict({"type": kind, "max_depth": DEPTH, "rr_depth": 1})
        self._guides = self._mi.load_dict({"type": "aov", "aovs": "albedo:albedo,normal:sh_normal"})

    def move(self, places: Sequence[Place]) -> None:
        """Take over where things are now.

        Args:
            places: The same places, their transforms changed.
        """
        if self._vectorized:
            self._surfaces.move(places)

    def trace(self, view: View, rays: LensRays, samples: int, *, seed: int) -> Traced:
        """Return the noisy picture of a view.

        Args:
            view: The camera.
            rays: Rays of its lens.
            samples: Paths for each pixel.
            seed: What the places of samples are drawn from.
        """
        few = max(1, samples // _GUIDE_SHARE)
        if self._vectorized:
            image = self._trace_all(view, rays, samples, seed)
            radiance, guide = image[..., :3], image[..., 3:]
        elif (sensor := self._sensor(view)) is not None:
            render, scene = self._mi.render, self._scene
            light = render(scene, sensor=sensor, integrator=self._light, spp=samples, seed=seed)
            guides = render(scene, sensor=sensor, integrator=self._guides, spp=few, seed=seed)
            radiance, guide = np.array(light)[..., :3], np.array(guides)[..., -6:]
        else:
            radiance = self._trace_each(view, rays, samples, seed, self._light, 3)
            guide = self._trace_each(view, rays, few, seed, self._guides, 6)
        return Traced(
            np.ascontiguousarray(np.nan_to_num(radiance, posinf=0.0), np.float32),
            np.ascontiguousarray(np.clip(np.nan_to_num(guide[..., :3]), 0.0, 1.0), np.float32),
            np.ascontiguousarray(np.nan_to_num(guide[..., 3:]), np.float32),
        )

    def _trace_all(self, view: View, rays: LensRays, samples: int, seed: int) -> Floats:
        """Return means over the samples of each pixel, many rays at once, shape (H, W, 9)."""
        mi, dr = self._mi, self._dr
        width, height = view.resolution
        image = np.zeros((height, width, 9), np.float32)
        corners = mi.Float(_corners(view, rays).astype(np.float32).ravel())
        step = max(1, _PATHS // (width * samples))
        for row in range(0, height, step):
            count = min(step, height - row) * width
            index = dr.arange(mi.UInt32, count * samples)
            drawn = dr.opaque(mi.UInt32, (seed + row) & 0xFFFFFFFF)
            states = mi.sample_tea_32(index, drawn)
            random = mi.PCG32(initstate=mi.UInt64(states[0]), initseq=mi.UInt64(states[1]))
            # Numbers that differ from picture to picture must not become part of the compiled code.
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
        """Return directions through random places in pixels, between those through their corners."""
        mi, dr = self._mi, self._dr
        corner = pixel + pixel // across
        x, y = random.next_float32(), random.next_float32()
        edges = [
            dr.lerp(dr.gather(mi.Vector3f, corners, first), dr.gather(mi.Vector3f, corners, first + 1), x)
            for first in (corner, corner + across + 1)
        ]
        return dr.normalize(dr.lerp(edges[0], edges[1], y))

    def _trace_each(
        self, view: View, rays: LensRays, samples: int, seed: int, integrator: Any, values: int
    ) -> Floats:
        """Return means over the samples of each pixel, one ray after the other, shape (H, W, C)."""
        mi, (width, height) = self._mi, view.resolution
        corners = _corners(view, rays).reshape(height + 1, width + 1, 3)
        places = np.random.default_rng(seed).random((height, width, samples, 2))
        sampler = mi.load_dict({"type": "independent"})
        sampler.seed(seed & 0xFFFFFFFF)
        image = np.zeros((height, width, values), np.float32)
        for row in range(height):
            x, y = places[row, ..., :1], places[row, ..., 1:]
            edges = [corners[row + k, i : i + width, None] for k in (0, 1) for i in (0, 1)]
            directions = (edges[0] * (1 - x) + edges[1] * x) * (1 - y) + (
                edges[2] * (1 - x) + edges[3] * x
            ) * y
            directions /= np.sqrt((directions * directions).sum(axis=-1, keepdims=True))
            origins = view.position + view.near * directions
            for column in np.flatnonzero(np.isfinite(directions[:, :, 0].sum(axis=1))):
                for k in range(samples):
                    ray = mi.RayDifferential3f(origins[column, k].tolist(), directions[column, k].tolist())
                    ray.maxt = view.far - view.near
                    light, _, more = integrator.sample(self._scene, sampler, ray)
                    image[row, column] += light if values == 3 else more
        return image / np.float32(samples)

    def _sensor(self, view: View) -> Any:
        """Return a camera without distortion as Mitsuba's own; None for any other lens."""
        width, height = view.resolution
        matrix = view.lens.matrix(view.resolution)
        focal, middle = matrix[0, 0], matrix[:2, 2]
        if abs(matrix[1, 1] - focal) > 1e-6 * focal or matrix[0, 1]:
            return None
        x, y = np.meshgrid(np.linspace(0, width, 9), np.linspace(0, height, 9))
        pixels = np.stack([x, y], axis=-1)
        straight = np.concatenate([(pixels - middle) / focal, np.ones_like(x)[..., None]], axis=-1)
        straight /= np.sqrt((straight * straight).sum(axis=-1, keepdims=True))
        if not np.allclose(view.lens.directions(pixels, view.resolution), straight, atol=1e-6):
            return None
        pose = np.eye(4)
        # Mitsuba looks along +z with +x to the left.
        pose[:3, :3] = view.rotation @ np.diag([-1.0, -1.0, 1.0])
        pose[:3, 3] = view.position
        return self._mi.load_dict(
            {
                "type": "perspective",
                "fov": float(np.degrees(2.0 * np.arctan(width / 2 / focal))),
                "fov_axis": "x",
                "principal_point_offset_x": float(middle[0] / width - 0.5),
                "principal_point_offset_y": float(middle[1] / height - 0.5),
                "near_clip": max(view.near, 1e-4),
                "far_clip": view.far,
                "to_world": self._mi.ScalarTransform4f(pose),
                "film": {
                    "type": "hdrfilm",
                    "width": width,
                    "height": height,
                    "rfilter": {"type": "box"},
                    "pixel_format": "rgb",
                },
                "sampler": {"type": "independent"},
            }
        )


def samples_sky(scene: Any) -> bool:
    """Return whether the sky is looked for at surfaces, not only met by paths.

    Args:
        scene: A scene.
    """
    sky = scene.environment()
    return sky is not None and sky.sampling_weight() > 0.0


def _corners(view: View, rays: LensRays) -> Array:
    """Return the directions through the corners of the pixels in the world, shape ((H + 1) (W + 1), 3)."""
    return np.asarray(rays.corners @ np.asarray(view.rotation, dtype=np.float64).T)
