"""Bytes of messages: those that ROS 2 itself makes, both ways, and the rules of CDR where it made none."""

import inspect
import json
import math
import struct
from pathlib import Path

import numpy as np
import pytest

from pegasus.backends.ros2 import messages
from pegasus.backends.ros2.cdr import CdrError, decode, encode
from pegasus.backends.ros2.description import Message
from pegasus.backends.ros2.messages import (
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
    NodeEntitiesInfo,
    Odometry,
    PointCloud2,
    String,
    TFMessage,
    Time,
    Transform,
    TransformStamped,
    Twist,
    Vector3,
)
from pegasus.backends.ros2.template import Template
from pegasus.errors import ConfigError

GOLDEN = json.loads(Path(__file__).with_name("data").joinpath("ros2_golden_cdr.json").read_text())["messages"]
CASES = [(name, case) for name, cases in GOLDEN.items() for case in cases]
KINDS = {
    kind.description.name: kind
    for kind in vars(messages).values()
    if inspect.isclass(kind) and issubclass(kind, Message)
}
HEAD = "00010000"


def built(kind, fields):
    """Return a message of the fields that the reference gives."""
    values = {}
    for name, described in kind.description.fields:
        value = fields[name]
        if described.nested:
            inner = described.nested
            value = [built(inner, item) for item in value] if described.many else built(inner, value)
        elif described.many and described.base == "uint8":
            value = bytes(value)
        values[name] = value
    return kind(**values)


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}-{case}" for name, case in CASES])
def test_bytes_equal_those_of_ros(name, case):
    """ROS 2 would read other values than were sent, or send others than are read."""
    fields, data = GOLDEN[name][case]["fields"], bytes.fromhex(GOLDEN[name][case]["cdr_hex"])
    message = built(KINDS[name], fields)
    assert encode(message) == data
    assert decode(KINDS[name], data) == message


@pytest.mark.parametrize("name", GOLDEN)
def test_a_new_message_is_as_ros_makes_it(name):
    """Fields that are left out would not hold what ROS 2 puts there: an orientation of zeros, a fix."""
    assert encode(KINDS[name]()) == bytes.fromhex(GOLDEN[name]["default"]["cdr_hex"])


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        # One byte of the string's end, then three to the next multiple of four.
        (NodeEntitiesInfo("", "abcd"), "01000000 00 000000 05000000 6162636400 000000 00000000 00000000"),
        # Sixteen bytes without a length in front: an array.
        (Gid(bytes(range(16))), "000102030405060708090a0b0c0d0e0f"),
        (Int32(-2), "feffffff"),
        # Layout, data of two: eight-byte numbers begin at a multiple of eight, here after twelve bytes.
        (
            Float64MultiArray(data=[1.0, -2.0]),
            "00000000 00000000 02000000 00000000 000000000000f03f 00000000000000c0",
        ),
        # Four-byte numbers need no gap there.
        (Float32MultiArray(data=[1.0]), "00000000 00000000 01000000 0000803f"),
        # An empty sequence leaves no gap for the elements that it has not; characters count in bytes.
        (
            JointState(Header(), ["é"]),
            "00000000 00000000 01000000 00000000 01000000 03000000 c3a900 00 00000000 00000000 00000000",
        ),
    ],
    ids=["strings", "array of bytes", "negative", "alignment of doubles", "floats", "empty sequences"],
)
def test_bytes_follow_the_rules_of_cdr(message, wanted):
    """What the reference does not list would be sent with wrong gaps or lengths."""
    data = bytes.fromhex(HEAD + wanted.replace(" ", ""))
    assert encode(message).hex() == data.hex()
    assert decode(type(message), data) == message


def test_odometry_and_battery_and_camera_follow_the_rules():
    """Types that the reference lacks would be sent in another order or with other gaps."""
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
    assert odometry.twist.covariance == list(range(36, 72))
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
    """Points of a commanded trajectory would be misread from the second on."""
    moves = [Twist(Vector3(1.0, 2.0, 3.0))]
    point = MultiDOFJointTrajectoryPoint([Transform(Vector3(9.0))], moves, [])
    point.time_from_start.sec = 7
    message = MultiDOFJointTrajectory(Header(), ["a", "bc"], [point, point])
    numbers = 1, 9, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, 0, 0, 0, 0, 7, 0
    text = struct.pack("<iII1s3xII2s2xI3sxI", 0, 0, 1, b"\x00", 2, 2, b"a\x00", 3, b"bc\x00", 2)
    # The first point begins at 40: its length ends at 44, a gap before the numbers. The second begins at 172
    # and has none.
    first, second = struct.pack("<I4x7dI4x6dIiI", *numbers), struct.pack("<I7dI4x6dIiI", *numbers)
    assert encode(message) == bytes.fromhex(HEAD) + text + first + second
    assert decode(MultiDOFJointTrajectory, encode(message)) == message


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_message_comes_back(kind):
    """A field would be written in another way than it is read."""
    assert decode(kind, encode(kind())) == kind()


