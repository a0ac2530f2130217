"""What tests of the PX4 backend share: a PX4-Autopilot whose program is the peer, and what must not stay."""

import threading

import pytest
from px4_rig import PX4Tree, open_files, processes

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
def own_settings(tmp_path, monkeypatch):
    """Keep the settings of whoever runs the tests out of them, and return the folder of the test's own."""
    folder = tmp_path / "config"
    folder.mkdir()
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PX4_DIR", raising=False)
    return folder


@pytest.fixture
def nothing_left(tmp_path, own_settings):  # noqa: ARG001
    """Assert that after the test no process, open file, socket or thread of it is left."""
    files, threads = open_files(), threading.active_count()
    yield
    assert processes(tmp_path) == []
    assert open_files() == files
    assert threading.active_count() == threads
