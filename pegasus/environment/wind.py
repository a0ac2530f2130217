"""Wind models: velocity of the air over position and time."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict

from pegasus.base.arrays import Array
from pegasus.base.components import require, require_vector
from pegasus.base.elementary_arrays import exp, log
from pegasus.base.frames import cross, normalize
from pegasus.base.registry import Registry
from pegasus.base.row_map import StepModel
from pegasus.base.step_math import Real, Vec3, cos, floor, maximum, minimum

Spectrum = Literal["von_karman", "dryden"]

_PI = math.pi
_QUARTER_TURN = math.pi / 2


@dataclass(frozen=True)
class WindParameters:
    """Parameters of `wind_at`: mean wind, waves of a turbulent field, and a discrete gust."""

    mean_velocity: tuple[float, float, float]
    """Mean velocity of the air in the world, ENU [m/s]."""
    mode_count: int = 0
    """Number of waves."""
    modes: tuple[float, ...] = ()
    """Ten numbers for each wave: wave vector in cycles per metre [1/m], frequency at a point at rest as the
    field drifts past [Hz], velocity amplitudes of cosine and sine [m/s]."""
    gust_amplitude: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Peak velocity of the discrete gust, ENU [m/s]."""
    gust_start: float = 0.0
    """Start time [s]."""
    gust_rise_time: float = 1.0
    """Rise time, also of the fall [s]."""
    gust_hold_time: float = 0.0
    """Hold time at the peak [s]."""


def wind_at(p: WindParameters, position: Vec3, t: Real) -> Vec3:
    """Return the velocity of the air in the world, ENU [m/s].

    Args:
        p: Parameters.
        position: Position in the world [m].
        t: Time [s].
    """
    share = gust_share(t, p.gust_start, p.gust_rise_time, p.gust_hold_time)
    east = p.mean_velocity[0] + share * p.gust_amplitude[0]
    north = p.mean_velocity[1] + share * p.gust_amplitude[1]
    up = p.mean_velocity[2] + share * p.gust_amplitude[2]
    for j in range(p.mode_count):
        k = 10 * j
        cycles = p.modes[k] * position[0] + p.modes[k + 1] * position[1] + p.modes[k + 2] * position[2]
        cosine, sine = circle_point(cycles - p.modes[k + 3] * t)
        east += p.modes[k + 4] * cosine + p.modes[k + 7] * sine
        north += p.modes[k + 5] * cosine + p.modes[k + 8] * sine
        up += p.modes[k + 6] * cosine + p.modes[k + 9] * sine
    return Vec3(east, north, up)


def gust_share(t: Real, start: Real, rise_time: Real, hold_time: Real) -> Real:
    """Return the share of a discrete 1 - cos gust in its amplitude, 0 to 1.

    Source: MIL-F-8785C, sec. 3.7.1.3.

    Args:
        t: Time [s].
        start: Start time [s].
        rise_time: Rise time, also of the fall [s].
        hold_time: Hold time at the peak [s].
    """
    risen = (t - start) / rise_time
    fallen = risen - 1.0 - hold_time / rise_time
    if risen <= 0.0 or fallen >= 1.0:
        return 0.0
    return (cos(_PI * maximum(fallen, 0.0)) - cos(_PI * minimum(risen, 1.0))) / 2.0


def circle_point(cycles: Real) -> tuple[Real, Real]:
    """Return cosine and sine of an angle, to 1e-15.

    The series of an angle of at most pi / 4, doubled twice; some three times faster than a library.

    Args:
        cycles: Angle in whole turns.
    """
    x = _QUARTER_TURN * (cycles - floor(cycles + 0.5))
    z = x * x
    cosine = 1.0 / 479001600.0 - z * (1.0 / 87178291200.0)
    cosine = 1.0 / 40320.0 - z * (1.0 / 3628800.0 - z * cosine)
    cosine = 1.0 - z * (1.0 / 2.0 - z * (1.0 / 24.0 - z * (1.0 / 720.0 - z * cosine)))
    sine = 1.0 / 39916800.0 - z * (1.0 / 6227020800.0 - z * (1.0 / 1307674368000.0))
    sine = 1.0 / 5040.0 - z * (1.0 / 362880.0 - z * sine)
    sine = x * (1.0 - z * (1.0 / 6.0 - z * (1.0 / 120.0 - z * sine)))
    double_cosine = 1.0 - 2.0 * sine * sine
    double_sine = 2.0 * sine * cosine
    return 1.0 - 2.0 * double_sine * double_sine, 2.0 * double_sine * double_cosine