def test_arrays_of_numpy_give_the_bytes_of_lists():
    """Pixels, points and covariances would need a copy into lists, or be sent in the machine's own type."""
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
    """NaN, which says "not measured", or infinity, which says "nothing in reach", would be lost."""
    for value in math.inf, -math.inf, 5e-324, -0.0:
        found = decode(Float64, encode(Float64(value))).data
        assert struct.pack("<d", found) == struct.pack("<d", value)
    assert math.isnan(decode(Float64, encode(Float64(math.nan))).data)


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (Imu(orientation_covariance=[0.0] * 8), "Imu.orientation_covariance"),
        (Imu(orientation_covariance=np.zeros((2, 5))), "Imu.orientation_covariance"),
        (Gid(bytes(15)), "Gid.data"),
        (Image(height=-1), "Image.height"),
        (Image(height=2**32), "Image.height"),
        (Image(is_bigendian=256), "Image.is_bigendian"),
        (Image(data=[1, 256]), "Image.data"),
        (Imu(header=Header(frame_id=5)), "Header.frame_id"),
        (Imu(header=None), "Imu.header"),
        (String("a\x00b"), "String.data"),
        (NodeEntitiesInfo(node_name="n" * 257), "NodeEntitiesInfo.node_name"),
        (Float64MultiArray(data=["a"]), "Float64MultiArray.data"),
        (Float64(None), "Float64.data"),
    ],
)
def test_what_does_not_fit_is_refused(message, field):
    """A wrong value would end in a traceback of the coder, or in bytes that mean something else."""
    with pytest.raises(ConfigError, match=field) as caught:
        encode(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "message",
    [
        Header(frame_id="map"),
        Imu(Header(frame_id="map")),
        TFMessage([TransformStamped(Header(frame_id="map"), "base")]),
        JointState(name=["a", "b"], position=[1.0]),
        NodeEntitiesInfo("/", "n", [Gid()], [Gid()]),
        CompressedImage(format="jpeg", data=b"abc"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_is_cut_short_is_refused(message):
    """A damaged sample would stop the simulation, or be taken for a message of zeros."""
    data = encode(message)
    for end in range(len(data)):
        with pytest.raises(CdrError):
            decode(type(message), data[:end])


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        # Four thousand million elements announced, none there.
        (TFMessage, HEAD + "ffffffff"),
        (JointState, HEAD + "00000000 00000000 01000000 00000000 ffffffff"),
        (Float64MultiArray, HEAD + "00000000 00000000 ffffffff"),
        (CompressedImage, HEAD + "00000000 00000000 01000000 00000000 01000000 00000000 ffffffff"),
        (String, HEAD + "ffffffff 61"),
        # No zero at its end; no text of UTF-8.
        (String, HEAD + "02000000 6161"),
        (String, HEAD + "03000000 fffe00"),
        # Big-endian, parameter lists, and a later representation.
        (Float64, "00000000 3ff0000000000000"),
        (Float64, "00030000 000000000000f03f"),
        (Float64, "00070000 000000000000f03f"),
        (Float64, ""),
    ],
)
def test_what_is_no_message_is_refused(kind, data):
    """Whoever is on the network could end the simulation, or make it ask for gigabytes."""
    with pytest.raises(CdrError, match=kind.description.name):
        decode(kind, bytes.fromhex(data.replace(" ", "")))


def test_a_text_without_its_zero_is_read_as_empty():
    """Coders that send an empty text as no bytes at all would not be understood."""
    assert decode(String, bytes.fromhex(HEAD + "00000000")) == String("")


def test_a_template_gives_the_bytes_of_the_whole_message():
    """The fast path would put numbers elsewhere than they belong."""
    imu = Imu(Header(frame_id="d0/imu"), orientation_covariance=[0.1 * i for i in range(9)])
    template = Template(imu, "header.stamp", "angular_velocity", "linear_acceleration", "orientation.w")
    data = template.pack(1, 2, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.5)
    imu.header.stamp = Time(1, 2)
    imu.angular_velocity, imu.linear_acceleration = Vector3(3.0, 4.0, 5.0), Vector3(6.0, 7.0, 8.0)
    imu.orientation.w = 0.5
    assert data == encode(imu)
    # Once more: nothing of the first numbers stays, and the first bytes are no part of the second.
    again = template.pack(9, 8, *[0.0] * 6, 1.0)
    assert data == encode(imu)
    assert decode(Imu, again).header == Header(Time(9, 8), "d0/imu")


def test_a_template_reaches_into_lists_and_past_gaps():
    """Frames of a tree or cells of a battery could not be filled in, or the texts between be lost."""
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
    assert decode(BatteryState, filled) == BatteryState(
        voltage=10.0, present=True, cell_voltage=[1.0, 2.0, 3.0, 4.0], location="slot"
    )


@pytest.mark.parametrize("path", ["pose", "header.frame_id", "orientation.q", "", "orientation_covariance.9"])
def test_a_template_refuses_what_is_not_made_of_numbers(path):
    """A misspelt field would never be filled in."""
    with pytest.raises(ConfigError, match="no numbers there"):
        Template(Imu(), path)


def test_a_template_wants_as_many_numbers_as_it_has():
    """A number too many would be passed over, and all behind it stand in the wrong field."""
    template = Template(Imu(), "header.stamp", "angular_velocity")
    for numbers in (1, 2, 3.0, 4.0), (1, 2, 3.0, 4.0, 5.0, 6.0):
        with pytest.raises(ValueError, match="5 numbers are wanted"):
            template.pack(*numbers)
    with pytest.raises(struct.error):
        template.pack(1.5, 2, 3.0, 4.0, 5.0)
