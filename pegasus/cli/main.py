"""Commands of `pegasus`."""

import contextlib
import logging
import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pegasus.base.errors import AutopilotError, ConfigError, standalone_error
from pegasus.cli.make import dataset, make
from pegasus.cli.settings import Settings, naming_options, parse_settings
from pegasus.cli.terminal import import_from_beside, showing_preparation
from pegasus.cli.view import Host, Port, require_viser, shown_in_browser, view
from pegasus.isaac import command as isaac_command
from pegasus.panel.viser import LOCAL, PORT
from pegasus.version import __version__

app = typer.Typer(
    name="pegasus",
    help="Multirotor simulator: accurate dynamics, realistic sensors, many vehicles.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
show = typer.Typer(help="Show the properties of a vehicle.", no_args_is_help=True)
app.add_typer(show, name="show")
app.add_typer(make, name="make")
app.command()(dataset)
app.command()(view)
check = typer.Typer(help="Check the files of a world.", no_args_is_help=True)
app.add_typer(check, name="check")

_EXIT_INPUT = 2
_EXIT_AUTOPILOT = 3
_EXIT_INTERRUPTED = 128 + signal.SIGINT
_EXIT_TERMINATED = 128 + signal.SIGTERM
_WIDE = 10_000


class Kind(StrEnum):
    """Kinds of items that can be listed."""

    WORLDS = "worlds"
    VEHICLES = "vehicles"
    SCENARIOS = "scenarios"
    BACKENDS = "backends"


@app.callback(invoke_without_command=True)
def options(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Multirotor simulator: accurate dynamics, realistic sensors, many vehicles."""
    if version:
        print(__version__)
        raise typer.Exit


@app.command()
def run(
    context: typer.Context,
    scenario: Annotated[str, typer.Argument(help="Name of a scenario, or a YAML file.")] = "first_flight",
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
    _console().print(result.summary)
    if result.folder is not None:
        print(f"{result.folder}: {', '.join(sorted(path.name for path in result.folder.iterdir()))}")
    for failure in result.summary.failures:
        print(f"pegasus: {failure}", file=sys.stderr)
    if result.interrupted:
        print("pegasus: interrupted", file=sys.stderr)
        raise typer.Exit(_EXIT_INTERRUPTED)
    if result.summary.failures:
        raise typer.Exit(_EXIT_AUTOPILOT)


@app.command(
    add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
)
def isaac(context: typer.Context) -> None:
    """Fly a scenario in Isaac Sim; takes the options of pegasus run."""
    raise typer.Exit(isaac_command.run(context.args))


@app.command("list")
def list_(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
    """List worlds, vehicles, scenarios or backends."""
    from pegasus.backends import BACKENDS
    from pegasus.config import (
        ScenarioSpec,
        VehicleSpec,
        WorldSpec,
        load_scenario,
        load_vehicle,
        load_world,
        settings,
    )

    table = Table("name", "description", box=None)
    if kind is Kind.BACKENDS:
        for name, backend in sorted(BACKENDS.items()):
            table.add_row(Text(name), Text((backend.__doc__ or "").strip().splitlines()[0]))
    else:
        load: dict[Kind, Callable[[str], tuple[WorldSpec | VehicleSpec | ScenarioSpec, Path | None]]]
        load = {Kind.WORLDS: load_world, Kind.VEHICLES: load_vehicle, Kind.SCENARIOS: load_scenario}
        for name in settings.names(kind.value):
            try:
                description = Text(load[kind](name)[0].description)
            except ConfigError as error:
                # An invalid file must not prevent the listing of the others.
                description = Text(f"cannot be used: {error}", style="red")
            table.add_row(Text(name), description)
    _console().print(table)


@show.command()
def vehicle(name: Annotated[str, typer.Argument(help="Name of a vehicle, or a YAML file.")]) -> None:
    """Show a vehicle's parameters, and the performance derived from them."""
    from pegasus.design.vehicle_sheet import vehicle_sheet

    import_from_beside(name)
    table = Table("", "", show_header=False, box=None)
    table.columns[1].overflow = "fold"
    for label, value in vehicle_sheet(name):
        table.add_row(Text(label), Text(value))
    _console().print(table)


@check.command()
def world(name: Annotated[str, typer.Argument(help="Name of a world, or a YAML or USD file.")]) -> None:
    """Check a world: units, colliders, labels, lights, spawn points, paths."""
    from pegasus.core.simulation import Simulation
    from pegasus.worlds.check import check_world

    import_from_beside(name)
    with showing_preparation(f"loading {name}"):
        loaded = Simulation(name)
    with loaded as simulation:
        findings = check_world(simulation.world, simulation.scene, simulation.engine)
    table = Table("", "check", "result", box=None)
    table.columns[2].overflow = "fold"
    for finding in findings:
        mark = Text("fails", style="red") if finding.problems else Text("ok", style="green")
        table.add_row(mark, Text(finding.subject), Text("\n".join(finding.problems)))
    _console().print(table)
    if any(finding.problems for finding in findings):
        raise typer.Exit(1)


@app.command()
def plot(
    run: Annotated[Path, typer.Argument(help="Folder of a run, or its log.", metavar="RUN")],
) -> None:
    """Plot the flight of a recorded run again."""
    from pegasus.experiments import plot_run

    print(plot_run(run))


@app.command()
def doctor() -> None:
    """Report what is installed, and the remedy for what is missing."""
    from pegasus.cli.doctor import Status, examine

    table = Table("", "check", "result", box=None)
    table.columns[2].overflow = "fold"
    styles = {Status.OK: "green", Status.OPTIONAL: "yellow", Status.MISSING: "red"}
    findings = examine()
    for finding in findings:
        mark = Text(finding.status.value, style=styles[finding.status])
        found = "; ".join(part for part in (finding.found, finding.remedy) if part)
        table.add_row(mark, Text(finding.subject), Text(found))
    _console().print(table)
    if any(finding.status is Status.MISSING for finding in findings):
        raise typer.Exit(1)


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
    report(counts, seconds=seconds, json=json, console=_console())


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
    # A terminated run saves what was flown until then, as after Ctrl-C.
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        app(prog_name="pegasus")
    except ConfigError as error:
        print("pegasus:", "; ".join([str(error), *getattr(error, "__notes__", ())]), file=sys.stderr)
        sys.exit(_EXIT_AUTOPILOT if isinstance(error, AutopilotError) else _EXIT_INPUT)
    except ModuleNotFoundError as error:
        print("pegasus:", standalone_error(error), file=sys.stderr)
        sys.exit(_EXIT_INPUT)
    except SystemExit as end:
        if terminated and end.code == _EXIT_INTERRUPTED:
            sys.exit(_EXIT_TERMINATED)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _console() -> Console:
    """Return the console for results, without line wrapping if the output is not a terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)


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
