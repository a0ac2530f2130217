"""Tests of ROS 2 discovery and messages with another process that has its own types and serializer."""

import os
import time
from importlib.util import find_spec

import numpy as np
import pytest
from dds_rig import DDSPeer
from ros2_types import (
    Float64,
    Float64MultiArray,
    Header,
    Image,
    Imu,
    MultiArrayDimension,
    MultiArrayLayout,
    MultiDOFJointTrajectory,
    Path,
    PointCloud2,
    PointField,
    PoseStamped,
    Quaternion,
    TFMessage,
    Time,
    Transform,
    TransformStamped,
    Vector3,
)

from pegasus.backends.ros2.graph import LATCHED, RELIABLE, SENSOR_DATA
from pegasus.backends.ros2.messages import constants, decode, encode
from pegasus.backends.ros2.transport import open_transport
from tests.waits import wait_until

pytest.importorskip("cyclonedds")
jazzy_graph = pytest.mark.skipif(
    bool(find_spec("rclpy")) and os.environ.get("ROS_DISTRO") == "humble",
    reason="Humble's nodes and endpoints have another encoding, without type hashes",
)
HEADER = Header(Time(12, 345), "drone0/base_link")
SHOWN = {"stamp": {"sec": 12, "nanosec": 345}, "frame_id": "drone0/base_link"}


@pytest.fixture
def node(domain, kind):  # noqa: ARG001
    """Return a node on the test's domain."""
    transport = open_transport(kind)
    yield transport.node("pegasus", "drone0")
    transport.close()


def test_a_message_arrives_as_another_coder_reads_it(node, peer):
    """Names, order or sizes of an IMU's fields would differ from the ROS type."""
    publisher = node.publisher(Imu, "sensors/imu", SENSOR_DATA)
    peer.ask("listen", topic="/drone0/sensors/imu", kind="Imu")
    wait_until(lambda: publisher.matched and peer.ask("matched", topic="/drone0/sensors/imu"))
    message = Imu(
        header=HEADER,
        orientation=Quaternion(0.1, 0.2, 0.3, 0.9),
        orientation_covariance=[0.5 * i for i in range(9)],
        angular_velocity=Vector3(1.0, 2.0, 3.0),
        linear_acceleration=Vector3(-1.0, 0.0, 9.81),
    )
    publisher.publish(encode(message))
    (seen,) = peer.messages("/drone0/sensors/imu")
    assert seen["header"] == SHOWN
    assert seen["orientation"] == {"x": 0.1, "y": 0.2, "z": 0.3, "w": 0.9}
    assert seen["orientation_covariance"] == [0.5 * i for i in range(9)]
    assert seen["angular_velocity"] == {"x": 1.0, "y": 2.0, "z": 3.0}
    assert seen["linear_acceleration"] == {"x": -1.0, "y": 0.0, "z": 9.81}
    peer.ask("ignore", topic="/drone0/sensors/imu")


def test_sequences_texts_and_bytes_arrive_as_another_coder_reads_them(node, peer):
    """Frames of a tree, or bytes of images and clouds, would be lost."""
    transforms = node.publisher(TFMessage, "/tf", RELIABLE)
    images = node.publisher(Image, "camera/image", RELIABLE)
    clouds = node.publisher(PointCloud2, "lidar", RELIABLE)
    kinds = {"/tf": "TFMessage", "/drone0/camera/image": "Image", "/drone0/lidar": "PointCloud2"}
    for topic, kind in kinds.items():
        peer.ask("listen", topic=topic, kind=kind, qos="reliable")
    wait_until(lambda: transforms.matched and images.matched and clouds.matched)
    wait_until(lambda: all(peer.ask("matched", topic=topic) for topic in kinds))
    arms = [TransformStamped(HEADER, f"arm{'_' * i}", Transform(Vector3(0.0, 0.0, i))) for i in range(3)]
    transforms.publish(encode(TFMessage(arms)))
    pixels = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    images.publish(encode(Image(HEADER, 4, 5, "rgb8", 0, 15, pixels)))
    fields = [PointField(name, 4 * i, constants(PointField).FLOAT32, 1) for i, name in enumerate("xyz")]
    points = np.arange(6, dtype="<f4")
    clouds.publish(encode(PointCloud2(HEADER, 1, 2, fields, False, 12, 24, points, True)))
    (seen,) = peer.messages("/tf")
    assert [item["child_frame_id"] for item in seen["transforms"]] == ["arm", "arm_", "arm__"]
    assert [item["transform"]["translation"]["z"] for item in seen["transforms"]] == [0.0, 1.0, 2.0]
    assert all(item["header"] == SHOWN for item in seen["transforms"])
    (seen,) = peer.messages("/drone0/camera/image")
    assert (seen["height"], seen["width"], seen["encoding"], seen["step"]) == (4, 5, "rgb8", 15)
    assert list(seen["data"]) == pixels.ravel().tolist()
    (seen,) = peer.messages("/drone0/lidar")
    assert [(item["name"], item["offset"]) for item in seen["fields"]] == [("x", 0), ("y", 4), ("z", 8)]
    assert bytes(seen["data"]) == points.tobytes()
    assert seen["is_dense"]


