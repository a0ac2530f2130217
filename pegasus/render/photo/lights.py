"""Lights of a scene as Mitsuba emitters.

Sky image and strengths are those of the fast renderer, so that exposures agree.
"""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.render.sky import Sky, sky_image, sun_direction
from pegasus.scene.scene import Light

_LOG = logging.getLogger(__name__)

# Sampling weight of all lamps together relative to sun and sky, which have 1 each. By day, lamps contribute
# only to nearby surfaces.
_LAMPS_BY_DAY = 0.4
_SMALLEST = 1e-3
# Ratio of the brightest part of a sky to its mean from which the sky is sampled explicitly at every surface;
# for a more uniform sky, paths that hit it converge equally well.
_PEAK = 50.0


def emitters(mitsuba: Any, lights: Sequence[Light]) -> tuple[list[Any], list[Any]]:
    """Return emitters without a shape, and the shapes of lamps.

    A distant light is a point-like sun, its colour the irradiance at normal incidence. The colour of a lamp
    is its radiance, or its power if normalized.

    Args:
        mitsuba: The module mitsuba, its variant set.
        lights: Lights of the scene.

    Raises:
        ConfigError: If an image of a dome cannot be read.
    """
    distant: list[Any] = []
    sky = sky_image(lights)
    if sky.any():
        even = float(sky.max()) < _PEAK * float(sky.mean())
        alone = all(light.kind == "DomeLight" or max(light.color) <= 0.0 for light in lights)
        distant.append(mitsuba.load_dict(_sky(mitsuba, sky, weight=0.0 if even and not alone else 1.0)))
    for light in lights:
        if light.kind == "DistantLight" and max(light.color) > 0.0:
            direction = (-sun_direction(light)).tolist()
            distant.append(
                mitsuba.load_dict(
                    {
                        "type": "directional",
                        "direction": direction,
                        "irradiance": {"type": "rgb", "value": list(light.color)},
                    }
                )
            )
    lamps = [_Lamp(light) for light in lights if light.kind not in ("DistantLight", "DomeLight")]
    lamps = [lamp for lamp in lamps if lamp.power > 0.0]
    total = sum(lamp.power for lamp in lamps)
    share = _LAMPS_BY_DAY if len(distant) > 1 else 1.0
    shapes = []
    for lamp in lamps:
        weight = share * max(lamp.power / total, 0.1 / len(lamps))
        if lamp.is_spot:
            distant.append(mitsuba.load_dict(lamp.spot(mitsuba, weight=weight)))
        else:
            shapes.append(mitsuba.load_dict(lamp.shape(mitsuba, weight=weight)))
    return distant, shapes


def _sky(mitsuba: Any, sky: Sky, *, weight: float) -> dict[str, Any]:
    # The azimuth of the image's first column is north, as Mitsuba has it once its y axis is turned up.
    turn = mitsuba.ScalarTransform4f().rotate([1.0, 0.0, 0.0], 90.0)
    image = sky if sky.shape[0] > 1 else np.broadcast_to(sky[:1, :1], (2, 4, 3))
    bitmap = mitsuba.Bitmap(np.ascontiguousarray(image, dtype=np.float32))
    return {"type": "envmap", "bitmap": bitmap, "to_world": turn, "sampling_weight": weight}


class _Lamp:
    """Lamp with a surface."""

    def __init__(self, light: Light) -> None:
        self._kind = light.kind
        matrix = np.array(light.transform, dtype=np.float64)
        scale = np.maximum(np.sqrt((matrix[:3, :3] ** 2).sum(axis=0)), 1e-9)
        self._position, self._axes = matrix[:3, 3], matrix[:3, :3] / scale
        radius = max(light.parameters.get("radius", 0.5), _SMALLEST)
        width, height = (light.parameters.get(name, 1.0) for name in ("width", "height"))
        if self._kind == "RectLight":
            self._extent = width * scale[0] / 2, height * scale[1] / 2
            area = 4.0 * self._extent[0] * self._extent[1]
        elif self._kind == "DiskLight":
            self._extent = radius * scale[0], radius * scale[1]
            area = np.pi * self._extent[0] * self._extent[1]
        else:
            length = light.parameters.get("length", 1.0) * scale[0]
            self._extent = radius * scale[0], length
            area = (
                2.0
                * np.pi
                * self._extent[0]
                * (length if self._kind == "CylinderLight" else 2 * self._extent[0])
            )
        area = max(float(area), 1e-12)
        normalized = bool(light.parameters.get("normalize", 0.0))
        self._radiance = [part / area if normalized else part for part in light.color]
        self.power = area * max(self._radiance)
        self._cone = light.parameters.get("cone_angle", 180.0), light.parameters.get("cone_softness", 0.0)
        has_cone = "cone_angle" in light.parameters
        self.is_spot = has_cone and self._kind == "SphereLight"
        """Shines within a cone, from a point."""
        if has_cone and not self.is_spot:
            _LOG.warning(
                "%s: photo mode leaves out the cone of a %s, which Mitsuba has for points only",
                light.path,
                self._kind,
            )

    def spot(self, mitsuba: Any, *, weight: float) -> dict[str, Any]:
        """Return the emitter of a spot; Mitsuba fades it over the angle by a line.

        Args:
            mitsuba: The module.
            weight: How often it is sampled, relative to other emitters.
        """
        angle, softness = self._cone
        matrix = np.eye(4)
        matrix[:3, :3] = self._axes @ np.diag([1.0, -1.0, -1.0])
        matrix[:3, 3] = self._position
        intensity = [np.pi * self._extent[0] ** 2 * part for part in self._radiance]
        return {
            "type": "spot",
            "to_world": mitsuba.ScalarTransform4f(matrix),
            "intensity": {"type": "rgb", "value": intensity},
            "cutoff_angle": angle,
            "beam_width": angle * min(1.0 - softness, 0.999),
            "sampling_weight": weight,
        }

    def shape(self, mitsuba: Any, *, weight: float) -> dict[str, Any]:
        """Return the emissive shape.

        Args:
            mitsuba: The module.
            weight: How often it is sampled, relative to other emitters.
        """
        emitter = {
            "type": "area",
            "radiance": {"type": "rgb", "value": self._radiance},
            "sampling_weight": weight,
        }
        if self._kind in ("RectLight", "DiskLight"):
            # UsdLux shines along -z, Mitsuba along +z.
            matrix = np.eye(4)
            matrix[:3, :3] = self._axes @ np.diag([self._extent[0], -self._extent[1], -1.0])
            matrix[:3, 3] = self._position
            kind = "rectangle" if self._kind == "RectLight" else "disk"
            return {"type": kind, "to_world": mitsuba.ScalarTransform4f(matrix), "emitter": emitter}
        radius, length = self._extent
        if self._kind == "SphereLight":
            return {
                "type": "sphere",
                "center": self._position.tolist(),
                "radius": float(radius),
                "emitter": emitter,
            }
        ends = [self._position + side * length / 2 * self._axes[:, 0] for side in (-1.0, 1.0)]
        return {
            "type": "cylinder",
            "p0": ends[0].tolist(),
            "p1": ends[1].tolist(),
            "radius": float(radius),
            "emitter": emitter,
        }
