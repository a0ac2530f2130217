"""Reverse mode: the vector-Jacobian product of a trace as one more trace."""

from collections.abc import Iterator
from typing import Any

from pegasus.base.tracing.symbols import REAL, Graph, Symbol
from pegasus.base.tracing.traces import Column, Trace

PREFIX = "adjoint."


def vjp(trace: Trace) -> Trace:
    """Return the trace of the derivatives by the inputs of a trace, weighted by those by its outputs.

    Its inputs are those of the trace and `adjoint.NAME` for each output; its outputs are `adjoint.NAME` for
    each input. An output that is handed on as an input, of the same name, has one column for both: the
    derivatives by the state before the step take the place of those by the state after it. Derivatives by
    uniform inputs are given for each row, to be summed; those by tables are left out. The derivative of a
    square root at 0 is 0, so that |v| v is smooth at rest, and a side of a condition that is not taken adds
    nothing, whatever it would be.

    Args:
        trace: The trace.
    """
    made, copies = _copied(trace)
    graph = made.graph
    gradients: dict[int, Any] = {}
    inputs = list(trace.inputs)

    chosen: set[int] = set()

    def add(value: Any, part: Any, *, of_choice: bool) -> None:
        if isinstance(value, Symbol) and value.kind == REAL and (isinstance(part, Symbol) or part != 0.0):
            known = gradients.get(value.place)
            gradients[value.place] = part if known is None else graph.number("add", known, part)
            if of_choice:
                chosen.add(value.place)

    for column, values in made.outputs:
        if column.uniform:
            continue
        inputs.append(Column(PREFIX + column.name, column.width))
        for k, value in enumerate(values):
            add(value, graph.raw("input", (PREFIX + column.name, k), REAL), of_choice=False)
    for symbol in reversed(copies):
        if symbol.place in gradients:
            of_choice = symbol.place in chosen
            for value, part in _pulled(graph, symbol, gradients[symbol.place], of_choice=of_choice):
                add(value, part, of_choice=of_choice or symbol.op == "select")
    outputs = []
    for column in trace.inputs:
        if not column.table:
            sources = [graph.raw("input", (column.name, k), REAL) for k in range(column.size)]
            parts = tuple(gradients.get(s.place, 0.0) for s in sources)
            outputs.append((Column(PREFIX + column.name, column.width), parts))
    return Trace(graph, inputs, outputs, f"vjp of {trace.title}")


def _copied(trace: Trace) -> tuple[Trace, tuple[Symbol, ...]]:
    """Return a trace in a graph of its own, and its operations: that of a trace is not changed."""
    graph = Graph()
    graph.tables = list(trace.graph.tables)
    places: dict[int, Any] = {}

    def of(value: Any) -> Any:
        if not isinstance(value, Symbol):
            return value
        return graph.raw("input", value.args, REAL) if value.op == "input" else places[value.place]

    for s in trace.operations:
        places[s.place] = graph.raw(s.op, tuple(map(of, s.args)), s.kind)
    outputs = [(column, tuple(map(of, values))) for column, values in trace.outputs]
    return Trace(graph, trace.inputs, outputs, trace.title), tuple(places.values())


def _pulled(graph: Graph, s: Symbol, gradient: Any, *, of_choice: bool) -> Iterator[tuple[Any, Any]]:
    """Yield the arguments of an operation and the derivatives by them, from that by its result.

    Args:
        graph: The graph.
        s: The operation.
        gradient: Derivative by its result.
        of_choice: Whether it may be 0 because the result is not used: its product with what is infinite
            there is 0 too.
    """
    number, select = graph.number, graph.select
    a, b = s.args[0], s.args[-1]

    def used(part: Any) -> Any:
        return select(number("eq", gradient, 0.0), 0.0, part) if of_choice else part

    def negative(part: Any) -> Any:
        return graph.apply("neg", part, kind=REAL)

    if s.op in ("add", "sub"):
        yield a, gradient
        yield b, gradient if s.op == "add" else negative(gradient)
    elif s.op == "mul":
        yield a, used(number("mul", gradient, b)) if isinstance(b, Symbol) else number("mul", gradient, b)
        yield b, used(number("mul", gradient, a)) if isinstance(a, Symbol) else number("mul", gradient, a)
    elif s.op == "div":
        part = number("div", gradient, b)
        yield a, used(part)
        yield b, used(negative(number("mul", part, s)))
    elif s.op == "neg":
        yield a, negative(gradient)
    elif s.op == "abs":
        yield a, select(number("lt", a, 0.0), negative(gradient), gradient)
    elif s.op == "sqrt":
        part = number("div", number("mul", 0.5, gradient), s)
        yield a, select(number("eq", s, 0.0), 0.0, used(part))
    elif s.op == "select" and s.kind == REAL:
        yield s.args[1], select(s.args[0], gradient, 0.0)
        yield b, select(s.args[0], 0.0, gradient)
