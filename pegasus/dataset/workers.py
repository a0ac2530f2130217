"""Jobs of the workers that make the scenes of a dataset."""

import importlib
from pathlib import Path
from typing import Any, NamedTuple, cast

from pegasus.base.workers import kept_warnings
from pegasus.contracts.renderer import RENDERERS, Renderer
from pegasus.dataset.episode import make_episode
from pegasus.dataset.recipe import Plan, Recipe


class Job(NamedTuple):
    """Frames of one scene to be made."""

    number: int
    """Number of the scene."""
    indices: tuple[int, ...]
    """Indices of the frames."""


class Made(NamedTuple):
    """Result of a job."""

    frame_count: int
    warnings: dict[str, str]
    """Warnings; the same warning of other scenes has the same key."""


def make_job(recipe: Recipe, folder: Path, plan: Plan, job: Job) -> Made:
    """Make the frames of one scene in this process.

    Raises:
        ConfigError: If a frame cannot be made or written.
    """
    with kept_warnings() as warnings:
        make_episode(recipe, folder, plan, job.number, job.indices, one_thread_renderer(recipe.renderer))
    return Made(len(job.indices), warnings)


def one_thread_renderer(name: str) -> Renderer:
    """Return a single-threaded renderer, since each process renders a scene of its own.

    Args:
        name: `embree` or `mitsuba`.

    Raises:
        ConfigError: If it is not installed.
    """
    make: Any = RENDERERS[name]
    if name == "embree":
        return cast("Renderer", make(threads=1))
    renderer = make()
    importlib.import_module("drjit").set_thread_count(1)
    return cast("Renderer", renderer)
