"""Test suites of scenarios: flights judged by what they expect, and compared with figures of earlier ones."""

import copy
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.workers import kept_warnings
from pegasus.experiments.campaign import Done, Job, Progress, run_campaign
from pegasus.experiments.table import Row
from pegasus.version import __version__

BASELINE = "baseline.json"
_TABLE = "results.csv"
_SUFFIXES = (".yaml", ".yml")
_LEAST = 1e-3
"""Difference of a figure that is never a deviation [its unit]."""


def fly_suite(
    scenarios: Sequence[str | Path],
    *,
    out: str | Path = "verdicts",
    jobs: int | None = None,
    ray: str | None = None,
    resume: bool = False,
    baseline: str | Path | None = None,
    update: bool = False,
    tolerance: float = 0.05,
    progress: Progress | None = None,
) -> list[Row]:
    """Fly scenarios, and return a row of results for each.

    A scenario passes if it flies to its end without a crash or a failed autopilot, all that it expects comes
    true, and its figures are those of the baseline within the tolerance. Flights are shared out among
    processes, so a script must call this below `if __name__ == "__main__":`.

    Args:
        scenarios: Files or names of scenarios, and folders, of which all scenarios are flown.
        out: Folder of the results: a run of each scenario, and their table with its journal.
        jobs: Number of processes; that of processors when None.
        ray: Address of a Ray cluster in place of processes; `local` for one on this machine.
        resume: Continue in the folder; scenarios that have been flown are not flown again.
        baseline: JSON file with the figures of earlier flights by scenario; when None `baseline.json` in the
            first folder of scenarios, if it is there.
        update: Write the figures of this time to the baseline, in place of comparing.
        tolerance: Relative difference of a figure that is allowed.
        progress: Called as flights end.

    Returns:
        Rows with `scenario`, `file`, `passed`, `problems` (a line for each), `verdicts` (fields of
        `pegasus.recording.Verdict`), `figures` by name, `simulated_time` [s], `wall_time` [s] and `folder` of
        the run.

    Raises:
        ConfigError: If there is no scenario, or a file cannot be read or written.
    """
    require(0 <= tolerance < math.inf, "tolerance", tolerance, "must be at least 0")
    files = scenario_files(scenarios)
    place = Path(out).expanduser().resolve()
    place.mkdir(parents=True, exist_ok=True)
    known = _baseline_file(scenarios, baseline)
    figures = {} if update else _read_baseline(known, required=baseline is not None)
    plan = [
        Job(number, {"scenario": name, "content": _digest(file)})
        for number, (name, file) in enumerate(files.items())
    ]
    rows = run_campaign(
        partial(_fly, {name: str(file) for name, file in files.items()}, place),
        plan,
        {},
        {"scenarios": list(files), "version": __version__},
        jobs=jobs,
        ray=ray,
        out=place / _TABLE,
        resume=resume,
        progress=progress,
    )
    for row in rows:
        row["problems"] = [*row["problems"], *_deviations(row, figures.get(row["scenario"]), tolerance)]
        row["passed"] = not row["problems"]
    if update and known is not None:
        text = json.dumps({row["scenario"]: row["figures"] for row in rows}, indent=2, sort_keys=True)
        _write(known, text + "\n")
    return rows


def scenario_files(scenarios: Sequence[str | Path]) -> dict[str, str | Path]:
    """Return the files of scenarios, or names of shipped ones, by what they are called in results.

    Args:
        scenarios: Files or names of scenarios, and folders.

    Raises:
        ConfigError: If a folder holds no scenario.
    """
    found: dict[str, str | Path] = {}
    for given in scenarios:
        path = Path(given).expanduser()
        if not path.is_dir():
            found[str(given)] = path.resolve() if path.exists() else str(given)
            continue
        inside = sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and _is_scenario(file))
        if not inside:
            raise ConfigError("holds no scenario", field="folder", value=str(given))
        found |= {str(file.relative_to(path)): file.resolve() for file in inside}
    return found


