"""Tests of CDR serialization and type hashes against ROS 2's own, and against the rules of CDR."""

import json
import math
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from ros2_types import (
    KINDS,
    BatteryState,
    CameraInfo,
    CompressedImage,
    Float32MultiArray,
    Float64,
    Float64MultiArray,
    Gid,
    Header,
    Image,
    Imu,
    Int32,
    JointState,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
    NavSatStatus,
    NodeEntitiesInfo,
    Odometry,
    PointCloud2,
    PoseStamped,
    String,
    TFMessage,
    Time,
    Transform,
    TransformStamped,
    Twist,
    Vector3,
)

from pegasus.backends.ros2 import messages
from pegasus.backends.ros2.messages import (
    CdrError,
    Template,
    constants,
    decode,
    definition,
    encode,
    message,
    type_hash,
    typestore,
)
from pegasus.base.errors import ConfigError

DATA = Path(__file__).with_name("data")
GOLDEN = json.loads((DATA / "ros2_golden_cdr.json").read_text())["messages"]
CASES = [(name, case) for name, cases in GOLDEN.items() for case in cases]
HASHES = json.loads((DATA / "ros2_type_hashes.json").read_text())["hashes"]
# The definition in ROS's own packages; the list above lacks it.
HASHES["std_msgs/msg/Int32"] = "RIHS01_b6578ded3c58c626cfe8d1a6fb6e04f706f97e9f03d2727c9ff4e74b1cef0deb"
HEAD = "00010000"


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}-{case}" for name, case in CASES])
def test_bytes_equal_those_of_ros(name, case):
    """ROS 2 would decode other values than were sent, or the reverse."""
    fields, data = GOLDEN[name][case]["fields"], bytes.fromhex(GOLDEN[name][case]["cdr_hex"])
    assert encode(message(name, **fields)) == data
    assert encode(decode(name, data)) == data


@pytest.mark.parametrize("name", GOLDEN)
def test_a_new_message_is_as_ros_makes_it(name):
    """Omitted fields would not have ROS 2's defaults, such as a unit quaternion."""
    assert encode(message(name)) == bytes.fromhex(GOLDEN[name]["default"]["cdr_hex"])


@pytest.mark.parametrize("name", HASHES)
def test_type_hashes_equal_those_of_ros(name):
    """A field's name, type or position would differ from ROS's, and cause warnings."""
    assert type_hash(name) == HASHES[name]


def test_definitions_describe_types_completely():
    """A reader of a log without ROS 2 could not decode it."""
    rule = "=" * 80
    assert definition(PoseStamped) == (
        "std_msgs/Header header\ngeometry_msgs/Pose pose\n"
        f"{rule}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
        f"{rule}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
        f"{rule}\nMSG: geometry_msgs/Pose\n"
        "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n"
        f"{rule}\nMSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
        f"{rule}\nMSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"
    )
    assert "float64[9] orientation_covariance\n" in definition(Imu)
    assert definition(TFMessage).startswith("geometry_msgs/TransformStamped[] transforms\n")


def test_messages_do_not_share_their_parts():
    """Setting a field of one message would change another message."""
    one, other = Imu(), Imu()
    one.header.frame_id = "imu"
    one.orientation_covariance[0] = 1.0
    assert encode(other) == encode(Imu(Header(), {"w": 1.0}, [0.0] * 9))
    assert TFMessage().transforms is not TFMessage().transforms


def test_constants_belong_to_the_type():
    """A fix would have a status value that differs from ROS 2's."""
    assert constants(NavSatStatus).STATUS_FIX == 0
    assert NavSatStatus().status == constants(NavSatStatus).STATUS_UNKNOWN


@pytest.mark.parametrize("make", [constants, definition, message])
def test_an_unknown_type_is_refused(make):
    """A misspelt type would end in a traceback of the library."""
    with pytest.raises(ConfigError, match="type = 'sensor_msgs/Imu': is not a message type"):
        make("sensor_msgs/Imu")


