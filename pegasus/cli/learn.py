"""Commands `train` and `evaluate`: policies that learn to fly."""

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from pegasus.base.errors import ConfigError
from pegasus.cli.settings import naming_options
from pegasus.cli.terminal import console, import_from_beside, resumable, showing_preparation, showing_progress


def _task_names() -> list[str]:
    from pegasus.learn import TASKS

    return list(TASKS)


TaskName = Annotated[
    str,
    typer.Argument(help="Name of a task, or package.module:Class.", autocompletion=_task_names),
]
TaskSettings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="FIELD=VALUE", help="Set a field of the task; repeatable."),
]


def _task(name: str, settings: list[str] | None) -> Any:
    """Return a task by its name, or of a class in a file."""
    from pegasus.learn.registration import task_of

    import_from_beside(name)
    return task_of(name, _fields(settings))


def _fields(settings: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """Return the values of an option by field."""
    import yaml

    given = {}
    for setting in settings or ():
        field, equals, value = setting.partition("=")
        if not (equals and field):
            raise ConfigError(
                "must be FIELD=VALUE", field=option, value=setting, remedy=f"such as {option} tilt=0.5"
            )
        given[field] = yaml.safe_load(value)
    return given


def _campaign(task: str, folder: Path, **options: Any) -> None:
    """Train with several seeds and settings, and print the means."""
    from pegasus.experiments import means_table
    from pegasus.experiments.means import means
    from pegasus.learn.campaign import REPORT, train_campaign

    import_from_beside(task)
    with showing_progress(f"training {task}", "trainings") as progress, resumable(folder):
        rows = train_campaign(task, folder, progress=progress, **options)
    for failure in dict.fromkeys(row["failure"] for row in rows if row["failure"]):
        print(f"pegasus: {failure}", file=sys.stderr)
    if found := means(rows, options["settings"]):
        console().print(means_table(found))
    print(folder / REPORT)


def train(
    task: TaskName = "hover",
    settings: TaskSettings = None,
    rows: Annotated[
        int | None, typer.Option(help="Number of episodes side by side (default: that of the task).")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Largest number of actions (default: that of the task).")
    ] = None,
    success: Annotated[
        float | None, typer.Option(help="Share of starts that succeed, at which it ends (likewise).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Folder (default: train/TASK).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    seeds: Annotated[int, typer.Option(help="Number of trainings with seeds from 0 up.")] = 1,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=VALUES",
            help="Train with values of a field: [A,B,...], uniform(A,B) or normal(A,B); repeatable.",
        ),
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Number of processes of several trainings.")] = None,
    ray: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster, or local, in place of processes.")
    ] = None,
) -> None:
    """Let a policy learn a task; write checkpoint, policy.onnx, progress.csv and learning curves."""
    from pegasus.learn.training import CHECKPOINT, POLICY, Progress, Training, draw_curves

    folder = out or Path("train") / task.rpartition(":")[2]
    if seeds != 1 or sweep or ray is not None:
        with naming_options():
            if seed:
                raise ConfigError("goes with one training", field="--seed", value=seed, remedy="give --seeds")
            _campaign(
                task,
                folder,
                fields=_fields(settings),
                settings=_fields(sweep, "--sweep"),
                seeds=seeds,
                rows=rows,
                steps=steps,
                success=success,
                jobs=jobs,
                ray=ray,
                resume=resume,
            )
        return
    with naming_options():
        made = _task(task, settings)
        found = (folder / CHECKPOINT).exists()
        if found != resume:
            problem = "holds a training" if found else f"holds no {CHECKPOINT}"
            remedy = "add --resume, or give another folder" if found else "leave out --resume"
            raise ConfigError(problem, field="--out", value=str(folder), remedy=remedy)
        with showing_preparation(f"preparing {task}"):
            training = Training(made, folder, rows=rows, seed=seed, resume=resume)
    began = time.perf_counter()
    name, unit = made.measured
    print(f"{'steps':>10} {'time':>7} {'reward':>8} {'success':>8} {name:>8}", flush=True)

    def report(progress: Progress) -> bool:
        print(
            f"{progress.steps:>10,} {time.perf_counter() - began:>5.0f} s {progress.reward:>8.2f} "
            f"{100 * progress.success:>6.1f} % {progress.measure:>6.3f} {unit}",
            flush=True,
        )
        return True

    with resumable(folder):
        try:
            last = training.run(report, steps=steps, success=success)
        except KeyboardInterrupt:
            training.save()
            raise
    draw_curves(folder / "curves.png", {task: folder}, made.measured)
    share = f"{100 * last.success:.1f} % of {made.learning.starts} starts succeed"
    print(f"{folder / POLICY}: {share}, median {name} {last.measure:.3f} {unit}")


def evaluate(
    policy: Annotated[Path, typer.Argument(help="File of a policy, .onnx.")],
    task: Annotated[str | None, typer.Option(help="Name of the task (default: that of the file).")] = None,
    settings: TaskSettings = None,
    seeds: Annotated[int, typer.Option(help="Number of episodes.")] = 100,
    wind: Annotated[float, typer.Option(help="Speed of the wind in the core [m/s].")] = 0.0,
    mass: Annotated[float, typer.Option(help="Largest share by which masses differ there.")] = 0.0,
    noise: Annotated[bool, typer.Option("--noise", help="Fly there by a filter of noisy sensors.")] = False,
    seed: Annotated[int, typer.Option(help="Seed of the beginnings.")] = 1,
    picture: Annotated[
        Path | None, typer.Option(help="Picture of twelve flights in the fleet, .png.")
    ] = None,
) -> None:
    """Fly a policy in a fleet and in the core, and compare."""
    from rich.table import Table

    from pegasus.learn.core_flights import Disturbances, evaluate_in_core
    from pegasus.learn.flights import evaluate as fly
    from pegasus.learn.pictures import draw_flights
    from pegasus.learn.policy_file import PolicyFile
    from pegasus.learn.verdict import Result

    with naming_options():
        file = PolicyFile(policy)
        made = _task(task or file.description.task, settings)
        disturbances = Disturbances(wind=wind, mass=mass, noise=noise)
        name, unit = made.measured
        table = Table("flown in", "success", f"median {name}")
        in_core = partial(evaluate_in_core, policy, made, count=seeds, seed=seed)
        flown: dict[str, Callable[[], Result]] = {
            "the fleet": partial(fly, file, made, count=seeds, seed=seed)
        }
        # What stands around rows of a fleet is not in the core.
        if made.world(1) is None:
            flown["the core"] = partial(in_core, Disturbances())
        if disturbances != Disturbances():
            title = ", ".join(
                text
                for text, shown in (
                    (f"wind {wind:g} m/s", wind),
                    (f"mass +-{100 * mass:g} %", mass),
                    ("noise", noise),
                )
                if shown
            )
            flown[f"the core with {title}"] = partial(in_core, disturbances)
        if picture is not None:
            draw_flights(file, made, picture, seed=seed)
        results: list[Result] = []
        for place, episodes in flown.items():
            results.append(result := episodes())
            table.add_row(place, f"{100 * result.success:.1f} %", f"{result.measure:.3f} {unit}")
        if len(results) > 1:
            fleet, core = results[:2]
            table.add_row(
                "gap, core to fleet",
                f"{100 * (core.success - fleet.success):+.1f} %",
                f"{core.measure - fleet.measure:+.3f} {unit}",
            )
    console().print(table)


def export(
    policy: Annotated[Path, typer.Argument(help="File of a policy, .onnx.")],
    to: Annotated[str, typer.Option(help="Format: tflite, for PX4's module mc_nn_control.")] = "tflite",
    out: Annotated[Path, typer.Option(help="Folder of the files.")] = Path("px4"),
) -> None:
    """Write a policy as a TensorFlow Lite file, and as the C++ source that PX4 compiles."""
    from pegasus.learn.policy_file import PolicyFile
    from pegasus.learn.tflite_file import export_tflite, layers_of

    if to != "tflite":
        raise ConfigError("must be tflite", field="--to", value=to)
    file = PolicyFile(policy)
    written = export_tflite(policy, out)
    print(f"{out}: {', '.join(path.name for path in written)}")
    print("observation:", ", ".join(f"{name} x {scale:g}" for name, scale in file.description.terms))
    if any(layer.activation == "Tanh" for layer in layers_of(file)):
        print("mc_nn_control.cpp: add op_resolver.AddTanh() to RegisterOps")
