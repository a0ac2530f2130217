"""Attributes of vehicle prims: saved vehicles, and actuator states for OmniGraphs."""

import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, Vt

from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import build_backends
from pegasus.contracts.estimator import build_estimator
from pegasus.contracts.sensor import build_sensors
from pegasus.core.aircraft import Aircraft
from pegasus.isaac import kit
from pegasus.isaac.bodies import body_path, vehicle_path
from pegasus.isaac.session_layer import unsaved
from pegasus.panel.scenario_writer import backend_specs, estimator_spec, sensor_specs

_log = logging.getLogger(__name__)

_MODEL, _NAME, _COUNT = (f"pegasus:{field}" for field in ("model", "name", "count"))
_BACKENDS, _SENSORS, _ESTIMATOR = "pegasus:backends", "pegasus:sensors", "pegasus:estimator"
_POSITIONS, _HEADINGS = "pegasus:startPositions", "pegasus:startHeadings"


@dataclass(frozen=True)
class SavedVehicle:
    """Description of a vehicle that is saved with a stage."""

    path: str
    """Path of its prim."""
    model: str
    """Name of a model, or path of its file."""
    name: str
    positions: tuple[tuple[float, float, float], ...]
    """Start positions of the copies [m]."""
    headings: tuple[float, ...]
    """Start headings of the copies, counter-clockwise from east [rad]."""
    backends: tuple[Mapping[str, Any], ...] = ()
    """Specifications of its backends, as in scenario files."""
    sensors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Specifications of its additional sensors, by name."""
    estimator: Mapping[str, Any] | None = None
    """Specification of its estimator; that of the model if None."""

    def make(self) -> Aircraft:
        """Return a new vehicle of this description.

        Raises:
            ConfigError: If the model, a backend or a sensor does not exist any more.
        """
        try:
            return Aircraft(
                self.model,
                count=len(self.positions),
                name=self.name,
                position=self.positions,
                heading=self.headings,
                backends=build_backends(self.backends),
                extra_sensors=build_sensors(self.sensors),
                estimator=build_estimator(self.estimator),
            )
        except ConfigError as error:
            raise error.within(field=self.path) from None


def save_vehicle(stage: Usd.Stage, vehicle: Aircraft) -> None:
    """Write the description of a vehicle to its prim; a part without a YAML description is left out."""
    prim = stage.GetPrimAtPath(vehicle_path(vehicle.name))
    if not prim:
        return
    left_out: list[str] = []
    backends, sensors = backend_specs(vehicle, left_out), sensor_specs(vehicle, left_out)
    estimator = estimator_spec(vehicle, left_out)
    for part in left_out:
        _log.warning("%s: cannot be saved with the stage; the vehicle is restored without it", part)
    _, _, z, w = vehicle.start.orientation.T
    # Vehicles start level, so the heading is all of the attitude.
    headings = 2.0 * np.arctan2(z, w)
    model = str(vehicle.file.resolve()) if vehicle.file is not None else vehicle.spec.name
    values = {
        _MODEL: (Sdf.ValueTypeNames.String, model),
        _NAME: (Sdf.ValueTypeNames.String, vehicle.name),
        _COUNT: (Sdf.ValueTypeNames.Int, vehicle.count),
        _POSITIONS: (
            Sdf.ValueTypeNames.Double3Array,
            [tuple(row) for row in vehicle.start.position.tolist()],
        ),
        _HEADINGS: (Sdf.ValueTypeNames.DoubleArray, headings.tolist()),
        _BACKENDS: (Sdf.ValueTypeNames.String, json.dumps(backends)),
        _SENSORS: (Sdf.ValueTypeNames.String, json.dumps(sensors)),
    }
    if estimator is not None:
        values[_ESTIMATOR] = (Sdf.ValueTypeNames.String, json.dumps(estimator))
    for name, (kind, value) in values.items():
        prim.CreateAttribute(name, kind).Set(value)


def saved_vehicles(stage: Usd.Stage) -> list[SavedVehicle]:
    """Return the vehicles that were saved with a stage.

    Raises:
        ConfigError: If the description on a prim is not complete.
    """
    return [_read(prim) for prim in stage.Traverse() if prim.HasAttribute(_MODEL)]


def _read(prim: Usd.Prim) -> SavedVehicle:
    values: dict[str, Any] = {}
    for name in (_MODEL, _NAME, _POSITIONS, _HEADINGS):
        values[name] = prim.GetAttribute(name).Get() if prim.HasAttribute(name) else None
    if missing := ", ".join(name for name, value in values.items() if value is None):
        raise ConfigError(
            f"lacks {missing}", field=str(prim.GetPath()), remedy="remove the prim and add the vehicle again"
        )
    backends = prim.GetAttribute(_BACKENDS).Get() if prim.HasAttribute(_BACKENDS) else "[]"
    sensors = prim.GetAttribute(_SENSORS).Get() if prim.HasAttribute(_SENSORS) else "{}"
    estimator = prim.GetAttribute(_ESTIMATOR).Get() if prim.HasAttribute(_ESTIMATOR) else "null"
    return SavedVehicle(
        path=str(prim.GetPath()),
        model=str(values[_MODEL]),
        name=str(values[_NAME]),
        positions=tuple((float(x), float(y), float(z)) for x, y, z in values[_POSITIONS]),
        headings=tuple(float(heading) for heading in values[_HEADINGS]),
        backends=tuple(json.loads(backends)),
        sensors=json.loads(sensors),
        estimator=json.loads(estimator),
    )


STATE_SETTING = "/pegasus/stateAttributes"
"""Setting of Kit: write the actuator states to the prims."""
_TYPES = {
    "pegasus:rotorSpeed": Sdf.ValueTypeNames.DoubleArray,
    "pegasus:rotorCommand": Sdf.ValueTypeNames.DoubleArray,
    "pegasus:force": Sdf.ValueTypeNames.Double3,
    "pegasus:torque": Sdf.ValueTypeNames.Double3,
    "pegasus:batteryVoltage": Sdf.ValueTypeNames.Double,
    "pegasus:batteryCurrent": Sdf.ValueTypeNames.Double,
    "pegasus:batteryCharge": Sdf.ValueTypeNames.Double,
}


def write_states(stage: Usd.Stage, vehicles: Iterable[Aircraft]) -> None:
    """Write the actuator states of vehicles to the prims of their bodies, if the setting is on, unsaved.

    Rotor speeds and commands are in rad/s, the force in N in the world without gravity, the torque in N m
    about the centre of mass in the body frame, and the charge from 0 to 1. Physics itself writes poses and
    velocities.
    """
    if not kit.setting(STATE_SETTING):
        return
    found, layer = [], stage.GetSessionLayer()
    with unsaved(stage):
        for vehicle in vehicles:
            for copy in range(vehicle.count):
                prim = stage.GetPrimAtPath(body_path(f"{vehicle.name}/{copy}"))
                if prim:
                    values = _values(vehicle, copy)
                    for name in values:
                        if layer.GetAttributeAtPath(prim.GetPath().AppendProperty(name)) is None:
                            prim.CreateAttribute(name, _TYPES[name])
                    found.append((prim, values))
    with unsaved(stage), Sdf.ChangeBlock():
        for prim, values in found:
            for name, value in values.items():
                prim.GetAttribute(name).Set(value)


def _values(vehicle: Aircraft, copy: int) -> dict[str, object]:
    values: dict[str, object] = {
        "pegasus:rotorSpeed": Vt.DoubleArray(vehicle.state.rotor_speed[copy].tolist()),
        "pegasus:rotorCommand": Vt.DoubleArray(vehicle.rotor_command[copy].tolist()),
        "pegasus:force": Gf.Vec3d(*vehicle.applied_force[copy].tolist()),
        "pegasus:torque": Gf.Vec3d(*vehicle.applied_torque[copy].tolist()),
    }
    battery = vehicle.battery if isinstance(vehicle, Aircraft) else None
    if battery is not None:
        values["pegasus:batteryVoltage"] = float(battery.voltage[copy])
        values["pegasus:batteryCurrent"] = float(battery.current[copy])
        values["pegasus:batteryCharge"] = float(battery.charge[copy])
    return values
