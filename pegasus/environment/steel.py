"""Steel objects of a world, whose magnetisation disturbs the Earth's field about them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pegasus.base.components import require, require_vector
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Vec3, dot, length, norm

_MAGNETIC_CONSTANT = 4e-7 * math.pi
"""Permeability of free space [T m/A]; it differs from this value by 1e-10."""


@dataclass(frozen=True, kw_only=True)
class SteelObject:
    """Steel ball that the Earth's field magnetises, and that may be a magnet besides."""

    position: tuple[float, float, float]
    """Centre in the world [m]."""
    radius: float
    """Radius [m]; of a compact object that of the ball around it."""
    moment: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Permanent magnetic moment in the world [A m^2]."""

    def __post_init__(self) -> None:
        require_vector("position", self.position, unit="m")
        require(0 < self.radius < math.inf, "radius", self.radius, "must be above 0 m and finite")
        require_vector("moment", self.moment, unit="A m^2")

    def total_moment(self, earth_field: Sequence[float]) -> tuple[float, ...]:
        """Return the permanent and the induced magnetic moment [A m^2].

        A ball of high permeability, solid or hollow, has the moment 4 pi a^3 B / mu_0 in the field B.
        Source: Jackson 1999, "Classical Electrodynamics", 3rd edition, sec. 5.11 and 5.12.

        Args:
            earth_field: The Earth's field there [T].
        """
        polarizability = 4 * math.pi * self.radius * self.radius * self.radius / _MAGNETIC_CONSTANT
        return tuple(m + polarizability * b for m, b in zip(self.moment, earth_field, strict=True))


@dataclass(frozen=True)
class SteelParameters:
    """Parameters of `steel_flux_density`."""

    numbers: tuple[float, ...]
    """Position [m], radius [m] and moment [A m^2] of each object, seven numbers each."""


def steel_flux_density(p: SteelParameters, position: Vec3) -> Vec3:
    """Return the field of dipoles, mu_0 / 4 pi (3 (m . n) n - m) / r^3 [T], world ENU.

    Within an object it is that on its surface. Source: Jackson 1999, eq. 5.56.

    Args:
        p: Parameters.
        position: Position in the world [m].
    """
    total = Vec3(0.0, 0.0, 0.0)
    for k in range(length(p.numbers) // 7):
        j = 7 * k
        away = position - Vec3(p.numbers[j], p.numbers[j + 1], p.numbers[j + 2])
        distance = norm(away)
        if distance > 0.0:
            moment = Vec3(p.numbers[j + 4], p.numbers[j + 5], p.numbers[j + 6])
            away = away * (1.0 / distance)
            if distance < p.numbers[j + 3]:
                distance = p.numbers[j + 3]
            scale = 1e-7 / (distance * distance * distance)
            total += (away * (3.0 * dot(moment, away)) - moment) * scale
    return total


STEEL_FIELD = RowMap(steel_flux_density)
