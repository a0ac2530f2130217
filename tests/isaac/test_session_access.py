"""Tests of the extension's session as the Script Editor and other extensions access it."""

import numpy as np
import pytest

from pegasus import Multirotor
from pegasus.base.errors import ConfigError
from pegasus.contracts.backend import Backend
from pegasus.control import GeometricController, trajectories
from tests.flyers import PLAIN_IRIS
from tests.isaac.contract import VERSIONS


def reached():
    """Return the session that a script gets; imported here because the fakes reload the package."""
    import pegasus.isaac

    return pegasus.isaac.session()


def test_without_the_extension_it_says_what_to_do():
    """A script would end in an AttributeError of None."""
    with pytest.raises(ConfigError, match="is not enabled in this process; enable Pegasus") as caught:
        reached()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_script_flies_what_the_window_shows(window, version):
    """A script would have another simulation than the window."""
    user = window(version)
    session = reached()
    assert session is user.extension.session
    assert session.simulation is None
    with pytest.raises(ConfigError, match="no world is loaded"):
        len(session.vehicles)
    simulation = session.load_world("flat", rate=500.0)
    assert simulation is session.simulation is user.simulation
    pilot = GeometricController(trajectories.hold(height=1.0))
    session.add(Multirotor("iris", position=(0.0, 0.0, 0.1), backends=[pilot]))
    session.play()
    user.update(180)
    assert session.vehicles["iris"].state.position[0, 2] > 0.5
    session.pause()
    user.update(2)
    height = session.vehicles["iris"].state.position[0, 2]
    user.update(10)
    np.testing.assert_array_equal(session.vehicles["iris"].state.position[0, 2], height)
    session.stop()
    session.remove("iris")
    assert len(session.vehicles) == 0
    assert user.panel.snapshot.vehicles == ()


def test_a_script_loads_a_scenario(window):
    """A script could not load a scenario file."""
    user = window()
    simulation = reached().load_scenario("first_flight")
    assert [vehicle.name for vehicle in simulation.vehicles] == [v.name for v in user.panel.snapshot.vehicles]
    with pytest.raises(ConfigError, match="no such scenario"):
        reached().load_scenario("frist_flight")
    assert reached().simulation is simulation


def test_it_ends_with_the_extension(window):
    """A script would keep using a closed session."""
    user = window()
    reached()
    user.extension.on_shutdown()
    with pytest.raises(ConfigError, match="is not enabled"):
        reached()
    user.extension.on_startup("pegasus-1.0.0")
    assert reached() is user.extension.session


def test_a_second_extension_is_refused(window, caplog):
    """Two sessions would both drive the timeline and the stage, where two folders of Pegasus are enabled."""
    user = window()
    from pegasus.isaac.extension import PegasusExtension

    second = PegasusExtension()
    second.on_startup("pegasus.clone-1.0.0")
    (record,) = caplog.records
    said = record.getMessage()
    assert "pegasus.clone-1.0.0 is not started, since pegasus-1.0.0 runs Pegasus in this process" in said
    assert "\n" not in said
    assert reached() is user.extension.session
    second.on_shutdown()
    assert reached() is user.extension.session


class Connected(Backend):
    """Backend that notes what its connection lives through."""

    def __init__(self):
        self.calls = []

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")

    def restart(self):
        self.calls.append("restart")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("others", [False, True])
def test_a_reset_keeps_connections_where_only_vehicles_move(window, version, others):
    """Nodes of ROS 2 would leave the graph and come back as others at each reset."""
    user = window(version)
    from pegasus.isaac import kit

    session = reached()
    simulation = session.load_world("flat")
    backend = Connected()
    iris = Multirotor(PLAIN_IRIS, position=(0.0, 0.0, 5.0), backends=[backend])
    session.add(iris)
    if others:
        user.kit.context.get_stage().DefinePrim("/World/graph", "OmniGraph")
    session.play()
    user.update(30)
    fallen = iris.state.position[0, 2]
    assert fallen < 4.5
    stops = []
    held = kit.on_timeline(kit.TimelineEvent.STOP, lambda: stops.append(simulation.time))
    session.reset()
    assert len(stops) == others
    assert user.kit.timeline.is_playing()
    assert simulation.time == 0.0
    assert iris.state.position[0, 2] == pytest.approx(5.0, abs=1e-6)
    user.update(30)
    assert backend.calls == (["start", "stop", "start"] if others else ["start", "restart", "start"])
    assert iris.state.position[0, 2] == pytest.approx(fallen, abs=1e-3)
    session.stop()
    assert backend.calls[-1] == "stop"
    del held
