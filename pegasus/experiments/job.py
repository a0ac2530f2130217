"""A flight of a sweep and its row of results."""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pegasus.base.errors import ConfigError
from pegasus.base.workers import kept_warnings
from pegasus.experiments.table import Row

if TYPE_CHECKING:
    from pegasus.core.simulation import Simulation
    from pegasus.recording import Outcome

Columns = Callable[["Simulation"], Mapping[str, Any]]
"""Returns results by column of the simulation that has just flown."""


class Job(NamedTuple):
    """A flight of a sweep."""

    number: int
    """Its row in the table, from 0."""
    changes: dict[str, Any]
    """Values of fields by path, the seed too."""

    @property
    def key(self) -> str:
        """Text that flights with other values do not have."""
        return json.dumps(self.changes, sort_keys=True)

    @property
    def flown(self) -> dict[str, Any]:
        """Values of fields with which it is flown."""
        return {**self.changes, "speed": "max"}


class Done(NamedTuple):
    """Result of a flight of a sweep."""

    job: Job
    row: Row
    warnings: dict[str, str]
    lost: bool = False
    """Its process was ended from outside twice."""
    fault: ConfigError | None = None
    """Why the flight could not be built."""


class _Columns:
    """Observer that asks for results at the end of a flight."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.row: Row = {}

    def start(self, simulation: "Simulation") -> None:
        self._simulation = simulation

    def record(self, simulation: "Simulation") -> None:
        pass

    def stop(self) -> None:
        # Arrays and numbers of NumPy become those of the table.
        self.row = {
            name: np.asarray(value).tolist() for name, value in self._columns(self._simulation).items()
        }


def do(scenario: str | Path, columns: Columns | None, job: Job) -> Done:
    """Fly in this process, and return the row.

    Args:
        scenario: Name of a scenario, or the path of its YAML file.
        columns: Returns further results.
        job: The flight.
    """
    # Not at the top: the process that shares out the flights does not fly.
    from pegasus.experiments.flight import Flight

    row: Row = copy.deepcopy(job.changes)
    flight = None
    extra = None if columns is None else _Columns(columns)
    with kept_warnings() as warnings:
        try:
            flight = Flight(scenario, job.flown)
            if extra is not None:
                flight.simulation.add_observer(extra)
            run = flight.fly(record=False)
        except Exception as error:
            known = isinstance(error, ConfigError)
            text = str(error) if known else f"{type(error).__name__}: {error}"
            fault = error if isinstance(error, ConfigError) and flight is None else None
            return Done(job, row | {"failure": " ".join(text.split())}, warnings, fault=fault)
    if run.interrupted:
        raise KeyboardInterrupt
    summary = run.summary
    row |= {
        "simulated_time": summary.simulated_time,
        "step_time": summary.wall_time,
        "real_time_factor": summary.real_time_factor,
        "failure": "; ".join(map(str, summary.failures)) or None,
    }
    for name, outcome in summary.outcomes.items():
        row[f"{name}.outcome"] = outcome.word()
        if len(outcome.position) == 1:
            row |= {f"{name}.{axis}": float(x) for axis, x in zip("xyz", outcome.position[0], strict=True)}
        row[f"{name}.impact_speed"] = float(outcome.impact_speed.max())
        if flight.spec.faults:
            row |= _survival(name, outcome)
        if (tracking := summary.tracking.get(name)) is not None:
            row[f"{name}.tracking_rms"] = tracking.overall.rms
            row[f"{name}.tracking_max"] = tracking.overall.maximum
            row[f"{name}.attitude_rms"] = tracking.attitude_rms
            row[f"{name}.attitude_max"] = tracking.attitude_maximum
        if (energy := summary.energy.get(name)) is not None:
            row[f"{name}.rotor_work"], row[f"{name}.energy_residual"] = energy.rotors, energy.residual
    return Done(job, row | extra.row if extra is not None else row, warnings)


def _survival(name: str, outcome: "Outcome") -> Row:
    """Return how a vehicle outlived its faults: share of copies, first crash, largest deviation."""
    crashed = outcome.crash_time[~np.isnan(outcome.crash_time)]
    begun = outcome.fault_time[~np.isnan(outcome.fault_time)]
    after = (outcome.crash_time - outcome.fault_time)[~np.isnan(outcome.crash_time - outcome.fault_time)]
    return {
        f"{name}.survived": float(1.0 - outcome.crashed.mean()),
        f"{name}.fault_time": float(begun.min()) if len(begun) else None,
        f"{name}.crash_time": float(crashed.min()) if len(crashed) else None,
        f"{name}.time_to_crash": float(after.min()) if len(after) else None,
        f"{name}.largest_deviation": float(outcome.deviation.max()),
    }


def lost_job(job: Job) -> Done:
    """Return the row of a flight whose process was ended from outside twice."""
    failure = "its process was ended from outside twice, perhaps for lack of memory"
    return Done(job, copy.deepcopy(job.changes) | {"failure": failure}, {}, lost=True)
