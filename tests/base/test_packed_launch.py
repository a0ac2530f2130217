"""Packed launches give what public launches of Warp give."""

import numpy as np
import pytest

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

import warp as wp

from pegasus.base import row_kernels, row_threads
from pegasus.base.packed_launch import packed_launch
from pegasus.base.row_kernels import RowLaunch, Rows
from pegasus.base.step_math import Real
from pegasus.base.tracing import column, trace
from pegasus.base.tracing import launches as trace_launches
from pegasus.base.tracing.launches import Program
from tests.base.test_compiler import Values, arrays, steps

COUNT = 700


def grown(x: Real, y: Real) -> Real:
    """Return a sum."""
    return x * 1.5 + y


def traced() -> np.ndarray:
    """Return a column after launches over portions of rows, of one step and of several."""
    columns = {"x": np.arange(float(COUNT)), "y": np.ones(COUNT)}
    launch = Program(trace(grown, column("x"), column("y"), outputs=("x",))).launch(columns, COUNT)
    launch()
    launch(3)
    launch()
    return columns["x"]


def translated() -> np.ndarray:
    """Return a column after launches of a translated function."""
    columns = arrays()
    launch = RowLaunch(steps, Rows(Values, columns), 7)
    launch()
    launch()
    return columns["x"]


@pytest.mark.parametrize("run", [traced, translated])
def test_packed_launches_do_what_public_ones_do(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions of Warp with other private names would fly another flight."""
    monkeypatch.setattr(row_threads, "thread_count", lambda: 2)
    packed = run()
    for module in (row_kernels, trace_launches):
        monkeypatch.setattr(module, "packed_launch", lambda *_: None)
    np.testing.assert_array_equal(run(), packed)


def test_launches_are_packed_where_warp_passes_one_structure() -> None:
    """Each launch would take three times as long with a version that has renamed something."""
    program = Program(trace(grown, column("x"), column("y")))
    address = wp.array([0, 0, 0], dtype=wp.uint64, device="cpu")
    command = wp.launch(
        program.kernel, 1, [address, 3, 0, 1, 0, 1], device="cpu", record_cmd=True, block_dim=1
    )
    version = tuple(int(part) for part in wp.config.version.split(".")[:2])
    assert (packed_launch(program.kernel, command) is not None) == (version >= (1, 13))
