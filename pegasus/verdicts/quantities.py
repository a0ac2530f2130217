"""Quantities of vehicles by name: their motion, outcome and filters, and any logged field."""

import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.contracts.condition import QUANTITIES
from pegasus.contracts.state import Estimate, Reference, VehicleState
from pegasus.core.aircraft import Aircraft
from pegasus.estimation import EKF
from pegasus.recording import OutcomeAudit

Values = npt.NDArray[Any]
Reader = Callable[[], Values]
"""Returns the present values of a quantity, shape (N,); NaN where it is not known."""

OUTCOME = ("crashed", "landed", "touched", "flown", "impact_speed", "deviation")
"""Quantities that are fields of `pegasus.recording.Outcome`."""
_PART = re.compile(r"([A-Za-z_]\w*)((?:\[\d+\])*)")
_AXES = {"x": 0, "y": 1, "z": 2, "w": 3}
_ROOTS: dict[str, Any] = {"state": VehicleState, "reference": Reference, "estimate": Estimate}


def _length(vectors: Array) -> Array:
    length: Array = np.sqrt((vectors * vectors).sum(axis=1))
    return length


def _unknown(vehicle: Aircraft) -> Array:
    return np.full(vehicle.count, np.nan)


def _tracking_error(vehicle: Aircraft) -> Array:
    reference = vehicle.reference
    return _unknown(vehicle) if reference is None else _length(vehicle.state.position - reference.position)


def _estimation_error(vehicle: Aircraft) -> Array:
    estimate = vehicle.estimate
    return _unknown(vehicle) if estimate is None else _length(estimate.position_error)


_FLIGHT: dict[str, Callable[[Aircraft], Values]] = {
    "z": lambda vehicle: vehicle.state.position[:, 2],
    "tilt": lambda vehicle: np.arccos(np.clip(vehicle.state.rotation[:, 2, 2], -1.0, 1.0)),
    "heading": lambda vehicle: vehicle.state.heading,
    "distance_from_start": lambda vehicle: _length(vehicle.state.position - vehicle.start.position),
    "in_contact": lambda vehicle: vehicle.in_contact,
    "tracking_error": _tracking_error,
    "estimation_error": _estimation_error,
    "rotor_work": lambda vehicle: vehicle.columns["energy_rotors"],
}
"""Quantities of a vehicle in a simulation: height [m], tilt and heading [rad], distance from its start [m],
whether it touches something, distance from its reference and of its estimate from the truth [m], work of its
rotors since the start [J]."""


def quantity_names() -> list[str]:
    """Return the names of all quantities but those of logged fields, `armed`, `nis.SENSOR`."""
    return [*QUANTITIES, *_FLIGHT, *OUTCOME, "armed"]


def reader_of(vehicle: Aircraft, name: str, outcomes: OutcomeAudit) -> Reader:
    """Return the reader of a quantity of a vehicle.

    Args:
        vehicle: The vehicle.
        name: Name of the quantity, or path of a logged field: `state.velocity.x`, `reference.position[2]`,
            `estimate.position_error.z`, `command.CHANNEL`, `sensors.NAME.FIELD`, `nis.SENSOR`.
        outcomes: Audit of the outcomes of the flight.

    Raises:
        ConfigError: If the vehicle does not have it.
    """
    if name.startswith("battery.") and vehicle.battery is None:
        raise _missing(vehicle, name, "needs a battery, which the vehicle does not have")
    if name in QUANTITIES:
        return lambda: QUANTITIES[name](vehicle)
    if name in _FLIGHT:
        return lambda: _FLIGHT[name](vehicle)
    if name in OUTCOME:
        return lambda: getattr(outcomes.outcomes()[vehicle.name], name)
    if name == "armed":
        return _armed(vehicle)
    root, _, path = name.partition(".")
    if root == "nis":
        return _innovation(vehicle, name, path)
    if root == "command":
        names = [channel.name for channel in vehicle.channels]
        if path not in names:
            raise _unknown_name(vehicle, name, path, names)
        number = names.index(path)
        return lambda: vehicle.columns["limited_command"][:, number]
    if root == "sensors":
        sensor, _, path = path.partition(".")
        if sensor not in vehicle.sensors:
            raise _unknown_name(vehicle, name, sensor, list(vehicle.sensors))
        return _field(vehicle, name, lambda: vehicle.sensors.last_reading(sensor), path)
    if root in _ROOTS:
        known = [field.name for field in fields(_ROOTS[root])]
        first = re.split(r"[.\[]", path)[0]
        if first not in known:
            raise _unknown_name(vehicle, name, first, known)
        return _field(vehicle, name, lambda: getattr(vehicle, root), path)
    raise _unknown_name(vehicle, name, name, [*quantity_names(), *_ROOTS, "command", "sensors", "nis"])


def _armed(vehicle: Aircraft) -> Reader:
    pilots = [backend for backend in vehicle.backends if hasattr(backend, "armed")]
    if not pilots:
        raise _missing(vehicle, "armed", "needs an autopilot that reports it")
    return lambda: np.array(pilots[0].armed, dtype=bool)


def _innovation(vehicle: Aircraft, name: str, sensor: str) -> Reader:
    """Return the reader of the last squared innovation of a sensor by its variance."""
    estimator = vehicle.estimator
    if not isinstance(estimator, EKF):
        raise _missing(vehicle, name, "needs an estimator `ekf`, which the vehicle does not have")
    numbers = {source.name: source.number for source in estimator.sources}
    if sensor not in numbers:
        raise _unknown_name(vehicle, name, sensor, list(numbers))
    return lambda: estimator.columns["nis"][:, numbers[sensor]]


def _field(vehicle: Aircraft, name: str, item: Callable[[], Any], path: str) -> Reader:
    """Return the reader of a field of an item, which need not exist yet."""
    *steps, last = path.split(".")
    axis = _AXES.get(last) if steps else None
    parts = []
    for step in steps if axis is not None else [*steps, last]:
        found = _PART.fullmatch(step)
        if found is None:
            raise _missing(vehicle, name, "must be a path such as state.position.z or state.position[2]")
        parts.append((found[1], tuple(int(index) for index in re.findall(r"\d+", found[2]))))

    def read() -> Array:
        value = item()
        if value is None:
            return _unknown(vehicle)
        for field, indices in parts:
            if not hasattr(value, field):
                raise _unknown_name(vehicle, name, field, [f.name for f in fields(value)])
            value = getattr(value, field)
            for index in indices if axis is None else (*indices, axis):
                if np.ndim(value) < 2 or index >= np.shape(value)[1]:
                    raise _missing(vehicle, name, f"has no component {index}")
                value = value[:, index]
        if np.shape(value) != (vehicle.count,):
            raise _missing(vehicle, name, "has several numbers; name one, such as [0] or .x")
        return np.asarray(value)

    return read


def _missing(vehicle: Aircraft, name: str, problem: str) -> ConfigError:
    return ConfigError(f"{problem} (vehicle {vehicle.name!r})", field="expect", value=name)


def _unknown_name(vehicle: Aircraft, name: str, part: str, known: Iterable[str]) -> ConfigError:
    names = list(known)
    close = " ".join(did_you_mean(part, names)) or None
    problem = f"{part!r} is not known of vehicle {vehicle.name!r}; there are {', '.join(names)}"
    return ConfigError(problem, field="expect", value=name, remedy=close)
