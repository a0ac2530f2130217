"""Columns of rows, and launches of translated functions over them: those of `pegasus.estimation` alone."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

import warp as wp

from pegasus.base.compiler import announce_compilation, compiled_once, start_warp
from pegasus.base.components import annotations_of
from pegasus.base.errors import ConfigError
from pegasus.base.packed_launch import packed_launch
from pegasus.base.row_threads import portions, run_together
from pegasus.base.step_types import Table
from pegasus.base.warp_translation import NUMBERS, filled_struct, kernel_of, struct_of


class Rows:
    """Columns of rows, in memory shared with NumPy.

    Args:
        kind: Dataclass whose fields are annotated as `Column[...]` and `Table[...]`.
        arrays: C-contiguous arrays by field: float64 (int32 for `int`, uint64 for `Word`), or sequences of
            parameter structures.
    """

    saved_as = "nothing"

    def __init__(self, kind: type, arrays: Mapping[str, Any]) -> None:
        start_warp()
        self._kind, self._arrays = kind, dict(arrays)
        self._kept: list[Any] = []
        self.structure = struct_of(kind)()
        for name, hint in annotations_of(kind).items():
            (element,) = get_args(hint)
            made: Any = arrays[name]
            if element in NUMBERS:
                dimensions = 2 if get_origin(hint) is Table else 1
                made = wp.array(made, dtype=NUMBERS[element], ndim=dimensions, device="cpu", copy=False)
            else:
                structures = [filled_struct(element, value) for value in made]
                made = wp.array(structures, dtype=struct_of(element), device="cpu")
                self._kept.append(structures)
            self._kept.append(made)
            setattr(self.structure, name, made)

    @functools.cached_property
    def python(self) -> Any:
        """The same rows for plain Python."""
        made: Any = object.__new__(self._kind)
        for name, hint in annotations_of(self._kind).items():
            made.__dict__[name] = get_origin(hint)(self._arrays[name], *get_args(hint))
        return made


class RowLaunch:
    """Prepared launch of a function of rows; calling it runs all rows.

    Args:
        function: Function (number of the row, columns), whose rows do not depend on each other.
        rows: The rows, kept alive.
        count: Number of rows.

    Raises:
        ConfigError: If the function cannot be compiled or cached.
    """

    saved_as = "nothing"

    def __init__(self, function: Callable[[int, Any], None], rows: Rows, count: int) -> None:
        kernel = _loaded(function)
        self._rows = rows
        self._commands: list[Any] = [
            wp.launch(kernel, 1, [rows.structure, first, size], device="cpu", record_cmd=True)
            for first, size in portions(count)
        ]
        packed = [packed_launch(kernel, command) for command in self._commands]
        calls = [part.run for part in packed if part is not None] or [c.launch for c in self._commands]
        self._run = calls[0] if len(calls) == 1 else functools.partial(run_together, calls)

    def __call__(self) -> None:
        """Run all rows."""
        self._run()


@functools.cache
def _loaded(function: Callable[..., None]) -> Any:
    """Return the kernel of a function, compiled or from the cache."""
    start_warp()
    try:
        kernel = kernel_of(function)
        announce_compilation(kernel.module.name)
        with compiled_once(kernel.module.name):
            kernel.module.load("cpu")
    except Exception as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ConfigError(
            f"{function.__name__} cannot be compiled: {reason}",
            field="step",
            remedy=f"make {wp.config.kernel_cache_dir} writable, or reinstall warp-lang",
        ) from error
    return kernel
