"""Traces: functions as straight lines of operations, with named columns as inputs and outputs."""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from pegasus.base.step_types import Known, Mat33, Quat, Reals, Vec3
from pegasus.base.tracing.functions import Runner
from pegasus.base.tracing.symbols import INTEGER, REAL, Graph, InputTable, Symbol

SHORT = 4
"""Number of numbers up to which a tuple is no table."""
TABLE_PADDING = 7
"""Numbers behind the end of a table that a read of a row may touch."""
_SIZES: dict[Any, int] = {float: 0, int: 0, Vec3: 3, Quat: 4, Mat33: 9}


@dataclass(frozen=True)
class Argument:
    """Argument of a traced function that is an input: one value per row, or one for all."""

    name: str
    kind: Any
    width: int
    values: Sequence[Any] = ()
    """Parameters: one structure for all rows, or one for each."""


def column(name: str, kind: Any = float, width: int = 0) -> Argument:
    """Return an argument with one value per row.

    Args:
        name: Name of the column.
        kind: `Real`, `Vec3`, `Quat`, or a dataclass of them, whose fields are columns `name.field`, or
            `field` if the name is empty. Fields of `Reals` and `tuple[Vec3, ...]` have `width` values.
        width: Number of values per row, passed as a tuple; 0 for one value.
    """
    return Argument(name, kind, width)


def uniform(name: str, value: Any) -> Argument:
    """Return an argument that is the same for all rows and may be changed without compiling anew.

    Numbers of a dataclass, and of dataclasses and tuples in it, are inputs; whole numbers, texts, functions
    and `Known` numbers are literals, since they choose the structure of the code. A tuple of more than four
    numbers is a table. A dataclass that stands in several places is one.

    Args:
        name: Name of the input; the fields of a dataclass are inputs `name.field`.
        value: Its value now, from which the structure is taken.
    """
    return Argument(name, type(value), 0, (value,))


def varied(name: str, values: Sequence[Any]) -> Argument:
    """Return an argument as `uniform`, with a structure of its own for each row.

    Args:
        name: Name of the input.
        values: Structures that differ in numbers only, one per row.
    """
    return Argument(name, type(values[0]), 0, tuple(values))


@dataclass(frozen=True)
class Column:
    """Input or output of a trace: an array of shape (N,) or (N, width); (1,) or (width,) if uniform."""

    name: str
    width: int
    """Number of values per row; 0 for one value."""
    uniform: bool = False
    table: bool = False
    """Whether it is a table of numbers that code reads by an index."""
    rows: bool = False
    """Whether the rows of its array may be longer than `width`."""

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
    def names_read(self) -> frozenset[str]:
        """Names of the inputs that operations or outputs read."""
        values = [v for _, values in self.outputs for v in values]
        values += [a for s in self.operations for a in s.args]
        read = {v.args[0] for v in values if isinstance(v, Symbol) and v.op == "input"}
        return frozenset(read | {s.args[0] for s in self.operations if s.op == "gather"})

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


