"""Traces: errors, keys, single precision, and the step of the plant."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import warp as wp

from pegasus import ConfigError, Multirotor
from pegasus.base import elementary, row_threads
from pegasus.base.step_math import Quat, Real, Vec3, Word, floor, sin
from pegasus.base.tracing import TraceError, column, structure, trace, uniform, uniform_values
from pegasus.base.tracing.launches import Program, program_of
from pegasus.dynamics.drag import LinearDrag, linear_drag
from tests.base.tracing import laws
from tests.base.tracing.comparison import equal, flat_result
from tests.base.tracing.plant_step import STATE, flying, step_of, step_trace


@pytest.mark.parametrize(
    ("law", "line", "reason"),
    [
        (laws.has_while, "while x > 1.0:", "count over a range"),
        (laws.has_power, "return x**3", "use x * x or power(x, y)"),
        (laws.calls_bad, "return x**3", "use x * x or power(x, y)"),
        (laws.has_array_call, "return math.sin(x)", "use those of pegasus.base.step_math"),
        (laws.has_half_return, "return x", "returns nothing on another way"),
        (laws.has_loop_else, "for k in range(3):", "no `else` of a loop"),
        (laws.has_length, "for k in range(int(x)):", "is no length"),
        (laws.has_sum, "return sum([x, 2.0 * x, 1e-3])", "add the numbers in a loop"),
        (laws.has_raise, 'raise ValueError("below 0")', "cannot be raised for some rows"),
    ],
)
def test_a_law_that_cannot_be_traced_is_named_with_its_line(law: Any, line: str, reason: str) -> None:
    """A user would look for the fault in Pegasus, not in the own law."""
    with pytest.raises(TraceError) as caught:
        trace(law, column("x"))
    file = Path(laws.__file__)
    place, _, rest = str(caught.value).partition(": `")
    name, _, number = place.rpartition(":")
    assert Path(name) == file
    assert file.read_text().splitlines()[int(number) - 1].strip().startswith(line)
    assert rest.startswith(line)
    assert reason in rest


def test_nothing_is_hidden_by_folding() -> None:
    """A wrench that is not finite would pass as a finite one."""

    def law(x: Real) -> tuple[Real, Real, Real]:
        return x * 0.0, x - x, (x + 0.0) * 1.0 - 0.0

    made = trace(law, column("x"))
    assert [s.op for s in made.operations] == ["mul", "sub", "add"]


def test_constants_fold_and_equal_operations_are_one() -> None:
    """The step would do the same work several times."""

    def law(x: Real, y: Real) -> Real:
        factor = 2.0 if x > 0 else 4.0
        return (1.0 / factor) * (x + y) + (x + y) * (1.0 / factor)

    made = trace(law, column("x"), column("y"))
    assert sorted(s.op for s in made.operations) == ["add", "add", "gt", "mul", "select"]


def drag_trace(coefficient: float, **kind: bool) -> Any:
    """Return the trace of a drag with its coefficient as an input or a literal."""
    drag = LinearDrag(coefficients=(coefficient, 0.2, 0.3))
    given = uniform("drag", drag) if kind["as_input"] else drag
    return trace(linear_drag, given, column("v", Vec3), Vec3(0.0, 0.0, 0.0), (), 1.0, outputs=("f", "t"))


def test_vehicles_of_one_structure_share_code() -> None:
    """Each airframe would be compiled anew, for seconds."""
    assert drag_trace(0.1, as_input=True).key == drag_trace(0.7, as_input=True).key
    assert drag_trace(0.1, as_input=False).key != drag_trace(0.7, as_input=False).key


def test_keys_of_structures_do_not_grow_with_tables() -> None:
    """Each start of a vehicle with tables of thousands of numbers would take a second."""

    def key(length: int, last: float = 1.0) -> Any:
        return structure(uniform("curve", SimpleNamespace(table=(*[1.0] * (length - 1), last))))

    assert key(9000) == key(9000, last=2.0) != key(8000)
    assert len(repr(key(9000))) == len(repr(key(8000))) < 200


def test_compiled_code_is_kept() -> None:
    """Each start would compile for seconds."""
    first, again = Program(drag_trace(0.1, as_input=True)), Program(drag_trace(0.7, as_input=True))
    assert first.kernel is again.kernel
    folder = Path(str(wp.config.kernel_cache_dir))
    kept = sorted(folder.glob(f"wp_{first.kernel.module.name}_*/*.o"))
    assert len(kept) == 1
    stamp = kept[0].stat().st_mtime_ns
    Program(drag_trace(0.3, as_input=True))
    assert kept[0].stat().st_mtime_ns == stamp


def test_keys_are_the_same_in_each_process() -> None:
    """Each start would compile anew."""
    text = (
        "from pegasus.base.tracing import column, trace\n"
        "from tests.base.tracing.laws import many_names\n"
        "print(trace(many_names, column('x')).key)"
    )
    keys = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", text], env=environment, capture_output=True, check=True)
        keys.add(done.stdout)
    assert len(keys) == 1


def test_a_missing_or_wrong_column_is_named() -> None:
    """Code would read beyond the end of an array."""
    program = Program(drag_trace(0.1, as_input=True))
    good = {"drag.coefficients": np.ones(3), "v": np.ones((5, 3)), "f": np.ones((5, 3)), "t": np.ones((5, 3))}
    with pytest.raises(ValueError, match="the column v is missing"):
        program.launch({k: a for k, a in good.items() if k != "v"}, 5)
    with pytest.raises(ValueError, match=r"the column f is float32 of shape \(5, 3\)"):
        program.launch({**good, "f": np.ones((5, 3), dtype=np.float32)}, 5)
    with pytest.raises(ValueError, match=r"the column v is float64 of shape \(5, 3\); .* \(6, 3\)"):
        program.launch(good, 6)


@dataclass(frozen=True, eq=False)
class Parts:
    laws: tuple[Any, ...]
    numbers: tuple[Any, ...]
    grid: Any


def of_parts(p: Parts, x: Real) -> Real:
    """Return a sum of laws handed over, and a number of a grid by a computed and by fixed places."""
    total = p.grid[int(floor(x))] + p.grid[2] * p.grid[0]
    for law, own in zip(p.laws, p.numbers, strict=True):
        total = total + law(own, x)
    return total


def line(p: LinearDrag, x: Real) -> Real:
    """Return a product with a number of a dataclass."""
    return p.coefficients[1] * x


def scaled_by(p: float, x: Real) -> Real:
    """Return a product with a number."""
    return p * x


def test_tuples_of_parts_and_arrays_are_inputs() -> None:
    """A sum of winds, or another file of a field of the same size, would be compiled anew."""
    x, results, programs = np.linspace(0.0, 4.9, 21), [], []
    for factor in (1.0, 3.0):
        grid = np.arange(5.0) * factor
        p = Parts((line, scaled_by), (LinearDrag(coefficients=(0.0, factor, 0.0)), 0.5 * factor), grid)
        given, out = uniform("p", p), np.zeros(21)
        programs.append(program_of(of_parts, given, column("x"), outputs=("out",)))
        programs[-1].launch({**uniform_values(given), "x": x, "out": out}, 21)()
        results.append(out)
        assert equal(out, np.array([of_parts(p, v) for v in x.tolist()]))
    assert programs[0] is programs[1]
    assert not equal(*results)
    other = uniform("p", replace(p, laws=(scaled_by, scaled_by), numbers=(1.0, 2.0)))
    assert program_of(of_parts, other, column("x"), outputs=("out",)) is not programs[0]


@dataclass(frozen=True)
class Shape:
    bent: float = field(default=0.0, metadata={"literal": True})
    size: float = 1.0


def shaped(p: Shape, x: Real) -> Real:
    """Return a product, and more by a number that chooses the code."""
    if p.bent > 0.0:
        return p.size * sin(x) * p.bent
    return p.size * x


def test_a_literal_that_is_a_list_is_refused_in_one_line() -> None:
    """Its user would read of an unhashable type somewhere in a dictionary."""
    with pytest.raises(ConfigError, match=r"^p\.bent = \[1\.0\]: .*literal field.*hashable"):
        program_of(shaped, uniform("p", Shape([1.0])), column("x"))  # type: ignore[arg-type]


def test_a_literal_of_a_dataclass_chooses_the_code() -> None:
    """A sphere would be computed as an ellipsoid that is thrown away."""
    plain = program_of(shaped, uniform("p", Shape(size=2.0)), column("x"))
    assert re.findall(r"v\d+ = (.*);", plain.code.text) == ["i0_0 * i1_0"]
    assert plain is program_of(shaped, uniform("p", Shape(size=3.0)), column("x"))
    given, x, out = uniform("p", Shape(0.5, 2.0)), np.linspace(0.0, 1.0, 9), np.zeros(9)
    program_of(shaped, given, column("x")).launch({**uniform_values(given), "x": x, "result": out}, 9)()
    assert equal(out, np.array([shaped(Shape(0.5, 2.0), v) for v in x.tolist()]))


@pytest.mark.parametrize("lanes", [1, 8])
def test_whole_numbers_and_words_are_columns(lanes: int) -> None:
    """Keys of random numbers would lose bits as real numbers."""
    made = trace(
        laws.counted, column("key", Word), column("count", int), column("x"), outputs=("key", "count", "x")
    )
    count = 13
    columns: dict[str, Any] = {
        "key": np.random.default_rng(3).integers(2**64, size=count, dtype=np.uint64),
        "count": np.arange(count, dtype=np.int32) * 100_003,
        "x": np.linspace(0.0, 1.0, count),
    }
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    expected = [laws.counted(Word(key), n, x) for key, n, x in rows]
    Program(made, lanes=lanes).launch(columns, count)()
    for k, name in enumerate(columns):
        assert columns[name].tolist() == [row[k] for row in expected], name
    with pytest.raises(ValueError, match=r"the column count is float64 .* contiguous int32"):
        Program(made, lanes=lanes).launch({**columns, "count": np.zeros(count)}, count)


def test_changed_inputs_are_read_and_rows_beyond_the_count_are_left_alone() -> None:
    """A parameter would keep its old value, and a neighbour be overwritten."""
    program = Program(drag_trace(0.1, as_input=True))
    columns = {"drag.coefficients": np.ones(3), "v": np.ones((13, 3))}
    columns |= {"f": np.full((13, 3), 7.0), "t": np.full((13, 3), 7.0)}
    launch = program.launch(columns, 11)
    launch()
    columns["drag.coefficients"][0] = 5.0
    launch()
    assert columns["f"][:11].tolist() == [[-5.0, -1.0, -1.0]] * 11
    assert (columns["f"][11:] == 7.0).all()


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flight would depend on the number of processors."""
    monkeypatch.setattr(row_threads, "thread_count", lambda: 2)
    program, count = Program(drag_trace(0.1, as_input=True)), 1500
    columns = {"drag.coefficients": np.ones(3), "v": np.random.default_rng(1).normal(0, 1, (count, 3))}
    results = []
    for apart in (True, False):
        out = {"f": np.zeros((count, 3)), "t": np.ones((count, 3))}
        launch = program.launch({**columns, **out}, count, apart=apart)
        launch()
        results.append(out["f"])
    assert equal(*results)
    assert equal(results[0], -columns["v"])


