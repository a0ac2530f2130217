"""Compilation of traces by Warp, and their launches over arrays."""

import functools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp

from pegasus.base.arrays import Array
from pegasus.base.compiler import announce_compilation, compiled_once, optimization, start_warp
from pegasus.base.errors import ConfigError
from pegasus.base.packed_launch import packed_launch
from pegasus.base.row_threads import portions, run_together
from pegasus.base.system import has_wide_registers
from pegasus.base.tracing.codes import Code, code_of, kept_code
from pegasus.base.tracing.symbols import INTEGER, WORD, TraceError
from pegasus.base.tracing.traces import FEWEST_ABREAST, TABLE_PADDING, Column, Trace, structure, trace

LANES = 8
"""Rows side by side: a register of AVX-512 in double precision, of AVX2 in single precision."""
_TYPES: dict[Any, Any] = {
    wp.float32: np.float32, wp.float64: np.float64, wp.int32: np.int32, wp.uint64: np.uint64
}  # fmt: skip
_KINDS = {INTEGER: np.dtype(np.int32), WORD: np.dtype(np.uint64)}
"""Types of columns of whole numbers."""


class Program:
    """Compiled trace.

    Args:
        trace: The trace, or its code, which stands for `real`, `lanes` and `planar`.
        real: `numpy.float64`, in which Python, one row and several rows side by side have the same bits, or
            `numpy.float32`.
        lanes: Number of rows side by side on the CPU: 1, 2, 4, 8 or 16, by default what fits the registers;
            on a GPU each thread runs one row.
        device: `cpu`, or a GPU such as `cuda:0`.
        planar: Columns of several numbers have the shape (width, P): all rows of their first number, then
            those of the next. P is the number of rows or more, a multiple of `lanes`, of all columns alike;
            rows behind the last one may be run.

    Raises:
        ConfigError: If it cannot be compiled or cached.
    """

    saved_as = "code"

    def __init__(
        self,
        trace: Trace | Code,
        *,
        real: Any = np.float64,
        lanes: int | None = None,
        device: str = "cpu",
        planar: bool = False,
    ) -> None:
        start_warp()
        if isinstance(trace, Trace):
            single = np.dtype(real) == np.float32
            widest = 2 * LANES if single and has_wide_registers() else LANES
            abreast = (lanes or widest) if device == "cpu" else 1
            trace = code_of(trace, single=single, lanes=abreast, planar=planar)
        self.code, self.device = trace, device
        self.real = np.dtype(np.float32 if trace.single else np.float64)
        self.kernel = kernel_of_text(trace.key, trace.text)
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


def traced(function: Callable[..., Any], *arguments: Any, outputs: Sequence[str] = ()) -> Trace:
    """Return the trace of a function; see `trace`.

    Raises:
        ConfigError: If the function cannot be traced, with file and line.
    """
    try:
        return trace(function, *arguments, outputs=outputs)
    except TraceError as error:
        raise ConfigError(
            str(error),
            field="law",
            remedy="use numbers, vectors and the functions of pegasus.base.step_math",
        ) from error


def program_of(
    function: Callable[..., Any],
    *arguments: Any,
    outputs: Sequence[str] = (),
    count: int = LANES,
    device: str = "cpu",
) -> Program:
    """Return the program of a function, traced and compiled once for each structure of its arguments.

    Args:
        function: The function; see `trace`.
        arguments: Its arguments: inputs, and literals that can be hashed.
        outputs: Names of the results; see `trace`.
        count: Number of rows; few of them run one after another, which is sooner compiled.
        device: See `Program`.

    Raises:
        ConfigError: If the function cannot be traced, with file and line, or not be compiled or cached.
    """
    kinds = tuple(structure(argument) for argument in arguments)
    lanes = LANES if count >= FEWEST_ABREAST and device == "cpu" else 1
    key = function, kinds, tuple(outputs), lanes
    with _LOCK:
        if key not in _CODES:
            _CODES[key] = kept_code(
                lambda: code_of(traced(function, *arguments, outputs=outputs), single=False, lanes=lanes),
                *key,
            )
        code = _CODES[key]
        place = code.key, device
        if place not in _PROGRAMS:
            _PROGRAMS[place] = Program(code, device=device)
        return _PROGRAMS[place]


_CODES: dict[Any, Code] = {}
_PROGRAMS: dict[Any, Program] = {}
_LOCK = threading.RLock()


@dataclass(frozen=True)
class Part:
    """Rows of a launch."""

    arrays: Mapping[str, Any]
    """Arrays by the names of the trace's columns, C-contiguous: (N,) or (N, width), uniform inputs (width,),
    sequences (length, width). Those of NumPy on the CPU, of Warp on either. Rows of columns with several
    numbers or vectors may be longer. Outputs are written; an output may be the array of an input. They are
    kept alive. Tables that code reads by an index have 7 numbers of room behind their end, as
    `uniform_values` makes it."""
    first: int
    """First row."""
    last: int
    """Row after the last one."""


def rows_of(parts: Sequence[Part]) -> int:
    """Return the largest number of rows of parts of a launch."""
    return max(part.last - part.first for part in parts)


