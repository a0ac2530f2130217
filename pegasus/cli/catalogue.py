"""The commands `pegasus list`, `show` and `check`."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.table import Table
from rich.text import Text

from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.cli.settings import ScenarioName, Settings, naming_options, parse_settings
from pegasus.cli.terminal import console, import_from_beside, showing_preparation
from pegasus.config.files import yaml_text

show = typer.Typer(help="Show a vehicle, a world or a scenario.", no_args_is_help=True)
check = typer.Typer(help="Check a vehicle, a world or a scenario.", no_args_is_help=True)


class Kind(StrEnum):
    """Kinds of items that can be listed."""

    WORLDS = "worlds"
    VEHICLES = "vehicles"
    SCENARIOS = "scenarios"
    BACKENDS = "backends"
    CONTROLLERS = "controllers"
    TRAJECTORIES = "trajectories"
    SENSORS = "sensors"
    ESTIMATORS = "estimators"
    GENERATORS = "generators"
    WINDS = "winds"
    FAULTS = "faults"


class Calibration(StrEnum):
    """Files of Kalibr."""

    IMU = "imu"
    CAMCHAIN = "camchain"


_PIPE_WIDTH = 110
_FILES = (Kind.WORLDS, Kind.VEHICLES, Kind.SCENARIOS)


def _vehicle_names() -> list[str]:
    """Return the names of vehicles, for completion."""
    return _names("vehicles")


def _world_names() -> list[str]:
    """Return the names of worlds, for completion."""
    return _names("worlds")


def _kinds() -> list[str]:
    return [kind.value for kind in Kind]


def list_(
    name: Annotated[
        str, typer.Argument(metavar="KIND", help=f"One of {', '.join(Kind)}.", autocompletion=_kinds)
    ],
) -> None:
    """List worlds, vehicles, scenarios, or the components that these can name."""
    if name not in _kinds():
        remedy = " ".join(did_you_mean(name, _kinds())) or None
        raise ConfigError(f"must be one of {', '.join(Kind)}", field="KIND", value=name, remedy=remedy)
    kind = Kind(name)
    table = Table("name", "description", box=None)
    for item, describe in sorted((_files if kind in _FILES else _components)(kind).items()):
        try:
            description = Text(describe())
        except ConfigError as error:
            # An invalid file, or a missing package, must not prevent the listing of the others.
            description = Text(f"cannot be used: {error}", style="red")
        table.add_row(Text(item), description)
    console().print(table)


@show.command("vehicle")
def show_vehicle(
    name: Annotated[
        str, typer.Argument(help="Name of a vehicle, or a YAML file.", autocompletion=_vehicle_names)
    ],
    kalibr: Annotated[
        Calibration | None,
        typer.Option(help="Print its calibration as a file of Kalibr."),
    ] = None,
) -> None:
    """Show a vehicle's parameters, and the performance derived from them."""
    from pegasus.design.vehicle_sheet import vehicle_sheet

    import_from_beside(name)
    if kalibr is not None:
        from pegasus.core.aircraft import Aircraft
        from pegasus.design.kalibr import camera_chain, imu_parameters

        vehicle = Aircraft(name)
        content = imu_parameters(vehicle) if kalibr is Calibration.IMU else camera_chain(vehicle)
        # Matrices have a row on each line, as Kalibr writes them.
        flow = False if kalibr is Calibration.IMU else None
        print(yaml.safe_dump(content, sort_keys=False, default_flow_style=flow, width=110), end="")
        return
    terminal, sheet = console(), vehicle_sheet(name)
    if not terminal.is_terminal:
        width = max(len(label) for label, _ in sheet) + 2
        for label, value in sheet:
            lines = textwrap.wrap(value, _PIPE_WIDTH - width, break_long_words=False, break_on_hyphens=False)
            print(f"{label:<{width}}" + f"\n{width * ' '}".join(lines))
        return
    table = Table("", "", show_header=False, box=None)
    table.columns[1].overflow = "fold"
    for label, value in sheet:
        table.add_row(Text(label), Text(value))
    terminal.print(table)


@show.command("world")
def show_world(
    name: Annotated[
        str, typer.Argument(help="Name of a world, or a YAML file.", autocompletion=_world_names)
    ],
) -> None:
    """Show all fields of a world as YAML, with those that it extends and the defaults."""
    from pegasus.config import load_world

    spec, file = load_world(name)
    _print_yaml(spec.model_dump(mode="json"), file)


