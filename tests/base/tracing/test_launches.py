"""Launches over several sets of arrays, sequences by the number of the step, and signals."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pegasus.base import row_threads
from pegasus.base.step_math import Real, Reals, Vec3, maximum, sqrt
from pegasus.base.tracing import Signal, column, folded, sequence, trace, uniform, uniform_values, varied
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


def test_copies_with_equal_tables_have_one() -> None:
    """Copies whose tables were made anew would each read their own, or be taken for those of others."""
    for values in ([1.0] * 9, [1.0, 2.0, 3.0] * 3, [5.0] * 9):
        curves = [SimpleNamespace(table=tuple(x * n for n in range(6))) for x in values]
        own = varied("curve", curves)
        given = {**uniform_values(own), "place": np.full(9, 2.0), "result": np.zeros(9)}
        assert ("curve.table@" in given) == (len(set(values)) > 1)
        program_of(number_in_table, own, column("place"), count=9).launch(given, 9)()
        assert given["result"].tolist() == [2.0 * x for x in values]


def scaled(p: Any, x: Vec3, k: int) -> tuple[Vec3, int]:
    """Return a vector by numbers of parameters, and a number that counts."""
    return Vec3(p.gain * x[0], p.gain * x[1] + p.shift * x[0], p.own * x[2]), k + 1


def test_planar_columns_and_folded_numbers() -> None:
    """A fleet would read numbers of other rows, write behind its arrays, or calculate with known numbers."""
    parts = [SimpleNamespace(gain=2.0, shift=0.0, own=float(k)) for k in range(20)]
    p = folded("p", parts)
    made = trace(scaled, p, column("x", Vec3), column("k", int), outputs=("x", "k"))
    assert [c.name for c in made.inputs] == ["p.own", "x", "k"]
    assert [s.op for s in made.operations] == ["mul", "mul", "mul", "add"]
    x = np.arange(60.0).reshape(20, 3)
    room = np.full((3, 32), -1.0)
    room[:, :20] = x.T
    own = np.zeros((1, 32))
    own[0, :20] = uniform_values(p)["p.own"]
    given = {"p.own": own, "x": room, "k": np.arange(32, dtype=np.int32)[None]}
    launch = Program(made, planar=True).launch(given, 20)
    launch(3)
    np.testing.assert_array_equal(
        room[:, :20].T, x * np.stack([np.full(20, 8.0)] * 2 + [own[0, :20] ** 3], 1)
    )
    assert given["k"][0, :20].tolist() == [k + 3 for k in range(20)]
    assert (room[:, 24:] == -1.0).all()
    with pytest.raises(ValueError, match=r"scaled: the column x is float64 of shape \(3, 20\).* \(3, 24\)"):
        Program(made, planar=True).launch({**given, "x": np.zeros((3, 20))}, 20)


def guarded(x: Real) -> Real:
    return x / sqrt(maximum(x * x, 1e-300))


def test_a_guard_stays_one_in_single_precision() -> None:
    """A wing at rest would not be a number: 1e-300 is 0 there."""
    given = {"x": np.array([0.0, -2.0], dtype=np.float32), "result": np.ones(2, dtype=np.float32)}
    Program(trace(guarded, column("x")), real=np.float32, lanes=1).launch(given, 2)()
    assert given["result"].tolist() == [0.0, -1.0]
