"""Thermals: rising columns of air by the model of Allen (2006)."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Real, Vec3, magnitude, maximum, minimum, power, sin, sqrt
from pegasus.environment.wind import Wind

_PI = math.pi
_NEVER = 1e300

SHAPES = (
    *(0.14, 1.5352, 2.5826, -0.0113, -0.1950),
    *(0.25, 1.5265, 3.6054, -0.0176, -0.1265),
    *(0.36, 1.4866, 4.8356, -0.0320, -0.0818),
    *(0.47, 1.2042, 7.7904, 0.0848, -0.0445),
    *(0.58, 0.8816, 13.9720, 0.3404, -0.0216),
    *(0.69, 0.7067, 23.9940, 0.5689, -0.0099),
    *(0.80, 0.6189, 42.7965, 0.7157, -0.0033),
)
"""Ratio r_1 / r_2 and shape constants k_1 to k_4, seven rows (Allen 2006, table 2)."""


@dataclass(frozen=True, eq=False)
class ThermalParameters:
    """Parameters of `thermals_at`."""

    count: int
    """Number of thermals."""
    table: tuple[float, ...]
    """Four numbers for each thermal: centre at its birth [m], birth and end [s]."""
    drift: tuple[float, float, float]
    """Velocity of the centres, ENU [m/s]."""
    convective_velocity: float
    """Convective velocity scale w* [m/s]."""
    mixing_height: float
    """Height z_i of the mixed layer above the ground [m]."""
    ground: float
    """Height of the ground in the world [m]."""
    shapes: tuple[float, ...] = SHAPES


def thermals_at(p: ThermalParameters, position: Vec3, t: Real) -> Vec3:
    """Return the velocity of the air in thermals, ENU [m/s]; updrafts of several thermals are added.

    Source: Allen 2006, "Updraft model for development of autonomous soaring uninhabited air vehicles",
    AIAA 2006-1510, eq. 5 to 17, without the sink of the environment.

    Args:
        p: Parameters.
        position: Position in the world [m].
        t: Time [s].
    """
    share = (position[2] - p.ground) / p.mixing_height
    total = 0.0
    if share > 0.0 and share < 1.0 / 1.1:
        root = power(share, 1.0 / 3.0)
        mean = p.convective_velocity * root * (1.0 - 1.1 * share)
        outer = maximum(0.102 * root * (1.0 - 0.25 * share) * p.mixing_height, 10.0)
        for k in range(p.count):
            born = p.table[4 * k + 2]
            gone = p.table[4 * k + 3]
            if t >= born and t < gone:
                east = position[0] - p.table[4 * k] - p.drift[0] * (t - born)
                north = position[1] - p.table[4 * k + 1] - p.drift[1] * (t - born)
                distance = sqrt(east * east + north * north)
                total += life_share(t, born, gone) * updraft(p, distance / outer, outer, mean, share)
    return Vec3(0.0, 0.0, total)


def life_share(t: Real, born: Real, gone: Real) -> Real:
    """Return the strength of a thermal during its life, 0 to 1: half a sine; 1 of one that lasts."""
    if gone >= _NEVER:
        return 1.0
    return sin(_PI * (t - born) / (gone - born))


def updraft(p: ThermalParameters, place: Real, outer: Real, mean: Real, share: Real) -> Real:
    """Return the vertical velocity of the air in a thermal [m/s].

    Args:
        p: Parameters.
        place: Distance from the axis by the outer radius, r / r_2.
        outer: Outer radius r_2 [m].
        mean: Mean updraft of the thermal at this height [m/s].
        share: Height by that of the mixed layer, z / z_i.
    """
    ratio = minimum(0.0011 * outer + 0.14, 0.8)
    k = 0
    for row in range(6):
        if ratio >= 0.5 * (p.shapes[5 * row] + p.shapes[5 * row + 5]):
            k = 5 * (row + 1)
    peak = 3.0 * mean * (1.0 - ratio) / (1.0 - ratio * ratio * ratio)
    inside = 1.0 + power(p.shapes[k + 1] * magnitude(place + p.shapes[k + 3]), p.shapes[k + 2])
    rising = peak * maximum(1.0 / inside + p.shapes[k + 4] * place, 0.0)
    sinking = 0.0
    if share > 0.5 and share <= 0.9 and place > ratio and place < 2.0:
        sinking = minimum(2.5 * (share - 0.5) * (_PI / 6.0) * sin(_PI * place), 0.0)
    return rising + sinking * mean


@dataclass
class Thermals(Wind):
    """Thermals at given or random places, which drift and may end."""

    law: ClassVar = staticmethod(thermals_at)
    varies: ClassVar[bool] = True

    convective_velocity: float = 2.0
    """Convective velocity scale w* [m/s]: 1 weak, 2.5 strong."""
    mixing_height: float = 1400.0
    """Height z_i of the mixed layer above the ground [m]."""
    centers: list[tuple[float, float]] | None = None
    """Centres of the thermals at their birth [m]; drawn at random from `area` if None."""
    count: int = 1
    """Number of thermals that are drawn at random."""
    area: tuple[float, float] = (1000.0, 1000.0)
    """Lengths along x and y of the area around the origin in which they are drawn [m]."""
    drift: tuple[float, float] = (0.0, 0.0)
    """Velocity of the centres, east and north; that of the mean wind [m/s]."""
    lifetime: float | None = None
    """Time from birth to end, over which the strength is half a sine [s]; they last if None."""
    births: list[float] | None = None
    """Time of each birth [s]; 0 if None, that of random thermals with a lifetime within half of it."""
    ground: float = 0.0
    """Height of the ground in the world [m]."""

    def __post_init__(self) -> None:
        for name, unit in (("convective_velocity", "m/s"), ("mixing_height", "m")):
            value = getattr(self, name)
            require(0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")
        require(math.isfinite(self.ground), "ground", self.ground, "must be finite")
        whole = isinstance(self.count, int) and self.count >= 1
        require(whole, "count", self.count, "must be a whole number, at least 1")
        require(min(self.area) > 0, "area", self.area, "must hold two lengths above 0 m")
        finite = all(math.isfinite(v) for v in (*self.drift, *self.area))
        require(finite, "drift", self.drift, "must be finite")
        life = self.lifetime
        require(life is None or 0 < life < math.inf, "lifetime", life, "must be above 0 s and finite")
        number = self.count if self.centers is None else len(self.centers)
        require(number > 0, "centers", self.centers, "must hold at least one point")
        if self.births is not None and len(self.births) != number:
            raise ConfigError(
                f"must hold {number} times, one for each thermal", field="births", value=self.births
            )
        self._drawn: Array | None = None

    def bind(self, rng: np.random.Generator) -> None:
        """Draw the places, if none are given; see `Wind.bind`."""
        self._drawn = rng.random((self.count, 3))
        self.__dict__.pop("parameters", None)

    def mean_at(self, position: Array) -> Array:
        """Return zeros: thermals are no mean wind."""
        return np.zeros(position.shape)

    @cached_property
    def parameters(self) -> ThermalParameters:
        """Return the parameters of `thermals_at`.

        Raises:
            RuntimeError: If random places were asked for and no random stream is bound.
        """
        births = self.births
        if self.centers is not None:
            centers = [(float(x), float(y)) for x, y in self.centers]
        else:
            if self._drawn is None:
                raise RuntimeError("the thermals have no random stream; call bind(rng) first")
            centers = [
                ((a - 0.5) * self.area[0], (b - 0.5) * self.area[1]) for a, b, _ in self._drawn.tolist()
            ]
            if births is None and self.lifetime is not None:
                births = [(c - 0.5) * self.lifetime for c in self._drawn[:, 2].tolist()]
        if births is None:
            births = [0.0] * len(centers)
        rows = [
            (x, y, born, _NEVER if self.lifetime is None else born + self.lifetime)
            for (x, y), born in zip(centers, births, strict=True)
        ]
        return ThermalParameters(
            count=len(rows),
            table=tuple(value for row in rows for value in row),
            drift=(*self.drift, 0.0),
            convective_velocity=self.convective_velocity,
            mixing_height=self.mixing_height,
            ground=self.ground,
        )
