"""Tests of the schemas of recorded messages."""

from dataclasses import dataclass

import numpy as np
from recording_stand_ins import FixReading

from pegasus.core.sensor import Reading
from pegasus.core.state import VehicleState
from pegasus.recording.schemas import FRAME_TRANSFORMS, field_docs, message_schema, schema_name


@dataclass(frozen=True, eq=False)
class FilteredReading(FixReading):
    """A reading that adds a field to its base class."""

    delay: float = 0.0
    """Delay of the filter
    in the sensor [s]."""


def test_field_docs_are_those_of_the_source_and_of_the_bases() -> None:
    """Schemas would lack units, or have those of another field."""
    docs = field_docs(FilteredReading)
    assert docs["stamp"] == "Simulation time of the reading [s]."
    assert docs["satellite_count"] == "Satellites in use, shape (N,)."
    assert docs["delay"] == "Delay of the filter in the sensor [s]."
    assert docs["quality"] == ""


def test_a_class_without_source_has_a_schema_all_the_same() -> None:
    """A sensor defined in a console could not be recorded."""
    scope: dict = {"Reading": Reading, "dataclass": dataclass, "__name__": "console"}
    exec("@dataclass(frozen=True)\nclass Typed(Reading):\n    value: float", scope)
    schema = message_schema(scope["Typed"](0.0, 1.5), ["stamp", "value"])
    assert schema["title"] == "console.Typed"
    assert schema["properties"]["value"] == {"description": "", "type": "number"}


def test_types_follow_the_values() -> None:
    """A schema would declare a type that the messages do not have."""
    item = FilteredReading(
        0.0, np.zeros((2, 3)), np.zeros(2, dtype=np.int64), np.zeros(2, dtype=bool), np.zeros(2, np.float32)
    )
    names = ["position", "satellite_count", "valid", "speed", "mode", "quality", "healthy", "delay"]
    properties = message_schema(item, names)["properties"]
    kinds = [properties[name].get("items", properties[name])["type"] for name in names]
    assert kinds == ["number", "integer", "boolean", "number", "string", "integer", "boolean", "number"]
    assert [properties[name].get("dtype") for name in names[:4]] == ["float64", "int64", "bool", "float32"]
    assert properties["position"]["shape"] == [2, 3]


def test_names_are_those_of_package_and_class() -> None:
    """Viewer layouts made for a schema would no longer apply."""
    assert schema_name(VehicleState) == "pegasus.VehicleState"


def test_frame_transforms_are_foxgloves() -> None:
    """Foxglove would show no frames (names and fields as its own schema has them)."""
    transforms = FRAME_TRANSFORMS
    assert transforms["title"] == "foxglove.FrameTransforms"
    assert transforms["required"] == ["transforms"]
    transform = transforms["properties"]["transforms"]["items"]
    assert transform["title"] == "foxglove.FrameTransform"
    names = ["timestamp", "parent_frame_id", "child_frame_id", "translation", "rotation"]
    assert list(transform["properties"]) == transform["required"] == names
    assert [transform["properties"][name].get("title") for name in names] == [
        "time",
        None,
        None,
        "foxglove.Vector3",
        "foxglove.Quaternion",
    ]
    assert list(transform["properties"]["timestamp"]["properties"]) == ["sec", "nsec"]
    assert list(transform["properties"]["rotation"]["properties"]) == ["x", "y", "z", "w"]
