"""Tests of the ROS 2 types of recorded messages."""

from dataclasses import dataclass

import numpy as np
import pytest
from mcap_ros2._dynamic import generate_dynamic
from recording_stand_ins import FixReading

from pegasus.base.field_docs import field_docs
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.recording.schemas import (
    CAMERA_CALIBRATION,
    COMPRESSED_IMAGE,
    FRAME_TRANSFORMS,
    POINT_CLOUD,
    RAW_IMAGE,
    MessageType,
    item_fields,
    item_type,
)


@dataclass(frozen=True, eq=False)
class FilteredReading(FixReading):
    """A reading that adds a field to its base class."""

    delay: float = 0.0
    """Delay of the filter
    in the sensor [s]."""


def test_field_docs_are_those_of_the_source_and_of_the_bases() -> None:
    """Definitions would lack units, or have those of another field."""
    docs = field_docs(FilteredReading)
    assert docs["stamp"] == "Simulation time of the reading [s]."
    assert docs["satellite_count"] == "Satellites in use, shape (N,)."
    assert docs["delay"] == "Delay of the filter in the sensor [s]."
    assert docs["quality"] == ""


def test_classes_of_unusual_layout_keep_their_docstrings(tmp_path, monkeypatch) -> None:
    """A class would have the docstrings of another one, or none."""
    (tmp_path / "unusual_layout.py").write_text('''
class Base: pass

class Long(
    Base,
):
    """Text at the margin:
class Long does not begin here.
"""
    a: float
# A comment at the margin.
    """Length [m]."""

class Outer:
    class Twin:
        a: float
        """Outer [s]."""
    b: float
    """Force [N]."""

class Twin:
    a: float
    """Other [kg]."""
''')
    monkeypatch.syspath_prepend(tmp_path)
    import unusual_layout as found

    assert field_docs(found.Long) == {"a": "Length [m]."}
    assert field_docs(found.Outer) == {"b": "Force [N]."}
    assert field_docs(found.Outer.Twin) == {"a": "Outer [s]."}
    assert field_docs(found.Twin) == {"a": "Other [kg]."}


def test_a_class_without_source_has_a_type_all_the_same() -> None:
    """A sensor defined in a console could not be recorded."""
    scope: dict = {"Reading": Reading, "dataclass": dataclass, "__name__": "__main__"}
    exec("@dataclass(frozen=True)\nclass _Typed_1(Reading):\n    _Value__K: float", scope)
    cls = scope["_Typed_1"]
    kind = item_type(cls, item_fields(cls(0.0, 1.5), ["stamp", "_Value__K"]))
    assert kind.name == "main_msgs/msg/Typed1"
    assert kind.fields == {"stamp": "float64", "value_k": "float64"}
    assert kind.name in generate_dynamic(kind.name, kind.definition.decode())


def test_types_follow_the_values() -> None:
    """A definition would declare a type that the messages do not have."""
    item = FilteredReading(
        0.0, np.zeros((2, 3)), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=bool), np.zeros(2, np.float32)
    )
    names = ["mode", "position", "satellite_count", "valid", "speed", "quality", "healthy", "delay"]
    fields = item_fields(item, names)
    assert fields[0] == ("position", "float64", (2, 3))
    assert item_type(FilteredReading, fields).fields == {
        "position": "float64[]",
        "satellite_count": "int64[]",
        "valid": "bool[]",
        "speed": "float32[]",
        "quality": "int64",
        "healthy": "bool",
        "delay": "float64",
        "mode": "string",
    }


def test_names_are_those_of_package_and_class() -> None:
    """Viewer layouts made for a type would no longer apply."""
    state = VehicleState.at_rest(1, 4)
    assert item_type(VehicleState, item_fields(state, ["position"])).name == "pegasus_msgs/msg/VehicleState"


TIME = {"sec": 3, "nanosec": 999_999_999}
HEAD = {"timestamp": TIME, "frame_id": "iris/front"}
POSITION = {"x": 1.0, "y": -2.0, "z": 1e-300}
ORIENTATION = {"x": 0.5, "y": 0.25, "z": -0.125, "w": 0.75}


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (
            FRAME_TRANSFORMS,
            {
                "transforms": [
                    {
                        "timestamp": TIME,
                        "parent_frame_id": "world",
                        "child_frame_id": name,
                        "translation": POSITION,
                        "rotation": ORIENTATION,
                    }
                    for name in ("a", "quad/10", "")
                ]
            },
        ),
        (COMPRESSED_IMAGE, {**HEAD, "data": b"\1\2\3", "format": "jpeg"}),
        (
            RAW_IMAGE,
            {**HEAD, "width": 1, "height": 2, "encoding": "16UC1", "step": 2, "data": b"\1\2\3\4"},
        ),
        (
            CAMERA_CALIBRATION,
            {
                **HEAD,
                "width": 3,
                "height": 2,
                "distortion_model": "plumb_bob",
                "d": [],
                "k": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
                "r": [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0],
                "p": [float(k) for k in range(12)],
            },
        ),
        (
            POINT_CLOUD,
            {
                **HEAD,
                "pose": {"position": POSITION, "orientation": ORIENTATION},
                "point_stride": 4,
                "fields": [{"name": "x", "offset": 0, "type": 7}],
                "data": b"",
            },
        ),
    ],
)
def test_foxgloves_messages_are_read_by_another_reader(kind: MessageType, content: dict) -> None:
    """Foxglove would show no frames or images, or those of shifted bytes."""
    decode = generate_dynamic(kind.name, kind.definition.decode())[kind.name]
    assert plain(decode(kind.encoded(content))) == content


def plain(value: object) -> object:
    """Return a decoded message as mappings and lists."""
    if hasattr(value, "__slots__"):
        return {name: plain(getattr(value, name)) for name in value.__slots__}
    return [plain(item) for item in value] if isinstance(value, list) else value
