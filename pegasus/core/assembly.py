"""World, vehicles, scene, engine and host application of a simulation, by the names that users give."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError, did_you_mean, package_error
from pegasus.base.system import SCENE_SUFFIXES
from pegasus.config.drone_models import is_drone_model, read_drone_model
from pegasus.config.environments import remote_world
from pegasus.config.files import described_vehicle, described_world, load_vehicle, load_world
from pegasus.config.scenario import Component, SpawnPoint, VehicleSpec, WorldSpec, parse
from pegasus.contracts.engine import DEFAULT_ENGINE, ENGINES, Engine
from pegasus.core.host import HOSTS, Host, running_host
from pegasus.scene.scene import Scene


def world_of(world: str | Path | Mapping[str, Any] | WorldSpec) -> tuple[WorldSpec, Path | None]:
    """Return the description of a world, and the file that it came from.

    Args:
        world: Name of a world or of an environment of Isaac Sim, path of a YAML or USD file, address of a USD
            file, content of a YAML file, or a description.

    Raises:
        ConfigError: If it does not exist, or its file is invalid.
    """
    if isinstance(world, WorldSpec):
        return world, None
    if isinstance(world, Mapping):
        return described_world(world), None
    if (remote := remote_world(world)) is not None:
        return remote, None
    path = Path(world).expanduser()
    if path.suffix.lower() not in SCENE_SUFFIXES:
        return load_world(world)
    if not path.is_file():
        raise ConfigError("no such file", field="world", value=str(world), remedy="check the path")
    return WorldSpec(name=path.stem, usd=path.resolve()), None


def with_wind(world: WorldSpec, wind: Component | Sequence[Component]) -> WorldSpec:
    """Return the description of a world with another wind.

    Args:
        world: The world.
        wind: The wind as in a world file: its fields, or a list of winds that are added up.

    Raises:
        ConfigError: If it is no wind.
    """
    return parse({**world.model_dump(), "wind": wind}, WorldSpec)


def vehicle_of(model: str | Path | Mapping[str, Any] | VehicleSpec) -> tuple[VehicleSpec, Path | None]:
    """Return the description of a vehicle, and the file that it came from.

    Args:
        model: Name of a shipped vehicle, path of a YAML file, its content, or a description; or a TOML file
            of drone-models, as `FILE.toml`, or `FILE.toml:NAME` if it holds several.
    """
    if isinstance(model, VehicleSpec):
        return model, None
    if is_drone_model(model):
        return described_vehicle(read_drone_model(str(model)).content), None
    if isinstance(model, Mapping):
        return described_vehicle(model), None
    return load_vehicle(model)


def placed_world(world: WorldSpec, file: Path | None) -> WorldSpec:
    """Return a world with its USD file and spawn points, made now if a generator makes it.

    A scene at an address gets a file that refers to it, by the host application.

    Raises:
        ConfigError: If the world cannot be made or opened.
    """
    if isinstance(world.usd, str):
        if (opener := running_host()) is None:
            raise ConfigError(
                "only Isaac Sim opens it",
                file=file,
                field="world",
                value=world.usd,
                remedy="run it there (pegasus isaac), or download the file with all that it refers to",
            )
        world = world.model_copy(update={"usd": opener.world_file(world.name, world.usd)})
    if world.generator is None:
        if world.spawn_points is None:
            world = world.model_copy(
                update={"spawn_points": [SpawnPoint(name="spawn_1", position=(0.0, 0.0, 0.1))]}
            )
        return world
    # OpenUSD is not imported before it is used: see pegasus.scene.
    try:
        from pegasus.scene.generator import made_world
    except ModuleNotFoundError as error:
        raise package_error(error) from None

    try:
        return made_world(world)
    except ConfigError as error:
        raise error.within(file=file) from None


def scene_of(world: WorldSpec, file: Path | None, engine: Engine, host: Host | None) -> Scene:
    """Return the scene of a world.

    Args:
        world: The world, with its USD file.
        file: The file that it came from.
        engine: Engine of the simulation.
        host: Host application of the engine; None for a standalone one.

    Raises:
        ConfigError: If the scene cannot be loaded.
    """
    usd = world.usd
    assert isinstance(usd, Path)
    if host is not None and (opened := host.open_scene(engine)) is not None:
        return opened
    if not usd.is_file():
        raise ConfigError("no such file", file=file, field="usd", value=str(usd), remedy="correct the path")
    try:
        if host is not None:
            return host.read_scene(world)
        # OpenUSD may be there only once a host has started.
        from pegasus.scene.kept_scene import scene_of_file
        from pegasus.scene.world_scene import lit_scene

        return lit_scene(scene_of_file(usd, world.labels), world.lights)
    except ConfigError as error:
        raise error.within(file=file) from None
    except ModuleNotFoundError as error:
        raise package_error(error) from None
    except MemoryError:
        raise ConfigError("does not fit into memory", file=usd, remedy="open a smaller world") from None


def engine_of(engine: str | Engine, rate: float) -> Engine:
    """Return an engine by its name.

    Args:
        engine: Name from `ENGINES` or `HOSTS`; `auto` for that of the running host application, else MuJoCo;
            or an engine.
        rate: Physics steps per simulated second [Hz].

    Raises:
        ConfigError: If it is not known, is not installed, or its host application does not run.
    """
    if not isinstance(engine, str):
        return engine
    if engine == "auto":
        host = running_host()
        return ENGINES[DEFAULT_ENGINE]() if host is None else host.make_engine(rate)
    if engine in HOSTS:
        return HOSTS[engine]().make_engine(rate)
    if engine in ENGINES:
        return ENGINES[engine]()
    known = ["auto", *ENGINES, *HOSTS]
    remedy = " ".join(did_you_mean(engine, known)) or None
    problem = f"must be one of {', '.join(known)}, or an engine"
    raise ConfigError(problem, field="engine", value=engine, remedy=remedy)


def host_of(engine: Engine) -> Host | None:
    """Return the host application that an engine belongs to, None for a standalone engine."""
    host = running_host()
    return host if host is not None and host.owns(engine) else None
