"""Tests of counter-based random numbers: published values, distribution, and equal bits when compiled."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtri

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus.base.random_numbers import draw_key, normal, normal_vector, normals, percentage_points, philox
from pegasus.base.step_math import Reals, Vec3, Word
from pegasus.base.streams import stream
from pegasus.base.tracing import column
from pegasus.base.tracing.launches import program_of


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (
            (0xFFFFFFFF,) * 4,
            0xFFFFFFFFFFFFFFFF,
            (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
        ),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            0x299F31D0A4093822,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_words_are_those_of_random123(counter, key, words):
    """The generator would differ from Random123, whose statistics are tested."""
    assert philox(key, *counter) == words


def test_percentage_points():
    """A coefficient would be mistyped."""
    share = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 4001), [1e-11, 1 - 1e-11, 0.075, 0.925]])
    np.testing.assert_allclose(percentage_points(share), ndtri(share), rtol=3e-15, atol=1e-16)


def test_normal_numbers_are_the_percentage_points():
    """A polynomial would be badly fitted, taken for another part of the tail, or the tails be cut."""
    words = np.random.default_rng(1).integers(2**32, size=20_000)
    edges = [2**k + d for k in range(1, 32) for d in (-1, 0, 1)]
    words = np.concatenate([words, words >> 12, edges, np.arange(40)])
    words = np.concatenate([words, 2**32 - 1 - words])
    found = [normal(Word(word)) for word in words.tolist()]
    np.testing.assert_allclose(found, ndtri((words + 0.5) / 2**32), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found[: len(found) // 2], -np.array(found[len(found) // 2 :]))


def draw(key: Word, copy: int, reading: int, block: int) -> tuple[Reals, Vec3]:
    """Return twelve numbers, and the first three of them as a vector."""
    blocks = [normals(key, copy, reading, block + k) for k in range(3)]
    return tuple(x for four in blocks for x in four), normal_vector(key, copy, reading, block)


def drawn(keys, copies, readings, block=0):
    """Return the compiled draws of rows, shape (M, 12)."""
    m = len(keys)
    columns = {
        "key": np.array(keys, dtype=np.uint64),
        "copy": np.array(copies, dtype=np.int32),
        "reading": np.array(readings, dtype=np.int32),
        "block": np.full(m, block, dtype=np.int32),
        "normal": np.zeros((m, 12)),
        "vector": np.zeros((m, 3)),
    }
    kinds = {"key": Word, "copy": int, "reading": int, "block": int}
    inputs = (column(name, kind) for name, kind in kinds.items())
    program = program_of(draw, *inputs, outputs=("normal", "vector"), count=m)
    program.launch(columns, m)()
    np.testing.assert_array_equal(columns["vector"], columns["normal"][:, :3])
    return columns["normal"]


def test_python_and_compiled_code_give_the_same_bits():
    """Debugging in Python would show another flight."""
    keys = [draw_key(stream(4, "iris", name)) for name in ("imu", "gps")] * 50
    compiled = drawn(keys, range(100), range(1000, 1100), 7)
    plain = [draw(Word(keys[k]), k, 1000 + k, 7)[0] for k in range(100)]
    np.testing.assert_array_equal(plain, compiled)


def test_a_row_does_not_depend_on_the_others():
    """Copy 0 would have other noise for another count."""
    one = drawn([5], [0], [3])
    many = drawn([5] * 9, range(9), [3] * 9)
    np.testing.assert_array_equal(one[0], many[0])
    assert len(np.unique(many)) == many.size


@pytest.mark.parametrize("axis", ["key", "copy", "reading", "block"])
def test_numbers_are_normal_and_independent_along_every_axis(axis):
    """Counters would overlap, or neighbours in time, among copies or sensors err alike."""
    n = 20_000
    count = np.arange(n)
    keys = count * 2**32 + 1 if axis == "key" else np.full(n, 99)
    copies = count if axis == "copy" else np.zeros(n)
    readings = count if axis == "reading" else np.zeros(n)
    if axis == "block":
        # Three blocks of four make a row; the next rows take the blocks after them.
        sample = np.concatenate([drawn([99], [0], [0], 3 * k) for k in range(n // 10)])
    else:
        sample = drawn(keys, copies, readings)
    flat = sample.ravel()
    m = flat.size
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs(np.mean(flat**power) - moment) < 5 * np.sqrt(spread / m)
    assert stats.kstest(flat, "norm").pvalue > 1e-4
    for lag in (1, 2, 3, 4, 12, 24):
        assert abs(np.mean(flat[:-lag] * flat[lag:])) < 5 / np.sqrt(m)
    correlation = np.corrcoef(sample.T)[np.triu_indices(12, 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(len(sample))


def test_keys_depend_on_seed_and_names():
    """Two sensors, or two seeds, would have the same noise."""
    names = [(0, "a", "b"), (0, "ab", ""), (0, "a", "c"), (0, "b", "a"), (1, "a", "b")]
    keys = [draw_key(stream(*name)) for name in names]
    assert len(set(keys)) == len(keys)
    assert draw_key(stream(0, "a", "b")) == keys[0]
    assert max(keys) > 2**62