def test_a_missing_library_is_named_with_its_remedy(monkeypatch):
    """Without the extra, users would see a traceback instead of the install command."""
    typestore.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "rosbags"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "rosbags", None)
    with pytest.raises(
        ConfigError, match=r"package rosbags: .*; pip install 'pegasus-multirotor\[rosbags\]'"
    ) as caught:
        messages.typestore()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        # One byte for the end of the string, then three of padding to the next multiple of four.
        (NodeEntitiesInfo("", "abcd"), "01000000 00 000000 05000000 6162636400 000000 00000000 00000000"),
        # Sixteen bytes without a length in front: an array.
        (Gid(bytes(range(16))), "000102030405060708090a0b0c0d0e0f"),
        (Int32(-2), "feffffff"),
        # Layout, data of two: eight-byte numbers begin at a multiple of eight, here after twelve bytes.
        (
            Float64MultiArray(data=[1.0, -2.0]),
            "00000000 00000000 02000000 00000000 000000000000f03f 00000000000000c0",
        ),
        # Four-byte numbers need no padding there.
        (Float32MultiArray(data=[1.0]), "00000000 00000000 01000000 0000803f"),
        # An empty sequence needs no padding for absent elements; strings count bytes.
        (
            JointState(Header(), ["é"]),
            "00000000 00000000 01000000 00000000 01000000 03000000 c3a900 00 00000000 00000000 00000000",
        ),
    ],
    ids=["strings", "array of bytes", "negative", "alignment of doubles", "floats", "empty sequences"],
)
def test_bytes_follow_the_rules_of_cdr(made, wanted):
    """Types without a ROS reference would have wrong padding or lengths."""
    data = bytes.fromhex(HEAD + wanted.replace(" ", ""))
    assert encode(made).hex() == data.hex()
    assert encode(decode(made.__msgtype__, data)) == data


def test_odometry_and_battery_and_camera_follow_the_rules():
    """Types without a ROS reference would have another field order or padding."""
    header = struct.pack("<iI", 3, 4) + struct.pack("<I4s", 4, b"map\x00")
    pose, twist = [float(i) for i in range(7)], [float(i) for i in range(6)]
    odometry = decode(
        Odometry,
        bytes.fromhex(HEAD)
        + header
        + struct.pack("<I5s7x", 5, b"base\x00")
        + struct.pack("<7d36d6d36d", *pose, *range(36), *twist, *range(36, 72)),
    )
    assert odometry.header == Header(Time(3, 4), "map")
    assert odometry.child_frame_id == "base"
    assert [odometry.pose.pose.position.y, odometry.pose.pose.orientation.w] == [1.0, 6.0]
    assert odometry.twist.twist.angular == Vector3(3.0, 4.0, 5.0)
    assert odometry.twist.covariance.tolist() == list(range(36, 72))
    battery = BatteryState(Header(Time(3, 4), "map"), *range(1, 8), 2, 1, 3, True, [3.7, 3.8], [], "a", "bc")
    assert encode(battery) == bytes.fromhex(HEAD) + header + struct.pack(
        "<7f3B?I2fII2s2xI3s", *range(1, 8), 2, 1, 3, True, 2, 3.7, 3.8, 0, 2, b"a\x00", 3, b"bc\x00"
    )
    camera = CameraInfo(Header(Time(3, 4), "map"), 480, 640, "plumb_bob", [0.1, 0.2], range(9), range(9, 18))
    camera.p = np.arange(12.0)
    camera.roi.do_rectify = True
    # 16 bytes of header, 8 of sizes, 4 + 10 of text, 2 to the length, 4; 4 to a multiple of eight.
    assert encode(camera) == bytes.fromhex(HEAD) + header + struct.pack(
        "<III10s2xI4x2d9d9d12dII4I?",
        480,
        640,
        10,
        b"plumb_bob\x00",
        2,
        0.1,
        0.2,
        *range(18),
        *range(12),
        *[0] * 6,
        True,
    )


def test_a_trajectory_follows_the_rules():
    """Points of a commanded trajectory would be decoded wrongly from the second on."""
    moves = [Twist(Vector3(1.0, 2.0, 3.0))]
    point = MultiDOFJointTrajectoryPoint([Transform(Vector3(9.0))], moves, [])
    point.time_from_start.sec = 7
    made = MultiDOFJointTrajectory(Header(), ["a", "bc"], [point, point])
    numbers = 1, 9, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 0, 0, 0, 0, 7, 0
    text = struct.pack("<iII1s3xII2s2xI3sxI", 0, 0, 1, b"\x00", 2, 2, b"a\x00", 3, b"bc\x00", 2)
    # The first point begins at 40: its length ends at 44, a gap before the numbers. The second begins at 172
    # and has none.
    first, second = struct.pack("<I4x7dI4x6dIiI", *numbers), struct.pack("<I7dI4x6dIiI", *numbers)
    assert encode(made) == bytes.fromhex(HEAD) + text + first + second
    assert decode(MultiDOFJointTrajectory, encode(made)) == made


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_message_comes_back(kind):
    """A field would be written in another format than it is read."""
    assert encode(decode(kind, encode(kind()))) == encode(kind())


