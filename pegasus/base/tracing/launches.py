"""Compilation of traces by Warp, and their launches over arrays."""

import functools
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import warp as wp

from pegasus.base.compiler import announce_compilation, compiled_once, start_warp
from pegasus.base.errors import ConfigError
from pegasus.base.packed_launch import packed_launch
from pegasus.base.row_threads import portions, run_together
from pegasus.base.tracing.emission import source_of_trace
from pegasus.base.tracing.symbols import INTEGER, WORD, TraceError
from pegasus.base.tracing.traces import FEWEST_ABREAST, PADDING, Argument, Column, Trace, structure, trace

LANES = 8
"""Rows side by side: a register of AVX-512 in double precision, two of AVX2."""
_TYPES: dict[Any, Any] = {
    wp.float32: np.float32, wp.float64: np.float64, wp.int32: np.int32, wp.uint64: np.uint64
}  # fmt: skip
_KINDS = {INTEGER: np.dtype(np.int32), WORD: np.dtype(np.uint64)}
"""Types of columns of whole numbers."""
_STEPS = 4
"""Place of the number of steps among the arguments of a kernel."""


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
            with compiled_once(self.kernel.module.name):
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
                may be the array of an input. They are kept alive. A table with 7 numbers of room beyond its
                end, as `uniform_values` makes it, is used as it stands; others are copied at each call.
            count: Number of rows.
            apart: Whether several threads may run many rows.

        Raises:
            ValueError: If an array is missing, or has another shape or type.
        """
        return Launch(self, arrays, count, apart=apart)


class Launch:
    """Prepared launch of a program over arrays; calling it runs the rows. See `Program.launch`."""

    def __init__(self, program: Program, arrays: Mapping[str, Any], count: int, *, apart: bool) -> None:
        self._tables: list[tuple[Any, Any]] = []
        self._vectors: list[Any] = []
        self._device = program.device
        columns = [*program.trace.inputs, *(c for c, _ in program.trace.outputs)]
        self._kept = [self._checked(program, column, arrays, count) for column in columns]
        addresses = np.array([_address(a) for a in self._kept], dtype=np.uint64)
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
        packed = [packed_launch(program.kernel, command) for command in self._commands] if on_cpu else []
        self._packed = [part for part in packed if part is not None]
        calls = [part.run for part in self._packed] or [command.launch for command in self._commands]
        self._run = calls[0] if len(calls) == 1 else functools.partial(run_together, calls)
        self._steps = 1

    def __call__(self, steps: int = 1) -> None:
        """Run all rows.

        Args:
            steps: Number of times, each from the outputs of the last one that have the name of an input.
        """
        if self._tables:
            self._copy_tables()
        if steps != self._steps:
            for part in self._packed:
                part.set(_STEPS, steps)
            for command in self._commands:
                command.set_param_at_index(_STEPS, steps)
            self._steps = steps
        self._run()

    def _copy_tables(self) -> None:
        for padded, values in self._tables:
            if isinstance(padded, wp.array):
                wp.copy(padded, values.flatten(), count=values.size)
            else:
                padded[: values.size] = values.reshape(-1)

    def _checked(self, program: Program, column: Column, arrays: Mapping[str, Any], count: int) -> Any:
        values: Any = arrays.get(column.name)
        rows = 1 if column.uniform else count
        title = f"{program.trace.title}: the column {column.name}"
        if values is None:
            raise ValueError(f"{title} is missing")
        on_gpu = isinstance(values, wp.array)
        if on_gpu and values.dtype not in _TYPES:
            # Vectors of Warp are rows of numbers.
            self._vectors.append(values)
            real = wp.float64 if program.real == np.float64 else wp.float32
            values = wp.array(
                ptr=values.ptr, dtype=real, shape=(len(values), column.size), device=values.device
            )
        kind = np.dtype(_TYPES.get(values.dtype, object)) if on_gpu else values.dtype
        expected = _KINDS.get(column.kind, program.real)
        contiguous = values.is_contiguous if on_gpu else values.flags.c_contiguous
        if kind != expected or not contiguous or values.size < rows * column.size:
            shape: tuple[int, ...] = (rows, column.width) if column.width else (rows,)
            raise ValueError(
                f"{title} is {kind} of shape {values.shape}; "
                f"it must be contiguous {expected} of shape {shape}"
            )
        size = column.size + PADDING
        if not column.table or values.size >= size:
            return values
        padded: Any = wp.zeros(size, values.dtype, self._device) if on_gpu else np.zeros(size, program.real)
        self._tables.append((padded, values))
        return padded


def device_numbers(values: Any, device: str) -> Any:
    """Return a copy of an array of double precision on a device.

    Args:
        values: The array.
        device: `cpu`, or a GPU such as `cuda:0`.
    """
    return wp.array(values, dtype=wp.float64, device=device)


def program_of(
    function: Any,
    *arguments: Any,
    outputs: tuple[str, ...] = (),
    count: int = LANES,
    device: str = "cpu",
) -> Program:
    """Return the program of a function, traced and compiled once for each structure of its arguments.

    Args:
        function: The function; see `trace`.
        arguments: Its arguments: inputs, and literals that can be hashed.
        outputs: Names of the results.
        count: Number of rows; few of them run one after another, which is sooner compiled.
        device: See `Program`.

    Raises:
        ConfigError: If the function cannot be traced, with file and line, or not be compiled or cached.
    """
    lanes = LANES if count >= FEWEST_ABREAST else 1
    key = (
        function,
        outputs,
        lanes,
        device,
        *(
            (a.name, structure(a.value)) if isinstance(a, Argument) and a.uniform else (type(a), a)
            for a in arguments
        ),
    )
    with _LOCK:
        if key not in _PROGRAMS:
            try:
                made = trace(function, *arguments, outputs=outputs)
            except TraceError as error:
                raise ConfigError(
                    str(error),
                    field="law",
                    remedy="use numbers, vectors and the functions of pegasus.base.step_math, "
                    "or write the model in NumPy",
                ) from error
            _PROGRAMS[key] = Program(made, lanes=lanes, device=device)
        return _PROGRAMS[key]


_PROGRAMS: dict[Any, Program] = {}
_LOCK = threading.RLock()


def _address(values: Any) -> int:
    """Return the address of the first number of an array."""
    address: int = values.ptr if isinstance(values, wp.array) else values.ctypes.data
    return address


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
