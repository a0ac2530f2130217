"""Sonar: a rangefinder that hears the first echo out of a cone."""

import math
from dataclasses import dataclass

from pegasus.sensors.rangefinder import Rangefinder


@dataclass(kw_only=True, eq=False)
class Sonar(Rangefinder):
    """Ultrasonic rangefinder that looks down: the shortest of nine rays (Hector 2012, sec. 3.3).

    It is a `Rangefinder` with the figures of a sonar: a range of 3 m, and a cone of 40 degrees.
    """

    rate_hz: float = 10.0
    """Readings per second [Hz]."""
    min_range: float = 0.03
    """Shortest distance that it tells [m]."""
    max_range: float = 3.0
    """Longest distance that it tells [m]."""
    ray_count: int = 9
    """Rays in the cone."""
    cone_angle: float = math.radians(40.0)
    """Opening angle of the cone, from rim to rim [rad]."""
