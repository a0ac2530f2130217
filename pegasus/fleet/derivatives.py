"""Derivatives of the steps of a fleet: products of vectors with the Jacobian of each row, in reverse."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pegasus.base.arrays import Array
from pegasus.base.tracing import vjp
from pegasus.fleet.columns import columns_of, view

_PREFIX = "adjoint."


class Reverse:
    """Reverse of the step of a fleet.

    Args:
        program: Program of its step.
        columns: Its columns.
        tables: Its tables.
        count: Number of rows N.
    """

    def __init__(
        self, program: Any, columns: Mapping[str, Array], tables: Mapping[str, Array], count: int
    ) -> None:
        from pegasus.base.tracing.launches import Program

        trace = vjp(program.trace)
        every = [*trace.inputs, *(column for column, _ in trace.outputs)]
        own = [c for c in every if c.name.startswith(_PREFIX)]
        self._arrays = columns_of(own, {}, count, program.real)
        made = Program(trace, real=program.real, planar=True)
        self._launch: Callable[[], None] = made.launch({**columns, **tables, **self._arrays}, count)
        after = {_PREFIX + column.name for column, _ in program.trace.outputs}
        self._summed = self._arrays.keys() - after
        """Derivatives by what is the same before and after a step."""
        self._views = {c.name.removeprefix(_PREFIX): view(self._arrays[c.name], c.width, count) for c in own}

    def run(self, weights: Mapping[str, Array], steps: int, go_back: Callable[[], None]) -> dict[str, Array]:
        """Return the derivatives by the columns before some steps of their weighted values after these.

        Args:
            weights: Weights of columns, as they are seen: (N, width), or (N,).
            steps: Number of steps.
            go_back: Sets the columns to what they were before the last step; called for each.
        """
        for values in self._arrays.values():
            values[...] = 0.0
        for name, given in weights.items():
            self._views[name][...] = given
        sums = {name: np.zeros_like(self._arrays[name]) for name in self._summed}
        for _ in range(steps):
            go_back()
            self._launch()
            for name, total in sums.items():
                total += self._arrays[name]
        for name, total in sums.items():
            self._arrays[name][...] = total
        return {name: values.copy() for name, values in self._views.items()}
