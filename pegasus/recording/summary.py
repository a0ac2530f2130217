"""Run folders and summaries of runs: tracking errors, energy and speed."""

import math
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import EstimatorHealth, Failure
from pegasus.core.simulation import Simulation
from pegasus.recording.audits import EnergyAudit, EnergyBalance, TrackingAudit, TrackingError, VehicleTracking
from pegasus.recording.outcome import OUTCOMES, Outcome, OutcomeAudit
from pegasus.recording.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table


def make_run_folder(out: Path | None, scenario: str) -> Path:
    """Create and return a new folder `<out>/<scenario>-<stamp>`; existing folders are never reused.

    The stamp is the local wall time to the second.

    Args:
        out: Parent folder of the runs, created if missing; `runs` in the current folder when None.
        scenario: Name of the scenario.

    Raises:
        ConfigError: If the folder cannot be created.
    """
    parent = Path("runs") if out is None else out
    # Names are free text: unsafe characters are replaced and long names truncated.
    name = re.sub(r"[^\w.-]+", "-", scenario).strip("-.")[:80] or "run"
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder, number = parent / f"{name}-{stamp}", 1
    try:
        while True:
            try:
                folder.mkdir(parents=True)
                return folder
            except FileExistsError:
                if not parent.is_dir():
                    raise
                number += 1
                folder = parent / f"{name}-{stamp}-{number}"
    except OSError as error:
        raise ConfigError(
            f"cannot be used as a folder for runs: {error.strerror}",
            field="out",
            value=str(parent),
            remedy="choose a writable folder",
        ) from None


@dataclass(frozen=True)
class Summary:
    """Figures of a run; `rich.print` shows them as tables."""

    world: str
    """Name of the world."""
    seed: int
    """Seed of the run."""
    rate: float
    """Physics steps per simulated second [Hz]."""
    simulated_time: float
    """Simulated time [s]."""
    wall_time: float
    """Wall time of the run [s]."""
    tracking: dict[str, VehicleTracking]
    """Tracking errors by vehicle."""
    energy: dict[str, EnergyBalance]
    """Energy balances by vehicle."""
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    """Outcomes of the flights by vehicle."""
    verdicts: Sequence[Verdict] = ()
    """Verdicts on what was expected."""
    failures: Sequence[Failure] = ()
    """Autopilots that have terminated or stopped responding."""
    autopilot_logs: Sequence[str] = ()
    """Paths of the autopilots' own logs, such as ULogs."""
    estimator_health: Sequence[EstimatorHealth] = ()
    """Health of the autopilots' estimators by their own messages."""

    @property
    def real_time_factor(self) -> float:
        """Simulated time over wall time."""
        return self.simulated_time / self.wall_time if self.wall_time > 0 else 0.0

    def to_json(self) -> bytes:
        """Return the summary as JSON with the fields of this class, in SI units."""
        content: dict[str, Any] = asdict(replace(self, outcomes={}))
        content["real_time_factor"] = self.real_time_factor
        for name, balance in self.energy.items():
            content["energy"][name]["relative_residual"] = balance.relative_residual
        for name, outcome in self.outcomes.items():
            content["outcomes"][name] = outcome.to_json()
        return orjson.dumps(
            content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
        )

    def write(self, path: str | Path) -> None:
        """Write the summary to a JSON file.

        Args:
            path: The file.

        Raises:
            ConfigError: If it cannot be written.
        """
        try:
            Path(path).write_bytes(self.to_json())
        except OSError as error:
            raise ConfigError(
                f"cannot be written: {error.strerror}", file=path, remedy="give a writable folder"
            ) from None

    def __rich__(self) -> "Group":
        """Return the tables for the terminal."""
        from rich.console import Group

        tables = [self._tracking_table()] if self.tracking else []
        if self.energy:
            tables.append(self._energy_table())
        if self.outcomes:
            tables.append(self._outcome_table())
        if self.verdicts:
            tables.append(self._verdict_table())
        if self.failures:
            tables.append(self._failure_table())
        return Group(*tables, self._time_table())

    def _tracking_table(self) -> "Table":
        table = _table("vehicle", "segment", "time [s]", "error RMS [m]", "maximum [m]", label_count=2)
        for vehicle, tracking in self.tracking.items():
            name = vehicle
            for segment, error in tracking.segments.items():
                _add_row(table, name, segment or "-", *_cells(error))
                name = ""
            _add_row(table, name, "overall", *_cells(tracking.overall), last=True)
        return table

    def _energy_table(self) -> "Table":
        fields = ("gained", "rotors", "drag", "others", "contacts")
        table = _table("energy [J]", *fields, "residual", "of gross", label_count=1)
        for vehicle, balance in self.energy.items():
            works = (f"{getattr(balance, field):.2f}" for field in fields)
            residual = f"{balance.residual:.0e}", f"{balance.relative_residual:.0e}"
            _add_row(table, vehicle, *works, *residual)
        return table

    def _outcome_table(self) -> "Table":
        table = _table("vehicle", "outcome", "hardest contact [m/s]", "crash [s]", label_count=2)
        for vehicle, outcome in self.outcomes.items():
            words = outcome.words()
            counts = {word: words.count(word) for word in OUTCOMES[::-1] if word in words}
            shown = [word if len(words) == 1 else f"{count} {word}" for word, count in counts.items()]
            crash = f"{np.nanmin(outcome.crash_time):.2f}" if outcome.crashed.any() else "-"
            _add_row(table, vehicle, ", ".join(shown), f"{outcome.impact_speed.max():.2f}", crash)
        return table

    def _verdict_table(self) -> "Table":
        table = _table("vehicle", "expected", "", "worst", "time [s]", label_count=3)
        for verdict in self.verdicts:
            known = not math.isnan(verdict.worst)
            worst = (f"{verdict.worst:.4g}", f"{verdict.worst_time:.2f}") if known else ("-", "-")
            _add_row(table, verdict.vehicle, verdict.expected, verdict.word, *worst)
        return table

    def _failure_table(self) -> "Table":
        table = _table("vehicle", "failed autopilot", "time [s]", "", label_count=2)
        table.columns[3].justify = "left"
        for failure in self.failures:
            _add_row(table, failure.vehicle, failure.autopilot, f"{failure.time:.3f}", failure.problem)
        return table

    def _time_table(self) -> "Table":
        table = _table(
            "simulated [s]", "wall [s]", "real-time factor", "world", "seed", "rate [Hz]", label_count=0
        )
        times = f"{self.simulated_time:.2f}", f"{self.wall_time:.2f}", f"{self.real_time_factor:.1f}"
        _add_row(table, *times, self.world, str(self.seed), f"{self.rate:g}")
        return table


