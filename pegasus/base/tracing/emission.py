"""C++ text of traces: a straight line of operations on one row, or on several rows side by side."""

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pegasus.base.tracing.branches import WORTH, Branch, with_branches
from pegasus.base.tracing.symbols import INTEGER, REAL, TRUTH, WORD, Symbol
from pegasus.base.tracing.traces import Column, Trace

_SUPPORT = Path(__file__).with_name("lanes.h")
_TYPES = {REAL: "px_reals", INTEGER: "px_wholes", WORD: "px_words", TRUTH: "px_truths"}
_STORED = {REAL: "px_real", INTEGER: "int", WORD: "px_uword"}
"""Types of the numbers of columns."""
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "eq": "==", "ne": "!=", "and": "&", "or": "|", "bitand": "&", "bitxor": "^", "shift": ">>",
}  # fmt: skip
_WORTH_ABREAST = 100
"""Number of operations from which on it is worth while to ask whether any of several rows needs them."""
_DEEPEST = 16
"""Number of operations that stand within each other."""
_ROW = 8
"""Numbers of a packed row of tables: one line of a cache in double precision."""


def source_of_trace(trace: Trace, *, single: bool, lanes: int, planar: bool = False) -> str:
    """Return the body of a C++ function of (columns, part, first, last, step, steps) that runs a trace.

    `columns` holds the addresses of inputs, then of outputs, then how far their rows are apart, or how long a
    table is, from its place `part` on. Rows from `first` to `last` - 1 are run, each for a number of steps,
    of which outputs with names of inputs are handed on. Sequences are read at the number `step`.

    Args:
        trace: The trace.
        single: Compute in single precision.
        lanes: Number of rows side by side, 1 for one after another.
        planar: Columns hold all rows of their first number, then those of the second, and so on; arrays have
            room for whole lanes.
    """
    return _Text(trace, single=single, lanes=lanes, planar=planar).text()


