"""Tests of equal bits of trajectories and controllers on different processors."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

KERNELS = "OPENBLAS_CORETYPE"
DISABLED = "NPY_DISABLE_CPU_FEATURES"


def digests(**variables):
    """Return the digests of `control_digest` as another processor would compute them."""
    environment = {k: v for k, v in os.environ.items() if k not in (KERNELS, DISABLED)} | variables
    script = Path(__file__).with_name("control_digest.py")
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=240, check=True
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_trajectories_and_controllers_have_the_same_bits_on_every_processor():
    """If this fails, the same scenario flies another path on another processor, or in other company.

    OpenBLAS is told to take the kernels of other processors, and NumPy to leave out the instructions that it
    chooses at run time (its own exponentials and sines differ with them).
    """
    plain = " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
    here = digests()
    assert here["allocated together"] == here["allocated alone"]
    assert here["controlled together"] == here["controlled alone"] == here["controlled in another order"]
    assert digests(**{KERNELS: "Haswell"}) == here
    assert digests(**{KERNELS: "Nehalem", DISABLED: plain}) == here
