"""The commands `pegasus make ...`: files of one's own from what one knows."""

import logging
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import yaml

from pegasus.errors import ConfigError

make = typer.Typer(help="Make a file of one's own.", no_args_is_help=True)

_LOG = logging.getLogger(__name__)
T = TypeVar("T", int, float, str)


@make.command()
def vehicle(
    name: Annotated[str, typer.Argument(help="Name of the vehicle, and of its file NAME.yaml.")],
    mass: Annotated[float | None, typer.Option(help="Mass at take-off [kg].")] = None,
    size: Annotated[float | None, typer.Option(help="Diagonal from motor to motor [m].")] = None,
    rotors: Annotated[int, typer.Option(help="Number of rotors.")] = 4,
    layout: Annotated[str, typer.Option(help="x, plus, coaxial or ring.")] = "x",
    propeller: Annotated[
        str | None, typer.Option(help="Diameter x pitch [inches], such as 10x4.5, 5x4.3x3 or 10x4.7SF.")
    ] = None,
    kv: Annotated[float | None, typer.Option(help="Motor speed by voltage [rpm/V].")] = None,
    cells: Annotated[int | None, typer.Option(help="Battery cells in series.")] = None,
    capacity: Annotated[float | None, typer.Option(help="Battery charge [A h].")] = None,
    motor_mass: Annotated[float | None, typer.Option(help="Mass of a motor [kg]; else estimated.")] = None,
    motor_resistance: Annotated[
        float | None, typer.Option(help="Resistance of a motor [ohm]; else estimated.")
    ] = None,
    no_load_current: Annotated[
        float | None, typer.Option(help="Current of a motor without load [A]; else estimated.")
    ] = None,
    battery_mass: Annotated[
        float | None, typer.Option(help="Mass of the battery [kg]; else estimated.")
    ] = None,
    arm_mass: Annotated[float | None, typer.Option(help="Mass of an arm [kg]; else estimated.")] = None,
    thrust_coefficient: Annotated[
        float | None, typer.Option(help="Static C_T of the propeller; else estimated.")
    ] = None,
    power_coefficient: Annotated[
        float | None, typer.Option(help="Static C_P of the propeller; else estimated.")
    ] = None,
    usd: Annotated[Path | None, typer.Option(help="USD model of one's own; its rotors are found.")] = None,
    out: Annotated[Path, typer.Option(help="Folder that the file goes to.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it is there.")] = False,
) -> None:
    """Make a vehicle's file from size, mass, propellers, motors and battery; ask for what is not given."""
    from pegasus.vehicle_design import thrust_to_weight_notice
    from pegasus.vehicle_recipe import Recipe, design_vehicle

    path = _target(name, out, force=force)
    recipe = Recipe(
        name=name,
        mass=mass if usd else _asked(mass, "--mass", "Mass at take-off [kg]", float),
        size=None if usd else _asked(size, "--size", "Diagonal from motor to motor [m]", float),
        propeller=_asked(propeller, "--propeller", "Propeller, diameter x pitch [inches]", str),
        kv=_asked(kv, "--kv", "Motor speed by voltage [rpm/V]", float),
        cell_count=_asked(cells, "--cells", "Battery cells in series", int),
        capacity=_asked(capacity, "--capacity", "Battery charge [A h]", float),
        rotor_count=rotors,
        layout=layout,
        motor_mass=motor_mass,
        motor_resistance=motor_resistance,
        no_load_current=no_load_current,
        battery_mass=battery_mass,
        arm_mass=arm_mass,
        thrust_coefficient=thrust_coefficient,
        power_coefficient=power_coefficient,
        usd=usd,
    )
    made = design_vehicle(recipe, folder=out)
    if (notice := thrust_to_weight_notice(made.design)) is not None:
        _LOG.warning(notice)
    try:
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(made.text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror}", field="--out", value=str(out), remedy="give a folder"
        ) from None
    for line in made.notes:
        print(line)
    print(f"{path}: fly it by this path, or look at it with `pegasus show vehicle {shlex.quote(str(path))}`")


@make.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def world(
    context: typer.Context,
    generator: Annotated[str, typer.Argument(help="Name of a generator.")],
    name: Annotated[str | None, typer.Option(help="Name of the world; that of the generator else.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder that the files go to (default: one of the world's name).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over files that are there.")] = False,
) -> None:
    """Make a world: NAME.yaml, NAME.usdc and its textures.

    Every parameter of the generator is an option as well, such as --seed 3 --size 200.
    """
    from pegasus.components import build
    from pegasus.scene.worlds import GENERATORS, WorldGenerator, make_world

    parameters = _parameters(context.args)
    maker = build(WorldGenerator, GENERATORS, {"model": generator, **parameters}, field="generator")
    chosen = name or maker.name
    folder = Path(chosen) if out is None else out
    path = _target(chosen, folder, force=force)
    make_world(maker, folder, name=chosen)
    print(
        f"{path}: open it by this path, or look it over with `pegasus check world {shlex.quote(str(path))}`"
    )


@make.command()
def thumbnails(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Worlds and vehicles, preview and icon; all that is shipped when left out."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder that the pictures go to.")] = Path("data"),
) -> None:
    """Make a picture of every world and vehicle, and those of the extension."""
    from pegasus.thumbnails import make_thumbnails

    make_thumbnails(names or [], out, done=print)


def _parameters(arguments: list[str]) -> dict[str, Any]:
    """Return options such as --size 200 or --size=200 by name, their values read as YAML."""
    parameters: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        option, _, value = rest.pop(0).partition("=")
        if not option.startswith("--") or not (value or rest):
            raise ConfigError(
                "is no option with a value",
                field=option,
                remedy="write --parameter value, such as --size 200",
            )
        value = value or rest.pop(0)
        try:
            parameters[option.removeprefix("--").replace("-", "_")] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ConfigError("is no YAML value", field=option, value=value, remedy="such as 200") from None
    return parameters


def _target(name: str, out: Path, *, force: bool) -> Path:
    if not name.strip() or name != name.strip() or "/" in name or name.startswith("."):
        raise ConfigError(
            "must be a plain name: the file is NAME.yaml", field="NAME", value=name, remedy="such as my_quad"
        )
    path = out / f"{name}.yaml"
    if path.exists() and not force:
        raise ConfigError(
            "is there already", field="NAME", value=name, file=path, remedy="give another name, or --force"
        )
    return path


def _asked(value: T | None, option: str, question: str, kind: type[T]) -> T:
    """Return the value of an option; on a terminal, that which its user answers where it was not given."""
    if value is not None:
        return value
    if sys.stdin.isatty():
        answer: T = typer.prompt(question, type=kind)
        return answer
    raise ConfigError("is needed", field=option, remedy=f"give it ({question}), or run it in a terminal")