class _Text:
    def __init__(self, trace: Trace, *, single: bool, lanes: int, planar: bool) -> None:
        self._trace, self._single, self._lanes, self._planar = trace, single, lanes, planar
        self._places = {c.name: k for k, c in enumerate(trace.inputs)}
        self._carried = {c.name for c, _ in trace.outputs} & set(self._places)
        self._fixed = self._uniform_symbols()
        self._packs = _packed_reads(trace)
        used = [a for s in trace.operations for a in s.operands]
        used += [x for _, values in trace.outputs for x in values if isinstance(x, Symbol)]
        self._uses = Counter(x.place for x in used)
        self._nested: set[int] = set()
        """Operations that are written where they are used."""
        self._fused = self._fused_products() if single else {}
        users = Counter(a.place for s in trace.operations for a in s.operands)
        taken = Counter(m.place for m in self._fused.values())
        self._absorbed = {place for place, count in taken.items() if users[place] == count}
        self._tables: list[str] = []
        self._arrays: dict[Any, str] = {}
        self._sizes: dict[str, int] = {}

    def text(self) -> str:
        """Return the whole text."""
        trace = self._trace
        count, total = len(trace.inputs), len(trace.inputs) + len(trace.outputs)
        moving = [(k, c) for k, c in enumerate(trace.inputs) if not c.uniform]
        outputs = [(count + k, c, values) for k, (c, values) in enumerate(trace.outputs)]
        results = [(k, c) for k, c, _ in outputs if not c.uniform]
        types = [_STORED[c.kind] for c in (*trace.inputs, *(c for _, c, _ in outputs))]
        lines = [f"{t}* const c{k} = ({t}*)columns.data[part + {k}];" for k, t in enumerate(types)]
        tables = [k for k, c in enumerate(trace.inputs) if c.table]
        lines += [f"const px_whole w{k} = (px_whole)columns.data[part + {total + k}];" for k in tables]
        # Rows of some arrays are longer than what is used of them; of others the length is known.
        widths = {k: f"w{k}" if c.rows else str(c.size) for k, c in (*moving, *results)}
        buffered = self._lanes > 1 and not self._planar
        for k, c in enumerate(trace.inputs):
            if c.uniform:
                row = f" + step % {c.length} * {c.size}" if c.length else ""
                lines += [f"const px_reals i{k}_{n} = px_reals((c{k}{row})[{n}]);" for n in self._read(c)]
        lines += self._statements([s for s in trace.operations if s.place in self._fixed])
        varying = [s for s in trace.operations if s.place not in self._fixed]
        kept = {x.place for _, values in trace.outputs for x in values if isinstance(x, Symbol)}
        body = self._branched(varying, kept)
        lines.append(f"for (long long row = first; row < last; row += {self._lanes}) {{")
        for k, c in (*moving, *results):
            if c.rows or self._planar:
                lines.append(f"long long w{k} = columns.data[part + {total + k}];")
            step = "row" if self._planar else f"row * {widths[k]}"
            lines.append(f"{types[k]}* p{k} = c{k} + {step};")
        if buffered:
            lines += [f"{types[k]} b{k}[{c.size * self._lanes}];" for k, c in (*moving, *results)]
            lines += ["const long long left = last - row;", f"if (left < {self._lanes}) {{"]
            lines += [f"px_take(p{k}, {widths[k]}, {c.size}, left, b{k});" for k, c in moving]
            lines += [f"p{k} = b{k};" for k, _ in (*moving, *results)]
            lines += [f"w{k} = {c.size};" for k, c in (*moving, *results) if c.rows] + ["}"]
        for k, c in moving:
            kind = _TYPES[c.kind] if c.name in self._carried else f"const {_TYPES[c.kind]}"
            load = f"{_TYPES[c.kind][:-1]}_load"
            lines += [f"{kind} i{k}_{n} = {load}({self._at(k, widths[k], n)});" for n in self._read(c)]
        for k, c, _ in outputs:
            lines += [f"{_TYPES[c.kind]} o{k}_{n} = {_TYPES[c.kind]}(0);" for n in range(c.size)]
        loop = bool(self._carried)
        if loop:
            lines.append("for (long long turn = 0; turn < steps; turn++) {")
        lines += body
        for k, c, values in outputs:
            lines += [f"o{k}_{n} = {self._name(x, c.kind)};" for n, x in enumerate(values)]
            if c.uniform:
                lines.append(f"px_signal(c{k}, o{k}_0, last - row);")
        for k, c in results:
            if c.name in self._carried:
                lines += [f"i{self._places[c.name]}_{n} = o{k}_{n};" for n in range(c.size)]
        if loop:
            lines.append("}")
        for k, c in results:
            store = f"{_TYPES[c.kind][:-1]}_store"
            lines += [f"{store}({self._at(k, widths[k], n)}, o{k}_{n});" for n in range(c.size)]
        if buffered:
            lines.append(f"if (left < {self._lanes}) {{")
            for k, c in results:
                width = f"columns.data[part + {total + k}]" if c.rows else c.size
                lines.append(f"px_give(b{k}, c{k} + row * {width}, {width}, {c.size}, left);")
            lines.append("}")
        lines.append("}")
        head = [
            f"#define PEGASUS_REAL {'float' if self._single else 'double'}",
            f"#define PEGASUS_WHOLE {'int' if self._single else 'long long'}",
            f"#define PEGASUS_LANES {self._lanes}",
        ]
        body = ["px_body { px_exact px_aligned", *self._tables, *lines, "px_end } px_run;"]
        return "\n".join([*head, _SUPPORT.read_text(), *body]) + "\n"

    def _at(self, k: int, width: str, n: int) -> str:
        """Return address, distance of rows and place of number n of column k for loads and stores."""
        return f"p{k} + {n} * w{k}, 1, 0" if self._planar else f"p{k}, {width}, {n}"

    def _read(self, column: Column) -> list[int]:
        """Return the components of an input that are read; all if it is handed on."""
        everything = column.name in self._carried
        return [n for n in range(column.size) if everything or (column.name, n) in self._trace.read]

    def _branched(self, symbols: Sequence[Symbol], kept: set[int]) -> list[str]:
        """Return the lines of operations; those that only one side of a condition needs are in branches."""
        lines: list[str] = []
        line: list[Symbol] = []
        worth = WORTH if self._lanes == 1 else _WORTH_ABREAST
        for part in with_branches(symbols, kept | self._packs.keys(), worth):
            if isinstance(part, Symbol):
                line.append(part)
                continue
            lines += self._statements(line)
            line = []
            lines += self._branch(part)
        return lines + self._statements(line)

    def _branch(self, part: Branch) -> list[str]:
        """Return the lines of a branch: a side is run if any of the rows needs it."""
        asked = self._name(part.choices[0].args[0], TRUTH)
        lines = [f"{_TYPES[s.kind]} v{s.place} = {_TYPES[s.kind]}(0);" for s in part.choices]
        for k, condition in ((1, asked), (2, f"px_not({asked})")):
            needed = {s.args[k].place for s in part.choices if isinstance(s.args[k], Symbol)}
            lines += [f"if (px_any({condition})) {{", *self._branched(part.sides[k - 1], needed)]
            for s in part.choices:
                new = self._name(s.args[k], s.kind)
                select = "px_select_words" if s.kind == WORD else "px_select"
                lines.append(f"v{s.place} = {new if k == 1 else f'{select}({asked}, v{s.place}, {new})'};")
            lines.append("}")
        return lines

    def _uniform_symbols(self) -> set[int]:
        """Return the operations that are the same for all rows; they stand before the loop."""
        fixed: set[int] = set()
        uniform = {c.name for c in self._trace.inputs if c.uniform}
        for s in self._trace.operations:
            if all(a.args[0] in uniform if a.op == "input" else a.place in fixed for a in s.operands):
                fixed.add(s.place)
        return fixed

    def _fused_products(self) -> dict[int, Symbol]:
        """Return the product that each sum takes in, by the number of the sum: both are rounded once."""
        kept = {x.place for _, values in self._trace.outputs for x in values if isinstance(x, Symbol)}
        users: dict[int, list[Symbol]] = {}
        for s in self._trace.operations:
            for a in s.operands:
                users.setdefault(a.place, []).append(s)

        def is_sum(s: Symbol) -> bool:
            return s.kind == REAL and s.op in ("add", "sub")

        found: dict[int, Symbol] = {}
        for s in filter(is_sum, self._trace.operations):
            products = [
                a
                for a in s.operands
                if a.op == "mul"
                and a.place not in kept
                and (a.place in self._fixed) == (s.place in self._fixed)
                and all(map(is_sum, users[a.place]))
            ]
            if products:
                found[s.place] = min(products, key=lambda a: len(users[a.place]))
        return found

    def _statements(self, symbols: Sequence[Symbol]) -> list[str]:
        lines: list[str] = []
        done: set[int] = set()
        self._nested |= self._used_once_within(symbols)
        for s in symbols:
            if s.place in self._absorbed:
                continue
            pack = self._packs.get(s.place)
            if s.place in self._nested:
                continue
            if pack is None or s.place in self._fixed:
                lines.append(f"const {_TYPES[s.kind]} v{s.place} = {self._expression(s)};")
                continue
            if pack[0].place not in done:
                done.add(pack[0].place)
                lines += ["px_fence", *self._packed(pack)]
        return lines

    def _used_once_within(self, symbols: Sequence[Symbol]) -> set[int]:
        """Return the operations of a straight line that one other operation of it uses, once."""
        depths: dict[int, int] = {s.place: 0 for s in symbols}
        found: set[int] = set()
        for s in symbols:
            for k, a in enumerate(s.args):
                if not isinstance(a, Symbol) or self._uses.get(a.place) != 1 or a.place not in depths:
                    continue
                # Macros that read an argument twice, and sides of a choice, take names.
                named = s.op == "floordiv" or (s.op == "select" and k > 0) or s.place in self._packs
                if not named and a.place not in self._packs and depths[a.place] < _DEEPEST:
                    found.add(a.place)
                    depths[s.place] = max(depths[s.place], depths[a.place] + 1)
        return found

    def _packed(self, pack: Sequence[Symbol]) -> list[str]:
        """Return the lines that read several numbers of tables at one place."""
        parts = [_place(s) for s in pack]
        table, base, first = parts[0][0], parts[0][1], min(offset for _, _, offset in parts)
        place = pack[0].place
        if all(other == table for other, _, _ in parts):
            array, size = self._table(table)
            index = self._name(base, INTEGER)
            columns = [offset - first for _, _, offset in parts]
            if first:
                index = f"{index} + px_wholes({first})"
        else:
            array, size = self._packed_table(tuple((t, offset) for t, _, offset in parts))
            index = f"{self._name(base, INTEGER)} * px_wholes({_ROW})"
            columns = list(range(len(parts)))
        lines = [f"px_reals g{place}[{_ROW}]; px_eight({array}, {index}, {size}, g{place});"]
        return lines + [
            f"const px_reals v{s.place} = g{place}[{column}];"
            for s, column in zip(pack, columns, strict=True)
        ]

    def _packed_table(self, parts: tuple[tuple[Any, int], ...]) -> tuple[str, int]:
        """Return the array in which numbers of several tables at one place lie side by side."""
        if parts not in self._arrays:
            tables = [self._trace.graph.tables[t] for t, _ in parts]
            rows = max(map(len, tables))
            # Rows beyond the end of one table hold its last number, as a single read of it does.
            numbers = [
                t[min(max(r + offset, 0), len(t) - 1)] if k < len(parts) else 0.0
                for r in range(rows)
                for k, (t, offset) in enumerate(
                    [
                        *((t, o) for t, (_, o) in zip(tables, parts, strict=True)),
                        *[((0.0,), 0)] * (_ROW - len(parts)),
                    ]
                )
            ]
            self._arrays[parts] = self._array(numbers)
        return self._arrays[parts], self._sizes[self._arrays[parts]]

    def _table(self, table: Any) -> tuple[str, int | str]:
        """Return the name of the array of a table, and its length or the name of that."""
        if isinstance(table, str):
            return f"c{self._places[table]}", f"w{self._places[table]}"
        if table not in self._arrays:
            self._arrays[table] = self._array(self._trace.graph.tables[table])
        return self._arrays[table], self._sizes[self._arrays[table]]

    def _array(self, numbers: Sequence[float]) -> str:
        name = f"t{len(self._tables)}"
        self._sizes[name] = len(numbers)
        # Rows of eight may be read from any place on.
        text = ",".join(self._literal(x) for x in (*numbers, *[0.0] * (_ROW - 1)))
        self._tables.append(f"alignas(64) static const px_real {name}[] = {{{text}}};")
        return name

    def _literal(self, x: float) -> str:
        if self._single:
            # A guard against a division by zero is not to become zero.
            least = float(np.finfo(np.float32).tiny)
            with np.errstate(over="ignore"):
                x = float(np.float32(x)) if x == 0.0 or not abs(x) < least else math.copysign(least, x)
        if x != x:
            return "px_real(NAN)"
        if abs(x) == float("inf"):
            return "px_real(INFINITY)" if x > 0 else "-px_real(INFINITY)"
        return f"px_real({float(x)!r})"

    def _name(self, value: Any, kind: str) -> str:
        """Return the name or the literal of a value of a kind."""
        if isinstance(value, Symbol):
            if value.op == "input":
                return f"i{self._places[value.args[0]]}_{value.args[1]}"
            name = f"({self._expression(value)})" if value.place in self._nested else f"v{value.place}"
            if value.kind == kind:
                return name
            if value.kind == TRUTH:
                return f"px_select({name}, px_reals(1), px_reals(0))"
            return f"px_convert({name}, {_TYPES[kind]})"
        if kind == TRUTH:
            return "px_yes" if value else "px_no"
        if kind == REAL:
            return f"px_reals({self._literal(value)})"
        return f"{_TYPES[kind]}({int(value)}{'ull' if kind == WORD else 'll'})"

    def _expression(self, s: Symbol) -> str:
        kinds = [a.kind for a in s.args if isinstance(a, Symbol)]
        if s.op == "gather":
            array, size = self._table(s.args[0])
            return f"px_gather({array}, {self._name(s.args[1], INTEGER)}, {size})"
        if s.op == "select":
            parts = self._name(s.args[0], TRUTH), *(self._name(a, s.kind) for a in s.args[1:])
            return f"px_select{'_words' if s.kind == WORD else ''}({', '.join(parts)})"
        if s.place in self._fused:
            return self._sum_with_product(s, self._fused[s.place])
        if s.op in _SIGNS:
            a, b = (self._name(x, kinds[0]) for x in s.args)
            made = f"{a} {_SIGNS[s.op]} {b}"
            compared = s.kind == TRUTH and kinds[0] != TRUTH
            return f"px_is({made})" if compared else made
        if s.op == "neg":
            return f"-{self._name(s.args[0], s.kind)}"
        if s.op == "not":
            return f"px_not({self._name(s.args[0], TRUTH)})"
        if s.op in ("int", "real", "word"):
            return f"px_convert({self._name(s.args[0], kinds[0])}, {_TYPES[s.kind]})"
        divisor = s.args[-1]
        if s.op == "floordiv" and isinstance(divisor, int) and divisor > 0 and divisor.bit_count() == 1:
            # An arithmetic shift rounds down, too.
            return f"{self._name(s.args[0], kinds[0])} >> {divisor.bit_length() - 1}"
        names = (self._name(x, kinds[0]) for x in s.args)
        return f"px_{s.op}({', '.join(names)})"

    def _sum_with_product(self, s: Symbol, product: Symbol) -> str:
        first, other = (product is s.args[0]), s.args[1] if product is s.args[0] else s.args[0]
        a, b, c = (self._name(x, REAL) for x in (*product.args, other))
        if s.op == "sub":
            a, c = (a, f"-{c}") if first else (f"-{a}", c)
        return f"px_fma({a}, {b}, {c})"


