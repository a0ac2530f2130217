"""A stage that somebody has opened, with the vehicles that it was saved with."""

import tempfile
from pathlib import Path

from pxr import Usd

from pegasus.errors import ConfigError
from pegasus.isaac import kit
from pegasus.isaac.engine import IsaacEngine
from pegasus.isaac.saved_vehicles import saved_vehicles
from pegasus.isaac.session import KitSession
from pegasus.scenario import WorldSpec
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
    if stage is None:
        return []
    saved = saved_vehicles(stage)
    if not saved:
        return []
    session.exchange(lambda: simulation_of_stage(seed=0))
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
    if rate is None:
        rates = [prim.GetAttribute(_RATE_ATTRIBUTE).Get() for prim in stage.Traverse()]
        rate = next((float(value) for value in rates if value), float(_RATE))
    engine = IsaacEngine(rate=rate, keep_stage=True)
    # Its geometry is read from a copy: what is open may hold changes that no file has.
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stage.usdc"
        copy = Usd.Stage.Open(stage.Flatten())
        for entry in saved_vehicles(copy):
            copy.RemovePrim(entry.path)
        copy.GetRootLayer().Export(str(file))
        world = WorldSpec(name=Path(stage.GetRootLayer().identifier).stem, usd=file)
        return Simulation(world, engine=engine, rate=rate, seed=seed)
