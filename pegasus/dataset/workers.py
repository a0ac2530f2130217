"""Workers that make the scenes of a dataset: processes of this machine, and tasks of a Ray cluster."""

import contextlib
import importlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, cast

from pegasus.base.errors import ConfigError
from pegasus.core.renderer import RENDERERS, Renderer
from pegasus.dataset.episode import make_episode
from pegasus.dataset.recipe import Plan, Recipe

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "OIDN")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in _LIBRARIES}
"""Environment that makes libraries single-threaded, since threads could change the last bits."""


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


class _WarningKeeper(logging.Handler):
    """Handler that keeps warnings; those that differ only in later arguments, such as times, count as one."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.kept: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        first = record.args[:1] if isinstance(record.args, tuple) else ()
        self.kept.setdefault(f"{record.msg} {first}", record.getMessage())


@contextlib.contextmanager
def kept_warnings() -> Iterator[dict[str, str]]:
    """Keep the warnings of this process, so that its parent logs each one once."""
    logger, keeper = logging.getLogger("pegasus"), _WarningKeeper()
    before = logger.propagate
    logger.addHandler(keeper)
    logger.propagate = False
    try:
        yield keeper.kept
    finally:
        logger.removeHandler(keeper)
        logger.propagate = before


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


def run_in_processes(
    recipe: Recipe,
    folder: Path,
    plan: Plan,
    jobs: Sequence[Job],
    *,
    count: int,
    finished: Callable[[Made], None],
) -> None:
    """Make scenes in processes, which end whenever this one ends.

    Args:
        recipe: Recipe of the dataset.
        folder: Folder of the dataset.
        plan: Cameras and classes of the dataset.
        jobs: The scenes.
        count: Number of processes.
        finished: Called with the result of each scene.

    Raises:
        ConfigError: If a frame cannot be made or written, or a process ends before its time.
    """
    context = multiprocessing.get_context("spawn")
    ended, stop = context.Pipe(duplex=False)
    executor = ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(ended,))
    waiting: set[Future[Made]] = set()
    left = iter(jobs)
    try:
        with _worker_environment():
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
        # Workers detect the end of this pipe and stop immediately, even within a scene.
        stop.close()
        executor.shutdown(cancel_futures=True)
        ended.close()


def _begin(ended: Connection) -> None:
    """Make this worker ignore Ctrl-C and end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    owner = multiprocessing.parent_process()
    assert owner is not None
    sentinel = owner.sentinel

    def watch() -> None:
        multiprocessing.connection.wait([ended, sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _worker_environment() -> Iterator[None]:
    """Make processes that start now single-threaded and deaf to Ctrl-C."""
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


_IN_FLIGHT = 2


def run_on_ray(
    recipe: Recipe,
    folder: Path,
    plan: Plan,
    jobs: Sequence[Job],
    *,
    address: str,
    finished: Callable[[Made], None],
) -> None:
    """Make scenes as Ray tasks, each on one processor.

    All nodes must have the folder and the scenario's files under the same paths.

    Args:
        recipe: Recipe of the dataset.
        folder: Folder of the dataset.
        plan: Cameras and classes of the dataset.
        jobs: The scenes.
        address: Address of the cluster, such as `auto` or `ray://head:10001`; `local` to start one.
        finished: Called with the result of each scene.

    Raises:
        ConfigError: If Ray is not installed, there is no cluster, or a frame cannot be made or written.
    """
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise ConfigError(
            "needs the package ray, which is not installed",
            field="ray",
            value=address,
            remedy="pip install pegasus-multirotor[cluster]",
        ) from None
    if address == "local" and " " in sys.executable:
        # Ray's shell splits the path at the blank, and it waits for workers that never start.
        raise ConfigError(
            f"Ray cannot start its workers with {sys.executable}, whose path holds a blank",
            field="ray",
            value=address,
            remedy="install into a folder without blanks, or use --workers",
        )
    try:
        runtime = {"env_vars": ONE_THREAD}
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=runtime)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ConfigError(
            f"no Ray cluster: {str(error).splitlines()[0]}",
            field="ray",
            value=address,
            remedy="give the address of one, or local",
        ) from None
    try:
        task = ray.remote(num_cpus=1)(_make_job_on_ray)
        # Classes of user code are unpickled only where they can be imported.
        shared = ray.put((tuple(sys.path), pickle.dumps((recipe, folder, plan))))
        most = _IN_FLIGHT * max(1, int(ray.cluster_resources().get("CPU", 1)))
        left = iter(jobs)
        waiting: list[Any] = [task.remote(shared, job) for _, job in zip(range(most), left, strict=False)]
        while waiting:
            try:
                done, waiting = ray.wait(waiting, num_returns=1)
                made = ray.get(done[0])
            except ray.exceptions.RayTaskError as error:
                raise _cause(error) from None
            except (ray.exceptions.RayError, ConnectionError) as error:
                raise ConfigError(
                    f"a worker or a node was lost, perhaps for lack of memory: {type(error).__name__}",
                    field="ray",
                    value=address,
                    remedy="resume",
                ) from None
            finished(made)
            waiting += [task.remote(shared, job) for _, job in zip(range(1), left, strict=False)]
    finally:
        ray.shutdown()


def _make_job_on_ray(shared: tuple[tuple[str, ...], bytes], job: Job) -> Made:
    path, content = shared
    sys.path += [place for place in path if place not in sys.path]
    recipe, folder, plan = pickle.loads(content)
    return make_job(recipe, folder, plan, job)


def _cause(error: Any) -> BaseException:
    cause: BaseException = error.cause if isinstance(getattr(error, "cause", None), ConfigError) else error
    return cause
