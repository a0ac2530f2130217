"""Fixtures of panels with an empty user configuration."""

import pytest

from pegasus.panel import Panel
from pegasus.session import Session


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return the user's folder."""
    folder = tmp_path / "config"
    monkeypatch.setenv("PEGASUS_CONFIG_DIR", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable in "PX4_DIR", "ARDUPILOT_DIR":
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.fixture
def session():
    """A session without a world."""
    with Session() as session:
        yield session


@pytest.fixture
def panel(config, session, tmp_path):  # noqa: ARG001
    """A panel that has just been opened."""
    panel = Panel(session, out=tmp_path / "runs")
    yield panel
    panel.close()


@pytest.fixture
def flat(panel):
    """A panel with the flat world loaded, at full speed."""
    assert panel.world.choose("flat")
    assert panel.world.load()
    assert panel.simulation.set_speed("max")
    return panel
