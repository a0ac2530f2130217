"""Tests of the options of vehicles on ROS 2, and of rejected ones."""

from contextlib import closing

import numpy as np
import pytest
from ros2_rig import TRANSPORT, begin, ignore, listen, nanoseconds, seen, stamp_of

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import ROS2
from pegasus.backends.ros2.transport import open_transport
from pegasus.control import GeometricController, trajectories
from tests.waits import wait_until

pytest.importorskip("cyclonedds")


@pytest.fixture(scope="module", autouse=True)
def begun(domain):  # noqa: ARG001
    """Begin on the domain of the tests."""
    begin()


def test_topics_are_changed_as_told(peer):
    """A topic could not be switched off, renamed or given a lower rate."""
    topics = {"odom": False, "state/pose": {"name": "truth", "rate_hz": 25.0}, "/tf": {"rate_hz": 10.0}}
    backend = ROS2("d0", transport=TRANSPORT, topics=topics)
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", backends=[backend]))
        listen(peer, {"/d0/truth": "PoseStamped", "/tf": "TFMessage"}, "reliable")
        wait_until(lambda: all(peer.ask("matched", topic=topic) for topic in ("/d0/truth", "/tf")))
        wait_until(lambda: "rt/d0/truth" in peer.ask("nodes")["/d0/pegasus"]["writes"])
        writes = peer.ask("nodes")["/d0/pegasus"]["writes"]
        assert not {"rt/d0/odom", "rt/d0/state/pose"} & set(writes)
        seen(sim, peer, ["/d0/truth", "/tf"])
        stamps = []
        for _ in range(10):
            sim.step(10)
            stamps += [stamp_of(message) for message in peer.messages("/d0/truth")]
        assert set(np.diff(stamps)) == {40_000_000}
        first, second = (stamp_of(m["transforms"][0]) for m in peer.messages("/tf", 2)[:2])
        assert second - first == 100_000_000
        ignore(peer, ["/d0/truth", "/tf"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"namespace": "drone 0"}, "namespace = 'drone 0': must be parts between slashes"),
        ({"transport": "zenoh"}, "transport = 'zenoh': must be one of auto, rclpy, cyclonedds"),
        ({"on_timeout": "land"}, "on_timeout = 'land': must be stop or hold"),
        ({"command_timeout": 0.0}, "command_timeout = 0.0: must be above 0 s"),
        ({"domain_id": 300}, "domain_id = 300: must be from 0 to 232"),
        ({"topics": {"odom": 5}}, "topics.odom = 5: must be true, false, or a mapping"),
        ({"topics": {"odom": {"rate_hz": 0}}}, "topics.odom.rate_hz = 0: must be above 0 Hz"),
        ({"topics": {"odom": {"rate_hz": "fast"}}}, "topics.odom.rate_hz = 'fast': must be a number"),
        ({"topics": {"odom": {"rate": 5}}}, "topics.odom.rate: unknown field; allowed here: name, rate"),
        ({"topics": {"odom": {"reliable": "yes"}}}, "topics.odom.reliable = 'yes': must be true or false"),
        ({"topics": {"/clock": {"name": "a b"}}}, "topic = 'a b': must be parts between slashes"),
        (
            {"topics": {"state/pose": {"name": "/clock"}}},
            "topics.state/pose.name = '/clock': is already the name of the clock (rosgraph_msgs/msg/Clock); "
            "choose a unique name",
        ),
        ({"topics": {"odometry": False}}, "topics = 'odometry': the vehicle has no such topic; it has /cl"),
        ({"topics": {"odom": {"name": "a b"}}}, "topic = 'a b': must be parts between slashes"),
        ({"topics": {"odom": {"name": "state/pose"}}}, "topics.odom.name = 'state/pose': is already"),
        ({"topics": {"cmd_vel": {"rate_hz": 5.0}}}, "topics.cmd_vel.rate_hz = 5.0: must be left out"),
    ],
)  # fmt: skip
def test_bad_options(options, message, nothing_stays):  # noqa: ARG001
    """A mistake would cause a traceback, or be reported only in flight."""
    with Simulation("flat") as sim, pytest.raises(ConfigError) as caught:
        sim.add(Multirotor("iris", backends=[ROS2(**{"transport": TRANSPORT, **options})]))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_vehicles_with_one_namespace(nothing_stays):  # noqa: ARG001
    """Two vehicles would publish the same topics and follow the same commands."""
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", backends=[ROS2("drone1", transport=TRANSPORT)]))
        with pytest.raises(ConfigError, match="namespace = '/drone1'"):
            sim.add(
                Multirotor(
                    "iris", count=2, position=(9, 0, 1), backends=[ROS2("drone0", transport=TRANSPORT)]
                )
            )
        assert len(sim.vehicles) == 1
        # The names that the second vehicle had claimed are free again.
        sim.add(Multirotor("iris", position=(9, 0, 1), backends=[ROS2("drone0", transport=TRANSPORT)]))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            {"state/pose": {"name": "/truth"}},
            {"state/twist": {"name": "/truth"}},
            "topics.state/twist.name = '/truth': is already the name of the topic state/pose of /d0 "
            "(geometry_msgs/msg/PoseStamped); choose a unique name",
        ),
        (
            {"state/pose": {"name": "/truth"}},
            {"state/pose": {"name": "/truth"}},
            "topics.state/pose.name = '/truth': is already the name of the topic state/pose of /d0",
        ),
        (
            {},
            {"state/accel": {"name": "/d0/odom"}},
            "topics.state/accel.name = '/d0/odom': is already the name of the topic odom of /d0",
        ),
        (
            {"cmd_vel": {"name": "/command"}},
            {"control/rotors": {"name": "/command"}},
            "topics.control/rotors.name = '/command': is already the name of the topic cmd_vel of /d0",
        ),
        (
            {"/clock": {"name": "/sim/clock"}},
            {"state/pose": {"name": "/sim/clock"}},
            "topics.state/pose.name = '/sim/clock': is already the name of the clock",
        ),
        (
            {"state/pose": {"name": "/sim/clock"}},
            {"/clock": {"name": "/sim/clock"}},
            "topics./clock.name = '/sim/clock': is already the name of the topic state/pose of /d0",
        ),
        (
            {"/clock": {"rate_hz": 50.0}},
            {"/clock": {"rate_hz": 100.0}},
            "topics./clock = 'rate_hz 100.0': differs from that of another vehicle",
        ),
        ({"/clock": False}, {"/clock": True}, "topics./clock = 'on': differs from that of another vehicle"),
    ],
)
def test_names_of_two_vehicles_that_collide(first, second, message, nothing_stays):  # noqa: ARG001
    """A topic would have two types, or mix the messages of two vehicles."""
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", backends=[ROS2("d0", transport=TRANSPORT, topics=first)]))

        def other(topics):
            backend = ROS2("d1", transport=TRANSPORT, topics=topics)
            return sim.add(Multirotor("iris", position=(9, 0, 1), backends=[backend]))

        with pytest.raises(ConfigError) as caught:
            other(second)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        # The names that the second vehicle had claimed are free again.
        other({})


