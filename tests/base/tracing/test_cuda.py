"""Traces as code of a GPU; compiled without one."""

from pathlib import Path
from typing import Any

import pytest
import warp as wp

from pegasus import Multirotor
from pegasus.base.compiler import start_warp
from pegasus.base.step_math import Word
from pegasus.base.tracing import column, trace
from pegasus.base.tracing.emission import source_of_trace
from pegasus.base.tracing.launches import kernel_of_text
from tests.base.tracing.comparison import traced
from tests.base.tracing.laws import counted
from tests.base.tracing.plant_step import step_trace
from tests.base.tracing.test_bits import elementary_functions, own
from tests.base.tracing.test_control import control

pytestmark = pytest.mark.skipif(
    not hasattr(wp, "compile_aot_module"), reason="this version of Warp compiles for present GPUs only"
)


def plant() -> Any:
    """Return the trace of a step of the plant."""
    return step_trace(Multirotor("iris", sensors={}), 0.002)


def drawn() -> Any:
    """Return the trace of a law with columns of whole numbers and words."""
    return trace(
        counted, column("key", Word), column("count", int), column("x"), outputs=("key", "count", "x")
    )


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(
    "make",
    [lambda: traced(own()), lambda: traced(elementary_functions()), lambda: traced(control()), drawn, plant],
)
def test_code_of_a_gpu_compiles_without_fused_operations(make: Any, single: bool, tmp_path: Path) -> None:
    """A fleet on a GPU would not start, or fly apart from one on the CPU."""
    start_warp()
    made = make()
    kernel = kernel_of_text(f"{made.key}_ptx_{single}", source_of_trace(made, single=single, lanes=1))
    wp.compile_aot_module(kernel.module, arch=80, module_dir=tmp_path, use_ptx=True)
    (file,) = tmp_path.glob("*.ptx")
    text = file.read_text()
    assert "run_" in text
    assert "fma.rn.f64" not in text
    assert single or "mul.rn.f64" in text or "mul.f64" in text
