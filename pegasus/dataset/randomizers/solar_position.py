"""Where the sun stands, and how the air weakens its light."""

import math
from datetime import UTC, datetime

import numpy as np

from pegasus.arrays import Array

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
    """Return how much the air lifts a body [rad]: Saemundsson's formula (Meeus 1998, eq. 16.4).

    Args:
        elevation: True elevation [rad]; nothing is lifted below -1 degree.
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
    """Return the part of the sun's red, green and blue light that the air lets through, shape (3,).

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
