"""Sweeps: a scenario flown with many seeds and settings, on all processors."""

import hashlib
import json
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pegasus.config import Changes, ScenarioSpec, load_scenario
from pegasus.experiments.campaign import Job, Progress, plan_of, run_campaign
from pegasus.experiments.job import Columns, do, flown
from pegasus.experiments.table import Row
from pegasus.version import __version__

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
    plan = plan_of(seeds, settings or {})
    spec, _ = load_scenario(scenario, Changes(flown(plan[0])))
    table = run_campaign(
        partial(do, scenario, columns),
        plan,
        settings or {},
        _origin(scenario),
        jobs=jobs,
        ray=ray,
        out=out,
        resume=resume,
        progress=progress,
    )
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


def _origin(scenario: str | Path) -> dict[str, Any]:
    """Return what makes rows of a scenario comparable."""
    spec, _ = load_scenario(scenario, Changes({}))
    content = spec.model_dump_json().encode()
    return {"scenario": spec.name, "sha256": hashlib.sha256(content).hexdigest(), "version": __version__}
