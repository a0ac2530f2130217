"""Digests that a script prints as JSON, as another processor would compute them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.waits import LIMIT

KERNELS, DISABLED, TUNABLES = "OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES"


def digests(script: Path, **variables: str) -> Any:
    """Return what a script prints with some environment variables that choose instructions, and no others.

    Args:
        script: The script.
        variables: Values of `KERNELS`, `DISABLED` and `TUNABLES`; without one, a library chooses for itself.
    """
    environment = {k: v for k, v in os.environ.items() if k not in (KERNELS, DISABLED, TUNABLES)} | variables
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=LIMIT, check=True
    )
    return json.loads(done.stdout)


def optional_instructions() -> str:
    """Return the names of the instructions that NumPy chooses at run time on this processor."""
    return " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))


def oldest() -> dict[str, str]:
    """Return variables of a processor without fused operations.

    OpenBLAS takes the kernels of another processor, NumPy leaves out the instructions that it chooses at run
    time, and the C library has no fused operations, with which its sines and exponentials differ in the last
    bit.
    """
    return {
        KERNELS: "Nehalem",
        DISABLED: optional_instructions(),
        TUNABLES: "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA",
    }
