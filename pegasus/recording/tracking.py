"""Audit how closely vehicles follow their references."""

import math
from dataclasses import dataclass, field

import numpy as np

from pegasus.arrays import Array
from pegasus.recording.observer import ObservedSimulation


@dataclass(frozen=True)
class TrackingError:
    """Distance between a vehicle's position and its reference."""

    duration: float
    """Simulated time over which it was taken [s]."""
    rms: float
    """Root of its mean square over steps and copies [m]."""
    maximum: float
    """Its largest value [m]."""


@dataclass(frozen=True)
class VehicleTracking:
    """Tracking errors of a vehicle."""

    overall: TrackingError
    """Over all segments."""
    segments: dict[str, TrackingError]
    """By segment of the flight, in the order of their first steps."""


@dataclass
class _Tally:
    steps: int = 0
    samples: int = 0
    squares: float = 0.0
    largest: float = 0.0

    def add(self, squares: Array) -> None:
        self.steps += 1
        self.samples += len(squares)
        self.squares += float(squares.sum())
        self.largest = float(np.maximum(self.largest, squares.max()))

    def merge(self, other: "_Tally") -> None:
        self.steps += other.steps
        self.samples += other.samples
        self.squares += other.squares
        self.largest = float(np.maximum(self.largest, other.largest))

    def error(self, rate: float) -> TrackingError:
        return TrackingError(
            self.steps / rate, math.sqrt(self.squares / self.samples), math.sqrt(self.largest)
        )


@dataclass
class TrackingAudit:
    """Observe the distance between position and reference at every step of every vehicle that flies.

    Copies whose rotors only idle on the ground are left out.
    """

    _rate: float = field(default=1.0, init=False)
    _tallies: dict[str, dict[str, _Tally]] = field(default_factory=dict, init=False)

    def start(self, simulation: ObservedSimulation) -> None:
        """Begin from nothing.

        Args:
            simulation: The simulation to be observed.
        """
        self._rate, self._tallies = simulation.rate, {}

    def record(self, simulation: ObservedSimulation) -> None:
        """Add up the errors at this step.

        Args:
            simulation: The simulation, its references those of its time.
        """
        for vehicle in simulation.vehicles:
            reference = vehicle.reference
            if reference is None:
                continue
            error = vehicle.state.position - reference.position
            squares: Array = (error * error).sum(axis=-1)
            if reference.idle.any():
                squares = squares[~reference.idle]
                if not len(squares):
                    continue
            segments = self._tallies.setdefault(vehicle.name, {})
            segments.setdefault(reference.segment, _Tally()).add(squares)

    def stop(self) -> None:
        """End the observation; the errors stay."""

    def errors(self) -> dict[str, VehicleTracking]:
        """Return the tracking errors by vehicle; one that never followed a reference in flight is absent."""
        result = {}
        for name, segments in self._tallies.items():
            overall = _Tally()
            for tally in segments.values():
                overall.merge(tally)
            errors = {segment: tally.error(self._rate) for segment, tally in segments.items()}
            result[name] = VehicleTracking(overall.error(self._rate), errors)
        return result
