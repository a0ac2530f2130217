"""Tests of the rclpy transport against a strict stand-in with rclpy's signatures.

Where rclpy itself is installed, the tests of `test_ros2_graph.py` run on it.
"""

import inspect
import json
import os
import threading
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
import rclpy_stand_in
from ros2_types import Float64, Image, Joy, String

from pegasus.backends.ros2.graph import LATCHED, RELIABLE, SENSOR_DATA, QoS
from pegasus.backends.ros2.messages import decode, encode
from pegasus.backends.ros2.transport import open_transport
from pegasus.base.errors import ConfigError
from tests.waits import wait_until

SIGNATURES = json.loads(Path(__file__).with_name("data").joinpath("rclpy_signatures.json").read_text())[
    "calls"
]


@pytest.fixture
def graph():
    """Return the stand-in's entities; none may be left after the test."""
    threads = threading.active_count()
    with rclpy_stand_in.installed() as graph:
        yield graph
    assert graph.alive == []
    assert threading.active_count() == threads


@pytest.fixture
def transport(graph):  # noqa: ARG001
    """Return the transport over the stand-in."""
    transport = open_transport("rclpy", domain_id=3)
    yield transport
    transport.close()


def test_bytes_go_to_whoever_listens(transport):
    """Messages would be serialized twice, or reach a wrong subscriber."""
    node = transport.node("pegasus", "drone0")
    publisher = node.publisher(Float64, "value", RELIABLE)
    one, other = (node.subscription(Float64, name, RELIABLE) for name in ("value", "/value"))
    assert (publisher.matched, one.take()) == (1, [])
    for value in 1.0, 2.0, 3.0:
        publisher.publish(encode(Float64(value)))
    taken = []
    wait_until(lambda: taken.extend(one.take()) or len(taken) == 3)
    assert [decode(Float64, data).data for data in taken] == [1.0, 2.0, 3.0]
    assert other.take() == []
    one.close()
    one.close()
    assert publisher.matched == 0


def test_only_the_newest_are_kept(transport, graph):
    """A subscription that is not read for an hour would fill the memory."""
    node = transport.node("pegasus", "drone0")
    publisher = node.publisher(String, "text", RELIABLE)
    reader = node.subscription(String, "text", QoS(depth=2))
    for i in range(20):
        publisher.publish(encode(String(str(i))))
    assert reader.take() == [encode(String("18")), encode(String("19"))]
    (item,) = graph.of(rclpy_stand_in.Subscription)
    assert not item.handle.queue


def test_topics_without_writers_are_rarely_asked(transport, graph):
    """Each step would ask topics that nobody writes, or lose what a writer said before it left."""
    node = transport.node("pegasus", "drone0")
    reader = node.subscription(String, "text", RELIABLE)
    (item,) = graph.of(rclpy_stand_in.Subscription)
    assert [reader.take() for _ in range(100)] == [[]] * 100
    assert item.handle.asked <= 4
    publisher = node.publisher(String, "text", RELIABLE)
    publisher.publish(encode(String("once")))
    publisher.close()
    assert [data for _ in range(25) for data in reader.take()] == [encode(String("once"))]
    publisher = node.publisher(String, "text", RELIABLE)
    for _ in range(25):
        reader.take()
    for k in range(5):
        publisher.publish(encode(String(str(k))))
        assert reader.take() == [encode(String(str(k)))]


def test_entities_are_used_by_the_thread_that_destroys_them(transport, graph):
    """A waiting thread would die when one of its entities is destroyed, and commands be lost."""
    threads = threading.active_count()
    node = transport.node("pegasus", "drone0")
    publisher, reader = node.publisher(Float64, "a", RELIABLE), node.subscription(Float64, "a", RELIABLE)
    publisher.publish(encode(Float64(1.0)))
    taken = []
    wait_until(lambda: taken.extend(reader.take()) or taken)
    kinds = rclpy_stand_in.Publisher, rclpy_stand_in.Subscription
    handles = [item.handle for kind in kinds for item in graph.of(kind)]
    assert [handle.threads for handle in handles] == [{threading.get_ident()}] * 2
    assert threading.active_count() == threads
    reader.close()
    publisher.close()
    assert reader.take() == []
    with pytest.raises(rclpy_stand_in.InvalidHandle), handles[0]:
        """Whoever used it still would have found out."""


def test_qualities_are_told_to_rclpy(transport, graph):
    """Late subscribers would miss latched topics, or sensors wait for slow subscribers."""
    node = transport.node("pegasus", "drone0")
    for topic, qos in ("a", SENSOR_DATA), ("b", RELIABLE), ("c", LATCHED):
        node.publisher(Image, topic, qos)
    a, b, c = (item.qos_profile for item in graph.of(rclpy_stand_in.Publisher))
    assert (a.reliability.name, a.durability.name, a.depth) == ("BEST_EFFORT", "VOLATILE", 5)
    assert (b.reliability.name, b.durability.name, b.depth) == ("RELIABLE", "VOLATILE", 10)
    assert (c.reliability.name, c.durability.name, c.depth) == ("RELIABLE", "TRANSIENT_LOCAL", 1)
    assert {item.history.name for item in (a, b, c)} == {"KEEP_LAST"}


