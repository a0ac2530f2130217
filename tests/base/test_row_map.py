"""Tests of step functions over the rows of arrays."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus.base import row_map
from pegasus.base.row_map import RowMap
from pegasus.base.step_math import Real, Vec3, norm


@dataclass(frozen=True)
class Line:
    slope: float
    offset: tuple[float, ...] = (1.0, 2.0)


def on_line(p: Line, x: Real) -> Real:
    """Return a number of a number."""
    return p.slope * x + p.offset[0]


def turned(p: Line, x: Real, v: Vec3, gain: Real, t: Real) -> tuple[Vec3, Real]:
    """Return a vector and a number, of columns and of values for all rows."""
    return v * (gain * x * p.slope), norm(v) + t


@pytest.mark.parametrize("count", [0, 1, 2, 3, 200])
def test_rows_are_mapped(count):
    """Rows, columns or values would be mixed up, or the results depend on the number of rows."""
    rng = np.random.default_rng(1)
    x, v = rng.normal(size=count), rng.normal(size=(count, 3))
    linear, both = RowMap(on_line), RowMap(turned, values=2)
    np.testing.assert_array_equal(linear(Line(2.0), x), 2.0 * x + 1.0)
    for gain, t in ((1.0, 0.5), (3.0, 0.25)):
        vector, number = both(Line(0.5), x, v, gain, t)
        np.testing.assert_allclose(vector, v * (gain * x * 0.5)[:, None], rtol=1e-15)
        np.testing.assert_allclose(number, np.sqrt((v * v).sum(axis=1)) + t, rtol=1e-15)
        assert vector.shape == (count, 3)
        assert number.shape == (count,)
    # Other parameters and other counts of rows use the same kernel.
    np.testing.assert_array_equal(linear(Line(3.0, (0.5,)), x[: count // 2]), 3.0 * x[: count // 2] + 0.5)


def test_results_are_the_callers_own():
    """A result kept by its caller would change at the next call."""
    linear, x = RowMap(on_line), np.arange(50.0)
    first = linear(Line(1.0), x)
    linear(Line(5.0), x)
    np.testing.assert_array_equal(first, x + 1.0)


def test_other_shapes_than_one_axis():
    """A single position, or a table of them, could not be given."""
    both, x = RowMap(turned, values=2), np.arange(12.0).reshape(3, 4)
    v = np.random.default_rng(0).normal(size=(3, 4, 3))
    vector, number = both(Line(1.0), x, v, 1.0, 0.0)
    assert (vector.shape, number.shape) == ((3, 4, 3), (3, 4))
    one, length = both(Line(1.0), x[1, 2], v[1, 2], 1.0, 0.0)
    np.testing.assert_array_equal(one, vector[1, 2])
    assert length == number[1, 2]


def test_without_warp_python_runs_all_rows(monkeypatch):
    """Environments would be of no use where the compiler is not installed."""
    expected = RowMap(on_line)(Line(2.0), np.arange(50.0))
    monkeypatch.setattr(row_map, "compiler", lambda: None)
    np.testing.assert_array_equal(RowMap(on_line)(Line(2.0), np.arange(50.0)), expected)


def test_a_map_is_pickled_without_its_buffers():
    """Models that were used could not be copied or sent to another process."""
    linear = RowMap(on_line, few=0)
    expected = linear(Line(2.0), np.arange(9.0))
    again = pickle.loads(pickle.dumps(linear))
    np.testing.assert_array_equal(again(Line(2.0), np.arange(9.0)), expected)