def energy_spectrum(wavenumber: Array, *, spectrum: Spectrum, length_scale: float) -> Array:
    """Return the energy spectrum E(k) of isotropic turbulence of unit intensity [m], shape (...).

    Its integral over all wavenumbers is 3/2. The Dryden form has the longitudinal correlation exp(-r / L);
    that of von Karman falls off with the power -5/3. Source: MIL-F-8785C, sec. 3.7.1.1-2; its one-dimensional
    spectra in three dimensions (Batchelor, The Theory of Homogeneous Turbulence, 1953).

    Args:
        wavenumber: Wavenumber k in radians per metre [rad/m], shape (...).
        spectrum: Which form.
        length_scale: Integral length scale L of the longitudinal component [m].
    """
    if spectrum == "dryden":
        x = length_scale * wavenumber
        square = x * x
        below = 1.0 + square
        return 8 * length_scale / math.pi * square * square / (below * below * below)
    x = 1.339 * length_scale * wavenumber
    square = x * x
    falloff = exp(-17 / 6 * log(1.0 + square))
    return 55 * length_scale / (9 * math.pi) * square * square * falloff


class Wind(StepModel):
    """Base of wind models, a dataclass.

    A subclass has a step function `law(parameters, position, t) -> velocity`, or overrides `velocity`.
    """

    _values: ClassVar[int] = 1

    calm: ClassVar[bool] = False
    """Whether the air is always at rest, so that callers may skip `velocity`."""
    varies: ClassVar[bool] = False
    """Whether each rotor feels the wind at its own place; else all feel that at the vehicle's origin."""

    @property
    def at_rotors(self) -> "Wind | None":
        """Return the part of this wind that each rotor feels at its own place; None for none."""
        return self if self.varies else None

    @property
    def turbulence(self) -> Any:
        """Return the part of this wind with a state for each vehicle, a `Turbulence`; None for none."""
        return None

    @property
    def must_cover(self) -> bool:
        """Return whether this wind is known in a part of space that must hold the world."""
        return False

    def require_cover(self, low: Array, high: Array) -> None:
        """Raise a ConfigError if this wind must cover a world and does not.

        Args:
            low: Lowest coordinates of the world's bounded collision shapes [m], shape (3,).
            high: Highest ones [m], shape (3,).
        """

    def mean_at(self, position: Array) -> Array:
        """Return the mean velocity of the air without gusts [m/s], shape (N, 3).

        Args:
            position: Positions in the world [m], shape (N, 3).
        """
        return self.velocity(position, 0.0)

    def bind(self, rng: np.random.Generator) -> None:
        """Bind the random stream; called before the first step and at each reset.

        Args:
            rng: Random stream of this wind.
        """

    def velocity(self, position: Array, t: float) -> Array:
        """Return the velocity of the air in the world, ENU [m/s], shape (N, 3).

        It must be a function of position and time only, independent of the number of positions.

        Args:
            position: Positions in the world [m], shape (N, 3).
            t: Simulation time [s].
        """
        velocity: Array = self._rows(self.parameters, position, t)
        return velocity


@dataclass(frozen=True)
class ConstantWind(Wind):
    """Constant wind."""

    law: ClassVar = staticmethod(wind_at)
    mean_velocity: tuple[float, float, float]
    """Velocity of the air in the world, ENU [m/s]."""

    def __post_init__(self) -> None:
        require_vector("mean_velocity", self.mean_velocity, unit="m/s")

    @cached_property
    def parameters(self) -> WindParameters:
        """Return the parameters of `wind_at`."""
        return WindParameters(self.mean_velocity)


@dataclass(frozen=True)
class NoWind(Wind):
    """Air at rest."""

    law: ClassVar = staticmethod(wind_at)
    calm: ClassVar[bool] = True

    @cached_property
    def parameters(self) -> WindParameters:
        """Return the parameters of `wind_at`."""
        return WindParameters((0.0, 0.0, 0.0))


