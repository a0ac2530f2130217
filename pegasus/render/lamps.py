"""Lights of a scene as rows that kernels read."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pegasus.arrays import Array
from pegasus.render.lamp_kernels import Lamp
from pegasus.render.sky import sun_direction
from pegasus.render.surface_tables import empty_rows
from pegasus.scene.scene import Light

_DISTANT, _BALL, _FLAT = 0, 1, 2


def lamp_middle(lights: Sequence[Light]) -> Array:
    """Return the middle of all lamps [m], shape (3,); the origin where there are none.

    Args:
        lights: Lights of a scene.
    """
    places = [light.transform[:3, 3] for light in lights if light.kind not in ("DistantLight", "DomeLight")]
    return np.asarray(np.mean(places, axis=0) if places else np.zeros(3), dtype=np.float64)


def lamp_rows(lights: Sequence[Light], middle: Array) -> Any:
    """Return suns and lamps, structured, shape (L,); domes are no lamps.

    The colour of a distant light is its irradiance at right angles, that of a lamp the radiance of its
    surface, or the power of all its surface where it is normalized (times 1 / m^2).

    Args:
        lights: Lights of a scene.
        middle: Point that their places are given from [m], shape (3,).
    """
    rows = [_row(light, middle) for light in lights if light.kind != "DomeLight" and max(light.color) > 0]
    return np.concatenate(rows) if rows else empty_rows(Lamp, 0)


def _row(light: Light, middle: Array) -> Any:
    row: Any = empty_rows(Lamp, 1)
    color = np.array(light.color)
    if light.kind == "DistantLight":
        radius = np.radians(light.parameters.get("angle", 0.53)) / 2
        row["kind"], row["axis"], row["strength"] = _DISTANT, sun_direction(light), color
        row["radius"] = np.sin(radius)
        # Radiance of the disc for each unit of irradiance.
        row["softness"] = 1.0 / (np.pi * np.sin(radius) ** 2) if radius > 1e-6 else 0.0
        return row
    matrix = np.asarray(light.transform, dtype=np.float64)
    x, y, z = (float(np.sqrt(matrix[:3, k] @ matrix[:3, k])) for k in range(3))
    row["position"] = matrix[:3, 3] - middle
    normalized = bool(light.parameters.get("normalize", 0.0))
    radius = light.parameters.get("radius", 0.5)
    if light.kind in ("RectLight", "DiskLight"):
        area = np.pi * radius**2 * x * y
        if light.kind == "RectLight":
            area = light.parameters.get("width", 1.0) * x * light.parameters.get("height", 1.0) * y
        row["kind"], row["axis"] = _FLAT, -matrix[:3, 2] / max(z, 1e-300)
        row["strength"] = color if normalized else color * area
        row["softness"] = area / np.pi
        return row
    radius *= x
    across, surface = np.pi * radius**2, 4 * np.pi * radius**2
    if light.kind == "CylinderLight":
        # Seen from aside; the caps do not shine.
        length = light.parameters.get("length", 1.0) * x
        across, surface = 2 * radius * length, 2 * np.pi * radius * length
    row["kind"], row["radius"] = _BALL, radius
    row["strength"] = color * across / (max(surface, 1e-12) if normalized else 1.0)
    return row
