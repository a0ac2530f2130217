"""Traces: functions as straight lines of operations, with named columns as inputs and outputs."""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from types import SimpleNamespace
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from pegasus.base.arrays import empty_lines
from pegasus.base.errors import ConfigError
from pegasus.base.step_types import NOTHING, Known, Mat33, Quat, Reals, Vec3, Word
from pegasus.base.tracing.functions import Runner
from pegasus.base.tracing.symbols import INTEGER, REAL, WORD, Graph, InputTable, Symbol

SHORT = 4
"""Number of numbers up to which a tuple is no table."""
_FOLDED = 64
"""Number of numbers up to which a table is no input of code for one model."""
TABLE_PADDING = 7
"""Numbers behind the end of a table that a read of a row may touch."""
FEWEST_ABREAST = 8
"""Number of rows from which on they are run side by side; code of single rows is sooner compiled."""
_SIZES: dict[Any, int] = {float: 0, int: 0, Word: 0, Vec3: 3, Quat: 4, Mat33: 9}
_KINDS: dict[Any, str] = {int: INTEGER, Word: WORD}
_NUMBERS = frozenset((float, int, np.float64))
"""Types of the numbers of a tuple that is one input."""


@dataclass(frozen=True)
class Argument:
    """Argument of a traced function that is an input: one value per row, or one for all."""

    name: str
    kind: Any
    width: int
    values: Sequence[Any] = ()
    """Parameters: one structure for all rows, or one for each."""
    length: int = 0
    """Number of rows of a sequence."""
    widths: tuple[tuple[str, int], ...] = ()
    """Fields of another width than the others."""
    folded: bool = False
    """Whether numbers that are the same for all rows are literals."""


@dataclass(frozen=True)
class Signal:
    """Result of a traced function that tells whether a value is other than 0 in any row.

    Its column has shape (1,): it is set to 1 by a launch, and never cleared.
    """

    value: Any


def column(name: str, kind: Any = float, width: int = 0, **widths: int) -> Argument:
    """Return an argument with one value per row.

    Args:
        name: Name of the column.
        kind: `Real`, `int`, `Word`, `Vec3`, `Quat`, or a dataclass of them, whose fields are columns
            `name.field`, or `field` if the name is empty. Fields of `Reals` and `tuple[Vec3, ...]` have
            `width` values.
        width: Number of values per row, passed as a tuple; 0 for one value.
        widths: Widths of fields that have another one.
    """
    return Argument(name, kind, width, widths=tuple(widths.items()))


def uniform(name: str, value: Any) -> Argument:
    """Return an argument that is the same for all rows and may be changed without compiling anew.

    Numbers of a dataclass, and of dataclasses and tuples in it, are inputs; whole numbers, texts, functions,
    `Known` numbers and fields with the metadata `literal` are literals, since they choose the structure of
    the code. A tuple of more than four numbers and an array are tables. A dataclass that stands in several
    places is one.

    Args:
        name: Name of the input; the fields of a dataclass are inputs `name.field`.
        value: Its value now, from which the structure is taken.
    """
    return Argument(name, type(value), 0, (value,))


def sequence(name: str, width: int, length: int) -> Argument:
    """Return an argument that is the same for all rows and given ahead for several steps.

    Args:
        name: Name of the input, an array of shape (length, width) of which a launch reads one row.
        width: Number of values, passed as a tuple.
        length: Number of rows; the row of a step is that of its number modulo the length.
    """
    return Argument(name, float, width, length=length)


def varied(name: str, values: Sequence[Any]) -> Argument:
    """Return an argument as `uniform`, with a structure of its own for each row.

    Args:
        name: Name of the input.
        values: Structures that differ in numbers only, one per row; see `shape`.
    """
    return Argument(name, type(values[0]), 0, tuple(values))


def folded(name: str, values: Sequence[Any]) -> Argument:
    """Return an argument as `varied`, of which only numbers that differ between rows, and tables, are inputs.

    The other numbers are literals: code of its own for each model, in which known operations are done. Zeros
    among them are `Known`.

    Args:
        name: Name of the input.
        values: Structures that differ in numbers only, one per row, or one for all.
    """
    return Argument(name, type(values[0]), 0, tuple(values), folded=True)


