"""Models of the files that users write, and the settings."""

from pegasus.config.scenario import (
    ScenarioSpec,
    SpawnPoint,
    VehicleSpec,
    WorldSpec,
    load_scenario,
    load_vehicle,
    load_world,
)

__all__ = [
    "ScenarioSpec",
    "SpawnPoint",
    "VehicleSpec",
    "WorldSpec",
    "load_scenario",
    "load_vehicle",
    "load_world",
]