@pytest.mark.parametrize("name", ["iris", "crazyflie"])
def test_the_step_of_the_plant_has_the_bits_of_python(name: str) -> None:
    """A flight would depend on how many vehicles fly."""
    vehicle, count = Multirotor(name, sensors={}), 11
    made, start, step = step_trace(vehicle, 0.002), flying(vehicle, 11), step_of(vehicle, 0.002)
    many, one = ({n: a.copy() for n, a in start.items()} for _ in range(2))
    Program(made).launch(many, count)(3)
    single = Program(made, lanes=1).launch(one, count)
    for _ in range(3):
        single()
    for i in range(count):
        rows = [start[n][i].tolist() for n in (*STATE, "rotor_speed", "command")]
        state: Any = Vec3(*rows[0]), Quat(*rows[1]), Vec3(*rows[2]), Vec3(*rows[3]), rows[4]
        for _ in range(3):
            state = step(*state, rows[5])
        for n, value in zip((*STATE, "rotor_speed"), state, strict=True):
            assert equal(np.array(flat_result(value)), many[n][i]), n
            assert equal(many[n][i], one[n][i]), n


def test_single_precision_is_near() -> None:
    """Learning in single precision would see another vehicle."""
    vehicle = Multirotor("iris", sensors={})
    made, exact = step_trace(vehicle, 0.002), flying(vehicle, 16)
    single = {n: a.astype(np.float32) for n, a in exact.items()}
    Program(made).launch(exact, 16)(50)
    Program(made, real=np.float32).launch(single, 16)(50)
    assert np.abs(single["position"] - exact["position"]).max() < 1e-4
    assert np.abs(single["rotor_speed"] / exact["rotor_speed"] - 1.0).max() < 1e-6


def test_elementary_functions_in_single_precision_are_near() -> None:
    """Their bits of exponents are those of double precision."""
    names = ("exp", "log", "sin", "cos", "tan", "asin", "expm1")

    def every(x: Real) -> Any:
        return {name: getattr(elementary, name)(x) for name in names}

    made, count = trace(every, column("x")), 100
    x = np.random.default_rng(2).uniform(0.01, 0.95, count).astype(np.float32)
    out = {name: np.zeros(count, dtype=np.float32) for name in names}
    Program(made, real=np.float32).launch({"x": x, **out}, count)()
    for name in names:
        expected = np.array([getattr(elementary, name)(float(v)) for v in x])
        assert np.abs(out[name] - expected).max() < 1e-6 * max(1.0, np.abs(expected).max()), name
