"""Build a component (motor, thrust curve, drag, sensor, wind, ...) from a mapping in a YAML file.

A component is a dataclass whose fields are its parameters. A mapping names it by `model` and gives the
parameters; `model: package.module:Class` names a user's own.
"""

import copy
import dataclasses
import importlib
import inspect
import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, cast, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from pegasus.errors import ConfigError

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
    model = _parameters_model(cls)
    try:
        validated = model(**parameters)
    except ValidationError as error:
        raise config_error(error, model).within(field=field) from None
    values = {key: _plain(getattr(validated, key)) for key in validated.model_fields_set}
    try:
        made = cls(**_nested(cls, values))
    except ConfigError as error:
        raise error.within(field=field) from None
    # Past the dataclass, which may be frozen: what it was built from describes it better than its fields.
    object.__setattr__(made, _BUILT_FROM, copy.deepcopy(dict(spec)))
    return made


def describe(base: type[T], kinds: Mapping[str, type[T]], component: T) -> dict[str, Any] | None:
    """Return the mapping that a component can be built from again; None where YAML cannot describe it.

    Args:
        base: Class that every component of this sort derives from.
        kinds: Shipped components by model name.
        component: The component.
    """
    if (given := getattr(component, _BUILT_FROM, None)) is not None:
        return dict(copy.deepcopy(given))
    cls = type(component)
    shipped = next((name for name, known in kinds.items() if known is cls), None)
    spec: dict[str, Any] = {"model": shipped or f"{cls.__module__}:{cls.__qualname__}"}
    objects = []
    for item in dataclasses.fields(component) if dataclasses.is_dataclass(component) else ():
        value = getattr(component, item.name)
        if item.init and not (item.default is not dataclasses.MISSING and value == item.default):
            try:
                spec[item.name] = json.loads(json.dumps(value, allow_nan=False))
            except (TypeError, ValueError):
                objects.append(item.name)
    try:
        again = build(base, kinds, spec, field="component")
        # Objects are left out where the component makes equal ones by itself.
        exact = all(bool(getattr(again, name) == getattr(component, name)) for name in objects)
    except (TypeError, ValueError):
        return None
    return spec if exact else None


def config_error(error: ValidationError, model: type[BaseModel]) -> ConfigError:
    """Return the first error of a validation as one line.

    Args:
        error: What pydantic reported.
        model: Model that was validated; its fields are listed when one is unknown.
    """
    # A misspelt field is also a missing one: the spelling is what to mend.
    first = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    path = ".".join(str(part) for part in first["loc"] if not str(part).startswith("["))
    more = error.error_count() - 1
    problem = first["msg"][:1].lower() + first["msg"][1:]
    remedy = f"{more} more error{'s' if more > 1 else ''} in the same place" if more else None
    if first["type"] == "extra_forbidden":
        allowed = ", ".join(sorted(_fields_at(model, first["loc"][:-1])))
        return ConfigError(
            "unknown field",
            field=path,
            remedy=f"allowed here: {allowed}" if allowed else remedy,
            quoted=True,
        )
    if first["type"] == "missing":
        return ConfigError("required field is missing", field=path, remedy=remedy)
    if isinstance(cause := first.get("ctx", {}).get("error"), ConfigError):
        return cause.within(field=path)
    remedy = remedy or "correct the value"
    return ConfigError(problem.removeprefix("value error, "), field=path, value=first["input"], remedy=remedy)


def require(condition: bool, field: str, value: Any, allowed: str, remedy: str | None = None) -> None:
    """Raise a ConfigError unless a condition holds.

    Args:
        condition: What must hold.
        field: Name of the parameter.
        value: Its value.
        allowed: What is allowed, such as "must be above 0 kg".
        remedy: What to do about it.
    """
    if not condition:
        raise ConfigError(allowed, field=field, value=value, remedy=remedy)


def _find(base: type[T], kinds: Mapping[str, type[T]], name: Any, *, field: str) -> type[T]:
    known = ", ".join(sorted(kinds))
    if not isinstance(name, str):
        raise ConfigError(f"must be one of {known}, or package.module:Class", field=field, value=name)
    if name in kinds:
        return kinds[name]
    if ":" not in name:
        raise ConfigError(
            f"must be one of {known}", field=field, value=name, remedy="or package.module:Class"
        )
    module, _, attribute = name.partition(":")
    try:
        cls = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"cannot be imported: {error}", field=field, value=name) from None
    if not (isinstance(cls, type) and issubclass(cls, base) and dataclasses.is_dataclass(cls)):
        raise ConfigError(f"must be a dataclass derived from {base.__name__}", field=field, value=name)
    return cast("type[T]", cls)


def _parameters_model(cls: type) -> type[BaseModel]:
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
    """Return the dataclass that a type is, or is an option of; None where there is none."""
    options = [kind, *get_args(kind)]
    return next((o for o in options if isinstance(o, type) and dataclasses.is_dataclass(o)), None)


def _field_type(cls: type, item: "dataclasses.Field[Any]") -> Any:
    """Return the type of a field; one written as a string is looked up where its class was defined."""
    if not isinstance(item.type, str):
        return item.type
    owner = next(c for c in cls.__mro__ if item.name in inspect.get_annotations(c))
    return get_type_hints(
        type("_", (), {"__annotations__": {"t": item.type}, "__module__": owner.__module__})
    )["t"]


def _nested(cls: type, values: dict[str, Any]) -> dict[str, Any]:
    """Turn the mappings of nested dataclasses into those dataclasses."""
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


def _fields_at(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Return the names of the fields that are allowed at a place in a model."""
    for part in path:
        if part in model.model_fields:
            inner = _model_in(model.model_fields[str(part)].annotation)
            if inner is None:
                return []
            model = inner
    return list(model.model_fields)


def _model_in(kind: Any) -> type[BaseModel] | None:
    """Return the model that a type is or holds, as an option or as the items of a list."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind
    return next((model for inner in get_args(kind) if (model := _model_in(inner)) is not None), None)
