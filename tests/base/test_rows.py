"""Tests of functions over rows: a row's bits depend on neither other rows nor the processor."""

from pathlib import Path

import numpy as np
import pytest

from tests.base import row_functions
from tests.base.row_functions import COUNT, FUNCTIONS
from tests.processors import KERNELS, digests


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_row_does_not_depend_on_the_others(name):
    """A flight would change by a bit with the number of vehicles that fly."""
    function, *rows = FUNCTIONS[name]
    alone = np.concatenate([np.atleast_1d(function(*(r[i : i + 1] for r in rows))) for i in range(COUNT)])
    for count in (1, 2, 3, 7, 64, COUNT):
        np.testing.assert_array_equal(function(*(r[:count] for r in rows)), alone[:count], err_msg=str(count))


def test_a_row_does_not_depend_on_the_processor():
    """Sums by a linear algebra library would be taken in another order on another processor."""
    assert digests(Path(row_functions.__file__), **{KERNELS: "Nehalem"}) == row_functions.found()