def summarize(
    simulation: Simulation,
    tracking: TrackingAudit,
    energy: EnergyAudit,
    outcomes: OutcomeAudit,
    *,
    wall_time: float,
    verdicts: Sequence[Verdict] = (),
) -> Summary:
    """Return the figures of a run.

    Args:
        simulation: The simulation at its end.
        tracking: Tracking errors, observed from the start.
        energy: Energy, observed from the start.
        outcomes: Outcomes, observed from the start.
        wall_time: Wall time of the run [s].
        verdicts: Verdicts on what was expected.
    """
    backends = [backend for vehicle in simulation.vehicles for backend in vehicle.backends]
    return Summary(
        world=simulation.world_name,
        seed=simulation.seed,
        rate=simulation.rate,
        simulated_time=simulation.time,
        wall_time=wall_time,
        tracking=tracking.errors(),
        energy=energy.balances(),
        outcomes=outcomes.outcomes(),
        verdicts=verdicts,
        failures=simulation.failures,
        autopilot_logs=[str(log) for backend in backends for log in backend.logs],
        estimator_health=[health for backend in backends for health in backend.health],
    )


def _table(*columns: str, label_count: int) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for i, column in enumerate(columns):
        # As Text, because rich interprets units in brackets as markup.
        table.add_column(Text(column), justify="left" if i < label_count else "right")
    return table


def _add_row(table: "Table", *cells: str, last: bool = False) -> None:
    from rich.text import Text

    table.add_row(*(Text(cell) for cell in cells), style="bold" if last else None, end_section=last)


def _cells(error: TrackingError) -> tuple[str, str, str]:
    return f"{error.duration:.2f}", f"{error.rms:.3f}", f"{error.maximum:.3f}"
