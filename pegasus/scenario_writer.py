"""Write what is in a simulation as a scenario file: its world, its vehicles, and who flies them."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pegasus.backends.backend import Backend
from pegasus.backends.registry import BACKENDS
from pegasus.components import build, describe
from pegasus.control import Controller
from pegasus.environment.environment import WINDS
from pegasus.environment.wind import Wind
from pegasus.errors import ConfigError
from pegasus.folders import user_config
from pegasus.frames import euler_from_quaternion
from pegasus.multirotor import Multirotor
from pegasus.scenario import Component, ScenarioSpec, WorldSpec, load_world, parse
from pegasus.sensors import Sensor
from pegasus.sensors.registry import SENSORS
from pegasus.settings import find, names
from pegasus.simulation import Simulation
from pegasus.start import start_positions
from pegasus.vehicle import Vehicle

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_DURATION = 60.0
"""Length of a run whose missions do not end by themselves [s]."""


@dataclass(frozen=True)
class SavedScenario:
    """A scenario file that was written."""

    file: Path
    left_out: tuple[str, ...]
    """What YAML cannot describe, and the scenario lacks."""


def save_scenario(
    simulation: Simulation, name: str, *, speed: float | None = 1.0, replace: bool = False
) -> SavedScenario:
    """Write a simulation into the user's scenarios; return the file, and what it lacks.

    Vehicles are written with where they start, not with where they have flown to. A world whose origin or
    wind is not that of its own file is written into the user's worlds, as `NAME_world`.

    Args:
        simulation: The simulation.
        name: Name of the scenario: letters, digits, `_` and `-`.
        speed: Times real time; None for as fast as it goes.
        replace: Whether a file of the user's that has this name is replaced.

    Raises:
        ConfigError: If the name is not allowed or taken, there is no vehicle, the world has no file, or a
            file cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            "must be made of letters, digits, _ and -", field="scenario", value=name, remedy="choose another"
        )
    if not len(simulation.vehicles):
        raise ConfigError("has no vehicles", field="scenario", value=name, remedy="add one first")
    left_out: list[str] = []
    world, own = _world(simulation, f"{name}_world", left_out)
    vehicles = [entry for vehicle in simulation.vehicles for entry in _entries(vehicle, left_out)]
    content: dict[str, Any] = {
        "name": name,
        "world": world,
        "rate": simulation.rate,
        "seed": simulation.seed,
        "speed": "max" if speed is None else speed,
        "vehicles": vehicles,
    }
    if not _ends_by_itself(simulation):
        content["duration"] = _DURATION
    parse(content, ScenarioSpec)
    file = user_config() / "scenarios" / f"{name}.yaml"
    files = {file: content}
    if own is not None:
        files[user_config() / "worlds" / f"{world}.yaml"] = own
    for path in files:
        if path.exists() and not replace:
            raise ConfigError(
                "is there already", file=path, remedy="choose another name, or have it replaced"
            )
    for path, fields in files.items():
        _write(path, fields)
    return SavedScenario(file, tuple(left_out))


def made_anew(vehicle: Vehicle, sensors: Mapping[str, Component]) -> Multirotor:
    """Return a vehicle like another one, at its start and not yet added, with further sensors.

    Args:
        vehicle: The other one.
        sensors: The further sensors by name, as scenario files have them.

    Raises:
        ConfigError: If YAML cannot describe one of its parts, or a sensor is wrong.
    """
    left_out: list[str] = []
    backends = backend_specs(vehicle, left_out)
    specs = {**sensor_specs(vehicle, left_out), **sensors}
    if left_out:
        raise ConfigError(
            f"was made in Python, and cannot be made anew: {left_out[0]}",
            field="vehicle",
            value=vehicle.name,
            remedy="give it the sensor where it is made",
        )
    return Multirotor(
        _model(vehicle),
        count=vehicle.count,
        name=vehicle.name,
        position=vehicle.start_position.tolist(),
        heading=euler_from_quaternion(vehicle.start_orientation)[:, 2].tolist(),
        backends=[build(Backend, BACKENDS, spec, field=f"backends.{k}") for k, spec in enumerate(backends)],
        extra_sensors={
            name: build(Sensor, SENSORS, spec, field=f"sensors.{name}") for name, spec in specs.items()
        },
    )


