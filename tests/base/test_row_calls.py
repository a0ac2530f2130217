"""Tests of step functions that run once over arrays."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus.base.row_calls import run_rows
from pegasus.base.step_math import Column, Real, Vec3


@dataclass
class Moves:
    """Rows of the test."""

    point: Column[Vec3]
    number: Column[int]
    moved: Column[Vec3]


def shift(i: int, rows: Moves, count: int, length: Real) -> None:
    """Move points along x."""
    number = rows.number[i]
    if number < count:
        rows.moved[i] = rows.point[i] + Vec3(length * Real(number), 0.0, 0.0)


def check(seed: int) -> None:
    """Compare a call over random arrays with NumPy."""
    random = np.random.default_rng(seed)
    rows, count, step = int(random.integers(1, 3000)), int(random.integers(1, 9)), float(random.normal())
    point, number = random.normal(size=(rows, 3)), random.integers(0, 9, rows, dtype=np.int32)
    moved, wanted = np.full((rows + 2, 3), 7.0), np.full((rows + 2, 3), 7.0)
    wanted[:rows] = np.where((number < count)[:, None], point, 7.0)
    wanted[:rows, 0] += np.where(number < count, step * number, 0.0)
    run_rows(shift, Moves, {"point": point, "number": number, "moved": moved[:rows]}, rows, count, step)
    np.testing.assert_array_equal(moved, wanted)


def test_each_call_has_its_own_arrays_and_values() -> None:
    """A call would write into the arrays of an earlier one, or run over as many rows."""
    for seed in range(30):
        check(seed)


def test_threads_do_not_share_launches() -> None:
    """The scan of one thread would be written into that of another."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(check, range(400)))
