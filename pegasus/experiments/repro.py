"""Repetition of failed flights from their bundles."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from pegasus.base.arrays import Array
from pegasus.core.simulation import Simulation
from pegasus.experiments.bundle import SCENARIO, Bundle, Failure, failure_of, versions
from pegasus.experiments.flight import Flight
from pegasus.recording import Verdict


@dataclass(frozen=True)
class Repetition:
    """What a repeated flight did until the failure."""

    differences: list[str]
    """A line for each quantity that differs; none if every bit is the same."""
    verdicts: list[Verdict]
    """Verdicts of the repeated flight."""
    versions: dict[str, tuple[str, str]]
    """Versions that differ: of the bundle, and here."""


def repeat(bundle: Bundle, *, progress: Callable[[float], None] | None = None) -> Repetition:
    """Fly the scenario of a bundle until its failure, and compare the states there.

    Args:
        bundle: The bundle.
        progress: Called with the simulated time now and then.

    Raises:
        ConfigError: If the scenario cannot be built here.
    """
    with TemporaryDirectory() as folder:
        flight = flight_of(bundle, Path(folder))
        simulation, failure = flight.simulation, bundle.failure
        with simulation:
            watch = _Watch(failure.step)
            flight.judge()
            simulation.add_observer(watch)
            for now in simulation.stepping((failure.step + 1) / simulation.rate):
                if progress is not None and simulation.step_count % 100 == 0:
                    progress(now)
            simulation.stop()
            verdicts = flight.expectations.verdicts()
    here = versions()
    return Repetition(
        differences=_differences(failure, watch.found),
        verdicts=verdicts,
        versions={
            name: (before, here.get(name, "none"))
            for name, before in bundle.versions.items()
            if here.get(name) != before
        },
    )


def flight_of(bundle: Bundle, folder: Path) -> Flight:
    """Return the flight of a bundle.

    Args:
        bundle: The bundle.
        folder: Folder into which its scenario is written.
    """
    file = folder / SCENARIO
    file.write_text(bundle.scenario, encoding="utf-8")
    return Flight(file, {"speed": "max"})


class _Watch:
    """Observer that notes the state at a step.

    Args:
        step: Number of steps before it.
    """

    def __init__(self, step: int) -> None:
        self._step = step
        self.found: Failure | None = None

    def start(self, simulation: Simulation) -> None:
        pass

    def record(self, simulation: Simulation) -> None:
        if simulation.step_count == self._step:
            self.found = failure_of(simulation)

    def stop(self) -> None:
        pass


def _differences(before: Failure, now: Failure | None) -> list[str]:
    if now is None:
        return [f"the flight ended before {before.time:.3f} s"]
    lines = []
    for vehicle, fields in before.state.items():
        for name, values in fields.items():
            other: Array = np.array(now.state.get(vehicle, {}).get(name, []))
            given = np.array(values)
            if given.shape != other.shape:
                lines.append(f"{vehicle}.{name}: shape {other.shape} in place of {given.shape}")
            elif given.tobytes() != other.tobytes():
                lines.append(f"{vehicle}.{name}: differs by up to {np.nanmax(np.abs(given - other)):.3g}")
    return lines
