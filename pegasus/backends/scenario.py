"""Vehicles of a scenario with their backends and sensors."""

from pathlib import Path
from typing import Any

from pegasus.backends.ros2.backend import ROS2
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.config.files import placed_movers, scenario_model, scenario_world
from pegasus.config.scenario import Component, ScenarioSpec, ScenarioVehicle, VehicleSpec, WorldSpec
from pegasus.contracts.backend import build_backends
from pegasus.contracts.estimator import build_estimator
from pegasus.contracts.fault import Injection, build_fault
from pegasus.contracts.sensor import build_sensors
from pegasus.control.trajectories import located
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation


def scenario_simulation(spec: ScenarioSpec, file: Path, *, ros2: bool = False) -> Simulation:
    """Return the simulation of a scenario: its world with its movers and vehicles.

    Args:
        spec: The scenario.
        file: Its file, which the paths in it are relative to.
        ros2: Give a ROS 2 backend to vehicles that have none.

    Raises:
        ConfigError: If the world, a mover, a vehicle, or anything that they name, is wrong.
    """
    world = scenario_world(spec, file)
    try:
        simulation = Simulation(world, rate=spec.rate, seed=spec.seed)
    except ConfigError as error:
        described = isinstance(world, WorldSpec) and _first(error) in WorldSpec.model_fields
        raise error.within(field="world") if described else error from None
    try:
        add_vehicles(simulation, spec, file, ros2=ros2)
    except BaseException:
        simulation.close()
        raise
    return simulation


def add_vehicles(simulation: Simulation, spec: ScenarioSpec, file: Path, *, ros2: bool = False) -> None:
    """Add the movers and vehicles of a scenario to a simulation.

    Args:
        simulation: The simulation, in the scenario's world.
        spec: The scenario.
        file: Its file, which the paths in it are relative to.
        ros2: Give a ROS 2 backend to vehicles that have none.

    Raises:
        ConfigError: If a mover, a vehicle, or anything that they name, is wrong.
    """
    for i, mover in enumerate(placed_movers(spec.movers, file.parent)):
        try:
            simulation.add_mover(mover)
        except ConfigError as error:
            raise error.within(field=f"movers.{i}") from None
    vehicles: list[Aircraft] = []
    for i, entry in enumerate(spec.vehicles):
        try:
            model = scenario_model(entry, file)
            backends = build_backends(_beside(file, backend) for backend in entry.backends)
            if ros2 and not any(isinstance(backend, ROS2) for backend in backends):
                drives = not any(backend.drives for backend in backends)
                backends.append(ROS2(control=drives, **ros2_graph(spec)))
            vehicle = Aircraft(
                model,
                count=entry.count,
                name=entry.name,
                position=entry.position,
                heading=entry.heading,
                spacing=entry.spacing,
                backends=backends,
                extra_sensors=build_sensors(entry.sensors),
                estimator=build_estimator(entry.estimator),
                variation=entry.variation,
            )
            vehicles.append(vehicle)
        except ConfigError as error:
            raise _of_entry(error, entry).within(field=f"vehicles.{i}") from None
    for i, vehicle in enumerate(vehicles):
        try:
            simulation.add(vehicle, before=vehicles[i:])
        except ConfigError as error:
            raise _of_entry(error, spec.vehicles[i]).within(field=f"vehicles.{i}") from None
    for i, described in enumerate(spec.faults):
        try:
            inject_described(simulation, described)
        except ConfigError as error:
            raise error.within(field=f"faults.{i}") from None


def inject_described(simulation: Simulation, described: Component) -> Injection:
    """Inject the fault that a mapping describes.

    Args:
        simulation: The simulation with its vehicles.
        described: Mapping with `model` and the parameters of the fault; `vehicle`, which may be left out
            where there is only one; and `copies`, all if left out.

    Raises:
        ConfigError: If the vehicle, the model or a parameter is wrong.
    """
    parameters = dict(described)
    name, copies = parameters.pop("vehicle", None), parameters.pop("copies", None)
    names = [vehicle.name for vehicle in simulation.vehicles]
    if name is None and len(names) == 1:
        name = names[0]
    require(name in names, "vehicle", name, f"must be one of {', '.join(names) or 'none'}")
    try:
        fault = build_fault(parameters, field="")
    except ConfigError as error:
        raise ConfigError(
            error.problem,
            file=error.file,
            field=(error.field or "").lstrip(".") or None,
            value=error.value,
            remedy=error.remedy,
        ) from None
    return simulation.vehicles[name].inject(fault, copies=copies)


def _of_entry(error: ConfigError, entry: ScenarioVehicle) -> ConfigError:
    """Return an error with its field in an entry, whose model may be described there."""
    first = _first(error)
    of_model = first in VehicleSpec.model_fields and first not in ScenarioVehicle.model_fields
    return error.within(field="model") if of_model and isinstance(entry.model, VehicleSpec) else error


def _first(error: ConfigError) -> str:
    return (error.field or "").partition(".")[0]


def _beside(file: Path, backend: Component) -> Component:
    """Return a backend's parameters with its files, and those of its trajectory, relative to the scenario."""
    placed = dict(backend)
    if "trajectory" in placed:
        placed["trajectory"] = located(placed["trajectory"], file.parent)
    policy = placed.get("policy")
    # A name without a suffix is that of a shipped policy.
    if isinstance(policy, str) and Path(policy).suffix:
        placed["policy"] = str(file.parent / Path(policy).expanduser())
    return placed


def ros2_graph(spec: ScenarioSpec) -> dict[str, Any]:
    """Return the graph options of the first ROS 2 backend in a scenario; a process has one graph."""
    first = next((b for v in spec.vehicles for b in v.backends if b.get("model") == "ros2"), {})
    return {name: first[name] for name in ("transport", "domain_id", "localhost_only") if name in first}