def test_who_joins_late_gets_what_is_latched(transport):
    """Late subscribers would miss static transforms."""
    node = transport.node("pegasus", "drone0")
    publisher = node.publisher(String, "text", LATCHED)
    publisher.publish(encode(String("once")))
    reader = node.subscription(String, "text", LATCHED)
    (data,) = wait_until(reader.take)
    assert decode(String, data) == String("once")


def test_nodes_have_their_names_and_go_with_their_topics(transport, graph):
    """Removed vehicles would keep their nodes, or nodes have wrong names."""
    nodes = [transport.node("pegasus", f"drone{i}") for i in range(2)]
    for node in nodes:
        node.publisher(Float64, "value", RELIABLE)
        node.subscription(Float64, "command", RELIABLE)
        node.announce()
    assert [(item.namespace, item.name) for item in graph.of(rclpy_stand_in.Node)] == [
        ("/drone0", "pegasus"),
        ("/drone1", "pegasus"),
    ]
    nodes[0].close()
    nodes[0].close()
    assert [item.namespace for item in graph.of(rclpy_stand_in.Node)] == ["/drone1"]
    assert {item.topic for item in graph.of(rclpy_stand_in.Publisher)} == {"/drone1/value"}
    assert {item.topic for item in graph.of(rclpy_stand_in.Subscription)} == {"/drone1/command"}


def test_rclpy_is_told_domain_and_range(graph, monkeypatch):
    """The simulation would use another domain, or the network although it is limited to this machine."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    transport = open_transport("rclpy", domain_id=9, localhost_only=True)
    assert [item.domain for item in graph.of(rclpy_stand_in.Context)] == [9]
    assert graph.ranges == ["LOCALHOST"]
    assert os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET"
    transport.close()
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE")
    open_transport("rclpy", domain_id=9).close()
    assert graph.ranges[1] == "SUBNET"
    assert "ROS_AUTOMATIC_DISCOVERY_RANGE" not in os.environ


def test_rclpy_of_humble(monkeypatch):
    """Humble, whose modules and variables have other names, could not be used, or would use the network."""
    monkeypatch.delenv("ROS_LOCALHOST_ONLY", raising=False)
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    with rclpy_stand_in.installed(humble=True) as graph:
        transport = open_transport("rclpy", domain_id=9, localhost_only=True)
        node = transport.node("pegasus", "drone0")
        publisher, reader = (make(Float64, "value", RELIABLE) for make in (node.publisher, node.subscription))
        publisher.publish(encode(Float64(4.0)))
        assert reader.take() == [encode(Float64(4.0))]
        transport.close()
        open_transport("rclpy", domain_id=9).close()
        assert graph.localhost == ["1", "0"]
        assert "ROS_LOCALHOST_ONLY" not in os.environ
        monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "OFF")
        with pytest.raises(ConfigError, match="Humble cannot switch discovery off"):
            open_transport("rclpy", domain_id=9)
        assert graph.alive == []


def test_a_message_that_the_installation_lacks_is_named(transport):
    """A missing message package would cause a traceback instead of its name."""
    with pytest.raises(ConfigError, match=r"sensor_msgs/msg/Joy.*install ros-<distribution>-sensor-msgs"):
        transport.node("pegasus", "drone0").publisher(Joy, "joy", RELIABLE)


def test_rclpy_is_preferred_where_it_is(graph):
    """A sourced ROS 2 and its settings would be ignored."""
    transport = open_transport(domain_id=3)
    assert transport.name == "rclpy"
    assert len(graph.of(rclpy_stand_in.Context)) == 1
    transport.close()


@pytest.mark.parametrize("call", SIGNATURES)
def test_the_stand_in_has_the_signatures_of_rclpy(call):
    """A keyword unknown to rclpy would pass here and fail on a real installation."""
    wanted = SIGNATURES[call]
    stands_in = rclpy_stand_in
    for name in call.split("."):
        stands_in = getattr(stands_in, name)
    for function in (stands_in, *_real(call)):
        parameters = inspect.signature(function).parameters.values()
        found = [item.name for item in parameters if item.kind is not inspect.Parameter.KEYWORD_ONLY]
        assert found == wanted["positional"]
        found = [item.name for item in parameters if item.kind is inspect.Parameter.KEYWORD_ONLY]
        if function is stands_in:
            assert found == wanted["keyword"]
        # Later releases of Jazzy have more keywords.
        assert set(found) >= set(wanted["keyword"])


def _real(call):
    """Return the same function of rclpy itself, where that of Jazzy or later is installed."""
    if not find_spec("rclpy") or os.environ.get("ROS_DISTRO") == "humble":
        return []
    holder, _, name = call.rpartition(".")
    module = f"rclpy.{holder.lower()}" if holder else "rclpy"
    place = import_module(module)
    return [getattr(getattr(place, holder) if holder else place, name)]
