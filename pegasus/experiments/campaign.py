"""Campaigns: a task done with many seeds and settings, on all processors or a Ray cluster, and its table."""

import copy
import itertools
import json
import logging
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.streams import stream
from pegasus.base.system import processor_count
from pegasus.base.workers import run_in_processes, run_on_ray
from pegasus.experiments.means import means
from pegasus.experiments.table import Journal, Row, require_format, write_table

Progress = Callable[[int, int], None]
"""Called with the numbers of finished jobs and of all jobs."""

_DISTRIBUTION = re.compile(r"(uniform|normal)\(\s*([^,\s]+)\s*,\s*([^,\s]+)\s*\)")
_log = logging.getLogger(__name__)


class Job(NamedTuple):
    """A job of a campaign."""

    number: int
    """Its row in the table, from 0."""
    changes: dict[str, Any]
    """Values of fields by path, the seed too."""

    @property
    def key(self) -> str:
        """Text that jobs with other values do not have."""
        return json.dumps(self.changes, sort_keys=True)


class Done(NamedTuple):
    """Result of a job of a campaign."""

    job: Job
    row: Row
    warnings: dict[str, str]
    lost: bool = False
    """Its process was ended from outside twice."""
    fault: ConfigError | None = None
    """Why it could not begin."""


def run_campaign(
    task: Callable[[Job], Done],
    plan: Sequence[Job],
    settings: Mapping[str, Any],
    origin: Mapping[str, Any],
    *,
    jobs: int | None = None,
    ray: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> list[Row]:
    """Do the jobs of a plan; return a row of results for each.

    Args:
        task: Function of a job; it must be importable by name.
        plan: The jobs, see `plan_of`.
        settings: The settings that the plan combines.
        origin: What makes rows comparable; a table of another origin is not continued.
        jobs: Number of processes; that of processors when None. One job is done in this process.
        ray: Address of a Ray cluster in place of processes; `local` for one on this machine.
        out: Table to write, `.csv` or `.parquet`; finished rows are kept beside it in a journal, `.jsonl`,
            and, of several seeds, their `means` in another table, `NAME_means`.
        resume: Continue the table, whose finished jobs are not done again.
        progress: Called as jobs end.

    Raises:
        ConfigError: If the first job cannot begin, or the table cannot be written.
    """
    count = min(processor_count() if jobs is None else jobs, len(plan))
    require(count >= 1, "jobs", jobs, "must be at least 1")
    path = None if out is None else Path(out).expanduser()
    if path is not None:
        require_format(path)
        if path.exists() and not resume:
            raise ConfigError(
                "exists already", field="out", value=str(path), remedy="resume it, or give another file"
            )
    journal = None if path is None else Journal(_beside(path), origin, resume=resume)
    rows = dict(journal.rows) if journal is not None else {}
    left = [job for job in plan if job.key not in rows]
    warned: set[str] = set()

    def finished(done: Done) -> None:
        # A fault of the first job is most often one of all.
        if done.fault is not None and done.job.number == 0:
            raise done.fault
        for key in done.warnings.keys() - warned:
            _log.warning("%s", done.warnings[key])
        warned.update(done.warnings)
        rows[done.job.key] = done.row
        # A lost job is done again when the campaign is resumed.
        if journal is not None and not done.lost:
            journal.add(done.job.key, done.row)
        if progress is not None:
            progress(sum(job.key in rows for job in plan), len(plan))

    try:
        if progress is not None:
            progress(len(plan) - len(left), len(plan))
        if ray is not None and left:
            run_on_ray(task, left, address=ray, finished=finished)
        elif count == 1 or len(left) < 2:
            for job in left:
                finished(task(job))
        else:
            run_in_processes(task, left, count=count, finished=finished, lost=_lost)
    finally:
        table = [{"run": job.number} | rows[job.key] for job in plan if job.key in rows]
        if journal is not None and path is not None:
            journal.close()
            write_table(path, table)
            if len({job.changes.get("seed") for job in plan}) > 1:
                write_table(path.with_stem(f"{path.stem}_means"), means(table, settings))
    return table


def plan_of(seeds: int | Sequence[int], settings: Mapping[str, Any]) -> list[Job]:
    """Return the jobs of all combinations of settings and seeds, of which the seeds vary fastest.

    Args:
        seeds: Number of seeds, from 0 up, or the seeds.
        settings: Values of fields by path: a list of values to be combined with those of the other fields,
            one value, or `uniform(LEAST, MOST)` or `normal(MEAN, DEVIATION)`, of which each
            seed draws a number.

    Raises:
        ConfigError: If there are no seeds or values, or a distribution lacks its numbers.
    """
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


def _lost(job: Job) -> Done:
    """Return the row of a job whose process was ended from outside twice."""
    failure = "its process was ended from outside twice, perhaps for lack of memory"
    return Done(job, copy.deepcopy(job.changes) | {"failure": failure}, {}, lost=True)
