"""Tests of step functions: the same source by Python and compiled."""

import math
import os
import subprocess
import sys
import threading
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus.base.compiler import compiled_once
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_rotation_vector
from pegasus.base.row_kernels import RowLaunch, Rows
from pegasus.base.step_math import (
    Column,
    Quat,
    Real,
    Reals,
    Table,
    Vec3,
    Word,
    atan2,
    clamped,
    conjugated,
    cross,
    dot,
    exp,
    floor,
    interpolate,
    length,
    log,
    maximum,
    minimum,
    norm,
    normalized,
    quaternion_product,
    rotate,
    rotate_inverse,
    rotation_quaternion,
    rotation_vector,
    scaled,
    sin,
    sqrt,
    wrapped,
)
from tests.waits import LIMIT

OFFSET, DT = 0.25, 0.01
FACTOR, MASK, HALF = Word(0xD2511F53), Word(0xFFFFFFFF), Word(32)


@dataclass(frozen=True)
class Parameters:
    gain: float
    shift: Vec3
    points: tuple[float, ...]
    name: str = "not a number"


@dataclass
class Values:
    kind: Column[int]
    parameters: Column[Parameters]
    x: Column[Real]
    v: Column[Vec3]
    q: Column[Quat]
    w: Table[Real]
    word: Column[Word]


def total(values: Reals) -> Real:
    """Sum a row."""
    result = 0.0
    for j in range(length(values)):
        result += values[j]
    return result


@dataclass
class Turned:
    angle: Real
    about: Vec3


def turned(p: Parameters, i: int, w: Table[Real]) -> Turned:
    """Make a structure of values from a parameter of three numbers, and write into a table."""
    w[i, 2] = clamped(w[i, 2], -0.4, p.gain)
    return Turned(wrapped(9.0 * w[i, 2]), scaled(p.shift, Vec3(0.5, -1.0, w[i, 0])))


def tilted(motion: Turned) -> Real:
    """Use a structure of values."""
    return motion.angle + norm(motion.about)


def branch(p: Parameters, x: Real) -> tuple[Real, Vec3]:
    """Choose by a number, and use a table and a vector of the parameters."""
    if x > 0.5:
        return p.gain * x, Vec3(p.shift[0], p.shift[1], OFFSET)
    return interpolate(x, p.points, p.points) - 1.0, Vec3(0.0, x, 0.0)


def steps(i: int, rows: Values) -> None:
    """Use every name of step functions once."""
    p = rows.parameters[rows.kind[i]]
    number, shift = branch(p, rows.x[i] + DT * total(rows.w[i]))
    number += tilted(turned(p, i, rows.w))
    count = 0
    for j in range(3):
        if rows.w[i, j] > 0.0:
            count += 1
    q = normalized(quaternion_product(rows.q[i], Quat(0.1, 0.2, 0.3, 0.9)))
    moved = rotate(q, rows.v[i]) + rotate_inverse(q, shift) * 0.5 - cross(shift, rows.v[i])
    rows.x[i] = sin(number) + exp(-number * number) + log(1.0 + sqrt(norm(moved))) + Real(count)
    rows.v[i] = moved * (1.0 / (1.0 + dot(moved, moved)))
    rows.q[i] = quaternion_product(conjugated(q), rotation_quaternion(scaled(moved, rotation_vector(q))))
    product = FACTOR * (rows.word[i] & MASK)
    rows.word[i] = (product >> HALF) ^ product ^ Word(count)
    rows.w[i, 1] = minimum(floor(number), maximum(atan2(shift[1], number), 0.1))


def arrays():
    rng = np.random.default_rng(3)
    return {
        "kind": np.array([0, 1, 1, 0, 1, 0, 1], dtype=np.int32),
        "parameters": [
            Parameters(1.5, Vec3(1.0, 2.0, 3.0), (0.0, 0.3)),
            Parameters(0.7, Vec3(3.0, 0.0, -1.0), (-3.0, 0.0, 0.2, 0.9)),
        ],
        "x": rng.normal(size=7),
        "v": rng.normal(size=(7, 3)),
        "q": rng.normal(size=(7, 4)),
        "w": rng.normal(size=(7, 3)),
        "word": rng.integers(2**64, size=7, dtype=np.uint64),
    }


def test_python_and_compiled_code_give_the_same_bits():
    """If this fails, debugging in Python shows another flight than the compiled step."""
    compiled, plain = arrays(), arrays()
    launch = RowLaunch(steps, Rows(Values, compiled), 7)
    rows = Rows(Values, plain).python
    for _ in range(20):
        launch()
        for i in range(7):
            steps(i, rows)
    for name in ("x", "v", "q", "w", "word"):
        np.testing.assert_array_equal(compiled[name], plain[name], err_msg=name)
    assert np.isfinite(compiled["v"]).all()


def test_rows_do_not_depend_on_the_others():
    """If this fails, a flight depends on how many vehicles fly."""
    alone, many = arrays(), arrays()
    launch = RowLaunch(steps, Rows(Values, alone), 1)
    others = RowLaunch(steps, Rows(Values, many), 7)
    launch()
    others()
    np.testing.assert_array_equal(alone["v"][0], many["v"][0])
    np.testing.assert_array_equal(alone["v"][1:], arrays()["v"][1:])


def choose(i: int, rows: Values) -> None:
    """Choose by a conditional expression."""
    rows.x[i] = rows.w[i, 0] if rows.x[i] > 0.5 else 0.0


