"""Snapshots of simulations: the whole state at one instant, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.random_numbers import draw_key
from pegasus.base.saved_records import memory_of
from pegasus.base.saved_state import SavedState
from pegasus.base.streams import stream
from pegasus.core.aircraft import Aircraft
from pegasus.core.vehicle_manager import VehicleManager
from pegasus.model.dynamics_models import MODELS, VehicleParameters

_REMEDY = "restore it into a simulation that was built in the same way"
_ENVIRONMENT = ("origin", "gravity", "atmosphere", "magnetic_field")
_PARTS = ("estimator", "sensors", "backends", "faults", "actuation", *MODELS)
_VEHICLE = ("state", "columns", "spec", "layout", "asset", "start")


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """State of a simulation at one instant, from which it can go on; see `Simulation.snapshot`.

    It shares nothing that a simulation changes. All is arrays, plain values and classes, so that pickle takes
    it, unless a part holds a value that pickle refuses, such as a trajectory made of a lambda.
    """

    built: Mapping[str, Any]
    """What the simulation is made of: world, engine, rate [Hz], vehicles, and the parts of each."""
    seed: int
    """Seed of the simulation."""
    step: int
    """Number of steps done."""
    time: float
    """Simulation time [s]."""
    columns: Mapping[str, Mapping[str, Array]]
    """State, inputs and outputs of the step of each vehicle by name, N rows each."""
    parameters: Mapping[str, tuple[VehicleParameters, ...] | None]
    """Parameters of the copies of each vehicle, if they changed in flight or differ; None otherwise."""
    refitted: frozenset[str]
    """Names of the vehicles whose parameters changed in flight."""
    parts: SavedState
    """State of sensors, estimators, backends, faults, batteries, wind."""
    clockwork: Mapping[str, Any]
    """State of the engine and of the schedules."""

    def __repr__(self) -> str:
        """Return one line."""
        return f"Snapshot(time={self.time:g}, vehicles={', '.join(self.columns) or None})"


def take(vehicles: VehicleManager, around: Mapping[str, Any], *, world: str, step: int) -> Snapshot:
    """Return the state of a simulation between two steps.

    Args:
        vehicles: Its vehicles.
        around: Other objects of the simulation that parts may refer to, by name.
        world: Name of its world.
        step: Number of steps done.

    Raises:
        ConfigError: If a part cannot be saved.
    """
    _require_inside(vehicles)
    return Snapshot(
        built=_built(vehicles, world),
        seed=vehicles.seed,
        step=step,
        time=step / vehicles.rate,
        columns={v.name: {name: values.copy() for name, values in v.columns.items()} for v in vehicles},
        parameters={v.name: tuple(v.parameters) if v.is_refitted or v.variation else None for v in vehicles},
        refitted=frozenset(v.name for v in vehicles if v.is_refitted),
        parts=SavedState(_parts(vehicles), {**around, **_shared(vehicles)}),
        clockwork=vehicles.save_state(),
    )


def require_fit(snapshot: Snapshot, vehicles: VehicleManager, world: str) -> None:
    """Raise a ConfigError unless a simulation can take a state.

    Args:
        snapshot: The state.
        vehicles: Vehicles of the simulation.
        world: Name of its world.
    """
    _require_inside(vehicles)
    for field, value in _built(vehicles, world).items():
        if value != snapshot.built[field]:
            problem = f"is not that of the snapshot: {snapshot.built[field]!r}"
            raise ConfigError(problem, field=field, value=value, remedy=_REMEDY)


def put(snapshot: Snapshot, vehicles: VehicleManager, around: Mapping[str, Any]) -> None:
    """Put a state into a simulation that fits; one with another seed gets other random numbers from there on.

    Args:
        snapshot: The state.
        vehicles: Vehicles of the simulation.
        around: Other objects of the simulation, by the same names as in `take`.
    """
    reseeded = vehicles.seed != snapshot.seed
    for vehicle in vehicles:
        # A variation is drawn by the seed.
        foreign = vehicle.name in snapshot.refitted or (reseeded and bool(vehicle.variation))
        if foreign or vehicle.is_refitted:
            vehicles.refit(vehicle, snapshot.parameters[vehicle.name] if foreign else None)
    parts = snapshot.parts.restore(_parts(vehicles), {**around, **_shared(vehicles)})
    environment = vehicles.environment
    environment.wind, environment.common_errors = parts["wind"], parts["common errors"]
    for vehicle in vehicles:
        for name, values in snapshot.columns[vehicle.name].items():
            vehicle.columns[name][...] = values
    vehicles.resume(snapshot.clockwork)
    if reseeded:
        _draw_anew(vehicles)


def _require_inside(vehicles: VehicleManager) -> None:
    """Raise a ConfigError if a backend has a state outside of the simulation."""
    for vehicle in vehicles:
        for backend in vehicle.backends:
            if backend.outside:
                raise ConfigError(
                    "has a state in another program, which a snapshot cannot hold",
                    field=f"{type(backend).__name__} of vehicle {vehicle.name!r}",
                    remedy="fly by a controller, or begin anew by reset()",
                )


def _parts(vehicles: VehicleManager) -> dict[str, Any]:
    """Return what has a state besides the columns, by its place in the simulation."""
    environment = vehicles.environment
    return {
        "wind": environment.wind,
        "common errors": environment.common_errors,
        **{f"{v.name}.{name}": part for v in vehicles for name, part in _parts_of_vehicle(v).items()},
    }


def _parts_of_vehicle(vehicle: Aircraft) -> dict[str, Any]:
    return {
        **{f"sensors.{name}": sensor for name, sensor in vehicle.sensors.items()},
        **{f"backends.{k}": backend for k, backend in enumerate(vehicle.backends)},
        **{name: getattr(vehicle, name) for name in _PARTS},
    }


def _shared(vehicles: VehicleManager) -> dict[str, Any]:
    """Return what parts refer to but have no state of, by name."""
    environment = vehicles.environment
    shared: dict[str, Any] = {"vehicles": vehicles, "visuals": vehicles.visuals, "environment": environment}
    shared |= {f"environment {name}": getattr(environment, name) for name in _ENVIRONMENT}
    # Several arrays may fill one block of memory.
    shared |= {
        f"all {name}": memory_of(item) if isinstance(item, np.ndarray) else item
        for name, item in vehicles.shared.items()
    }
    for vehicle in vehicles:
        shared |= {f"{name} of {vehicle.name}": getattr(vehicle, name) for name in _VEHICLE}
        shared[f"vehicle {vehicle.name}"] = vehicle
    return shared


def _draw_anew(vehicles: VehicleManager) -> None:
    """Give sensors, gusts and faults random numbers of this simulation's seed; biases and states stay."""
    seed, turbulence = vehicles.seed, vehicles.environment.wind.turbulence
    if turbulence is not None:
        turbulence.key = draw_key(stream(seed, "fork", "environment"))
        vehicles.keep_gusts()
    for vehicle in vehicles:
        for name, sensor in vehicle.sensors.items():
            sensor.draw_anew(stream(seed, "fork", vehicle.name, name))
        vehicle.faults.draw_anew(seed)


def _built(vehicles: VehicleManager, world: str) -> dict[str, Any]:
    """Return what a simulation is made of, which must be the same where a snapshot is restored."""
    own = {f"vehicle {vehicle.name!r}": _built_vehicle(vehicle) for vehicle in vehicles}
    names = [vehicle.name for vehicle in vehicles]
    return {"world": world, "engine": vehicles.engine, "rate": vehicles.rate, "vehicles": names, **own}


def _built_vehicle(vehicle: Aircraft) -> dict[str, Any]:
    return {
        "copies": vehicle.count,
        "rotors": vehicle.rotor_count,
        "channels": [channel.name for channel in vehicle.channels],
        "sensors": {name: type(sensor).__name__ for name, sensor in vehicle.sensors.items()},
        "backends": [type(backend).__name__ for backend in vehicle.backends],
        "estimator": None if vehicle.estimator is None else type(vehicle.estimator).__name__,
    }