@dataclass(frozen=True)
class DiscreteGust:
    """Discrete 1 - cos gust with rise, hold and fall, uniform in space.

    Source: MIL-F-8785C, sec. 3.7.1.3; the rise time is the gust length divided by the speed through it.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)

    amplitude: tuple[float, float, float]
    """Peak velocity, ENU [m/s]."""
    start: float
    """Start time [s]."""
    rise_time: float
    """Rise time, also of the fall [s]."""
    hold_time: float = 0.0
    """Hold time at the peak [s]."""

    def __post_init__(self) -> None:
        require_vector("amplitude", self.amplitude, unit="m/s")
        require(math.isfinite(self.start), "start", self.start, "must be a finite time [s]")
        require(self.rise_time > 0, "rise_time", self.rise_time, "must be above 0 s")
        require(self.hold_time >= 0, "hold_time", self.hold_time, "must be at least 0 s")

    def share(self, t: float) -> float:
        """Return the share of the amplitude at time t, 0 to 1.

        Args:
            t: Simulation time [s].
        """
        return gust_share(t, self.start, self.rise_time, self.hold_time)


@dataclass
class Gusts(Wind):
    """Mean wind with turbulence and an optional discrete gust.

    The turbulence is isotropic, homogeneous and divergence-free: a sum of random waves with the given energy
    spectrum (Kraichnan 1970). The field is frozen and drifts with the mean wind (Taylor's hypothesis);
    without mean wind it is static. Fields that are changed take effect at the next `bind`.
    """

    law: ClassVar = staticmethod(wind_at)
    # Plain Python takes a quarter of a millisecond for 128 waves.
    _few: ClassVar[int] = 0

    mean_velocity: tuple[float, float, float]
    """Mean velocity of the air in the world, ENU [m/s]."""
    intensity: float = 1.0
    """Standard deviation of each component of the turbulence [m/s]."""
    length_scale: float = 50.0
    """Integral length scale of the longitudinal component [m]."""
    spectrum: Spectrum = "von_karman"
    """Form of the energy spectrum."""
    shortest_wavelength: float = 1.0
    """Shortest wavelength; shorter eddies average out over the vehicle [m].

    The remaining waves are scaled up to the intensity.
    """
    mode_count: int = 128
    """Number of waves; with more waves the statistics of a run approach the ensemble."""
    gust: DiscreteGust | None = None
    """Additional discrete gust; None for none."""
    each_rotor: bool = False
    """Whether each rotor feels the waves at its own place; the cost is that of as many vehicles."""

    _parameters: WindParameters | None = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        require_vector("mean_velocity", self.mean_velocity, unit="m/s")
        require(self.intensity >= 0, "intensity", self.intensity, "must be at least 0 m/s")
        require(self.length_scale > 0, "length_scale", self.length_scale, "must be above 0 m")
        require(
            0 < self.shortest_wavelength <= self.length_scale,
            "shortest_wavelength",
            self.shortest_wavelength,
            f"must be above 0 m and at most the length scale of {self.length_scale:g} m",
        )
        whole = isinstance(self.mode_count, int) and self.mode_count >= 1
        require(whole, "mode_count", self.mode_count, "must be a whole number, at least 1")

    def bind(self, rng: np.random.Generator) -> None:
        """Draw the waves; see `Wind.bind`."""
        wavenumber = self._draw_wavenumbers(rng)
        direction = normalize(rng.standard_normal((self.mode_count, 3)))
        # Cosine and sine are perpendicular to the wave vector (no divergence) and to each other (constant
        # energy in space). Both senses of rotation are equally likely.
        cosine = normalize(cross(direction, rng.standard_normal((self.mode_count, 3))))
        sine = cross(direction, cosine) * rng.choice([-1.0, 1.0], (self.mode_count, 1))
        wave_vector = direction * (wavenumber[:, None] / (2 * np.pi))
        frequency = (wave_vector * self.mean_velocity).sum(axis=1)
        amplitude = self.intensity * math.sqrt(3 / self.mode_count)
        modes = np.column_stack([wave_vector, frequency, amplitude * cosine, amplitude * sine])
        gust = self.gust or DiscreteGust((0.0, 0.0, 0.0), start=0.0, rise_time=1.0)
        self._parameters = WindParameters(
            self.mean_velocity,
            self.mode_count,
            tuple(modes.reshape(-1).tolist()),
            gust.amplitude,
            gust.start,
            gust.rise_time,
            gust.hold_time,
        )

    @property
    def at_rotors(self) -> Wind | None:
        """Return this wind if each rotor feels it at its own place."""
        return self if self.each_rotor else None

    def mean_at(self, position: Array) -> Array:
        """Return the mean velocity; see `Wind.mean_at`."""
        mean: Array = np.broadcast_to(np.array(self.mean_velocity, dtype=np.float64), position.shape)
        return mean

    @property
    def parameters(self) -> WindParameters:
        """Return the parameters of `wind_at`.

        Raises:
            RuntimeError: If no random stream was bound.
        """
        if self._parameters is None:
            raise RuntimeError("the gusts have no random stream; call bind(rng) first")
        return self._parameters

    def _draw_wavenumbers(self, rng: np.random.Generator) -> Array:
        """Draw one wavenumber [rad/m] from each of `mode_count` equal shares of the energy."""
        longest, shortest = 1e-3 / self.length_scale, 2 * math.pi / self.shortest_wavelength
        grid = np.geomspace(longest, shortest, 4096)
        density = energy_spectrum(grid, spectrum=self.spectrum, length_scale=self.length_scale)
        energy = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
        shares = (np.arange(self.mode_count) + rng.random(self.mode_count)) / self.mode_count
        wavenumbers: Array = np.interp(shares * energy[-1], energy, grid)
        return wavenumbers


WINDS: Registry[Wind] = Registry(
    "wind model",
    group="pegasus.winds",
    shipped={
        "none": "pegasus.environment.wind:NoWind",
        "constant": "pegasus.environment.wind:ConstantWind",
        "log": "pegasus.environment.wind_profiles:LogWind",
        "power": "pegasus.environment.wind_profiles:PowerWind",
        "gusts": "pegasus.environment.wind:Gusts",
        "dryden": "pegasus.environment.turbulent_wind:DrydenWind",
        "von_karman": "pegasus.environment.turbulent_wind:VonKarmanWind",
        "discrete_gust": "pegasus.environment.composed_wind:GustWind",
        "thermals": "pegasus.environment.thermals:Thermals",
        "field": "pegasus.environment.wind_field:WindField",
        "sum": "pegasus.environment.composed_wind:SumWind",
    },
)
"""Winds by their name in YAML."""
