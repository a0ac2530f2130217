"""Tests of starting Isaac Sim with a scenario, on the fakes."""

import pytest

from pegasus.isaac.launch import OUT_SETTING, PLAY_SETTING, SCENARIO_SETTING
from tests.isaac.contract import NEWEST, VERSIONS
from tests.isaac.user import User

SCENARIO = """
name: hover
world: flat
duration: 5.0
vehicles:
  - model: iris
    backends: [{model: geometric, trajectory: [{hold: {height: 1.0}}]}]
"""


@pytest.fixture
def started(isaac, tmp_path):
    """Start the extension as `pegasus isaac SCENARIO --gui --play` does, in an Isaac Sim that starts up."""
    users = []

    def start(version, *, ready_at, scenario=SCENARIO):
        kit = isaac(version)
        (tmp_path / "hover.yaml").write_text(scenario)
        kit.settings.set(SCENARIO_SETTING, str(tmp_path / "hover.yaml"))
        kit.settings.set(PLAY_SETTING, True)
        kit.ready_at = ready_at
        # As isaacsim.app.setup does in its first frames; 6.0 is not ready before.
        kit.at_frame.append(lambda: kit.frames == 3 and kit.context.new_stage())
        users.append(User(kit))
        return users[-1]

    yield start
    for user in users:
        user.extension.on_shutdown()


@pytest.mark.parametrize(("version", "ready_at"), [("5.1.0", 0), (NEWEST, 60)])
def test_the_scenario_outlives_the_start(started, version, ready_at):
    """The empty stage of Isaac Sim's start would replace the scenario's world."""
    user = started(version, ready_at=ready_at)
    user.update(ready_at + 5)
    assert user.simulation is None
    user.update(30)
    assert user.simulation is not None, user.messages
    assert user.simulation.step_count > 30
    assert [vehicle.name for vehicle in user.simulation.vehicles] == ["iris"]
    # Once, and not with every frame.
    assert user.messages.count("is loaded") == 1


def test_runs_are_recorded_where_it_was_started(isaac, tmp_path):
    """Runs and screenshots would be written to the folder of Isaac Sim."""
    kit = isaac()
    kit.settings.set(OUT_SETTING, str(tmp_path / "mine"))
    user = User(kit)
    try:
        user.fly_square()
        assert user.panel.simulation.record(True)
        kit.timeline.play()
        user.update(5)
        assert user.panel.snapshot.recording.parent == tmp_path / "mine"
    finally:
        user.extension.on_shutdown()


def test_the_pegasus_simulator_beside_it_is_told(started, tmp_path, monkeypatch, caplog):
    """A conflict with the Pegasus Simulator extension would cause no explanation."""
    user = started(NEWEST, ready_at=0)
    # As Kit does when it enables an extension after this one.
    (tmp_path / "pegasus" / "simulator").mkdir(parents=True)
    (tmp_path / "pegasus" / "simulator" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    user.update(20)
    assert f"is at {tmp_path / 'pegasus'} and at " in caplog.text
    assert "pegasus.simulator of the first cannot be imported" in caplog.text


@pytest.mark.parametrize("version", VERSIONS)
def test_a_scenario_that_is_wrong_is_told(started, version):
    """A wrong scenario would leave Isaac Sim empty without a message."""
    user = started(version, ready_at=0, scenario="name: hover\nworld: falt\nvehicles: [{model: iris}]\n")
    user.update(20)
    assert user.simulation is None
    assert "world: no such world; known are airfield" in user.messages
