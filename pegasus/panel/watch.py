"""Snapshots of a simulation that somebody else runs."""

import time

from pegasus.panel.session import SNAPSHOT_RATE
from pegasus.panel.snapshot import Snapshot, snapshot
from pegasus.panel.vantage import Vantages
from pegasus.recording.observer import ObservedSimulation
from pegasus.simulation import Simulation

_FACTOR_SPAN = 1.0  # [s]


class Watch:
    """Observe a simulation, and keep its last snapshot for whoever wants to see it.

    Args:
        simulation: The simulation; it is changed by nothing here.
        speed: Speed that is aimed at, in times real time; None for as fast as it goes.
    """

    def __init__(self, simulation: Simulation, *, speed: float | None) -> None:
        self._simulation, self._speed = simulation, speed
        self._number = 0
        self._due = 0.0
        self._factor, self._mark = 0.0, (0.0, 0)
        self._snapshot = Snapshot(0, 0)
        self._vantages = Vantages()
        self._look()

    @property
    def snapshot(self) -> Snapshot:
        """The last snapshot; at most a thirtieth of a second old while the simulation runs."""
        return self._snapshot

    def start(self, simulation: ObservedSimulation) -> None:
        """Begin a run."""
        self._mark = time.perf_counter(), simulation.step_count

    def record(self, simulation: ObservedSimulation) -> None:
        """Look at a step when a snapshot is due."""
        now = time.perf_counter()
        if now < self._due:
            return
        self._due = now + 1.0 / SNAPSHOT_RATE
        began, first = self._mark
        if now - began >= _FACTOR_SPAN:
            self._factor = (simulation.step_count - first) / simulation.rate / (now - began)
            self._mark = now, simulation.step_count
        self._look()

    def stop(self) -> None:
        """End a run; the last snapshot stays."""

    def _look(self) -> None:
        self._number += 1
        self._snapshot = snapshot(
            self._simulation,
            number=self._number,
            generation=1,
            speed=self._speed,
            real_time_factor=self._factor,
            recording=None,
            vantage=self._vantages.of(self._simulation),
        )
