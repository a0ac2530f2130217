"""Fixtures of the autopilots' tests: a PX4-Autopilot whose program is the peer, and checks for leaks."""

import gc
import socket
import threading
from collections import Counter
from contextlib import suppress

import pytest
from px4_rig import PX4Tree, open_files, processes

from pegasus.backends import PX4

_FIRST_MARK, _INSTANCES = 4310, 25
"""The first of the ports that runs of the tests mark their instances with, and how many each run has."""


@pytest.fixture(scope="session", autouse=True)
def settings_of_this_run(tmp_path_factory):
    """Give each test run its own range of instances for the search of free ones.

    Return the text of the settings with that range.
    """
    folder = tmp_path_factory.mktemp("config")
    with socket.socket() as mark, pytest.MonkeyPatch.context() as patch:
        for first in range(_INSTANCES, 250, _INSTANCES):
            # The operating system frees it however the run ends.
            with suppress(OSError):
                mark.bind(("127.0.0.1", _FIRST_MARK + first // _INSTANCES))
                break
        text = f"px4: {{instance: {first}}}\nardupilot: {{instance: {first}}}\n"
        (folder / "settings.yaml").write_text(text)
        patch.setenv("PEGASUS_CONFIG_DIR", str(folder))
        yield text


@pytest.fixture
def tree(tmp_path):
    """Return a folder like a built PX4-Autopilot."""
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
def own_settings(tmp_path, monkeypatch, settings_of_this_run):
    """Replace the user's settings by an empty folder of the test, and return that folder."""
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "settings.yaml").write_text(settings_of_this_run)
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("PX4_DIR", "ARDUPILOT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(scope="module")
def tidy():
    """Free what other files of tests have left: once, as it takes up to a second."""
    gc.collect()


@pytest.fixture
def nothing_left(tmp_path, own_settings, tidy):  # noqa: ARG001
    """Assert that after the test no process, open file, socket or thread of it is left."""
    files, running = Counter(open_files()), Counter(processes(tmp_path))
    threads = set(threading.enumerate())
    yield
    # Processes and files of earlier tests may end meanwhile.
    assert not Counter(open_files()) - files
    assert not Counter(processes(tmp_path)) - running
    assert set(threading.enumerate()) <= threads
