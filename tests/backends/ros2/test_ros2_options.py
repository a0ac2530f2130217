"""What a user can change of a vehicle on the graph, and what is refused."""

import numpy as np
import pytest
from dds_rig import until
from ros2_rig import TRANSPORT, begin, ignore, listen, seen, stamp_of

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import ROS2
from pegasus.control import GeometricController, trajectories

pytest.importorskip("cyclonedds")


@pytest.fixture(scope="module", autouse=True)
def begun(domain):  # noqa: ARG001
    """Begin on the domain of the tests."""
    begin()


def test_topics_are_changed_as_told(peer):
    """A topic would not be switched off, keep its old name, or be told more often than asked for."""
    topics = {"odom": False, "state/pose": {"name": "truth", "rate_hz": 25.0}, "/tf": {"rate_hz": 10.0}}
    backend = ROS2("d0", transport=TRANSPORT, topics=topics)
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", backends=[backend]))
        listen(peer, {"/d0/truth": "PoseStamped", "/tf": "TFMessage"}, "reliable")
        until(lambda: all(peer.ask("matched", topic=topic) for topic in ("/d0/truth", "/tf")))
        until(lambda: "rt/d0/truth" in peer.ask("nodes")["/d0/pegasus"]["writes"])
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
        ({"topics": {"odom": {"rate": 5}}}, "topics.odom.rate: unknown field; allowed here: name, rate_hz"),
        ({"topics": {"odometry": False}}, "topics = 'odometry': the vehicle has no such topic; it has state"),
        ({"topics": {"odom": {"name": "a b"}}}, "topic = 'a b': must be parts between slashes"),
        ({"topics": {"odom": {"name": "state/pose"}}}, "topics.odom.name = 'state/pose': is that of"),
        ({"topics": {"cmd_vel": {"rate_hz": 5.0}}}, "topics.cmd_vel.rate_hz = 5.0: must be left out"),
    ],
)  # fmt: skip
def test_bad_options(options, message, nothing_stays):  # noqa: ARG001
    """A mistake would show as a traceback, or only once the vehicle flies."""
    with Simulation("flat") as sim, pytest.raises(ConfigError) as caught:
        sim.add(Multirotor("iris", backends=[ROS2(**{"transport": TRANSPORT, **options})]))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_vehicles_with_one_namespace(nothing_stays):  # noqa: ARG001
    """Both would write the same topics, and follow the same commands."""
    with Simulation("flat") as sim:
        sim.add(Multirotor("iris", backends=[ROS2("drone1", transport=TRANSPORT)]))
        with pytest.raises(ConfigError, match="namespace = '/drone1'"):
            sim.add(
                Multirotor(
                    "iris", count=2, position=(9, 0, 1), backends=[ROS2("drone0", transport=TRANSPORT)]
                )
            )
        assert len(sim.vehicles) == 1
        # What the second one had taken is free again.
        sim.add(Multirotor("iris", position=(9, 0, 1), backends=[ROS2("drone0", transport=TRANSPORT)]))


def test_one_of_two_drivers_is_refused():
    """Commands and a controller would both drive a vehicle."""
    flight = GeometricController(trajectories.hold(height=1.0))
    with pytest.raises(ConfigError, match="at most one backend may drive a vehicle"):
        Multirotor("iris", backends=[flight, ROS2("drone0")])
    Multirotor("iris", backends=[flight, ROS2("drone0", control=False)])
