"""Wind: the velocity of the air over the world and over time."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import ConfigDict

from pegasus.arrays import Array, namespace, row_product
from pegasus.components import require
from pegasus.vectors import require_vector

Spectrum = Literal["von_karman", "dryden"]

# Waves times positions that are computed at once: larger arrays leave the cache and cost fresh pages.
_BLOCK = 16_384


class Modes(NamedTuple):
    """Waves that add up to a turbulent field, M of them."""

    wave_vector: Array
    """Wave vectors in cycles per metre [1/m], shape (3, M)."""
    frequency: Array
    """Cycles per second that a point at rest sees as the field drifts past [Hz], shape (M,)."""
    amplitude: Array
    """Velocities of the cosine and of the sine of each wave [m/s], shape (2, M, 3)."""


def turbulence(position: Array, t: float, *, modes: Modes) -> Array:
    """Return the velocity of a drifting field of waves [m/s], shape (N, 3).

    Whole cycles are taken off in double precision; sine and cosine of what is left are computed in single
    precision, some thirty times faster, which leaves an error of 1e-6 of the intensity. Row by row the same
    operations are done whatever N is.

    Args:
        position: Positions in the world [m], shape (N, 3).
        t: Time [s].
        modes: The waves.
    """
    xp = namespace(position)
    cycles = row_product(position, modes.wave_vector) - modes.frequency * t
    phase = xp.astype((cycles - xp.floor(cycles)) * (2 * math.pi), xp.float32)
    cosine, sine = xp.astype(xp.cos(phase), xp.float64), xp.astype(xp.sin(phase), xp.float64)
    return row_product(cosine, modes.amplitude[0, ...]) + row_product(sine, modes.amplitude[1, ...])


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
        return 8 * length_scale / math.pi * x**4 / (1 + x**2) ** 3
    x = 1.339 * length_scale * wavenumber
    return 55 * length_scale / (9 * math.pi) * x**4 / (1 + x**2) ** (17 / 6)


class Wind(ABC):
    """Base of wind models: a dataclass with a velocity over position and time."""

    calm: ClassVar[bool] = False
    """Whether the air is always at rest, so that nobody needs to ask for its velocity."""

    def bind(self, rng: np.random.Generator) -> None:  # noqa: B027
        """Take the random stream of this wind alone; called before the first step and again at each reset.

        Args:
            rng: Random stream.
        """

    @abstractmethod
    def velocity(self, position: Array, t: float) -> Array:
        """Return the velocity of the air in the world, ENU [m/s], shape (N, 3).

        It must be a function of position and time alone, the same however many positions are asked for.

        Args:
            position: Positions in the world [m], shape (N, 3).
            t: Simulation time [s].
        """


@dataclass(frozen=True)
class NoWind(Wind):
    """Air at rest."""

    calm: ClassVar[bool] = True

    def velocity(self, position: Array, t: float) -> Array:
        """Return zeros; see `Wind.velocity`."""
        return np.zeros(position.shape)


@dataclass(frozen=True)
class ConstantWind(Wind):
    """Wind that is the same everywhere and at all times."""

    mean_velocity: tuple[float, float, float]
    """Velocity of the air in the world, ENU: where it goes to [m/s]."""

    def __post_init__(self) -> None:
        require_vector("mean_velocity", self.mean_velocity, unit="m/s")

    def velocity(self, position: Array, t: float) -> Array:
        """Return the wind velocity; see `Wind.velocity`."""
        velocity = np.empty(position.shape)
        velocity[:] = self.mean_velocity
        return velocity


@dataclass(frozen=True)
class DiscreteGust:
    """A gust that builds up as 1 - cos, holds, and dies down as it came, everywhere at once.

    Source: MIL-F-8785C, sec. 3.7.1.3, with the gust's length over the speed through it as the rise time.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", allow_inf_nan=False)

    amplitude: tuple[float, float, float]
    """Velocity at its height, ENU [m/s]."""
    start: float
    """Time at which it begins [s]."""
    rise_time: float
    """Time that it takes to build up, and to die down [s]."""
    hold_time: float = 0.0
    """Time that it stays at its height [s]."""

    def __post_init__(self) -> None:
        require_vector("amplitude", self.amplitude, unit="m/s")
        require(math.isfinite(self.start), "start", self.start, "must be a finite time [s]")
        require(self.rise_time > 0, "rise_time", self.rise_time, "must be above 0 s")
        require(self.hold_time >= 0, "hold_time", self.hold_time, "must be at least 0 s")

    def share(self, t: float) -> float:
        """Return the share of the amplitude that is there at time t, 0 to 1.

        Args:
            t: Simulation time [s].
        """
        risen = (t - self.start) / self.rise_time
        fallen = risen - 1 - self.hold_time / self.rise_time
        risen, fallen = min(max(risen, 0.0), 1.0), min(max(fallen, 0.0), 1.0)
        return (math.cos(math.pi * fallen) - math.cos(math.pi * risen)) / 2


