"""Sweeps: a scenario flown with many seeds and settings, on all processors."""

import hashlib
import itertools
import json
import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.streams import stream
from pegasus.base.system import processor_count
from pegasus.base.workers import run_in_processes, run_on_ray
from pegasus.config import Changes, ScenarioSpec, load_scenario
from pegasus.experiments.job import Columns, Done, Job, do, lost_job
from pegasus.experiments.means import means
from pegasus.experiments.table import Journal, Row, require_format, write_table
from pegasus.version import __version__

Progress = Callable[[int, int], None]
"""Called with the numbers of finished flights and of all flights."""

_DISTRIBUTION = re.compile(r"(uniform|normal)\(\s*([^,\s]+)\s*,\s*([^,\s]+)\s*\)")
_MANY = 10
"""Number of flights from which on their cost matters."""
_TIMES = ("step_time", "real_time_factor")
_log = logging.getLogger(__name__)


def sweep(
    scenario: str | Path,
    *,
    seeds: int | Sequence[int] = 1,
    settings: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    ray: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    columns: Columns | None = None,
    progress: Progress | None = None,
) -> list[Row]:
    """Fly a scenario with all combinations of seeds and settings; return a row of results for each.

    Flights are shared out among processes, so a script must call this below `if __name__ == "__main__":`. A
    flight that fails, or whose process is ended from outside twice, has the reason in its row.

    Args:
        scenario: Name of a scenario, or the path of its YAML file.
        seeds: Number of seeds, from 0 up, or the seeds.
        settings: Values of fields by path, see `pegasus.config.Changes`: a list of values to be combined with
            those of the other fields, one value, or `uniform(LEAST, MOST)` or `normal(MEAN, DEVIATION)`, of
            which each seed draws a number.
        jobs: Number of processes; that of processors when None. One flies in this process.
        ray: Address of a Ray cluster in place of processes; `local` for one on this machine.
        out: Table to write, `.csv` or `.parquet`; finished rows are kept beside it in a journal, `.jsonl`,
            and, of several seeds, their `pegasus.experiments.means` in another table, `NAME_means`.
        resume: Continue the table, whose finished flights are not flown again.
        columns: A function at the top of a module, which is called with each simulation at the end of its
            flight and returns further results by column: numbers, text, None, lists or arrays.
        progress: Called as flights end.

    Returns:
        Rows with `seed`, the settings, `simulated_time` [s], `step_time` (wall time of the steps [s]),
        `real_time_factor`, `failure` (text or None), and for each vehicle `NAME.outcome` (one of
        `pegasus.recording.OUTCOMES`), `NAME.x`, `.y` and `.z` (last position [m], of a single copy),
        `NAME.impact_speed` [m/s], `NAME.tracking_rms` and `.tracking_max` [m], `NAME.attitude_rms` and
        `.attitude_max` [rad], `NAME.rotor_work` and `.energy_residual` [J]. With faults in the scenario
        also `NAME.survived` (share of the copies), `NAME.fault_time` and `.crash_time` (first of each [s],
        None without), `NAME.time_to_crash` [s] and `NAME.largest_deviation` (from the reference since the
        first fault [m]).

    Raises:
        ConfigError: If the first flight cannot be built, or the table cannot be written.
    """
    plan = _plan(seeds, settings or {})
    count = min(processor_count() if jobs is None else jobs, len(plan))
    require(count >= 1, "jobs", jobs, "must be at least 1")
    path = None if out is None else Path(out).expanduser()
    if path is not None:
        require_format(path)
        if path.exists() and not resume:
            raise ConfigError(
                "exists already", field="out", value=str(path), remedy="resume it, or give another file"
            )
    spec, _ = load_scenario(scenario, Changes(plan[0].flown))
    journal = None if path is None else Journal(_beside(path), _origin(scenario), resume=resume)
    rows = dict(journal.rows) if journal is not None else {}
    left = [job for job in plan if job.key not in rows]
    warned: set[str] = set()

    def finished(done: Done) -> None:
        # A fault of the first flight is most often one of all.
        if done.fault is not None and done.job.number == 0:
            raise done.fault
        for key in done.warnings.keys() - warned:
            _log.warning("%s", done.warnings[key])
        warned.update(done.warnings)
        rows[done.job.key] = done.row
        # A lost flight is flown again when the sweep is resumed.
        if journal is not None and not done.lost:
            journal.add(done.job.key, done.row)
        if progress is not None:
            progress(sum(job.key in rows for job in plan), len(plan))

    try:
        if progress is not None:
            progress(len(plan) - len(left), len(plan))
        if ray is not None and left:
            run_on_ray(partial(do, scenario, columns), left, address=ray, finished=finished)
        elif count == 1 or len(left) < 2:
            for job in left:
                finished(do(scenario, columns, job))
        else:
            run_in_processes(
                partial(do, scenario, columns), left, count=count, finished=finished, lost=lost_job
            )
    finally:
        table = [{"run": job.number} | rows[job.key] for job in plan if job.key in rows]
        if journal is not None and path is not None:
            journal.close()
            write_table(path, table)
            if len({job.changes["seed"] for job in plan}) > 1:
                write_table(path.with_stem(f"{path.stem}_means"), means(table, settings or {}))
    if (twins := equal_flights(table, settings or {})) > 1:
        _log.warning(
            "%d seeds gave the same flight: nothing random acts on it, since controllers read the true state;"
            " let gusts blow (world.wind.model=gusts and world.wind.mean_velocity), draw a setting, such as"
            " vehicles.0.model.mass=normal(1.5,0.1), or fly by an autopilot",
            twins,
        )
    elif len(plan) >= _MANY and _copies_would_do(spec, plan):
        _log.warning(
            "the flights differ in their seed only: one flight of as many copies, vehicles.0.count=%d, is"
            " some ten times cheaper",
            len(plan),
        )
    return table


