"""Tests of the transform tree from another process: REP 105's chain, frame names and publishers."""

import numpy as np
import pytest
from ros2_rig import TRANSPORT, Witness, begin, ignore, listen, seen, stamp_of, xyz, xyzw
from scipy.spatial.transform import Rotation

from pegasus import ConfigError, Multirotor, Simulation
from pegasus.backends import ROS2
from pegasus.backends.ros2 import Frames
from pegasus.base.components import build
from pegasus.control import GeometricController, trajectories
from pegasus.sensors import Odometry
from tests.waits import wait_until

pytest.importorskip("cyclonedds")


@pytest.fixture(scope="module", autouse=True)
def begun(domain):  # noqa: ARG001
    """Begin on the domain of the tests."""
    begin()


def exact_estimator():
    """Return an estimator whose only error is the drift of its frame."""
    noise = ("position", "orientation", "velocity", "angular_velocity")
    densities = {f"{name}_noise_density": 0.0 for name in noise}
    return Odometry(
        latency=0.0, position_drift_sigma=(3.0, 3.0, 3.0), yaw_drift_sigma=1.0, rate_hz=50.0, **densities
    )


def flown(peer, backend, sensors):
    """Return the witness of a flight, and the newest transform and odometry messages."""
    topics = {"/tf": "TFMessage", "/f0/odom": "Odometry"}
    if sensors:
        topics["/f0/sensors/odometry"] = "Odometry"
    witness = Witness()
    flight = GeometricController(trajectories.circle(radius=2.0, height=3.0, speed=2.0))
    with Simulation("flat", observers=[witness]) as sim:
        sim.add(
            Multirotor(
                "iris", position=(7, -4, 0.1), heading=0.7, backends=[backend, flight], extra_sensors=sensors
            )
        )
        sim.run(5.0)
        listen(peer, topics)
        wait_until(lambda: all(peer.ask("matched", topic=topic) for topic in topics))
        found = seen(sim, peer, topics)
        # Both of one instant: an estimate comes with every second transform.
        wanted = "/f0/sensors/odometry" if sensors else "/f0/odom"
        wait_until(
            lambda: (
                found.update(seen(sim, peer, topics))
                or stamp_of(found[wanted]) == stamp_of(found["/tf"]["transforms"][0])
            )
        )
        ignore(peer, topics)
    return witness, found


def tree_of(message):
    """Return the rotation and offset of each transform of a message, by parent and child."""
    return {
        (item["header"]["frame_id"], item["child_frame_id"]): (
            Rotation.from_quat(xyzw(item["transform"]["rotation"])),
            np.array(xyz(item["transform"]["translation"])),
        )
        for item in message["transforms"]
    }


def test_the_chain_is_the_truth_and_its_lower_half_the_estimate(peer):
    """The estimate would be in a wrong frame, or the chain not give the true pose."""
    backend = ROS2("f0", control=False, transport=TRANSPORT)
    witness, found = flown(peer, backend, {"vio": exact_estimator()})
    tree = tree_of(found["/tf"])
    assert tree.keys() == {("map", "f0/odom"), ("f0/odom", "f0/base_link")}
    (turn, offset), (own_turn, own_offset) = tree["map", "f0/odom"], tree["f0/odom", "f0/base_link"]
    state = witness.states["iris", stamp_of(found["/tf"]["transforms"][1])]
    np.testing.assert_allclose(turn.apply(own_offset) + offset, state.position[0], atol=1e-9)
    truth = Rotation.from_quat(state.orientation[0])
    assert ((turn * own_turn) * truth.inv()).magnitude() < 1e-9
    # The frame has drifted by metres; the lower half is the estimate, which has no other error.
    assert np.linalg.norm(own_offset - state.position[0]) > 0.1
    estimate = found["/f0/sensors/odometry"]
    assert estimate["header"]["frame_id"] == "f0/odom"
    pose = estimate["pose"]["pose"]
    np.testing.assert_allclose(xyz(pose["position"]), own_offset, atol=1e-9)
    assert (Rotation.from_quat(xyzw(pose["orientation"])) * own_turn.inv()).magnitude() < 1e-9


def test_without_an_estimator_odometry_is_exact(peer):
    """A vehicle without an estimator would have no transform from odom to base_link."""
    witness, found = flown(peer, ROS2("f0", control=False, transport=TRANSPORT), {})
    tree = tree_of(found["/tf"])
    turn, offset = tree["map", "f0/odom"]
    assert (turn.magnitude(), offset.tolist()) == (0.0, [0.0, 0.0, 0.0])
    state = witness.states["iris", stamp_of(found["/tf"]["transforms"][0])]
    np.testing.assert_array_equal(tree["f0/odom", "f0/base_link"][1], state.position[0])