@dataclass
class Gusts(Wind):
    """A mean wind with turbulence, and a discrete gust if wanted.

    The turbulence is isotropic, homogeneous and free of divergence: a sum of random waves whose energy is
    spread over the wavenumbers as the spectrum says (Kraichnan 1970). The field is frozen and drifts with
    the mean wind (Taylor's hypothesis); in still air it stands, and only motion through it is felt.
    """

    mean_velocity: tuple[float, float, float]
    """Mean velocity of the air in the world, ENU: where it goes to [m/s]."""
    intensity: float = 1.0
    """Standard deviation of each component of the turbulence [m/s]."""
    length_scale: float = 50.0
    """Integral length scale: over this distance the component along it loses correlation [m]."""
    spectrum: Spectrum = "von_karman"
    """Form of the energy spectrum."""
    shortest_wavelength: float = 1.0
    """Eddies shorter than this are left out, as they average out over the vehicle [m].

    The others are scaled up to the intensity.
    """
    mode_count: int = 128
    """Number of waves; more of them make each run's statistics come closer to the ensemble's."""
    gust: DiscreteGust | None = None
    """Discrete gust on top; none when left out."""

    _modes: Modes | None = field(init=False, default=None, repr=False, compare=False)

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
        direction = rng.standard_normal((self.mode_count, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        # Cosine and sine are square to the wave vector, so that nothing diverges, and to each other, so
        # that every wave has the same energy everywhere. Both senses of turning are equally likely.
        cosine = np.cross(direction, rng.standard_normal((self.mode_count, 3)))
        cosine /= np.linalg.norm(cosine, axis=1, keepdims=True)
        sine = np.cross(direction, cosine) * rng.choice([-1.0, 1.0], (self.mode_count, 1))
        wave_vector = np.ascontiguousarray((direction * wavenumber[:, None] / (2 * np.pi)).T)
        amplitude = self.intensity * math.sqrt(3 / self.mode_count)
        self._modes = Modes(
            wave_vector=wave_vector,
            frequency=row_product(np.array([self.mean_velocity]), wave_vector)[0],
            amplitude=amplitude * np.stack([cosine, sine]),
        )

    def velocity(self, position: Array, t: float) -> Array:
        """Return the wind velocity; see `Wind.velocity`.

        Raises:
            RuntimeError: If no random stream was bound.
        """
        if self._modes is None:
            raise RuntimeError("the gusts have no random stream yet; call bind(rng) first")
        block = max(1, _BLOCK // self.mode_count)
        velocity = np.concatenate(
            [
                turbulence(position[first : first + block], t, modes=self._modes)
                for first in range(0, len(position), block)
            ]
        )
        velocity += self.mean_velocity
        if self.gust is not None:
            velocity += self.gust.share(t) * np.asarray(self.gust.amplitude)
        return velocity

    def _draw_wavenumbers(self, rng: np.random.Generator) -> Array:
        """Draw one wavenumber [rad/m] from each of as many equal shares of the energy as there are waves."""
        longest, shortest = 1e-3 / self.length_scale, 2 * math.pi / self.shortest_wavelength
        grid = np.geomspace(longest, shortest, 4096)
        density = energy_spectrum(grid, spectrum=self.spectrum, length_scale=self.length_scale)
        energy = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(grid))])
        shares = (np.arange(self.mode_count) + rng.random(self.mode_count)) / self.mode_count
        wavenumbers: Array = np.interp(shares * energy[-1], energy, grid)
        return wavenumbers
