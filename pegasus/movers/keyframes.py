"""Smooth curves through values at given times, without overshoot."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import finite_numbers, require


class Keyframes:
    """Monotone cubic curve through values, with a continuous rate (Fritsch and Butland 1984).

    Where a value rises and then falls, or stays, its rate is 0, so that no value goes beyond its neighbours.

    Args:
        times: Rising times [s], shape (n,).
        values: Values at these times, shape (n, d).
        repeat: Whether the curve begins again at the last time.
    """

    def __init__(self, times: Sequence[float], values: Array, *, repeat: bool) -> None:
        self._times, self._repeat = [float(t) for t in times], repeat
        slopes = np.diff(values, axis=0) / np.diff(np.array(self._times))[:, None]
        rest = np.zeros((1, values.shape[1]))
        before, after = (slopes[-1:], slopes[:1]) if repeat else (rest, rest)
        left, right = np.concatenate([before, slopes]), np.concatenate([slopes, after])
        total = left + right
        same = left * right > 0.0
        # Harmonic mean of the slopes on both sides.
        rates = np.where(same, 2.0 * left * right / np.where(same, total, 1.0), 0.0)
        # Numbers of Python: NumPy takes ten times as long for so few.
        self._values, self._rates = values.tolist(), rates.tolist()

    @classmethod
    def checked(
        cls, times: Sequence[float], values: Sequence[Any] | Array, *, repeat: bool, field: str
    ) -> "Keyframes":
        """Return the curve through values.

        Args:
            times: Times [s].
            values: Values, shape (n,) or (n, d).
            repeat: Whether the curve begins again at the last time.
            field: Name of the values in messages.

        Raises:
            ConfigError: If there are fewer than two times, they do not rise, numbers are not finite, or a
                curve that repeats does not end where it begins.
        """
        several = len(times) >= 2
        require(several, "times", tuple(times), "must hold at least two times")
        finite_numbers("times", times, (len(times),))
        rising = all(a < b for a, b in pairwise(times)) and times[0] >= 0
        require(rising, "times", tuple(times), "must rise from 0 s or later")
        fits = len(values) == len(times)
        require(fits, field, len(values), f"must hold one entry for each of the {len(times)} times")
        shape = np.shape(values)
        table = finite_numbers(field, np.asarray(values), shape).reshape(len(times), -1)
        closed = not repeat or bool(np.array_equal(table[0], table[-1]))
        require(closed, field, values[-1], f"must end as it begins, {values[0]}, to be repeated")
        return cls(times, table, repeat=repeat)

    def at(self, t: float) -> list[float]:
        """Return the values at a time [s], d of them; the first and the last ones outside."""
        times = self._times
        if self._repeat and t > times[-1]:
            t = times[0] + math.fmod(t - times[0], times[-1] - times[0])
        k = min(max(bisect_right(times, t) - 1, 0), len(times) - 2)
        h = times[k + 1] - times[k]
        s = min(max((t - times[k]) / h, 0.0), 1.0)
        return [
            a
            + s
            * (h * da + s * (3.0 * (b - a) - 2.0 * (h * da) - h * db + s * (2.0 * (a - b) + h * da + h * db)))
            for a, b, da, db in zip(
                self._values[k], self._values[k + 1], self._rates[k], self._rates[k + 1], strict=True
            )
        ]
