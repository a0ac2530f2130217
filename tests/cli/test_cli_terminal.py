"""Tests of the progress messages before a flight."""

import io
import logging

import pytest
from rich.console import Console

from pegasus.cli import terminal as cli_terminal
from pegasus.core.assembly import world_of
from pegasus.worlds import made_world


@pytest.mark.parametrize("terminal", [True, False])
def test_a_world_that_takes_long(cache, tmp_path, monkeypatch, terminal):
    """The first flight in a large world would show no message for minutes."""
    # A new world, with the textures painted in this run.
    (cache / "finishes").mkdir(exist_ok=True)
    (tmp_path / "finishes").symlink_to(cache / "finishes")
    monkeypatch.setenv("PEGASUS_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm")
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=terminal, width=500)
    monkeypatch.setattr(cli_terminal, "Console", lambda **_: console)
    logger = logging.getLogger("pegasus.scene.generator")
    before = logger.level, logger.propagate, list(logger.handlers)
    with cli_terminal.showing_preparation("preparing a flight"):
        made_world(world_of("race_gates")[0])
    said = shown.getvalue()
    assert "making the world race_gates, once; it is kept in" in said
    assert ("preparing a flight" in said) is terminal
    if not terminal:
        assert said.startswith("pegasus: making")
        assert said.count("\n") == 1
    assert (logger.level, logger.propagate, list(logger.handlers)) == before
    with cli_terminal.showing_preparation("preparing a flight"):
        made_world(world_of("race_gates")[0])
    assert terminal or shown.getvalue() == said
