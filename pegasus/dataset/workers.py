"""Make the scenes of a dataset in processes of this machine."""

import contextlib
import importlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from pegasus.dataset.episode import Plan, make_episode
from pegasus.dataset.recipe import Recipe
from pegasus.errors import ConfigError
from pegasus.render.renderer import Renderer

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "OIDN")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in _LIBRARIES}
"""Environment that keeps libraries from sharing out their work, which could change the last bits."""


class Job(NamedTuple):
    """Frames of one scene that are to be made."""

    number: int
    """Number of the scene."""
    indices: tuple[int, ...]
    """Indices of the frames."""


class Made(NamedTuple):
    """What came of a job."""

    frame_count: int
    warnings: dict[str, str]
    """What was warned of; the same warning of other scenes has the same key."""


def make_job(recipe: Recipe, folder: Path, plan: Plan, job: Job) -> Made:
    """Make the frames of one scene in this process.

    Args:
        recipe: What the dataset is made from.
        folder: Where it goes.
        plan: Its cameras and classes.
        job: The frames.

    Raises:
        ConfigError: If a frame cannot be made or written.
    """
    with kept_warnings() as warnings:
        make_episode(recipe, folder, plan, job.number, job.indices, one_thread_renderer(recipe.renderer))
    return Made(len(job.indices), warnings)


class _Keeper(logging.Handler):
    """Keeps warnings; those that differ in later arguments only, such as the time, count as one."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.kept: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        first = record.args[:1] if isinstance(record.args, tuple) else ()
        self.kept.setdefault(f"{record.msg} {first}", record.getMessage())


@contextlib.contextmanager
def kept_warnings() -> Iterator[dict[str, str]]:
    """Keep the warnings of this process, for its owner to say each one once, whoever met it."""
    logger, keeper = logging.getLogger("pegasus"), _Keeper()
    before = logger.propagate
    logger.addHandler(keeper)
    logger.propagate = False
    try:
        yield keeper.kept
    finally:
        logger.removeHandler(keeper)
        logger.propagate = before


def one_thread_renderer(name: str) -> Renderer:
    """Return a renderer that keeps to one thread: as many scenes at once as there are processes.

    Args:
        name: `embree` or `mitsuba`.

    Raises:
        ConfigError: If it is not installed.
    """
    if name == "embree":
        from pegasus.render.embree_renderer import EmbreeRenderer

        return EmbreeRenderer(threads=1)
    from pegasus.render.mitsuba_renderer import MitsubaRenderer

    renderer = MitsubaRenderer()
    importlib.import_module("drjit").set_thread_count(1)
    return renderer


def run_in_processes(
    recipe: Recipe,
    folder: Path,
    plan: Plan,
    jobs: Sequence[Job],
    *,
    count: int,
    finished: Callable[[Made], None],
) -> None:
    """Make scenes in processes, which end with this one however it ends.

    Args:
        recipe: What the dataset is made from.
        folder: Where it goes.
        plan: Its cameras and classes.
        jobs: The scenes.
        count: Number of processes.
        finished: Called with what came of each scene.

    Raises:
        ConfigError: If a frame cannot be made or written, or a process ends before its time.
    """
    context = multiprocessing.get_context("spawn")
    ended, stop = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(ended,))
    waiting: set[Future[Made]] = set()
    left = iter(jobs)
    try:
        with _as_workers_start():
            for job in _some(left, count):
                waiting.add(executor.submit(make_job, recipe, folder, plan, job))
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                finished(future.result())
                for job in _some(left, 1):
                    waiting.add(executor.submit(make_job, recipe, folder, plan, job))
        executor.shutdown()
    except BrokenProcessPool:
        raise ConfigError(
            "a worker process was ended from outside, perhaps for lack of memory",
            field="workers",
            value=count,
            remedy="resume with fewer workers",
        ) from None
    finally:
        # Workers read the end of this pipe: they stop at once, in the middle of a scene if need be.
        stop.close()
        executor.shutdown(cancel_futures=True)
        ended.close()


def _begin(ended: Connection) -> None:
    """Let this worker leave Ctrl-C to its owner, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    owner = multiprocessing.parent_process()
    assert owner is not None
    sentinel = owner.sentinel

    def watch() -> None:
        multiprocessing.connection.wait([ended, sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _as_workers_start() -> Iterator[None]:
    """Let processes that start now keep to one thread each, and not be told of Ctrl-C."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if main:
            signal.signal(signal.SIGINT, handler)


def _some(jobs: Iterator[Job], count: int) -> list[Job]:
    return [job for _, job in zip(range(count), jobs, strict=False)]
