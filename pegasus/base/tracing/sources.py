"""Sources of functions, and their statements as code in which calls and choices are those of a trace.

Each function is read for itself: names keep their meaning, and what it calls is found by Python.
"""

import ast
import functools
import linecache
import types
from dataclasses import dataclass
from typing import Any

from pegasus.base.tracing.symbols import TraceError

CALL, ITEM, BOTH, EITHER, NOT, CHOICE, VALUE, STORE = (
    "$call", "$item", "$both", "$either", "$not", "$choice", "$value", "$store"
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
    for node in _functions(code.co_filename):
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        if first != code.co_firstlineno or isinstance(node, ast.Lambda) is named:
            continue
        if isinstance(node, ast.FunctionDef):
            if node.name == code.co_name:
                names = {
                    n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
                }
                inner = {n.name for n in ast.walk(node) if isinstance(n, ast.FunctionDef) and n is not node}
                return Source(code.co_filename, node, frozenset(names | inner))
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


@functools.cache
def _functions(file: str) -> tuple[Functions, ...]:
    """Return all functions of a file."""
    text = "".join(linecache.getlines(file))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda))


class _Rewriting(ast.NodeTransformer):
    """Writes calls, choices and numbered places of an expression as calls of the trace."""

    def _called(self, node: ast.expr, name: str, *arguments: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(arguments), []), node)

    def _later(self, node: ast.expr) -> ast.expr:
        empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        return ast.copy_location(ast.Lambda(empty, node), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        made = ast.Call(ast.Name(CALL, ast.Load()), [node.func, *node.args], node.keywords)
        return ast.copy_location(made, node)

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
            self._code[node] = compile(ast.fix_missing_locations(made), self._file, "eval")
        return self._code[node]

    def statement(self, node: ast.stmt) -> types.CodeType:
        """Return the code of a statement without branches."""
        if node not in self._code:
            made = _Rewriting().visit(_copied(node))
            self._code[node] = compile(ast.fix_missing_locations(ast.Module([made], [])), self._file, "exec")
        return self._code[node]

    def assignment(self, target: ast.expr) -> types.CodeType:
        """Return the code that assigns `VALUE` to a target without rewritten calls in it."""
        if target not in self._code:
            made = ast.copy_location(ast.Assign([_copied(target)], ast.Name(VALUE, ast.Load())), target)
            self._code[target] = compile(
                ast.fix_missing_locations(ast.Module([made], [])), self._file, "exec"
            )
        return self._code[target]


def _copied(node: Any) -> Any:
    """Return a copy of a tree, with its places in the source."""
    if isinstance(node, list):
        return [_copied(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: _copied(value) for name, value in ast.iter_fields(node)})
    return ast.copy_location(made, node)


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
