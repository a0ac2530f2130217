"""Recorded launches of kernels over rows."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import warp as wp

from pegasus.base.packed_launch import PackedLaunch, packed_launch
from pegasus.base.row_threads import portions, run_together


class LaunchRows(Protocol):
    """Rows of a launch, as `pegasus.base.compiler.Rows` makes them."""

    device: str
    """Device of Warp on which they are."""
    structure: Any
    """Structure of arrays that the kernel takes."""

    def exchange(self, arrays: Mapping[str, Any]) -> None:
        """Use other arrays for columns."""


class Launch:
    """Recorded launch of a kernel on the device of its rows; calling it runs the kernel.

    Args:
        kernel: Kernel of Warp.
        rows: The rows, kept alive.
        count: Number of rows.
        values: Arguments after the rows.
        apart: Whether no row reads what another writes.
    """

    saved_as = "nothing"

    def __init__(
        self, kernel: Any, rows: LaunchRows, count: int, values: Sequence[float], *, apart: bool = False
    ) -> None:
        self._kernel, self._rows, self._count = kernel, rows, count
        self._values = tuple(values)
        # One thread for all rows on the CPU, one for each on a GPU; see `kernel_of`.
        threads, runs = (1, [0, count]) if rows.device == "cpu" else (count, [0, 1])
        self._command: Any = wp.launch(
            kernel, threads, [rows.structure, *values, *runs], device=rows.device, record_cmd=True
        )
        parts = portions(count) if apart else [(0, count)]
        packed = [packed_launch(kernel, self._command) for _ in parts] if rows.device == "cpu" else []
        self._packed = [part for part in packed if part is not None]
        for part, (first, rows_of_part) in zip(self._packed, parts, strict=False):
            self._set_rows(part, first, rows_of_part)
        self._run = self._packed_run() if self._packed else self._command.launch

    def __call__(self, *values: float) -> None:
        """Run the kernel.

        Args:
            values: New arguments after the rows; those of the last call where left out.
        """
        if values and values != self._values:
            self._set(values)
        self._run()

    def move(self, arrays: Mapping[str, Any], count: int) -> None:
        """Let the next calls run over other arrays, on the CPU; the caller keeps them alive.

        Args:
            arrays: Arrays in place of those of the rows, of the same types: numbers only.
            count: Number of rows.
        """
        self._rows.exchange(arrays)
        if not self._packed:
            self._command.set_param_at_index(0, self._rows.structure)
            self._command.set_param_at_index(len(self._values) + 2, count)
            return
        self._packed = self._packed[:1]
        self._packed[0].set(0, self._rows.structure._ctype)
        self._set_rows(self._packed[0], 0, count)
        self._run = self._packed_run()

    def _set_rows(self, packed: PackedLaunch, first: int, count: int) -> None:
        """Set the rows of packed arguments."""
        place = len(self._values) + 1
        packed.set(place, first)
        packed.set(place + 1, count)

    def _packed_run(self) -> Callable[[], None]:
        """Return the launch of the packed arguments over the present rows."""
        calls = [packed.run for packed in self._packed]
        return calls[0] if len(calls) == 1 else functools.partial(run_together, calls)

    def _set(self, values: tuple[float, ...]) -> None:
        for k, value in enumerate(values):
            if not self._packed:
                self._command.set_param_at_index(k + 1, value)
            for packed in self._packed:
                packed.set(k + 1, value)
        self._values = (*values, *self._values[len(values) :])
