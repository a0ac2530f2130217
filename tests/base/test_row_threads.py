"""Tests of rows run by several threads: each once, with the bits of one thread, also while others step."""

import os
import threading
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("warp", reason="pip install pegasus-multirotor[standalone]")

from pegasus.base import row_threads
from pegasus.base.row_kernels import RowLaunch, Rows
from pegasus.base.step_math import Column, Real, exp
from pegasus.base.system import processor_count

COUNT = 2000


@dataclass
class Counted:
    given: Column[Real]
    made: Column[Real]
    times: Column[int]


def count_up(i: int, rows: Counted) -> None:
    """Count the runs of a row."""
    rows.times[i] = rows.times[i] + 1
    rows.made[i] = exp(rows.given[i])


def columns():
    """Return columns of numbers from 0 to 1."""
    given = np.linspace(0.0, 1.0, COUNT)
    return {"given": given, "made": np.zeros(COUNT), "times": np.zeros(COUNT, dtype=np.int32)}


@pytest.fixture
def three_threads(monkeypatch):
    """Let launches be run by three threads, whatever the machine has."""
    monkeypatch.setattr(row_threads, "thread_count", lambda: 3)
    row_threads._thread_pool.cache_clear()
    yield
    row_threads._thread_pool.cache_clear()


@pytest.mark.usefixtures("three_threads")
def test_every_row_is_run_once_with_the_same_bits(monkeypatch):
    """A portion would be left out or run twice."""
    ours, alone = columns(), columns()
    launch = RowLaunch(count_up, Rows(Counted, ours), COUNT)
    with monkeypatch.context() as patch:
        patch.setattr(row_threads, "thread_count", lambda: 1)
        single = RowLaunch(count_up, Rows(Counted, alone), COUNT)
    for times in range(1, 200):
        launch()
        single()
        assert (ours["times"] == times).all()
        np.testing.assert_array_equal(ours["made"], alone["made"])


@pytest.mark.usefixtures("three_threads")
def test_the_threads_share_the_work():
    """Other threads would only be woken, not work."""
    ran = set()
    all_here = threading.Barrier(3)

    def call():
        ran.add(threading.get_ident())
        all_here.wait(10.0)

    row_threads.run_together([call] * 12)
    assert len(ran) == 3


@pytest.mark.usefixtures("three_threads")
def test_two_simulations_at_once_do_not_wait_for_each_other():
    """The second would take the first one's threads, or wait for its end for ever."""
    within, after = threading.Event(), threading.Event()

    def first():
        within.set()
        assert after.wait(10.0)

    other = threading.Thread(target=row_threads.run_together, args=([first],))
    other.start()
    assert within.wait(10.0)
    ran = []
    row_threads.run_together([lambda: ran.append(threading.get_ident())] * 5)
    assert ran == [threading.get_ident()] * 5
    after.set()
    other.join(10.0)
    assert not other.is_alive()


def test_few_rows_or_one_thread_are_one_portion(monkeypatch):
    """A flight of few vehicles would pay for threads, or a worker of a sweep take the others' processors."""
    assert row_threads.portions(row_threads.FEWEST - 1) == [(0, row_threads.FEWEST - 1)]
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert row_threads.thread_count() == 1
    assert row_threads.portions(5000) == [(0, 5000)]
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert row_threads.thread_count() == min(3, processor_count())
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert row_threads.thread_count() == processor_count()


def test_few_portions_wake_few_threads(monkeypatch):
    """A thousand vehicles would wake all threads of a large machine, at each launch."""
    monkeypatch.setattr(row_threads, "thread_count", lambda: 9)
    row_threads._thread_pool.cache_clear()
    ran = set()
    for _ in range(20):
        row_threads.run_together([lambda: ran.add(threading.get_ident())] * 16)
    row_threads._thread_pool.cache_clear()
    assert 1 <= len(ran) <= 5


@pytest.mark.usefixtures("three_threads")
def test_portions_hold_each_row_once():
    """The last rows would be left out."""
    parts = row_threads.portions(1001)
    assert [first for first, _ in parts] == list(range(0, 1001, row_threads.PORTION))
    assert sum(count for _, count in parts) == 1001


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.usefixtures("three_threads")
def test_a_fork_has_threads_of_its_own():
    """A forked process would wait for threads that only its parent has."""
    row_threads.run_together([lambda: None] * 12)
    child = os.fork()
    if child == 0:
        row_threads.run_together([lambda: None] * 12)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
