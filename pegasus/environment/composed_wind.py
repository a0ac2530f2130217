"""Composed winds: the sum of several, and a discrete gust as a wind of its own."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import build, require, require_vector
from pegasus.base.errors import ConfigError
from pegasus.base.step_math import Real, Vec3
from pegasus.environment.wind import WINDS, Wind, WindParameters, wind_at


@dataclass(frozen=True, kw_only=True)
class GustWind(Wind):
    """Discrete 1 - cos gust along any axis, uniform in space, without a mean wind.

    Source: MIL-F-8785C, sec. 3.7.1.3: a vehicle of airspeed V meets the peak of a gust of length d_m after
    d_m / V. The rise is given either by time, or by length and airspeed.
    """

    law: ClassVar = staticmethod(wind_at)

    amplitude: tuple[float, float, float]
    """Peak velocity, ENU [m/s]."""
    start: float
    """Start time [s]."""
    rise_time: float | None = None
    """Rise time, also of the fall [s]; that of length and airspeed if None."""
    gust_length: float | None = None
    """Length d_m from the start to the peak [m]."""
    airspeed: float | None = None
    """Speed V through the gust [m/s]."""
    hold_time: float = 0.0
    """Hold time at the peak [s]."""

    def __post_init__(self) -> None:
        require_vector("amplitude", self.amplitude, unit="m/s")
        require(math.isfinite(self.start), "start", self.start, "must be a finite time [s]")
        require(0 <= self.hold_time < math.inf, "hold_time", self.hold_time, "must be at least 0 s, finite")
        if (self.rise_time is None) == (self.gust_length is None or self.airspeed is None) or (
            self.rise_time is not None and (self.gust_length is not None or self.airspeed is not None)
        ):
            raise ConfigError(
                "give either the rise time, or both gust_length and airspeed",
                field="rise_time",
                value=self.rise_time,
            )
        for name, unit in (("rise_time", "s"), ("gust_length", "m"), ("airspeed", "m/s")):
            value = getattr(self, name)
            require(value is None or 0 < value < math.inf, name, value, f"must be above 0 {unit} and finite")

    def mean_at(self, position: Array) -> Array:
        """Return zeros: a gust is no mean wind."""
        return np.zeros(position.shape)

    @cached_property
    def parameters(self) -> WindParameters:
        """Return the parameters of `wind_at`."""
        rise = self.rise_time
        if rise is None:
            assert self.gust_length is not None
            assert self.airspeed is not None
            rise = self.gust_length / self.airspeed
        return WindParameters(
            (0.0, 0.0, 0.0),
            gust_amplitude=self.amplitude,
            gust_start=self.start,
            gust_rise_time=rise,
            gust_hold_time=self.hold_time,
        )


@dataclass(frozen=True, eq=False)
class SumParameters:
    """Parameters of `sum_at`."""

    laws: tuple[Callable[..., Vec3], ...]
    """Step function of each part."""
    parts: tuple[Any, ...]
    """Its parameters."""


def sum_at(p: SumParameters, position: Vec3, t: Real) -> Vec3:
    """Return the sum of the velocities of winds, ENU [m/s].

    Args:
        p: Parameters.
        position: Position in the world [m].
        t: Time [s].
    """
    total = p.laws[0](p.parts[0], position, t)
    for law, part in zip(p.laws[1:], p.parts[1:], strict=True):
        total = total + law(part, position, t)
    return total


@dataclass
class SumWind(Wind):
    """Sum of winds: a mean profile with turbulence, gusts and thermals, for instance.

    Each part has a step function; one at most is a turbulence with a state for each vehicle.
    """

    law: ClassVar = staticmethod(sum_at)

    parts: list[Any]
    """Winds, or their descriptions as in a world file; a part without `model` is constant."""

    _winds: tuple[Wind, ...] = field(init=False, default=(), repr=False, compare=False)
    _parameters: Any = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        require(
            isinstance(self.parts, Sequence) and len(self.parts) > 0,
            "parts",
            self.parts,
            "must be a list of winds, at least one",
        )
        self._winds = tuple(_wind_of(part, k) for k, part in enumerate(self.parts))
        turbulent = [k for k, wind in enumerate(self._winds) if wind.turbulence is not None]
        if len(turbulent) > 1:
            raise ConfigError(
                f"parts {', '.join(map(str, turbulent))} are turbulence of one state per vehicle",
                field="parts",
                remedy="leave one of them",
            )

    @property
    def winds(self) -> tuple[Wind, ...]:
        """The parts as winds."""
        return self._winds

    @property
    def at_rotors(self) -> Wind | None:
        """Return the sum of the parts that each rotor feels at its own place; None for none."""
        local = [part for wind in self._winds if (part := wind.at_rotors) is not None]
        if len(local) == len(self._winds):
            return self
        return SumWind(local) if local else None

    @property
    def turbulence(self) -> Any:
        """Return the part with a state for each vehicle; None for none."""
        return next((wind.turbulence for wind in self._winds if wind.turbulence is not None), None)

    def bind(self, rng: np.random.Generator) -> None:
        """Bind the random stream of all parts, in their order; see `Wind.bind`."""
        for wind in self._winds:
            wind.bind(rng)
        self._parameters = None

    @property
    def must_cover(self) -> bool:
        """Return whether a part must cover the world."""
        return any(wind.must_cover for wind in self._winds)

    def require_cover(self, low: Array, high: Array) -> None:
        """Raise a ConfigError if a part must cover the world and does not; see `Wind.require_cover`."""
        for k, wind in enumerate(self._winds):
            try:
                wind.require_cover(low, high)
            except ConfigError as error:
                raise error.within(field=f"parts.{k}") from None

    def mean_at(self, position: Array) -> Array:
        """Return the sum of the mean velocities; see `Wind.mean_at`."""
        total = np.zeros(position.shape)
        for wind in self._winds:
            total += wind.mean_at(position)
        return total

    @property
    def parameters(self) -> Any:
        """Return the parameters of `sum_at`."""
        if self._parameters is None:
            laws = tuple(_law(wind) for wind in self._winds)
            self._parameters = SumParameters(laws, tuple(wind.parameters for wind in self._winds))
        return self._parameters


def _wind_of(part: Any, k: int) -> Wind:
    """Return a part as a wind."""
    if isinstance(part, dict):
        part = build(Wind, WINDS, {"model": "constant", **part}, field=f"parts.{k}")
    require(isinstance(part, Wind), f"parts.{k}", part, "must be a wind, or a mapping with its model")
    wind: Wind = part
    if wind.step_function is None or type(wind).velocity is not Wind.velocity:
        raise ConfigError(
            "must have a step function",
            field=f"parts.{k}",
            value=type(wind).__name__,
            remedy="give its formula as a `law`, or do not add it to others",
        )
    return wind


def _law(wind: Wind) -> Callable[..., Vec3]:
    law = wind.step_function
    assert law is not None
    return law
