"""Jammers of satellite navigation in a world."""

import math
from dataclasses import dataclass

from pegasus.base.components import require, require_vector
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Real, Vec3, dot, length, maximum

LOSS_RATIO = 10**1.6 - 1.0
"""Ratio of a jammer's to the noise's density at which receivers lose lock.

It lowers the carrier to noise density by 16 dB: from 44 dB-Hz in the open to 28 dB-Hz, where tracking ends
(Kaplan and Hegarty 2006, "Understanding GPS", 2nd edition, sec. 6.2).
"""


@dataclass(frozen=True, kw_only=True)
class Jammer:
    """Transmitter of noise, whose density falls with the square of the distance."""

    position: tuple[float, float, float]
    """Position in the world [m]."""
    radius: float
    """Distance within which receivers lose lock [m]."""

    def __post_init__(self) -> None:
        require_vector("position", self.position, unit="m")
        require(0 < self.radius < math.inf, "radius", self.radius, "must be above 0 m and finite")


@dataclass(frozen=True)
class JammerParameters:
    """Parameters of `jamming_ratio`."""

    numbers: tuple[float, ...]
    """Position [m] and radius [m] of each jammer, four numbers each."""


def jamming_ratio(p: JammerParameters, position: Vec3) -> Real:
    """Return the ratio of the density of all jammers to that of the noise.

    The carrier to noise density falls by the factor 1 + this, and the errors of ranges grow with its square
    root. Source: Kaplan and Hegarty 2006, eq. 6.6 for broadband jamming, and free space loss.

    Args:
        p: Parameters.
        position: Position in the world [m].
    """
    total = 0.0
    for k in range(length(p.numbers) // 4):
        j = 4 * k
        away = position - Vec3(p.numbers[j], p.numbers[j + 1], p.numbers[j + 2])
        radius = p.numbers[j + 3]
        total += LOSS_RATIO * (radius * radius) / maximum(dot(away, away), 1e-6)
    return total


JAMMING = RowMap(jamming_ratio)
