"""Light on surface points: shadows, the sky, reflections, and what shines through glass."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.render import lamp_kernels
from pegasus.render import light_kernels as kernels
from pegasus.render.geometry_store import device_array
from pegasus.render.lamps import lamp_middle, lamp_rows
from pegasus.render.reflection import sky_light
from pegasus.render.sky import sky_harmonics, sky_image
from pegasus.render.tracer import Hits, Rays, Tracer
from pegasus.scene.scene import Light

Floats = npt.NDArray[np.float32]

EMISSION = 1000.0
"""Radiance of an emissive colour of 1, which USD gives no unit; a dome of 1000 is bright day."""

_LAYERS = 4
_CLEAR = 0.998


class Lighting:
    """The lights of a scene.

    Args:
        lights: Suns, lamps and domes.

    Raises:
        ConfigError: If an image of a dome cannot be read.
    """

    def __init__(self, lights: Sequence[Light]) -> None:
        sky = sky_image(lights)
        middle = lamp_middle(lights)
        rows = lamp_rows(lights, middle)
        self._middle = wp.vec3d(*middle.tolist())
        self._lamps = device_array(rows, lamp_kernels.Lamp)
        self._slots = min(len(rows), lamp_kernels.RANKS)
        self._sky = sky_light(sky, sky_harmonics(sky).astype(np.float32), EMISSION)

    def radiance(
        self,
        tracer: Tracer,
        rays: Rays,
        hits: Hits,
        *,
        cone: float,
        pixels: tuple[int, int] = (0, 1),
        sample: int = 0,
        samples: int = 1,
        occlusion: tuple[int, float] = (0, 1.0),
        layer: int = 0,
    ) -> Floats:
        """Return the light that comes along rays, shape (K, 3).

        Args:
            tracer: Casts the rays.
            rays: The rays.
            hits: What they meet.
            cone: Angle between neighbouring rays [rad].
            pixels: Number of the first ray's pixel, and the width of the image.
            sample: Which sample of each pixel this is.
            samples: How many there are.
            occlusion: Number of rays to the sky from each point, and their length [m].
            layer: How many transparent surfaces lie before.
        """
        count = rays.count
        chosen = np.empty((count, self._slots), np.int32)
        lit = [rays.device_origins, rays.step, rays.device_directions, hits.surface]
        visible = np.zeros((count, self._slots), np.float32)
        asked = np.zeros((count, self._slots), np.int32)
        rest = np.zeros((count, 3), np.float32)
        if self._slots:
            inputs = [
                self._lamps,
                self._middle,
                *lit,
                _matrix(chosen, wp.int32),
                device_array(rest, wp.vec3f),
            ]
            wp.launch(lamp_kernels.choose_lamps, -(-count // lamp_kernels.GROUP), inputs=inputs, device="cpu")
            # Only rows of an image are neighbours.
            inputs = [_matrix(chosen, wp.int32), hits.surface, rays.width or 1, _matrix(asked, wp.int32)]
            wp.launch(lamp_kernels.share_shadows, count, inputs=inputs, device="cpu")
            self._cast_shadows(tracer, lit, chosen, asked, visible, _disc(sample, samples))
        openness = self._openness(tracer, lit, hits, pixels, sample, occlusion)
        radiance = np.empty((count, 3), np.float32)
        wp.launch(
            kernels.light_surface,
            count,
            inputs=[
                tracer.tables,
                self._sky,
                self._lamps,
                self._middle,
                *lit,
                _matrix(chosen, wp.int32),
                _matrix(asked, wp.int32),
                _matrix(visible, wp.float32),
                device_array(rest, wp.vec3f),
                device_array(openness, wp.float32),
                device_array(radiance, wp.vec3f),
            ],
            device="cpu",
        )
        if tracer.blends and layer < _LAYERS:
            rows = np.flatnonzero((hits.material >= 0) & (hits.opacity < _CLEAR))
            if len(rows):
                inner = tracer.behind(rays, hits, rows)[0]
                found = tracer.trace(inner, cone=cone, shading=True)
                behind = self.radiance(
                    tracer, inner, found, cone=cone, sample=sample, samples=samples, layer=layer + 1
                )
                radiance[rows] += (1.0 - hits.opacity[rows, None]) * behind
        return radiance

    def _cast_shadows(
        self,
        tracer: Tracer,
        lit: list[object],
        chosen: npt.NDArray[np.int32],
        asked: npt.NDArray[np.int32],
        visible: Floats,
        jitter: wp.vec2f,
    ) -> None:
        """Fill in how much of the lamps that it asks for each point sees."""
        picks = np.flatnonzero(asked)
        if not len(picks):
            return
        # Neighbours that look at the same lamp are cast together.
        picks = picks[np.argsort(chosen.ravel()[picks].astype(np.int16), kind="stable")]
        count = len(picks)
        origins, directions, reach = np.empty((count, 3)), np.empty((count, 3)), np.empty(count, np.float32)
        wp.launch(
            lamp_kernels.leave_for_lamps,
            count,
            inputs=[
                self._lamps,
                self._middle,
                device_array(picks.astype(np.int32), wp.int32),
                self._slots,
                _matrix(chosen, wp.int32),
                *lit,
                jitter,
                device_array(origins, wp.vec3d),
                device_array(directions, wp.vec3d),
                device_array(reach, wp.float32),
            ],
            device="cpu",
        )
        visible.ravel()[picks] = tracer.transmit(Rays(origins, directions, reach=reach, coherent=True))

    def _openness(
        self,
        tracer: Tracer,
        lit: list[object],
        hits: Hits,
        pixels: tuple[int, int],
        sample: int,
        occlusion: tuple[int, float],
    ) -> Floats:
        """Return how much of the sky each point sees; one row for all where no rays are cast."""
        number, reach = occlusion
        rows = np.flatnonzero(hits.material >= 0) if number else np.zeros(0, np.int64)
        if not len(rows):
            return np.ones(1, np.float32)
        count = len(rows) * number
        origins, directions, limits = np.empty((count, 3)), np.empty((count, 3)), np.empty(count, np.float32)
        wp.launch(
            kernels.leave_for_sky,
            count,
            inputs=[
                device_array(rows.astype(np.int32), wp.int32),
                number,
                *pixels,
                sample,
                *lit,
                reach,
                device_array(origins, wp.vec3d),
                device_array(directions, wp.vec3d),
                device_array(limits, wp.float32),
            ],
            device="cpu",
        )
        seen = tracer.transmit(Rays(origins, directions, reach=limits))
        openness = np.ones(len(hits.material), np.float32)
        openness[rows] = seen.reshape(-1, number).mean(axis=1)
        return openness


def _disc(sample: int, samples: int) -> wp.vec2f:
    """Return one of a number of places spread over a disc (Vogel 1979); its middle if it is the only one."""
    if samples == 1:
        return wp.vec2f(0.0, 0.0)
    radius, angle = np.sqrt((sample + 0.5) / samples), sample * 2.39996323
    return wp.vec2f(float(radius * np.cos(angle)), float(radius * np.sin(angle)))


def _matrix(values: npt.NDArray[np.generic], kind: object) -> object:
    return wp.array(values, dtype=kind, ndim=2, device="cpu", copy=False)