def equal_flights(table: Sequence[Row], settings: Mapping[str, Any]) -> int:
    """Return the largest number of seeds with equal results for equal settings, if all seeds have these.

    Args:
        table: Rows of a sweep.
        settings: Its settings.
    """
    groups: dict[str, list[str]] = {}
    for row in table:
        given = json.dumps([row.get(path) for path in settings])
        result = {name: value for name, value in row.items() if name not in (*_TIMES, "run", "seed")}
        groups.setdefault(given, []).append(json.dumps(result))
    return max((len(group) for group in groups.values() if len(set(group)) == 1), default=0)


def _copies_would_do(spec: ScenarioSpec, plan: Sequence[Job]) -> bool:
    """Return whether copies of a vehicle in one flight would differ like the flights."""
    if len(spec.vehicles) != 1 or spec.vehicles[0].count > 1:
        return False
    models = {backend["model"] for backend in spec.vehicles[0].backends}
    same = all(job.changes | {"seed": 0} == plan[0].changes | {"seed": 0} for job in plan)
    return same and not models & {"px4", "ardupilot", "ros2"}


def _plan(seeds: int | Sequence[int], settings: Mapping[str, Any]) -> list[Job]:
    """Return the flights of a sweep, of which the seeds vary fastest."""
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    require(bool(chosen), "seeds", seeds, "must be at least 1, or a list of seeds")
    require("seed" not in settings, "settings", "seed", "must not hold the seed", "give seeds")
    options = {path: _options(value) for path, value in settings.items()}
    for path, values in options.items():
        require(bool(values), path, values, "must hold at least one value")
    plan: list[Job] = []
    for combination in itertools.product(*options.values()):
        for seed in chosen:
            pairs = zip(options, combination, strict=True)
            drawn = {path: _value(value, path, seed) for path, value in pairs}
            plan.append(Job(len(plan), {"seed": seed, **drawn}))
    return plan


def _options(value: Any) -> list[Any]:
    """Return the values of a setting that are combined with those of the others."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple | range) else [value]


def _value(value: Any, path: str, seed: int) -> Any:
    """Return a setting's value for a seed, drawn if it is a distribution."""
    if not isinstance(value, str) or (found := _DISTRIBUTION.fullmatch(value.strip())) is None:
        return value
    try:
        first, second = float(found[2]), float(found[3])
    except ValueError:
        first = math.nan
    if not (math.isfinite(first) and math.isfinite(second)):
        raise ConfigError("must have two numbers", field=path, value=value, remedy="such as uniform(1.0,2.0)")
    rng = stream(seed, "sweep", path)
    return rng.uniform(first, second) if found[1] == "uniform" else rng.normal(first, abs(second))


def _beside(path: Path) -> Path:
    """Return the journal of a table."""
    return path.with_name(f"{path.name}.jsonl")


def _origin(scenario: str | Path) -> dict[str, Any]:
    """Return what makes rows of a scenario comparable."""
    spec, _ = load_scenario(scenario, Changes({}))
    content = spec.model_dump_json().encode()
    return {"scenario": spec.name, "sha256": hashlib.sha256(content).hexdigest(), "version": __version__}
