"""Export of a simulation as a scenario file: world, vehicles, backends and sensors."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from pegasus.base.components import describe
from pegasus.base.errors import ConfigError
from pegasus.base.frames import euler_from_quaternion
from pegasus.base.system import user_config
from pegasus.config.files import load_world
from pegasus.config.scenario import Component, ScenarioSpec, WorldSpec, parse
from pegasus.config.settings import find, names
from pegasus.contracts.backend import BACKENDS, Backend, build_backends
from pegasus.contracts.estimator import ESTIMATORS, Estimator, build_estimator
from pegasus.contracts.mover import MOTIONS, Motion
from pegasus.contracts.sensor import SENSORS, Sensor, build_sensors
from pegasus.control import Controller
from pegasus.core.aircraft import Aircraft
from pegasus.core.placement import start_positions
from pegasus.core.simulation import Simulation
from pegasus.core.solid_mover import SolidMover
from pegasus.environment.wind import WINDS, Wind

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_DURATION = 60.0
"""Duration of a run whose missions are unlimited [s]."""


@dataclass(frozen=True)
class SavedScenario:
    """Scenario file that was written."""

    file: Path
    left_out: tuple[str, ...]
    """Components that YAML cannot describe and that the scenario lacks."""


def save_scenario(
    simulation: Simulation, name: str, *, speed: float | None = 1.0, replace: bool = False
) -> SavedScenario:
    """Write a simulation to the user's scenarios.

    Vehicles are written with their start positions. A world whose origin or wind differs from its file is
    written to the user's worlds as `NAME_world`.

    Args:
        simulation: The simulation.
        name: Name of the scenario: letters, digits, `_` and `-`.
        speed: Multiple of real time; None for unlimited.
        replace: Whether to replace existing files of the user.

    Raises:
        ConfigError: If the name is invalid or taken, there is no vehicle, the world has no file, or a
            file cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(
            "must consist of letters, digits, _ and -", field="scenario", value=name, remedy="choose another"
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
    if movers := _movers(simulation, left_out):
        content["movers"] = movers
    if not _ends_by_itself(simulation):
        content["duration"] = _DURATION
    parse(content, ScenarioSpec)
    file = user_config() / "scenarios" / f"{name}.yaml"
    files = {file: content}
    if own is not None:
        files[user_config() / "worlds" / f"{world}.yaml"] = own
    for path in files:
        if path.exists() and not replace:
            raise ConfigError("already exists", file=path, remedy="choose another name, or set replace")
    for path, fields in files.items():
        _write(path, fields)
    return SavedScenario(file, tuple(left_out))


def _movers(simulation: Simulation, left_out: list[str]) -> list[dict[str, Any]]:
    """Return the movers that are not those of the world, as in scenario files."""
    specs: list[dict[str, Any]] = []
    of_world = [spec.name for spec in simulation.world.movers]
    for mover in simulation.movers:
        if mover.name in of_world:
            continue
        if type(mover) is SolidMover and (motion := describe(Motion, MOTIONS, mover.motion_law)) is not None:
            spec = mover.spec.model_dump(mode="json", exclude_defaults=True)
            specs.append({**spec, "motion": motion})
        else:
            left_out.append(f"mover {mover.name}")
    return specs


def rebuilt_vehicle(vehicle: Aircraft, sensors: Mapping[str, Component]) -> Aircraft:
    """Return a copy of a vehicle at its start position, not yet added, with additional sensors.

    Args:
        vehicle: The vehicle.
        sensors: Additional sensors by name, as in scenario files.

    Raises:
        ConfigError: If YAML cannot describe one of its components, or a sensor is invalid.
    """
    left_out: list[str] = []
    backends = backend_specs(vehicle, left_out)
    specs = {**sensor_specs(vehicle, left_out), **sensors}
    estimator = estimator_spec(vehicle, left_out)
    if left_out:
        raise ConfigError(
            f"cannot be rebuilt, because a component was created in Python: {left_out[0]}",
            field="vehicle",
            value=vehicle.name,
            remedy="add the sensor in Python as well",
        )
    return Aircraft(
        _model(vehicle),
        count=vehicle.count,
        name=vehicle.name,
        position=vehicle.start.position.tolist(),
        heading=euler_from_quaternion(vehicle.start.orientation)[:, 2].tolist(),
        backends=build_backends(backends),
        extra_sensors=build_sensors(specs),
        estimator=build_estimator(estimator),
    )


def backend_specs(vehicle: Aircraft, left_out: list[str]) -> list[Component]:
    """Return the backends of a vehicle as in scenario files.

    Args:
        vehicle: The vehicle.
        left_out: List to which components that cannot be described are appended.
    """
    specs = []
    for backend in vehicle.backends:
        spec = describe(Backend, BACKENDS, backend)
        if spec is None:
            left_out.append(f"{vehicle.name}: backend {type(backend).__name__}")
        else:
            specs.append(spec)
    return specs


def sensor_specs(vehicle: Aircraft, left_out: list[str]) -> dict[str, Component]:
    """Return the sensors of a vehicle that its model lacks, by name, as in scenario files.

    Args:
        vehicle: The vehicle.
        left_out: List to which sensors that cannot be described are appended.
    """
    specs: dict[str, Component] = {}
    for name, sensor in vehicle.sensors.items():
        spec = describe(Sensor, SENSORS, sensor)
        if spec is None:
            left_out.append(f"{vehicle.name}: sensor {name}")
        elif spec != vehicle.spec.sensors.get(name) and spec != {"model": "battery_monitor"}:
            specs[name] = spec
    return specs


def estimator_spec(vehicle: Aircraft, left_out: list[str]) -> Component | None:
    """Return the estimator of a vehicle as in scenario files; None for that of its model, or none.

    Args:
        vehicle: The vehicle.
        left_out: List to which an estimator that cannot be described is appended.
    """
    if vehicle.estimator is None:
        return None
    spec = describe(Estimator, ESTIMATORS, vehicle.estimator)
    if spec is None:
        left_out.append(f"{vehicle.name}: estimator")
    return None if spec == vehicle.spec.estimator else spec


def _entries(vehicle: Aircraft, left_out: list[str]) -> list[dict[str, Any]]:
    """Return the scenario entries of a vehicle: one, or one per copy if the copies form no grid."""
    entry: dict[str, Any] = {
        "model": _model(vehicle),
        "backends": backend_specs(vehicle, left_out),
        "sensors": sensor_specs(vehicle, left_out),
        "estimator": estimator_spec(vehicle, left_out),
    }
    entry = {key: value for key, value in entry.items() if value}
    varied = {field: values.tolist() for field, values in vehicle.variation.items()}
    start = vehicle.start.position
    headings = euler_from_quaternion(vehicle.start.orientation)[:, 2]
    middle = start.mean(axis=0)
    spacing = vehicle.start.spacing
    grid = start_positions(middle, count=vehicle.count, spacing=spacing, clearance=vehicle.start.radius)
    if np.allclose(grid, start, rtol=0.0, atol=1e-6) and np.ptp(headings) < 1e-9:
        place = {"position": middle.tolist(), "heading": float(headings[0])}
        copies: dict[str, float] = {"count": vehicle.count} if vehicle.count > 1 else {}
        if vehicle.count > 1 and spacing is not None:
            copies["spacing"] = spacing
        given = {"variation": varied} if varied else {}
        return [{**entry, "name": vehicle.name, **copies, **place, **given}]
    entries = []
    for copy, (point, heading) in enumerate(zip(start, headings, strict=True)):
        place = {"position": point.tolist(), "heading": float(heading)}
        own = {"variation": {field: [values[copy]] for field, values in varied.items()}} if varied else {}
        entries.append({**entry, "name": f"{vehicle.name}_{copy}", **place, **own})
    return entries


def _model(vehicle: Aircraft) -> str:
    """Return the name of a vehicle's file if it is in the search path, else its path."""
    if vehicle.file is None:
        raise ConfigError(
            "was described in Python and has no file",
            field="vehicle",
            value=vehicle.name,
            remedy="write its description to a YAML file, and add the vehicle by this file",
        )
    file = vehicle.file.resolve()
    known = file.stem in names("vehicles") and find("vehicles", file.stem).resolve() == file
    return file.stem if known else str(file)


def _world(simulation: Simulation, own_name: str, left_out: list[str]) -> tuple[str, dict[str, Any] | None]:
    """Return the name of the world, and the content of a new file if it needs one."""
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
    if isinstance(world.usd, Path) and not world.usd.is_file():
        raise ConfigError(
            "was read from the open stage and has no file",
            field="world",
            value=world.name,
            remedy="save the stage, which includes its vehicles, and open that instead",
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