def _place(s: Symbol) -> tuple[Any, Any, int]:
    """Return table, index and constant offset of a read of a table."""
    table, index = s.args
    if isinstance(index, Symbol) and index.op == "add":
        for one, other in (index.args, index.args[::-1]):
            if isinstance(one, Symbol) and not isinstance(other, Symbol):
                return table, one, int(other)
    return table, index, 0


def _packed_reads(trace: Trace) -> dict[int, list[Symbol]]:
    """Return the reads of tables that share a place and are done at once, by the number of each."""
    groups: dict[Any, list[Symbol]] = {}
    for s in trace.operations:
        if s.op == "gather" and isinstance(s.args[1], Symbol):
            table, index, _ = _place(s)
            groups.setdefault((index.place, table if isinstance(table, str) else None), []).append(s)
    packs: dict[int, list[Symbol]] = {}
    for group in groups.values():
        for pack in _fitting(group):
            if len(pack) >= 3:
                packs |= {s.place: pack for s in pack}
    return packs


def _fitting(group: Sequence[Symbol]) -> list[list[Symbol]]:
    """Return the parts of a group of reads that fit in a row."""
    parts: list[list[Symbol]] = []
    for s in sorted(group, key=lambda s: (str(_place(s)[0]), _place(s)[2])):
        table, _, offset = _place(s)
        last = parts[-1] if parts else []
        near = last and all(_place(t)[0] == table for t in last) and offset - _place(last[0])[2] < _ROW
        mixed = last and not isinstance(table, str) and len(last) < _ROW
        if near or mixed:
            last.append(s)
        else:
            parts.append([s])
    return parts