def _digest(file: str | Path) -> str:
    """Return the hash of a file, by which one that has changed is flown again."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16] if isinstance(file, Path) else ""


def _is_scenario(file: Path) -> bool:
    """Return whether a YAML file is a scenario: it has vehicles, or expectations of those that it extends."""
    import yaml

    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return True  # Its error is told when it is flown.
    return isinstance(content, dict) and ("vehicles" in content or "expect" in content)


def _fly(files: Mapping[str, str], place: Path, job: Job) -> Done:
    """Fly a scenario in this process, and return the row."""
    # Not at the top: the process that shares out the flights does not fly.
    from pegasus.experiments.flight import Flight

    name = job.changes["scenario"]
    row: Row = {**copy.deepcopy(job.changes), "file": files[name], "passed": False}
    row |= {"problems": [], "verdicts": [], "figures": {}, "simulated_time": 0.0, "wall_time": 0.0}
    with kept_warnings() as warnings:
        try:
            run = Flight(files[name], {"speed": "max"}).fly(out=place)
        except Exception as error:
            text = str(error) if isinstance(error, ConfigError) else f"{type(error).__name__}: {error}"
            return Done(job, row | {"problems": [" ".join(text.split())], "folder": None}, warnings)
    if run.interrupted:
        raise KeyboardInterrupt
    summary = run.summary
    problems = [verdict.line() for verdict in summary.verdicts if not verdict.passed]
    problems += [str(failure) for failure in summary.failures]
    problems += [
        f"{vehicle} crashed: {outcome.crash_line()}"
        for vehicle, outcome in summary.outcomes.items()
        if outcome.crashed.any()
    ]
    figures: dict[str, float | str] = {}
    for vehicle, tracking in summary.tracking.items():
        figures[f"{vehicle}.tracking_rms"] = tracking.overall.rms
        figures[f"{vehicle}.tracking_max"] = tracking.overall.maximum
    for vehicle, outcome in summary.outcomes.items():
        figures[f"{vehicle}.outcome"] = outcome.word()
    for verdict in summary.verdicts:
        if not math.isnan(verdict.worst):
            figures[f"{verdict.vehicle}: {verdict.expected}"] = verdict.worst
    row |= {
        "passed": not problems,
        "problems": problems,
        "verdicts": [verdict.to_json() for verdict in summary.verdicts],
        "figures": figures,
        "simulated_time": summary.simulated_time,
        "wall_time": summary.wall_time,
        "folder": str(run.folder),
    }
    return Done(job, row, warnings)


def _baseline_file(scenarios: Sequence[str | Path], baseline: str | Path | None) -> Path | None:
    if baseline is not None:
        return Path(baseline).expanduser()
    folders = [path for each in scenarios if (path := Path(each).expanduser()).is_dir()]
    return (folders[0] if folders else Path.cwd()) / BASELINE


def _read_baseline(file: Path | None, *, required: bool) -> dict[str, dict[str, Any]]:
    if file is None or not (file.exists() or required):
        return {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be read: {error}", file=file, remedy="write it by --update") from None
    if not isinstance(content, dict) or not all(isinstance(each, dict) for each in content.values()):
        raise ConfigError("must hold figures by scenario", file=file, remedy="write it by --update")
    return content


def _deviations(row: Row, before: Mapping[str, Any] | None, tolerance: float) -> Iterable[str]:
    """Yield a line for each figure that is not that of the baseline."""
    for name, value in (before or {}).items():
        now = row["figures"].get(name)
        if isinstance(value, str) or isinstance(now, str) or now is None:
            if now != value:
                yield f"baseline: {name} was {value}, is {now}"
        elif abs(now - value) > max(_LEAST, tolerance * abs(value)):
            yield f"baseline: {name} was {value:.4g}, is {now:.4g}"


def _write(file: Path, text: str) -> None:
    try:
        part = file.with_name(f".{file.name}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=file) from None
