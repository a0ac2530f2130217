"""What tests of the PX4 backend share: a PX4-Autopilot whose program is the peer, and what must not stay."""

import os
import sys
import threading
from pathlib import Path

import pytest
from px4_rig import PX4Tree

from pegasus.backends.mavlink import PX4


@pytest.fixture
def tree(tmp_path):
    """Return a folder that looks like PX4-Autopilot, built."""
    return PX4Tree(tmp_path / "PX4-Autopilot")


@pytest.fixture
def px4(tree, tmp_path):
    """Return a function that makes a backend which starts peers with the given options."""

    def make(options="", **arguments):
        tree.say(options)
        backend = PX4(tree.folder, **arguments)
        backend.run_folder = tmp_path / "run"
        return backend

    return make


@pytest.fixture
def nothing_left(tmp_path):
    """Assert that after the test no process, open file, socket or thread of it is left."""
    files, threads = open_files(), threading.active_count()
    yield
    assert processes(tmp_path) == []
    assert open_files() == files
    assert threading.active_count() == threads


def processes(folder):
    """Return the command lines that name a folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            # It has ended meanwhile.
            continue
        if str(folder) in command and file.parent.name != str(os.getpid()):
            found.append(command)
    return found


def open_files():
    """Return what this process has open, sockets with their ports; nothing where that cannot be seen."""
    if sys.platform != "linux":
        return []
    targets = []
    for file in Path("/proc/self/fd").iterdir():
        try:
            targets.append(str(file.readlink()))
        except FileNotFoundError:
            # The descriptor by which the folder itself was read.
            continue
    return sorted(targets)
