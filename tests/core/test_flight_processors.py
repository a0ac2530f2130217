"""Tests of equal bits of flights on different processors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="pip install pegasus-multirotor[standalone]")

CHOICES = ("OPENBLAS_CORETYPE", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES")


def digests(**variables: str) -> dict[str, str]:
    """Return the digests of `processor_flight` as another processor would compute them."""
    environment = {k: v for k, v in os.environ.items() if k not in CHOICES} | variables
    script = Path(__file__).with_name("processor_flight.py")
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=300, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_flights_have_the_same_bits_on_every_processor() -> None:
    """A seed would fly another path on another processor.

    OpenBLAS takes the kernels of another processor, NumPy leaves out the instructions that it chooses at run
    time, and the C library has no fused operations, with which its exponentials differ in the last bit.
    """
    plain = " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
    older = "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA"
    here = digests()
    assert len(here) >= 16
    assert digests(**dict(zip(CHOICES, ("Nehalem", plain, older), strict=True))) == here
