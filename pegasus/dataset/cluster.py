"""Make the scenes of a dataset on a Ray cluster."""

import importlib
import logging
import pickle
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pegasus.dataset.episode import Plan
from pegasus.dataset.recipe import Recipe
from pegasus.dataset.workers import ONE_THREAD, Job, Made, make_job
from pegasus.errors import ConfigError

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

    All nodes must reach the folder under the same path, and the scenario's files too.

    Args:
        recipe: What the dataset is made from.
        folder: Where it goes.
        plan: Its cameras and classes.
        jobs: The scenes.
        address: Address of the cluster, such as `auto` or `ray://head:10001`; `local` for one of its own.
        finished: Called with what came of each scene.

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
        # Its shell splits the path at the blank, and the workers that never come are waited for.
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
        task = ray.remote(num_cpus=1)(_make_job_there)
        # Classes of the user's own can only be unpickled where they can be imported.
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


def _make_job_there(shared: tuple[tuple[str, ...], bytes], job: Job) -> Made:
    path, content = shared
    sys.path += [place for place in path if place not in sys.path]
    recipe, folder, plan = pickle.loads(content)
    return make_job(recipe, folder, plan, job)


def _cause(error: Any) -> BaseException:
    cause: BaseException = error.cause if isinstance(getattr(error, "cause", None), ConfigError) else error
    return cause
