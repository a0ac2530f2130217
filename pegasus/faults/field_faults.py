"""Faults of single quantities of a sensor: bias, drift, noise, scale, spikes and wrong axes."""

import dataclasses
import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.random_numbers import normals
from pegasus.base.step_math import Word
from pegasus.contracts.fault import Injection, SensorFault, require_sensor
from pegasus.contracts.reading import Reading, changed_reading
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.compiled_sensor import CompiledSensor
from pegasus.faults.sensor_faults import random_share

Amount = float | tuple[float, ...]


def reading_class(sensor: object) -> type[Reading] | None:
    """Return the class of a sensor's readings; None if it is not declared.

    Args:
        sensor: The sensor.
    """
    kind: Any = type(sensor)
    if isinstance(sensor, CompiledSensor) and kind.gives:
        found: type[Reading] = kind.gives[0]
        return found
    method = kind.reading if isinstance(sensor, CompiledSensor) else kind.measure
    try:
        found = get_type_hints(method).get("return", Reading)
    except (NameError, TypeError):
        return None
    return found if isinstance(found, type) and found is not Reading else None


@cache
def alterable_fields(kind: type[Reading]) -> list[str]:
    """Return the fields of readings that are arrays of real numbers.

    Args:
        kind: Class of the readings.
    """
    key: Any = kind
    hints = get_type_hints(key)
    return [f.name for f in dataclasses.fields(key) if hints[f.name] == Array]