def _literal_of(argument: Argument, values: Sequence[Any], size: int) -> Any:
    """Return the numbers of a folded argument that are literals, with known zeros; None for an input."""
    first = values[0]
    fits = argument.folded and size <= _FOLDED and not isinstance(first, np.ndarray)
    if not fits or any(value is not first and value != first for value in values):
        return None

    def known(x: Any) -> Any:
        return NOTHING if isinstance(x, float) and x == 0.0 else x

    return tuple(map(known, first)) if isinstance(first, tuple) else known(first)


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
    """True for a table of numbers, of which the code reads some by an index; its array may hold several."""
    rows: bool = False
    """True if a row of its array may hold more numbers than `width`; the first ones are used."""
    kind: str = REAL
    """`real`, `integer` or `word`; an output has that of the input whose next value it is, else `real`."""
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

    @cached_property
    def operations(self) -> tuple[Symbol, ...]:
        """Operations that the outputs need, in order, without the inputs."""
        used: set[int] = set()
        waiting = [value for _, values in self.outputs for value in values if isinstance(value, Symbol)]
        while waiting:
            symbol = waiting.pop()
            if symbol.place not in used:
                used.add(symbol.place)
                waiting += symbol.operands
        return tuple(s for s in self.graph.symbols if s.place in used and s.op != "input")

    @cached_property
    def read(self) -> frozenset[tuple[str, int]]:
        """Names and components of the inputs that operations and outputs read."""
        values = [a for s in self.operations for a in s.args] + [x for _, xs in self.outputs for x in xs]
        return frozenset(a.args for a in values if isinstance(a, Symbol) and a.op == "input")

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
            output with the name of an input is its next value. A dataclass without a name has outputs by the
            names of its fields.

    Inputs that are not used, and outputs that are their own input, are left out.

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
    kinds = {c.name: c.kind for c in inputs}
    flat = [
        (replace(c, kind=kinds.get(c.name, REAL)), values)
        for pairs in results
        for c, values in pairs
        if not all(
            isinstance(v, Symbol) and v.op == "input" and v.args == (c.name, k) for k, v in enumerate(values)
        )
    ]
    title = getattr(function, "__name__", type(function).__name__)
    gathered = {s.args[0] for s in graph.symbols if s.op == "gather"}
    inputs = [replace(c, table=True) if c.name in gathered else c for c in inputs]
    used = {c.name for c, _ in flat} | gathered | {name for name, _ in Trace(graph, [], flat, title).read}
    return Trace(graph, [c for c in inputs if c.name in used], flat, title)


def _input(graph: Graph, argument: Argument, inputs: list[Column]) -> Any:
    """Return the symbols of an argument, and note its columns."""
    if argument.length:
        inputs.append(Column(argument.name, argument.width, uniform=True, length=argument.length))
        return tuple(_number(graph, argument.name, k) for k in range(argument.width))
    if not argument.values:
        widths = dict(argument.widths)
        return _varying(graph, argument.name, argument.kind, argument.width, inputs, widths)
    uniform_input = len(argument.values) == 1

    def symbols(name: str, values: Sequence[Any], size: int, table: bool) -> Any:
        if (literal := _literal_of(argument, values, size)) is not None:
            return literal
        if table:
            first: Any = 0
            several = len(_tables(values)) > 1
            if several:
                inputs.append(Column(f"{name}@", 0, kind=INTEGER))
                first = _number(graph, f"{name}@", 0, INTEGER)
            inputs.append(Column(name, size, uniform=True))
            return InputTable(graph, name, size, first, values[0] if argument.folded and not several else ())
        inputs.append(Column(name, size, uniform=uniform_input))
        parts = tuple(_number(graph, name, k) for k in range(max(size, 1)))
        return parts if size else parts[0]

    return walk(argument.name, argument.values, symbols)


