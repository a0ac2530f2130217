"""Build a component (motor, thrust curve, drag, sensor, wind, ...) from a mapping in a YAML file.

A component is a dataclass whose fields are its parameters. A mapping names it by `model` and gives the
parameters; `model: package.module:Class` names a user's own.
"""

import copy
import dataclasses
import importlib
import inspect
import json
import math
from collections.abc import Hashable, Mapping
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Annotated, Any, TypeVar, cast, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.base.registry import Registry
from pegasus.base.validation import config_error

T = TypeVar("T")

Vec3 = tuple[float, float, float]
Positive = Annotated[float, Field(gt=0)]

_BUILT_FROM = "_built_from"


class StrictModel(BaseModel):
    """Base of all models of files: unknown fields and non-finite numbers are errors."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, frozen=True)


def build(base: type[T], kinds: Mapping[str, type[T]], spec: Mapping[str, Any], *, field: str) -> T:
    """Return the component that a mapping describes.

    Args:
        base: Class that every component of this sort derives from.
        kinds: Shipped components by model name.
        spec: Mapping with `model` and the parameters.
        field: Dotted path of the mapping in its file, for error messages.

    Raises:
        ConfigError: If the model is not known, or a parameter is unknown, missing or not allowed.
    """
    parameters = dict(spec)
    name = parameters.pop("model", None)
    cls = _find(base, kinds, name, field=f"{field}.model")
    model = _parameters_model(cast("Hashable", cls))
    try:
        validated = model(**parameters)
    except ValidationError as error:
        raise config_error(error, model).within(field=field) from None
    values = {key: _plain(getattr(validated, key)) for key in validated.model_fields_set}
    try:
        made = cls(**_nested(cls, values))
    except ConfigError as error:
        raise error.within(field=field) from None
    # By object.__setattr__, because the dataclass may be frozen. The field values are kept too, since the
    # component may have converted them.
    object.__setattr__(made, _BUILT_FROM, (copy.deepcopy(dict(spec)), _field_values(made)))
    return made


def describe(base: type[T], kinds: Registry[T], component: T) -> dict[str, Any] | None:
    """Return the mapping that builds a component with the present values of its fields; None if none does.

    Args:
        base: Class that every component of this sort derives from.
        kinds: Components by model name.
        component: The component.
    """
    cls = type(component)
    built: tuple[dict[str, Any], dict[str, Any]] = getattr(component, _BUILT_FROM, ({}, {}))
    given, values_then = built
    spec: dict[str, Any] = {
        "model": given.get("model") or kinds.name_of(cls) or f"{cls.__module__}:{cls.__qualname__}"
    }
    objects = []
    for item in dataclasses.fields(component) if dataclasses.is_dataclass(component) else ():
        value = getattr(component, item.name)
        if item.name in values_then and _equal(values_then[item.name], value):
            if item.name in given:
                spec[item.name] = copy.deepcopy(given[item.name])
        elif item.init and not (item.default is not dataclasses.MISSING and _equal(value, item.default)):
            try:
                spec[item.name] = json.loads(json.dumps(value, allow_nan=False))
            except (TypeError, ValueError):
                objects.append(item.name)
    if spec == given:
        return spec
    try:
        again = build(base, kinds, spec, field="component")
    except (TypeError, ValueError):
        return None
    # Objects are left out if the component makes equal ones by itself.
    return spec if all(_equal(getattr(again, name), getattr(component, name)) for name in objects) else None


def require(condition: bool, field: str, value: Any, allowed: str, remedy: str | None = None) -> None:
    """Raise a ConfigError unless a condition holds.

    Args:
        condition: The condition.
        field: Name of the parameter.
        value: Its value.
        allowed: Allowed values, such as "must be above 0 kg".
        remedy: The remedy.
    """
    if not condition:
        raise ConfigError(allowed, field=field, value=value, remedy=remedy)


def require_instance(kind: type, field: str, value: object) -> None:
    """Raise a ConfigError unless a value is an instance of a class."""
    fits = isinstance(value, kind)
    require(fits, field, value, f"must be a {kind.__name__}", "give an instance, not the class")


def require_positive(field: str, value: object, unit: str) -> None:
    """Raise a ConfigError unless a value is a number above 0, which may be infinite."""
    number = isinstance(value, float | int | np.number) and not isinstance(value, bool)
    require(number and cast("float", value) > 0, field, value, f"must be a number above 0 {unit}")


def require_vector(
    field: str, value: Any, *, unit: str = "", length: int = 3, negative_allowed: bool = True
) -> None:
    """Raise a ConfigError unless a value is a vector of finite numbers."""
    vector = isinstance(value, tuple | list | np.ndarray) and len(value) == length
    finite = vector and all(isinstance(v, float | int | np.number) and math.isfinite(v) for v in value)
    require(finite, field, value, f"must hold {length} finite numbers{f' [{unit}]' if unit else ''}")
    require(negative_allowed or min(value) >= 0, field, value, "must not be negative")


def finite_numbers(field: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a value as finite numbers, broadcast to a shape.

    Args:
        field: Name of the argument.
        value: One or more numbers.
        shape: The shape.
    """
    try:
        numbers = np.broadcast_to(np.asarray(value, dtype=np.float64), shape)
    except (TypeError, ValueError):
        raise ConfigError(
            f"must be numbers that broadcast to shape {shape}", field=field, value=value
        ) from None
    require(bool(np.isfinite(numbers).all()), field, value, "must be finite")
    return numbers


