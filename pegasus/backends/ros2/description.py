"""Describe messages as ROS 2 does: fields and their types, type names, type hashes, definition texts."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, dataclass_transform

from pegasus.errors import ConfigError

_DEFAULTS: dict[str, Any] = {
    "bool": False,
    "string": "",
    **dict.fromkeys(("float32", "float64"), 0.0),
    **dict.fromkeys((f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), 0),
}
_NOTATION = re.compile(r"(?P<base>\w+)(<=(?P<bound>\d+))?(?P<many>\[(?P<length>\d*)\])?")
# type_description_interfaces/msg/FieldType: ids of single values, and what arrays and sequences add to them.
_NESTED_ID, _BOUNDED_STRING_ID, _ARRAY, _SEQUENCE = 1, 21, 48, 144
_TYPE_IDS = {
    "int8": 2,
    "uint8": 3,
    "int16": 4,
    "uint16": 5,
    "int32": 6,
    "uint32": 7,
    "int64": 8,
    "uint64": 9,
    "float32": 10,
    "float64": 11,
    "bool": 15,
    "string": 17,
}


@dataclass(frozen=True)
class FieldType:
    """Type of a field."""

    base: str
    """Name of a primitive, `string` included, or full name of a message type."""
    nested: "type[Message] | None" = None
    """The message type, where it is one."""
    bound: int | None = None
    """Most bytes of a string, where it is bounded."""
    many: bool = False
    """Whether it is an array or a sequence."""
    length: int | None = None
    """Number of elements of an array; None for a sequence."""
    default: Any = None
    """Value of a new message's field, where it is not zero or empty."""

    @property
    def notation(self) -> str:
        """How .msg files write it, such as `float64[9]` or `geometry_msgs/Pose[]`."""
        base = self.base.replace("/msg/", "/")
        bound = f"<={self.bound}" if self.bound else ""
        return f"{base}{bound}[{self.length or ''}]" if self.many else base + bound

    def make(self) -> Any:
        """Return the value of a new message's field."""
        if self.nested is not None:
            one: Any = self.nested
        else:
            value = _DEFAULTS[self.base] if self.default is None else self.default
            if self.many and self.base == "uint8":
                return bytes(self.length or 0)

            def one() -> Any:
                return value

        return [one() for _ in range(self.length or 0)] if self.many else one()


def ros(kind: "str | type[Message]", many: str = "", *, default: Any = None) -> Any:
    """Return the field of a message class.

    Args:
        kind: Type as .msg files write it, such as "float64[9]"; or another message class.
        many: "[]" or "[3]" behind a message class.
        default: Value of a new message's field; zero, empty or a new message when None.
    """
    nested = None if isinstance(kind, str) else kind
    notation = kind if isinstance(kind, str) else "nested"
    parts = _NOTATION.fullmatch(notation + many)
    if parts is None:
        raise ConfigError("is no type of a ROS 2 field", field="kind", value=notation + many)
    described = FieldType(
        base=parts["base"] if nested is None else nested.description.name,
        nested=nested,
        bound=int(parts["bound"]) if parts["bound"] else None,
        many=parts["many"] is not None,
        length=int(parts["length"]) if parts["length"] else None,
        default=default,
    )
    return field(default_factory=described.make, metadata={"ros": described})


@dataclass(frozen=True, eq=False)
class MessageType:
    """What ROS 2 knows of a message type."""

    name: str
    """Full name, such as `sensor_msgs/msg/Imu`."""
    fields: tuple[tuple[str, FieldType], ...]
    """Names and types of the fields, in their order."""

    @property
    def dds_name(self) -> str:
        """Name that DDS carries, with dots between its parts: `sensor_msgs.msg.dds_.Imu_`."""
        package, kind, name = self.name.split("/")
        return f"{package}.{kind}.dds_.{name}_"

    @cached_property
    def definition(self) -> str:
        """Text of the .msg file and of all that it depends on, as MCAP's encoding `ros2msg` has it."""
        parts = [self._fields_text()]
        for other in self._dependencies():
            parts += ["=" * 80, f"MSG: {other.name.replace('/msg/', '/')}", other._fields_text()]
        return "\n".join(parts) + "\n"

    @cached_property
    def type_hash(self) -> str:
        """Hash that readers and writers compare types by, `RIHS01_` and 64 hexadecimal digits.

        Source: ROS REP 2011, sec. "Type Version Hash": SHA-256 of the JSON of the type's description.
        """
        others = sorted(self._dependencies(), key=lambda other: other.name)
        content = {
            "type_description": self._hashed(),
            "referenced_type_descriptions": [other._hashed() for other in others],
        }
        return f"RIHS01_{hashlib.sha256(json.dumps(content).encode()).hexdigest()}"

    def _dependencies(self) -> "list[MessageType]":
        """Return every type that the fields are made of, each once, depth first."""
        found: dict[str, MessageType] = {}
        for other in self._nested():
            found.setdefault(other.name, other)
            for further in other._dependencies():
                found.setdefault(further.name, further)
        return list(found.values())

    def _nested(self) -> "Iterator[MessageType]":
        return (kind.nested.description for _, kind in self.fields if kind.nested is not None)

    def _fields_text(self) -> str:
        lines = []
        for name, kind in self.fields:
            default = "" if kind.default is None else f" {kind.default:g}"
            lines.append(f"{kind.notation} {name}{default}")
        return "\n".join(lines)

    def _hashed(self) -> dict[str, Any]:
        """Return the part of the description that is hashed: no default values, no comments."""
        return {"type_name": self.name, "fields": [_hashed_field(*item) for item in self.fields]}


def _hashed_field(name: str, kind: FieldType) -> dict[str, Any]:
    number = _NESTED_ID if kind.nested else _BOUNDED_STRING_ID if kind.bound else _TYPE_IDS[kind.base]
    if kind.many:
        number += _SEQUENCE if kind.length is None else _ARRAY
    return {
        "name": name,
        "type": {
            "type_id": number,
            "capacity": kind.length or 0,
            "string_capacity": kind.bound or 0,
            "nested_type_name": kind.base if kind.nested else "",
        },
    }


@dataclass_transform()
class Message:
    """Base of all messages: `class Point(Message, package="geometry_msgs")`, each field given by `ros`."""

    description: ClassVar[MessageType]
    """What ROS 2 knows of the type."""

    def __init_subclass__(cls, *, package: str) -> None:
        dataclass(cls)
        described = tuple((item.name, item.metadata["ros"]) for item in fields(cls))  # type: ignore[arg-type]
        cls.description = MessageType(f"{package}/msg/{cls.__name__}", described)
