"""Sun and sky randomisers: solar position by date, time and place, and weather."""

import math
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.config.scenario import WorldSpec
from pegasus.dataset.randomizers.randomizer import Randomizer, Range, note, require_range
from pegasus.scene.scene import Color, Light, Scene

_TRIES = 200
_CLEAR = 2.5


@dataclass(frozen=True, kw_only=True)
class Sun(Randomizer):
    """Position of the sun at a random date and time, seen from the world's origin.

    Strength and colour follow: the sun's by the transmittance of the air, the sky's by the irradiance of
    level ground. Lights of the world's file are taken as those of its own solar elevation in clear air. A
    world without a sun is not changed.
    """

    dates: tuple[str, str] = ("2026-01-01", "2026-12-31")
    """First and last date, YYYY-MM-DD."""
    hours: Range = (0.0, 24.0)
    """Earliest and latest local solar time [h]."""
    least_elevation: float = 0.1
    """Minimum elevation of the sun [rad]; date and time are drawn again until it is reached."""
    turbidity: Range = (2.5, 2.5)
    """Turbidity of the air: 2 for very clear, 10 for hazy."""

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

    def scene(self, scene: Scene, world: WorldSpec, rng: np.random.Generator) -> Scene:
        """Return the scene with another position of the sun."""
        origin = world.origin
        latitude, longitude = math.radians(origin.latitude), math.radians(origin.longitude)
        azimuth, elevation = self._draw(latitude, longitude, rng)
        turbidity = float(rng.uniform(*self.turbidity))
        note(rng, azimuth=azimuth, elevation=elevation, turbidity=turbidity)
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
    """Perturbs the strength of sun and sky; some scenes are overcast."""

    sun_strength: Range = (0.7, 1.3)
    """Factor of the sun's light."""
    sky_strength: Range = (0.7, 1.3)
    """Factor of the sky's light."""
    tint: float = 0.0
    """Largest relative change of each colour of the sky."""
    overcast: float = 0.0
    """Fraction of overcast scenes: no sun, and a uniform sky, three times as bright."""

    def __post_init__(self) -> None:
        require_range("sun_strength", self.sun_strength, least=0.0)
        require_range("sky_strength", self.sky_strength, least=0.0)
        require(0 <= self.tint < 1, "tint", self.tint, "must be at least 0 and below 1")
        require(0 <= self.overcast <= 1, "overcast", self.overcast, "must be from 0 to 1")

    def scene(self, scene: Scene, world: WorldSpec, rng: np.random.Generator) -> Scene:
        """Return the scene with perturbed sun and sky."""
        sun, sky = float(rng.uniform(*self.sun_strength)), float(rng.uniform(*self.sky_strength))
        tint = 1.0 + rng.uniform(-self.tint, self.tint, size=3)
        covered = bool(rng.uniform() < self.overcast)
        note(rng, sun_strength=sun, sky_strength=sky, tint=tint, overcast=covered)
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
    """Return the lights of a world for another position of its sun.

    Args:
        lights: Lights of the world.
        azimuth: Of the sun, clockwise from north [rad].
        elevation: Of the sun [rad].
        turbidity: Turbidity of the air.
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


_J2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)
_DELTA_T = 69.0  # Terrestrial less universal time in the 2020s [s].
_WAVELENGTHS = np.array([0.680, 0.550, 0.440])  # Red, green and blue [micrometres].


def sun_position(moment: datetime, latitude: float, longitude: float) -> tuple[float, float]:
    """Return azimuth and apparent elevation of the sun's centre [rad].

    The low-accuracy series (Meeus 1998, "Astronomical algorithms", ch. 25), sidereal time (ch. 12), parallax,
    and refraction at 1010 hPa and 10 degrees Celsius (ch. 16, Saemundsson). It is within 0.02 degrees of
    the sun from 1950 to 2050 wherever that is above 5 degrees.

    Args:
        moment: Instant, with its time zone.
        latitude: Geodetic latitude [rad].
        longitude: Longitude, east positive [rad].

    Returns:
        Azimuth, clockwise from north, 0 to 2 pi; elevation above the horizon.
    """
    days = (moment - _J2000).total_seconds() / 86400.0
    right_ascension, declination = sun_direction(days + _DELTA_T / 86400.0)
    hour_angle = math.radians(280.46061837 + 360.98564736629 * days) + longitude - right_ascension
    cosine, sine = math.cos(latitude), math.sin(latitude)
    east = -math.cos(declination) * math.sin(hour_angle)
    north = cosine * math.sin(declination) - sine * math.cos(declination) * math.cos(hour_angle)
    up = sine * math.sin(declination) + cosine * math.cos(declination) * math.cos(hour_angle)
    elevation = math.asin(max(-1.0, min(1.0, up)))
    elevation -= math.radians(8.794 / 3600.0) * math.cos(elevation)
    return math.atan2(east, north) % (2 * math.pi), elevation + refraction(elevation)


def sun_direction(days: float) -> tuple[float, float]:
    """Return the apparent right ascension and declination of the sun [rad] (Meeus 1998, ch. 25).

    Args:
        days: Days of terrestrial time since 2000 January 1, 12 h.
    """
    t = days / 36525.0
    mean_longitude = 280.46646 + t * (36000.76983 + t * 0.0003032)
    anomaly = math.radians(357.52911 + t * (35999.05029 - t * 0.0001537))
    center = (
        (1.914602 - t * (0.004817 + t * 0.000014)) * math.sin(anomaly)
        + (0.019993 - t * 0.000101) * math.sin(2 * anomaly)
        + 0.000289 * math.sin(3 * anomaly)
    )
    node = math.radians(125.04 - 1934.136 * t)
    longitude = math.radians(mean_longitude + center - 0.00569 - 0.00478 * math.sin(node))
    obliquity = 23.43929111 - t * (0.013004167 + t * (1.639e-7 - t * 5.036e-7)) + 0.00256 * math.cos(node)
    tilt = math.radians(obliquity)
    right_ascension = math.atan2(math.cos(tilt) * math.sin(longitude), math.cos(longitude))
    return right_ascension % (2 * math.pi), math.asin(math.sin(tilt) * math.sin(longitude))


def refraction(elevation: float) -> float:
    """Return the atmospheric refraction [rad]: Saemundsson's formula (Meeus 1998, eq. 16.4).

    Args:
        elevation: True elevation [rad]; zero below -1 degree.
    """
    degrees = math.degrees(elevation)
    if degrees < -1.0:
        return 0.0
    return math.radians(1.02 / 60.0 / math.tan(math.radians(degrees + 10.3 / (degrees + 5.11))))


def toward(azimuth: float, elevation: float) -> Array:
    """Return the unit direction of a point in the sky, world ENU, shape (3,).

    Args:
        azimuth: Clockwise from north [rad].
        elevation: Above the horizon [rad].
    """
    level = math.cos(elevation)
    return np.array([level * math.sin(azimuth), level * math.cos(azimuth), math.sin(elevation)])


def air_mass(elevation: float) -> float:
    """Return the relative optical air mass (Kasten and Young 1989).

    Args:
        elevation: Apparent elevation [rad]; that of the horizon below it.
    """
    degrees = math.degrees(max(elevation, 0.0))
    return 1.0 / (math.sin(math.radians(degrees)) + 0.50572 * math.pow(degrees + 6.07995, -1.6364))


def transmittance(elevation: float, turbidity: float) -> Array:
    """Return the transmittance of the air for the sun's red, green and blue light, shape (3,).

    Rayleigh scattering and aerosol by turbidity (Preetham, Shirley and Smits 1999, appendix A.1).

    Args:
        elevation: Apparent elevation of the sun [rad].
        turbidity: 2 for very clear air, 3 clear, 6 warm and moist, 10 hazy.
    """
    mass = air_mass(elevation)
    beta = max(0.04608 * turbidity - 0.04586, 0.0)
    rayleigh = 0.008735 * _WAVELENGTHS**-4.08
    aerosol = beta * _WAVELENGTHS**-1.3
    through: Array = np.exp(-mass * (rayleigh + aerosol))
    return through


def clear_sky_irradiance(elevation: float) -> float:
    """Return the irradiance of level ground under a clear sky [W/m^2] (Haurwitz 1945).

    Args:
        elevation: Elevation of the sun [rad].
    """
    sine = math.sin(max(elevation, 0.0))
    return 1098.0 * sine * math.exp(-0.057 / sine) if sine > 0 else 0.0
