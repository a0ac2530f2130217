"""Tests of the process's shared DDS participant: sharing, conflicts, and errors without ROS 2."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from ros2_types import Clock, Float64, Time

import pegasus
from pegasus.backends.ros2.graph import RELIABLE, QoS
from pegasus.backends.ros2.messages import decode
from pegasus.backends.ros2.transport import open_transport
from pegasus.base.errors import ConfigError
from tests.waits import LIMIT, wait_until


@pytest.fixture
def share(domain, kind):  # noqa: ARG001
    """Return a function that opens a share of the participant; all are closed after the test."""
    opened = []

    def share():
        opened.append(open_transport("auto" if opened else kind))
        return opened[-1]

    yield share
    for transport in opened:
        transport.close()


@pytest.fixture
def transport(share):
    """Return a share of the process's participant."""
    return share()


def test_two_vehicles_cannot_have_one_namespace(transport, share, kind):
    """Topics of two vehicles in one namespace would be mixed."""
    other = share()
    transport.node("pegasus", "drone0")
    with pytest.raises(ConfigError, match=r"namespace = '/drone0': .* give each vehicle its own namespace"):
        other.node("pegasus", "/drone0")
    assert other.name == kind
    other.node("pegasus", "drone1")
    other.close()
    # The name is free again, and so is the name of a node that was closed separately.
    transport.node("pegasus", "drone1").close()
    transport.node("pegasus", "drone1")


def test_the_clock_tells_each_instant_once(transport, share):
    """Five vehicles would publish the clock five times a step."""
    other = share()
    reader = transport.node("listener").subscription(Clock, "/clock", QoS(reliable=False, depth=100))
    clocks = transport.clock(), other.clock()
    for clock in clocks:
        clock.use(None, physics_rate=250.0)
    told = []

    def heard():
        told.append(0)
        clocks[0].publish(9.0 + 1e-9 * len(told))
        return reader.take()

    # The first messages are sent before the reader is matched.
    wait_until(heard)
    for t in 1.000000005, 1.000000006, 0.0:
        for clock in clocks:
            clock.publish(t)
    received = []
    wait_until(lambda: received.extend(reader.take()) or len(received) >= 3)
    stamps = [decode(Clock, data).clock for data in received]
    assert [stamp for stamp in stamps if stamp.sec < 9] == [Time(1, 5), Time(1, 6), Time(0, 0)]


@pytest.mark.parametrize(
    ("namespace", "name", "topic", "message"),
    [
        ("drone-0", "pegasus", "value", "namespace = 'drone-0'"),
        ("drone0", "the node", "value", "node name = 'the node'"),
        ("drone0", "pegasus", "a value", "topic = 'a value'"),
    ],
)
def test_names_are_checked_before_anything_is_made(transport, namespace, name, topic, message):
    """A misspelt name would leave an incomplete node, or end in a traceback."""
    with pytest.raises(ConfigError, match=message):
        transport.node(name, namespace).publisher(Float64, topic, RELIABLE)


def test_both_at_once_are_refused(share, kind):
    """Two middlewares in one process would crash it."""
    share()
    other = "rclpy" if kind == "cyclonedds" else "cyclonedds"
    with pytest.raises(ConfigError, match=f"this process already uses {kind}.*use {kind} for all vehicles"):
        open_transport(other)
    with pytest.raises(ConfigError, match="transport = 'zenoh': must be one of auto, rclpy, cyclonedds"):
        open_transport("zenoh")


def test_two_ranges_on_one_domain_are_refused(share, domain, monkeypatch):
    """A vehicle limited to this machine would share a participant on the network."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
    share()
    with pytest.raises(ConfigError, match=f"localhost_only = True.*already on domain {domain} with range .*"):
        open_transport(localhost_only=True)


def test_settings_that_cyclone_refuses_are_named(domain, kind, monkeypatch):  # noqa: ARG001
    """A misspelt CYCLONEDDS_URI would end in a traceback, or be ignored."""
    if kind == "rclpy":
        pytest.skip("ROS's middleware reads them")
    monkeypatch.setenv("CYCLONEDDS_URI", "<General><Nonsense>1</Nonsense></General>")
    with pytest.raises(ConfigError, match=r"cannot join the domain.*check CYCLONEDDS_URI") as caught:
        open_transport("cyclonedds")
    assert "\n" not in str(caught.value)


def test_a_domain_that_the_program_is_on_already_is_shared(domain, kind):
    """A script with its own participant could not run a simulation."""
    if kind == "rclpy":
        pytest.skip("both cannot be in one process")
    participant = pytest.importorskip("cyclonedds.domain").DomainParticipant(domain)
    open_transport("cyclonedds").close()
    assert participant.guid
    participant.__del__()
    open_transport("cyclonedds").close()


def test_without_either_the_remedy_is_said(monkeypatch):
    """Without ROS 2 a user would get an ImportError instead of a remedy."""
    for name in "rclpy", "cyclonedds.core":
        monkeypatch.setitem(sys.modules, name, None)
    for name in "rclpy_transport", "cyclonedds_transport":
        monkeypatch.delitem(sys.modules, f"pegasus.backends.ros2.{name}", raising=False)
    with pytest.raises(ConfigError, match=r"transport = 'auto'.*pip install.*ros2.*source a ROS 2") as caught:
        open_transport()
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="transport = 'rclpy'"):
        open_transport("rclpy")


def test_a_ros_of_another_python_is_passed_over_and_named(domain, kind, tmp_path, monkeypatch, caplog):  # noqa: ARG001
    """No message would explain why a sourced ROS 2 is not used."""
    if kind == "rclpy":
        pytest.skip("rclpy can be used here")
    broken = tmp_path / "rclpy"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('built for another Python', name='rclpy._impl')")
    monkeypatch.syspath_prepend(tmp_path)
    transport = open_transport()
    name = transport.name
    transport.close()
    assert name == "cyclonedds"
    assert "rclpy cannot be used: built for another Python" in caplog.text


def test_neither_is_imported_before_it_is_needed():
    """Programs without ROS 2 would import it at every start, or need it installed."""
    edge = {"rclpy_transport", "cyclonedds_transport", "dds_types"}
    packages = {"rclpy", "cyclonedds", *(f"pegasus.backends.ros2.{name}" for name in edge)}
    for path in Path(pegasus.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if path.stem not in edge and any(name.rpartition(".")[2] in text for name in packages):
            tree = ast.walk(ast.parse(text))
            imports = [item for item in tree if isinstance(item, ast.Import | ast.ImportFrom)]
            names = {getattr(item, "module", None) or item.names[0].name for item in imports}
            assert not {name for name in names if name in packages or name.split(".")[0] in packages}, path


def test_the_graph_is_imported_without_a_vehicle():
    """A program that imports the ROS 2 modules alone would fail by a circular import."""
    command = "import pegasus.backends.ros2.transport"
    subprocess.run([sys.executable, "-c", command], check=True, timeout=LIMIT)
