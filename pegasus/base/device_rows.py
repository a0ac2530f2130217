"""Columns of rows on a GPU, in arrays of Warp: copies of rows, views and transfers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp

from pegasus.base.arrays import Array, IntArray

_KINDS: dict[Any, Any] = {
    np.dtype(np.float32): wp.float32, np.dtype(np.float64): wp.float64,
    np.dtype(np.int32): wp.int32, np.dtype(np.uint64): wp.uint64,
}  # fmt: skip


@wp.kernel
def _take(source: wp.array2d(dtype=Any), rows: wp.array(dtype=wp.int32), out: wp.array2d(dtype=Any)):  # type: ignore
    number, row = wp.tid()  # type: ignore[misc]
    out[number, row] = source[number, rows[row]]


@wp.kernel
def _put(source: wp.array2d(dtype=Any), rows: wp.array(dtype=wp.int32), out: wp.array2d(dtype=Any)):  # type: ignore
    number, row = wp.tid()  # type: ignore[misc]
    out[number, rows[row]] = source[number, row]


class DeviceRows:
    """Columns of shape (width, P) on a device, one number of all rows side by side.

    Args:
        device: Name of the device, as Warp knows it.
    """

    def __init__(self, device: str) -> None:
        self._device = device

    def sent(self, columns: Mapping[str, Array]) -> dict[str, Any]:
        """Return copies of arrays on the device."""
        return {name: wp.array(values, device=self._device) for name, values in columns.items()}

    def view(self, array: Any, width: int, count: int) -> Any:
        """Return the rows of a column, live: shape (N, width), or (N,) of a column with one number."""
        along, apart = array.strides[1], array.strides[0]
        shape, strides = ((count, width), (along, apart)) if width else ((count,), (along,))
        rows: Any = wp.array(
            ptr=array.ptr, dtype=array.dtype, shape=shape, strides=strides, device=self._device, copy=False
        )
        # It keeps the memory alive.
        rows._ref = array
        return rows

    def taken(self, array: Any, rows: IntArray, room: int) -> Any:
        """Return some rows of a column as one of `room` rows; those behind them repeat the last one."""
        places = np.append(rows, np.repeat(rows[-1:], room - len(rows)))
        made = wp.empty((array.shape[0], room), dtype=array.dtype, device=self._device)
        wp.launch(_take, made.shape, [array, self._places(places)], [made], device=self._device)
        return made

    def put(self, array: Any, rows: IntArray | slice, values: Any) -> None:
        """Write rows of a column.

        Args:
            array: The column.
            rows: Numbers of the K rows, one or more, or a slice of all.
            values: Their values, on the device or not, shape (width, K).
        """
        given = values if isinstance(values, wp.array) else self._sent(values, array)
        places = rows if isinstance(rows, np.ndarray) else np.arange(given.shape[1])
        wp.launch(_put, given.shape, [given, self._places(places)], [array], device=self._device)

    def copied(self, array: Any, count: int) -> Any:
        """Return a copy of the first rows of a column."""
        return self.taken(array, np.arange(count), count)

    def assign(self, view: Any, values: Any) -> None:
        """Write all rows of a view.

        Args:
            view: The view, shape (N, width).
            values: Array of NumPy, or of another library on this device (DLPack), of that shape.
        """
        given: Any = self._sent(values, view) if isinstance(values, np.ndarray) else wp.from_dlpack(values)
        wp.copy(view, given)

    def _sent(self, values: Array, like: Any) -> Any:
        kind = next(kind for kind, own in _KINDS.items() if own is like.dtype)
        return wp.array(np.ascontiguousarray(values, dtype=kind), device=self._device)

    def _places(self, rows: IntArray) -> Any:
        return wp.array(rows.astype(np.int32), device=self._device)
