"""Tasks by name, and their environments in Gymnasium's registry."""

from typing import Any

from pegasus.base.components import build
from pegasus.base.registry import Registry
from pegasus.learn.task import Task

TASKS: Registry[Task] = Registry(
    "task",
    group="pegasus.tasks",
    shipped={
        "hover": "pegasus.learn.tasks.hover:Hover",
        "recover_from_throw": "pegasus.learn.tasks.hover:RecoverFromThrow",
        "track_trajectory": "pegasus.learn.tasks.track:TrackTrajectory",
        "race_gates": "pegasus.learn.tasks.race:RaceGates",
        "land_on_pad": "pegasus.learn.tasks.land:LandOnPad",
        "fixed_wing_waypoints": "pegasus.learn.tasks.waypoints:FixedWingWaypoints",
        "avoid_obstacles": "pegasus.learn.tasks.avoid:AvoidObstacles",
        "swarm": "pegasus.learn.tasks.swarm:Swarm",
    },
)
"""Tasks by their name, as `pegasus train` takes it."""


def register() -> None:
    """Register the environments of all tasks, such as `Pegasus/Hover-v0`, in Gymnasium."""
    # Not at the top: gymnasium is a package of the extra `learn`.
    from gymnasium.envs.registration import register as register_environment
    from gymnasium.envs.registration import registry

    for name in TASKS:
        title = f"Pegasus/{name.title().replace('_', '')}-v0"
        if title not in registry:
            register_environment(
                title,
                entry_point="pegasus.learn.registration:make",
                vector_entry_point="pegasus.learn.registration:make_vector",
                kwargs={"task": name},
            )


def task_of(task: Any, parameters: dict[str, Any]) -> Task:
    """Return a task by its name or `package.module:Class`, its class, or itself.

    Args:
        task: One of these.
        parameters: Parameters of the task.

    Raises:
        ConfigError: If there is no such task or parameter.
    """
    if isinstance(task, Task):
        return task
    if isinstance(task, str):
        return build(Task, TASKS, {"model": task, **parameters}, field="task")
    made: Task = task(**parameters)
    return made


def make(task: Any, *, dtype: str = "float32", render_mode: None = None, **parameters: Any) -> Any:
    """Return the environment of one row, for `gymnasium.make`; see `SingleEnv`."""
    from pegasus.learn.environment import SingleEnv

    return SingleEnv(task_of(task, parameters), dtype=dtype, render_mode=render_mode)


def make_vector(
    task: Any,
    num_envs: int = 1,
    *,
    dtype: str = "float32",
    autoreset_mode: Any = "NEXT_STEP",
    seed: int = 0,
    render_mode: None = None,
    **parameters: Any,
) -> Any:
    """Return the environment of N rows, for `gymnasium.make_vec`; see `FleetEnv`."""
    from pegasus.learn.environment import FleetEnv

    return FleetEnv(
        task_of(task, parameters),
        num_envs,
        dtype=dtype,
        autoreset_mode=autoreset_mode,
        seed=seed,
        render_mode=render_mode,
    )
