"""What a simulation is made of: its world, scene, engine and renderer, found by what a user says."""

from pathlib import Path
from typing import TYPE_CHECKING

from pegasus.engines.engine import Engine
from pegasus.errors import ConfigError, standalone_error
from pegasus.isaac.launch import FRAME_RATE_SETTING, inside_isaac_sim
from pegasus.recording.observer import Observer
from pegasus.render import Renderer
from pegasus.scenario import SpawnPoint, WorldSpec, load_world
from pegasus.scene.scene import Scene

if TYPE_CHECKING:
    from pegasus.isaac.engine import IsaacEngine


def world_of(world: str | Path | WorldSpec) -> tuple[WorldSpec, Path | None]:
    """Return the description of a world, and the file that it came from.

    Args:
        world: Name of a shipped world, path of a YAML or USD file, or a description.
    """
    if isinstance(world, WorldSpec):
        return world, None
    path = Path(world).expanduser()
    if path.suffix.lower() in {".usd", ".usda", ".usdc", ".usdz"}:
        return WorldSpec(name=path.stem, usd=path.resolve()), None
    return load_world(world)


def placed_world(world: WorldSpec, file: Path | None) -> WorldSpec:
    """Return a world with its USD file and spawn points, made now if a generator makes it.

    Args:
        world: The world.
        file: The file that it came from.

    Raises:
        ConfigError: If the world cannot be made.
    """
    if world.generator is None:
        if world.spawn_points is None:
            world = world.model_copy(update={"spawn_points": [SpawnPoint(position=(0.0, 0.0, 0.1))]})
        return world
    # OpenUSD is not imported before it is used: see pegasus.scene.
    try:
        from pegasus.scene.worlds import made_world
    except ModuleNotFoundError as error:
        raise standalone_error(error) from None

    try:
        return made_world(world)
    except ConfigError as error:
        raise error.within(file=file) from None


def scene_of(world: WorldSpec, file: Path | None, engine: Engine) -> Scene:
    """Return the scene of a world; in Isaac Sim, which has the stage, nothing is read before it is needed.

    Args:
        world: The world, with its USD file.
        file: The file that it came from.
        engine: Engine of the simulation.

    Raises:
        ConfigError: If the scene cannot be loaded.
    """
    usd = world.usd
    assert usd is not None
    isaac = _isaac_engine(engine)
    if isaac is not None and isaac.keeps_stage:
        from pegasus.isaac.world_scene import scene_of_open_stage

        return scene_of_open_stage(isaac)
    if not usd.is_file():
        raise ConfigError("no such file", file=file, field="usd", value=str(usd), remedy="correct the path")
    try:
        if isaac is not None:
            from pegasus.isaac.world_scene import scene_of_file

            return scene_of_file(usd)
        from pegasus.scene.translation import translate

        return translate(usd)
    except ModuleNotFoundError as error:
        raise standalone_error(error) from None
    except MemoryError:
        raise ConfigError("does not fit into memory", file=usd, remedy="open a smaller world") from None


def engine_of(engine: str | Engine, rate: float) -> Engine:
    """Return an engine by its name.

    Args:
        engine: `mujoco`, `isaac`, `auto`, or an engine.
        rate: Physics steps per simulated second [Hz].

    Raises:
        ConfigError: If it is not known, is not installed, or is that of Isaac Sim outside of it.
    """
    if not isinstance(engine, str):
        return engine
    if engine == "mujoco" or (engine == "auto" and not inside_isaac_sim()):
        try:
            from pegasus.engines.mujoco_engine import MujocoEngine
        except ModuleNotFoundError as error:
            raise standalone_error(error) from None

        return MujocoEngine()
    if engine in ("auto", "isaac"):
        if not inside_isaac_sim():
            raise ConfigError(
                "Isaac Sim does not run in this process",
                field="engine",
                value=engine,
                remedy="use `pegasus isaac`, or start it by pegasus.isaac.launch.start() first",
            )
        from pegasus.isaac import kit
        from pegasus.isaac.engine import IsaacEngine

        return IsaacEngine(rate=rate, frame_rate=kit.setting(FRAME_RATE_SETTING))
    raise ConfigError("must be auto, mujoco or isaac, or an engine", field="engine", value=engine)


def renderer_of(renderer: str | Renderer, engine: Engine) -> tuple[str | Renderer, list[Observer]]:
    """Return who draws pictures, and who watches over it.

    Args:
        renderer: Name of a renderer, `auto`, or a renderer.
        engine: Engine of the simulation.
    """
    isaac = _isaac_engine(engine)
    if renderer != "auto" or isaac is None:
        return renderer, []
    from pegasus.isaac.present_pictures import PresentPictures
    from pegasus.isaac.renderer import IsaacRenderer

    return IsaacRenderer(isaac), [PresentPictures(isaac)]


def _isaac_engine(engine: Engine) -> "IsaacEngine | None":
    """Return an engine if it is that of Isaac Sim."""
    if not inside_isaac_sim():
        return None
    from pegasus.isaac.engine import IsaacEngine

    return engine if isinstance(engine, IsaacEngine) else None
