"""Sun and sky of a scene: by date, time and place, and by weather."""

import math
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, timezone
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array
from pegasus.components import require
from pegasus.dataset.randomizers.randomizer import Randomizer, Range, require_range
from pegasus.dataset.randomizers.solar_position import (
    clear_sky_irradiance,
    sun_position,
    toward,
    transmittance,
)
from pegasus.errors import ConfigError
from pegasus.scene.scene import Color, Light, Scene

if TYPE_CHECKING:
    from pegasus.scenario import WorldSpec

_TRIES = 200
_CLEAR = 2.5


@dataclass(frozen=True, kw_only=True)
class Sun(Randomizer):
    """Puts the sun where it stands at a random date and time, seen from the world's origin.

    Strength and colour of sun and sky follow: the sun's by the air that its light goes through, the sky's by
    the irradiance of level ground. What the world's file says is taken as that of its own sun's elevation in
    clear air. A world without a sun stays as it is.
    """

    dates: tuple[str, str] = ("2026-01-01", "2026-12-31")
    """First and last date, YYYY-MM-DD."""
    hours: Range = (0.0, 24.0)
    """Earliest and latest local solar time [h]."""
    least_elevation: float = 0.1
    """The sun stands at least so high [rad]; date and time are drawn again until it does."""
    turbidity: Range = (2.5, 2.5)
    """How hazy the air is: 2 for very clear, 10 for hazy."""

    def __post_init__(self) -> None:
        try:
            first, last = (date.fromisoformat(day) for day in self.dates)
        except (TypeError, ValueError):
            first, last = date.max, date.min
        years = 1950 <= first.year <= last.year <= 2050
        allowed = "must be a first and a last date between 1950 and 2050"
        require(first <= last and years, "dates", self.dates, allowed, "write them as YYYY-MM-DD")
        require_range("hours", self.hours, least=0.0, most=24.0)
        require_range("turbidity", self.turbidity, least=1.0, most=20.0)
        high = 0.0 <= self.least_elevation < math.pi / 2
        require(high, "least_elevation", self.least_elevation, "must be from 0 to below pi/2 rad")

    def scene(self, scene: Scene, world: "WorldSpec", rng: np.random.Generator) -> Scene:
        """Return the scene under another sun."""
        origin = world.origin
        latitude, longitude = math.radians(origin.latitude), math.radians(origin.longitude)
        azimuth, elevation = self._draw(latitude, longitude, rng)
        turbidity = float(rng.uniform(*self.turbidity))
        return replace(scene, lights=lit_by_sun(scene.lights, azimuth, elevation, turbidity))

    def _draw(self, latitude: float, longitude: float, rng: np.random.Generator) -> tuple[float, float]:
        first, last = (date.fromisoformat(day) for day in self.dates)
        # Mean solar time: noon is when the mean sun is in the south (or north).
        zone = timezone(timedelta(hours=longitude * 12.0 / math.pi))
        for _ in range(_TRIES):
            day = first + timedelta(days=int(rng.integers((last - first).days + 1)))
            hours = float(rng.uniform(*self.hours))
            moment = datetime.combine(day, time(), tzinfo=zone) + timedelta(hours=hours)
            azimuth, elevation = sun_position(moment, latitude, longitude)
            if elevation >= self.least_elevation:
                return azimuth, elevation
        raise ConfigError(
            f"the sun does not rise that high at latitude {math.degrees(latitude):g} deg on these dates",
            field="least_elevation",
            value=self.least_elevation,
            remedy="lower it, or widen dates and hours",
        )


@dataclass(frozen=True, kw_only=True)
class Sky(Randomizer):
    """Changes how strong sun and sky are, and covers some scenes with clouds."""

    sun_strength: Range = (0.7, 1.3)
    """Factor of the sun's light."""
    sky_strength: Range = (0.7, 1.3)
    """Factor of the sky's light."""
    tint: float = 0.0
    """Largest relative change of each colour of the sky."""
    overcast: float = 0.0
    """Part of the scenes whose sky is covered: no sun, and an even sky, three times as bright."""

    def __post_init__(self) -> None:
        require_range("sun_strength", self.sun_strength, least=0.0)
        require_range("sky_strength", self.sky_strength, least=0.0)
        require(0 <= self.tint < 1, "tint", self.tint, "must be at least 0 and below 1")
        require(0 <= self.overcast <= 1, "overcast", self.overcast, "must be from 0 to 1")

    def scene(self, scene: Scene, world: "WorldSpec", rng: np.random.Generator) -> Scene:
        """Return the scene under another sky."""
        sun, sky = float(rng.uniform(*self.sun_strength)), float(rng.uniform(*self.sky_strength))
        tint = 1.0 + rng.uniform(-self.tint, self.tint, size=3)
        covered = bool(rng.uniform() < self.overcast)
        lights = []
        for light in scene.lights:
            if light.kind == "DistantLight" and not covered:
                lights.append(_scaled(light, np.full(3, sun)))
            elif light.kind == "DomeLight":
                dome = _scaled(light, sky * tint)
                lights.append(_clouds(dome) if covered else dome)
            elif light.kind != "DistantLight":
                lights.append(light)
        return replace(scene, lights=lights)


def lit_by_sun(lights: list[Light], azimuth: float, elevation: float, turbidity: float) -> list[Light]:
    """Return the lights of a world when its sun stands elsewhere.

    Args:
        lights: Lights of the world.
        azimuth: Of the sun, clockwise from north [rad].
        elevation: Of the sun [rad].
        turbidity: How hazy the air is.
    """
    suns = [light for light in lights if light.kind == "DistantLight"]
    if not suns:
        return lights
    axis = suns[0].transform[:3, 2]
    before = math.asin(float(np.clip(axis[2] / np.sqrt(axis @ axis), -1.0, 1.0)))
    sun_factor = transmittance(elevation, turbidity) / transmittance(before, _CLEAR)
    reference = clear_sky_irradiance(before)
    sky_factor = clear_sky_irradiance(elevation) / reference if reference > 0 else 1.0
    changed = []
    for light in lights:
        if light.kind == "DistantLight":
            turned = replace(light, transform=_facing(toward(azimuth, elevation)))
            changed.append(_scaled(turned, sun_factor))
        elif light.kind == "DomeLight":
            changed.append(_scaled(light, np.full(3, sky_factor)))
        else:
            changed.append(light)
    return changed


def _facing(direction: Array) -> Array:
    """Return a pose whose z axis has a direction, shape (4, 4)."""
    aside = np.array([1.0, 0.0, 0.0]) if abs(direction[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = np.cross(aside, direction)
    x /= np.sqrt(x @ x)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([x, np.cross(direction, x), direction], axis=1)
    return pose


def _scaled(light: Light, factor: Array) -> Light:
    r, g, b = (float(v) for v in np.array(light.color) * factor)
    return replace(light, color=(r, g, b))


def _clouds(dome: Light) -> Light:
    grey = 3.0 * float(np.array(dome.color) @ np.array([0.2126, 0.7152, 0.0722]))
    color: Color = (grey, grey, grey)
    return replace(dome, color=color, texture=None)