def finite_angles(field: str, value: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return a value as angles [rad], broadcast to a shape.

    Angles beyond two turns are refused, since they are most often in degrees.

    Args:
        field: Name of the argument.
        value: One or more angles [rad].
        shape: The shape.
    """
    allowed = "must be an angle in radians, from -4 pi to 4 pi"
    try:
        angles = finite_numbers(field, value, shape)
    except ConfigError:
        if np.ndim(value):
            raise
        raise ConfigError(allowed, field=field, value=value) from None
    largest = float(np.abs(angles).max(initial=0.0))
    remedy = f"{largest:g} degrees are {math.radians(largest):.4f} rad"
    require(largest <= 4.0 * math.pi, field, value, allowed, remedy)
    return angles


def _find(base: type[T], kinds: Mapping[str, type[T]], name: Any, *, field: str) -> type[T]:
    cls = class_of(base, kinds, name, field=field)
    if name not in kinds and not dataclasses.is_dataclass(cls):
        raise ConfigError(f"must be a dataclass derived from {base.__name__}", field=field, value=name)
    return cls


def class_of(base: type[T], kinds: Mapping[str, type[T]], name: Any, *, field: str) -> type[T]:
    """Return the class that a name in a file means.

    Args:
        base: Class that it is derived from.
        kinds: Classes by name.
        name: Name from `kinds`, or `package.module:Class`.
        field: Dotted path of the name in its file, for error messages.

    Raises:
        ConfigError: If there is none, or it cannot be imported or is not derived from `base`.
    """
    known = ", ".join(sorted(kinds))
    if not isinstance(name, str):
        raise ConfigError(f"must be one of {known}, or package.module:Class", field=field, value=name)
    if name in kinds:
        try:
            return kinds[name]
        except ConfigError as error:
            raise ConfigError(error.problem, field=field, value=name, remedy=error.remedy) from None
    if ":" not in name:
        remedy = " ".join([*did_you_mean(name, kinds), "or package.module:Class"])
        raise ConfigError(f"must be one of {known}", field=field, value=name, remedy=remedy)
    module, _, attribute = name.partition(":")
    try:
        cls = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"cannot be imported: {error}", field=field, value=name) from None
    if not (isinstance(cls, type) and issubclass(cls, base)):
        raise ConfigError(f"must be a class derived from {base.__name__}", field=field, value=name)
    return cls


def _field_values(component: object) -> dict[str, Any]:
    """Return the parameters of a dataclass; lists and mappings, which may be changed later, are copied."""
    values = {item.name: getattr(component, item.name) for item in dataclasses.fields(component) if item.init}  # type: ignore[arg-type]
    return {name: copy.deepcopy(v) if isinstance(v, list | dict) else v for name, v in values.items()}


def _equal(one: object, other: object) -> bool:
    try:
        return one is other or bool(one == other)
    except ValueError:  # Arrays have no truth value.
        return False


@lru_cache(maxsize=256)
def _parameters_model(cls: Any) -> type[BaseModel]:
    """Return a strict model of a dataclass's parameters, nested dataclasses included."""
    fields: dict[str, Any] = {}
    for item in dataclasses.fields(cls):
        if not item.init:
            continue
        kind = _field_type(cls, item)
        if (inner := _dataclass_in(kind)) is not None:
            kind = _parameters_model(inner) | None if inner is not kind else _parameters_model(inner)
        required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
        fields[item.name] = (kind, ... if required else None)
    return create_model(cls.__name__, __base__=StrictModel, **fields)


def _dataclass_in(kind: Any) -> Any:
    """Return the dataclass that a type is or has among its options; None without one."""
    options = [kind, *get_args(kind)]
    return next((o for o in options if isinstance(o, type) and dataclasses.is_dataclass(o)), None)


def annotations_of(cls: type) -> Mapping[str, Any]:
    """Return the annotations of a class and its bases by name, evaluated once.

    Args:
        cls: The class.
    """
    # For mypy, classes of dataclasses cannot be hashed.
    key: Any = cls
    return _annotations(key)


@cache
def _annotations(cls: Any) -> Mapping[str, Any]:
    return MappingProxyType(get_type_hints(cls))


def _field_type(cls: type, item: "dataclasses.Field[Any]") -> Any:
    """Return the type of a field; a string annotation is evaluated in the module of its class."""
    if not isinstance(item.type, str):
        return item.type
    owner = next(c for c in cls.__mro__ if item.name in inspect.get_annotations(c))
    return get_type_hints(
        type("_", (), {"__annotations__": {"t": item.type}, "__module__": owner.__module__})
    )["t"]


def _nested(cls: type, values: dict[str, Any]) -> dict[str, Any]:
    """Return values with the mappings of nested dataclasses replaced by instances."""
    kinds = {item.name: _field_type(cls, item) for item in dataclasses.fields(cls) if item.name in values}
    for key, value in values.items():
        inner = _dataclass_in(kinds[key])
        if inner is not None and isinstance(value, dict):
            try:
                values[key] = inner(**_nested(inner, value))
            except ConfigError as error:
                raise error.within(field=key) from None
    return values


def _plain(value: Any) -> Any:
    return (
        {key: _plain(getattr(value, key)) for key in value.model_fields_set}
        if isinstance(value, BaseModel)
        else value
    )
