"""Run of functions on symbols.

A function is run statement by statement as Python runs it. Where a condition differs between rows, both
sides are run, and each name then holds a choice among their values. What it calls is run in the same way;
a function is known by itself, never by its name.
"""

import ast
import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pegasus.base import step_types
from pegasus.base.step_types import Quat, Vec3, Word, bits_of, floor, length, number_of, sqrt
from pegasus.base.tracing import sources
from pegasus.base.tracing.choices import Mixed, merged
from pegasus.base.tracing.sources import Source, Statements, refused, source_of
from pegasus.base.tracing.symbols import INTEGER, REAL, TRUTH, WORD, Graph, Symbol, TraceError, kind_of

_NORMAL, _BREAK, _CONTINUE, _RETURN = "normal", "break", "continue", "return"
_JUMPS = {ast.Break: _BREAK, ast.Continue: _CONTINUE}
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Pass, ast.FunctionDef, ast.Import,
           ast.ImportFrom)  # fmt: skip
_DEEPEST = 60
_OPEN = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_OLD = "$old"
_PLAIN = (float, int, bool)
_READING = frozenset({"get", "index", "items", "keys", "values"})
_LIBRARIES = sys.stdlib_module_names | {"numpy"}
_UNSET = object()
_HERE = str(Path(__file__).parent)

Names = dict[str, Any]
Outcomes = dict[str, tuple[Any, Any]]
"""Condition and value or names by the way in which a block of statements ends."""


class Runner:
    """Run of functions on the symbols of a graph.

    Args:
        graph: The graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph, self._depth = graph, 0
        apply = graph.apply
        self._own: dict[Any, Callable[..., Any]] = {
            sqrt: lambda x: apply("sqrt", graph.converted(x, REAL), kind=REAL),
            floor: lambda x: apply("floor", graph.converted(x, REAL), kind=REAL),
            bits_of: lambda x: apply("bits", graph.converted(x, REAL), kind=WORD),
            number_of: lambda x: apply("number", x, kind=REAL),
            float: lambda x: graph.converted(x, REAL),
            int: lambda x: graph.converted(x, INTEGER),
            Word: lambda x: graph.converted(x, WORD),
            min: functools.partial(self._extreme, "lt"),
            max: functools.partial(self._extreme, "gt"),
        }
        self._helpers = {
            sources.CALL: self.call,
            sources.ITEM: self._item,
            sources.BOTH: functools.partial(self._joined, "and"),
            sources.EITHER: functools.partial(self._joined, "or"),
            sources.NOT: lambda x: (
                graph.opposite(graph.converted(x, TRUTH)) if isinstance(x, Symbol) else not x
            ),
            sources.CHOICE: self._choice,
        }

    def call(self, function: Any, /, *args: Any, **named: Any) -> Any:
        """Return what a function gives for arguments that may hold symbols."""
        if isinstance(function, functools.partial):
            return self.call(function.func, *function.args, *args, **{**function.keywords, **named})
        if isinstance(function, types.MethodType):
            return self.call(function.__func__, function.__self__, *args, **named)
        if not isinstance(function, types.FunctionType):
            return self._not_a_function(function, args, named)
        if function is length:
            return len(args[0])
        if any(isinstance(a, Symbol) for a in args) and function in self._own:
            return self._own[function](*args)
        within = sources.CALL in function.__globals__
        constant = function.__closure__ is None and not named and all(type(a) in _PLAIN for a in args)
        rewritten = within and function.__name__ == "<lambda>"
        if (constant and not within) or rewritten or str(function.__module__).partition(".")[0] in _LIBRARIES:
            return function(*args, **named)
        source = source_of(function.__code__)
        # Only functions with branches need their source; without it those of operators run as they are.
        return function(*args, **named) if source is None else self._run(function, source, args, named)

    def _not_a_function(self, function: Any, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Return what a class, a function of C, or another object that can be called gives."""
        if not isinstance(function, type | types.BuiltinFunctionType):
            inner = type(function).__call__
            if isinstance(inner, types.FunctionType):
                return self.call(inner, function, *args, **named)
            return function(*args, **named)
        if function in (min, max) and len(args) == 1:
            args = tuple(args[0])
        if function is sum:
            args = (list(args[0]), *args[1:])
            if any(isinstance(value, Symbol) for value in args[0]):
                raise TypeError("`sum` has had other bits since Python 3.12; add the numbers in a loop")
        if any(isinstance(a, Symbol) for a in args) and function in self._own:
            return self._own[function](*args)
        is_container = isinstance(getattr(function, "__self__", None), list | dict | set)
        if is_container and isinstance(self.graph.path, Symbol) and function.__name__ not in _READING:
            raise TypeError("a list cannot change under a condition that differs between rows")
        return function(*args, **named)

    def _run(
        self, function: types.FunctionType, source: Source, args: tuple[Any, ...], named: Mapping[str, Any]
    ) -> Any:
        bound = _bound(function, args, named)
        names: Names = {**function.__globals__, **self._helpers}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            names[name] = cell.cell_contents
        names |= bound
        if self._depth >= _DEEPEST:
            raise refused(source.file, source.node, "the function calls itself without end")
        self._depth += 1
        body = _Body(self.graph, source, frozenset((*source.assigned, *bound)))
        try:
            if isinstance(source.node, ast.Lambda):
                return eval(_statements(source.file).expression(source.node.body), names)
            outcomes = body.block(source.node.body, names)
            return body.result(outcomes)
        finally:
            self._depth -= 1

    def _item(self, values: Any, k: Any) -> Any:
        if not isinstance(k, Symbol):
            return values[k]
        if isinstance(values, Vec3 | Quat):
            values = [values[n] for n in range(3 if isinstance(values, Vec3) else 4)]
        return self.graph.item(values, k)

    def _joined(self, op: str, first: Any, later: Callable[[], Any]) -> Any:
        if not isinstance(first, Symbol):
            return later() if bool(first) == (op == "and") else first
        other = later()
        if first.kind == TRUTH == kind_of(other):
            return self.graph.apply(op, first, other, kind=TRUTH)
        ways = (other, first) if op == "and" else (first, other)
        return merged(self.graph, self.graph.converted(first, TRUTH), *ways)

    def _choice(self, condition: Any, first: Callable[[], Any], other: Callable[[], Any]) -> Any:
        if not isinstance(condition, Symbol):
            return first() if condition else other()
        return merged(self.graph, self.graph.converted(condition, TRUTH), first(), other())

    def _extreme(self, op: str, *args: Any) -> Any:
        found, *others = args
        for other in others:
            found = self.graph.select(self.graph.number(op, other, found), other, found)
        return found


