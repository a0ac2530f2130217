"""Parameters of a vehicle that a log can tell: their fields, units and values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.core.aircraft import Aircraft
from pegasus.model.dynamics_models import MODELS

SHORT = (
    "thrust_constant",
    "torque_constant",
    "drag",
    "lag",
    "mass",
    "inertia",
    "center_of_mass",
    "wind",
    "delay",
)
"""Names of parameters; all others are given by the dotted field of the vehicle's file."""
_UNITS = {
    "thrust_constant": "N/(rad/s)^2",
    "torque_constant": "N m/(rad/s)^2",
    "moment_ratio": "m",
    "time_constant_up": "s",
    "time_constant_down": "s",
    "areas": "m^2",
    "angular_coefficients": "N m s^2",
    "mass": "kg",
    "inertia": "kg m^2",
    "center_of_mass": "m",
    "wind": "m/s",
    "delay": "s",
}
_SIZES = {"center_of_mass": 0.02, "wind": 5.0, "delay": 0.05, "areas": 0.01, "coefficients": 0.1}
"""Sizes of parameters that may be 0, in their units."""
_SIGNED = ("center_of_mass", "wind")
_AXES = ("x", "y", "z")
_MOMENTS = ("xx", "yy", "zz", "xy", "xz", "yz")
_PARTS = 6
"""Most numbers of a field that are fitted one by one."""


@dataclass(frozen=True)
class Parameter:
    """One number that is fitted."""

    name: str
    """Name in tables."""
    field: str
    """Dotted field of the vehicle's file, or `wind` or `delay`."""
    index: int | None
    """Index in the field; None for a number, and for a table that is fitted by a common factor."""
    unit: str
    before: float
    """Value of the file; of a table its first number."""
    size: float
    """What counts as a large change."""
    is_table: bool = False
    """Whether it is a table, of which all numbers have a common factor."""

    @property
    def signed(self) -> bool:
        """Whether it may be below 0."""
        return self.field in _SIGNED or (
            self.field == "inertia" and self.index is not None and self.index > 2
        )

    @property
    def of_file(self) -> bool:
        """Whether it is of the vehicle's file."""
        return self.field not in ("wind", "delay")


@dataclass(frozen=True)
class _Field:
    path: str
    value: Any
    is_table: bool = False


