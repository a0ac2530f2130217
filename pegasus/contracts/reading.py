"""Readings: what a sensor gives at one instant."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

from pegasus.base.arrays import Array
from pegasus.base.field_docs import fields_text


@dataclass(frozen=True, eq=False)
class Reading:
    """Output of a sensor at one instant; subclasses add arrays with the leading axis N."""

    saved_as: ClassVar[str] = "attributes"

    stamp: float
    """Simulation time of the reading [s]."""

    def __init_subclass__(cls) -> None:
        # Otherwise each subclass would get the method of dataclasses, which prints whole arrays.
        if "__repr__" not in vars(cls):
            setattr(cls, "__repr__", Reading.__repr__)  # noqa: B010

    def __repr__(self) -> str:
        """Return one line: the values with their units."""
        return f"{type(self).__name__}({fields_text(self)})"


@runtime_checkable
class PitotReading(Protocol):
    """Reading of an airspeed sensor, as controllers use it."""

    differential_pressure: Array
    """Total minus static pressure [Pa], shape (N,)."""


def changed_reading(reading: Reading, fields: Mapping[str, Any]) -> Reading:
    """Return a reading with other values of fields.

    Args:
        reading: The reading.
        fields: Values by field.
    """
    return replace(reading, **fields)