def trace(
    function: Callable[..., Any], *arguments: Any, outputs: Sequence[str] = (), alarms: Sequence[str] = ()
) -> Trace:
    """Return the trace of a function of numbers and small vectors.

    Args:
        function: The function: any Python whose conditions on rows choose among numbers, and whose loops
            have lengths that do not differ between rows.
        arguments: Its arguments: `column` and `uniform` for inputs, anything else as it stands. Numbers in
            it are literals of the code.
        outputs: Names of the results where the function returns a tuple; `result` for a single one. An
            output with the name of an input is its next value. A dataclass without a name has outputs by the
            names of its fields.
        alarms: Names of outputs that are one number for all rows, set to 1 if that of any row is not 0.

    Inputs that are not used, and outputs that are their own input, are left out.

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
    flat = [
        (replace(c, uniform=c.name in alarms), values)
        for pairs in results
        for c, values in pairs
        if not all(
            isinstance(v, Symbol) and v.op == "input" and v.args == (c.name, k) for k, v in enumerate(values)
        )
    ]
    title = getattr(function, "__name__", type(function).__name__)
    used = {c.name for c, _ in flat} | Trace(graph, inputs, flat, title).names_read
    return Trace(graph, [c for c in inputs if c.name in used], flat, title)


def _input(graph: Graph, argument: Argument, inputs: list[Column]) -> Any:
    """Return the symbols of an argument, and note its columns."""
    if not argument.values:
        return _varying(graph, argument.name, argument.kind, argument.width, inputs)
    uniform_input = len(argument.values) == 1

    def symbols(name: str, values: Sequence[Any], size: int) -> Any:
        if size > SHORT:
            first: Any = 0
            if any(v is not values[0] for v in values):
                inputs.append(Column(f"{name}@", 0))
                first = graph.converted(_number(graph, f"{name}@", 0), INTEGER)
            inputs.append(Column(name, size * len({id(v): 0 for v in values}), uniform=True, table=True))
            return InputTable(graph, name, size, first)
        inputs.append(Column(name, size, uniform=uniform_input))
        parts = tuple(_number(graph, name, k) for k in range(max(size, 1)))
        return parts if size else parts[0]

    return walk(argument.name, argument.values, symbols)


def walk(name: str, values: Sequence[Any], leaf: Callable[[str, Sequence[Any], int], Any]) -> Any:
    """Return parameters with other numbers in place of theirs.

    Args:
        name: Name of the parameters.
        values: Structures of the same shape.
        leaf: Function (name, values, number of values) that gives the numbers of a field; 0 for a number that
            is no tuple.
    """
    done: dict[tuple[int, ...], Any] = {}

    def of(name: str, values: Sequence[Any]) -> Any:
        first = values[0]
        if is_dataclass(first):
            key = tuple(map(id, values))
            if key not in done:
                parts = {f.name: [getattr(v, f.name) for v in values] for f in fields(first)}
                done[key] = _filled(type(first), {n: of(f"{name}.{n}", part) for n, part in parts.items()})
            return done[key]
        if isinstance(first, Vec3 | Quat):
            numbers = [tuple(v[k] for k in range(_SIZES[type(v)])) for v in values]
            return type(first)(*of(name, numbers))
        if isinstance(first, tuple):
            if first and all(type(x) in (float, int, np.float64) for x in first):
                return leaf(name, values, len(first))
            return tuple(of(f"{name}.{k}", [v[k] for v in values]) for k in range(len(first)))
        if isinstance(first, float | np.floating) and not all(
            isinstance(v, Known) and v == first for v in values
        ):
            return leaf(name, values, 0)
        return first

    return of(name, values)


def parameter_arrays(argument: Argument) -> dict[str, Any]:
    """Return the values of an argument of `uniform` or `varied` by column, as arrays: (width,) or (N, width).

    Tables have room behind their end, as `Program.launch` needs it.
    """
    found: dict[str, Any] = {}

    def gather(name: str, values: Sequence[Any], size: int) -> Any:
        if size > SHORT:
            tables = {id(v): v for v in values}
            if len(tables) > 1:
                places = {key: float(k * size) for k, key in enumerate(tables)}
                found[f"{name}@"] = np.array([places[id(v)] for v in values])
            flat = [x for table in tables.values() for x in table]
            found[name] = np.array([*flat, *[0.0] * TABLE_PADDING], dtype=np.float64)
        else:
            array = np.array(values, dtype=np.float64)
            found[name] = array[0].reshape(-1) if len(values) == 1 else array
        return math.nan if size == 0 else (math.nan,) * size

    walk(argument.name, argument.values, gather)
    return found


def shape_of(argument: Any) -> Any:
    """Return what an argument adds to the structure of a trace; equal for arguments with one code."""
    if not isinstance(argument, Argument):
        return argument
    if not argument.values:
        return argument
    found: list[Any] = [argument.name, len(argument.values) > 1]
    shared: dict[int, str] = {}

    def note(name: str, values: Sequence[Any], size: int) -> Any:
        # Tables that are one, and fields of one structure, have one input.
        found.append((shared.setdefault(id(values[0]), name) if size > SHORT else name, size))
        return math.nan if size == 0 else (math.nan,) * size

    made = walk(argument.name, argument.values, note)
    return (*found, _literals(made))


def _literals(value: Any) -> Any:
    """Return the literals of parameters as something that can be a key."""
    if is_dataclass(value):
        return type(value), tuple(_literals(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, tuple):
        return tuple(map(_literals, value))
    if isinstance(value, Vec3 | Quat):
        return type(value), tuple(repr(value[k]) for k in range(_SIZES[type(value)]))
    return repr(value) if isinstance(value, float) else value


def _varying(graph: Graph, name: str, kind: Any, width: int, inputs: list[Column]) -> Any:
    if is_dataclass(kind):
        hints, within = get_type_hints(kind), f"{name}." if name else ""
        made = {
            f.name: _varying(graph, within + f.name, *_field_kind(hints[f.name], width), inputs)
            for f in fields(kind)
        }
        return _filled(kind, made)
    size = _SIZES[kind]
    if width and size:
        inputs.append(Column(name, width * size, rows=True))
        parts = [_number(graph, name, k) for k in range(width * size)]
        return tuple(kind(*parts[k * size : k * size + size]) for k in range(width))
    inputs.append(Column(name, width or size, rows=width > 0))
    parts = [_number(graph, name, k) for k in range(max(width or size, 1))]
    if width:
        return tuple(parts)
    if kind is int:
        return graph.converted(parts[0], INTEGER)
    return kind(*parts) if size else parts[0]


def _field_kind(hint: Any, width: int) -> tuple[Any, int]:
    """Return kind and width of a field of a dataclass of columns."""
    if hint == Reals:
        return float, width
    if get_origin(hint) is tuple:
        return get_args(hint)[0], width
    return hint, 0


def _filled(kind: Any, values: dict[str, Any]) -> Any:
    """Return an object of a dataclass without its checks, which are for numbers."""
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _number(graph: Graph, name: str, k: int) -> Symbol:
    return graph.raw("input", (name, k), REAL)


def _output(name: str, value: Any) -> list[tuple[Column, tuple[Any, ...]]]:
    """Return the columns of a result and their values; names of the fields of a result without a name."""
    if isinstance(value, Vec3 | Quat):
        size = _SIZES[type(value)]
        return [(Column(name, size), tuple(value[k] for k in range(size)))]
    if isinstance(value, Mat33):
        return [(Column(name, 9), tuple(x for row in value.rows for x in row))]
    if isinstance(value, tuple | list):
        if all(isinstance(x, Symbol | int | float) for x in value):
            return [(Column(name, len(value), rows=True), tuple(value))]
        parts = [_output(name, x) for x in value]
        flat = tuple(x for part in parts for _, xs in part for x in xs)
        return [(Column(name, len(flat), rows=True), flat)]
    if is_dataclass(value):
        within = f"{name}." if name else ""
        found = [_output(within + f.name, getattr(value, f.name)) for f in fields(value)]
        return [pair for pairs in found for pair in pairs]
    if isinstance(value, dict):
        return [pair for key, part in value.items() for pair in _output(key, part)]
    if isinstance(value, Symbol | int | float):
        return [(Column(name, 0), (value,))]
    raise TypeError(f"the result {name} is no number or vector, but {type(value).__name__}")