def test_what_another_process_says_is_received_in_order(node, peer):
    """Commands would be decoded wrongly, or lose their order."""
    numbers = node.subscription(Float64, "control/rotor0/ref", RELIABLE)
    arrays = node.subscription(Float64MultiArray, "control/rotors", RELIABLE)
    paths = node.subscription(MultiDOFJointTrajectory, "control/trajectory", RELIABLE)
    kinds = {"control/rotor0/ref": "Float64", "control/rotors": "Float64MultiArray"}
    kinds["control/trajectory"] = "MultiDOFJointTrajectory"
    for topic, kind in kinds.items():
        peer.ask("advertise", topic=f"/drone0/{topic}", kind=kind)
    assert wait_until(lambda: all(peer.ask("matched", topic=f"/drone0/{topic}") for topic in kinds))
    for i in range(5):
        peer.ask("send", topic="/drone0/control/rotor0/ref", data=100.0 + i)
    layout = {"dim": [{"label": "rotors", "size": 4, "stride": 4}], "data_offset": 0}
    peer.ask("send", topic="/drone0/control/rotors", layout=layout, data=[1.0, 2.0, 3.0, 4.0])
    still = {"linear": {"x": 0.0, "y": 0.0, "z": 0.0}, "angular": {"x": 0.0, "y": 0.0, "z": 0.5}}
    place = {
        "translation": {"x": 1.0, "y": 2.0, "z": 3.0},
        "rotation": {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0},
    }
    point = {"transforms": [place], "velocities": [still], "accelerations": []}
    point["time_from_start"] = {"sec": 4, "nanosec": 5}
    header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": "map"}
    peer.ask("send", topic="/drone0/control/trajectory", header=header, joint_names=["base"], points=[point])
    taken = []
    wait_until(lambda: taken.extend(numbers.take()) or len(taken) == 5)
    assert [decode(Float64, data).data for data in taken] == [100.0, 101.0, 102.0, 103.0, 104.0]
    (data,) = wait_until(arrays.take)
    wanted = Float64MultiArray(MultiArrayLayout([MultiArrayDimension("rotors", 4, 4)]), [1.0, 2.0, 3.0, 4.0])
    assert data == encode(wanted)
    (data,) = wait_until(paths.take)
    trajectory = decode(MultiDOFJointTrajectory, data)
    assert trajectory.joint_names == ["base"]
    assert trajectory.points[0].transforms == [Transform(Vector3(1.0, 2.0, 3.0))]
    assert trajectory.points[0].velocities[0].angular.z == 0.5
    assert (trajectory.points[0].time_from_start.sec, trajectory.points[0].time_from_start.nanosec) == (4, 5)
    assert numbers.take() == []


def test_a_writer_that_leaves_leaves_nothing_behind(node, peer):
    """The disposal of a writer would be taken for a command, or end the simulation."""
    reader = node.subscription(Float64, "command", RELIABLE)
    for value in 1.0, 2.0:
        peer.ask("advertise", topic="/drone0/command", kind="Float64")
        wait_until(lambda: peer.ask("matched", topic="/drone0/command"))
        peer.ask("send", topic="/drone0/command", data=value)
        (data,) = wait_until(reader.take)
        assert decode(Float64, data) == Float64(value)
        peer.ask("retire", topic="/drone0/command")
    assert reader.take() == []


def test_who_joins_late_gets_what_is_latched_and_nothing_else(node, peer):
    """A late subscriber would miss static transforms and calibrations."""
    latched = node.publisher(TFMessage, "/tf_static", LATCHED)
    passing = node.publisher(Float64, "passing", RELIABLE)
    for angle in 1.0, 2.0:
        latched.publish(encode(TFMessage([TransformStamped(HEADER, "imu", Transform(Vector3(angle)))])))
        passing.publish(encode(Float64(angle)))
    peer.ask("listen", topic="/drone0/passing", kind="Float64", qos="reliable")
    peer.ask("listen", topic="/tf_static", kind="TFMessage", qos="latched")
    (seen,) = peer.messages("/tf_static")
    assert seen["transforms"][0]["transform"]["translation"]["x"] == 2.0
    wait_until(lambda: passing.matched and peer.ask("matched", topic="/drone0/passing"))
    passing.publish(encode(Float64(3.0)))
    assert [item["data"] for item in peer.messages("/drone0/passing")] == [3.0]


@jazzy_graph
def test_the_graph_lists_nodes_with_their_topics(node, peer):
    """`ros2 node list` and `ros2 node info` would omit a vehicle, or list a removed one."""
    node.publisher(Imu, "sensors/imu", SENSOR_DATA)
    gone = node.publisher(PoseStamped, "state/pose", SENSOR_DATA)
    node.subscription(Float64, "control/rotor0/ref", RELIABLE)
    node.announce()
    topics = ["rt/drone0/sensors/imu", "rt/drone0/state/pose"]
    wanted = {"writes": topics, "reader_count": 1}
    wait_until(lambda: peer.ask("nodes").get("/drone0/pegasus") == wanted)
    gone.close()
    node.announce()
    wanted = {"writes": topics[:1], "reader_count": 1}
    wait_until(lambda: peer.ask("nodes").get("/drone0/pegasus") == wanted)
    node.close()
    wait_until(lambda: "/drone0/pegasus" not in peer.ask("nodes"))


