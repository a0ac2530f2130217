"""Campaigns of trainings: a task learnt with many seeds and settings, on all processors or a Ray cluster."""

import copy
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError
from pegasus.base.workers import kept_warnings
from pegasus.experiments import Row, is_varied, means
from pegasus.experiments.campaign import Done, Job, Progress, plan_of, run_campaign
from pegasus.learn.registration import task_of
from pegasus.learn.training import CHECKPOINT, POLICY, Training, draw_curves
from pegasus.version import __version__

REPORT, _TABLE = "report.md", "trainings"
_NAME_LENGTH = 60


def train_campaign(
    task: str,
    folder: str | Path,
    *,
    seeds: int | Sequence[int] = 1,
    settings: Mapping[str, Any] | None = None,
    fields: Mapping[str, Any] | None = None,
    rows: int | None = None,
    steps: int | None = None,
    success: float | None = None,
    jobs: int | None = None,
    ray: str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> list[Row]:
    """Let policies learn a task with all combinations of seeds and settings; return a row for each.

    Trainings are shared out among processes, so a script must call this below `if __name__ == "__main__":`.
    Each has a folder of its own, named by its seed and settings, with what `Training` writes. The folder of
    the campaign has their table, `trainings.parquet` (`.csv` if pyarrow is not installed), its journal, the
    means over the seeds, and a report with curves.

    Args:
        task: Name of a task, or `package.module:Class`.
        folder: Folder of the campaign; all nodes of a cluster must reach it by this path.
        seeds: Number of seeds, from 0 up, or the seeds.
        settings: Fields of the task that vary, as those of `pegasus.experiments.sweep`.
        fields: Fields of the task that all have in common.
        rows: Number of episodes side by side; by default that of the task.
        steps: Largest number of actions of a training; by default that of the task.
        success: Share of the starts that succeed, at which one ends; by default that of the task.
        jobs: Number of processes; that of processors when None.
        ray: Address of a Ray cluster in place of processes; `local` for one on this machine.
        resume: Continue the campaign: trainings that have ended are not repeated, others go on from their
            checkpoints.
        progress: Called as trainings end.

    Returns:
        Rows with `seed`, the settings, `actions`, `time` (by the clock of its process [s]), `success` (share
        of the starts), `measure` (median of what the task measures), `policy` (its file), `failure` (text or
        None).

    Raises:
        ConfigError: If the first training cannot begin, or the table cannot be written.
    """
    place = Path(folder).expanduser().resolve()
    place.mkdir(parents=True, exist_ok=True)
    plan = plan_of(seeds, settings or {})
    common = {"task": task, "fields": dict(fields or {}), "rows": rows, "steps": steps, "success": success}
    table = place / f"{_TABLE}.{'parquet' if find_spec('pyarrow') else 'csv'}"
    results = run_campaign(
        partial(_train, common, place),
        plan,
        settings or {},
        {**common, "version": __version__},
        jobs=jobs,
        ray=ray,
        out=table,
        resume=resume,
        progress=progress,
    )
    measured = task_of(task, dict(fields or {})).measured
    _report(place, task, plan, results, settings or {}, measured)
    return results


def name_of(job: Job) -> str:
    """Return the name of the folder of a training: its seed and settings, shortened if they are long."""
    text = "_".join(f"{path}-{value}" for path, value in job.changes.items())
    name = re.sub(r"[^A-Za-z0-9.+-]+", "_", text).strip("_")
    if len(name) > _NAME_LENGTH:
        name = f"{name[:_NAME_LENGTH]}_{hashlib.sha256(job.key.encode()).hexdigest()[:8]}"
    return name


def _train(common: Mapping[str, Any], place: Path, job: Job) -> Done:
    """Train in this process, and return the row."""
    row: Row = copy.deepcopy(job.changes)
    folder, training = place / name_of(job), None
    with kept_warnings() as warnings:
        try:
            varied = {name: value for name, value in job.changes.items() if name != "seed"}
            task = task_of(common["task"], {**common["fields"], **varied})
            going_on = (folder / CHECKPOINT).exists()
            training = Training(task, folder, rows=common["rows"], seed=job.changes["seed"], resume=going_on)
            most = common["steps"] or task.learning.steps
            last = training.run(
                lambda _: True, steps=max(1, most - training.model.num_timesteps), success=common["success"]
            )
        except Exception as error:
            known = isinstance(error, ConfigError)
            text = str(error) if known else f"{type(error).__name__}: {error}"
            fault = error if isinstance(error, ConfigError) and training is None else None
            return Done(job, row | {"failure": " ".join(text.split())}, warnings, fault=fault)
    row |= {
        "actions": last.steps,
        "time": last.seconds,
        "success": last.success,
        "measure": last.measure,
        "policy": str(folder / POLICY),
        "failure": None,
    }
    return Done(job, row, warnings)


def _report(
    place: Path,
    task: str,
    plan: Sequence[Job],
    results: Sequence[Row],
    settings: Mapping[str, Any],
    measured: tuple[str, str],
) -> None:
    """Write the report of a campaign and its curves."""
    name, unit = measured
    ended = [row for row in results if row["failure"] is None]
    failed = [row for row in results if row["failure"] is not None]
    varied = [path for path, value in settings.items() if is_varied(value)]
    lines = [f"# Trainings of `{task}`", "", f"{len(ended)} of {len(plan)} ended, {len(failed)} failed.", ""]
    if ended:
        best = max(ended, key=lambda row: (row["success"], -row["measure"]))
        lines += [
            f"Best: `{best['policy']}`, {100 * best['success']:.1f} %, {name} {best['measure']:.3f} {unit}.",
            "",
            "![Success and error by actions](curves.png)",
            "",
        ]
        lines += _markdown(
            [
                row
                for row in means(ended, settings)
                if row["column"] in ("actions", "time", "success", "measure")
            ]
        )
    lines += _markdown(
        [{name: row.get(name) for name in ("run", "seed", *varied, *_SHOWN)} for row in results]
    )
    draw_curves(place / "curves.png", {name_of(job): place / name_of(job) for job in plan}, measured)
    part = place / f".{REPORT}"
    part.write_text("\n".join(lines), encoding="utf-8")
    part.replace(place / REPORT)


_SHOWN = ("actions", "time", "success", "measure", "failure")


def _markdown(rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])] if rows else []
    for row in rows:
        cells = (
            f"{value:.4g}" if isinstance(value, float) else "-" if value is None else json.dumps(value)
            for value in row.values()
        )
        lines.append("| " + " | ".join(cell.strip('"') for cell in cells) + " |")
    return [*lines, ""]
