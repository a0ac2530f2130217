"""Recorded launches of kernels over rows."""

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import warp as wp

from pegasus.base.row_threads import portions, run_together


class LaunchRows(Protocol):
    """Rows of a launch, as `pegasus.base.compiler.Rows` makes them."""

    device: str
    """Device of Warp on which they are."""
    structure: Any
    """Structure of arrays that the kernel takes."""
    adjoint: Any
    """Structure of their derivatives; None without them."""

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
        threads = count
        runs: list[int] = []
        if not kernel.module.options["enable_backward"]:
            # One thread for all rows on the CPU, one for each on a GPU; see `kernel_of`.
            threads, runs = (1, [0, count]) if rows.device == "cpu" else (count, [0, 1])
        self._command: Any = wp.launch(
            kernel, threads, [rows.structure, *values, *runs], device=rows.device, record_cmd=True
        )
        self._packed: list[Any] = []
        self._run: Callable[[], None] = self._command.launch
        # Since Warp 1.13 the arguments are passed in one structure: packed once here, a launch takes 1 us
        # in place of 3.
        packs = hasattr(kernel, "_invoke_cache") and getattr(self._command, "block_dim", 1) == 1
        if packs and rows.device == "cpu":
            arguments = self._command.params[1:]
            kind = _packed_arguments(*map(type, arguments))
            parts = portions(count) if apart and runs else [(0, count)]
            self._packed = [kind(*arguments) for _ in parts]
            if runs:
                for packed, part in zip(self._packed, parts, strict=True):
                    self._set_rows(packed, *part)
            self._run = self._packed_run()

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
        self._packed[0].argument_0 = self._rows.structure._ctype
        self._set_rows(self._packed[0], 0, count)
        self._run = self._packed_run()

    def _set_rows(self, packed: Any, first: int, count: int) -> None:
        """Set the rows of packed arguments."""
        place = len(self._values) + 1
        setattr(packed, f"argument_{place}", first)
        setattr(packed, f"argument_{place + 1}", count)

    def _packed_run(self) -> Callable[[], None]:
        """Return the launch of the packed arguments over the present rows."""
        bounds, forward = self._command.params[0], self._command.hooks.forward
        calls = [functools.partial(forward, ctypes.byref(bounds), ctypes.byref(p)) for p in self._packed]
        return calls[0] if len(calls) == 1 else functools.partial(run_together, calls)

    def _set(self, values: tuple[float, ...]) -> None:
        for k, value in enumerate(values):
            if not self._packed:
                self._command.set_param_at_index(k + 1, value)
            for packed in self._packed:
                setattr(packed, f"argument_{k + 1}", value)
        self._values = (*values, *self._values[len(values) :])

    def backward(self) -> None:
        """Add derivatives by what the launch read, from those by what it wrote, with its last values.

        The launches of a computation are run backward in reverse order; derivatives by what was written are
        consumed. Arrays must still hold what the launch read: no kernel may overwrite its inputs.

        Raises:
            ValueError: If the kernel or the rows were made without gradients.
        """
        if not self._kernel.module.options["enable_backward"] or self._rows.adjoint is None:
            needed = "Kernel(..., gradients=True) and Rows(..., gradients=Gradients())"
            raise ValueError(f"a backward launch needs {needed}")
        wp.launch(
            self._kernel,
            self._count,
            [self._rows.structure, *self._values],
            adj_inputs=[self._rows.adjoint, *[None] * len(self._values)],
            device=self._rows.device,
            adjoint=True,
            block_dim=1 if self._rows.device == "cpu" else 256,
        )


@functools.cache
def _packed_arguments(*kinds: type) -> Any:
    """Return the structure in which arguments of some types are passed."""
    fields = [(f"argument_{k}", kind) for k, kind in enumerate(kinds)]
    return type("Arguments", (ctypes.Structure,), {"_fields_": fields})