def test_arrays_of_numpy_give_the_bytes_of_lists():
    """NumPy arrays would have to be copied into lists, or be sent with a wrong type."""
    image = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    blocks = image, memoryview(image), image.tobytes(), bytearray(image.tobytes()), image.ravel().tolist()
    assert len({encode(Image(data=block)) for block in blocks}) == 1
    depth = np.linspace(0.0, 1.0, 6, dtype="<f4").reshape(2, 3)
    assert encode(Image(data=depth)) == encode(Image(data=depth.tobytes()))
    assert encode(PointCloud2(data=image[:, ::2])) == encode(PointCloud2(data=image[:, ::2].tobytes()))
    for dtype in np.float64, np.float32, np.int64:
        covariance = np.arange(9, dtype=dtype).reshape(3, 3)
        assert encode(Imu(orientation_covariance=covariance)) == encode(
            Imu(orientation_covariance=[float(i) for i in range(9)])
        )
    assert encode(Float64MultiArray(data=np.empty(0))) == encode(Float64MultiArray())


def test_numbers_beyond_the_usual_survive():
    """NaN ("not measured") or infinity ("nothing in range") would be lost."""
    for value in math.inf, -math.inf, 5e-324, -0.0:
        found = decode(Float64, encode(Float64(value))).data
        assert struct.pack("<d", found) == struct.pack("<d", value)
    assert math.isnan(decode(Float64, encode(Float64(math.nan))).data)


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        (Imu, {"orientation_covariance": [0.0] * 8}, "Imu.orientation_covariance"),
        (Imu, {"orientation_covariance": np.zeros((2, 5))}, "Imu.orientation_covariance"),
        (Gid, {"data": bytes(15)}, "Gid.data"),
        (Image, {"height": -1}, "Image.height"),
        (Image, {"height": 2**32}, "Image.height"),
        (Image, {"is_bigendian": 256}, "Image.is_bigendian"),
        (Image, {"data": [1, 256]}, "Image.data"),
        (Image, {"hight": 1}, "Image.hight"),
        (Imu, {"header": {"frame_id": 5}}, "Header.frame_id"),
        (Imu, {"header": {"frame": "map"}}, "Header.frame"),
        (Imu, {"header": 3}, "Imu.header"),
        (Imu, {"header": Time()}, "Imu.header"),
        (String, {"data": "a\x00b"}, "String.data"),
        (NodeEntitiesInfo, {"node_name": "n" * 257}, "NodeEntitiesInfo.node_name"),
        (Float64MultiArray, {"data": ["a"]}, "Float64MultiArray.data"),
        (Float64, {"data": "1"}, "Float64.data"),
    ],
)
def test_what_does_not_fit_is_refused(kind, fields, field):
    """A wrong value would end in a traceback of the serializer, or in wrong bytes."""
    with pytest.raises(ConfigError, match=field) as caught:
        message(kind, **fields)
    assert "\n" not in str(caught.value)


def test_a_message_that_was_spoilt_is_refused():
    """A wrong value set after construction would end in a traceback of the serializer."""
    made = Image()
    for field, value in (("height", -1), ("data", None), ("header", None), ("encoding", 5)):
        setattr(made, field, value)
        with pytest.raises(ConfigError, match="Image: cannot be encoded"):
            encode(made)
        made = Image()
    imu = Imu()
    imu.orientation_covariance = np.zeros(8)
    with pytest.raises(ConfigError, match="Imu: cannot be encoded: Unexpected array length"):
        encode(imu)


