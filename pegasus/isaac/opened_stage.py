"""A stage that somebody has opened, with the vehicles that it was saved with."""

from pathlib import Path

from pegasus.errors import ConfigError
from pegasus.isaac import kit
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.saved_vehicles import saved_vehicles
from pegasus.isaac.world_stage import require_metric
from pegasus.scenario import WorldSpec
from pegasus.scene.stage import stage_source
from pegasus.simulation import Simulation

_RATE = 250
_RATE_ATTRIBUTE = "physxScene:timeStepsPerSecond"


def bring_back(session: KitSession) -> list[str]:
    """Load the vehicles that the open stage was saved with, and return their names; none where it has none.

    Args:
        session: Takes the simulation of the stage.

    Raises:
        ConfigError: If the stage cannot be used, or a vehicle is not known any more.
    """
    stage = kit.stage()
    if stage is None or not saved_vehicles(stage):
        return []
    return take_stage(session)


def take_stage(session: KitSession, *, rate: float | None = None) -> list[str]:
    """Fly on the stage that is open, as it is; return the names of the vehicles that it was saved with.

    Args:
        session: Takes the simulation of the stage.
        rate: Steps per second [Hz]; that of its physics scene when None.

    Raises:
        ConfigError: If no stage is open, it cannot be used, or a vehicle is not known any more.
    """
    stage = kit.stage()
    saved = [] if stage is None else saved_vehicles(stage)
    session.exchange(lambda: simulation_of_stage(rate=rate))
    for entry in saved:
        session.add(entry.make())
    return [entry.name for entry in saved]


def simulation_of_stage(*, rate: float | None = None, seed: int = 0) -> Simulation:
    """Return a simulation of the stage that is open, to which vehicles can be added.

    Args:
        rate: Steps per second [Hz]; that of its physics scene when None.
        seed: Seed of every random stream.

    Raises:
        ConfigError: If no stage is open, or it is not in metres with z up.
    """
    stage = kit.stage()
    if stage is None:
        raise ConfigError("no stage is open", field="stage", remedy="open one, or load a world")
    require_metric(stage)
    if rate is None:
        rates = [prim.GetAttribute(_RATE_ATTRIBUTE).Get() for prim in stage.Traverse()]
        rate = next((float(value) for value in rates if value), float(_RATE))
    engine = IsaacEngine(rate=rate, keep_stage=True)
    world = WorldSpec(name=Path(stage.GetRootLayer().identifier).stem, usd=Path(stage_source(stage)))
    return Simulation(world, engine=engine, rate=rate, seed=seed)
