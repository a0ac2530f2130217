"""Generation of datasets: scenes shared out among workers, interrupted runs resumed."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError
from pegasus.base.system import processor_count
from pegasus.base.workers import kept_warnings, run_in_processes, run_on_ray
from pegasus.config import Changes, load_scenario
from pegasus.dataset.episode import plan_of
from pegasus.dataset.recipe import Recipe, manifest_of, write_manifest
from pegasus.dataset.workers import Job, Made, make_job
from pegasus.dataset.writer import FrameFolder

_log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the numbers of finished frames and of all frames."""


@dataclass(frozen=True)
class Dataset:
    """Generated dataset."""

    folder: Path
    frame_count: int
    """Number of frames in the dataset."""
    made: int
    """Number of frames that this run made."""


def make_dataset(
    scenario: str | Path,
    out: str | Path,
    *,
    frames: int = 100,
    writer: str | None = None,
    photo: bool = False,
    workers: int | None = None,
    ray: str | None = None,
    seed: int | None = None,
    resume: bool = False,
    changes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Make a labelled dataset from flights through randomised scenes.

    A frame depends on the scenario, the seed and its index alone: the files are identical, byte for byte, for
    any number of workers, and after interruptions.

    Args:
        scenario: Name of a scenario, or the path of its YAML file.
        out: Folder of the dataset; new or empty unless the dataset is resumed.
        frames: Number of frames.
        writer: Name from `WRITERS`, or module:Class; that of the scenario when None.
        photo: Render path-traced images, whatever renderer the scenario names.
        workers: Number of processes; that of processors, at most that of scenes, when None.
        ray: Address of a Ray cluster in place of processes; `local` for one on this machine.
        seed: Seed of the dataset; that of the scenario when None.
        resume: Continue the dataset in the folder.
        changes: Values for fields of the scenario, by their paths; see `pegasus.config.Changes`.
        progress: Called as frames are made.

    Raises:
        ConfigError: If the scenario is wrong, the folder is not empty, holds another dataset or cannot be
            written, or a package is not installed.
        KeyboardInterrupt: After Ctrl-C; the dataset can be resumed.
    """
    if workers is not None and (workers < 1 or ray is not None):
        problem = "must be 1 or more" if workers < 1 else "must not be given together with ray"
        raise ConfigError(problem, field="workers", value=workers)
    given = Changes(changes or {})
    spec, file = load_scenario(scenario, given)
    recipe = Recipe(
        scenario=spec,
        file=file.resolve(),
        seed=spec.seed if seed is None else seed,
        frame_count=frames,
        writer=writer or spec.dataset.writer,
        renderer="mitsuba" if photo else spec.dataset.renderer,
    )
    folder = Path(out).expanduser().resolve()
    warned: set[str] = set()

    def warn(warnings: Mapping[str, str]) -> None:
        for key in warnings.keys() - warned:
            _log.warning("%s", warnings[key])
        warned.update(warnings)

    try:
        with kept_warnings() as warnings:
            plan = plan_of(recipe)
        warn(warnings)
        content = manifest_of(recipe, plan)
    except ConfigError as error:
        raise given.with_path_of_change(error).within(file=file) from None
    try:
        recipe.make_writer(folder, plan.cameras, resume=resume)
    except ConfigError as error:
        # Other errors concern cameras or annotators of the scenario.
        raise error if error.field == "out" else error.within(file=file, field="dataset") from None
    write_manifest(folder, content)
    FrameFolder(folder, resume=True).remove_partial_files()
    output = recipe.make_writer(folder, plan.cameras, resume=True)
    there = output.written()
    jobs = open_jobs(recipe, there)
    ready = frames - sum(len(job.indices) for job in jobs)

    def finished(made: Made) -> None:
        nonlocal ready
        ready += made.frame_count
        warn(made.warnings)
        if progress is not None:
            progress(ready, frames)

    finished(Made(0, {}))
    begun, task = ready, partial(make_job, recipe, folder, plan)
    try:
        if jobs and ray is not None:
            run_on_ray(task, jobs, address=ray, finished=finished)
        elif jobs:
            count = min(workers or processor_count(), len(jobs))
            run_in_processes(task, jobs, count=count, finished=finished)
    except ConfigError as error:
        raise error if error.field in ("out", "workers", "ray") else error.within(file=file) from None
    output.finish()
    return Dataset(folder, frames, frames - begun)


def open_jobs(recipe: Recipe, there: frozenset[int]) -> list[Job]:
    """Return the frames still to be made, scene by scene."""
    missing = [index for index in range(recipe.frame_count) if index not in there]
    return [Job(number, tuple(indices)) for number, indices in groupby(missing, key=recipe.scene_of)]
