"""Jobs shared out among processes of this machine, or among the nodes of a Ray cluster."""

import contextlib
import gc
import importlib
import logging
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from pegasus.base.errors import ConfigError

J = TypeVar("J")
R = TypeVar("R")

_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "OIDN")
ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in _LIBRARIES}
"""Environment that makes libraries single-threaded, since threads could change the last bits."""
_READY, _DONE, _FAILED = "ready", "done", "failed"


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


class _Worker(Generic[J, R]):
    """Process that does one job after the other.

    Args:
        task: Function of a job.
    """

    def __init__(self, task: Callable[[J], R]) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, task), daemon=True)
        self.process.start()
        theirs.close()
        self.ready = False
        """The process has begun."""

    def give(self, job: J, losses: int) -> None:
        """Give it a job.

        Args:
            job: The job.
            losses: Number of workers that were lost with it.
        """
        self.job, self.losses = job, losses
        # A worker that has just been killed is noticed when its answer is read.
        with contextlib.suppress(OSError):
            self.connection.send(job)

    def end(self) -> None:
        """End the process immediately, even within a job."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def run_in_processes(
    task: Callable[[J], R],
    jobs: Iterable[J],
    *,
    count: int,
    finished: Callable[[R], None],
    lost: Callable[[J], R] | None = None,
) -> None:
    """Do jobs in processes, which end whenever this one ends.

    Args:
        task: Function of a job; it must be importable by name.
        jobs: The jobs.
        count: Number of processes.
        finished: Called with the result of each job.
        lost: Result of a job whose process was ended from outside twice. If it is None, the first such end is
            an error.

    Raises:
        ConfigError: If a process ends before its time, or the task raises one.
    """
    waiting = deque((job, 0) for job in jobs)
    workers: dict[Any, _Worker[J, R]] = {}
    try:
        while waiting or workers:
            while waiting and len(workers) < count:
                with _worker_environment():
                    worker = _Worker[J, R](task)
                    workers[worker.connection] = worker
                worker.give(*waiting.popleft())
            for connection in multiprocessing.connection.wait(list(workers)):
                worker = workers[connection]
                try:
                    kind, answer = worker.connection.recv()
                except (EOFError, OSError):
                    del workers[connection]
                    _require_begun(worker)
                    if lost is None:
                        raise _ended(count) from None
                    if worker.losses:
                        finished(lost(worker.job))
                    else:
                        waiting.appendleft((worker.job, 1))
                    continue
                if kind == _READY:
                    worker.ready = True
                    continue
                if kind == _FAILED:
                    raise answer
                finished(answer)
                if waiting:
                    worker.give(*waiting.popleft())
                else:
                    del workers[connection]
                    worker.end()
    finally:
        for worker in workers.values():
            worker.end()


def _require_begun(worker: _Worker[J, R]) -> None:
    """Raise a ConfigError if a process has ended by itself before it began."""
    worker.process.join()
    worker.connection.close()
    if not worker.ready and (worker.process.exitcode or 0) > 0:
        raise ConfigError(
            "a worker process could not begin; its error is above",
            field="workers",
            remedy='in a script, start workers below `if __name__ == "__main__":` only',
        )


def _ended(count: int) -> ConfigError:
    return ConfigError(
        "a worker process was ended from outside, perhaps for lack of memory",
        field="workers",
        value=count,
        remedy="resume with fewer workers",
    )


def _serve(connection: Connection, task: Callable[[Any], Any]) -> None:
    """Do the jobs that a connection brings, in a process that ignores Ctrl-C and ends with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    owner = multiprocessing.parent_process()
    assert owner is not None
    sentinel = owner.sentinel

    def watch() -> None:
        multiprocessing.connection.wait([sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    with contextlib.suppress(EOFError, ConnectionError):
        connection.send((_READY, None))
        frozen = False
        while True:
            job = connection.recv()
            try:
                answer = _DONE, task(job)
            except Exception as error:
                answer = _FAILED, _sendable(error)
            connection.send(answer)
            if not frozen:
                # What the first job has loaded stays, and need not be searched for garbage again.
                frozen = True
                gc.collect()
                gc.freeze()


def _sendable(error: Exception) -> Exception:
    """Return an error that can be sent to the parent, with the traceback of an unexpected one."""
    text = traceback.format_exc()
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    if not isinstance(error, ConfigError):
        error.add_note(f"in a worker process:\n{text}")
    return error


@contextlib.contextmanager
def _worker_environment() -> Iterator[None]:
    """Make processes that start now single-threaded and deaf to Ctrl-C, which this one heeds afterwards."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    main, interrupts = threading.current_thread() is threading.main_thread(), 0

    def count(*_: object) -> None:
        nonlocal interrupts
        interrupts += 1

    # Python's resource tracker changes the mask when it starts.
    resource_tracker.ensure_running()
    handler = signal.signal(signal.SIGINT, count) if main else None
    # Programs inherit the mask, but no handler.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if main:
            signal.signal(signal.SIGINT, handler)
            if interrupts:
                signal.raise_signal(signal.SIGINT)


_IN_FLIGHT = 2


def run_on_ray(
    task: Callable[[J], R], jobs: Iterable[J], *, address: str, finished: Callable[[R], None]
) -> None:
    """Do jobs as Ray tasks, each on one processor.

    All nodes must have the files that the task reads and writes under the same paths.

    Args:
        task: Function of a job; it must be importable by name.
        jobs: The jobs.
        address: Address of the cluster, such as `auto` or `ray://head:10001`; `local` to start one.
        finished: Called with the result of each job.

    Raises:
        ConfigError: If Ray is not installed, there is no cluster, or the task raises one.
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
        remote = ray.remote(num_cpus=1)(_do_on_ray)
        # Classes of user code are unpickled only where they can be imported.
        shared = ray.put((tuple(sys.path), pickle.dumps(task)))
        most = _IN_FLIGHT * max(1, int(ray.cluster_resources().get("CPU", 1)))
        left = iter(jobs)
        waiting: list[Any] = [remote.remote(shared, job) for _, job in zip(range(most), left, strict=False)]
        while waiting:
            try:
                done, waiting = ray.wait(waiting, num_returns=1)
                answer = ray.get(done[0])
            except ray.exceptions.RayTaskError as error:
                raise _cause(error) from None
            except (ray.exceptions.RayError, ConnectionError) as error:
                raise ConfigError(
                    f"a worker or a node was lost, perhaps for lack of memory: {type(error).__name__}",
                    field="ray",
                    value=address,
                    remedy="resume",
                ) from None
            finished(answer)
            waiting += [remote.remote(shared, job) for _, job in zip(range(1), left, strict=False)]
    finally:
        ray.shutdown()


def _do_on_ray(shared: tuple[tuple[str, ...], bytes], job: Any) -> Any:
    path, task = shared
    sys.path += [place for place in path if place not in sys.path]
    return pickle.loads(task)(job)


def _cause(error: Any) -> BaseException:
    cause: BaseException = error.cause if isinstance(getattr(error, "cause", None), ConfigError) else error
    return cause
