"""Variation of a vehicle's parameters between its copies: values by field of its file, given or drawn."""

import copy
from collections.abc import Mapping
from dataclasses import fields as fields_of
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import build, describe
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.base.random_numbers import draw_key, normals, philox, uniform
from pegasus.base.step_math import Word
from pegasus.base.streams import stream
from pegasus.config.distributions import Distribution, UniformSpec
from pegasus.config.scenario import VehicleSpec, parse
from pegasus.core.rotor_air import has_law
from pegasus.dynamics import Downwash
from pegasus.model.airframe import Airframe
from pegasus.model.dynamics_models import MODELS, DynamicsModels, VehicleParameters

Given = Mapping[str, npt.ArrayLike | Mapping[str, Any]]
"""Arrays with one entry per copy, or distributions, by field."""
_OF_BODY = ("mass", "inertia", "center_of_mass", "propeller.inertia")
"""Fields of the file that may vary, besides those of models."""


class Variation:
    """Parameters of N copies of a vehicle that differ from each other.

    Args:
        spec: Description of the vehicle.
        models: Its models.
        airframe: Its parts besides rotors of one kind.
        count: Number of copies N.
        given: Arrays of shape (N, ...) or distributions, by dotted field of the vehicle's file.

    Raises:
        ConfigError: If a field may not vary, or a value is not allowed.
    """

    def __init__(
        self, spec: VehicleSpec, models: DynamicsModels, airframe: Airframe, count: int, given: Given
    ) -> None:
        if not isinstance(given, Mapping):
            raise ConfigError("must give arrays or distributions by field", field="variation", value=given)
        self._spec, self._models, self._count = spec, models, count
        self._airframe = airframe
        self._described: dict[str, dict[str, Any]] = {}
        self._distributions: dict[str, Distribution] = {}
        self.values: dict[str, Array] = {}
        """Values of the copies by field, shape (N, ...); those of distributions once they are drawn."""
        for field, values in given.items():
            try:
                nominal = self._nominal(field)
                if isinstance(values, Mapping):
                    self._distributions[field] = parse(values, Distribution)
                    _draw(self._distributions[field], nominal, Word(0), 0)
                else:
                    self.values[field] = one_per_copy(values, count)
            except ConfigError as error:
                raise error.within(field=f"variation.{field}") from None

    def draw(self, seed: int, name: str) -> bool:
        """Draw the values of distributions; those of a copy depend on seed, vehicle, field and copy only.

        Args:
            seed: Seed of the simulation.
            name: Name of the vehicle.

        Returns:
            Whether there are any.
        """
        for field, distribution in self._distributions.items():
            self.values[field] = drawn_values(
                distribution, self._nominal(field), self._count, seed, name, field
            )
        return bool(self._distributions)

    def parameters(self) -> list[VehicleParameters]:
        """Return the parameters of each copy with the present values; none if no values differ.

        Raises:
            ConfigError: If a value is not allowed.
        """
        return [self._of_copy(k) for k in range(self._count)] if self.values else []

    def _of_copy(self, k: int) -> VehicleParameters:
        content = {name: getattr(self._spec, name) for name in self._spec.model_fields_set}
        described: dict[str, dict[str, Any]] = {}
        for field, values in self.values.items():
            section, _, rest = field.partition(".")
            value = values[k].tolist()
            if section in MODELS:
                _set(described.setdefault(section, copy.deepcopy(self._described[section])), rest, value)
            elif rest:
                content[section] = {**getattr(self._spec, section).model_dump(), rest: value}
            else:
                content[section] = value
        try:
            spec = parse(content, VehicleSpec) if any(f in self.values for f in _OF_BODY) else self._spec
            models = {name: getattr(self._models, name) for name in MODELS}
            for section, mapping in described.items():
                kind, registry = MODELS[section]
                models[section] = build(kind, registry, mapping, field=section)
        except ConfigError as error:
            raise of_copy(error.within(field="variation"), k) from None
        return VehicleParameters.of(spec, DynamicsModels(**models), self._airframe)

    def _nominal(self, field: str) -> Any:
        """Return the value of a field that is the same for all copies.

        Raises:
            ConfigError: If the field may not vary.
        """
        if field in _OF_BODY:
            return self._spec.propeller.inertia if "." in field else getattr(self._spec, field)
        section, _, rest = field.partition(".")
        if section not in MODELS or not rest:
            known = [*_OF_BODY, *(f"{name}.<parameter>" for name in MODELS)]
            remedy = " ".join([*did_you_mean(field, known), f"these may: {', '.join(known)}"])
            raise ConfigError("cannot differ between the copies of a vehicle", remedy=remedy)
        value = getattr(self._models, section)
        if value is None:
            raise ConfigError(f"the vehicle has no {section}", remedy=f"add {section} to its file")
        if isinstance(value, Downwash) and not has_law(value):
            raise ConfigError(
                f"{type(value).__name__} is a model in NumPy, whose parameters are those of all copies",
                remedy="use one vehicle for each value",
            )
        if section not in self._described:
            kind, registry = MODELS[section]
            mapping = describe(kind, registry, value)
            if mapping is None:
                raise ConfigError(
                    f"{type(value).__name__} cannot be made from a mapping of its parameters",
                    remedy="define the class at the top of a module that can be imported",
                )
            self._described[section] = mapping
        for name in rest.split("."):
            names = [item.name for item in fields_of(value) if item.init]
            if name not in names:
                remedy = " ".join([*did_you_mean(name, names), f"there are {', '.join(names)}"])
                raise ConfigError(f"{type(value).__name__} has no parameter {name}", remedy=remedy)
            value = getattr(value, name)
        return value