def walk(name: str, values: Sequence[Any], leaf: Callable[[str, Sequence[Any], int, bool], Any]) -> Any:
    """Return parameters with other numbers in place of theirs.

    Args:
        name: Name of the parameters.
        values: Structures of the same shape.
        leaf: Function (name, values, number of values, whether they are a table) that gives the numbers of a
            field; a number that is no tuple has 0 values.
    """
    done: dict[tuple[int, ...], Any] = {}

    def of(name: str, values: Sequence[Any]) -> Any:
        first = values[0]
        if is_dataclass(first) and not isinstance(first, type):
            key = tuple(map(id, values))
            if key not in done:
                parts = {f.name: [getattr(v, f.name) for v in values] for f in fields(first)}
                literal = {f.name for f in fields(first) if f.metadata.get("literal")}
                for n in literal:
                    _require_hashable(f"{name}.{n}", parts[n][0])
                done[key] = _filled(
                    type(first),
                    {n: p[0] if n in literal else of(f"{name}.{n}", p) for n, p in parts.items()},
                )
            return done[key]
        if isinstance(first, SimpleNamespace):
            members = {n: of(f"{name}.{n}", [getattr(v, n) for v in values]) for n in vars(first)}
            return SimpleNamespace(**members)
        if isinstance(first, np.ndarray) and first.ndim == 1:
            return leaf(name, values, len(first), True)
        if isinstance(first, Vec3 | Quat):
            numbers = [tuple(v[k] for k in range(_SIZES[type(v)])) for v in values]
            return type(first)(*of(name, numbers))
        if isinstance(first, tuple):
            if first and _NUMBERS.issuperset(map(type, first)):
                return leaf(name, values, len(first), len(first) > SHORT)
            return tuple(of(f"{name}.{k}", [v[k] for v in values]) for k in range(len(first)))
        if isinstance(first, float | np.floating) and not all(
            isinstance(v, Known) and v == first for v in values
        ):
            return leaf(name, values, 0, False)
        return first

    return of(name, values)


