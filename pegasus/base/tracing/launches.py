"""Compilation of traces by Warp, and their launches over arrays."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp

from pegasus.base.arrays import Array
from pegasus.base.compiler import announce_compilation, start_warp
from pegasus.base.errors import ConfigError
from pegasus.base.row_threads import portions, run_together
from pegasus.base.tracing.emission import source_of_trace
from pegasus.base.tracing.traces import TABLE_PADDING, Column, Trace

LANES = 8
"""Rows side by side: a register of AVX-512 in double precision, two of AVX2."""
_REALS: dict[Any, Any] = {wp.float32: np.float32, wp.float64: np.float64}


class Program:
    """Compiled trace.

    Args:
        trace: The trace.
        real: `numpy.float64`, in which Python, one row and several rows side by side have the same bits, or
            `numpy.float32`.
        lanes: Number of rows side by side on the CPU: 1, 2, 4, 8 or 16; on a GPU each thread runs one row.
        device: `cpu`, or a GPU such as `cuda:0`.

    Raises:
        ConfigError: If it cannot be compiled or cached.
    """

    def __init__(
        self, trace: Trace, *, real: Any = np.float64, lanes: int = LANES, device: str = "cpu"
    ) -> None:
        start_warp()
        self.trace, self.device, self.real = trace, device, np.dtype(real)
        lanes = lanes if device == "cpu" else 1
        text = source_of_trace(trace, single=self.real == np.float32, lanes=lanes)
        self.kernel = kernel_of_text(f"{trace.key}_{self.real.char}{lanes}", text)
        announce_compilation(self.kernel.module.name)
        try:
            self.kernel.module.load(device, 1 if device == "cpu" else 256)
        except Exception as error:
            reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise ConfigError(
                f"{trace.title} cannot be compiled: {reason}",
                field="step",
                remedy=f"make {wp.config.kernel_cache_dir} writable, or reinstall warp-lang",
            ) from error

    def launch(self, arrays: Mapping[str, Any], count: int, *, apart: bool = True) -> "Launch":
        """Return a prepared launch over rows 0 to count - 1 of arrays.

        Args:
            arrays: Arrays by the names of the trace's columns, C-contiguous: (N,) or (N, width), uniform
                inputs (width,). Those of NumPy on the CPU, of Warp on either. Outputs are written; an output
                may be the array of an input. They are kept alive.
            count: Number of rows.
            apart: Whether several threads may run many rows.

        Raises:
            ValueError: If an array is missing, or has another shape or type.
        """
        return Launch(self, arrays, count, apart=apart)


class Launch:
    """Prepared launch of a program over arrays; calling it runs the rows. See `Program.launch`."""

    def __init__(self, program: Program, arrays: Mapping[str, Any], count: int, *, apart: bool) -> None:
        self._device = program.device
        columns = [*program.trace.inputs, *(c for c, _ in program.trace.outputs)]
        self._kept = [_checked(program, column, arrays, count) for column in columns]
        apart_by = [_width(a) for a in self._kept]
        addresses = np.array([*map(_address, self._kept), *apart_by], dtype=np.uint64)
        self._addresses: Any = wp.array(addresses, dtype=wp.uint64, device=self._device)
        on_cpu = self._device == "cpu"
        parts = portions(count) if on_cpu and apart else [(0, count)]
        self._commands: list[Any] = [
            wp.launch(
                program.kernel,
                1 if on_cpu else rows,
                [self._addresses, first, first + rows, rows if on_cpu else 1, 1],
                device=self._device,
                record_cmd=True,
                block_dim=1 if on_cpu else 256,
            )
            for first, rows in parts
        ]
        self._calls = [command.launch for command in self._commands]
        self._steps = 1

    def __call__(self, steps: int = 1) -> None:
        """Run all rows.

        Args:
            steps: Number of times, each from the outputs of the last one that have the name of an input.
        """
        if steps != self._steps:
            for command in self._commands:
                command.set_param_at_index(4, steps)
            self._steps = steps
        if len(self._calls) == 1:
            self._calls[0]()
        else:
            run_together(self._calls)


def _checked(program: Program, column: Column, arrays: Mapping[str, Any], count: int) -> Any:
    """Return the array of a column.

    Raises:
        ValueError: If it is missing, or has another shape or type.
    """
    values = arrays.get(column.name)
    rows = 1 if column.uniform else count
    title = f"{program.trace.title}: the column {column.name}"
    if values is None:
        raise ValueError(f"{title} is missing")
    on_gpu = isinstance(values, wp.array)
    kind = np.dtype(_REALS.get(values.dtype, object)) if on_gpu else values.dtype
    contiguous = values.is_contiguous if on_gpu else values.flags.c_contiguous
    if column.rows and not on_gpu and not contiguous:
        # Views of the first numbers of longer rows.
        contiguous = values[:1].flags.c_contiguous and values[0].size >= column.size
    size = column.size + TABLE_PADDING if column.table else column.size
    if kind != program.real or not contiguous or values.size < rows * size:
        shape = (rows, column.width) if column.width else (rows,)
        room = f", and room for {TABLE_PADDING} more" if column.table else ""
        raise ValueError(
            f"{title} is {kind} of shape {values.shape}; "
            f"it must be contiguous {program.real} of shape {shape}{room}"
        )
    return values


def on_device(values: Array, device: str) -> Any:
    """Return numbers as an array on a device: the same array on the CPU, a copy on a GPU.

    Args:
        values: The numbers.
        device: `cpu`, or a GPU such as `cuda:0`.
    """
    return values if device == "cpu" else wp.array(values, dtype=wp.float64, device=device)


def _address(values: Any) -> int:
    """Return the address of the first number of an array."""
    address: int = values.ptr if isinstance(values, wp.array) else values.ctypes.data
    return address


def _width(values: Any) -> int:
    """Return how far the rows of an array are apart, in numbers."""
    width: int = values.strides[0] // (8 if values.dtype in (wp.float64, np.float64) else 4)
    return width


@functools.cache
def kernel_of_text(key: str, text: str) -> Any:
    """Return the kernel of Warp with the text of a trace; its code is kept by the text."""
    module = wp.get_module(f"pegasus_trace_{key}")
    # Without fused operations on a GPU too: each rounds once, as in Python.
    module.options |= {"enable_backward": False, "block_dim": 1, "fuse_fp": False}

    @wp.func_native(text)  # type: ignore[untyped-decorator]
    def rows(columns: wp.array(dtype=wp.uint64), first: wp.int64, last: wp.int64, steps: wp.int64):  # type: ignore
        ...

    @wp.kernel(module=module)  # type: ignore[untyped-decorator]
    def run(columns: wp.array(dtype=wp.uint64), first: int, last: int, span: int, steps: int):  # type: ignore
        start = first + wp.tid() * span  # type: ignore[operator]
        rows(columns, wp.int64(start), wp.int64(wp.min(start + span, last)), wp.int64(steps))

    return run
