"""Scan patterns: ray directions of a lidar during one scan."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import build, require
from pegasus.base.errors import ConfigError
from pegasus.base.fixed_sines import wide_cosine_of, wide_sine_ratio
from pegasus.base.registry import Registry
from pegasus.base.tracing import column, uniform
from pegasus.cameras.ray_step import rosette_ray

_MOST_RAYS = 2**24
_OfArrays = Callable[[Array], Array]


class ScanPattern(ABC):
    """Base of a scan pattern: C columns that fire in sequence, each of R simultaneous rays.

    Column k of a scan from t to t + T fires at t + (k + 1) T / C. Directions are in the sensor's frame, x
    forward, y to the left and z up.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rays in a column R and columns in a scan C."""

    @abstractmethod
    def directions(self, start: float, duration: float) -> Array:
        """Return the unit directions of a scan, shape (C, R, 3).

        Args:
            start: Time at which the scan begins [s].
            duration: Duration of the scan [s].
        """


@dataclass(frozen=True)
class Spinning(ScanPattern):
    """Spinning head: a column of lasers that turns clockwise, seen from above, once per scan.

    The scan begins and ends at the rear. The middle one of an even number of columns points straight ahead.
    """

    elevations: tuple[float, ...]
    """Angles of the lasers above the horizontal [rad], shape (R,); their order is that of the rings."""
    column_count: int = 1800
    """Firings per turn."""

    def __post_init__(self) -> None:
        require(len(self.elevations) > 0, "elevations", self.elevations, "must hold at least one angle")
        for index, angle in enumerate(self.elevations):
            inside = -math.pi / 2 < angle < math.pi / 2
            require(inside, f"elevations.{index}", angle, "must be above -pi/2 and below pi/2 rad")
        _require_count("column_count", self.column_count)
        _require_few(self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Rays in a column R and columns in a scan C."""
        return len(self.elevations), self.column_count

    def directions(self, start: float, duration: float) -> Array:
        """Return the unit directions of a scan, shape (C, R, 3)."""
        return self._directions

    @cached_property
    def _directions(self) -> Array:
        turned = (np.arange(self.column_count) + 1.0) / self.column_count
        return spherical_directions(np.pi - 2 * np.pi * turned, np.array(self.elevations))


@dataclass(frozen=True)
class Raster(ScanPattern):
    """Raster of equal angles from left to right: solid-state lidars with mirrors or arrays."""

    horizontal_fov: float = math.radians(120.0)
    """Field of view from the left to the right edge [rad]."""
    vertical_fov: float = math.radians(25.0)
    """Field of view from the lower to the upper edge [rad]."""
    column_count: int = 600
    """Rays per row."""
    row_count: int = 125
    """Rays per column; the lowest is ring 0."""

    def __post_init__(self) -> None:
        wide, high = self.horizontal_fov, self.vertical_fov
        require(0 < wide <= 2 * math.pi, "horizontal_fov", wide, "must be above 0 and at most 2 pi rad")
        require(0 < high <= math.pi, "vertical_fov", high, "must be above 0 and at most pi rad")
        _require_count("column_count", self.column_count)
        _require_count("row_count", self.row_count)
        _require_few(self.shape)

    @property
    def shape(self) -> tuple[int, int]:
        """Rays in a column R and columns in a scan C."""
        return self.row_count, self.column_count

    def directions(self, start: float, duration: float) -> Array:
        """Return the unit directions of a scan, shape (C, R, 3)."""
        return self._directions

    @cached_property
    def _directions(self) -> Array:
        azimuth = (0.5 - _middles(self.column_count)) * self.horizontal_fov
        elevation = (_middles(self.row_count) - 0.5) * self.vertical_fov
        return spherical_directions(azimuth, elevation)


