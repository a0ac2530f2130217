"""Tests of files that are replaced as a whole, and of priorities of threads."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pegasus.base.system import replacing, yield_to_others
from tests.waits import LIMIT


def test_threads_that_write_one_file(tmp_path):
    """Two threads would write into the same temporary file, and one of them fail or leave half of it."""
    file, meeting = tmp_path / "deep" / "table.npz", threading.Barrier(4, timeout=LIMIT)
    failures = []

    def write(content):
        try:
            with replacing(file) as part:
                meeting.wait()
                part.write_bytes(content)
                meeting.wait()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(bytes([k]) * 10,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    assert failures == []
    assert file.read_bytes() in {bytes([k]) * 10 for k in range(4)}
    assert [path.name for path in file.parent.iterdir()] == ["table.npz"]


def test_a_failure_leaves_the_file(tmp_path):
    """A failed write would destroy the last file, or leave its temporary one."""
    file = tmp_path / "kept.txt"
    file.write_text("old")

    def fail():
        with replacing(file) as part:
            part.write_text("half")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        fail()
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(sys.platform != "linux", reason="threads have priorities of their own on Linux only")
def test_a_thread_yields_alone():
    """Threads that render would hold up the step, or the step would yield with them."""

    def priority():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    before = priority()
    with ThreadPoolExecutor(1, initializer=yield_to_others) as pool:
        assert pool.submit(priority).result() == max(before, 10)
    assert priority() == before