class Launch:
    """Prepared launch of a program over arrays; calling it runs the rows. See `Program.launch_parts`."""

    saved_as = "nothing"

    def __init__(self, program: Program, parts: Sequence[Part], *, apart: bool) -> None:
        self._device, self._parts = program.device, parts
        columns = [*program.code.inputs, *program.code.outputs]
        self._kept = [[_checked(program, c, part) for c in columns] for part in parts]
        on_cpu = self._device == "cpu"
        total = sum(part.last - part.first for part in parts)
        blocks: list[list[int]] = []
        runs: list[tuple[int, int]] = []
        for begin, rows in portions(total) if on_cpu and apart else [(0, total)]:
            found = _within(parts, begin, begin + rows)
            runs.append((len(blocks), len(found)))
            for k, first, last in found:
                kept = self._kept[k]
                widths = [
                    values.size - TABLE_PADDING if c.table else _width(values)
                    for c, values in zip(columns, kept, strict=True)
                ]
                blocks.append([first, last, *map(_address, kept), *widths])
        self._blocks: Any = wp.array(
            np.array(blocks, dtype=np.uint64).reshape(-1), dtype=wp.uint64, device=self._device
        )
        commands: list[Any] = [
            wp.launch(
                program.kernel,
                size if on_cpu else total,
                [self._blocks, 2 * len(columns) + 2, first, int(on_cpu), 0, 1],
                device=self._device,
                record_cmd=True,
                block_dim=1 if on_cpu else 256,
            )
            for first, size in runs
        ]
        packed = [packed_launch(program.kernel, command) for command in commands] if on_cpu else []
        self._commands = [part for part in packed if part is not None] or commands
        self._calls = [part.run for part in packed if part is not None] or [c.launch for c in commands]
        self._setters = [[_setter(command, k) for command in self._commands] for k in (4, 5)]
        self._step, self._steps = 0, 1
        several = len(self._calls) > 1
        only: Any = self._calls[0]
        own = only if isinstance(only, functools.partial) else functools.partial(only)
        run: Any = functools.partial(run_together, self._calls) if several else own
        run.launch = self
        self.run: Callable[[], None] = run
        """Function that runs all rows once, in less time than a call; it keeps the launch alive."""

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
        self.run()


def _setter(command: Any, place: int) -> Callable[[int], None]:
    """Return the function that sets an argument of a recorded launch."""
    if hasattr(command, "setter"):
        made: Callable[[int], None] = command.setter(place)
        return made
    return functools.partial(command.set_param_at_index, place)


def _checked(program: Program, column: Column, part: Part) -> Any:
    """Return the array of a column.

    Raises:
        ValueError: If it is missing, or has another shape or type.
    """
    values: Any = part.arrays.get(column.name)
    rows = (column.length or 1) if column.uniform else part.last
    title = f"{program.code.title}: the column {column.name}"
    if values is None:
        raise ValueError(f"{title} is missing")
    on_gpu = isinstance(values, wp.array)
    if on_gpu and values.dtype not in _TYPES:
        values = _as_rows(values, wp.float64 if program.real == np.float64 else wp.float32)
    kind = np.dtype(_TYPES.get(values.dtype, object)) if on_gpu else values.dtype
    expected = _KINDS.get(column.kind, program.real)
    contiguous = values.is_contiguous if on_gpu else values.flags.c_contiguous
    planar = program.code.planar and not column.uniform
    if planar:
        rows = -(-rows // program.code.lanes) * program.code.lanes
    elif column.rows and not on_gpu and not contiguous:
        # Views of the first numbers of longer rows.
        contiguous = values[:1].flags.c_contiguous and values[0].size >= column.size
    size = column.size + TABLE_PADDING if column.table else column.size
    if kind != expected or not contiguous or values.size < rows * size:
        shape: tuple[int, ...] = (rows, column.width) if column.width else (rows,)
        shape = shape[::-1] if planar else shape
        room = f", and room for {TABLE_PADDING} more" if column.table else ""
        raise ValueError(
            f"{title} is {kind} of shape {values.shape}; "
            f"it must be contiguous {expected} of shape {shape}{room}"
        )
    return values


def _as_rows(values: Any, real: Any) -> Any:
    """Return vectors of Warp as rows of numbers, on the same memory."""
    width = values.strides[0] // np.dtype(_TYPES[real]).itemsize
    return wp.array(ptr=values.ptr, dtype=real, shape=(len(values), width), device=values.device)


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


def _width(values: Any) -> int:
    """Return how far the rows of an array are apart, in numbers."""
    size = values.itemsize if isinstance(values, np.ndarray) else np.dtype(_TYPES[values.dtype]).itemsize
    width: int = values.strides[0] // size
    return width


def on_device(values: Array, device: str) -> Any:
    """Return numbers as an array on a device: the same array on the CPU, a copy on a GPU.

    Args:
        values: The numbers.
        device: `cpu`, or a GPU such as `cuda:0`.
    """
    return values if device == "cpu" else wp.array(values, device=device)


@functools.cache
def kernel_of_text(key: str, text: str, within: str = "") -> Any:
    """Return the kernel of Warp with the text of a trace; its code is kept by the text.

    Args:
        key: Equal for equal texts.
        text: The text; see `source_of_trace`.
        within: Name of a module for several kernels, which are compiled together; one of its own if empty.
    """
    module = wp.get_module(within or f"pegasus_trace_{key}")
    # Without fused operations on a GPU too: each rounds once, as in Python.
    module.options |= {"enable_backward": False, "block_dim": 1, "fuse_fp": False} | optimization()

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