@pytest.mark.parametrize(
    "made",
    [
        Header(frame_id="map"),
        Imu(Header(frame_id="map")),
        TFMessage([TransformStamped(Header(frame_id="map"), "base")]),
        JointState(name=["a", "b"], position=[1.0]),
        NodeEntitiesInfo("/", "n", [Gid()], [Gid()]),
        CompressedImage(format="jpeg", data=b"abc"),
    ],
    ids=lambda made: made.__msgtype__,
)
def test_what_is_cut_short_is_refused(made):
    """A damaged sample would stop the simulation, or be decoded as zeros."""
    data = encode(made)
    for end in range(len(data)):
        with pytest.raises(CdrError):
            decode(made.__msgtype__, data[:end])


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        # Four thousand million elements announced, none present.
        (TFMessage, HEAD + "ffffffff"),
        (JointState, HEAD + "00000000 00000000 01000000 00000000 ffffffff"),
        (Float64MultiArray, HEAD + "00000000 00000000 ffffffff"),
        (CompressedImage, HEAD + "00000000 00000000 01000000 00000000 01000000 00000000 ffffffff"),
        (String, HEAD + "ffffffff 61"),
        # No terminating zero; not UTF-8.
        (String, HEAD + "02000000 6161"),
        (String, HEAD + "03000000 fffe00"),
        # No byte at all for an empty text, whose length includes its zero.
        (String, HEAD + "00000000"),
        # Parameter lists, and a later representation.
        (Float64, "00030000 000000000000f03f"),
        (Float64, "00070000 000000000000f03f"),
        (Float64, ""),
    ],
)
def test_what_is_no_message_is_refused(kind, data):
    """Invalid bytes from the network could end the simulation, or allocate gigabytes."""
    with pytest.raises(CdrError, match=kind):
        decode(kind, bytes.fromhex(data.replace(" ", "")))


def test_big_endian_samples_are_read():
    """Commands from big-endian machines would be rejected."""
    assert decode(Float64, bytes.fromhex("000000003ff0000000000000")).data == 1.0


def test_a_template_gives_the_bytes_of_the_whole_message():
    """The fast path would write numbers at wrong positions."""
    imu = Imu(Header(frame_id="d0/imu"), orientation_covariance=[0.1 * i for i in range(9)])
    template = Template(imu, "header.stamp", "angular_velocity", "linear_acceleration", "orientation.w")
    data = template.pack(1, 2, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.5)
    imu.header.stamp = Time(1, 2)
    imu.angular_velocity, imu.linear_acceleration = Vector3(3.0, 4.0, 5.0), Vector3(6.0, 7.0, 8.0)
    imu.orientation.w = 0.5
    assert data == encode(imu)
    # Again: nothing of the first numbers remains, and the first bytes are not part of the second.
    again = template.pack(9, 8, *[0.0] * 6, 1.0)
    assert data == encode(imu)
    assert decode(Imu, again).header == Header(Time(9, 8), "d0/imu")


def test_a_template_reaches_into_lists_and_past_gaps():
    """Frames of a tree or cells of a battery could not be set, or texts between them be lost."""
    tree = TFMessage([TransformStamped(Header(frame_id="map"), f"arm{'_' * i}") for i in range(3)])
    template = Template(tree, "transforms.1.transform.translation", "transforms.2")
    found = decode(TFMessage, template.pack(1.0, 2.0, 3.0, 4, 5, *range(7)))
    tree.transforms[1].transform.translation = Vector3(1.0, 2.0, 3.0)
    tree.transforms[2].header.stamp = Time(4, 5)
    tree.transforms[2].transform = Transform(Vector3(0.0, 1.0, 2.0))
    rotation = tree.transforms[2].transform.rotation
    rotation.x, rotation.y, rotation.z, rotation.w = 3.0, 4.0, 5.0, 6.0
    assert found == tree
    battery = BatteryState(cell_voltage=[0.0] * 4, location="slot")
    filled = Template(battery, "present", "cell_voltage", "voltage").pack(True, 1.0, 2.0, 3.0, 4.0, 10.0)
    assert filled == encode(
        BatteryState(voltage=10.0, present=True, cell_voltage=[1.0, 2.0, 3.0, 4.0], location="slot")
    )


@pytest.mark.parametrize("path", ["pose", "header.frame_id", "orientation.q", "", "orientation_covariance.9"])
def test_a_template_refuses_what_is_not_made_of_numbers(path):
    """A misspelt field would never be set."""
    with pytest.raises(ConfigError, match="no numbers there"):
        Template(Imu(), path)


def test_a_template_wants_as_many_numbers_as_it_has():
    """An extra number would be ignored and shift all later fields."""
    template = Template(Imu(), "header.stamp", "angular_velocity")
    for numbers in (1, 2, 3.0, 4.0), (1, 2, 3.0, 4.0, 5.0, 6.0):
        with pytest.raises(ValueError, match="must be 5 numbers"):
            template.pack(*numbers)
    with pytest.raises(struct.error):
        template.pack(1.5, 2, 3.0, 4.0, 5.0)
