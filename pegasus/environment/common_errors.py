"""Errors that the sensors of a world have in common, such as by its weather: processes over time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, row_product, sum_along
from pegasus.base.streams import stream

_BLOCK = 64
"""Number of instants that are computed at a time."""


@dataclass(frozen=True, eq=False)
class LinearProcess:
    """Discretisation of a stationary linear process of K states: x' = transition x + drive eta."""

    initial: Array
    """Square root of the stationary covariance, shape (K, K)."""
    transition: Array
    """Transition over an interval, shape (K, K)."""
    drive: Array
    """Square root of the covariance of the noise of an interval, shape (K, K)."""
    interval: float
    """Interval [s]."""


class CommonError:
    """One path of a linear process for all sensors of a world, held between its instants.

    Args:
        process: The process.
        seed: Seed of the path.
        name: Name of the path.
        axes: Number of independent components A.
    """

    _number: int
    """Number of the instant that was asked for last."""
    _value: Array
    """States then."""

    def __init__(self, process: LinearProcess, seed: int, name: str, axes: int) -> None:
        self._process, self._seed, self._name = process, seed, name
        self._shape = len(process.initial), axes
        self._start()

    def at(self, t: float) -> Array:
        """Return the states at an instant, shape (K, A); instants far before the last one take long.

        Args:
            t: Simulation time [s].
        """
        number = int(t / self._process.interval)
        if number == self._number:
            return self._value
        if number < self._first:
            self._start()
        while number >= self._first + len(self._values):
            self._extend()
        self._number = number
        self._value = self._values[number - self._first]
        return self._value

    def _start(self) -> None:
        self._rng = stream(self._seed, self._name)
        self._first = 0
        """Number of the first instant that is kept."""
        self._values: Array = row_product(self._process.initial, self._rng.standard_normal(self._shape))[None]
        self._number, self._value = 0, self._values[0]

    def _extend(self) -> None:
        """Replace the instants that are kept by the last one and those that follow."""
        process, value = self._process, self._values[-1]
        normals = self._rng.standard_normal((_BLOCK, *self._shape))
        noise = sum_along(process.drive[:, :, None] * normals[:, None], 2)
        self._first += len(self._values) - 1
        values = [value]
        for k in range(_BLOCK):
            value = row_product(process.transition, value) + noise[k]
            values.append(value)
        self._values = np.array(values)


class CommonErrors:
    """Errors that the sensors of a world have in common, by kind of sensor and time constants.

    Args:
        seed: Seed of all paths.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._known: dict[tuple[str, tuple[float, ...]], CommonError] = {}

    def find(
        self, name: str, times: tuple[float, ...], make: Callable[..., LinearProcess], *, axes: int
    ) -> CommonError:
        """Return the error of a name, the same for all sensors with these time constants.

        Errors of one name and other time constants have the same random numbers.

        Args:
            name: Name of the error.
            times: Time constants [s], the arguments of `make`.
            make: Returns the process.
            axes: Number of independent components.
        """
        key = name, times
        if key not in self._known:
            self._known[key] = CommonError(make(*times), self._seed, name, axes)
        return self._known[key]
