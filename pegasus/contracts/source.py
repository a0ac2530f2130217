"""Contract of sources: poses of vehicles and movers over time, of a live simulation or of a log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from pegasus.contracts.engine import BodyState


@dataclass(frozen=True, eq=False)
class Frame:
    """Poses and velocities at one instant."""

    time: float
    """Simulation time [s]."""
    vehicles: Mapping[str, BodyState]
    """State of the N copies of each vehicle that is there, by its name."""
    movers: Mapping[str, BodyState]
    """State of the K parts of each mover that is there, by its name."""


class Source(Protocol):
    """Frames of a run over time, for panels and servers that show it."""

    @property
    def span(self) -> tuple[float, float]:
        """First and last time that frames can be had of [s]."""

    @property
    def vehicles(self) -> Mapping[str, int]:
        """Number of copies of each vehicle by its name."""

    @property
    def movers(self) -> Mapping[str, int]:
        """Number of parts of each mover by its name."""

    def frame(self, t: float) -> Frame:
        """Return the frame at a time, or at the nearest time in the span.

        Args:
            t: Simulation time [s].
        """
