"""Lighting of surface points: shadows, sky, reflections and transparency."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from pegasus.base.arrays import Array
from pegasus.render.embree import lamp_choice, lamp_kernels, shadow_kernels
from pegasus.render.embree import light_kernels as kernels
from pegasus.render.embree.geometry_store import device_array
from pegasus.render.embree.lamp_choice import Volume, sky_light
from pegasus.render.embree.lamp_ranking import lamp_columns, padded
from pegasus.render.embree.surface_tables import empty_rows
from pegasus.render.embree.tracer import Hits, Rays, Tracer
from pegasus.render.sky import EMISSION, sky_harmonics, sky_image, sun_direction
from pegasus.scene.scene import Light

Floats = npt.NDArray[np.float32]

_DISTANT, _BALL, _FLAT = 0, 1, 2
_LAYERS = 4
_PLACES = 512
_CLEAR = 0.998


class Lighting:
    """Lights of a scene.

    Args:
        lights: Suns, lamps and domes.

    Raises:
        ConfigError: If an image of a dome cannot be read.
    """

    def __init__(self, lights: Sequence[Light]) -> None:
        sky = sky_image(lights)
        middle = _lamp_middle(lights)
        rows = _lamp_rows(lights, middle)
        self.middle = middle
        """Origin of lamps and probes [m], shape (3,)."""
        self._lamps = device_array(rows, lamp_kernels.Lamp)
        self._slots = min(len(rows), lamp_choice.RANKS)
        self._lights: Any = lamp_choice.Lights()
        self._lights.lamps = self._lamps
        self._lights.columns = _matrix(lamp_columns(rows), wp.float32)
        self._lights.middle = wp.vec3d(*middle.tolist())
        self._lights.sky = sky_light(sky, sky_harmonics(sky).astype(np.float32), EMISSION)
        self.volume = _no_volume()

    @property
    def volume(self) -> Any:
        """Precomputed light; unoccluded sky and lamps without one."""
        return self._lights.volume

    @volume.setter
    def volume(self, volume: Any) -> None:
        self._lights.volume = volume

    def radiance(
        self,
        tracer: Tracer,
        rays: Rays,
        hits: Hits,
        *,
        cone: float,
        sample: int = 0,
        samples: int = 1,
        layer: int = 0,
        discs: bool = True,
    ) -> Floats:
        """Return the radiance along rays, shape (K, 3).

        Args:
            tracer: Casts the rays.
            rays: The rays.
            hits: Their hits.
            cone: Angle between neighbouring rays [rad].
            sample: Index of the sample of each pixel.
            samples: Number of samples per pixel.
            layer: Number of transparent surfaces passed before.
            discs: Whether rays see the discs of suns.
        """
        count = rays.count
        lit = _lit(rays, hits)
        choice = self._choose(tracer, rays, lit)
        visible = self._visible(tracer, rays, hits, choice, cone, _spread(sample, samples))
        radiance = np.empty((count, 3), np.float32)
        inputs = [
            tracer.tables,
            self._lights,
            *lit,
            choice,
            _matrix(visible, wp.float32),
            int(discs),
            device_array(radiance, wp.vec3f),
        ]
        wp.launch(kernels.light_surface, _tasks(count), inputs=inputs, device="cpu")
        if tracer.blends and layer < _LAYERS:
            rows = np.flatnonzero((hits.material >= 0) & (hits.opacity < _CLEAR))
            if len(rows):
                inner = tracer.behind(rays, hits, rows)[0]
                found = tracer.trace(inner, cone=cone, shading=True)
                behind = self.radiance(
                    tracer,
                    inner,
                    found,
                    cone=cone,
                    sample=sample,
                    samples=samples,
                    layer=layer + 1,
                    discs=discs,
                )
                radiance[rows] += (1.0 - hits.opacity[rows, None]) * behind
        return radiance

    def _choose(self, tracer: Tracer, rays: Rays, lit: list[object]) -> Any:
        """Return the lamps chosen for each point, with all other light."""
        count = rays.count
        choice: Any = lamp_choice.Choice()
        choice.lamps = _matrix(np.empty((count, self._slots), np.int32), wp.int32)
        choice.rest = device_array(np.empty((count, 3), np.float32), wp.vec3f)
        choice.around = device_array(np.empty((count, 4), np.float32), wp.vec4f)
        choice.reach = device_array(np.empty(count, np.float32), wp.float32)
        # Only the rays of an image have neighbours in other rows.
        width = rays.width or count
        inputs = [tracer.tables.materials, self._lights, width, *lit, choice]
        wp.launch(lamp_choice.choose_lamps, 1, inputs=inputs, device="cpu")
        return choice

    def _visible(
        self, tracer: Tracer, rays: Rays, hits: Hits, choice: Any, cone: float, spread: wp.vec4f
    ) -> Floats:
        """Return the visible part of the chosen lamps at each point, shape (K, slots)."""
        count = rays.count
        visible = np.zeros((count, self._slots), np.float32)
        if not self._slots:
            return visible
        marks, picks = np.empty(count, np.uint8), np.empty(count * self._slots, np.int32)
        counts = np.empty(self._lamps.shape[0] + 1, np.int32)
        tables = [
            _matrix(visible, wp.float32),
            device_array(marks, wp.uint8),
            device_array(counts, wp.int32),
            device_array(picks, wp.int32),
        ]
        for others in (0, 1) if rays.width else (0,):
            inputs = [tracer.tables.materials, choice, hits.surface, cone, rays.width, others, *tables]
            wp.launch(shadow_kernels.select_rays, 1, inputs=inputs, device="cpu")
            self._cast_shadows(tracer, rays, hits, choice, picks[: counts[-1]], visible, spread)
        return visible

    def _cast_shadows(
        self,
        tracer: Tracer,
        rays: Rays,
        hits: Hits,
        choice: Any,
        picks: npt.NDArray[np.int32],
        visible: Floats,
        spread: wp.vec4f,
    ) -> None:
        """Compute the visibility of some lamps; `picks` are indices of `visible`."""
        count = len(picks)
        if not count:
            return
        origins, directions, reach = np.empty((count, 3)), np.empty((count, 3)), np.empty(count, np.float32)
        wp.launch(
            shadow_kernels.leave_for_lamps,
            _tasks(count),
            inputs=[
                self._lights,
                choice,
                device_array(picks, wp.int32),
                *_lit(rays, hits),
                spread,
                device_array(origins, wp.vec3d),
                device_array(directions, wp.vec3d),
                device_array(reach, wp.float32),
            ],
            device="cpu",
        )
        visible.ravel()[picks] = tracer.transmit(Rays(origins, directions, reach=reach, coherent=True))

    def seen_from(
        self,
        tracer: Tracer,
        places: Array,
        run: Callable[[Callable[[int], None], Iterable[int]], Iterable[None]],
    ) -> npt.NDArray[np.uint8]:
        """Return the visible part of each lamp at places, of 255, shape (K, L).

        Args:
            tracer: Casts the rays.
            places: Points in the world [m], shape (K, 3).
            run: Calls a function for each of several numbers, on several threads.
        """
        number = self._lamps.shape[0]
        seen = np.zeros((len(places), number), np.uint8)

        def look(first: int) -> None:
            part = np.ascontiguousarray(places[first : first + _PLACES])
            count = len(part) * number
            origins, directions = np.empty((count, 3)), np.empty((count, 3))
            reach = np.empty(count, np.float32)
            inputs = [
                self._lamps,
                self._lights.middle,
                device_array(part, wp.vec3d),
                device_array(origins, wp.vec3d),
                device_array(directions, wp.vec3d),
                device_array(reach, wp.float32),
            ]
            wp.launch(lamp_kernels.leave_probes, count, inputs=inputs, device="cpu")
            light = tracer.transmit(Rays(origins, directions, reach=reach))
            seen[first : first + _PLACES] = np.round(255 * light.reshape(-1, number))

        if number:
            list(run(look, range(0, len(places), _PLACES)))
        return seen

    @staticmethod
    def fill(volume: Any, *, light: Any, openness: Any, reach: Any, lamps: Any) -> None:
        """Set the tables of a volume, with a row for each probe."""
        both = np.concatenate([light, openness[..., None]], axis=-1)
        volume.light = wp.array(both, dtype=wp.vec4f, ndim=2, device="cpu")
        volume.reach = _matrix(reach, wp.float32)
        more = padded(lamps.shape[1]) - lamps.shape[1]
        volume.lamps = _matrix(np.pad(lamps, ((0, 0), (0, more))), wp.uint8)


def _lit(rays: Rays, hits: Hits) -> list[object]:
    """Return surface points as arguments of kernels."""
    return [rays.device_origins, rays.step, rays.device_directions, hits.surface]


def _tasks(count: int) -> int:
    """Return the number of tasks for a number of points."""
    span: int = lamp_choice.SPAN
    return -(-count // span)


def _no_volume() -> Any:
    volume: Any = Volume()
    none = np.zeros((0, 6), np.float32)
    Lighting.fill(
        volume, light=np.zeros((0, 6, 3), np.float32), openness=none, reach=none, lamps=none.astype(np.uint8)
    )
    return volume


def _spread(sample: int, samples: int) -> wp.vec4f:
    """Return one of several points spread over a disc (Vogel 1979), and over a square from -1 to 1.

    The points of the square are those of Roberts (2018); with one sample both are the middle.
    """
    if samples == 1:
        return wp.vec4f(0.0, 0.0, 0.0, 0.0)
    radius, angle = np.sqrt((sample + 0.5) / samples), sample * 2.39996323
    across, down = (2.0 * ((0.5 + (sample + 1) * step) % 1.0) - 1.0 for step in (0.75487767, 0.56984029))
    return wp.vec4f(float(radius * np.cos(angle)), float(radius * np.sin(angle)), across, down)


def _matrix(values: npt.NDArray[np.generic], kind: object) -> object:
    return wp.array(values, dtype=kind, ndim=2, device="cpu", copy=False)


def _lamp_middle(lights: Sequence[Light]) -> Array:
    """Return the centroid of all lamps [m], shape (3,); the origin without lamps."""
    places = [light.transform[:3, 3] for light in lights if light.kind not in ("DistantLight", "DomeLight")]
    return np.asarray(np.mean(places, axis=0) if places else np.zeros(3), dtype=np.float64)


def _lamp_rows(lights: Sequence[Light], middle: Array) -> Any:
    """Return suns and lamps as a structured array, shape (L,); domes are excluded.

    The colour of a distant light is its irradiance at normal incidence, that of a lamp its radiance, or its
    total power if normalized (times 1 / m^2).
    """
    rows = [_row(light, middle) for light in lights if light.kind != "DomeLight" and max(light.color) > 0]
    return np.concatenate(rows) if rows else empty_rows(lamp_kernels.Lamp, 0)


def _row(light: Light, middle: Array) -> Any:
    row: Any = empty_rows(lamp_kernels.Lamp, 1)
    row["cone"] = _cone(light)
    color = np.array(light.color)
    if light.kind == "DistantLight":
        radius = np.radians(light.parameters.get("angle", 0.53)) / 2
        row["kind"], row["axis"], row["strength"] = _DISTANT, sun_direction(light), color
        row["radius"], row["half_extent"] = np.sin(radius), np.sin(radius) / 2
        # Radiance of the disc for each unit of irradiance.
        row["softness"] = 1.0 / (np.pi * np.sin(radius) ** 2) if radius > 1e-6 else 0.0
        return row
    matrix = np.asarray(light.transform, dtype=np.float64)
    x, y, z = (float(np.sqrt(matrix[:3, k] @ matrix[:3, k])) for k in range(3))
    row["position"] = matrix[:3, 3] - middle
    normalized = bool(light.parameters.get("normalize", 0.0))
    radius = light.parameters.get("radius", 0.5)
    if light.kind in ("RectLight", "DiskLight"):
        area, half = np.pi * radius**2 * x * y, (radius, radius)
        if light.kind == "RectLight":
            half = light.parameters.get("width", 1.0) / 2, light.parameters.get("height", 1.0) / 2
            area = 4 * half[0] * x * half[1] * y
        row["across"], row["down"] = matrix[:3, 0] * half[0], matrix[:3, 1] * half[1]
        row["round"] = light.kind == "DiskLight"
        row["kind"], row["axis"] = _FLAT, -matrix[:3, 2] / max(z, 1e-300)
        row["strength"] = color if normalized else color * area
        row["softness"], row["half_extent"] = area / np.pi, np.sqrt(area / np.pi) / 2
        return row
    radius *= x
    across, surface = np.pi * radius**2, 4 * np.pi * radius**2
    if light.kind == "CylinderLight":
        # Projected area from the side; the caps do not emit.
        row["across"] = matrix[:3, 0] * light.parameters.get("length", 1.0) / 2
        length = light.parameters.get("length", 1.0) * x
        across, surface = 2 * radius * length, 2 * np.pi * radius * length
    row["axis"] = -matrix[:3, 2] / max(z, 1e-300)
    row["kind"], row["radius"], row["half_extent"] = _BALL, radius, np.sqrt(across / np.pi) / 2
    row["strength"] = color * across / (max(surface, 1e-12) if normalized else 1.0)
    return row


def _cone(light: Light) -> tuple[float, float]:
    """Return slope and offset of a cone; see `Lamp`."""
    if light.kind == "DistantLight" or "cone_angle" not in light.parameters:
        return 0.0, 1.0
    edge = np.radians(min(light.parameters["cone_angle"], 180.0))
    whole = edge * (1.0 - min(max(light.parameters.get("cone_softness", 0.0), 0.0), 1.0))
    slope = 1.0 / max(np.cos(whole) - np.cos(edge), 1e-4)
    return slope, -slope * float(np.cos(edge))