def test_copies_of_a_vehicle_do_not_mix_their_messages(nothing_stays):  # noqa: ARG001
    """Two copies would publish their poses on one topic."""
    topics = {"state/pose": {"name": "/truth"}}
    with (
        Simulation("flat") as sim,
        pytest.raises(ConfigError, match="already the name of the topic state/pose of /d0"),
    ):
        sim.add(Multirotor("iris", count=2, backends=[ROS2("d0", transport=TRANSPORT, topics=topics)]))


def test_vehicles_may_share_what_they_hear_and_their_transforms(nothing_stays):  # noqa: ARG001
    """One joystick could not fly two vehicles, or two vehicles not share a renamed tf topic."""
    topics = {"cmd_vel": {"name": "/cmd_vel"}, "/tf": {"name": "/drones/tf"}}
    with Simulation("flat") as sim:
        for i in range(2):
            backend = ROS2(f"d{i}", transport=TRANSPORT, topics=topics)
            sim.add(Multirotor("iris", position=(9 * i, 0, 1), backends=[backend]))


def test_the_clock_is_slowed_renamed_and_switched_off(peer):
    """The clock would be published at every step in spite of its chosen rate."""
    listen(peer, {"/clock": "Clock", "/sim/clock": "Clock"})
    options = {"name": "/sim/clock", "rate_hz": 50.0}
    with Simulation("flat") as sim:
        # One vehicle's options hold for all; the other vehicle has none.
        first = ROS2("d0", transport=TRANSPORT)
        second = ROS2("d1", transport=TRANSPORT, topics={"/clock": options})
        sim.add(Multirotor("iris", backends=[first]))
        sim.add(Multirotor("iris", position=(9, 0, 1), backends=[second]))
        wait_until(
            lambda: peer.ask("matched", topic="/sim/clock") and not peer.ask("matched", topic="/clock")
        )
        # Another node, for which the clock outlives a reset.
        with closing(open_transport(TRANSPORT)):
            for _ in range(2):
                wait_until(lambda: sim.step() and peer.ask("take", topic="/sim/clock"))
                sim.step(100)
                stamps = [nanoseconds(message["clock"]) for message in peer.messages("/sim/clock", 20)]
                assert set(np.diff(stamps[-20:])) == {20_000_000}
                sim.reset()
                peer.ask("take", topic="/sim/clock")
    with Simulation("flat") as sim:
        backend = ROS2("d0", transport=TRANSPORT, topics={"/clock": False})
        sim.add(Multirotor("iris", backends=[backend]))
        wait_until(lambda: "rt/d0/odom" in peer.ask("nodes")["/d0/pegasus"]["writes"])
        assert not any("clock" in topic for node in peer.ask("nodes").values() for topic in node["writes"])
    ignore(peer, ["/clock", "/sim/clock"])


def test_quality_of_a_topic_is_as_told(peer):
    """The QoS of image topics could not be changed."""
    topics = {"state/pose": {"reliable": False}, "sensors/imu": {"reliable": True}}
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", backends=[ROS2("q0", transport=TRANSPORT, topics=topics)]))
        names = {"/q0/state/pose": False, "/q0/sensors/imu": True, "/q0/odom": True, "/q0/sensors/mag": False}
        wait_until(lambda: {f"rt{name}" for name in names} <= set(peer.ask("nodes")["/q0/pegasus"]["writes"]))
        assert {name: peer.ask("endpoint", topic=name)["reliable"] for name in names} == names


def test_one_of_two_drivers_is_refused():
    """ROS 2 commands and a controller would both drive a vehicle."""
    flight = GeometricController(trajectories.hold(height=1.0))
    with pytest.raises(ConfigError, match="at most one backend may drive a vehicle"):
        Multirotor("iris", backends=[flight, ROS2("drone0")])
    Multirotor("iris", backends=[flight, ROS2("drone0", control=False)])