def test_conditional_expressions_are_refused():
    """If this fails, an expression is garbage where its condition does not hold (Warp 1.8)."""
    with pytest.raises(ConfigError, match="choose cannot be compiled: write a conditional expression as an"):
        RowLaunch(choose, Rows(Values, arrays()), 7)


def counted(i: int, rows: Values) -> Real:
    """Count the calls of this function in a row."""
    rows.x[i] = rows.x[i] + 1.0
    return rows.x[i]


def accumulate(i: int, rows: Values) -> None:
    """Add up what a function with an effect returns."""
    total = 0.0
    for _ in range(3):
        total += counted(i, rows)
    total *= 2.0
    rows.w[i, 0] = total


def test_augmented_assignments_call_once():
    """If this fails, a filter uses each measurement twice (Warp 1.8)."""
    compiled, plain = arrays(), arrays()
    RowLaunch(accumulate, Rows(Values, compiled), 7)()
    rows = Rows(Values, plain).python
    for i in range(7):
        accumulate(i, rows)
    np.testing.assert_array_equal(compiled["x"], plain["x"])
    np.testing.assert_array_equal(compiled["w"], plain["w"])


@dataclass
class Literals:
    w: Table[Real]


def write_literals(i: int, rows: Literals) -> None:
    """Write literals of every size: in single precision's range, below it and above it."""
    rows.w[i, 0] = 0.3333333333333333
    rows.w[i, 1] = -2.0222662487959506e-21
    rows.w[i, 2] = 1e-300
    rows.w[i, 3] = 1.7976931348623157e308
    rows.w[i, 4] = 5e-324
    rows.w[i, 5] = 3.5e38
    rows.w[i, 6] = 1.1e-38
    rows.w[i, 7] = 0.0
    rows.w[i, 8] = 123456789.123456789
    rows.w[i, 9] = 2.2250738585072014e-308


def test_literals_keep_all_their_digits():
    """If this fails, a constant of a law is rounded to single precision, or the compiler never ends."""
    compiled, plain = ({"w": np.ones((1, 10))} for _ in range(2))
    RowLaunch(write_literals, Rows(Literals, compiled), 1)()
    write_literals(0, Rows(Literals, plain).python)
    assert compiled["w"].tobytes() == plain["w"].tobytes()


_PRINTS_MEANWHILE = """
import threading
from pegasus.base.row_map import RowMap
from pegasus.environment.atmosphere import UsStandardAtmosphere1976
import numpy as np

other = threading.Thread(target=lambda: UsStandardAtmosphere1976().density(np.zeros(100)))
other.start()
count = 0
while other.is_alive():
    print(count)
    count += 1
    other.join(0.001)
"""


def test_other_threads_may_print_meanwhile(tmp_path):
    """The first lines of a panel whose session compiles the step would be lost."""
    environment = os.environ | {"PEGASUS_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", _PRINTS_MEANWHILE]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert found.returncode == 0, found.stderr
    printed = [int(line) for line in found.stdout.splitlines()]
    # The start of Warp and a compilation take some tenths of a second.
    assert len(printed) > 20
    assert printed == list(range(len(printed)))
    assert list(tmp_path.rglob("*.o"))


def test_a_module_is_compiled_by_one_process_at_a_time(tmp_path, monkeypatch):
    """Workers that start together would each compile the same modules."""
    monkeypatch.setattr("warp.config.kernel_cache_dir", str(tmp_path))
    begun, entered = threading.Event(), threading.Event()

    def other():
        begun.set()
        with compiled_once("module"):
            entered.set()

    # Another file handle stands for another process.
    thread = threading.Thread(target=other)
    with compiled_once("module"):
        thread.start()
        assert begun.wait(LIMIT)
        with compiled_once("unrelated"):
            assert not entered.wait(0.2)
    assert entered.wait(LIMIT)
    thread.join()


def test_a_cache_without_locks_is_used(tmp_path, monkeypatch):
    """A cache that cannot be written would keep compiled modules from being loaded."""
    monkeypatch.setattr("warp.config.kernel_cache_dir", str(tmp_path / "missing"))
    with compiled_once("module"):
        pass


@pytest.mark.parametrize(
    ("angle", "result"), [(0.5, 0.5), (4.0, 4.0 - 2 * math.pi), (-4.0, 2 * math.pi - 4.0)]
)
def test_angles_are_wrapped(angle, result):
    """If this fails, a heading error of a whole turn is flown out."""
    assert wrapped(angle) == pytest.approx(result, abs=1e-15)
    assert wrapped(angle + 4 * math.pi) == pytest.approx(result, abs=1e-14)


@pytest.mark.parametrize("size", [0.0, 1e-12, 1e-7, 1e-3, 0.761, 0.762, 1.0, 3.1])
def test_rotation_vectors_are_those_of_the_frames(size):
    """Attitudes of compiled code would deviate from those of NumPy."""
    vectors = np.random.default_rng(2).normal(size=(20, 3))
    vectors *= size / np.linalg.norm(vectors, axis=1)[:, None]
    for turn, q in zip(vectors, quaternion_from_rotation_vector(vectors), strict=True):
        found = rotation_quaternion(Vec3(*turn))
        np.testing.assert_allclose([found[k] for k in range(4)], q, atol=1e-15)
        for same in (found, found * -1.0):
            back = rotation_vector(same)
            np.testing.assert_allclose([back[k] for k in range(3)], turn, rtol=1e-13, atol=1e-15)
