"""Traces: functions as straight lines of operations, with named columns as inputs and outputs."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, get_type_hints

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.step_types import Mat33, Quat, Vec3, Word
from pegasus.base.tracing.functions import Runner
from pegasus.base.tracing.symbols import INTEGER, REAL, WORD, Graph, InputTable, Symbol

_SIZES: dict[Any, int] = {float: 0, int: 0, Word: 0, Vec3: 3, Quat: 4, Mat33: 9}
_KINDS: dict[Any, str] = {int: INTEGER, Word: WORD}
FEWEST_ABREAST = 8
"""Number of rows from which on they are run side by side; code of single rows is sooner compiled."""
PADDING = 7
"""Numbers beyond the end of a table that a read of a row may touch."""


@dataclass(frozen=True)
class Argument:
    """Argument of a traced function that is an input: one value per row, or one for all."""

    name: str
    kind: Any
    width: int
    uniform: bool
    value: Any = None


def column(name: str, kind: Any = float, width: int = 0) -> Argument:
    """Return an argument with one value per row.

    Args:
        name: Name of the column.
        kind: `Real`, `int`, `Word`, `Vec3`, `Quat`, or a dataclass of them, whose fields are columns
            `name.field`.
        width: Number of values per row, passed as a tuple; 0 for one value.
    """
    return Argument(name, kind, width, uniform=False)


def uniform(name: str, value: Any) -> Argument:
    """Return an argument that is the same for all rows and may be changed without compiling anew.

    Numbers of a dataclass are inputs; whole numbers, texts and functions among them are literals, since they
    choose the structure of the code, as do fields with the metadata `literal`. A tuple of more than four
    numbers and an array are tables.

    Args:
        name: Name of the input; the fields of a dataclass are inputs `name.field`, parts of a tuple `name.0`.
        value: Its value now, from which the structure is taken.
    """
    return Argument(name, type(value), 0, uniform=True, value=value)


@dataclass(frozen=True)
class Column:
    """Input or output of a trace: an array of shape (N,) or (N, width); (1,) or (width,) if uniform.

    Its numbers are of the program's precision, int32 of kind `integer`, uint64 of kind `word`.
    """

    name: str
    width: int
    """Number of values per row; 0 for one value."""
    uniform: bool = False
    table: bool = False
    """Whether it is a table of numbers that code reads by an index."""
    kind: str = REAL
    """`real`, `integer` or `word`; an output has that of the input whose next value it is, else `real`."""

    @property
    def size(self) -> int:
        """Number of values per row."""
        return max(self.width, 1)


class Trace:
    """Operations of a function from named inputs to named outputs.

    Args:
        graph: Graph of the operations; inputs have the operation `input` with name and component.
        inputs: Columns of the inputs.
        outputs: Values of each output, and their columns.
        title: Name of the function.
    """

    def __init__(
        self,
        graph: Graph,
        inputs: Sequence[Column],
        outputs: Sequence[tuple[Column, tuple[Any, ...]]],
        title: str,
    ) -> None:
        self.graph, self.title = graph, title
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)

    @cached_property
    def operations(self) -> tuple[Symbol, ...]:
        """Operations that the outputs need, in order, without the inputs."""
        used: set[int] = set()
        waiting = [value for _, values in self.outputs for value in values if isinstance(value, Symbol)]
        while waiting:
            symbol = waiting.pop()
            if symbol.place not in used:
                used.add(symbol.place)
                waiting += [a for a in symbol.args if isinstance(a, Symbol)]
        return tuple(s for s in self.graph.symbols if s.place in used and s.op != "input")

    @cached_property
    def key(self) -> str:
        """Hash of the operations, constants and columns."""
        places = {s.place: k for k, s in enumerate(self.operations)}

        def text(value: Any) -> str:
            if not isinstance(value, Symbol):
                return repr(value)
            return f"{value.args}" if value.op == "input" else f"%{places[value.place]}"

        lines = [f"{s.op}:{s.kind} {' '.join(map(text, s.args))}" for s in self.operations]
        lines += [f"{c} = {' '.join(map(text, values))}" for c, values in self.outputs]
        lines += [repr(self.inputs), repr(self.graph.tables)]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def trace(function: Callable[..., Any], *arguments: Any, outputs: Sequence[str] = ()) -> Trace:
    """Return the trace of a function of numbers and small vectors.

    Args:
        function: The function: any Python whose conditions on rows choose among numbers, and whose loops
            have lengths that do not differ between rows.
        arguments: Its arguments: `column` and `uniform` for inputs, anything else as it stands. Numbers in
            it are literals of the code.
        outputs: Names of the results where the function returns a tuple; `result` for a single one. An
            output with the name of an input is its next value.

    Raises:
        TraceError: If the function cannot be traced; the message names file and line.
    """
    graph = Graph()
    inputs: list[Column] = []
    values = [_input(graph, a, inputs) if isinstance(a, Argument) else a for a in arguments]
    result = Runner(graph).call(function, *values)
    many = isinstance(result, tuple)
    names = list(outputs) or ([f"result_{k}" for k in range(len(result))] if many else ["result"])
    results = [_output(name, part) for name, part in zip(names, result if many else [result], strict=True)]
    kinds = {c.name: c.kind for c in inputs}
    flat = [(replace(c, kind=kinds.get(c.name, REAL)), part) for pairs in results for c, part in pairs]
    return Trace(graph, inputs, flat, getattr(function, "__name__", type(function).__name__))


def _input(graph: Graph, argument: Argument, inputs: list[Column]) -> Any:
    """Return the symbols of an argument, and note its columns."""
    if argument.uniform:
        return _uniform(graph, argument.name, argument.value, inputs)
    return _varying(graph, argument.name, argument.kind, argument.width, inputs)


def _varying(graph: Graph, name: str, kind: Any, width: int, inputs: list[Column]) -> Any:
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        made = {f.name: _varying(graph, f"{name}.{f.name}", hints[f.name], 0, inputs) for f in fields(kind)}
        return _filled(kind, made)
    size = _SIZES[kind]
    if width and size:
        inputs.append(Column(name, width * size))
        parts = [_number(graph, name, k) for k in range(width * size)]
        return tuple(kind(*parts[k * size : k * size + size]) for k in range(width))
    number = _KINDS.get(kind, REAL)
    inputs.append(Column(name, width or size, kind=number))
    parts = [_number(graph, name, k, number) for k in range(max(width or size, 1))]
    if width:
        return tuple(parts)
    return kind(*parts) if size else parts[0]


def _uniform(graph: Graph, name: str, value: Any, inputs: list[Column]) -> Any:
    parts = _parts(name, value)
    if parts is not None:
        made = {key: _uniform(graph, title, part, inputs) for key, title, part in parts}
        return tuple(made.values()) if isinstance(value, tuple) else _filled(type(value), made)
    numbers = _numbers(value)
    if numbers is None:
        return value.value if isinstance(value, _Literal) else value
    size = len(numbers)
    table = _is_table(value)
    inputs.append(Column(name, 0 if isinstance(value, float) else size, uniform=True, table=table))
    if table:
        return InputTable(graph, name, size)
    symbols: list[Any] = [_number(graph, name, k) for k in range(size)]
    if isinstance(value, tuple):
        return tuple(symbols)
    return type(value)(*symbols) if isinstance(value, Vec3 | Quat) else symbols[0]


def uniform_values(argument: Argument) -> dict[str, Any]:
    """Return the values of a uniform argument's columns by name, as arrays of shape (width,).

    Tables have room beyond their end, as `Program.launch` needs it to use them without a copy.

    Args:
        argument: The argument.
    """

    def gather(name: str, value: Any) -> None:
        parts = _parts(name, value)
        if parts is not None:
            for _, title, part in parts:
                gather(title, part)
            return
        numbers = _numbers(value)
        if numbers is not None:
            found[name] = np.zeros(len(numbers) + (PADDING if _is_table(value) else 0))
            found[name][: len(numbers)] = numbers

    found: dict[str, Any] = {}
    gather(argument.name, argument.value)
    return found


def structure(value: Any) -> Any:
    """Return what the code of a uniform argument depends on: types, lengths of tables, and literals.

    Args:
        value: Value of the argument.
    """
    parts = _parts("", value)
    if parts is not None:
        return type(value), *((key, structure(part)) for key, _, part in parts)
    numbers = _numbers(value)
    return (type(value), value) if numbers is None else (type(value), len(numbers))


@dataclass(frozen=True)
class _Literal:
    """Number of a dataclass that chooses the structure of the code."""

    value: Any


def _parts(name: str, value: Any) -> list[tuple[Any, str, Any]] | None:
    """Return key, title and value of each part of a dataclass or a mixed tuple; None for a single value."""
    if is_dataclass(value) and not isinstance(value, type | _Literal):
        return [
            (f.name, f"{name}.{f.name}", _Literal(part) if f.metadata.get("literal") else part)
            for f in fields(value)
            for part in (getattr(value, f.name),)
        ]
    if isinstance(value, tuple) and _numbers(value) is None:
        return [(k, f"{name}.{k}", part) for k, part in enumerate(value)]
    return None


def _is_table(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, tuple) and len(value) > 4)


def _numbers(value: Any) -> Sequence[float] | Array | None:
    """Return the numbers of a uniform value that are inputs; None for literals and composed values."""
    if isinstance(value, Vec3 | Quat):
        return [value[k] for k in range(_SIZES[type(value)])]
    if isinstance(value, tuple):
        return value if value and all(isinstance(x, int | float) for x in value) else None
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value
    return [value] if isinstance(value, float) else None


def _filled(kind: Any, values: dict[str, Any]) -> Any:
    """Return an object of a dataclass without its checks, which are for numbers."""
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _number(graph: Graph, name: str, k: int, kind: str = REAL) -> Symbol:
    return graph.raw("input", (name, k), kind)


def _output(name: str, value: Any) -> list[tuple[Column, tuple[Any, ...]]]:
    """Return the columns of a result and their values."""
    if isinstance(value, Vec3 | Quat):
        size = _SIZES[type(value)]
        return [(Column(name, size), tuple(value[k] for k in range(size)))]
    if isinstance(value, Mat33):
        return [(Column(name, 9), tuple(x for row in value.rows for x in row))]
    if isinstance(value, tuple | list):
        if all(isinstance(x, Symbol | int | float) for x in value):
            return [(Column(name, len(value)), tuple(value))]
        parts = [_output(name, x) for x in value]
        flat = tuple(x for part in parts for _, xs in part for x in xs)
        return [(Column(name, len(flat)), flat)]
    if is_dataclass(value):
        found = [_output(f"{name}.{f.name}", getattr(value, f.name)) for f in fields(value)]
        return [pair for pairs in found for pair in pairs]
    if isinstance(value, dict):
        return [pair for key, part in value.items() for pair in _output(key, part)]
    if isinstance(value, Symbol | int | float):
        return [(Column(name, 0), (value,))]
    raise TypeError(f"the result {name} is no number or vector, but {type(value).__name__}")
