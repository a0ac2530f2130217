"""Commands that make files: vehicles, worlds, thumbnails and datasets."""

import logging
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import yaml

from pegasus.base.errors import ConfigError
from pegasus.cli.settings import ScenarioName, Settings, naming_options, parse_settings
from pegasus.cli.terminal import import_from_beside, resumable, showing_progress

make = typer.Typer(help="Create files: vehicles, worlds, thumbnails.", no_args_is_help=True)

_LOG = logging.getLogger(__name__)
T = TypeVar("T", int, float, str)


@make.command()
def vehicle(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of the vehicle, and of its file NAME.yaml (--from: the model's)."),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option("--from", help="Gazebo model (SDF, or its folder) or TOML of drone-models to import."),
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of models that it includes (repeatable), beside GZ_SIM_RESOURCE_PATH."),
    ] = None,
    mass: Annotated[float | None, typer.Option(help="Mass at take-off [kg].")] = None,
    size: Annotated[float | None, typer.Option(help="Diagonal from motor to motor [m].")] = None,
    span: Annotated[float | None, typer.Option(help="Wing span of an airplane [m].")] = None,
    area: Annotated[float | None, typer.Option(help="Wing area of an airplane [m^2].")] = None,
    aspect_ratio: Annotated[
        float | None, typer.Option(help="Aspect ratio of its wing, in place of the area (default: 7).")
    ] = None,
    tail_volume: Annotated[
        float, typer.Option(help="Tail volume: tailplane area times arm, by wing area and chord.")
    ] = 0.5,
    fin_volume: Annotated[
        float, typer.Option(help="Fin volume: fin area times arm, by wing area and span.")
    ] = 0.04,
    rotors: Annotated[int, typer.Option(help="Number of rotors.")] = 4,
    layout: Annotated[str, typer.Option(help="x, plus, coaxial or ring.")] = "x",
    propeller: Annotated[
        str | None, typer.Option(help="Diameter x pitch [inches], such as 10x4.5, 5x4.3x3 or 10x4.7SF.")
    ] = None,
    kv: Annotated[float | None, typer.Option(help="Motor speed constant [rpm/V].")] = None,
    cells: Annotated[int | None, typer.Option(help="Battery cells in series.")] = None,
    capacity: Annotated[float | None, typer.Option(help="Battery charge [A h].")] = None,
    motor_mass: Annotated[float | None, typer.Option(help="Mass of a motor [kg] (else estimated).")] = None,
    motor_resistance: Annotated[
        float | None, typer.Option(help="Resistance of a motor [ohm] (default: estimated).")
    ] = None,
    no_load_current: Annotated[
        float | None, typer.Option(help="Current of a motor without load [A] (default: estimated).")
    ] = None,
    battery_mass: Annotated[
        float | None, typer.Option(help="Mass of the battery [kg] (default: estimated).")
    ] = None,
    arm_mass: Annotated[float | None, typer.Option(help="Mass of an arm [kg] (default: estimated).")] = None,
    inertia: Annotated[
        str | None,
        typer.Option(help="Measured inertia Jxx,Jyy,Jzz or also Jxy,Jxz,Jyz [kg m^2] (default: estimated)."),
    ] = None,
    thrust_coefficient: Annotated[
        float | None, typer.Option(help="Static C_T of the propeller (default: estimated).")
    ] = None,
    power_coefficient: Annotated[
        float | None, typer.Option(help="Static C_P of the propeller (default: estimated).")
    ] = None,
    usd: Annotated[Path | None, typer.Option(help="Custom USD model, in which rotors are detected.")] = None,
    out: Annotated[Path, typer.Option(help="Folder of the file.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Create a vehicle file from size, mass, propellers, motors and battery; prompt for missing values.

    With --span it is an airplane with a puller, with --from a model of Gazebo or of drone-models, otherwise a
    multirotor.
    """
    from pegasus.design.vehicle_design import thrust_to_weight_notice
    from pegasus.design.vehicle_recipe import Recipe, design_airplane, design_vehicle

    if source is not None:
        _import(source, name, models or [], out, force=force)
        return
    if models:
        raise ConfigError(
            "is of an import", field="--models", value=str(models[0]), remedy="give --from as well"
        )
    name = _asked(name, "NAME", "Name of the vehicle", str)
    path = _target(name, out, force=force)
    for option, value in (("--area", area), ("--aspect-ratio", aspect_ratio)):
        if span is None and value is not None:
            raise ConfigError("is of an airplane", field=option, value=value, remedy="give --span as well")
    recipe = Recipe(
        name=name,
        mass=mass if usd else _asked(mass, "--mass", "Mass at take-off [kg]", float),
        size=None if usd or span else _asked(size, "--size", "Diagonal from motor to motor [m]", float),
        propeller=_asked(propeller, "--propeller", "Propeller, diameter x pitch [inches]", str),
        kv=_asked(kv, "--kv", "Motor speed constant [rpm/V]", float),
        cell_count=_asked(cells, "--cells", "Battery cells in series", int),
        capacity=_asked(capacity, "--capacity", "Battery charge [A h]", float),
        rotor_count=rotors,
        layout=layout,
        motor_mass=motor_mass,
        motor_resistance=motor_resistance,
        no_load_current=no_load_current,
        battery_mass=battery_mass,
        arm_mass=arm_mass,
        inertia=None if inertia is None else _numbers("--inertia", inertia),
        thrust_coefficient=thrust_coefficient,
        power_coefficient=power_coefficient,
        usd=usd,
    )
    notes: tuple[str, ...] = ()
    if span is not None:
        area = span**2 / (aspect_ratio or 7.0) if area is None else area
        text = design_airplane(recipe, span, area, tail_volume=tail_volume, fin_volume=fin_volume)
    else:
        made = design_vehicle(recipe, folder=out)
        if (notice := thrust_to_weight_notice(made.design)) is not None:
            _LOG.warning(notice)
        text, notes = made.text, made.notes
    _write(path, text, notes)


def _import(source: Path, name: str | None, models: list[Path], out: Path, *, force: bool) -> None:
    """Make a vehicle file of a Gazebo model, or of a TOML file of drone-models."""
    from pegasus.config.drone_models import is_drone_model, read_drone_model
    from pegasus.design.gazebo import import_gazebo

    if is_drone_model(source):
        drone = read_drone_model(source, name=name)
        content = {**drone.content, "name": name or drone.content["name"]}
        text = f"# {source.name} of drone-models (University of Toronto).\n"
        text += yaml.safe_dump(content, sort_keys=False, default_flow_style=None)
        _write(_target(content["name"], out, force=force), text, drone.notes)
        return

    if name is not None:
        _target(name, out, force=force)
    made = import_gazebo(source, name=name, search=models)
    _write(_target(made.name, out, force=force), made.text, made.notes)


def _write(path: Path, text: str, notes: Sequence[str]) -> None:
    """Write a vehicle file, and print notes on it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"cannot be written: {error.strerror}",
            field="--out",
            value=str(path.parent),
            remedy="give a writable folder",
        ) from None
    for line in notes:
        print(line)
    print(f"{path}: fly it by this path, or see `pegasus show vehicle {shlex.quote(str(path))}`")


@make.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def world(
    context: typer.Context,
    generator: Annotated[str, typer.Argument(help="Name of a generator.")],
    name: Annotated[str | None, typer.Option(help="Name of the world (default: the generator's).")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the files (default: the name of the world).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
) -> None:
    """Create a world: NAME.yaml, NAME.usdc and its textures.

    Every parameter of the generator is an option as well, such as --seed 3 --size 200.
    """
    from pegasus.base.components import build
    from pegasus.worlds import GENERATORS, WorldGenerator, make_world

    parameters = _parameters(context.args)
    maker = build(WorldGenerator, GENERATORS, {"model": generator, **parameters}, field="generator")
    chosen = name or maker.name
    folder = Path(chosen) if out is None else out
    path = _target(chosen, folder, force=force)
    make_world(maker, folder, name=chosen)
    print(f"{path}: open it by this path, or check it with `pegasus check world {shlex.quote(str(path))}`")


@make.command()
def thumbnails(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Worlds and vehicles, preview and icon (default: all shipped ones)."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the images.")] = Path("data"),
) -> None:
    """Render thumbnails of worlds and vehicles, and the preview and icon of the extension."""
    from pegasus.cli.thumbnails import make_thumbnails

    make_thumbnails(names or [], out, done=print)


def _parameters(arguments: list[str]) -> dict[str, Any]:
    """Return options such as --size 200 or --size=200 by name, their values read as YAML."""
    parameters: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        option, _, value = rest.pop(0).partition("=")
        if not option.startswith("--") or not (value or rest):
            raise ConfigError(
                "is not an option with a value",
                field=option,
                remedy="write --parameter value, such as --size 200",
            )
        value = value or rest.pop(0)
        try:
            parameters[option.removeprefix("--").replace("-", "_")] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ConfigError(
                "is not a YAML value", field=option, value=value, remedy="such as 200"
            ) from None
    return parameters


def _numbers(option: str, text: str) -> tuple[float, ...]:
    """Return numbers that are separated by commas."""
    try:
        return tuple(float(number) for number in text.split(","))
    except ValueError:
        raise ConfigError(
            "must be numbers separated by commas", field=option, value=text, remedy="such as 0.03,0.03,0.05"
        ) from None


def _target(name: str, out: Path, *, force: bool) -> Path:
    if not name.strip() or name != name.strip() or "/" in name or name.startswith("."):
        raise ConfigError(
            "must be a plain name: the file is NAME.yaml", field="NAME", value=name, remedy="such as my_quad"
        )
    path = out / f"{name}.yaml"
    if path.exists() and not force:
        raise ConfigError(
            "already exists",
            field="NAME",
            value=name,
            file=path,
            remedy="choose another name, or add --force",
        )
    return path


def _asked(value: T | None, option: str, question: str, kind: type[T]) -> T:
    """Return the value of an option; on a terminal, prompt for a missing one."""
    if value is not None:
        return value
    if sys.stdin.isatty():
        answer: T = typer.prompt(question, type=kind)
        return answer
    raise ConfigError("is required", field=option, remedy=f"give it ({question}), or use a terminal")


def dataset(
    scenario: ScenarioName,
    out: Annotated[Path, typer.Option(help="Folder of the dataset.")],
    frames: Annotated[int, typer.Option(help="Number of frames.")] = 100,
    writer: Annotated[
        str | None, typer.Option(help="Layout, such as coco, or module:Class (default: the scenario's).")
    ] = None,
    photo: Annotated[bool, typer.Option("--photo", help="Render path-traced images.")] = False,
    workers: Annotated[
        int | None, typer.Option(help="Number of processes (default: one per processor).")
    ] = None,
    ray: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster, or local, instead of processes.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the dataset (default: the scenario's).")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Continue an existing dataset.")] = False,
    settings: Settings = None,
) -> None:
    """Create a labelled dataset from flights through randomised scenes."""
    from pegasus.dataset.generation import make_dataset

    import_from_beside(scenario)
    with naming_options(), showing_progress(out.name, "frames") as progress, resumable(out):
        made = make_dataset(
            scenario,
            out,
            frames=frames,
            writer=writer,
            photo=photo,
            workers=workers,
            ray=ray,
            seed=seed,
            resume=resume,
            changes=parse_settings(settings),
            progress=progress,
        )
    print(f"{made.folder}: {made.frame_count} frames, {made.made} of them new")
