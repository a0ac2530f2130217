"""Tracing of functions: run once on symbols, compiled as a straight line of operations.

from pegasus.base.tracing import column, trace, uniform
    from pegasus.base.tracing.launches import Program

made = trace(law, uniform("drag", drag), column("velocity", Vec3), outputs=("force", "torque"))
launch = Program(made).launch(arrays, count)
launch()
"""

from pegasus.base.tracing.adjoint import vjp
from pegasus.base.tracing.symbols import TraceError
from pegasus.base.tracing.traces import (
    FEWEST_ABREAST,
    Argument,
    Column,
    Signal,
    Trace,
    column,
    folded,
    sequence,
    shape,
    structure,
    trace,
    uniform,
    uniform_values,
    varied,
)

__all__ = [
    "FEWEST_ABREAST",
    "Argument",
    "Column",
    "Signal",
    "Trace",
    "TraceError",
    "column",
    "folded",
    "sequence",
    "shape",
    "structure",
    "trace",
    "uniform",
    "uniform_values",
    "varied",
    "vjp",
]
