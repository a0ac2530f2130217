"""Randomizer of fog and rain."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, namespace
from pegasus.base.components import require
from pegasus.contracts.renderer import View
from pegasus.dataset.randomizers.randomizer import Light3, Randomizer, Range, note, require_range
from pegasus.render.sky import sky_directions, sky_image
from pegasus.scene.scene import Light

_CONTRAST = 0.05
_HORIZON = math.radians(5.0)


def extinction(visibility: float) -> float:
    """Return the extinction coefficient of fog [1/m]: Koschmieder's law with a threshold of 5 % contrast.

    The distance at which a black object keeps a contrast of 0.05 is the meteorological optical range (WMO
    2018, "Guide to instruments and methods of observation", vol. I, sec. 9.1.1).

    Args:
        visibility: Meteorological optical range [m].
    """
    return -math.log(_CONTRAST) / visibility


def rain_extinction(rate: float) -> float:
    """Return the extinction coefficient of rain [1/m]: 1.076 R^0.67 dB/km (ITU-R P.1814, Carbonneau).

    Args:
        rate: Rain rate R [mm/h].
    """
    decibels_per_neper = 10.0 / math.log(10.0)
    return float(1.076 * rate**0.67 / 1000.0 / decibels_per_neper)


def through_air(radiance: Array, path: Array, coefficient: float, airlight: Array) -> Array:
    """Return light after a path through fog: L e^(-b d) + A (1 - e^(-b d)), shape (..., 3).

    Koschmieder 1924 (Middleton 1952, "Vision through the atmosphere", eq. 4.16).

    Args:
        radiance: Light L at the beginning of the path, shape (..., 3).
        path: Length d of the path [m], may be infinite, shape (...).
        coefficient: Extinction coefficient b [1/m].
        airlight: Light A that the air itself sends from all along the path, shape (3,).
    """
    xp = namespace(radiance)
    kept = xp.exp(-coefficient * path)[..., None]
    mixed: Array = radiance * kept + airlight * (1.0 - kept)
    return mixed


@dataclass(frozen=True, kw_only=True)
class Fog(Randomizer):
    """Fog or rain that fades distant surfaces to the colour of the sky at the horizon."""

    probability: float = 1.0
    """Fraction of scenes with fog or rain."""
    visibility: Range = (50.0, 2000.0)
    """Meteorological optical range, uniformly distributed in its logarithm [m]."""
    rain_rate: Range = (0.0, 0.0)
    """Rain rate [mm/h], in addition to the fog."""
    thickness: float = 300.0
    """Height of the layer above the world's origin [m]."""

    def __post_init__(self) -> None:
        require(0 <= self.probability <= 1, "probability", self.probability, "must be from 0 to 1")
        require_range("visibility", self.visibility, least=1.0)
        require_range("rain_rate", self.rain_rate, least=0.0)
        require(0 < self.thickness < math.inf, "thickness", self.thickness, "must be above 0 m and finite")

    def air(
        self,
        radiance: Light3,
        distance: npt.NDArray[np.float32],
        directions: Array,
        view: View,
        lights: list[Light],
        rng: np.random.Generator,
    ) -> Light3:
        """Return the light that reaches a camera through fog and rain."""
        covered = rng.uniform() < self.probability
        nearest, farthest = self.visibility
        visibility = math.exp(rng.uniform(math.log(nearest), math.log(farthest)))
        rain = float(rng.uniform(*self.rain_rate))
        coefficient = extinction(visibility) + rain_extinction(rain)
        note(rng, fog=bool(covered), **({"visibility": visibility, "rain_rate": rain} if covered else {}))
        if not covered:
            return radiance
        upward = directions @ view.rotation[2]
        path = path_in_layer(distance.astype(np.float64), upward, float(view.position[2]), self.thickness)
        light = through_air(radiance.astype(np.float64), path, coefficient, horizon_light(lights))
        # Outside the image circle of a fisheye there is no light, and no fog.
        return np.where(np.isfinite(upward)[..., None], light, radiance).astype(np.float32)


def path_in_layer(distance: Array, upward: Array, height: float, thickness: float) -> Array:
    """Return the length of rays below a height [m], shape (...).

    Args:
        distance: Length of the ray [m], may be infinite, shape (...).
        upward: Upward part of its unit direction, shape (...).
        height: Height of its origin [m].
        thickness: Height of the layer [m].
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(upward == 0.0, np.inf, (thickness - height) / upward)
    if height <= thickness:
        inside: Array = np.where(upward > 0.0, np.minimum(distance, crossing), distance)
    else:
        inside = np.where(upward < 0.0, np.maximum(distance - crossing, 0.0), 0.0)
    return inside


def horizon_light(lights: list[Light]) -> Array:
    """Return the mean light of the lowest 5 degrees of the sky, shape (3,)."""
    sky = sky_image(lights)
    if len(sky) == 1:
        return np.asarray(sky[0, 0], dtype=np.float64)
    height = sky_directions(len(sky))[:, 0, 2]
    rows = (height > 0) & (height < math.sin(_HORIZON))
    light: Array = sky[rows].mean(axis=(0, 1), dtype=np.float64)
    return light
