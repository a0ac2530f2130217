"""Launches over several sets of arrays, sequences by the number of the step, and signals."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pegasus.base import row_threads
from pegasus.base.step_math import Real, Reals
from pegasus.base.tracing import Signal, column, sequence, trace, uniform, uniform_values, varied
from pegasus.base.tracing.launches import Part, Program, program_of


def law(ahead: Reals, gain: Real, table: Reals, x: Real) -> tuple[Real, Signal]:
    """Return a number by a gain, a table and the present row of a sequence, and whether it is above 100."""
    y = x * gain + ahead[1] + table[5]
    return y, Signal(y > 100.0)


def number_in_table(curve: Any, place: Real) -> Real:
    value: Real = curve.table[int(place)]
    return value


def program(lanes: int) -> Program:
    arguments = [sequence("ahead", 2, 4), uniform("gain", 1.0), uniform("table", (0.0,) * 6), column("x")]
    return Program(trace(law, *arguments, outputs=("y", "above")), lanes=lanes)


def arrays(k: int, count: int) -> dict[str, Any]:
    return {
        "ahead": np.arange(8.0).reshape(4, 2),
        "gain": np.array([float(k)]),
        "table": np.full(6, 10.0 * k),
        "x": np.arange(float(count)),
        "y": np.full(count, -1.0),
        "above": np.zeros(1),
    }


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("threads", [1, 3])
def test_parts_have_their_own_arrays_and_rows(lanes: int, threads: int, monkeypatch: Any) -> None:
    """A vehicle would fly by the gains of another, or a row be run twice or not at all."""
    monkeypatch.setattr(row_threads, "thread_count", lambda: threads)
    sets = [arrays(k, count) for k, count in enumerate((3, 700, 12))]
    parts = [Part(sets[0], 1, 3), Part(sets[1], 0, 700), Part(sets[2], 4, 5), Part(sets[2], 7, 12)]
    launch = program(lanes).launch_parts(parts)
    launch(step=6)
    for k, one in enumerate(sets):
        expected = one["x"] * k + 5.0 + 10.0 * k
        run = np.isin(np.arange(len(expected)), [[1, 2], range(700), [4, 7, 8, 9, 10, 11]][k])
        np.testing.assert_array_equal(one["y"], np.where(run, expected, -1.0))
    assert [one["above"][0] for one in sets] == [0.0, 1.0, 0.0]


def test_a_signal_hears_no_row_beyond_the_end() -> None:
    """An event would be reported for a row that does not exist."""
    one = arrays(1, 3) | {"table": np.full(6, 99.0), "x": np.full(3, -10.0)}
    launch = program(8).launch(one, 3)
    launch(step=0)
    assert one["above"][0] == 0.0
    one["x"][2] = 1.5
    launch(step=0)
    assert one["above"][0] == 1.0


def test_each_step_reads_its_row_of_a_sequence() -> None:
    """A vehicle would follow its trajectory at another time."""
    one = arrays(0, 1)
    launch = program(1).launch(one, 1)
    found = []
    for step in (0, 1, 5, 3, 4):
        launch(step=step)
        found.append(one["y"][0])
    assert found == [1.0, 3.0, 3.0, 7.0, 1.0]


def test_copies_with_other_numbers_of_tables_share_code() -> None:
    """Batteries of three capacities would be refused after a flight with five of them."""
    for tables in (5, 3, 2):
        curves = [SimpleNamespace(table=tuple(10.0 * k + n for n in range(6))) for k in range(tables)]
        own = varied("curve", [curves[k % tables] for k in range(9)])
        place = np.arange(9.0) % 6
        values = {**uniform_values(own), "place": place, "result": np.zeros(9)}
        program_of(number_in_table, own, column("place"), count=9).launch(values, 9)()
        assert values["result"].tolist() == [10.0 * (k % tables) + k % 6 for k in range(9)]