@jazzy_graph
def test_vehicles_share_a_participant_and_keep_their_names(kind, peer, nothing_stays):  # noqa: ARG001
    """Five vehicles would need five participants, or a removed one affect the others."""
    transports = [open_transport(kind) for _ in range(5)]
    nodes = [transport.node("pegasus", f"fleet/d{i}") for i, transport in enumerate(transports)]
    publishers = [node.publisher(Float64, "value", RELIABLE) for node in nodes]
    for node in nodes:
        node.announce()
    names = {f"/fleet/d{i}/pegasus" for i in range(5)}
    wait_until(lambda: names <= set(peer.ask("nodes")))
    peer.ask("listen", topic="/fleet/d0/value", kind="Float64", qos="reliable")
    wait_until(lambda: peer.ask("matched", topic="/fleet/d0/value"))
    transports[0].close()
    transports[0].close()
    wait_until(lambda: not peer.ask("matched", topic="/fleet/d0/value"))
    wait_until(lambda: names & set(peer.ask("nodes")) == names - {"/fleet/d0/pegasus"})
    peer.ask("listen", topic="/fleet/d4/value", kind="Float64", qos="reliable")
    wait_until(lambda: publishers[4].matched and peer.ask("matched", topic="/fleet/d4/value"))
    publishers[4].publish(encode(Float64(4.0)))
    assert peer.messages("/fleet/d4/value")[0]["data"] == 4.0
    for transport in transports:
        transport.close()
    wait_until(lambda: not names & set(peer.ask("nodes")))
    wait_until(lambda: peer.ask("matched", topic="/fleet/d4/value") == 0)


@jazzy_graph
def test_writers_say_type_hash_and_qualities(node, peer):
    """ROS processes would warn of a missing type hash, or reject a wrong type name."""
    node.publisher(Imu, "sensors/imu", SENSOR_DATA)
    node.publisher(TFMessage, "/tf_static", LATCHED)
    node.announce()
    wait_until(lambda: len(peer.ask("nodes").get("/drone0/pegasus", {"writes": []})["writes"]) == 2)
    assert peer.ask("endpoint", topic="/drone0/sensors/imu") == {
        "type": "sensor_msgs::msg::dds_::Imu_",
        "user_data": "typehash=RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b;",
        "reliable": False,
        "latched": False,
    }
    found = peer.ask("endpoint", topic="/tf_static")
    assert (found["reliable"], found["latched"]) == (True, True)


def test_a_reader_that_leaves_is_no_longer_counted(node):
    """Images would be serialized forever for subscribers that have left."""
    publisher = node.publisher(Path, "path", RELIABLE)
    other = node.subscription(Path, "path", RELIABLE)
    wait_until(lambda: publisher.matched == 1)
    leaver = node.subscription(Path, "path", RELIABLE)
    wait_until(lambda: publisher.matched == 2)
    leaver.close()
    leaver.close()
    wait_until(lambda: publisher.matched == 1)
    other.close()
    wait_until(lambda: publisher.matched == 0)


@pytest.mark.parametrize("qos", [RELIABLE, LATCHED], ids=["reliable", "latched"])
def test_a_stuck_reader_does_not_stop_the_writer(domain, kind, qos):
    """A suspended subscriber would block the simulation or its end."""
    if kind == "rclpy":
        pytest.skip("whether rclpy waits is up to ROS's middleware")
    transport, stuck = open_transport(kind), DDSPeer(domain)
    node, asked = transport.node("pegasus", "drone0"), "latched" if qos.latched else "reliable"
    publishers = [node.publisher(Image, f"camera{i}", qos) for i in range(4)]
    for i in range(4):
        stuck.ask("listen", topic=f"/drone0/camera{i}", kind="Image", qos=asked, depth=1)
    wait_until(lambda: all(publisher.matched for publisher in publishers))
    data = encode(Image(HEADER, 240, 320, "rgb8", 0, 960, bytes(240 * 320 * 3)))
    stuck.freeze()
    # 46 MB: many times the size of the buffers between them.
    longest = max(_time_of(publisher.publish, data) for _ in range(50) for publisher in publishers)
    stuck.thaw()
    last = encode(Image(HEADER, 1, 1, "mono8", 0, 1, b"\x07"))

    def arrived():
        publishers[0].publish(last)
        return any(seen["width"] == 1 for seen in stuck.ask("take", topic="/drone0/camera0"))

    wait_until(arrived)
    stuck.freeze()
    for publisher in publishers:
        publisher.publish(data)
    closing = _time_of(transport.close)
    stuck.thaw()
    stuck.kill()
    # With a history of all samples the writer waits until the reader is dropped after 10 s; on closing,
    # Cyclone DDS waits a second for each writer by default.
    assert longest < 2.0
    assert closing < 2.0


def _time_of(do, *arguments):
    begin = time.monotonic()
    do(*arguments)
    return time.monotonic() - begin
