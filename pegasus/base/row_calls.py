"""Calls of step functions over arrays that change from call to call."""

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any

from pegasus.base.compiler import Rows, shared_kernel
from pegasus.base.launches import Launch


def run_rows(
    function: Callable[..., None],
    kind: type,
    arrays: Mapping[str, Any],
    count: int,
    *values: float,
) -> None:
    """Run a step function once over arrays.

    Each thread prepares one launch of the function, which takes 100 microseconds, and moves it to the arrays
    of the next call, which takes 20.

    Args:
        function: The step function.
        kind: Dataclass of its columns, all of numbers.
        arrays: C-contiguous arrays by field: float64 (int32 for `int`, uint64 for `Word`).
        count: Number of rows.
        values: Arguments after the rows.
    """
    launches = _threads().launches
    if function not in launches:
        launches[function] = shared_kernel(function).launch(Rows(kind, arrays), count, *values)
    launch = launches[function]
    launch.move(arrays, count)
    launch(*values)


class _Thread(threading.local):
    """Launches of each thread, by step function."""

    def __init__(self) -> None:
        self.launches: dict[Callable[..., None], Launch] = {}


@functools.cache
def _threads() -> _Thread:
    return _Thread()
