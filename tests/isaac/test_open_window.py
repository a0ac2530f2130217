"""Tests of the extension's window at the start of Isaac Sim: shown, docked, and kept as left."""

import importlib
import sys

import pytest

from tests.isaac.contract import VERSIONS
from tests.isaac.user import User

STARTED = 15
"""Number of frames in which the extension starts."""


@pytest.fixture
def isaac_started(isaac):
    """Start Isaac Sim with the extension, which can be ended and started again."""
    users = []

    def start(kit):
        users.append(User(kit))
        users[-1].update(STARTED)
        return users[-1]

    yield isaac, start
    for user in users:
        if "Pegasus" in user.kit.menu:
            user.extension.on_shutdown()


@pytest.mark.parametrize("version", VERSIONS)
def test_the_window_is_shown_at_the_start(isaac_started, version):
    """`pegasus isaac --gui` would show no panel, as the menu helper only adds an entry."""
    isaac, start = isaac_started
    kit = isaac(version)
    start(kit)
    (window,) = kit.windows
    assert window.title == "Pegasus"
    assert window.visible
    assert window.docked
    # Docked in front: a tab behind Property's would be hidden.
    assert kit.active_tabs["Property"] == "Pegasus"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_closed_window_stays_closed(isaac_started, version):
    """A window closed by its user would reopen at each start."""
    isaac, start = isaac_started
    kit = isaac(version)
    first = start(kit)
    kit.windows[0].visible = False
    first.update(2)
    assert kit.windows == []
    first.extension.on_shutdown()
    second = start(kit)
    assert kit.windows == []
    kit.menu["Pegasus"].show_window(None, True, 0)
    second.update(2)
    second.extension.on_shutdown()
    start(kit)
    assert len(kit.windows) == 1


def test_the_end_of_the_extension_is_no_closing(isaac_started):
    """A window open at the end of Isaac Sim would be closed at the next start."""
    isaac, start = isaac_started
    kit = isaac()
    start(kit).extension.on_shutdown()
    assert kit.windows == []
    start(kit)
    assert len(kit.windows) == 1


def test_a_window_that_is_open_is_not_opened_twice(isaac_started):
    """The menu helper would open a second window."""
    isaac, _ = isaac_started
    kit = isaac()
    user = User(kit)
    kit.menu["Pegasus"].show_window(None, True, 0)
    user.update(STARTED)
    assert len(kit.windows) == 1
    user.extension.on_shutdown()


def test_the_tests_for_kit_need_not_be_there(isaac, monkeypatch):
    """The extension would fail to import where omni.kit.test is not enabled."""
    isaac()
    monkeypatch.setitem(sys.modules, "omni.kit.test", None)
    module = importlib.import_module("pegasus.isaac.tests")
    assert not hasattr(module, "TestFlight")
