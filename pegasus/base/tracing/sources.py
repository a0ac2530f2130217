"""Sources of functions, and their statements as code in which calls and choices are those of a trace.

Each function is read for itself: names keep their meaning, and what it calls is found by Python.
"""

import ast
import functools
import linecache
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pegasus.base.tracing.symbols import TraceError

CALL, ITEM, BOTH, EITHER, NOT, CHOICE, VALUE = (
    "$call", "$item", "$both", "$either", "$not", "$choice", "$value"
)  # fmt: skip
"""Names that no source can hold."""
Functions = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Source:
    """Source of a function."""

    file: str
    node: Functions
    assigned: frozenset[str]
    """Names that the function assigns."""


@functools.cache
def source_of(code: types.CodeType) -> Source | None:
    """Return the source of a function by its code; None if it is not known.

    Args:
        code: Code of the function.
    """
    # A lambda has the names of its arguments and the column of its body.
    named = code.co_name != "<lambda>"
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for node in _functions(code) if named else _lambdas(code.co_filename):
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        if first != code.co_firstlineno:
            continue
        if isinstance(node, ast.FunctionDef):
            if node.name == code.co_name:
                # Names of functions within it are variables of it, too.
                return Source(code.co_filename, node, frozenset((*code.co_varnames, *code.co_cellvars)))
        else:
            columns = {
                place[2] for place in code.co_positions() if place[2] is not None and place[0] is not None
            }
            inside = node.body.col_offset in columns or node.body.end_col_offset in {
                place[3] for place in code.co_positions()
            }
            own = tuple(a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs))
            if own == arguments and inside:
                return Source(code.co_filename, node, frozenset())
    return None


def _functions(code: types.CodeType) -> Iterator[Functions]:
    """Yield the functions with a name in the lines of a code; to parse its whole file takes much longer."""
    first, last = code.co_firstlineno, _last_line(code)
    lines = linecache.getlines(code.co_filename)[first - 1 : last]
    if not lines:
        return
    # Lines of a class or a function stand in a block of their own.
    inner = lines[0][:1].isspace()
    before = "\n" * (first - 2) + "if True:\n" if inner else "\n" * (first - 1)
    try:
        waiting: list[Any] = [ast.parse(before + "".join(lines))]
    except SyntaxError:
        # Lines at the end that do nothing have no code.
        waiting = [_tree(code.co_filename)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            yield node
        # Functions stand among statements; expressions, most of the tree, are passed over.
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, name, ())


def _last_line(code: types.CodeType) -> int:
    inner = [_last_line(c) for c in code.co_consts if isinstance(c, types.CodeType)]
    return max(inner + [place[1] or 0 for place in code.co_positions()])


@functools.cache
def _lambdas(file: str) -> tuple[Functions, ...]:
    """Return all functions of a file that have no name."""
    return tuple(node for node in ast.walk(_tree(file)) if isinstance(node, ast.Lambda))


def _tree(file: str) -> ast.Module:
    """Return the syntax tree of a file; an empty one if it is no Python."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ast.Module([], [])


class _Rewriting(ast.NodeTransformer):
    """Writes calls, choices and numbered places of an expression as calls of the trace."""

    def _called(self, node: ast.expr, name: str, *arguments: ast.expr) -> ast.Call:
        called = ast.copy_location(ast.Name(name, ast.Load()), node)
        return ast.copy_location(ast.Call(called, list(arguments), []), node)

    def _later(self, node: ast.expr) -> ast.expr:
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.copy_location(ast.Lambda(empty, node), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        made = self._called(node, CALL, node.func, *node.args)
        made.keywords = node.keywords
        return made

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        made = node.values[-1]
        for value in reversed(node.values[:-1]):
            name = BOTH if isinstance(node.op, ast.And) else EITHER
            made = self._called(node, name, value, self._later(made))
        return made

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return self._called(node, NOT, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return self._called(node, CHOICE, node.test, self._later(node.body), self._later(node.orelse))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        left, pairs = node.left, []
        for op, right in zip(node.ops, node.comparators, strict=True):
            pairs.append(ast.copy_location(ast.Compare(left, [op], [right]), node))
            left = right
        made: ast.expr = pairs[-1]
        for pair in reversed(pairs[:-1]):
            made = self._called(node, BOTH, pair, self._later(made))
        return made

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        plain = isinstance(node.slice, ast.Constant | ast.Slice)
        if plain or not isinstance(node.ctx, ast.Load):
            return node
        return self._called(node, ITEM, node.value, node.slice)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node


class Statements:
    """Code of the statements and expressions of a function, each made when it is first reached.

    Args:
        file: File of the function, for tracebacks.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._code: dict[ast.AST, types.CodeType] = {}

    def expression(self, node: ast.expr) -> types.CodeType:
        """Return the code of an expression."""
        if node not in self._code:
            made = ast.Expression(_Rewriting().visit(_copied(node)))
            self._code[node] = compile(made, self._file, "eval")
        return self._code[node]

    def statement(self, node: ast.stmt) -> types.CodeType:
        """Return the code of a statement without branches."""
        if node not in self._code:
            made = _Rewriting().visit(_copied(node))
            self._code[node] = compile(ast.Module([made], []), self._file, "exec")
        return self._code[node]

    def assignment(self, target: ast.expr) -> types.CodeType:
        """Return the code that assigns `VALUE` to a target without rewritten calls in it."""
        if target not in self._code:
            value = ast.copy_location(ast.Name(VALUE, ast.Load()), target)
            made = ast.copy_location(ast.Assign([_copied(target)], value), target)
            self._code[target] = compile(ast.Module([made], []), self._file, "exec")
        return self._code[target]


def _copied(node: Any) -> Any:
    """Return a copy of a tree, with its places in the source."""
    if isinstance(node, list):
        return [_copied(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)()
    # Fields and places alike; contexts such as `ast.Load` have none.
    made.__dict__.update({name: _copied(value) for name, value in vars(node).items()})
    return made


def refused(file: str, node: Any, reason: str) -> TraceError:
    """Return the error of a statement that cannot be traced.

    Args:
        file: File of the function.
        node: The statement, or its line.
        reason: What is wrong.
    """
    line = node if isinstance(node, int) else node.lineno
    text = linecache.getline(file, line).strip()
    return TraceError(f"{file}:{line}: `{text}` cannot be compiled: {reason}")
