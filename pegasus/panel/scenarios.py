"""Scenarios as a session loads them."""

from pathlib import Path

from pegasus.errors import ConfigError
from pegasus.panel.session import Session
from pegasus.run import add_vehicles, found
from pegasus.scenario import ScenarioSpec, load_scenario
from pegasus.simulation import Simulation


def load_into(session: Session, name: str | Path) -> tuple[ScenarioSpec, Path]:
    """Load a scenario's world with its vehicles; return the scenario and the file of its world.

    Args:
        session: Takes the simulation.
        name: Name of a scenario, or the path of its YAML file.

    Raises:
        ConfigError: If the scenario, or anything that it names, is wrong.
    """
    spec, file = load_scenario(name)
    try:
        world = found("worlds", spec.world, beside=file, field="world")
        session.exchange(lambda: _made(spec, world, file))
    except ConfigError as error:
        raise error.within(file=file) from None
    return spec, world


def _made(spec: ScenarioSpec, world: Path, file: Path) -> Simulation:
    simulation = Simulation(world, rate=spec.rate, seed=spec.seed)
    try:
        add_vehicles(simulation, spec, file)
    except BaseException:
        simulation.close()
        raise
    return simulation