@show.command("scenario")
def show_scenario(
    name: ScenarioName,
    settings: Settings = None,
) -> None:
    """Show all fields of a scenario as YAML, with those that it extends and the defaults."""
    from pegasus.config import Changes, load_scenario

    with naming_options():
        spec, file = load_scenario(name, Changes(parse_settings(settings)))
    _print_yaml(spec.model_dump(mode="json"), file)


@check.command("vehicle")
def check_vehicle(
    name: Annotated[
        str, typer.Argument(help="Name of a vehicle, or a YAML file.", autocompletion=_vehicle_names)
    ],
) -> None:
    """Check a vehicle as a flight would: its file and parts, and hover, or stall, trim and modes."""
    from pegasus.core.aircraft import Aircraft
    from pegasus.core.simulation import Simulation
    from pegasus.design.flight_sheet import flight_sheet

    import_from_beside(name)
    with showing_preparation(f"loading {name}"):
        simulation = Simulation("flat")
    with simulation:
        rows = flight_sheet(simulation.add(Aircraft(name)))
    _print_findings(rows)


@check.command("world")
def check_world(
    name: Annotated[
        str, typer.Argument(help="Name of a world, or a YAML or USD file.", autocompletion=_world_names)
    ],
) -> None:
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
    console().print(table)
    if any(finding.problems for finding in findings):
        raise typer.Exit(1)


@check.command("scenario")
def check_scenario(
    name: ScenarioName,
    settings: Settings = None,
) -> None:
    """Check a scenario as a flight would, without flying it: files, components, places, and its end."""
    from pegasus.experiments import Flight

    import_from_beside(name)
    with naming_options(), showing_preparation(f"loading {name}"):
        flight = Flight(name, parse_settings(settings))
    with flight.simulation as simulation:
        rows = [("world", simulation.world_name), ("duration", f"{flight.duration:.1f} s")]
        for vehicle in simulation.vehicles:
            backends = ", ".join(type(backend).__name__ for backend in vehicle.backends) or "no backends"
            rows.append((f"vehicle {vehicle.name}", f"{vehicle.count} x {vehicle.spec.name}: {backends}"))
    _print_findings(rows)


def _print_findings(rows: Sequence[tuple[str, str]]) -> None:
    """Print what was found right, as subjects and figures."""
    table = Table("", "check", "result", box=None)
    table.columns[2].overflow = "fold"
    for subject, found in rows:
        table.add_row(Text("ok", style="green"), Text(subject), Text(found))
    console().print(table)


def _names(kind: str) -> list[str]:
    from pegasus.config import settings

    return settings.names(kind)


def _files(kind: Kind) -> Mapping[str, Callable[[], str]]:
    """Return functions that read the descriptions of files, by name."""
    from pegasus.config import load_scenario, load_vehicle, load_world

    def reader(name: str) -> Callable[[], str]:
        if kind is Kind.WORLDS:
            return lambda: load_world(name)[0].description
        if kind is Kind.VEHICLES:
            return lambda: load_vehicle(name)[0].description
        return lambda: load_scenario(name)[0].description

    return {name: reader(name) for name in _names(kind.value)}


def _components(kind: Kind) -> Mapping[str, Callable[[], str]]:
    """Return functions that read the first lines of components, by name."""
    from pegasus.backends import BACKENDS
    from pegasus.control import Controller
    from pegasus.control.trajectories import TRAJECTORIES
    from pegasus.environment import WINDS
    from pegasus.estimation import ESTIMATORS
    from pegasus.faults import FAULTS
    from pegasus.sensors import SENSORS
    from pegasus.worlds import GENERATORS

    tables: dict[Kind, Mapping[str, type]] = {
        Kind.BACKENDS: BACKENDS,
        Kind.CONTROLLERS: BACKENDS,
        Kind.TRAJECTORIES: TRAJECTORIES,
        Kind.SENSORS: SENSORS,
        Kind.ESTIMATORS: ESTIMATORS,
        Kind.GENERATORS: GENERATORS,
        Kind.WINDS: WINDS,
        Kind.FAULTS: FAULTS,
    }
    table = tables[kind]
    names = [name for name in table if kind is not Kind.CONTROLLERS or issubclass(table[name], Controller)]

    def reader(name: str) -> Callable[[], str]:
        return lambda: (table[name].__doc__ or "").strip().partition("\n")[0]

    return {name: reader(name) for name in names}


def _print_yaml(content: Mapping[str, Any], file: Path) -> None:
    """Print fields as YAML that can be saved and used as a file."""
    print(f"# {file}")
    print(yaml_text(content), end="")