@dataclass(frozen=True)
class Rosette(ScanPattern):
    """Rosette: a single beam through two counter-rotating prisms; no scan repeats the previous one.

    A thin prism at the angle a deflects the beam by a fixed angle d towards a. Two of them send it to
    d (cos a + cos b, sin a + sin b), a rosette within a circle of radius 2 d (Brazeal et al. 2021, "A
    rigorous observation model for the Risley prism-based Livox Mid-40 lidar sensor").
    """

    fov: float = math.radians(38.4)
    """Full opening angle of the covered cone [rad]."""
    point_count: int = 10_000
    """Rays in one scan."""
    prism_speeds: tuple[float, float] = (763.826, -488.413)
    """Speeds of the two prisms [rad/s]; defaults are 7294 and -4664 rpm."""

    def __post_init__(self) -> None:
        require(0 < self.fov < 2 * math.pi, "fov", self.fov, "must be above 0 and below 2 pi rad")
        _require_count("point_count", self.point_count)
        _require_few(self.shape)
        speeds = self.prism_speeds
        require(all(map(math.isfinite, speeds)), "prism_speeds", speeds, "must be finite [rad/s]")

    @property
    def shape(self) -> tuple[int, int]:
        """Rays in a column R and columns in a scan C."""
        return 1, self.point_count

    def directions(self, start: float, duration: float) -> Array:
        """Return the unit directions of a scan, shape (C, 1, 3).

        Args:
            start: Time at which the scan begins [s].
            duration: Duration of the scan [s].
        """
        # Not at the top: it imports Warp, which other patterns do not need.
        from pegasus.base.tracing.launches import program_of

        count = self.point_count
        names = "quarter_fov", "first_start", "first_step", "second_start", "second_step"
        angles = [
            angle for speed in self.prism_speeds for angle in (speed * start, speed * (duration / count))
        ]
        numbers = (uniform(name, 0.0) for name in names)
        program = program_of(rosette_ray, column("number"), *numbers, outputs=("direction",), count=count)
        directions = np.empty((count, 3))
        arrays = {"number": np.arange(1.0, count + 1.0), "direction": directions}
        arrays |= {name: np.array([x]) for name, x in zip(names, (self.fov / 4, *angles), strict=True)}
        program.launch(arrays, count)()
        return directions[:, None]


def spherical_directions(azimuth: Array, elevation: Array) -> Array:
    """Return the unit directions of a grid of azimuths and elevations, shape (C, R, 3).

    Args:
        azimuth: Angles to the left of x, from -pi to pi [rad], shape (C,).
        elevation: Angles above the horizontal, from -pi/2 to pi/2 [rad], shape (R,).
    """
    # Their operators are those of arrays as well.
    cosine, sine_ratio = cast("_OfArrays", wide_cosine_of), cast("_OfArrays", wide_sine_ratio)
    across, up = azimuth * azimuth, elevation * elevation
    level = cosine(up)
    directions = np.empty((len(azimuth), len(elevation), 3))
    directions[..., 0] = cosine(across)[:, None] * level
    directions[..., 1] = (azimuth * sine_ratio(across))[:, None] * level
    directions[..., 2] = elevation * sine_ratio(up)
    return directions


def _middles(count: int) -> Array:
    """Return the midpoints of equal parts of the interval from 0 to 1."""
    return (np.arange(count) + 0.5) / count


def _require_count(name: str, value: int) -> None:
    require(isinstance(value, int) and value >= 1, name, value, "must be a whole number from 1 up")


def _require_few(shape: tuple[int, int]) -> None:
    rays = shape[0] * shape[1]
    require(
        rays <= _MOST_RAYS,
        "rays in a scan",
        rays,
        f"must be at most {_MOST_RAYS}",
        "reduce their number",
    )


def _degrees(*angles: float) -> tuple[float, ...]:
    return tuple(math.radians(angle) for angle in angles)


SCAN_PATTERNS: Registry[ScanPattern] = Registry(
    "scan pattern",
    group="pegasus.scan_patterns",
    shipped={"spinning": Spinning, "raster": Raster, "rosette": Rosette},
)
"""Patterns by their name in YAML."""


LIDAR_PATTERNS = MappingProxyType(
    {
        # Velodyne, VLP-16 User Manual 63-9243, table 9-1.
        "vlp16": Spinning(_degrees(*range(-15, 16, 2))),
        # Velodyne, HDL-32E User's Manual 63-9113, "Laser Firing Sequence": from -30.67 to 10.67 degrees.
        "hdl32e": Spinning(_degrees(*[k * 4 / 3 for k in range(-23, 9)]), column_count=2160),
        # Ouster, OS1 data sheet of 2020: 64 channels, evenly over 33.2 degrees; 1024 columns.
        "os1_64": Spinning(_degrees(*[33.2 * (k / 63 - 0.5) for k in range(64)]), column_count=1024),
        # Livox, Mid-40 User Manual: a circle of 38.4 degrees, 100 000 points per second.
        "mid40": Rosette(),
    }
)
"""Scan patterns of real lidars, for scans at 10 Hz."""


def pattern_from_spec(spec: Any) -> ScanPattern:
    """Return the scan pattern that a name or a mapping describes; a pattern is returned as it is.

    Args:
        spec: A name from `LIDAR_PATTERNS`, a mapping with `model` and parameters, or a pattern.

    Raises:
        ConfigError: If there is no such pattern, or a parameter is not allowed.
    """
    if isinstance(spec, ScanPattern):
        return spec
    if isinstance(spec, str) and spec in LIDAR_PATTERNS:
        return LIDAR_PATTERNS[spec]
    if isinstance(spec, dict):
        return build(ScanPattern, SCAN_PATTERNS, spec, field="pattern")
    raise ConfigError(
        f"must be one of {', '.join(LIDAR_PATTERNS)}, or a mapping",
        field="pattern",
        value=spec,
        remedy="such as {model: raster, column_count: 300}",
    )