@pytest.mark.parametrize(
    ("frames", "edges", "parent"),
    [
        (Frames(tree="odom"), {("f0/odom", "f0/base_link")}, "f0/odom"),
        (Frames(tree="map"), {("map", "f0/base_link"), ("map", "f0/odom")}, "map"),
        (
            Frames(map="world", odom="start", base_link="body", prefix=""),
            {("world", "start"), ("start", "body")},
            "world",
        ),
    ],
)
def test_trees_and_names_are_as_told(peer, frames, edges, parent):
    """Another localisation could not publish a frame, or frames could not be renamed."""
    backend = ROS2("f0", control=False, transport=TRANSPORT, frames=frames)
    witness, found = flown(peer, backend, {"vio": exact_estimator()})
    tree = tree_of(found["/tf"])
    assert tree.keys() == edges
    body = frames.names("f0").base_link
    odometry = found["/f0/odom"]
    assert (odometry["header"]["frame_id"], odometry["child_frame_id"]) == (parent, body)
    if frames.tree == "odom":
        np.testing.assert_allclose(
            xyz(odometry["pose"]["pose"]["position"]), tree["f0/odom", body][1], atol=0.1
        )
        assert np.linalg.norm(tree["f0/odom", body][1] - witness.states["iris", 0].position[0]) > 0.1
    if frames.tree == "map":
        state = witness.states["iris", stamp_of(found["/tf"]["transforms"][0])]
        np.testing.assert_array_equal(tree["map", body][1], state.position[0])


def test_fixed_frames_follow_the_names(peer):
    """Sensor frames would be below the wrong body frame after a renaming."""
    frames = Frames(base_link="body", prefix="uav_")
    with Simulation("flat") as sim:
        backend = ROS2("f0", control=False, transport=TRANSPORT, frames=frames)
        sim.add(Multirotor("iris", backends=[backend]))
        listen(peer, {"/tf_static": "TFMessage"}, "latched")
        (message,) = peer.messages("/tf_static")
        listen(peer, {"/f0/sensors/imu": "Imu"})
        imu = seen(sim, peer, ["/f0/sensors/imu"])["/f0/sensors/imu"]
        ignore(peer, ["/tf_static", "/f0/sensors/imu"])
    assert {parent for parent, _ in tree_of(message)} == {"uav_body"}
    assert ("uav_body", "uav_imu") in tree_of(message)
    assert imu["header"]["frame_id"] == "uav_imu"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frames": {"tree": "earth"}}, "frames.tree = 'earth': "),
        ({"frames": {"map": "/map"}}, "frames.map = '/map': must be a name without blanks that does"),
        ({"frames": {"prefix": "a b"}}, "frames.prefix = 'a b': must have no blanks"),
        ({"frames": {"odom": "base_link"}}, "['map', 'base_link', 'base_link']: must differ"),
        ({"frames": {"base": "body"}}, "frames.base: unknown field; did you mean base_link? allowed "),
        ({"pose_variance": [1.0, 2.0]}, "pose_variance"),
        ({"twist_variance": [1.0, 2.0, 3.0, 4.0, 5.0, -6.0]}, "twist_variance = (1.0, 2.0, 3.0, 4.0"),
    ],
)  # fmt: skip
def test_bad_frames(options, message):
    """A mistake in a file would cause a traceback, or a frame that tf2 rejects later."""
    with pytest.raises(ConfigError) as caught:
        build(ROS2, {"ros2": ROS2}, {"model": "ros2", **options}, field="backends.0")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_bodies_with_one_frame(nothing_stays):  # noqa: ARG001
    """Two vehicles would publish one frame, which would jump between them."""
    frames = Frames(prefix="")

    def add(sim, name, x, count=1):
        backend = ROS2(name, transport=TRANSPORT, frames=frames)
        sim.add(Multirotor("iris", count=count, position=(x, 0, 1), backends=[backend]))

    with Simulation("flat") as sim:
        add(sim, "f0", 0)
        with pytest.raises(ConfigError, match="base_link': is already the name of the body of /f0"):
            add(sim, "g0", 9)
    with Simulation("flat") as sim, pytest.raises(ConfigError, match="already the name of the body of /f0"):
        add(sim, "f0", 0, count=2)
