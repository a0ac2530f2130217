"""Commands of `pegasus`."""

import contextlib
import logging
import signal
import sys
import time
import traceback
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console

from pegasus.base.errors import AutopilotError, ConfigError, package_error
from pegasus.base.system import LOCAL, PORT
from pegasus.cli.catalogue import check, list_, show
from pegasus.cli.doctor import doctor
from pegasus.cli.identification import identify
from pegasus.cli.learn import evaluate, export, train
from pegasus.cli.make import dataset, make
from pegasus.cli.settings import Commands, ScenarioName, Settings, naming_options, parse_settings
from pegasus.cli.terminal import (
    EXIT_INTERRUPTED,
    console,
    import_from_beside,
    resumable,
    showing_preparation,
    showing_progress,
)
from pegasus.cli.verdicts import fly_tests, repro
from pegasus.cli.view import Host, Port, require_viser, shown_in_browser, view
from pegasus.isaac import command as isaac_command
from pegasus.version import __version__

app = typer.Typer(
    name="pegasus",
    cls=Commands,
    help="Multirotor simulator: accurate dynamics, realistic sensors, many vehicles.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(show, name="show")
app.add_typer(check, name="check")
app.add_typer(make, name="make")
app.command("list")(list_)
app.command()(doctor)
app.command()(dataset)
app.command()(view)
app.command()(train)
app.command()(evaluate)
app.command("test")(fly_tests)
app.command()(repro)
app.command()(export)
app.command()(identify)

_EXIT_EXPECTATION = 1
_EXIT_INPUT = 2
_EXIT_AUTOPILOT = 3
_EXIT_CRASH = 4
_EXIT_TERMINATED = 128 + signal.SIGTERM
_LOG = logging.getLogger("pegasus")


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    verbose: Annotated[
        bool,
        typer.Option("-v", "--verbose", help="Log what is done, and show where errors come from."),
    ] = False,
) -> None:
    """Multirotor simulator: accurate dynamics, realistic sensors, many vehicles."""
    if verbose:
        _LOG.setLevel(logging.DEBUG)
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
def run(
    context: typer.Context,
    scenario: ScenarioName = "first_flight",
    duration: Annotated[float | None, typer.Option(help="Simulated time [s].")] = None,
    rate: Annotated[float | None, typer.Option(help="Physics steps per simulated second [Hz].")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of all random numbers.")] = None,
    vehicles: Annotated[int | None, typer.Option(help="Number of copies of every vehicle.")] = None,
    speed: Annotated[str | None, typer.Option(help="Multiple of real time, or max.")] = None,
    out: Annotated[Path | None, typer.Option(help="Parent folder of the runs (default: runs).")] = None,
    record: Annotated[bool, typer.Option("--record/--no-record", help="Write log, summary and plot.")] = True,
    ros2: Annotated[
        bool,
        typer.Option("--ros2", help="Connect every vehicle to ROS 2, in real time unless --speed is given."),
    ] = False,
    view: Annotated[
        bool,
        typer.Option("--view", help="Show it in the browser, in real time unless --speed is given."),
    ] = False,
    settings: Settings = None,
    host: Host = LOCAL,
    port: Port = PORT,
) -> None:
    """Fly a scenario and report the results."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from pegasus.experiments import Flight

    import_from_beside(scenario)
    if view:
        require_viser()
    else:
        _require_default(context, "host", "port", needed="--view")
    if view or ros2:
        # Viewers and external controllers need real time.
        speed = speed or "1"
    given = {
        "duration": duration,
        "rate": rate,
        "seed": seed,
        "speed": _speed(speed),
        "vehicles.*.count": vehicles,
    }
    changes = {path: value for path, value in given.items() if value is not None}
    options = {path: f"--{path.partition('.')[0]}" for path in changes}
    with naming_options(options), showing_preparation(f"preparing {scenario}"):
        flight = Flight(scenario, changes | parse_settings(settings), ros2=ros2)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:.1f} / {task.total:.1f} s simulated"),
        TimeElapsedColumn(),
    )
    terminal = Console(stderr=True)
    page = shown_in_browser(flight, host=host, port=port) if view else contextlib.nullcontext()
    with page, Progress(*columns, console=terminal, disable=not terminal.is_terminal) as bar:
        task = bar.add_task(flight.spec.name, total=flight.duration)
        result = flight.fly(
            out=out,
            record=record,
            progress=lambda now: bar.update(task, completed=now, total=flight.duration),
        )
    console().print(result.summary)
    if result.folder is not None:
        print(f"{result.folder}: {', '.join(sorted(path.name for path in result.folder.iterdir()))}")
        if find_spec("matplotlib") is None:
            print("no plot, for lack of matplotlib: pip install 'pegasus-multirotor[plot]'")
    for failure in result.summary.failures:
        print(f"pegasus: {failure}", file=sys.stderr)
    crashes = {name: outcome for name, outcome in result.summary.outcomes.items() if outcome.crashed.any()}
    for name, outcome in crashes.items():
        print(f"pegasus: {name} crashed: {outcome.crash_line()}", file=sys.stderr)
    missed = [verdict for verdict in result.summary.verdicts if not verdict.passed]
    for verdict in missed:
        print(f"pegasus: expectation failed: {verdict.line()}", file=sys.stderr)
    if result.interrupted:
        print("pegasus: interrupted", file=sys.stderr)
        raise typer.Exit(EXIT_INTERRUPTED)
    if result.summary.failures:
        raise typer.Exit(_EXIT_AUTOPILOT)
    if missed:
        raise typer.Exit(_EXIT_EXPECTATION)
    if crashes:
        raise typer.Exit(_EXIT_CRASH)


@app.command()
def sweep(
    scenario: ScenarioName,
    seeds: Annotated[int, typer.Option(help="Number of seeds, from 0 up.")] = 1,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUES",
            help="Values of a field: PATH=[A,B,...], PATH=uniform(A,B) or PATH=normal(A,B); repeatable.",
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Number of processes (default: one per processor).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Table, .csv or .parquet (default: SCENARIO_sweep.csv).")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an existing table.")] = False,
    ray: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster, or local, in place of processes.")
    ] = None,
) -> None:
    """Fly a scenario with many seeds and settings, and write a table of the results."""
    from pegasus.experiments import is_varied, means, means_table, survival_table
    from pegasus.experiments import sweep as flown

    import_from_beside(scenario)
    table = Path(f"{Path(scenario).stem}_sweep.csv") if out is None else out
    values = parse_settings(settings)
    began = time.perf_counter()
    with naming_options(), showing_progress(table.name, "flights") as progress, resumable(table):
        rows = flown(
            scenario,
            seeds=seeds,
            settings=values,
            jobs=jobs,
            out=table,
            resume=resume,
            ray=ray,
            progress=progress,
        )
    failed = [row for row in rows if row.get("failure")]
    stepped = sum(row.get("step_time", 0.0) for row in rows)
    print(
        f"{table}: {len(rows)} flights, {len(failed)} failed; "
        f"steps of {stepped:.1f} s in {time.perf_counter() - began:.1f} s"
    )
    for failure in dict.fromkeys(row["failure"] for row in failed):
        print(f"pegasus: {failure}", file=sys.stderr)
    if seeds > 1 and (found := means(rows, values)):
        console().print(means_table(found))
    if any(name.endswith(".survived") for row in rows for name in row):
        console().print(survival_table(rows, [path for path, value in values.items() if is_varied(value)]))


@app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def isaac(context: typer.Context) -> None:
    """Fly a scenario in Isaac Sim; takes the options of pegasus run."""
    raise typer.Exit(isaac_command.run(context.args))


@app.command()
def plot(
    run: Annotated[Path, typer.Argument(help="Folder of a run, or its log.", metavar="RUN")],
) -> None:
    """Plot the flight of a recorded run again."""
    from pegasus.experiments import plot_run

    print(plot_run(run))


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="Log, folder of a run, or CSV of time, x, y, z.")],
    second: Annotated[Path, typer.Argument(help="The same, of the other flight.")],
    vehicle: Annotated[str | None, typer.Option(help="Vehicle of both logs.")] = None,
    second_vehicle: Annotated[str | None, typer.Option(help="Vehicle of the second log, if another.")] = None,
    align: Annotated[
        str, typer.Option(help="Move the second path: none, start (place and time), or pose (best fit).")
    ] = "none",
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare two flown paths: Hausdorff, Frechet and RMS distances."""
    from pegasus.cli.comparison import report_comparison

    report_comparison(first, second, vehicles=(vehicle, second_vehicle or vehicle), align=align, as_json=json)


@app.command()
def residuals(
    files: Annotated[list[Path], typer.Argument(help="CSV files of NeuroBEM, or in its format.")],
    vehicle: Annotated[str, typer.Option(help="Name or file of the vehicle whose models are compared.")],
    air_density: Annotated[float, typer.Option(help="Air density [kg/m^3].")] = 1.225,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compare force and torque of a recorded flight with those of a vehicle's models."""
    from pegasus.cli.comparison import report_residuals

    report_residuals(files, vehicle=vehicle, air_density=air_density, as_json=json)


@app.command()
def published(
    name: Annotated[str, typer.Argument(help="Comparison: airsim, hector or rotors.", metavar="NAME")],
    plot: Annotated[Path | None, typer.Option(help="PNG file of the curves.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Compute figures of papers again, and print both."""
    from pegasus.cli.comparison import report_published

    report_published(name, plot=plot, as_json=json)


@app.command()
def bench(
    vehicles: Annotated[
        str, typer.Option(help="Numbers of vehicles, separated by commas.")
    ] = "1,10,100,1000",
    seconds: Annotated[float, typer.Option(help="Wall time for each measurement [s].")] = 2.0,
    json: Annotated[Path | None, typer.Option(help="File for the results as JSON.")] = None,
) -> None:
    """Measure the simulator's speed on this machine, by part of the step."""
    from pegasus.cli.benchmark import report

    try:
        counts = [int(part) for part in vehicles.split(",")]
    except ValueError:
        raise ConfigError(
            "must be whole numbers separated by commas",
            field="--vehicles",
            value=vehicles,
            remedy="such as 1,10,100",
        ) from None
    report(counts, seconds=seconds, json=json, console=console())


def main() -> None:
    """Run the command; user errors are reported as one line on stderr, with exit code 2 or 3."""
    terminated = False

    def terminate(number: int, frame: FrameType | None) -> None:
        nonlocal terminated
        terminated = True
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(number, frame)

    logging.basicConfig(format="pegasus: %(levelname)s: %(message)s")
    level = _LOG.level
    # A terminated run saves what was flown until then, as after Ctrl-C.
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        app(prog_name="pegasus")
    except ConfigError as error:
        if _LOG.isEnabledFor(logging.DEBUG):
            traceback.print_exc()
        print("pegasus:", "; ".join([str(error), *getattr(error, "__notes__", ())]), file=sys.stderr)
        sys.exit(_EXIT_AUTOPILOT if isinstance(error, AutopilotError) else _EXIT_INPUT)
    except ModuleNotFoundError as error:
        print("pegasus:", package_error(error), file=sys.stderr)
        sys.exit(_EXIT_INPUT)
    except SystemExit as end:
        if terminated and end.code == EXIT_INTERRUPTED:
            sys.exit(_EXIT_TERMINATED)
        raise
    finally:
        _LOG.setLevel(level)
        signal.signal(signal.SIGTERM, before)


def _require_default(context: typer.Context, *names: str, needed: str) -> None:
    """Reject options that would be ignored without another option."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise ConfigError(f"requires {needed}", field=f"--{name}", remedy=f"add {needed}")


def _speed(speed: str | None) -> float | str | None:
    if speed is None or speed == "max":
        return speed
    try:
        return float(speed)
    except ValueError:
        raise ConfigError(
            "must be a number (multiple of real time) or max",
            field="--speed",
            value=speed,
            remedy="see pegasus run --help",
        ) from None
