"""Tests of people on ROS 2: their poses, and goals and paths for them."""

import logging

import numpy as np
import pytest
from ros2_rig import TRANSPORT, begin
from ros2_types import Header, Path, Point, Pose, PoseStamped

from pegasus import Simulation
from pegasus.backends.ros2.graph import RELIABLE, SENSOR_DATA
from pegasus.backends.ros2.messages import decode, encode
from pegasus.backends.ros2.transport import open_transport
from pegasus.base.errors import ConfigError
from tests.waits import wait_until

pytest.importorskip("cyclonedds")


@pytest.fixture(scope="module", autouse=True)
def begun(domain):  # noqa: ARG001
    """Begin on the domain of the tests."""
    begin()


class Walker:
    """A person with the interface that the ROS 2 backend uses."""

    def __init__(self, name):
        self.name, self.position, self.heading = name, np.array([1.0, 2.0, 0.0]), np.pi / 2
        self.told = []

    def walk(self, points, *, speed):
        """Store the path."""
        if not np.isfinite(points).all():
            raise ConfigError("must be finite", field="path")
        self.told.append((points, speed))

    def stand(self):
        """Store the stop."""
        self.told.append("stand")


def at(x, y, frame="map"):
    return PoseStamped(Header(frame_id=frame), Pose(Point(x, y, 0.0)))


def test_people_are_seen_and_led(nothing_stays, caplog):  # noqa: ARG001
    """A person could not be observed or sent to a goal without a script in Isaac Sim."""
    from pegasus.isaac.people import PeopleOnROS2

    first, second = Walker("guard"), Walker("guest")
    with (
        Simulation("flat") as sim,
        PeopleOnROS2(sim, [first, second], height=1.0, speed=1.5, rate=50.0, transport=TRANSPORT),
    ):
        other = open_transport(TRANSPORT)
        node = other.node("tester")
        poses = node.subscription(PoseStamped, "/people/guest/pose", SENSOR_DATA)
        goal = node.publisher(PoseStamped, "/people/guard/goal_pose", RELIABLE)
        path = node.publisher(Path, "/people/guard/path", RELIABLE)
        wait_until(lambda: goal.matched and path.matched)
        second.position = np.array([4.0, 5.0, 0.25])
        seen = []

        def heard():
            sim.step(5)
            seen.extend(decode(PoseStamped, data) for data in poses.take())
            return len(seen) > 2

        wait_until(heard)
        newest = seen[-1]
        assert newest.header.frame_id == "map"
        place, turn = newest.pose.position, newest.pose.orientation
        assert (place.x, place.y, place.z) == (4.0, 5.0, 1.25)
        assert (turn.z, turn.w) == pytest.approx((np.sin(np.pi / 4), np.cos(np.pi / 4)))
        stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in seen]
        assert np.diff(stamps).min() >= 20_000_000 - 1

        def told(count):
            def look():
                sim.step()
                return len(first.told) >= count

            wait_until(look)

        goal.publish(encode(at(7.0, 8.0)))
        told(1)
        path.publish(encode(Path(Header(frame_id="map"), [at(1.0, 1.0), at(2.0, 1.0)])))
        told(2)
        path.publish(encode(Path(Header(frame_id="map"), [])))
        told(3)
        assert first.told == [([(7.0, 8.0, 0.0)], 1.5), ([(1.0, 1.0, 0.0), (2.0, 1.0, 0.0)], 1.5), "stand"]
        assert second.told == []
        # An invalid message is rejected, and the run continues.
        with caplog.at_level(logging.WARNING):
            goal.publish(encode(at(7.0, 8.0, frame="odom")))
            goal.publish(encode(at(float("nan"), 8.0)))
            goal.publish(encode(at(0.5, 0.0)))
            told(4)
        refused = [record.message for record in caplog.records if "rejected" in record.message]
        assert len(refused) == 2
        assert "must be map" in refused[0]
        other.close()


def test_a_wrong_option_is_one_line():
    """A wrong option would cause a traceback, or leave a node on ROS 2."""
    from pegasus.isaac.people import PeopleOnROS2

    with Simulation("flat") as sim:
        for options in ({"rate": 0.0}, {"speed": -1.0}, {"height": float("inf")}):
            with pytest.raises(ConfigError) as caught:
                PeopleOnROS2(sim, [Walker("guard")], transport=TRANSPORT, **options)
            assert "\n" not in str(caught.value)
