"""Precompiled headers of Warp are kept for later processes."""

import subprocess
import sys

import pytest

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

import warp as wp

from tests.waits import LIMIT

COMPILE = """
import numpy as np
from pegasus.base.tracing import column, trace
from pegasus.base.tracing.launches import Program
x = {"x": np.ones(1)}
Program(trace(lambda x: x + %d.0, column("x"), outputs=("x",)), lanes=1).launch(x, 1)()
print(x["x"][0])
"""


def compiled(number: int) -> float:
    """Return 1 + a number from code that another process compiles."""
    line = [sys.executable, "-c", COMPILE % number]
    ended = subprocess.run(line, capture_output=True, text=True, check=True, timeout=LIMIT)
    return float(ended.stdout)


def test_headers_are_read_once(tmp_path, monkeypatch):
    """Each process that compiles would read the headers of Warp anew; a damaged file would end them all."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path))
    assert compiled(1) == 2.0
    found = list(tmp_path.rglob("*.pch"))
    if not hasattr(wp, "get_cpu_kernel_cache_key"):
        assert not found
        return
    (file,) = found
    made = file.stat()
    assert compiled(2) == 3.0
    assert list(tmp_path.rglob("*.pch")) == [file]
    assert file.stat().st_ino == made.st_ino
    file.write_bytes(file.read_bytes()[:100_000])
    assert compiled(3) == 4.0
