"""Parameters of controllers that differ between the copies of a vehicle."""

import copy
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Generic, TypeVar, get_origin

import numpy as np
import numpy.typing as npt

from pegasus.base.components import annotations_of, require
from pegasus.base.errors import ConfigError

T = TypeVar("T")

if TYPE_CHECKING:

    class PerCopy(Generic[T]):
        """Type of a parameter: one value for all copies, an array of rows, or None to derive it."""

        def __get__(self, owner: object, kind: object) -> T: ...
        def __set__(self, owner: object, value: T | npt.ArrayLike | None) -> None: ...

else:

    class PerCopy:
        """Type of the value of each copy, for those who read the annotations."""

        def __class_getitem__(cls, kind: Any) -> Any:
            return kind


Derived = PerCopy
DERIVED: Any = None
"""Default of a field of type `Derived`."""


def each(value: Any) -> Any:
    """Return the value that each copy has by default, as the default of a field of type `PerCopy`."""
    return value


def copies_of(controller: Any, count: int | None = None) -> list[Any]:
    """Return copies of a controller as it is now: one for each copy of the vehicle if some parameters differ.

    A number differs if it has one dimension, a vector if it has two, the field `trajectory` if it is a list.

    Args:
        controller: The controller, a dataclass.
        count: Number of copies of the vehicle, if known.

    Raises:
        ConfigError: If a field has values for another number of copies, or two for different numbers, or if
            parameters of a copy are not allowed.
    """
    found = {field.name: _rows(controller, field) for field in fields(controller) if field.init}
    values = {name: rows for name, rows in found.items() if rows}
    first, needed = next(((name, len(rows)) for name, rows in values.items()), ("", 1))
    if count is not None and values:
        first, needed = "the vehicle", count
    for name, rows in values.items():
        allowed = f"must be {needed} as of {first}: one for each copy"
        require(len(rows) == needed, f"number of values of {name}", len(rows), allowed)
    made = [copy.copy(controller) for _ in range(needed)]
    for k, one in enumerate(made):
        for name, rows in values.items():
            setattr(one, name, rows[k])
        try:
            one.check()
        except ConfigError as error:
            raise error if needed == 1 else error.about(f"{error.field} of copy {k}") from None
    return made


def _rows(controller: Any, field: Any) -> list[Any]:
    """Return the values of a field for each copy; none if it has one for all."""
    value = getattr(controller, field.name)
    if field.name == "trajectory":
        return value if isinstance(value, list) else []
    hint = annotations_of(type(controller))[field.name]
    vector = get_origin(hint) is tuple
    if value is field.default or not (vector or hint in (float, int)):
        return []
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        # The check of the parameters says what is allowed.
        return []
    if numbers.ndim != 1 + vector:
        return []
    rows: list[Any] = numbers.astype(int if hint is int else float).tolist()
    return [tuple(row) for row in rows] if vector else rows
