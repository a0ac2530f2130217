"""Tests of functions over rows: a row's bits depend on neither other rows nor the processor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.base.row_functions import COUNT, FUNCTIONS
from tests.waits import LIMIT


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_row_does_not_depend_on_the_others(name):
    """A flight would change by a bit with the number of vehicles that fly."""
    function, *rows = FUNCTIONS[name]
    alone = np.concatenate([np.atleast_1d(function(*(r[i : i + 1] for r in rows))) for i in range(COUNT)])
    for count in (1, 2, 3, 7, 64, COUNT):
        np.testing.assert_array_equal(function(*(r[:count] for r in rows)), alone[:count], err_msg=str(count))


def test_a_row_does_not_depend_on_the_processor():
    """Sums by a linear algebra library would be taken in another order on another processor."""
    root = Path(__file__).parents[2]
    kept = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"} | {"PYTHONPATH": str(root)}
    command = [sys.executable, str(Path(__file__).with_name("row_functions.py"))]
    digests = []
    for kernels in ("Nehalem", "Haswell", None):
        environment = kept | ({"OPENBLAS_CORETYPE": kernels} if kernels else {})
        run = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=True
        )
        digests.append(json.loads(run.stdout))
    assert digests[0] == digests[1] == digests[2]
