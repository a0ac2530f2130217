"""ROS 2 message types: their definitions and CDR, types of recorded dataclasses, and types of Foxglove."""

import itertools
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from pegasus.base.errors import ConfigError
from pegasus.base.field_docs import field_docs

CDR_HEADER = b"\x00\x01\x00\x00"
"""Encapsulation header of little-endian CDR; alignment is counted from its end."""
CODES = {
    **{"bool": "?", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I"},
    **{"int64": "q", "uint64": "Q", "float32": "f", "float64": "d"},
}
"""Codes of `struct` by the name of a number's type, which is the same in ROS 2 and in NumPy."""
_SEPARATOR = "=" * 80


@dataclass(frozen=True)
class MessageType:
    """ROS 2 message type."""

    name: str
    """Package and type, such as `foxglove_msgs/msg/RawImage`."""
    fields: Mapping[str, "FieldType"]
    """Types by field name."""
    comments: Mapping[str, str] = field(default_factory=dict)
    """Comments by field name; that of the message itself has an empty name."""

    @property
    def definition(self) -> bytes:
        """Definition with those of its parts, as rosbag2 embeds it."""
        parts = [f"MSG: {part.name.replace('/msg/', '/')}\n{part._text()}" for part in self._parts()]
        return f"{_SEPARATOR}\n".join([self._text(), *parts]).encode()

    def encoded(self, content: Mapping[str, Any]) -> bytes:
        """Return a message in CDR.

        Args:
            content: Values by field name: messages as mappings, sequences of numbers as arrays or bytes, and
                sequences of points or colours as mappings or one array.
        """
        body = bytearray()
        _append(body, self, content)
        return CDR_HEADER + bytes(body)

    def _text(self) -> str:
        lines = [f"# {self.comments['']}"] if "" in self.comments else []
        for name, kind in self.fields.items():
            if self.comments.get(name):
                lines.append(f"# {self.comments[name]}")
            part, suffix = (kind[0], "[]") if isinstance(kind, tuple) else (kind, "")
            base = part.name.replace("/msg/", "/") if isinstance(part, MessageType) else part
            lines.append(f"{base}{suffix} {name}")
        return "\n".join(lines) + "\n"

    def _parts(self) -> list["MessageType"]:
        """Return the types of the fields, and of their fields, each once."""
        found: dict[str, MessageType] = {}
        for kind in self.fields.values():
            part = kind[0] if isinstance(kind, tuple) else kind
            if isinstance(part, MessageType):
                found |= {item.name: item for item in (part, *part._parts())}
        return list(found.values())


FieldType: TypeAlias = str | MessageType | tuple[MessageType]
"""A type of numbers or texts by its name in ROS 2 (`float64`, `float64[9]`, `uint8[]`, `string`), a message
type, or a tuple with the message type of the elements of a sequence."""


def aligned(end: int, size: int) -> int:
    """Return the next multiple of a size, at which CDR places a value of this size.

    Args:
        end: End of the value before, from the end of the encapsulation header on.
        size: Size of a number [byte].
    """
    return end + -end % size


def append_text(body: bytearray, text: str) -> None:
    """Append a text in CDR.

    Args:
        body: The message so far, without its encapsulation header.
        text: The text.
    """
    data = text.encode() + b"\0"
    body += bytes(-len(body) % 4) + struct.pack("<I", len(data)) + data


def _append(body: bytearray, kind: FieldType, value: Any) -> None:
    if isinstance(kind, MessageType):
        for name, part in kind.fields.items():
            _append(body, part, value[name])
    elif isinstance(kind, tuple):
        body += bytes(-len(body) % 4) + struct.pack("<I", len(value))
        if isinstance(value, np.ndarray):
            # Points and colours: rows of 64-bit numbers, without gaps.
            body += bytes(-len(body) % 8 if len(value) else 0) + value.astype("<f8").tobytes()
            return
        for item in value:
            _append(body, kind[0], item)
    elif kind == "string":
        append_text(body, value)
    else:
        base, bracket, length = kind.rstrip("]").partition("[")
        dtype = np.dtype(base).newbyteorder("<")
        items = np.frombuffer(value, dtype) if isinstance(value, bytes) else np.asarray(value, dtype)
        if bracket and not length:
            body += bytes(-len(body) % 4) + struct.pack("<I", items.size)
        if items.size:
            body += bytes(-len(body) % dtype.itemsize) + items.tobytes()


class Field(NamedTuple):
    """Recorded field of a dataclass."""

    name: str
    """Name in the dataclass."""
    kind: str
    """Type of a number, such as `float64`, or `string`."""
    shape: Sequence[int] | None
    """Shape of an array; None for a single value."""


def item_fields(item: Any, names: Sequence[str]) -> list[Field]:
    """Return the fields of a dataclass in the order in which they are recorded: arrays, numbers, texts.

    Args:
        item: An instance.
        names: The recorded fields.

    Raises:
        ConfigError: If a field is not an array of real numbers or booleans, a number, a boolean or a string.
    """
    found = [_field(type(item), name, getattr(item, name)) for name in names]
    return sorted(found, key=lambda field: (field.shape is None) + (field.kind == "string"))


def _field(cls: type, name: str, value: Any) -> Field:
    if isinstance(value, np.ndarray):
        # ROS 2 has no numbers of 16-bit floating point; those of 32 bits hold each of them.
        kind = "float32" if value.dtype.name == "float16" else value.dtype.name
        if kind in CODES:
            return Field(name, kind, value.shape)
    for types, kind in (
        ((bool, np.bool_), "bool"),
        ((int, np.integer), "int64"),
        ((float, np.floating), "float64"),
        ((str,), "string"),
    ):
        if isinstance(value, types):
            return Field(name, kind, None)
    raise ConfigError(
        "must be an array of real numbers or booleans, a number, a boolean or a string to be recorded",
        field=f"{cls.__name__}.{name}",
        value=value,
        remedy="use one of these types, or do not record readings",
    )


def item_type(cls: type, fields: Sequence[Field]) -> MessageType:
    """Return the message type of a dataclass, with the docstrings of the class and its fields as comments.

    Arrays are sequences, flat in row-major order, so that vehicles of any number of copies and rotors share
    one type. The name is that of the top-level package and the class, such as
    `pegasus_msgs/msg/VehicleState`; characters that ROS 2 does not allow in names are left out.

    Args:
        cls: The class.
        fields: The recorded fields.
    """
    docs = field_docs(cls)
    summary = (cls.__doc__ or "").strip().partition("\n")[0]
    note = "Arrays are flat, row by row; `fields` of the channel's metadata gives their shapes."
    names = {field.name: _ros_name(field.name) for field in fields}
    package = _ros_name(f"{cls.__module__.partition('.')[0]}_msgs")
    return MessageType(
        f"{package}/msg/{re.sub('[^A-Za-z0-9]', '', cls.__name__).lstrip('0123456789')}",
        {names[name]: kind if shape is None else f"{kind}[]" for name, kind, shape in fields},
        {"": f"{summary} {note}".strip()} | {names[name]: docs.get(name, "") for name in names},
    )


def field_comments(definition: str) -> dict[str, str]:
    """Return the comments of the fields of a message definition, by field name.

    Args:
        definition: A definition as `MessageType.definition` has it.
    """
    lines = definition.partition(_SEPARATOR)[0].splitlines()
    pairs = [(above, below) for above, below in itertools.pairwise(lines) if not below.startswith("#")]
    return {below.split()[1]: above[2:] for above, below in pairs if above.startswith("# ")}


def _ros_name(name: str) -> str:
    """Return a name of lower-case letters, digits and single underscores that begins with a letter."""
    return re.sub("[^a-z0-9]+", "_", name.lower()).lstrip("_0123456789").rstrip("_") or "value"


_TIME = MessageType("builtin_interfaces/msg/Time", {"sec": "int32", "nanosec": "uint32"})
_VECTOR = MessageType("geometry_msgs/msg/Vector3", dict.fromkeys("xyz", "float64"))
_POINT = MessageType("geometry_msgs/msg/Point", dict.fromkeys("xyz", "float64"))
_QUATERNION = MessageType("geometry_msgs/msg/Quaternion", dict.fromkeys("xyzw", "float64"))
_POSE = MessageType("geometry_msgs/msg/Pose", {"position": _POINT, "orientation": _QUATERNION})
_HEAD: dict[str, FieldType] = {"timestamp": _TIME, "frame_id": "string"}


def _foxglove(kind: str, /, **fields: FieldType) -> MessageType:
    """Return a type of Foxglove. Source: Foxglove's message schemas for ROS 2."""
    return MessageType(f"foxglove_msgs/msg/{kind}", fields)


_TRANSFORM = _foxglove(
    "FrameTransform",
    timestamp=_TIME,
    parent_frame_id="string",
    child_frame_id="string",
    translation=_VECTOR,
    rotation=_QUATERNION,
)
FRAME_TRANSFORMS = _foxglove("FrameTransforms", transforms=(_TRANSFORM,))
"""Transforms of frames, which Foxglove's 3D panel displays by default."""
COMPRESSED_IMAGE = _foxglove("CompressedImage", **_HEAD, data="uint8[]", format="string")
"""Image as JPEG or PNG."""
_SIZE: dict[str, FieldType] = {"width": "uint32", "height": "uint32"}
RAW_IMAGE = _foxglove("RawImage", **_HEAD, **_SIZE, encoding="string", step="uint32", data="uint8[]")
"""Image as pixels."""
_MATRICES: dict[str, FieldType] = {"d": "float64[]", "k": "float64[9]", "r": "float64[9]", "p": "float64[12]"}
CAMERA_CALIBRATION = _foxglove("CameraCalibration", **_HEAD, **_SIZE, distortion_model="string", **_MATRICES)
"""Calibration of a camera."""
_ELEMENT = _foxglove("PackedElementField", name="string", offset="uint32", type="uint8")
POINT_CLOUD = _foxglove(
    "PointCloud", **_HEAD, pose=_POSE, point_stride="uint32", fields=(_ELEMENT,), data="uint8[]"
)
"""Points with further values."""
_COLOR = _foxglove("Color", **dict.fromkeys("rgba", "float64"))
_PAIR = _foxglove("KeyValuePair", key="string", value="string")
_ARROW = _foxglove(
    "ArrowPrimitive",
    pose=_POSE,
    **dict.fromkeys(("shaft_length", "shaft_diameter", "head_length", "head_diameter"), "float64"),
    color=_COLOR,
)
_CUBE = _foxglove("CubePrimitive", pose=_POSE, size=_VECTOR, color=_COLOR)
_SPHERE = _foxglove("SpherePrimitive", pose=_POSE, size=_VECTOR, color=_COLOR)
_CYLINDER = _foxglove(
    "CylinderPrimitive", pose=_POSE, size=_VECTOR, bottom_scale="float64", top_scale="float64", color=_COLOR
)
_CORNERS: dict[str, FieldType] = {
    "points": (_POINT,),
    "color": _COLOR,
    "colors": (_COLOR,),
    "indices": "uint32[]",
}
_LINE = _foxglove(
    "LinePrimitive", type="uint8", pose=_POSE, thickness="float64", scale_invariant="bool", **_CORNERS
)
_TRIANGLES = _foxglove("TriangleListPrimitive", pose=_POSE, **_CORNERS)
_TEXT = _foxglove(
    "TextPrimitive",
    pose=_POSE,
    billboard="bool",
    font_size="float64",
    scale_invariant="bool",
    color=_COLOR,
    text="string",
)
_MODEL = _foxglove(
    "ModelPrimitive",
    pose=_POSE,
    scale=_VECTOR,
    color=_COLOR,
    override_color="bool",
    url="string",
    media_type="string",
    data="uint8[]",
)
_ENTITY = _foxglove(
    "SceneEntity",
    **_HEAD,
    id="string",
    lifetime=MessageType("builtin_interfaces/msg/Duration", {"sec": "int32", "nanosec": "uint32"}),
    frame_locked="bool",
    metadata=(_PAIR,),
    arrows=(_ARROW,),
    cubes=(_CUBE,),
    spheres=(_SPHERE,),
    cylinders=(_CYLINDER,),
    lines=(_LINE,),
    triangles=(_TRIANGLES,),
    texts=(_TEXT,),
    models=(_MODEL,),
)
_DELETION = _foxglove("SceneEntityDeletion", timestamp=_TIME, type="uint8", id="string")
SCENE_UPDATE = _foxglove("SceneUpdate", deletions=(_DELETION,), entities=(_ENTITY,))
"""Entities for Foxglove's 3D panel."""
LOCATION_FIX = _foxglove(
    "LocationFix",
    **_HEAD,
    **dict.fromkeys(("latitude", "longitude", "altitude"), "float64"),
    position_covariance="float64[9]",
    position_covariance_type="uint8",
    heading="float64",
    velocity=_VECTOR,
    color=_COLOR,
    metadata=(_PAIR,),
)
"""Position on Earth for Foxglove's map panel."""
LOG = _foxglove(
    "Log", timestamp=_TIME, level="uint8", message="string", name="string", file="string", line="uint32"
)
"""Text with a level for Foxglove's log panel."""
