"""Compilation of traces by Warp, and their launches over arrays."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import warp as wp

from pegasus.base.compiler import announce_compilation, start_warp
from pegasus.base.errors import ConfigError
from pegasus.base.row_threads import portions, run_together
from pegasus.base.tracing.emission import source_of_trace
from pegasus.base.tracing.packing import Command
from pegasus.base.tracing.traces import Column, Trace, structure, trace

LANES = 8
"""Rows side by side: a register of AVX-512 in double precision, two of AVX2."""
_REALS: dict[Any, Any] = {wp.float32: np.float32, wp.float64: np.float64}
_SEVERAL = 4
"""Number of rows from which on they are run side by side."""
_PADDING = 7
"""Numbers beyond the end of a table that a read of a row may touch."""


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
        """Return a prepared launch over rows 0 to count - 1 of arrays; see `launch_parts`."""
        return self.launch_parts([Part(arrays, 0, count)], apart=apart)

    def launch_parts(self, parts: "Sequence[Part]", *, apart: bool = True) -> "Launch":
        """Return a prepared launch over rows of several sets of arrays.

        Args:
            parts: The sets, such as those of vehicles of one structure; one alone on a GPU.
            apart: Whether several threads may run many rows.

        Raises:
            ValueError: If an array is missing, or has another shape or type.
        """
        return Launch(self, parts, apart=apart)


@dataclass(frozen=True)
class _Function:
    """Function with the structure of its arguments."""

    function: Callable[..., Any]
    structure: Any
    outputs: tuple[str, ...]
    arguments: tuple[Any, ...] = field(compare=False)


def shared_program(
    function: Callable[..., Any], arguments: Sequence[Any], outputs: Sequence[str], *, lanes: int
) -> Program:
    """Return the program of a function, the same one for all arguments of one structure.

    Args:
        function: The function; it can be hashed.
        arguments: Its arguments; see `trace`.
        outputs: Names of its results.
        lanes: Number of rows side by side.

    Raises:
        TraceError: If the function cannot be traced.
        ConfigError: If it cannot be compiled or cached.
    """
    kinds = tuple(structure(argument) for argument in arguments)
    return _program_of(_Function(function, kinds, tuple(outputs), tuple(arguments)), lanes)


@functools.cache
def _program_of(made: _Function, lanes: int) -> Program:
    return Program(trace(made.function, *made.arguments, outputs=made.outputs), lanes=lanes)


@dataclass(frozen=True)
class Part:
    """Rows of a launch."""

    arrays: Mapping[str, Any]
    """Arrays by the names of the trace's columns, C-contiguous: (N,) or (N, width), uniform inputs (width,),
    sequences (length, width). Those of NumPy on the CPU, of Warp on either. Outputs are written; an output
    may be the array of an input. They are kept alive; tables that code reads by an index are copied."""
    first: int
    """First row."""
    last: int
    """Row after the last one."""


def lanes_for(parts: Sequence[Part]) -> int:
    """Return the number of rows side by side that pays for parts of a launch on the CPU."""
    return LANES if max(part.last - part.first for part in parts) >= _SEVERAL else 1


class Launch:
    """Prepared launch of a program over arrays; calling it runs the rows. See `Program.launch_parts`."""

    def __init__(self, program: Program, parts: Sequence[Part], *, apart: bool) -> None:
        self._device = program.device
        columns = [*program.trace.inputs, *(c for c, _ in program.trace.outputs)]
        self._kept = [[self._checked(program, c, part) for c in columns] for part in parts]
        on_cpu = self._device == "cpu"
        total = sum(part.last - part.first for part in parts)
        blocks: list[list[int]] = []
        runs: list[tuple[int, int]] = []
        for begin, rows in portions(total) if on_cpu and apart else [(0, total)]:
            found = _within(parts, begin, begin + rows)
            runs.append((len(blocks), len(found)))
            blocks += [[first, last, *map(_address, self._kept[k])] for k, first, last in found]
        self._blocks: Any = wp.array(
            np.array(blocks, dtype=np.uint64).reshape(-1), dtype=wp.uint64, device=self._device
        )
        self._commands = [
            Command(
                program.kernel,
                wp.launch(
                    program.kernel,
                    size if on_cpu else total,
                    [self._blocks, len(columns) + 2, first, int(on_cpu), 0, 1],
                    device=self._device,
                    record_cmd=True,
                    block_dim=1 if on_cpu else 256,
                ),
            )
            for first, size in runs
        ]
        self._calls = [command.run for command in self._commands]
        self._setters = [[command.setter(k) for command in self._commands] for k in (4, 5)]
        self._step, self._steps = 0, 1

    def __call__(self, steps: int = 1, *, step: int = 0) -> None:
        """Run all rows.

        Args:
            steps: Number of times, each from the outputs of the last one that have the name of an input.
            step: Number of the step, which chooses the row of sequences.
        """
        if step != self._step:
            self._step = step
            for set_step in self._setters[0]:
                set_step(step)
        if steps != self._steps:
            self._steps = steps
            for set_steps in self._setters[1]:
                set_steps(steps)
        if len(self._calls) == 1:
            self._calls[0]()
        else:
            run_together(self._calls)

    def _checked(self, program: Program, column: Column, part: Part) -> Any:
        values = part.arrays.get(column.name)
        rows = (column.length or 1) if column.uniform else part.last
        title = f"{program.trace.title}: the column {column.name}"
        if values is None:
            raise ValueError(f"{title} is missing")
        on_gpu = isinstance(values, wp.array)
        kind = np.dtype(_REALS.get(values.dtype, object)) if on_gpu else values.dtype
        contiguous = values.is_contiguous if on_gpu else values.flags.c_contiguous
        if kind != program.real or not contiguous or values.size < rows * column.size:
            shape = (rows, column.width) if column.width else (rows,)
            raise ValueError(
                f"{title} is {kind} of shape {values.shape}; "
                f"it must be contiguous {program.real} of shape {shape}"
            )
        if not column.table:
            return values
        size = column.size + _PADDING
        if on_gpu:
            longer: Any = wp.zeros(size, values.dtype, self._device)
            wp.copy(longer, values.flatten(), count=values.size)
            return longer
        return np.append(values.reshape(-1), np.zeros(_PADDING, program.real))


def _within(parts: Sequence[Part], begin: int, end: int) -> list[tuple[int, int, int]]:
    """Return number, first and last row of the parts between two rows of all parts together."""
    found, passed = [], 0
    for k, part in enumerate(parts):
        shift, count = part.first - passed, part.last - part.first
        first, last = max(begin, passed) + shift, min(end, passed + count) + shift
        if first < last:
            found.append((k, first, last))
        passed += count
    return found


def _address(values: Any) -> int:
    """Return the address of the first number of an array."""
    address: int = values.ptr if isinstance(values, wp.array) else values.__array_interface__["data"][0]
    return address


@functools.cache
def kernel_of_text(key: str, text: str) -> Any:
    """Return the kernel of Warp with the text of a trace; its code is kept by the text."""
    module = wp.get_module(f"pegasus_trace_{key}")
    # Without fused operations on a GPU too: each rounds once, as in Python.
    module.options |= {"enable_backward": False, "block_dim": 1, "fuse_fp": False}

    @wp.func_native(text)  # type: ignore[untyped-decorator]
    def rows(  # type: ignore[no-untyped-def]
        columns: wp.array(dtype=wp.uint64),  # type: ignore[valid-type]
        part: int,
        first: wp.int64,
        last: wp.int64,
        step: wp.int64,
        steps: wp.int64,
    ): ...

    @wp.kernel(module=module)  # type: ignore[untyped-decorator]
    def run(columns: wp.array(dtype=wp.uint64), width: int, begin: int, by_part: int, step: int, steps: int):  # type: ignore
        part, row = 0, wp.tid()
        first, last = wp.int64(row), wp.int64(row + 1)  # type: ignore[arg-type, operator]
        if by_part != 0:
            part = (begin + row) * width  # type: ignore[operator]
            first, last = wp.int64(columns[part]), wp.int64(columns[part + 1])
        rows(columns, part + 2, first, last, wp.int64(step), wp.int64(steps))

    return run
