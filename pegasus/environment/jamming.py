"""Jammers of satellite navigation in a world."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.components import require, require_vector
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Real, Vec3, dot, length, maximum, power

LOSS_RATIO = 10**1.6 - 1.0
"""Ratio of a jammer's to the noise's density at which receivers lose lock.

It lowers the carrier to noise density by 16 dB: from 44 dB-Hz in the open to 28 dB-Hz, where tracking ends
(Kaplan and Hegarty 2006, "Understanding GPS", 2nd edition, sec. 6.2).
"""

CLEARANCE = 0.1
"""Distance from a jammer within which nothing hides it, such as the wall that it is fixed to [m]."""

Cast = Callable[[Array, Array, float], Array]
"""Function from origins and directions of rays, shape (K, 3) each, and the longest distance [m], to distances
[m], infinite without a hit, shape (K,)."""


@dataclass(frozen=True, kw_only=True)
class Jammer:
    """Transmitter of noise, whose density falls with the square of the distance."""

    position: tuple[float, float, float]
    """Position in the world [m]."""
    radius: float
    """Distance within which receivers lose lock, in line of sight [m]."""
    shielded_by_world: bool = False
    """Whether the signal is weakened where the scene or a vehicle blocks the line of sight to a receiver."""
    obstruction_loss: float = 13.4
    """Loss without line of sight [dB].

    The default is the median loss of horizontal paths into traditional buildings at 1575.42 MHz, L_h of
    Recommendation ITU-R P.2109-2, Annex 1, section 3; that into thermally efficient ones is 27.9 dB.
    """

    def __post_init__(self) -> None:
        require_vector("position", self.position, unit="m")
        require(0 < self.radius < math.inf, "radius", self.radius, "must be above 0 m and finite")
        loss = self.obstruction_loss
        require(0 <= loss < math.inf, "obstruction_loss", loss, "must be at least 0 dB and finite")


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


def shielded_jamming(jammers: Sequence[Jammer], position: Array, cast: Cast) -> Array:
    """Return the ratio of the density of all jammers to that of the noise, less by what stands between.

    Args:
        jammers: The jammers, in the order in which they are added.
        position: Positions in the world [m], shape (N, 3).
        cast: Rays into the world.
    """
    total = np.zeros(len(position))
    for jammer in jammers:
        ratio: Array = JAMMING(JammerParameters((*jammer.position, jammer.radius)), position)
        if jammer.shielded_by_world:
            passing = power(10.0, -0.1 * jammer.obstruction_loss)
            ratio = np.where(_is_hidden(jammer, position, cast), ratio * passing, ratio)
        total += ratio
    return total


def _is_hidden(jammer: Jammer, position: Array, cast: Cast) -> BoolArray:
    """Return whether something stands between a jammer and each position, shape (N,)."""
    away = np.array(jammer.position) - position
    distance = np.sqrt(away[:, 0] ** 2 + away[:, 1] ** 2 + away[:, 2] ** 2)
    apart = distance > CLEARANCE
    directions = away / np.where(apart, distance, 1.0)[:, None]
    directions[~apart] = 0.0, 0.0, 1.0
    hits = cast(position, directions, float(distance.max()))
    hidden: BoolArray = apart & (hits < distance - CLEARANCE)
    return hidden
