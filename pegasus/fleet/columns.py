"""Columns of a fleet: one contiguous array each, all rows of its first number, then those of the second."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pegasus.base.arrays import Array, IntArray, empty_lines
from pegasus.base.tracing import Column

ROOM = 16
"""Rows of an array are a multiple of this number: whole lanes, and whole lines of a cache."""
_KINDS: dict[str, Any] = {"integer": np.int32, "word": np.uint64}


def padded(count: int) -> int:
    """Return the number of rows of arrays for `count` of them."""
    return -(-count // ROOM) * ROOM


def planar(values: Any, width: int, count: int, kind: Any) -> Array:
    """Return a column with values of rows; rows behind the last one have those of the last.

    Args:
        values: Values that can be broadcast to (N, width).
        width: Numbers of a row; 0 for one.
        count: Number of rows N.
        kind: Type of the numbers.
    """
    array = empty_lines((max(width, 1), padded(count)), kind)
    rows = np.broadcast_to(np.asarray(values, dtype=kind).reshape(-1, max(width, 1)), (count, max(width, 1)))
    array[:, :count] = rows.T
    array[:, count:] = rows[-1:].T
    return array


def view(array: Array, width: int, count: int) -> Array:
    """Return the rows of a column, live: shape (N, width), or (N,) of a column with one number."""
    rows: Array = array[:, :count].T
    return rows if width else rows[:, 0]


class HostRows:
    """Columns in arrays of NumPy; on a GPU they are `pegasus.base.device_rows.DeviceRows`."""

    def sent(self, columns: Mapping[str, Array]) -> dict[str, Array]:
        """Return arrays as they are."""
        return dict(columns)

    def view(self, array: Array, width: int, count: int) -> Array:
        """Return the rows of a column, live; see `view`."""
        return view(array, width, count)

    def taken(self, array: Array, rows: IntArray, room: int) -> Array:
        """Return some rows of a column as one of `room` rows; those behind them repeat the last one."""
        made = empty_lines((len(array), room), array.dtype)
        made[:, : len(rows)] = array[:, rows]
        made[:, len(rows) :] = array[:, rows[-1:]]
        return made

    def put(self, array: Array, rows: IntArray | slice, values: Array) -> None:
        """Write values of shape (width, K) to K rows of a column."""
        array[:, rows] = values

    def copied(self, array: Array, count: int) -> Array:
        """Return a copy of the first rows of a column."""
        return array[:, :count].copy()

    def assign(self, rows: Array, values: Array) -> None:
        """Write all rows of a view."""
        rows[...] = values


def kind_of(column: Column, real: Any) -> Any:
    """Return the type of the numbers of a column."""
    return _KINDS.get(column.kind, real)


def columns_of(
    columns: Iterable[Column], values: Mapping[str, Any], count: int, real: Any
) -> dict[str, Array]:
    """Return the columns of a program with one value per row.

    Args:
        columns: Inputs and outputs; the first one of a name counts.
        values: Values of rows by name, (N, ...) or of one row; zeros for others.
        count: Number of rows N.
        real: Type of real numbers.
    """
    found: dict[str, Array] = {}
    for c in columns:
        if c.name not in found:
            given = values.get(c.name, np.zeros((1, max(c.width, 1))))
            found[c.name] = planar(given, c.width, count, kind_of(c, real))
    return found