class Fitted:
    """Parameters that are fitted, in their order, with the values of the vehicle's file.

    Args:
        vehicle: The vehicle.
        names: Names of `SHORT`, or dotted fields.
        motors: Whether the motors take part: not if rotor speeds were measured.

    Raises:
        ConfigError: If there is no such parameter, or it cannot be fitted.
    """

    def __init__(self, vehicle: Aircraft, names: Sequence[str], *, motors: bool = True) -> None:
        if not names:
            raise ConfigError("must name a parameter", field="fit", remedy=f"such as {', '.join(SHORT)}")
        self.parameters: list[Parameter] = []
        self.nominal: dict[str, Array] = {}
        """Values of the file by field."""
        for name in names:
            try:
                if (name == "lag" or name.startswith("motor.")) and not motors:
                    raise ConfigError(
                        "cannot be told: the log holds measured rotor speeds in place of commands",
                        remedy="fit it from a log with commands",
                    )
                for found in _fields_of(vehicle, name):
                    self._add(found)
            except ConfigError as error:
                raise error.about(f"fit, {name}" if error.field is None else f"fit, {error.field}") from None

    def _add(self, found: _Field) -> None:
        """Add the numbers of a field."""
        try:
            values = np.asarray(found.value, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.zeros(0)
        if not values.size or values.ndim > 1 or (values.size > _PARTS and not found.is_table):
            raise ConfigError("is no number or vector", field=found.path, value=found.value)
        if found.path in self.nominal:
            raise ConfigError("is named twice", field=found.path)
        self.nominal[found.path] = values
        last = found.path.rpartition(".")[2]
        unit = _UNITS.get(last, "")
        if found.path == "drag.coefficients":
            unit = "N s/m"
        if found.is_table or values.ndim == 0:
            first = float(values.reshape(-1)[0])
            size = abs(first) or _SIZES.get(last, 1.0)
            self.parameters.append(Parameter(found.path, found.path, None, unit, first, size, found.is_table))
            return
        whole = float(np.abs(values).max()) or _SIZES.get(last, 1.0)
        titles = _MOMENTS if last == "inertia" else _AXES
        for k, value in enumerate(values.tolist()):
            size = abs(value) if value and last not in _SIZES else max(whole, _SIZES.get(last, 0.0))
            title = f"{found.path}.{titles[k] if len(values) <= len(titles) else k}"
            self.parameters.append(Parameter(title, found.path, k, unit, value, size))

    @property
    def start(self) -> Array:
        """Values of the file, shape (P,)."""
        return np.array([p.before for p in self.parameters])

    def values(self, theta: Array) -> dict[str, Array]:
        """Return the values of fields for those of the parameters, shape (P,)."""
        found = {field: values.copy() for field, values in self.nominal.items()}
        for p, value in zip(self.parameters, theta.tolist(), strict=True):
            if p.is_table:
                found[p.field] = self.nominal[p.field] * (value / p.before)
            elif p.index is None:
                found[p.field] = np.array(value)
            else:
                found[p.field][p.index] = value
        return found

    def probes(self, theta: Array) -> tuple[dict[str, Array], Array]:
        """Return values of fields of 2 P + 1 rows, and the parameters of these rows.

        The first row has the given values; of the others, two each have one parameter changed up and down.

        Args:
            theta: Values of the parameters, shape (P,).
        """
        count = 2 * len(theta) + 1
        rows = np.tile(theta, (count, 1))
        for k, p in enumerate(self.parameters):
            if not p.is_table and p.of_file:
                step = 1e-4 * max(abs(theta[k]), 1e-3 * p.size)
                rows[1 + 2 * k, k] += step
                rows[2 + 2 * k, k] -= step if theta[k] > step or p.signed else 0.0
        each = [self.values(row) for row in rows]
        return {field: np.array([one[field] for one in each]) for field in self.nominal}, rows

    def bounded(self, theta: Array, before: Array) -> Array:
        """Return values of parameters within their bounds, no step to less than a fifth of what they were."""
        signed = np.array([p.signed for p in self.parameters], dtype=bool)
        kept: Array = np.where(signed, theta, np.maximum(theta, 0.2 * np.maximum(before, 0.0)))
        return kept


def _fields_of(vehicle: Aircraft, name: str) -> list[_Field]:
    """Return the fields of a name."""
    spec, curve, motor, drag = vehicle.spec, vehicle.thrust_curve, vehicle.motor, vehicle.drag
    if name in ("mass", "inertia", "center_of_mass"):
        return [_Field(name, getattr(spec, name))]
    if name in ("wind", "delay"):
        return [_Field(name, np.zeros(3) if name == "wind" else 0.0)]
    if name == "thrust_constant":
        if (table := getattr(curve, "thrust_coefficient", None)) is not None:
            return [_Field("thrust_curve.thrust_coefficient", table, is_table=True)]
        if (constant := getattr(curve, "thrust_constant", None)) is not None:
            return [_Field("thrust_curve.thrust_constant", constant)]
        raise _unknown(name, "thrust_curve", curve)
    if name == "torque_constant":
        if (table := getattr(curve, "power_coefficient", None)) is not None:
            return [_Field("thrust_curve.power_coefficient", table, is_table=True)]
        for last in ("torque_constant", "moment_ratio"):
            if getattr(curve, last, None) is not None:
                return [_Field(f"thrust_curve.{last}", getattr(curve, last))]
        raise _unknown(name, "thrust_curve", curve)
    if name == "drag":
        for last in ("coefficients", "areas"):
            if getattr(drag, last, None) is not None:
                return [_Field(f"drag.{last}", getattr(drag, last))]
        raise _unknown(name, "drag", drag)
    if name == "lag":
        found = [f"time_constant_{way}" for way in ("up", "down") if hasattr(motor, f"time_constant_{way}")]
        if not found:
            raise _unknown(name, "motor", motor)
        return [_Field(f"motor.{last}", getattr(motor, last)) for last in found]
    section, _, rest = name.partition(".")
    model = getattr(vehicle, section, None) if section in MODELS else None
    if name == "propeller.inertia":
        return [_Field(name, spec.propeller.inertia)]
    if section == "battery" or model is None or not rest:
        known = [*SHORT, "propeller.inertia", *_known(vehicle)]
        remedy = " ".join([*did_you_mean(name, known), f"there are {', '.join(SHORT)}, and fields of models"])
        raise ConfigError("is no parameter of this vehicle", field=name, remedy=remedy)
    if rest in ("thrust_coefficient", "power_coefficient") and section == "thrust_curve":
        return _fields_of(vehicle, "thrust_constant" if rest[0] == "t" else "torque_constant")
    if not hasattr(model, rest):
        raise _unknown(name, section, model)
    return [_Field(name, getattr(model, rest))]


def _known(vehicle: Aircraft) -> list[str]:
    """Return the fields of the vehicle's models."""
    models = {section: getattr(vehicle, section, None) for section in MODELS if section != "battery"}
    return [f"{s}.{f.name}" for s, m in models.items() if is_dataclass(m) for f in fields(m)]


def _unknown(name: str, section: str, model: Any) -> ConfigError:
    """Return the error of a model without a parameter."""
    if model is None:
        return ConfigError(f"the vehicle has no {section}", field=name, remedy=f"add {section} to its file")
    own = [f"{section}.{f.name}" for f in fields(model)] if is_dataclass(model) else []
    return ConfigError(
        f"is no parameter of {type(model).__name__}",
        field=name,
        remedy=f"name one of {', '.join(own)}" if own else "choose another model",
    )


def changes_of(values: Mapping[str, Array]) -> dict[str, Any]:
    """Return values of fields as the nested content of a vehicle's file.

    Args:
        values: Values by dotted field.
    """
    content: dict[str, Any] = {}
    for field, value in values.items():
        *outer, last = field.split(".")
        at = content
        for name in outer:
            at = at.setdefault(name, {})
        at[last] = np.asarray(value).tolist()
    return content
