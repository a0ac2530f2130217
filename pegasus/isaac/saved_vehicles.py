"""What a vehicle is, kept as attributes on its prim, so that a saved stage brings it back."""

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pxr import Sdf, Usd

from pegasus.backends.backend import Backend
from pegasus.backends.registry import BACKENDS
from pegasus.components import build
from pegasus.errors import ConfigError
from pegasus.isaac.bodies import vehicle_path
from pegasus.multirotor import Multirotor
from pegasus.scenario_writer import backend_specs, sensor_specs
from pegasus.sensors import Sensor
from pegasus.sensors.registry import SENSORS
from pegasus.vehicle import Vehicle

_log = logging.getLogger(__name__)

_MODEL, _NAME, _COUNT = (f"pegasus:{field}" for field in ("model", "name", "count"))
_BACKENDS, _SENSORS = "pegasus:backends", "pegasus:sensors"
_POSITIONS, _HEADINGS = "pegasus:startPositions", "pegasus:startHeadings"


@dataclass(frozen=True)
class SavedVehicle:
    """A vehicle as a stage keeps it."""

    path: str
    """Path of its prim."""
    model: str
    """Name of a vehicle, or path of its file."""
    name: str
    positions: tuple[tuple[float, float, float], ...]
    """Where the copies start [m]."""
    headings: tuple[float, ...]
    """Their headings, counter-clockwise from east [rad]."""
    backends: tuple[Mapping[str, Any], ...] = ()
    """Who flies it and who listens, as scenario files have it."""
    sensors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Sensors that its model has not, by name."""

    def make(self) -> Multirotor:
        """Return the vehicle, ready to be added.

        Raises:
            ConfigError: If the model or a backend is not known any more.
        """
        try:
            return Multirotor(
                self.model,
                count=len(self.positions),
                name=self.name,
                position=self.positions,
                heading=self.headings,
                backends=[
                    build(Backend, BACKENDS, spec, field=f"backends.{index}")
                    for index, spec in enumerate(self.backends)
                ],
                extra_sensors={
                    name: build(Sensor, SENSORS, spec, field=f"sensors.{name}")
                    for name, spec in self.sensors.items()
                },
            )
        except ConfigError as error:
            raise error.within(field=self.path) from None


def mark(stage: Usd.Stage, vehicle: Vehicle) -> None:
    """Keep on the prim of a vehicle what it is; a part that YAML cannot describe is not kept.

    Args:
        stage: The stage that it is on.
        vehicle: The vehicle.
    """
    prim = stage.GetPrimAtPath(vehicle_path(vehicle.name))
    if not prim:
        return
    left_out: list[str] = []
    backends, sensors = backend_specs(vehicle, left_out), sensor_specs(vehicle, left_out)
    for part in left_out:
        _log.warning("%s: a stage cannot keep it, and brings the vehicle back without it once saved", part)
    _, _, z, w = vehicle.start_orientation.T
    # Vehicles start level, so the heading is all of the attitude.
    headings = 2.0 * np.arctan2(z, w)
    model = str(vehicle.file.resolve()) if vehicle.file is not None else vehicle.spec.name
    values = {
        _MODEL: (Sdf.ValueTypeNames.String, model),
        _NAME: (Sdf.ValueTypeNames.String, vehicle.name),
        _COUNT: (Sdf.ValueTypeNames.Int, vehicle.count),
        _POSITIONS: (
            Sdf.ValueTypeNames.Double3Array,
            [tuple(row) for row in vehicle.start_position.tolist()],
        ),
        _HEADINGS: (Sdf.ValueTypeNames.DoubleArray, headings.tolist()),
        _BACKENDS: (Sdf.ValueTypeNames.String, json.dumps(backends)),
        _SENSORS: (Sdf.ValueTypeNames.String, json.dumps(sensors)),
    }
    for name, (kind, value) in values.items():
        prim.CreateAttribute(name, kind).Set(value)


def saved_vehicles(stage: Usd.Stage) -> list[SavedVehicle]:
    """Return the vehicles that a stage was saved with.

    Args:
        stage: The stage.

    Raises:
        ConfigError: If what a prim says of its vehicle is not complete.
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
    return SavedVehicle(
        path=str(prim.GetPath()),
        model=str(values[_MODEL]),
        name=str(values[_NAME]),
        positions=tuple((float(x), float(y), float(z)) for x, y, z in values[_POSITIONS]),
        headings=tuple(float(heading) for heading in values[_HEADINGS]),
        backends=tuple(json.loads(backends)),
        sensors=json.loads(sensors),
    )
