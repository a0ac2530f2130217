"""Symbols: numbers of a trace, and the graph of the operations that make them.

An operation of constants is done at once, with the bits that compiled code has. Others are simplified only
where no bit changes and no NaN or infinity is hidden: x * 0 and x + 0 stay, unless the zero is a `Known` one.
Equal operations are one.
"""

import math
import operator
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pegasus.base.step_types import NOTHING, Known, Symbolic, Word, bits_of, floor, number_of, sqrt

REAL, INTEGER, WORD, TRUTH = "real", "integer", "word", "truth"


_FOREIGN = (
    "a function of C or NumPy got a number that differs between rows; use those of pegasus.base.step_math"
)
_OF_NUMPY = {"add": "add", "subtract": "sub", "multiply": "mul", "divide": "div"}
"""Operations with numbers of NumPy on the left."""


class TraceError(ValueError):
    """Function that cannot be traced; the message names file and line."""


class Symbol(Symbolic):
    """Number of a trace.

    Args:
        graph: The graph.
        op: Operation, e.g. `add`.
        args: Symbols, constants, or what `op` needs.
        kind: `real`, `integer`, `word` or `truth`.
        place: Number of the operation in the graph.
    """

    __slots__ = ("args", "graph", "kind", "op", "operands", "place")

    def __init__(self, graph: "Graph", op: str, args: tuple[Any, ...], kind: str, place: int) -> None:
        self.graph, self.op, self.args, self.kind, self.place = graph, op, args, kind, place
        self.operands = tuple([a for a in args if type(a) is Symbol])
        """Arguments that are symbols."""

    __hash__ = object.__hash__

    def __add__(self, other: Any) -> Any:
        return self.graph.number("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.graph.number("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return self.graph.number("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.graph.number("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return self.graph.number("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.graph.number("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.graph.number("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.graph.number("div", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self.graph.whole("floordiv", self, other)

    def __mod__(self, other: Any) -> Any:
        return self - self.graph.whole("floordiv", self, other) * other

    def __and__(self, other: Any) -> Any:
        return self.graph.whole("bitand", self, other)

    __rand__ = __and__

    def __xor__(self, other: Any) -> Any:
        return self.graph.whole("bitxor", self, other)

    __rxor__ = __xor__

    def __rshift__(self, other: Any) -> Any:
        return self.graph.whole("shift", self, other)

    def __neg__(self) -> Any:
        return self.graph.apply("neg", self, kind=self.kind)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        if self.kind != REAL:
            return self.graph.select(self < 0, -self, self)
        return self.graph.apply("abs", self, kind=REAL)

    def __pow__(self, other: Any) -> Any:
        raise TypeError("the power operator has other bits on each processor; use x * x or power(x, y)")

    __rpow__ = __pow__

    def __lt__(self, other: Any) -> Any:
        return self.graph.number("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return self.graph.number("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.graph.number("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return self.graph.number("ge", self, other)

    def __eq__(self, other: Any) -> Any:
        return self.graph.number("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return self.graph.number("ne", self, other)

    def __bool__(self) -> bool:
        raise TypeError(
            "a condition that differs between rows stands outside a function whose source is known"
        )

    def __index__(self) -> int:
        raise TypeError(
            "a number that differs between rows is no length, and an index of tables of numbers only"
        )

    def __float__(self) -> float:
        raise TypeError(_FOREIGN)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        op = _OF_NUMPY.get(function.__name__)
        if op is None or method != "__call__" or options:
            raise TypeError(_FOREIGN)
        return self.graph.number(op, *inputs)

    def __repr__(self) -> str:
        return f"<{self.op} {self.place}>"


class InputTable:
    """Table of numbers that is an input of a trace.

    Args:
        graph: The graph.
        name: Name of the input.
        size: Length of the table.
        first: Place of its first number in the input, which holds the tables of several rows.
        known: Its numbers if they are literals where the index is one; else empty.
    """

    def __init__(
        self, graph: "Graph", name: str, size: int, first: Any = 0, known: Sequence[float] = ()
    ) -> None:
        self.graph, self.name, self.size, self.first, self._known = graph, name, size, first, known

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, k: Any) -> Any:
        if not isinstance(k, Symbol) and not 0 <= k < self.size:
            raise IndexError(f"the table {self.name} has {self.size} numbers")
        if not isinstance(k, Symbol) and len(self._known):
            return float(self._known[k])
        if not isinstance(k, Symbol) and not isinstance(self.first, Symbol):
            return self.graph.raw("input", (self.name, k), REAL)
        return self.graph.raw("gather", (self.name, self.graph.number("add", k, self.first)), REAL)


def quotient(a: float, b: float) -> float:
    """Return a / b as processors do: infinite or NaN by zero."""
    if b != 0.0:
        return a / b
    if a == 0.0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


CONSTANTS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": quotient, "neg": operator.neg,
    "abs": abs, "sqrt": sqrt, "floor": floor, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "eq": operator.eq, "ne": operator.ne, "floordiv": operator.floordiv,
    "bitand": operator.and_, "bitxor": operator.xor, "shift": operator.rshift, "int": int, "real": float,
    "word": Word, "bits": bits_of, "number": number_of, "and": lambda a, b: a and b,
    "or": lambda a, b: a or b, "not": operator.not_,
}  # fmt: skip
"""Operations of constants."""
_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne"})
_NUMBERS = (Symbol, bool, int, float, np.number)
_RANKS = {TRUTH: 0, INTEGER: 1, WORD: 2, REAL: 3}


def kind_of(value: Any) -> str:
    """Return the kind of a symbol or a number.

    Raises:
        TypeError: If it is neither.
    """
    if isinstance(value, Symbol):
        return value.kind
    if isinstance(value, (bool, np.bool_)):
        return TRUTH
    if isinstance(value, Word):
        return WORD
    if isinstance(value, (int, np.integer)):
        return INTEGER
    if isinstance(value, (float, np.floating)):
        return REAL
    raise TypeError(f"a number is needed, not {type(value).__name__}")


class Graph:
    """Operations of a trace in the order of their making, each once."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.tables: list[tuple[float, ...]] = []
        """Constant tables; `gather` names one by its number, and an input by its name."""
        self.path: Any = True
        """Condition under which the present statement of the function is reached."""
        self._known: dict[Any, Symbol] = {}
        self._table_numbers: dict[bytes, int] = {}
        self._read: dict[int, tuple[Any, int]] = {}

    def raw(self, op: str, args: tuple[Any, ...], kind: str) -> Symbol:
        """Return the symbol of an operation, as it stands."""
        # By the text of a number, for 0.0 == -0.0 and a NaN is not equal to itself.
        key = (op, kind, *[a.place if type(a) is Symbol else (type(a), repr(a)) for a in args])
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Symbol(self, op, args, kind, len(self.symbols))
            self.symbols.append(found)
        return found

    def number(self, op: str, a: Any, b: Any) -> Any:
        """Return an operation of two numbers, of whole ones where both are."""
        one, other = type(a), type(b)
        if (one is Symbol or one is float) and (other is Symbol or other is float):
            # Most operations: their numbers are of one kind already.
            of_reals = (one is float or a.kind == REAL) and (other is float or b.kind == REAL)
            if of_reals:
                return self.apply(op, a, b, kind=TRUTH if op in _COMPARISONS else REAL)
        if not isinstance(a, _NUMBERS) or not isinstance(b, _NUMBERS):
            return NotImplemented
        kinds = kind_of(a), kind_of(b)
        kind = max(*kinds, INTEGER, key=_RANKS.__getitem__)
        if op == "div":
            kind = REAL
        a, b = self.converted(a, kind), self.converted(b, kind)
        return self.apply(op, a, b, kind=TRUTH if op in _COMPARISONS else kind)

    def whole(self, op: str, a: Any, b: Any) -> Any:
        """Return an operation of two whole numbers."""
        kinds = kind_of(a), kind_of(b)
        if REAL in kinds:
            raise TypeError(f"{op} is for whole numbers; use floor(x / y)")
        kind = max(*kinds, INTEGER, key=_RANKS.__getitem__)
        return self.apply(op, self.converted(a, kind), self.converted(b, kind), kind=kind)

    def converted(self, value: Any, kind: str) -> Any:
        """Return a number as one of another kind; a real one is cut to a whole one."""
        own = kind_of(value)
        if own == kind:
            return value if kind != REAL or isinstance(value, Symbol | Known) else float(value)
        if own == TRUTH:
            return self.select(value, self.converted(1, kind), self.converted(0, kind))
        if kind == TRUTH:
            return self.number("ne", value, 0)
        return self.apply({REAL: "real", INTEGER: "int", WORD: "word"}[kind], value, kind=kind)

    def apply(self, op: str, *args: Any, kind: str) -> Any:
        """Return an operation, simplified where no bit changes."""
        symbols = [a for a in args if type(a) is Symbol]
        if not symbols:
            return CONSTANTS[op](*args)
        chosen = self._of_constants(op, args, symbols, kind) if symbols[0].op == "select" else None
        return self._simplified(op, args, kind) if chosen is None else chosen

    def _of_constants(self, op: str, args: tuple[Any, ...], symbols: Sequence[Symbol], kind: str) -> Any:
        """Return an operation of choices among constants as a choice among constants; None for others."""
        condition = symbols[0].args[0]
        for s in symbols:
            if s.op != "select" or s.args[0] is not condition:
                return None
            if isinstance(s.args[1], Symbol) or isinstance(s.args[2], Symbol):
                return None
        ways = [
            self.apply(op, *(a.args[k] if isinstance(a, Symbol) else a for a in args), kind=kind)
            for k in (1, 2)
        ]
        return self.select(condition, *ways)

    def _simplified(self, op: str, args: tuple[Any, ...], kind: str) -> Any:
        a, b = args[0], args[-1]
        if (type(a) is Known or type(b) is Known) and op in ("add", "sub", "mul"):
            left, right = (isinstance(x, Known) and x == 0.0 for x in (a, b))
            if op == "mul" and (left or right):
                return NOTHING
            if right:
                return a
            if left:
                return b if op == "add" else self.apply("neg", b, kind=kind)
        if op in ("and", "or"):
            for one, other in ((a, b), (b, a)):
                if not isinstance(one, Symbol):
                    return other if bool(one) == (op == "and") else bool(one)
            return a if a is b else self.raw(op, args, kind)
        if op in ("neg", "not") and a.op == op:
            return a.args[0]
        if kind == INTEGER and op == "add":
            return self._whole_sum(a, b)
        if kind != REAL or len(args) == 1:
            return self.raw(op, args, kind)
        if op in ("mul", "div"):
            signed = self._without_signs(op, a, b)
            if signed is not None:
                return signed
        if op == "mul":
            for one, other in ((a, b), (b, a)):
                if not isinstance(one, Symbol) and one == 1.0:
                    return other
                if not isinstance(one, Symbol) and one == -1.0:
                    return self.apply("neg", other, kind=REAL)
        elif op == "div" and not isinstance(b, Symbol) and b == 1.0:
            return a
        elif op == "sub":
            if not isinstance(b, Symbol) and b == 0.0 and math.copysign(1.0, b) > 0.0:
                return a
            if isinstance(b, Symbol) and b.op == "neg":
                return self.apply("add", a, b.args[0], kind=REAL)
        elif op == "add":
            for one, other in ((a, b), (b, a)):
                if not isinstance(one, Symbol) and one == 0.0 and math.copysign(1.0, one) < 0.0:
                    return other
                if isinstance(one, Symbol) and one.op == "neg":
                    return self.apply("sub", other, one.args[0], kind=REAL)
        if op in ("add", "mul") and isinstance(a, Symbol) and isinstance(b, Symbol) and b.place < a.place:
            args = b, a
        return self.raw(op, args, kind)

    def _without_signs(self, op: str, a: Any, b: Any) -> Any:
        """Return a product or quotient with the signs of its parts taken out; None if they have none."""
        negative = [type(x) is Symbol and x.op == "neg" for x in (a, b)]
        if not any(negative):
            return None
        parts = [x.args[0] if n else x for x, n in zip((a, b), negative, strict=True)]
        if all(negative):
            return self.apply(op, *parts, kind=REAL)
        for k in (0, 1):
            if not isinstance(parts[k], Symbol):
                parts[k] = -parts[k]
                return self.apply(op, *parts, kind=REAL)
        return self.apply("neg", self.apply(op, *parts, kind=REAL), kind=REAL)

    def _whole_sum(self, a: Any, b: Any) -> Any:
        """Return the sum of two whole numbers, constants last and together."""
        if not isinstance(a, Symbol):
            a, b = b, a
        if not isinstance(b, Symbol):
            if b == 0:
                return a
            if a.op == "add" and not isinstance(a.args[1], Symbol):
                return self._whole_sum(a.args[0], a.args[1] + b)
        return self.raw("add", (a, b), INTEGER)

    def both(self, a: Any, b: Any) -> Any:
        """Return a and b, of conditions."""
        if a is True or b is True:
            return b if a is True else a
        return self.apply("and", a, b, kind=TRUTH)

    def either(self, a: Any, b: Any) -> Any:
        """Return a or b, of conditions."""
        return self.apply("or", a, b, kind=TRUTH)

    def opposite(self, a: Any) -> Any:
        """Return not a, of a condition."""
        return self.apply("not", a, kind=TRUTH)

    def select(self, condition: Any, a: Any, b: Any) -> Any:
        """Return a where a condition holds, else b, of numbers."""
        if not isinstance(condition, Symbol):
            return a if condition else b
        kind = max(kind_of(a), kind_of(b), key=_RANKS.__getitem__)
        a, b = self.converted(a, kind), self.converted(b, kind)
        same = a is b if isinstance(a, Symbol) or isinstance(b, Symbol) else repr(a) == repr(b)
        if same:
            return a
        if kind == TRUTH:
            return self.either(self.both(condition, a), self.both(self.opposite(condition), b))
        return self.raw("select", (condition, a, b), kind)

    def item(self, values: Any, k: Symbol) -> Any:
        """Return a number of a tuple, an array or a table by an index that differs between rows."""
        if isinstance(values, InputTable):
            return values[k]
        number = self._table(values)
        return self._among(list(values), k) if number is None else self.raw("gather", (number, k), REAL)

    def _table(self, values: Any) -> int | None:
        """Return the number of a table of constants; None if symbols are among its values."""
        found = self._read.get(id(values))
        if found is not None:
            return found[1]
        if not len(values):
            raise IndexError("the table is empty")
        if any(isinstance(value, Symbol) for value in values):
            return None
        numbers = tuple(float(value) for value in values)
        # By its bits: 0.0 == -0.0.
        key = array("d", numbers).tobytes()
        if key not in self._table_numbers:
            self._table_numbers[key] = len(self.tables)
            self.tables.append(numbers)
        if isinstance(values, tuple):
            # A tuple keeps its values, and its identity while it is held here.
            self._read[id(values)] = values, self._table_numbers[key]
        return self._table_numbers[key]

    def _among(self, values: list[Any], k: Symbol) -> Any:
        """Return a value by choices among all."""
        found = values[-1]
        for place in range(len(values) - 2, -1, -1):
            found = self.select(self.number("eq", k, place), values[place], found)
        return found
