"""Test of the benchmark of ROS 2: it ends, with a figure for every case."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waits import LIMIT

pytest.importorskip("cyclonedds")
BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "ros2.py"


def test_it_measures_every_case(domain):  # noqa: ARG001
    """The subscribing process would end at once, and the benchmark wait for it for ever."""
    environment = os.environ | {"PYTHONPATH": str(BENCHMARK.parents[1])}
    run = subprocess.run(
        [sys.executable, str(BENCHMARK), "0.02"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("us of processor time") == 4
    assert run.stdout.count("the subscribing process received") == 2
