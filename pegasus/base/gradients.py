"""Derivatives of a loss by the arrays and parameters of compiled step functions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pegasus.base.arrays import Array


class Gradients:
    """Derivatives of one number, the loss, by the arrays and parameters of rows.

    Rows that are made with the same object and share an array (or a sequence of parameters) share the
    derivatives by it, so that the output of one step is the input of the next.
    """

    def __init__(self) -> None:
        self._shared: dict[Any, tuple[Any, Any, list[Any]]] = {}

    def of(self, values: Any) -> Any:
        """Return the derivatives by an array or by parameters, as live views.

        Before `Launch.backward` the derivatives by the last outputs are written into them.

        Args:
            values: Array of floats, or sequence of parameter structures, that rows were made of.

        Returns:
            Array of the same shape; for parameters the arrays by field, one row per structure (for tables of
            numbers a list with an array per structure).

        Raises:
            KeyError: If no rows were made of it, or it has no derivatives.
        """
        if _key(values) not in self._shared:
            raise KeyError("no rows with these gradients were made of this array or sequence")
        _, array, structures = self._shared[_key(values)]
        if not array.requires_grad:
            raise KeyError("only arrays of float64 have derivatives")
        if not structures:
            return array.grad.numpy()
        by_field: dict[str, Any] = {}
        numbers = array.grad.numpy()
        for name in numbers.dtype.names:
            tables = [getattr(structure, name) for structure in structures]
            if hasattr(tables[0], "grad"):
                by_field[name] = [table.grad.numpy() for table in tables]
            elif numbers[name].dtype == np.float64:
                by_field[name] = numbers[name]
        return by_field

    def clear(self) -> None:
        """Set all derivatives to 0."""
        for values, array, _ in self._shared.values():
            if array.requires_grad:
                derivatives = self.of(values)
                arrays = derivatives.values() if isinstance(derivatives, dict) else [derivatives]
                for part in arrays:
                    for table in part if isinstance(part, list) else [part]:
                        table[...] = 0.0

    def shared(self, values: Any, make: Callable[[], tuple[Any, list[Any]]]) -> tuple[Any, list[Any]]:
        """Return what was made of an array or of parameters, made if it is new.

        Args:
            values: The array, or the sequence of parameter structures.
            make: Function that makes it.
        """
        key = _key(values)
        if key not in self._shared:
            self._shared[key] = (values, *make())
        _, array, structures = self._shared[key]
        return array, structures


def _key(values: Any) -> Any:
    """Return what tells whether two arrays are the same memory, or two sequences the same object."""
    if isinstance(values, np.ndarray):
        array: Array = values
        return array.ctypes.data, array.shape
    return id(values)