def _bound(function: types.FunctionType, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name, with defaults."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    plain = not code.co_flags & _OPEN and not code.co_kwonlyargcount and not code.co_posonlyargcount
    if plain and len(args) <= len(names) and not hasattr(function, "__wrapped__"):
        given = {**dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)), **named}
        given.update(zip(names, args, strict=False))
        if given.keys() == set(names) and named.keys().isdisjoint(names[: len(args)]):
            return given
    # Other forms take thirty times longer, and errors are those of Python.
    bound = inspect.signature(function).bind(*args, **named)
    bound.apply_defaults()
    return bound.arguments


@functools.cache
def _statements(file: str) -> Statements:
    return Statements(file)


class _Body:
    """Run of the statements of one call of a function.

    Args:
        graph: The graph.
        source: Source of the function.
        assigned: Names that hold values of this call.
    """

    def __init__(self, graph: Graph, source: Source, assigned: frozenset[str]) -> None:
        self._graph, self._file = graph, source.file
        # In the same order in each process: the key of a trace holds the order of its operations.
        self._assigned = sorted(assigned)
        self._code = _statements(source.file)

    def result(self, outcomes: Outcomes) -> Any:
        """Return what the function returns; None at its end."""
        if _RETURN not in outcomes:
            return None
        _, value = outcomes[_RETURN]
        if _NORMAL in outcomes and value is not None:
            raise refused(self._file, value[0], "the function returns nothing on another way")
        return None if value is None else value[1]

    def block(self, statements: list[ast.stmt], names: Names) -> Outcomes:
        """Run statements, and return the ways in which they end."""
        graph, before = self._graph, self._graph.path
        reached: Any = True
        ended: Outcomes = {}
        try:
            for statement in statements:
                outcomes = self._statement(statement, names)
                for way, (condition, value) in outcomes.items():
                    if way != _NORMAL:
                        here = graph.both(reached, condition)
                        ended[way] = (
                            self._either(ended[way], (here, value)) if way in ended else (here, value)
                        )
                if _NORMAL not in outcomes:
                    return ended
                condition, names_after = outcomes[_NORMAL]
                if names_after is not names:
                    names.clear()
                    names.update(names_after)
                reached = graph.both(reached, condition)
                graph.path = graph.both(before, reached)
            return {**ended, _NORMAL: (reached, names)}
        finally:
            graph.path = before

    def _either(self, first: tuple[Any, Any], later: tuple[Any, Any]) -> tuple[Any, Any]:
        """Return the outcome of two that end alike, of which the first is reached first."""
        condition, value = first
        return self._graph.either(condition, later[0]), self._chosen(condition, value, later[1])

    def _chosen(self, condition: Any, a: Any, b: Any) -> Any:
        """Return names, or a line and a value, by a condition."""
        if isinstance(a, dict):
            return self._joined_names(condition, a, b)
        if a is None or b is None:
            if a is b:
                return None
            raise refused(self._file, (a or b)[0], "the function returns nothing on another way")
        try:
            return b[0], merged(self._graph, condition, a[1], b[1])
        except TypeError as error:
            raise refused(self._file, b[0], f"it returns another kind of value than line {a[0]}") from error

    def _joined_names(self, condition: Any, a: Names, b: Names) -> Names:
        made = dict(a)
        for name in self._assigned:
            one, other = a.get(name, _UNSET), b.get(name, _UNSET)
            if one is other:
                continue
            if one is _UNSET or other is _UNSET:
                # Set on one way only: used after it, Python raises an error on the other.
                made[name] = other if one is _UNSET else one
                continue
            try:
                made[name] = merged(self._graph, condition, one, other)
            except TypeError:
                made[name] = Mixed(name)
        return made

    def _statement(self, statement: ast.stmt, names: Names) -> Outcomes:
        try:
            return self._outcomes(statement, names)
        except (TraceError, RecursionError):
            raise
        except Exception as error:
            line, trace = statement.lineno, error.__traceback__
            file = self._file
            while trace is not None:
                code = trace.tb_frame.f_code
                if not code.co_filename.startswith(_HERE) and code.co_filename != step_types.__file__:
                    file, line = code.co_filename, trace.tb_lineno
                trace = trace.tb_next
            raise refused(file, line, str(error) or type(error).__name__) from error

    def _outcomes(self, statement: ast.stmt, names: Names) -> Outcomes:
        graph = self._graph
        if isinstance(statement, ast.Assign | ast.AugAssign) and isinstance(graph.path, Symbol):
            self._stored(statement, names)
        elif isinstance(statement, _SIMPLE):
            exec(self._code.statement(statement), names)
        elif isinstance(statement, ast.Return):
            if statement.value is None:
                return {_RETURN: (True, None)}
            value = eval(self._code.expression(statement.value), names)
            return {_RETURN: (True, (statement.lineno, value))}
        elif type(statement) in _JUMPS:
            return {_JUMPS[type(statement)]: (True, names)}
        elif isinstance(statement, ast.If):
            test = eval(self._code.expression(statement.test), names)
            if not isinstance(test, Symbol):
                return self.block(statement.body if test else statement.orelse, names)
            return self._branches(graph.converted(test, TRUTH), statement, names)
        elif isinstance(statement, ast.For | ast.While) and statement.orelse:
            raise TypeError("a step function has no `else` of a loop")
        elif isinstance(statement, ast.For):
            return self._loop(statement, iter(eval(self._code.expression(statement.iter), names)), names)
        elif isinstance(statement, ast.While):
            return self._loop(statement, None, names)
        elif isinstance(statement, ast.Assert):
            if isinstance(eval(self._code.expression(statement.test), names), Symbol):
                raise TypeError("an assertion about numbers that differ between rows")
        elif isinstance(statement, ast.Raise):
            if isinstance(graph.path, Symbol):
                raise TypeError("an error cannot be raised for some rows; return a number that tells of it")
            exec(self._code.statement(statement), names)
        else:
            raise TypeError(f"a step function has no `{type(statement).__name__.lower()}`")
        return {_NORMAL: (True, names)}

    def _branches(self, test: Symbol, statement: ast.If, names: Names) -> Outcomes:
        graph, before = self._graph, self._graph.path
        ways: list[Outcomes] = []
        for condition, block in ((test, statement.body), (graph.opposite(test), statement.orelse)):
            graph.path = graph.both(before, condition)
            try:
                ways.append(self.block(block, dict(names)))
            finally:
                graph.path = before
        made: Outcomes = {}
        for way in {**ways[0], **ways[1]}:
            if way in ways[0] and way in ways[1]:
                conditions = ways[0][way][0], ways[1][way][0]
                condition = graph.select(test, *conditions)
                made[way] = condition, self._chosen(test, ways[0][way][1], ways[1][way][1])
            elif way in ways[0]:
                made[way] = graph.both(test, ways[0][way][0]), ways[0][way][1]
            else:
                made[way] = graph.both(graph.opposite(test), ways[1][way][0]), ways[1][way][1]
        return made

    def _loop(self, statement: ast.For | ast.While, values: Any, names: Names) -> Outcomes:
        """Run a loop, which is written out."""
        graph, before = self._graph, self._graph.path
        reached: Any = True
        ended: Outcomes = {}
        left: tuple[Any, Any] | None = None
        try:
            while True:
                if isinstance(statement, ast.While):
                    test = eval(self._code.expression(statement.test), names)
                    if isinstance(test, Symbol):
                        raise TypeError("a loop whose length differs between rows; count over a range")
                    if not test:
                        break
                else:
                    value = next(values, _UNSET)
                    if value is _UNSET:
                        break
                    names[sources.VALUE] = value
                    exec(self._code.assignment(statement.target), names)
                outcomes = self.block(statement.body, dict(names))
                after: tuple[Any, Any] | None = None
                for way, (condition, value) in outcomes.items():
                    here = graph.both(reached, condition)
                    if way in (_NORMAL, _CONTINUE):
                        after = (
                            (condition, value) if after is None else self._either((condition, value), after)
                        )
                    elif way == _BREAK:
                        left = (here, value) if left is None else self._either(left, (here, value))
                    else:
                        ended[way] = (
                            self._either(ended[way], (here, value)) if way in ended else (here, value)
                        )
                if after is None:
                    reached = False
                    break
                reached = graph.both(reached, after[0])
                graph.path = graph.both(before, reached)
                names.clear()
                names.update(after[1])
        finally:
            graph.path = before
        if reached is False and left is None:
            return ended
        if left is not None:
            both = left if reached is False else self._either(left, (reached, dict(names)))
            return {**ended, _NORMAL: both}
        return {**ended, _NORMAL: (reached, names)}

    def _stored(self, statement: ast.Assign | ast.AugAssign, names: Names) -> None:
        """Run an assignment under a condition: places keep their values where it does not hold."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if not any(map(_holds_place, targets)):
            exec(self._code.statement(statement), names)
            return
        if len(targets) != 1 or isinstance(targets[0], ast.Tuple | ast.List):
            raise TypeError("assign one place at a time under a condition that differs between rows")
        place = targets[0]
        reading = _reading(place)
        old = eval(self._code.expression(reading), names)
        value = eval(self._code.expression(statement.value), names)
        if isinstance(statement, ast.AugAssign):
            names[sources.VALUE], names[_OLD] = value, old
            value = eval(self._code.expression(_changed(statement)), names)
        names[sources.VALUE] = merged(self._graph, self._graph.path, value, old)
        exec(self._code.assignment(place), names)


@functools.cache
def _changed(statement: ast.AugAssign) -> ast.expr:
    """Return the expression of the value that an assignment such as `x += 1` assigns."""
    old, other = (ast.copy_location(ast.Name(n, ast.Load()), statement) for n in (_OLD, sources.VALUE))
    return ast.copy_location(ast.BinOp(old, statement.op, other), statement)


@functools.cache
def _holds_place(target: Any) -> bool:
    """Return whether a target of an assignment is, or holds, a place in another object."""
    return any(isinstance(part, ast.Subscript | ast.Attribute) for part in ast.walk(target))


@functools.cache
def _reading(place: Any) -> Any:
    """Return an expression that reads a place."""
    made = ast.copy_location(type(place)(**dict(ast.iter_fields(place))), place)
    made.ctx = ast.Load()
    return made
