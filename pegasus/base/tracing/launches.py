"""Compilation of traces by Warp, and their launches over arrays."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp

from pegasus.base.arrays import Array
from pegasus.base.compiler import start_warp
from pegasus.base.errors import ConfigError
from pegasus.base.tracing.emission import source_of_trace
from pegasus.base.tracing.traces import Column, Trace

LANES = 8
"""Rows side by side: a register of AVX-512, two of AVX2."""
_PADDING = 7
"""Numbers beyond the end of a table that a read of a row may touch."""


class Program:
    """Compiled trace.

    Args:
        trace: The trace.
        real: `numpy.float64`, in which Python, one row and several rows side by side have the same bits, or
            `numpy.float32`.
        lanes: Number of rows side by side on the CPU: 1, 2, 4, 8 or 16.
        device: `cpu`, or a GPU such as `cuda:0`, on which each thread runs one row.
    """

    def __init__(
        self, trace: Trace, *, real: Any = np.float64, lanes: int = LANES, device: str = "cpu"
    ) -> None:
        start_warp()
        self.trace, self.device, self.real = trace, device, np.dtype(real)
        text = source_of_trace(trace, single=self.real == np.float32, lanes=1 if device != "cpu" else lanes)
        self.kernel = _kernel(f"{trace.key}_{self.real.char}_{lanes}", text)
        try:
            self.kernel.module.load(device, 1 if device == "cpu" else None)
        except Exception as error:
            reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise ConfigError(
                f"{trace.title} cannot be compiled: {reason}",
                field="step",
                remedy=f"make {wp.config.kernel_cache_dir} writable, or reinstall warp-lang",
            ) from error

    def launch(self, arrays: Mapping[str, Array], count: int) -> "Launch":
        """Return a prepared launch over rows 0 to count - 1 of arrays.

        Args:
            arrays: Arrays by the names of the trace's columns, C-contiguous: (N,) or (N, width), uniform
                inputs (width,); outputs are written. They are kept alive.
            count: Number of rows.
        """
        return Launch(self, arrays, count)


class Launch:
    """Prepared launch of a program over arrays in memory shared with NumPy; calling it runs the rows.

    Args:
        program: The program.
        arrays: Arrays by name.
        count: Number of rows.

    Raises:
        ValueError: If an array is missing, or has another shape or type.
    """

    def __init__(self, program: Program, arrays: Mapping[str, Array], count: int) -> None:
        self._tables: list[tuple[Array, Array]] = []
        columns = [*program.trace.inputs, *(c for c, _ in program.trace.outputs)]
        self._kept = [self._checked(program, column, arrays, count) for column in columns]
        self._addresses = np.array([a.ctypes.data for a in self._kept], dtype=np.uint64)
        self._steps = 1
        shared: Any = wp.array(self._addresses, dtype=wp.uint64, device="cpu", copy=False)
        self._command: Any = wp.launch(
            program.kernel, 1, [shared, 0, count, 1], device="cpu", record_cmd=True, block_dim=1
        )

    def __call__(self, steps: int = 1) -> None:
        """Run all rows.

        Args:
            steps: Number of times, each from the outputs of the last one that have the name of an input.
        """
        for padded, values in self._tables:
            padded[: values.size] = values.reshape(-1)
        if steps != self._steps:
            self._command.set_param_at_index(3, steps)
            self._steps = steps
        self._command.launch()

    def _checked(self, program: Program, column: Column, arrays: Mapping[str, Array], count: int) -> Array:
        values = arrays.get(column.name)
        rows = 1 if column.uniform else count
        if values is None:
            raise ValueError(f"{program.trace.title}: the column {column.name} is missing")
        if values.dtype != program.real or not values.flags.c_contiguous or values.size < rows * column.size:
            shape = (rows, column.width) if column.width else (rows,)
            raise ValueError(
                f"{program.trace.title}: the column {column.name} is {values.dtype} of shape {values.shape}; "
                f"it must be contiguous {program.real} of shape {shape}"
            )
        if not column.table:
            return values
        padded: Array = np.zeros(column.size + _PADDING, dtype=program.real)
        self._tables.append((padded, values))
        return padded


@functools.cache
def _kernel(key: str, text: str) -> Any:
    """Return the kernel of Warp with the text of a trace; its code is kept by the text."""
    module = wp.get_module(f"pegasus_trace_{key}")
    module.options |= {"enable_backward": False, "block_dim": 1}

    @wp.func_native(text)  # type: ignore[untyped-decorator]
    def rows(columns: wp.array(dtype=wp.uint64), first: wp.int64, last: wp.int64, steps: wp.int64):  # type: ignore
        ...

    @wp.kernel(module=module)  # type: ignore[untyped-decorator]
    def run(columns: wp.array(dtype=wp.uint64), first: int, last: int, steps: int):  # type: ignore
        rows(columns, wp.int64(first + wp.tid()), wp.int64(last), wp.int64(steps))  # type: ignore[operator]

    return run