def normal_numbers(injection: Injection, copy: int, t: float, count: int, block: int = 0) -> list[float]:
    """Return independent standard normal numbers of a fault, a copy and a step.

    Args:
        injection: The fault.
        copy: Index of the copy.
        t: Simulation time [s].
        count: How many.
        block: Number of the first block of four within the step.
    """
    step = round(t * injection.vehicle.physics_rate) & 0xFFFFFFFF
    drawn: list[float] = []
    while len(drawn) < count:
        drawn += normals(Word(int(injection.keys[copy])), copy, step, block + len(drawn) // 4)
    return drawn[:count]


@dataclass(frozen=True)
class FieldFault(SensorFault):
    """Base of a fault of one quantity of a sensor."""

    field: str
    """Field of the reading, such as `angular_velocity`."""

    def concerns(self) -> list[str]:
        """Return the names of sensor and field."""
        return [f"{self.sensor}.{self.field}"]

    def fit(self, vehicle: EquippedVehicle) -> None:
        """Raise a ConfigError if the vehicle has no such sensor, or its readings no such field."""
        require_sensor(vehicle, self.sensor)
        kind = reading_class(vehicle.sensors[self.sensor])
        if kind is not None:
            key: Any = kind
            known = alterable_fields(key)
            allowed = f"must be a real quantity of {self.sensor!r}: {', '.join(known) or 'there is none'}"
            require(self.field in known, "field", self.field, allowed)

    def alter(self, injection: Injection, reading: Reading, t: float) -> Reading | None:
        """Return the reading with another value of the field."""
        value = getattr(reading, self.field, None)
        real = isinstance(value, np.ndarray) and value.dtype == np.float64
        require(real, "field", self.field, f"must be a real quantity of {self.sensor!r}")
        assert isinstance(value, np.ndarray)
        changed = self.changed(injection, value, t)
        return changed_reading(reading, {self.field: changed})

    @abstractmethod
    def changed(self, injection: Injection, value: Array, t: float) -> Array:
        """Return another value of the field.

        Args:
            injection: The fault.
            value: The value, shape (N, ...).
            t: Simulation time [s].
        """

    def amounts(self, name: str, value: Array) -> Array:
        """Return a parameter with one number, or one of each axis, in the shape of a copy's value.

        Args:
            name: Name of the parameter.
            value: Value of the field, shape (N, ...).
        """
        given = getattr(self, name)
        try:
            amounts: Array = np.broadcast_to(np.asarray(given, dtype=np.float64), value.shape[1:])
        except ValueError:
            shape = value.shape[1:]
            require(False, name, given, f"must be one number, or numbers of shape {shape}")
        return amounts


def _per_copy(share: Array, value: Array) -> Array:
    """Return shares of copies in a shape that multiplies a field."""
    return share.reshape(-1, *[1] * (value.ndim - 1))


def _require_finite(fault: FieldFault, name: str, *, positive: bool = False) -> None:
    numbers = np.atleast_1d(np.asarray(getattr(fault, name), dtype=np.float64))
    fits = bool(np.isfinite(numbers).all() and (not positive or (numbers > 0).all()))
    require(fits, name, getattr(fault, name), "must be finite" + (" and above 0" if positive else ""))


@dataclass(frozen=True)
class SensorBias(FieldFault):
    """Constant error, in the unit of the field."""

    bias: Amount
    """The error: one number, or one of each axis."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_finite(self, "bias")

    def changed(self, injection: Injection, value: Array, t: float) -> Array:
        """Return the value plus the error."""
        return value + _per_copy(injection.intensity, value) * self.amounts("bias", value)


@dataclass(frozen=True)
class SensorDrift(FieldFault):
    """Error that grows steadily, in the unit of the field per second."""

    rate: Amount
    """Growth of the error: one number, or one of each axis."""

    takes_ramp: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_finite(self, "rate")

    def changed(self, injection: Injection, value: Array, t: float) -> Array:
        """Return the value plus rate times time since the beginning."""
        return value + _per_copy(injection.since * injection.active, value) * self.amounts("rate", value)


@dataclass(frozen=True)
class SensorNoise(FieldFault):
    """White noise in each reading, in the unit of the field."""

    sigma: Amount
    """Standard deviation: one number, or one of each axis."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_finite(self, "sigma", positive=True)

    def changed(self, injection: Injection, value: Array, t: float) -> Array:
        """Return the value plus noise."""
        noise = np.zeros_like(value)
        for copy in np.flatnonzero(injection.active).tolist():
            drawn = normal_numbers(injection, copy, t, noise[copy].size)
            noise[copy] = np.array(drawn).reshape(value.shape[1:])
        return value + _per_copy(injection.intensity, value) * self.amounts("sigma", value) * noise


@dataclass(frozen=True)
class SensorScale(FieldFault):
    """Wrong scale factor."""

    factor: Amount
    """Given value by the right one: one number, or one of each axis."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_finite(self, "factor")

    def changed(self, injection: Injection, value: Array, t: float) -> Array:
        """Return the scaled value."""
        return value * (1.0 + _per_copy(injection.intensity, value) * (self.amounts("factor", value) - 1.0))


@dataclass(frozen=True)
class SensorSpikes(FieldFault):
    """Single wrong values, of either sign, in the unit of the field."""

    size: Amount
    """Size of the error: one number, or one of each axis."""
    probability: float = 0.05
    """Share of the readings that have it, above 0 to 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_finite(self, "size")
        require(0 < self.probability <= 1, "probability", self.probability, "must be above 0, to 1")

    def changed(self, injection: Injection, value: Array, t: float) -> Array:
        """Return the value, with an error in some readings."""
        sign = np.zeros(len(value))
        for copy in np.flatnonzero(injection.active).tolist():
            limit = self.probability * float(injection.intensity[copy])
            if random_share(injection, copy, t) < limit:
                sign[copy] = math.copysign(1.0, random_share(injection, copy, t, 1) - 0.5)
        return value + _per_copy(sign, value) * self.amounts("size", value)


@dataclass(frozen=True)
class SensorWrongAxis(FieldFault):
    """Axes that are mixed up, as of a sensor mounted the wrong way."""

    axes: tuple[str, str, str]
    """Axis that takes the place of x, y and z, each with a sign, such as (y, -x, z)."""

    takes_ramp: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        known = len(self.axes) == 3 and {axis.lstrip("+-") for axis in self.axes} <= set("xyz")
        require(known, "axes", self.axes, "must be three of x, y, z, -x, -y, -z", "such as [y, -x, z]")

    def changed(self, injection: Injection, value: Array, t: float) -> Array:
        """Return the value with other axes."""
        vector = value.ndim == 2 and value.shape[1] == 3
        require(vector, "field", self.field, "must be a vector, for axes to be mixed up")
        places = ["xyz".index(axis.lstrip("+-")) for axis in self.axes]
        signs = np.array([-1.0 if axis.startswith("-") else 1.0 for axis in self.axes])
        changed: Array = np.where(injection.active[:, None], value[:, places] * signs, value)
        return changed
