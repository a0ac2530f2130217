"""Make a dataset: share out its scenes, go on where an earlier run ended."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from pegasus.dataset import manifest
from pegasus.dataset.cluster import run_on_ray
from pegasus.dataset.episode import plan_of
from pegasus.dataset.frame_folder import FrameFolder
from pegasus.dataset.recipe import Recipe
from pegasus.dataset.workers import Job, Made, kept_warnings, run_in_processes
from pegasus.errors import ConfigError
from pegasus.machine import processor_count
from pegasus.scenario import load_scenario

_log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Called with the number of frames that are there, and of all frames."""


@dataclass(frozen=True)
class Dataset:
    """A dataset that was made."""

    folder: Path
    frame_count: int
    """Number of frames in it."""
    made: int
    """Number of those that this run made."""


def make_dataset(
    scenario: str | Path,
    out: str | Path,
    *,
    frames: int = 100,
    writer: str = "basic",
    photo: bool = False,
    workers: int | None = None,
    ray: str | None = None,
    seed: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Dataset:
    """Make a labelled dataset from flights through randomised scenes.

    A frame depends on the scenario, the seed and its index alone: the files are the same, byte for byte,
    whoever makes them, and whether the run was interrupted or not.

    Args:
        scenario: Name of a scenario, or the path of its YAML file.
        out: Folder that the dataset goes to; a new or an empty one unless it is resumed.
        frames: Number of frames.
        writer: `basic`, `coco` or `kitti`.
        photo: Whether the pictures are path traced.
        workers: Number of processes; as many as there are processors, or scenes, when None.
        ray: Address of a Ray cluster in place of processes; `local` for one on this machine.
        seed: Seed of the dataset; that of the scenario when None.
        resume: Go on with the dataset that is there.
        progress: Called as frames are made.

    Raises:
        ConfigError: If anything in the scenario is wrong, the folder is not empty, holds another dataset or
            cannot be written, or something that is needed is not installed.
        KeyboardInterrupt: After Ctrl-C; what was made until then can be resumed.
    """
    if workers is not None and (workers < 1 or ray is not None):
        problem = "must be 1 or more" if workers < 1 else "must not be given beside ray"
        raise ConfigError(problem, field="workers", value=workers)
    spec, file = load_scenario(scenario)
    recipe = Recipe(
        scenario=spec,
        file=file.resolve(),
        seed=spec.seed if seed is None else seed,
        frame_count=frames,
        writer=writer,
        renderer="mitsuba" if photo else "embree",
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
        content = manifest.manifest_of(recipe, plan)
    except ConfigError as error:
        raise error.within(file=file) from None
    try:
        recipe.make_writer(folder, plan.cameras, resume=resume)
    except ConfigError as error:
        # What is not about the folder is about the cameras or the annotators that the scenario names.
        raise error if error.field == "out" else error.within(file=file, field="dataset") from None
    manifest.begin(folder, content)
    FrameFolder(folder, resume=True).sweep()
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
    begun = ready
    try:
        if jobs and ray is not None:
            run_on_ray(recipe, folder, plan, jobs, address=ray, finished=finished)
        elif jobs:
            count = min(workers or processor_count(), len(jobs))
            run_in_processes(recipe, folder, plan, jobs, count=count, finished=finished)
    except ConfigError as error:
        raise error if error.field in ("out", "workers", "ray") else error.within(file=file) from None
    output.finish()
    return Dataset(folder, frames, frames - begun)


def open_jobs(recipe: Recipe, there: frozenset[int]) -> list[Job]:
    """Return the frames that are still to be made, scene by scene.

    Args:
        recipe: What the dataset is made from.
        there: Indices of the frames that are there.
    """
    missing = [index for index in range(recipe.frame_count) if index not in there]
    return [Job(number, tuple(indices)) for number, indices in groupby(missing, key=recipe.scene_of)]
