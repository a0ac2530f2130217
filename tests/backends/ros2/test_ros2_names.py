"""Tests of ROS 2 names, domains and discovery ranges."""

import xml.etree.ElementTree as ET

import pytest

from pegasus.backends.ros2.graph import Discovery, find_discovery
from pegasus.backends.ros2.names import full_namespace, full_topic, node_name
from pegasus.base.errors import ConfigError


@pytest.mark.parametrize(
    ("topic", "namespace", "wanted"),
    [
        ("sensors/imu", "drone0", "/drone0/sensors/imu"),
        ("sensors/imu", "/fleet/drone0", "/fleet/drone0/sensors/imu"),
        ("/clock", "drone0", "/clock"),
        ("odom", "", "/odom"),
        ("odom", "/", "/odom"),
        ("_hidden/x1", "a_b", "/a_b/_hidden/x1"),
    ],
)
def test_topics_stand_below_their_namespace(topic, namespace, wanted):
    """A vehicle's topics would be outside of its namespace, or /clock inside one."""
    assert full_topic(topic, namespace) == wanted


@pytest.mark.parametrize(
    "name",
    [
        "0drone",
        "drone 0",
        "a//b",
        "a/",
        "/",
        "",
        "drone-0",
        "a/0b",
        "~/x",
        "{node}/x",
        "dröne",
        "a\n",
        "a/b/",
    ],
)
def test_topics_that_ros_does_not_allow_are_refused(name):
    """ROS 2 would reject the name later, or never discover the topic."""
    with pytest.raises(ConfigError, match="topic"):
        full_topic(name, "drone0")


@pytest.mark.parametrize("name", ["0drone", "drone-0", "a//b", "a/", "//", " ", "a.b", "x" * 245])
def test_namespaces_that_ros_does_not_allow_are_refused(name):
    """ROS 2 would reject the namespace later, with another error."""
    with pytest.raises(ConfigError, match="namespace"):
        full_namespace(name)


@pytest.mark.parametrize("name", ["", "a/b", "/a", "0a", "a-b", "a b", "x" * 256])
def test_node_names_that_ros_does_not_allow_are_refused(name):
    """ROS 2 would reject the node name later, with another error."""
    with pytest.raises(ConfigError, match="node name"):
        node_name(name)


def test_names_may_be_as_long_as_ros_allows():
    """Long names that ROS 2 accepts would be rejected, or longer ones pass."""
    assert node_name("x" * 255)
    assert full_namespace("x" * 244)
    assert len(full_topic("y" * 2, "x" * 243)) == 247
    with pytest.raises(ConfigError, match="at most 247"):
        full_topic("y" * 3, "x" * 243)


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, Discovery(0, "SUBNET")),
        ({"ROS_DOMAIN_ID": ""}, Discovery(0, "SUBNET")),
        ({"ROS_DOMAIN_ID": "42"}, Discovery(42, "SUBNET")),
        ({"ROS_LOCALHOST_ONLY": "1", "ROS_STATIC_PEERS": "a"}, Discovery(0, "LOCALHOST")),
        ({"ROS_LOCALHOST_ONLY": "0"}, Discovery(0, "SUBNET")),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, Discovery(0, "LOCALHOST")),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"}, Discovery(0, "OFF")),
        ({"ROS_STATIC_PEERS": "10.0.0.1;station"}, Discovery(0, "SUBNET", ("10.0.0.1", "station"))),
    ],
)
def test_the_environment_says_where_others_are(environment, wanted):
    """ROS_DOMAIN_ID or the discovery range of the environment would be ignored."""
    assert find_discovery(environment=environment) == wanted


def test_arguments_count_before_the_environment():
    """A run limited to this machine by its arguments would use the network."""
    environment = {"ROS_DOMAIN_ID": "42", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    found = find_discovery(7, localhost_only=True, environment=environment)
    assert found == Discovery(7, "LOCALHOST")


@pytest.mark.parametrize(
    ("domain_id", "environment", "field"),
    [
        (233, {}, "domain_id = '233'"),
        (-1, {}, "domain_id = '-1'"),
        (None, {"ROS_DOMAIN_ID": "all"}, "ROS_DOMAIN_ID = 'all'"),
        (None, {"ROS_DOMAIN_ID": "500"}, "ROS_DOMAIN_ID = '500'"),
        (None, {"ROS_AUTOMATIC_DISCOVERY_RANGE": "NEAR"}, "ROS_AUTOMATIC_DISCOVERY_RANGE = 'NEAR'"),
    ],
)
def test_what_the_environment_may_not_say_is_refused(domain_id, environment, field):
    """An invalid environment variable would select a wrong domain."""
    with pytest.raises(ConfigError, match=field):
        find_discovery(domain_id, environment=environment)


def test_cyclone_is_told_the_range():
    """Without multicast two local processes would not discover each other, or use the network."""

    def config(*arguments):
        return ET.fromstring(f"<Domain>{Discovery(0, *arguments).cyclonedds_config(process=7)}</Domain>")

    here = config("LOCALHOST")
    assert here.find("General/AllowMulticast").text == "false"
    assert here.find("General/Interfaces/NetworkInterface").get("address") == "127.0.0.1"
    assert [peer.get("address") for peer in here.iter("Peer")] == ["localhost"]
    assert here.find("Discovery/ParticipantIndex").text == "auto"
    assert config("SUBNET").find("General") is None
    assert [peer.get("address") for peer in config("SUBNET", ('a"b',)).iter("Peer")] == ['a"b']
    assert list(config("SYSTEM_DEFAULT", ("a",)).iter("Peer")) == []
    assert config("OFF").find("Discovery/Tag").text == "ros_discovery_off_7"
