"""A flight of a sweep and its row of results."""

import copy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pegasus.base.errors import ConfigError
from pegasus.base.workers import kept_warnings
from pegasus.experiments.campaign import Done, Job
from pegasus.experiments.table import Row

if TYPE_CHECKING:
    from pegasus.core.simulation import Simulation
    from pegasus.recording import Outcome

Columns = Callable[["Simulation"], Mapping[str, Any]]
"""Returns results by column of the simulation that has just flown."""


def flown(job: Job) -> dict[str, Any]:
    """Return the values of fields with which a job is flown."""
    return {**job.changes, "speed": "max"}


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
            flight = Flight(scenario, flown(job))
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
