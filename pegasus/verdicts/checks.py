"""Checks of one expectation of a vehicle: of what must always hold, come true once, or hold at the end."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array, BoolArray
from pegasus.core.aircraft import Aircraft
from pegasus.recording.verdict import Verdict

_SLACK = 1e-9  # [s]


class Seen(NamedTuple):
    """What a look at a condition of N copies found."""

    holds: BoolArray
    """Whether it holds, shape (N,)."""
    known: BoolArray
    """Whether its quantities are known, shape (N,)."""
    value: npt.NDArray[Any] | None = None
    """The quantity, if the condition bounds just one, shape (N,)."""
    wrong: float = 0.0
    """Sign of the direction in which that leaves its bound."""


class Number(NamedTuple):
    """The quantity of a single vehicle, if the condition bounds just that."""

    read: Callable[[], float]
    """Returns its value."""
    holds: Callable[[float], bool]
    """Whether the condition holds for a value."""
    wrong: float
    """Sign of the direction in which it leaves its bound."""


class Look(NamedTuple):
    """Ways to look at a condition."""

    see: Callable[[], Seen]
    number: Number | None = None
    """The quicker one, of a single vehicle."""


class Check(ABC):
    """Check of an expectation of a vehicle.

    Args:
        vehicle: The vehicle.
        expected: What is expected, as text.
        look: Looks at the condition.
        window: Earliest and latest time [s].
        share: Share of the copies that must fulfil it.
    """

    in_flight: ClassVar[bool] = True
    """Whether the condition is looked at before the end of the flight."""

    def __init__(
        self, vehicle: Aircraft, expected: str, look: Look, window: tuple[float, float], share: float
    ) -> None:
        self._vehicle, self._expected, self._condition = vehicle, expected, look
        self._window, self._share = window, share
        self.begin()

    def begin(self) -> None:
        """Forget the flight so far."""
        count = self._vehicle.count
        self._known, self._marked = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self._times, self._values = np.full(count, math.nan), np.full(count, math.nan)
        self._worst, self._worst_time = np.full(count, math.nan), np.full(count, math.nan)
        self._sign, self._end = 0.0, math.nan

    def look(self, time: float) -> bool:
        """Look at the condition, and return whether the expectation fails now.

        Args:
            time: The time [s].
        """
        self._end = time
        if not self._window[0] - _SLACK <= time <= self._window[1] + _SLACK:
            return False
        if self._is_settled() or (
            self._condition.number is not None and self._is_right(self._condition.number, time)
        ):
            return False
        failed = self._failed().any()
        self._take(self._condition.see(), time)
        return bool(self._failed().any() and not failed)

    def verdict(self) -> Verdict:
        """Return the verdict on the flight so far."""
        missed = self._missed()
        passed = 1.0 - float(missed.mean()) >= self._share - 1e-12
        first = 0 if np.isnan(self._times).all() else int(np.nanargmin(self._times))
        time, value = float(self._times[first]), float(self._values[first])
        worst, worst_time = self._extreme(np.ones_like(missed) if passed else missed)
        return Verdict(
            vehicle=self._vehicle.name,
            expected=self._expected,
            passed=passed,
            reason=""
            if passed
            else self._reason(time, value, worst, worst_time)
            if self._known.any()
            else self._unseen(),
            time=time,
            value=value,
            worst=worst,
            worst_time=worst_time,
            copies=tuple(np.flatnonzero(missed).tolist()) if self._vehicle.count > 1 and not passed else (),
        )

    @property
    def pending(self) -> bool:
        """Whether it may still come true, if the flight goes on."""
        return not self._known.any()

    def _is_settled(self) -> bool:
        """Return whether no look can change the verdict."""
        return False

    def _is_right(self, number: Number, time: float) -> bool:
        """Note a value of a single vehicle, and return whether that is all that there is to note."""
        return False

    @abstractmethod
    def _take(self, seen: Seen, time: float) -> None:
        """Take what a look within the window found."""

    @abstractmethod
    def _failed(self) -> BoolArray:
        """Return which copies have failed for good, shape (N,)."""

    @abstractmethod
    def _missed(self) -> BoolArray:
        """Return which copies have failed if the flight ends now, shape (N,)."""

    @abstractmethod
    def _reason(self, time: float, value: float, worst: float, worst_time: float) -> str:
        """Return why it failed; with time [s] and value of the first copy that did, and the worst of all."""

    def _unseen(self) -> str:
        if self._window[0] > self._end + _SLACK:
            return f"was never looked at: the flight ended at {self._end:.2f} s"
        return "was never looked at: its quantity was not known"

    def _mark(self, fresh: BoolArray, seen: Seen, time: float) -> None:
        """Note time and value of copies that fail, or come true, now."""
        self._marked |= fresh
        self._times[fresh] = time
        if seen.value is not None:
            self._values[fresh] = seen.value[fresh]

    def _note_extreme(self, seen: Seen, sign: float, time: float) -> None:
        """Note the value of each copy that is furthest in a direction, and its time."""
        self._sign = sign
        if seen.value is not None:
            further = seen.known & ~(sign * seen.value <= sign * self._worst)
            self._worst[further], self._worst_time[further] = seen.value[further], time

    def _extreme(self, rows: BoolArray) -> tuple[float, float]:
        """Return value and time [s] of the copy of some that is the furthest on the wrong side."""
        wrong = np.where(rows, self._wrongness(), -math.inf)
        if np.isnan(self._worst[rows]).all():
            return math.nan, math.nan
        k = int(np.nanargmax(wrong))
        return float(self._worst[k]), float(self._worst_time[k])

    def _wrongness(self) -> Array:
        """Return how far the noted value of each copy is on the wrong side, shape (N,)."""
        return self._sign * self._worst


class Always(Check):
    """Check of a condition that must hold at all times."""

    _wanted: ClassVar[bool] = True

    def _is_right(self, number: Number, time: float) -> bool:
        value = number.read()
        if value != value or number.holds(value) is not self._wanted:
            return False
        self._known[0] = True
        self._sign = number.wrong if self._wanted else -number.wrong
        if not self._sign * value <= self._sign * self._worst[0]:
            self._worst[0], self._worst_time[0] = value, time
        return True

    def _take(self, seen: Seen, time: float) -> None:
        self._known |= seen.known
        self._mark(seen.known & ~seen.holds & ~self._marked, seen, time)
        self._note_extreme(seen, seen.wrong, time)

    def _failed(self) -> BoolArray:
        return self._marked

    def _missed(self) -> BoolArray:
        return self._marked | ~self._known

    def _reason(self, time: float, value: float, worst: float, worst_time: float) -> str:
        text = f"failed at {time:.2f} s{_with(value)}"
        if math.isnan(worst) or worst == value:
            return text
        return f"{text}, worst {worst:.4g} at {worst_time:.2f} s"


class Never(Always):
    """Check of a condition that must never hold."""

    _wanted: ClassVar[bool] = False

    def _take(self, seen: Seen, time: float) -> None:
        super()._take(seen._replace(holds=~seen.holds, wrong=-seen.wrong), time)


class Eventually(Check):
    """Check of a condition that must hold once."""

    def _is_settled(self) -> bool:
        return bool(self._marked.all())

    def _take(self, seen: Seen, time: float) -> None:
        self._known |= seen.known
        self._mark(seen.known & seen.holds & ~self._marked, seen, time)
        self._note_extreme(seen, -seen.wrong, time)

    @property
    def pending(self) -> bool:
        """Whether it may still come true, if the flight goes on."""
        return self._end < self._window[1] - _SLACK

    def _failed(self) -> BoolArray:
        over: BoolArray = ~self._marked & (self._end >= self._window[1] - _SLACK)
        return over

    def _missed(self) -> BoolArray:
        return ~self._marked

    def _reason(self, time: float, value: float, worst: float, worst_time: float) -> str:
        text = f"did not come true by {min(self._window[1], self._end):.2f} s"
        return text if math.isnan(worst) else f"{text}; closest {worst:.4g} at {worst_time:.2f} s"

    def _wrongness(self) -> Array:
        return -self._sign * self._worst


class AtEnd(Check):
    """Check of a condition that must hold at the end."""

    in_flight: ClassVar[bool] = False

    @property
    def pending(self) -> bool:
        """Whether it may still come true, if the flight goes on."""
        return True

    def _take(self, seen: Seen, time: float) -> None:
        self._known = seen.known.copy()
        self._marked[:] = False
        self._mark(seen.known & seen.holds, seen, time)
        self._times[:] = time
        if seen.value is not None:
            self._values[:] = seen.value

    def _failed(self) -> BoolArray:
        return np.zeros_like(self._known)

    def _missed(self) -> BoolArray:
        return ~self._marked

    def _reason(self, time: float, value: float, worst: float, worst_time: float) -> str:
        return f"failed at {time:.2f} s{_with(value)}"


CHECKS: dict[str, type[Check]] = {
    "always": Always,
    "never": Never,
    "eventually": Eventually,
    "at_end": AtEnd,
}
"""Checks by the word of an expectation."""


def _with(value: float) -> str:
    return "" if math.isnan(value) else f" with {value:.4g}"