def _require_hashable(name: str, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise ConfigError(
            "code is made for each value of a literal field, which must be hashable",
            field=name,
            value=value,
            remedy="use a number, a text or a tuple of them",
        ) from None


def uniform_values(argument: Argument) -> dict[str, Any]:
    """Return the values of an argument of `uniform` or `varied` by column, as arrays: (width,) or (N, width).

    Tables have room behind their end, as `Program.launch` needs it.
    """
    found: dict[str, Any] = {}

    def gather(name: str, values: Sequence[Any], size: int, table: bool) -> Any:
        if _literal_of(argument, values, size) is not None:
            pass
        elif table:
            tables = _tables(values)
            if len(tables) > 1:
                places = {key: k * size for k, keys in enumerate(tables.values()) for key in keys[1]}
                found[f"{name}@"] = np.array([places[id(v)] for v in values], dtype=np.int32)
            flat = [x for numbers, _ in tables.values() for x in numbers]
            # A row of eight numbers at a place that is a multiple of eight is one line of the cache, not two.
            found[name] = empty_lines((len(flat) + TABLE_PADDING,), np.float64)
            found[name][:] = [*flat, *[0.0] * TABLE_PADDING]
        else:
            array = np.array(values, dtype=np.float64)
            found[name] = array[0].reshape(-1) if len(values) == 1 else array
        return math.nan if size == 0 else (math.nan,) * size

    walk(argument.name, argument.values, gather)
    return found


def _tables(values: Sequence[Any]) -> dict[int, tuple[Any, list[int]]]:
    """Return the tables that differ, by hash, with the identities of all that are equal to each."""
    found: dict[int, tuple[Any, list[int]]] = {}
    for key, table in {id(v): v for v in values}.items():
        # By its bytes: 0.0 == -0.0.
        found.setdefault(hash(np.asarray(table, dtype=np.float64).tobytes()), (table, []))[1].append(key)
    return found


def structure(argument: Any) -> Any:
    """Return what an argument adds to the structure of a trace; equal for arguments with one code."""
    if not isinstance(argument, Argument):
        return type(argument), argument
    if not argument.values:
        return argument
    found: list[Any] = [argument.name, len(argument.values) > 1]
    shared: dict[int, str] = {}

    def note(name: str, values: Sequence[Any], size: int, table: bool) -> Any:
        # Tables that are one, and fields of one structure, have one input.
        several = table and len(values) > 1 and len(_tables(values)) > 1
        found.append((shared.setdefault(id(values[0]), name) if table else name, size, several))
        return math.nan if table or size == 0 else (math.nan,) * size

    made = walk(argument.name, argument.values, note)
    return (*found, _literals(made))


def shape(value: Any, known: dict[int, int] | None = None) -> Any:
    """Return what parameters must have in common to be those of `varied`: all but their numbers.

    Args:
        value: The parameters.
        known: Lengths of tables by identity, which it fills: many parameters may have the same ones.
    """
    known = {} if known is None else known
    if is_dataclass(value) and not isinstance(value, type):
        literal = {f.name for f in fields(value) if f.metadata.get("literal")}
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        return type(value), tuple(p if name in literal else shape(p, known) for name, p in parts.items())
    if isinstance(value, tuple):
        if id(value) in known:
            return known[id(value)]
        if not _NUMBERS.issuperset(map(type, value)):
            return tuple(shape(x, known) for x in value)
        if len(value) > SHORT:
            known[id(value)] = len(value)
        return len(value)
    if isinstance(value, float | np.floating | Vec3 | Quat):
        return type(value) if isinstance(value, Vec3 | Quat) else float
    return len(value) if isinstance(value, np.ndarray) else (type(value), value)


def _literals(value: Any) -> Any:
    """Return the literals of parameters as something that can be a key."""
    if isinstance(value, SimpleNamespace):
        return tuple((name, _literals(part)) for name, part in vars(value).items())
    if is_dataclass(value) and not isinstance(value, type):
        return type(value), tuple(_literals(getattr(value, f.name)) for f in fields(value))
    if isinstance(value, tuple):
        return tuple(map(_literals, value))
    if isinstance(value, Vec3 | Quat):
        return type(value), tuple(repr(value[k]) for k in range(_SIZES[type(value)]))
    return repr(value) if isinstance(value, float) else (type(value), value)


def _varying(
    graph: Graph, name: str, kind: Any, width: int, inputs: list[Column], widths: Mapping[str, int]
) -> Any:
    if is_dataclass(kind):
        hints, within = get_type_hints(kind), f"{name}." if name else ""
        made = {}
        for f in fields(kind):
            part, size = _field_kind(hints[f.name], widths.get(f.name, width))
            none = size == 0 and part is not hints[f.name]
            made[f.name] = () if none else _varying(graph, within + f.name, part, size, inputs, {})
        return _filled(kind, made)
    size = _SIZES[kind]
    if width and size:
        inputs.append(Column(name, width * size, rows=True))
        parts = [_number(graph, name, k) for k in range(width * size)]
        return tuple(kind(*parts[k * size : k * size + size]) for k in range(width))
    number = _KINDS.get(kind, REAL)
    inputs.append(Column(name, width or size, rows=width > 0, kind=number))
    parts = [_number(graph, name, k, number) for k in range(max(width or size, 1))]
    if width:
        return tuple(parts)
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


def _number(graph: Graph, name: str, k: int, kind: str = REAL) -> Symbol:
    return graph.raw("input", (name, k), kind)


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
    if isinstance(value, Signal):
        return [(Column(name, 0, uniform=True), (value.value,))]
    if is_dataclass(value):
        within = f"{name}." if name else ""
        found = [_output(within + f.name, getattr(value, f.name)) for f in fields(value)]
        return [pair for pairs in found for pair in pairs]
    if isinstance(value, dict):
        return [pair for key, part in value.items() for pair in _output(key, part)]
    if isinstance(value, Symbol | int | float):
        return [(Column(name, 0), (value,))]
    raise TypeError(f"the result {name} is no number or vector, but {type(value).__name__}")
