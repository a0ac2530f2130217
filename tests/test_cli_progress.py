"""What the command says while it prepares a flight."""

import io
import logging

import pytest
from rich.console import Console

from pegasus import cli_progress
from pegasus.assembly import world_of
from pegasus.scene.worlds import made_world


@pytest.mark.parametrize("terminal", [True, False])
def test_a_world_that_takes_long(tmp_path, monkeypatch, terminal):
    """The first flight through a large world would be silent for minutes."""
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm")
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=terminal, width=500)
    monkeypatch.setattr(cli_progress, "Console", lambda **_: console)
    logger = logging.getLogger("pegasus.scene.worlds.files")
    before = logger.level, logger.propagate, list(logger.handlers)
    with cli_progress.telling("preparing a flight"):
        made_world(world_of("race_gates")[0])
    said = shown.getvalue()
    assert "making the world race_gates, once; it is kept in" in said
    assert ("preparing a flight" in said) is terminal
    if not terminal:
        assert said.startswith("pegasus: making")
        assert said.count("\n") == 1
    assert (logger.level, logger.propagate, list(logger.handlers)) == before
    with cli_progress.telling("preparing a flight"):
        made_world(world_of("race_gates")[0])
    assert terminal or shown.getvalue() == said
