"""Traces: functions as straight lines of operations, with named columns as inputs and outputs."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, get_type_hints

import numpy as np

from pegasus.base.step_types import Mat33, Quat, Vec3
from pegasus.base.tracing.functions import Runner
from pegasus.base.tracing.symbols import REAL, Graph, InputTable, Symbol

_SIZES: dict[Any, int] = {float: 0, int: 0, Vec3: 3, Quat: 4, Mat33: 9}
_TRIPLE = tuple[float, float, float]


@dataclass(frozen=True)
class Argument:
    """Argument of a traced function that is an input: one value per row, or one for all."""

    name: str
    kind: Any
    width: int
    uniform: bool
    value: Any = None
    length: int = 0


@dataclass(frozen=True)
class Signal:
    """Result of a traced function that tells whether a value is other than 0 in any row.

    Its column has shape (1,): it is set to 1 by a launch, and never cleared.
    """

    value: Any


def column(name: str, kind: Any = float, width: int = 0) -> Argument:
    """Return an argument with one value per row.

    Args:
        name: Name of the column.
        kind: `Real`, `Vec3`, `Quat`, or a dataclass of them, whose fields are columns `name.field`.
        width: Number of values per row, passed as a tuple; 0 for one value.
    """
    return Argument(name, kind, width, uniform=False)


def sequence(name: str, width: int, length: int) -> Argument:
    """Return an argument that is the same for all rows and given ahead for several steps.

    Args:
        name: Name of the input, an array of shape (length, width) of which a launch reads one row.
        width: Number of values, passed as a tuple.
        length: Number of rows; the row of a step is that of its number modulo the length.
    """
    return Argument(name, float, width, uniform=True, length=length)


def uniform(name: str, value: Any) -> Argument:
    """Return an argument that is the same for all rows and may be changed without compiling anew.

    Numbers of a dataclass or a `SimpleNamespace` are inputs, whole numbers and texts among them are literals,
    since they choose the structure of the code. A tuple of more than four numbers is a table.

    Args:
        name: Name of the input; the fields of a dataclass are inputs `name.field`.
        value: Its value now, from which the structure is taken.
    """
    return Argument(name, type(value), 0, uniform=True, value=value)


@dataclass(frozen=True)
class Column:
    """Input or output of a trace: an array of shape (N,) or (N, width); (1,) or (width,) if uniform."""

    name: str
    width: int
    """Number of values per row; 0 for one value."""
    uniform: bool = False
    table: bool = False
    """Whether it is a table of numbers that code reads by an index."""
    length: int = 0
    """Number of rows of a sequence."""

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
        # Parameters that nothing reads, such as tables of a law that is not called, are no inputs.
        used = {name for name, _ in self.read} | {s.args[0] for s in self.operations if s.op == "gather"}
        self.inputs = tuple(c for c in self.inputs if not c.uniform or c.name in used)

    @cached_property
    def read(self) -> frozenset[tuple[str, int]]:
        """Names and components of the inputs that operations and outputs read."""
        values = [a for s in self.operations for a in s.args] + [x for _, xs in self.outputs for x in xs]
        return frozenset(a.args for a in values if isinstance(a, Symbol) and a.op == "input")

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
    many = isinstance(result, tuple) and len(outputs) != 1
    names = list(outputs) or ([f"result_{k}" for k in range(len(result))] if many else ["result"])
    results = [_output(name, part) for name, part in zip(names, result if many else [result], strict=True)]
    flat = [pair for pairs in results for pair in pairs]
    gathered = {s.args[0] for s in graph.symbols if s.op == "gather"}
    inputs = [replace(c, table=True) if c.name in gathered else c for c in inputs]
    return Trace(graph, inputs, flat, getattr(function, "__name__", type(function).__name__))


def _input(graph: Graph, argument: Argument, inputs: list[Column]) -> Any:
    """Return the symbols of an argument, and note its columns."""
    if argument.length:
        inputs.append(Column(argument.name, argument.width, uniform=True, length=argument.length))
        return tuple(_number(graph, argument.name, k) for k in range(argument.width))
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
    inputs.append(Column(name, width or size))
    parts = [_number(graph, name, k) for k in range(max(width or size, 1))]
    if width:
        return tuple(parts)
    if kind is int:
        return graph.converted(parts[0], "integer")
    return kind(*parts) if size else parts[0]


def _uniform(graph: Graph, name: str, value: Any, inputs: list[Column]) -> Any:
    if is_dataclass(value):
        made = {
            f.name: _uniform(graph, f"{name}.{f.name}", getattr(value, f.name), inputs) for f in fields(value)
        }
        return _filled(type(value), made)
    if isinstance(value, SimpleNamespace):
        parts = {n: _uniform(graph, f"{name}.{n}", part, inputs) for n, part in vars(value).items()}
        return SimpleNamespace(**parts)
    if isinstance(value, Vec3 | Quat):
        size = _SIZES[type(value)]
        inputs.append(Column(name, size, uniform=True))
        numbers: list[Any] = [_number(graph, name, k) for k in range(size)]
        return type(value)(*numbers)
    if isinstance(value, tuple) and value and all(isinstance(x, int | float) for x in value):
        inputs.append(Column(name, len(value), uniform=True))
        return (
            InputTable(graph, name, len(value))
            if len(value) > 4
            else tuple(_number(graph, name, k) for k in range(len(value)))
        )
    if isinstance(value, float | np.floating):
        inputs.append(Column(name, 0, uniform=True))
        return _number(graph, name, 0)
    return value


def structure(value: Any) -> Any:
    """Return what a trace depends on of an argument: all but its numbers that are inputs, hashable."""
    if isinstance(value, Argument):
        return (value.name, value.kind, value.width, value.length, structure(value.value))
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), tuple((f.name, structure(getattr(value, f.name))) for f in fields(value))
    if isinstance(value, SimpleNamespace):
        return tuple((name, structure(part)) for name, part in vars(value).items())
    if isinstance(value, tuple) and value and all(isinstance(x, int | float) for x in value):
        return len(value)
    if isinstance(value, float | np.floating | Vec3 | Quat):
        return type(value)
    return value


def uniform_values(argument: Argument) -> dict[str, Any]:
    """Return the values of a uniform argument's columns by name, as arrays of shape (width,)."""

    def gather(name: str, value: Any) -> None:
        if is_dataclass(value):
            for f in fields(value):
                gather(f"{name}.{f.name}", getattr(value, f.name))
        elif isinstance(value, SimpleNamespace):
            for n, part in vars(value).items():
                gather(f"{name}.{n}", part)
        elif isinstance(value, Vec3 | Quat):
            found[name] = np.array([value[k] for k in range(_SIZES[type(value)])])
        elif isinstance(value, tuple) and value and all(isinstance(x, int | float) for x in value):
            found[name] = np.array(value, dtype=np.float64)
        elif isinstance(value, float | np.floating):
            found[name] = np.array([value], dtype=np.float64)

    found: dict[str, Any] = {}
    gather(argument.name, argument.value)
    return found


def _filled(kind: Any, values: dict[str, Any]) -> Any:
    """Return an object of a dataclass without its checks, which are for numbers."""
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _number(graph: Graph, name: str, k: int) -> Symbol:
    return graph.raw("input", (name, k), REAL)


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
    if is_dataclass(value) and not isinstance(value, Signal):
        found = [_output(f"{name}.{f.name}", getattr(value, f.name)) for f in fields(value)]
        return [pair for pairs in found for pair in pairs]
    if isinstance(value, dict):
        return [pair for key, part in value.items() for pair in _output(key, part)]
    if isinstance(value, Symbol | int | float):
        return [(Column(name, 0), (value,))]
    if isinstance(value, Signal):
        return [(Column(name, 0, uniform=True), (value.value,))]
    raise TypeError(f"the result {name} is no number or vector, but {type(value).__name__}")
