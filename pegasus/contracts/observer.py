"""Contract of observers, which record or display a run."""

import math
from typing import Protocol, TypeVar

S = TypeVar("S", contravariant=True)
"""Type of the simulation that an observer is given: `Simulation` for most."""

_LEAST_STATE_RATE = 100.0  # [Hz]


def recorded_rate(state_rate: float | None, physics_rate: float) -> float:
    """Return the rate at which states are recorded [Hz].

    Args:
        state_rate: The requested rate, at most that of the physics; when None, the lowest rate of at least
            100 Hz that divides the physics rate, such as 125 Hz at 250 Hz.
        physics_rate: Steps per second [Hz].
    """
    if state_rate is None:
        return physics_rate / max(1, math.floor(physics_rate / _LEAST_STATE_RATE))
    return min(state_rate, physics_rate)


class Observer(Protocol[S]):
    """Observer of a run, which must not change it; the arrays of vehicles are live, so copy what you keep."""

    def start(self, simulation: S) -> None:
        """Start; called when a run begins: before the first step, or at the time of a restored snapshot."""

    def record(self, simulation: S) -> None:
        """Record one step; called after the commands are computed and before the physics step."""

    def stop(self) -> None:
        """End what `start` began, also after an interrupt or an error; calling it twice is allowed."""
