"""Descriptions of messages: hashes and texts as ROS 2 has them, names as DDS carries them."""

import inspect
import json
from pathlib import Path

import pytest

from pegasus.backends.ros2 import messages
from pegasus.backends.ros2.description import Message, ros
from pegasus.backends.ros2.messages import (
    Float64,
    Header,
    Imu,
    NavSatStatus,
    PoseStamped,
    Quaternion,
    TFMessage,
)
from pegasus.errors import ConfigError

HASHES = json.loads(Path(__file__).with_name("data").joinpath("ros2_type_hashes.json").read_text())["hashes"]
# As ROS's own packages have it; the list above lacks it.
HASHES["std_msgs/msg/Int32"] = "RIHS01_b6578ded3c58c626cfe8d1a6fb6e04f706f97e9f03d2727c9ff4e74b1cef0deb"
KINDS = {
    kind.description.name: kind
    for kind in vars(messages).values()
    if inspect.isclass(kind) and issubclass(kind, Message)
}


@pytest.mark.parametrize("name", HASHES)
def test_type_hashes_equal_those_of_ros(name):
    """A field's name, type or place would differ from ROS's, of which every ROS process warns."""
    assert KINDS[name].description.type_hash == HASHES[name]


def test_types_have_the_names_that_dds_carries():
    """With another name nobody would match, and nobody be told."""
    assert Imu.description.name == "sensor_msgs/msg/Imu"
    assert Imu.description.dds_name == "sensor_msgs.msg.dds_.Imu_"


def test_definitions_say_all_that_a_reader_of_a_log_needs():
    """Whoever reads a log without ROS 2 would not know what its bytes mean."""
    rule = "=" * 80
    assert PoseStamped.description.definition == (
        "std_msgs/Header header\ngeometry_msgs/Pose pose\n"
        f"{rule}\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
        f"{rule}\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
        f"{rule}\nMSG: geometry_msgs/Pose\n"
        "geometry_msgs/Point position\ngeometry_msgs/Quaternion orientation\n"
        f"{rule}\nMSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
        f"{rule}\nMSG: geometry_msgs/Quaternion\nfloat64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n"
    )
    assert "float64[9] orientation_covariance\n" in Imu.description.definition
    assert TFMessage.description.definition.startswith("geometry_msgs/TransformStamped[] transforms\n")
    assert Float64.description.definition == "float64 data\n"


def test_messages_do_not_share_their_parts():
    """Filling in one message would change another."""
    one, other = Imu(), Imu()
    one.header.frame_id = "imu"
    one.orientation_covariance[0] = 1.0
    assert other == Imu(Header(), Quaternion(0.0, 0.0, 0.0, 1.0), [0.0] * 9)
    assert one != other
    assert TFMessage().transforms is not TFMessage().transforms


def test_constants_are_no_fields():
    """A constant would be sent as if it were a value."""
    assert NavSatStatus.STATUS_FIX == 0
    assert [name for name, _ in NavSatStatus.description.fields] == ["status", "service"]
    assert NavSatStatus().status == NavSatStatus.STATUS_UNKNOWN


@pytest.mark.parametrize("notation", ["float64[", "float 64", "", "float64[3"])
def test_a_type_that_is_none_is_refused(notation):
    """A misspelt type of somebody's own message would be found out on the wire."""
    with pytest.raises(ConfigError, match="no type"):
        ros(notation)