def drawn_values(
    distribution: Distribution, nominal: Any, count: int, seed: int, name: str, field: str
) -> Array:
    """Return values of N copies, which depend on seed, vehicle, field and copy only, shape (N, ...).

    Args:
        distribution: Their distribution.
        nominal: Value of the file.
        count: Number of copies N.
        seed: Seed of the simulation.
        name: Name of the vehicle.
        field: Name of the field.
    """
    key = Word(draw_key(stream(seed, name, "variation", field)))
    return _read_only(np.array([_draw(distribution, nominal, key, k) for k in range(count)]))


def of_copy(error: ConfigError, k: int) -> ConfigError:
    """Return an error with the copy that it is about.

    Args:
        error: The error.
        k: Index of the copy.
    """
    return error.about(f"{error.field}, copy {k}")


def one_per_copy(values: npt.ArrayLike, count: int) -> Array:
    """Return values as an array with one entry per copy, which is only read."""
    try:
        array = np.array(values)
    except ValueError:
        array = np.zeros((), dtype=object)
    if array.dtype.kind not in "iuf" or not array.ndim or len(array) != count:
        raise ConfigError(
            f"must be numbers, one entry for each of the {count} copies, or a distribution",
            value=f"array of shape {array.shape}" if array.dtype.kind in "iuf" and array.ndim else values,
            remedy="such as {normal: {mean: 1.0, std: 0.05, relative: true}}",
        )
    return _read_only(array)


def _read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _draw(distribution: Distribution, nominal: Any, key: Word, k: int) -> Array:
    """Return the value of copy k.

    A relative value is that of the file times one number; otherwise each number of the field is drawn by
    itself.
    """
    given = distribution.given
    is_uniform = isinstance(given, UniformSpec)
    first, second = (given.low, given.high) if isinstance(given, UniformSpec) else (given.mean, given.std)
    shape = np.broadcast(first, second).shape if nominal is None else np.shape(nominal)
    if given.relative:
        if nominal is None:
            raise ConfigError("the file has no value to multiply", remedy="give absolute values")
        shape = ()
    try:
        low, high = (np.broadcast_to(np.asarray(v, dtype=np.float64), shape) for v in (first, second))
    except ValueError:
        numbers = "one number" if not shape else f"one number or {' x '.join(map(str, shape))}"
        raise ConfigError(f"each parameter must be {numbers}", value=first) from None
    if is_uniform and (low > high).any():
        raise ConfigError("must not be above high", field="uniform.low", value=first)
    blocks = range((int(np.prod(shape)) + 3) // 4)
    if is_uniform:
        words = [word for b in blocks for word in philox(key, Word(0), Word(k), Word(b), Word(0))]
        numbers_drawn = [uniform(word) for word in words]
    else:
        numbers_drawn = [number for b in blocks for number in normals(key, k, 0, b)]
    drawn = np.array(numbers_drawn[: int(np.prod(shape))]).reshape(shape)
    value: Array = low + (high - low) * drawn if is_uniform else low + high * drawn
    return value * np.asarray(nominal, dtype=np.float64) if given.relative else value


def _set(mapping: dict[str, Any], path: str, value: Any) -> None:
    """Set the value at a dotted path of nested mappings."""
    *outer, last = path.split(".")
    for name in outer:
        mapping = mapping.setdefault(name, {})
    mapping[last] = value
