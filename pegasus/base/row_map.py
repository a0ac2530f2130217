"""Step functions applied to the rows of arrays."""

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import numpy as np

from pegasus.base import tracing
from pegasus.base.arrays import Array
from pegasus.base.step_math import Vec3


class RowMap:
    """Step function of each row of arrays: by Python for few rows, compiled for many, with the same bits.

    Without Warp all rows are run by Python.

    Args:
        function: Step function `function(parameters, *columns, *values)` that returns a number, a vector, or
            a tuple of them. Columns are numbers or vectors with one value for each row.
        values: Number of arguments after the columns, numbers that are the same for all rows.
        few: Largest number of rows run by Python.
    """

    def __init__(self, function: Callable[..., Any], *, values: int = 0, few: int = 2) -> None:
        self._function, self._few = function, few
        self._inputs, self._outputs, self._single = _signature(function, values)
        self._arguments = function, values, few
        self._lock = threading.Lock()
        self._bound: tuple[Any, int] | None = None
        self._program: Any = None
        self._numbers: dict[str, Array] = {}

    def __getstate__(self) -> Any:
        return self._arguments

    def __setstate__(self, arguments: Any) -> None:
        function, values, few = arguments
        self.__init__(function, values=values, few=few)  # type: ignore[misc]

    def __call__(self, parameters: Any, *arguments: Any) -> Any:
        """Return the results of all rows: an array, or a tuple of arrays.

        Args:
            parameters: Structure of parameters.
            arguments: Arrays of shape (...) for numbers and (..., 3) for vectors, then the values.
        """
        inputs = self._inputs
        first = np.shape(arguments[0])
        shape = first[:-1] if inputs[0] is Vec3 else first
        columns = [_flat(a, kind) for a, kind in zip(arguments, inputs, strict=False)]
        compiled = len(columns[0]) > self._few and compiler() is not None
        results = (self._compiled if compiled else self._python)(
            parameters, columns, arguments[len(inputs) :]
        )
        if len(shape) != 1:
            pairs = zip(results, self._outputs, strict=True)
            results = [a.reshape((*shape, 3) if kind is Vec3 else shape) for a, kind in pairs]
        return results[0] if self._single else tuple(results)

    def _python(self, parameters: Any, columns: Sequence[Array], values: Sequence[float]) -> list[Array]:
        lists = [column.tolist() for column in columns]
        for k, kind in enumerate(self._inputs):
            if kind is Vec3:
                lists[k] = [Vec3(*row) for row in lists[k]]
        results: Any = [self._function(parameters, *row, *values) for row in zip(*lists, strict=True)]
        if self._single:
            return [_array(results, self._outputs[0])]
        each = zip(*results, strict=True) if results else [()] * len(self._outputs)
        return [_array(result, kind) for result, kind in zip(each, self._outputs, strict=True)]

    def _compiled(self, parameters: Any, columns: Sequence[Array], values: Sequence[float]) -> list[Array]:
        count = len(columns[0])
        with self._lock:
            if self._bound is None or self._bound[0] is not parameters or self._bound[1] != count:
                self._bind(parameters, count)
            for buffer, given in zip(self._buffers, (*columns, *map(np.float64, values)), strict=False):
                buffer[...] = given
            self._launch()
            return [buffer.copy() for buffer in self._buffers[len(columns) + len(values) :]]

    def _bind(self, parameters: Any, count: int) -> None:
        columns = [tracing.column(f"column_{k}", kind) for k, kind in enumerate(self._inputs)]
        values = [tracing.uniform(f"value_{k}", 0.0) for k in range(self._arguments[1])]
        results = tuple(f"result_{k}" for k in range(len(self._outputs)))
        given = tracing.uniform("parameters", parameters)
        program = compiler().program_of(self._function, given, *columns, *values, outputs=results)
        numbers = tracing.uniform_values(given)
        if self._program is program and self._bound is not None and self._bound[1] == count:
            # Other numbers of the same structure.
            for name, array in self._numbers.items():
                array[...] = numbers[name]
        else:
            shapes = [(count, 3) if kind is Vec3 else (count,) for kind in (*self._inputs, *self._outputs)]
            shapes[len(columns) : len(columns)] = [(1,)] * len(values)
            self._buffers = [np.zeros(shape) for shape in shapes]
            names = (*(a.name for a in (*columns, *values)), *results)
            arrays = {**numbers, **dict(zip(names, self._buffers, strict=True))}
            self._program, self._numbers = program, numbers
            self._launch = program.launch(arrays, count, apart=False)
        self._bound = parameters, count


class StepModel:
    """Model whose formula is a step function, or whose array methods are overridden.

    A subclass either names its step function in `law`, or overrides the array methods in NumPy.
    """

    law: ClassVar[Callable[..., Any] | None] = None
    """Step function `law(parameters, ...)`; None for a model in NumPy."""
    _values: ClassVar[int] = 0
    _few: ClassVar[int] = 2

    @property
    def parameters(self) -> Any:
        """Return the parameters of `law`: a dataclass of numbers, triples and tables."""
        return self

    @property
    def step_function(self) -> Callable[..., Any] | None:
        """Return `law`."""
        return type(self).law

    @functools.cached_property
    def _rows(self) -> RowMap:
        function = self.step_function
        if function is None:
            kind = type(self)
            raise TypeError(
                f"{kind.__name__} has no formula; set its law, or override the methods of its base"
            )
        return RowMap(function, values=self._values, few=self._few)


def _signature(function: Callable[..., Any], values: int) -> tuple[list[Any], list[Any], bool]:
    """Return the types of the columns and of the results, and whether there is only one result."""
    hints = get_type_hints(function)
    names = list(inspect.signature(function).parameters)
    result = hints["return"]
    single = get_origin(result) is not tuple
    columns = [hints[name] for name in names[1 : len(names) - values]]
    return columns, [result] if single else list(get_args(result)), single


def _flat(column: Any, kind: Any) -> Array:
    values: Array = np.asarray(column, dtype=np.float64)
    if kind is Vec3:
        return values if values.ndim == 2 else values.reshape(-1, 3)
    return values if values.ndim == 1 else values.reshape(-1)


def _array(results: Sequence[Any], kind: Any) -> Array:
    if kind is Vec3:
        return np.array([(v.x, v.y, v.z) for v in results], dtype=np.float64).reshape(-1, 3)
    return np.array(results, dtype=np.float64)


@functools.cache
def compiler() -> Any:
    """Return the module that compiles traces; None without Warp."""
    try:
        from pegasus.base.tracing import launches as module
    except ModuleNotFoundError as error:
        if error.name != "warp":
            raise
        return None
    return module
