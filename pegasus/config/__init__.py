"""Models of the files that users write, and the settings."""

from pegasus.config.changes import Changes
from pegasus.config.files import load_scenario, load_vehicle, load_world
from pegasus.config.scenario import ScenarioSpec, SpawnPoint, VehicleSpec, WorldSpec

__all__ = [
    "Changes",
    "ScenarioSpec",
    "SpawnPoint",
    "VehicleSpec",
    "WorldSpec",
    "load_scenario",
    "load_vehicle",
    "load_world",
]
