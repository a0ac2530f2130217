"""Parameters of lidars, and where their scans come from."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.cameras.capture import require_lag
from pegasus.cameras.ray_step import euler_turn
from pegasus.cameras.reflectance import Reflectances
from pegasus.cameras.scan_patterns import ScanPattern, pattern_from_spec

Indices = npt.NDArray[np.int32]


class ScanReturns(NamedTuple):
    """Measured echoes of one scan of one lidar: R rings and C columns."""

    range: Array
    """Distance along the ray, infinite without an echo [m], shape (R, C)."""
    intensity: Array
    """Power of the echo, 0 without an echo, shape (R, C)."""
    entity: Indices
    """Index into `LidarReading.entities`, -1 without an echo, shape (R, C)."""


class ScanSource(Protocol):
    """Source of measured scans that replaces casting rays."""

    def echoes(self, copy: int, stamp: float) -> ScanReturns | None:
        """Return the latest scan at an instant; None to cast rays.

        Args:
            copy: The copy of the vehicle.
            stamp: The instant [s].
        """


@dataclass(kw_only=True, eq=False)
class LidarModel:
    """Parameters of a lidar, which hold for all copies of its vehicle."""

    rate_hz: float = 10.0
    """Scans per second [Hz]: turns of a spinning head."""
    pattern: Any = "vlp16"
    """Scan pattern: a name from `LIDAR_PATTERNS`, a mapping with `model` and parameters, or a
    `ScanPattern`."""
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Position of the sensor in the body frame [m]."""
    orientation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Roll, pitch and yaw on the body [rad]; zeros look forward."""
    min_range: float = 0.5
    """Minimum range [m]."""
    max_range: float = 100.0
    """Maximum range [m]."""
    noise_sigma: float = 0.02
    """Standard deviation of the noise at a distance of zero [m]."""
    proportional_noise: float = 0.0
    """Growth of the standard deviation with distance [m/m]."""
    dropout: float = 0.0
    """Probability that an echo is lost."""
    range_dropout: float = 0.0
    """Probability that an echo from `max_range` is lost, growing with the square of distance."""
    grazing_dropout: float = 0.0
    """Probability that an echo is lost at grazing incidence, growing as 1 - cos(incidence)."""
    min_intensity: float = 0.0
    """Detection threshold, as an intensity."""
    reference_range: float = 10.0
    """Distance at which a white surface at normal incidence has an intensity of 1 [m]."""
    motion_distortion: bool = True
    """Start each ray at the sensor's pose when it fires; otherwise all at the pose of the stamp."""
    hide_vehicle: bool = True
    """Let rays pass through the vehicle that carries the sensor."""
    lag: int = 1
    """Scans that logs and ROS 2 may wait for while the simulation steps on; 0 casts each at once."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        self.pattern = pattern_from_spec(self.pattern)
        for name in ("position", "orientation"):
            value = getattr(self, name)
            finite = np.shape(value) == (3,) and all(map(math.isfinite, value))
            require(finite, name, value, "must hold three finite numbers")
        shortest = self.min_range
        require(0 <= shortest < math.inf, "min_range", shortest, "must be at least 0 m and finite")
        allowed = f"must be above min_range of {shortest:g} m and finite"
        require(shortest < self.max_range < math.inf, "max_range", self.max_range, allowed)
        for name in ("noise_sigma", "proportional_noise", "min_intensity"):
            value = getattr(self, name)
            require(0 <= value < math.inf, name, value, "must be at least 0 and finite")
        for name in ("dropout", "range_dropout", "grazing_dropout"):
            value = getattr(self, name)
            require(0 <= value <= 1, name, value, "must be a probability, from 0 to 1")
        require_lag(self.lag, "casts each scan")
        far = self.reference_range
        require(0 < far < math.inf, "reference_range", far, "must be above 0 m and finite")

    @property
    def shape(self) -> tuple[int, int]:
        """Rings R and columns C of a scan."""
        pattern: ScanPattern = self.pattern
        return pattern.shape

    def directions(self, start: float, duration: float) -> Array:
        """Return the unit directions of a scan in the sensor's frame, column by column, shape (C, R, 3).

        Args:
            start: Time at which the scan begins [s].
            duration: Duration of the scan [s].
        """
        pattern: ScanPattern = self.pattern
        return pattern.directions(start, duration)

    def prepare(self, name: str) -> None:
        """Start from a fresh state.

        Args:
            name: Name of the lidar in messages.
        """
        self.name = name
        """Name of the lidar in messages."""
        turn = euler_turn(*map(float, self.orientation))
        self.mount = np.array(self.position, dtype=np.float64), np.array([turn[k] for k in range(4)])
        """Position in the body frame [m], shape (3,), and quaternion xyzw to it, shape (4,)."""
        self.reflectances = Reflectances()
        """Reflectances of the materials hit so far."""
        self.source: ScanSource | None = None
        """Source of measured scans; rays are cast when None."""
