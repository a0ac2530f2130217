"""Rows of arrays, copied at each step and evaluated as blocks."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt


class Rows:
    """Copies of the same arrays at successive instants, as one array of each with the instants first.

    Args:
        arrays: Arrays by name; those of later rows have the same types and shapes.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._layout = np.dtype([(name, array.dtype, array.shape) for name, array in arrays.items()])
        self.rows: list[bytes] = []
        """Arrays of each row by `packed`."""

    def block(self) -> dict[str, npt.NDArray[Any]]:
        """Return the contiguous arrays of all rows by name, shape (T, ...)."""
        table: npt.NDArray[np.void] = np.ndarray(len(self.rows), self._layout, b"".join(self.rows))
        return {name: np.ascontiguousarray(table[name]) for name in self._layout.names or ()}


def packed(arrays: Iterable[npt.NDArray[Any]]) -> bytes:
    """Return copies of arrays, one after the other and in row-major order.

    Args:
        arrays: The arrays.
    """
    try:
        # One call for all arrays: a NumPy function takes longer than the copy of a small array.
        return b"".join(arrays)  # type: ignore[arg-type]
    except TypeError:  # An array that is not contiguous.
        return b"".join([array.tobytes() for array in arrays])
