"""Winds with the turbulence of the military standards: Dryden's and von Karman's."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pegasus.base.components import require, require_vector
from pegasus.base.random_numbers import draw_key
from pegasus.base.step_math import log
from pegasus.environment.turbulence import FOOT, TurbulenceParameters, dryden
from pegasus.environment.von_karman import von_karman
from pegasus.environment.wind import Wind, WindParameters, wind_at

_HEIGHTS = (500, 1750, 3750, 7500, 15000, 25000, 35000, 45000, 55000, 65000, 75000, 80000)
_EXCEEDANCES = (2e-1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
_INTENSITIES = (
    (3.2, 2.2, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (4.2, 3.6, 3.3, 1.6, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (6.6, 6.9, 7.4, 6.7, 4.6, 2.7, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0),
    (8.6, 9.6, 10.6, 10.1, 8.0, 6.6, 5.0, 4.2, 2.7, 0.0, 0.0, 0.0),
    (11.8, 13.0, 16.0, 15.1, 11.6, 9.7, 8.1, 8.2, 7.9, 4.9, 3.2, 2.1),
    (15.6, 17.6, 23.0, 23.6, 22.1, 20.0, 16.0, 15.1, 12.1, 7.9, 6.2, 5.1),
    (18.7, 21.5, 28.4, 30.2, 30.7, 31.0, 25.2, 23.1, 17.5, 10.7, 8.4, 7.2),
)
"""Intensities [ft/s] by probability of exceedance and height [ft]: MIL-F-8785C, fig. 7."""


@dataclass
class Turbulence(Wind):
    """Base of turbulence with a state for each vehicle: mean wind and gusts that pass each vehicle.

    `velocity` is that of the mean wind: the turbulence is no field, but a signal that each vehicle meets.
    """

    law: ClassVar = staticmethod(wind_at)
    gust_law: ClassVar[Callable[..., Any]]
    """Step function of the turbulence; see `pegasus.environment.turbulence.dryden`."""
    _scale_length: ClassVar[float]

    mean_velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Mean velocity of the air, ENU [m/s]; add a profile as another part of a `sum` instead."""
    wind_at_20_ft: float | None = None
    """Speed of the mean wind 20 ft above the ground, of which low turbulence is made [m/s]; that of the mean
    wind there, of all parts of a sum, if None: 7.7 light, 15.4 moderate, 23.2 severe in the standard."""
    exceedance: float = 0.01
    """Probability that the turbulence at medium and high altitude is exceeded, 1e-6 to 0.2: 1e-2 light, 1e-3
    moderate, 1e-5 severe in the standard."""
    least_airspeed: float = 1.0
    """Speed at which turbulence passes vehicles that move slower through the air [m/s]."""
    ground: float = 0.0
    """Height of the ground in the world [m]."""

    key: int | None = field(init=False, default=None, repr=False, compare=False)
    """Key of the random numbers; drawn by `bind`."""

    def __post_init__(self) -> None:
        require_vector("mean_velocity", self.mean_velocity, unit="m/s")
        speed = self.wind_at_20_ft
        require(
            speed is None or 0 <= speed < math.inf, "wind_at_20_ft", speed, "must be at least 0 m/s, finite"
        )
        low, high = _EXCEEDANCES[-1], _EXCEEDANCES[0]
        allowed = f"must be from {low:g} to {high:g}"
        require(low <= self.exceedance <= high, "exceedance", self.exceedance, allowed)
        least = self.least_airspeed
        require(0 < least < math.inf, "least_airspeed", least, "must be above 0 m/s and finite")
        require(math.isfinite(self.ground), "ground", self.ground, "must be finite")

    def bind(self, rng: np.random.Generator) -> None:
        """Draw the key of the random numbers; see `Wind.bind`."""
        self.key = draw_key(rng)

    @property
    def turbulence(self) -> "Turbulence":
        """Return this wind."""
        return self

    @cached_property
    def parameters(self) -> WindParameters:
        """Return the parameters of the mean wind."""
        return WindParameters(self.mean_velocity)

    def gust_parameters(self, wind: Wind) -> TurbulenceParameters:
        """Return the parameters of the turbulence in a wind.

        Args:
            wind: The whole wind, of which this is the turbulence.
        """
        speed = self.wind_at_20_ft
        if speed is None:
            mean = wind.mean_at(np.array([[0.0, 0.0, self.ground + 20 * FOOT]]))[0].tolist()
            speed = math.hypot(mean[0], mean[1])
        return TurbulenceParameters(
            wind_at_20_ft=speed,
            heights=tuple(float(h) for h in _HEIGHTS),
            intensities=exceeded_intensities(self.exceedance),
            scale_length=self._scale_length,
            least_airspeed=self.least_airspeed,
            ground=self.ground,
        )


def exceeded_intensities(exceedance: float) -> tuple[float, ...]:
    """Return the intensities at the heights of the table [m/s], linear in the logarithm of the probability.

    Args:
        exceedance: Probability of exceedance, 1e-6 to 0.2.
    """
    k = next(k for k in range(1, len(_EXCEEDANCES)) if exceedance >= _EXCEEDANCES[k])
    above, below = _EXCEEDANCES[k - 1], _EXCEEDANCES[k]
    share = log(above / exceedance) / log(above / below)
    rows = zip(_INTENSITIES[k - 1], _INTENSITIES[k], strict=True)
    return tuple(FOOT * (first + share * (second - first)) for first, second in rows)


@dataclass
class DrydenWind(Turbulence):
    """Turbulence with Dryden's spectra, MIL-F-8785C and MIL-HDBK-1797."""

    gust_law: ClassVar[Any] = staticmethod(dryden)
    _scale_length: ClassVar[float] = 1750 * FOOT


@dataclass
class VonKarmanWind(Turbulence):
    """Turbulence with von Karman's spectra by rational approximations, MIL-F-8785C and MIL-HDBK-1797."""

    gust_law: ClassVar[Any] = staticmethod(von_karman)
    _scale_length: ClassVar[float] = 2500 * FOOT
