"""Reverse mode: the vector-Jacobian product of a trace as one more trace."""

from typing import Any

from pegasus.base.tracing.symbols import REAL, TRUTH, Graph, Symbol
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

    def add(value: Any, part: Any) -> None:
        if isinstance(value, Symbol) and value.kind == REAL and (isinstance(part, Symbol) or part != 0.0):
            known = gradients.get(value.place)
            gradients[value.place] = part if known is None else graph.number("add", known, part)

    for column, values in made.outputs:
        inputs.append(Column(PREFIX + column.name, column.width))
        for k, value in enumerate(values):
            add(value, graph.raw("input", (PREFIX + column.name, k), REAL))
    for symbol in reversed(copies):
        if symbol.place in gradients:
            _pull(graph, symbol, gradients[symbol.place], add)
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


def _pull(graph: Graph, s: Symbol, gradient: Any, add: Any) -> None:
    """Add the derivatives by the arguments of an operation, from that by its result."""
    number, select = graph.number, graph.select
    a, b = s.args[0], s.args[-1]

    def times(factor: Any) -> Any:
        """Return the gradient times a factor, 0 where the result is not used."""
        unused = number("eq", gradient, 0.0)
        return select(unused, 0.0, number("mul", gradient, factor))

    if s.op == "add":
        add(a, gradient)
        add(b, gradient)
    elif s.op == "sub":
        add(a, gradient)
        add(b, graph.apply("neg", gradient, kind=REAL))
    elif s.op == "mul":
        add(a, times(b) if isinstance(b, Symbol) else number("mul", gradient, b))
        add(b, times(a) if isinstance(a, Symbol) else number("mul", gradient, a))
    elif s.op == "div":
        part = select(number("eq", gradient, 0.0), 0.0, number("div", gradient, b))
        add(a, part)
        if isinstance(b, Symbol):
            add(
                b, select(number("eq", part, 0.0), 0.0, graph.apply("neg", number("mul", part, s), kind=REAL))
            )
    elif s.op == "neg":
        add(a, graph.apply("neg", gradient, kind=REAL))
    elif s.op == "abs":
        add(a, select(number("lt", a, 0.0), graph.apply("neg", gradient, kind=REAL), gradient))
    elif s.op == "sqrt":
        still = graph.either(number("eq", s, 0.0), number("eq", gradient, 0.0))
        add(a, select(still, 0.0, number("div", number("mul", 0.5, gradient), s)))
    elif s.op == "select" and s.kind == REAL:
        assert s.args[0].kind == TRUTH
        add(s.args[1], select(s.args[0], gradient, 0.0))
        add(b, select(s.args[0], 0.0, gradient))
