"""The base of every sensor: a rate, a stream of random numbers, and a reading when it is due."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pegasus.arrays import Array
from pegasus.errors import ConfigError
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor

_LOWEST_RATE = 1e-3  # [Hz]


@dataclass(frozen=True, eq=False)
class Reading:
    """What a sensor gives at one instant; subclasses add arrays with the leading axis N."""

    stamp: float
    """Simulation time at which the reading was given [s]."""


# How many numbers are drawn at a time from each stream.
_BLOCK = 1024


class Sensor(ABC):
    """Base of a sensor on N identical vehicles.

    A subclass declares `rate_hz` and implements `measure`. It overrides `bind` (and calls the base's) to
    prepare its own state; `bind` is called again when the simulation is reset, with the same stream anew.
    """

    rate_hz: float
    """Readings per second of simulated time [Hz]."""

    count: int
    """Number of vehicles N; set by `bind`."""
    environment: "Environment"
    """Gravity, air, wind, magnetic field and geographic origin; set by `bind`."""
    rng: np.random.Generator
    """This sensor's own stream, shared by all N vehicles; set by `bind`."""
    _rngs: list[np.random.Generator]

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle and start from a fresh state.

        Args:
            vehicle: The vehicle that carries the sensor.
            environment: The environment that the vehicle flies in.
            rng: Random stream of this sensor alone.
        """
        self.count, self.environment, self.rng = vehicle.count, environment, rng
        self._rngs = []

    @property
    def rngs(self) -> list[np.random.Generator]:
        """One stream for each of the N vehicles, the same for a vehicle however many there are."""
        if not self._rngs:
            self._rngs = self.rng.spawn(self.count)
        return self._rngs

    def follow(self, state: VehicleState, t: float) -> None:  # noqa: B027
        """Look at the state of a step, due or not; called at every step, before `measure`, where overridden.

        Args:
            state: True state at t; live arrays, to be copied if kept.
            t: Simulation time [s].
        """

    @abstractmethod
    def measure(self, state: VehicleState, t: float) -> Reading:
        """Return the reading at simulation time t; called at the first step at or after each due instant.

        Args:
            state: True state at t; live arrays, to be copied if kept.
            t: Simulation time [s].
        """


class Schedule:
    """Tell at which physics steps a sensor is due, so that its long-run rate is exact.

    The k-th reading is due at k / rate. It is taken at the first step whose time is not before that;
    integers are compared, so nothing is ever rounded.

    Args:
        rate_hz: Rate of the sensor [Hz].
        physics_rate_hz: Rate of the physics [Hz].
        name: Name of the sensor, for the error message.

    Raises:
        ConfigError: If the rate is too low to be told from zero, or above the rate of the physics.
    """

    def __init__(self, rate_hz: float, physics_rate_hz: float, *, name: str) -> None:
        if not _LOWEST_RATE <= rate_hz <= physics_rate_hz:
            raise ConfigError(
                f"must be {_LOWEST_RATE:g} Hz or more and at most the physics rate of {physics_rate_hz:g} Hz",
                field=f"sensors.{name}.rate_hz",
                value=rate_hz,
                remedy="lower the sensor's rate or raise the simulation's",
            )
        physics, sensor = (Fraction(rate).limit_denominator(10**6) for rate in (physics_rate_hz, rate_hz))
        ratio = physics / sensor
        self._numerator, self._denominator = ratio.numerator, ratio.denominator
        self._due = 0

    def due(self, step: int) -> bool:
        """Return whether a reading is due at a step, and if so move on to the next one.

        Args:
            step: Number of the physics step, counted from 0; must not decrease between calls.
        """
        if step < self._due:
            return False
        # The next due instant k / rate after this step, and the first step at or after it.
        k = step * self._denominator // self._numerator + 1
        self._due = -(-k * self._numerator // self._denominator)
        return True


class NoiseBlock:
    """Standard normal numbers of N vehicles, drawn in blocks and handed out one row of each at a time.

    The numbers of a vehicle are those of its generator in their order, whatever the size of the blocks, as
    long as nothing else draws from it.

    Args:
        rngs: Streams to draw from, one for each vehicle.
        shape: Shape of what one vehicle needs at a time.
    """

    def __init__(self, rngs: Sequence[np.random.Generator], shape: tuple[int, ...]) -> None:
        self._rngs = rngs
        self._shape = (max(1, _BLOCK // max(1, math.prod(shape))), *shape)
        self._block = np.empty((0, len(rngs), *shape))
        self._next = 0

    def take(self) -> Array:
        """Return the next row of each vehicle, shape (N, *shape); valid until the next call."""
        if self._next == len(self._block):
            self._block = np.stack([rng.standard_normal(self._shape) for rng in self._rngs], axis=1)
            self._next = 0
        row: Array = self._block[self._next]
        self._next += 1
        return row