def backend_specs(vehicle: Vehicle, left_out: list[str]) -> list[Component]:
    """Return the backends of a vehicle as scenario files have them.

    Args:
        vehicle: The vehicle.
        left_out: Takes what cannot be described.
    """
    specs = []
    for backend in vehicle.backends:
        spec = describe(Backend, BACKENDS, backend)
        if spec is None:
            left_out.append(f"{vehicle.name}: backend {type(backend).__name__}")
        else:
            specs.append(spec)
    return specs


def sensor_specs(vehicle: Vehicle, left_out: list[str]) -> dict[str, Component]:
    """Return the sensors of a vehicle that its model has not, by name, as scenario files have them.

    Args:
        vehicle: The vehicle.
        left_out: Takes what cannot be described.
    """
    specs: dict[str, Component] = {}
    for name, sensor in vehicle.sensors.items():
        spec = describe(Sensor, SENSORS, sensor)
        if spec is None:
            left_out.append(f"{vehicle.name}: sensor {name}")
        elif spec != vehicle.spec.sensors.get(name) and spec != {"model": "battery_monitor"}:
            specs[name] = spec
    return specs


def _entries(vehicle: Vehicle, left_out: list[str]) -> list[dict[str, Any]]:
    """Return a vehicle as entries of a scenario: one, or one for each copy where they stand in no grid."""
    entry: dict[str, Any] = {
        "model": _model(vehicle),
        "backends": backend_specs(vehicle, left_out),
        "sensors": sensor_specs(vehicle, left_out),
    }
    entry = {key: value for key, value in entry.items() if value}
    start = vehicle.start_position
    headings = euler_from_quaternion(vehicle.start_orientation)[:, 2]
    middle = start.mean(axis=0)
    grid = start_positions(middle, count=vehicle.count, spacing=vehicle.spacing, clearance=vehicle.radius)
    if np.allclose(grid, start, rtol=0.0, atol=1e-6) and np.ptp(headings) < 1e-9:
        place = {"position": middle.tolist(), "heading": float(headings[0])}
        copies: dict[str, float] = {"count": vehicle.count} if vehicle.count > 1 else {}
        if vehicle.count > 1 and vehicle.spacing is not None:
            copies["spacing"] = vehicle.spacing
        return [{**entry, "name": vehicle.name, **copies, **place}]
    return [
        {**entry, "name": f"{vehicle.name}_{copy}", "position": point.tolist(), "heading": float(heading)}
        for copy, (point, heading) in enumerate(zip(start, headings, strict=True))
    ]


def _model(vehicle: Vehicle) -> str:
    """Return the name that a vehicle's file is found by, else its path."""
    if vehicle.file is None:
        raise ConfigError(
            "was described in Python, and has no file",
            field="vehicle",
            value=vehicle.name,
            remedy="write its description into a YAML file, and add it by that",
        )
    file = vehicle.file.resolve()
    known = file.stem in names("vehicles") and find("vehicles", file.stem).resolve() == file
    return file.stem if known else str(file)


def _world(simulation: Simulation, own_name: str, left_out: list[str]) -> tuple[str, dict[str, Any] | None]:
    """Return the name of the world, and what its file is to hold where it needs one of its own."""
    world = simulation.given_world
    wind = describe(Wind, WINDS, simulation.environment.wind)
    if wind is None:
        left_out.append("wind")
    elif wind != world.wind:
        world = world.model_copy(update={"wind": wind})
    fields = world.model_dump(mode="json", exclude_defaults=True)
    if world.name in names("worlds"):
        known = load_world(world.name)[0]
        if known.model_dump(mode="json", exclude_defaults=True) == fields:
            return world.name, None
    if world.usd is not None and not world.usd.is_file():
        raise ConfigError(
            "was read from the open stage, and has no file of its own",
            field="world",
            value=world.name,
            remedy="save the stage, which keeps its vehicles, and open that instead",
        )
    parse(fields, WorldSpec)
    return own_name, fields | {"name": own_name}


def _ends_by_itself(simulation: Simulation) -> bool:
    missions = [
        backend.mission.duration
        for vehicle in simulation.vehicles
        for backend in vehicle.backends
        if isinstance(backend, Controller)
    ]
    return bool(missions) and math.isfinite(max(missions))


def _write(path: Path, fields: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(fields, sort_keys=False, allow_unicode=True), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", file=path) from None
