"""Outcomes of flights: landed, crashed, still flying, or never flown."""

from dataclasses import dataclass

import numpy as np

from pegasus.base.arrays import Array, BoolArray
from pegasus.base.frames import rotate
from pegasus.core.multirotor import Multirotor
from pegasus.core.simulation import Simulation

HARDEST_LANDING = 3.0
"""Speed at the first contact from which on it is a crash [m/s]."""
LARGEST_TILT = np.radians(60.0)
"""Tilt in contact from which on it is a crash [rad]."""
_AT_REST = 0.1  # [m/s]
_AWAY = 0.2
"""Distance from its start at which a vehicle has flown, if it touches nothing [m]."""


@dataclass(frozen=True)
class Outcome:
    """End of the flight of a vehicle's N copies."""

    crashed: BoolArray
    """Touched something at `HARDEST_LANDING` or faster, or tilted by `LARGEST_TILT` or more, shape (N,)."""
    landed: BoolArray
    """Has flown, has not crashed, and rests on something, shape (N,)."""
    flown: BoolArray
    """Has left its place, shape (N,)."""
    impact_speed: Array
    """Largest speed with which a contact began [m/s], shape (N,)."""
    position: Array
    """Last position [m], shape (N, 3)."""
    crash_time: Array
    """Time of the crash [s], NaN without one, shape (N,)."""
    fault_time: Array
    """Time at which the first fault began [s], NaN without one, shape (N,)."""
    deviation: Array
    """Largest distance from the reference, without one from the place where the first fault began, since then
    or, without a fault, since the start [m], shape (N,)."""

    def word(self) -> str:
        """Return `crashed` if a copy has crashed, else `flying`, `grounded` or `landed`."""
        if self.crashed.any():
            return "crashed"
        if not self.flown.all():
            return "grounded"
        return "landed" if self.landed.all() else "flying"


class _Tally:
    def __init__(self, vehicle: Multirotor) -> None:
        count = vehicle.count
        self.crashed, self.flown, self.touching = (np.zeros(count, dtype=bool) for _ in range(3))
        self.impact, self.speed = np.zeros(count), np.zeros(count)
        self.start = self.position = vehicle.state.position.copy()
        self.origin, self.deviation = self.start.copy(), np.zeros(count)
        self.crash_time, self.fault_time = np.full(count, np.nan), np.full(count, np.nan)

    def add(self, vehicle: Multirotor, t: float) -> None:
        state, touching = vehicle.state, vehicle.in_contact
        if touching.any():
            begun = touching & ~self.touching & self.flown
            self.impact = np.where(begun, np.maximum(self.impact, self.speed), self.impact)
            up = rotate(state.rotation, np.array([0.0, 0.0, 1.0]))[:, 2]
            self.crashed |= touching & (up <= np.cos(LARGEST_TILT))
            self.crashed |= self.impact >= HARDEST_LANDING
        self.crash_time[self.crashed & np.isnan(self.crash_time)] = t
        if len(vehicle.faults):
            self._note_faults(vehicle, t)
        reference = vehicle.reference
        strayed = state.position - (self.origin if reference is None else reference.position)
        self.deviation = np.maximum(self.deviation, np.sqrt((strayed * strayed).sum(axis=1)))
        away = state.position - self.start
        self.flown |= ~touching & ((away * away).sum(axis=1) > _AWAY**2)
        self.touching = touching
        self.speed = np.sqrt((state.velocity * state.velocity).sum(axis=1))
        self.position = state.position.copy()

    def _note_faults(self, vehicle: Multirotor, t: float) -> None:
        """Begin the deviation anew where the first fault begins."""
        failing = np.zeros(vehicle.count, dtype=bool)
        for injection in vehicle.faults.acting:
            failing |= injection.active
        first = failing & np.isnan(self.fault_time)
        if first.any():
            self.fault_time[first], self.deviation[first] = t, 0.0
            self.origin[first] = vehicle.state.position[first]


class OutcomeAudit:
    """Observer of contacts, by which flights end."""

    def __init__(self) -> None:
        self._tallies: dict[str, _Tally] = {}

    def start(self, simulation: Simulation) -> None:
        """Reset the audit.

        Args:
            simulation: The simulation.
        """
        self._tallies = {}

    def record(self, simulation: Simulation) -> None:
        """Look at the contacts of this step.

        Args:
            simulation: The simulation.
        """
        for vehicle in simulation.vehicles:
            if vehicle.name not in self._tallies:
                self._tallies[vehicle.name] = _Tally(vehicle)
            self._tallies[vehicle.name].add(vehicle, simulation.time)

    def stop(self) -> None:
        """End the run; the outcomes remain."""

    def outcomes(self) -> dict[str, Outcome]:
        """Return the outcome of each vehicle."""
        return {
            name: Outcome(
                tally.crashed,
                tally.flown & ~tally.crashed & tally.touching & (tally.speed < _AT_REST),
                tally.flown,
                tally.impact,
                tally.position,
                tally.crash_time,
                tally.fault_time,
                tally.deviation,
            )
            for name, tally in self._tallies.items()
        }
