"""Message classes as Cyclone DDS wants its types: declared field by field, coded by Pegasus."""

from typing import Any

from cyclonedds.idl import make_idl_struct
from cyclonedds.idl import types as idl_types
from cyclonedds.idl.annotations import final

from pegasus.backends.ros2.description import FieldType, Message

_TYPES: Any = idl_types
_PRIMITIVES: dict[str, Any] = {"bool": bool, "string": str}


def dds_type(message: type[Message]) -> Any:
    """Return the class under which Cyclone DDS carries a message; its instances hold the bytes, `cdr`.

    The fields are declared because others compare types by them, and Cyclone DDS checks what is written
    against them.

    Args:
        message: Class of the message.
    """
    kind = _declared(message, {})
    kind.serialize = _serialize
    # What tells of a writer's end has a key, of which keyless types have none.
    kind.deserialize = kind.deserialize_key = classmethod(_deserialize)
    return kind


def _serialize(self: Any, **options: object) -> Any:  # noqa: ARG001
    return self.cdr


def _deserialize(cls: Any, data: bytes) -> Any:
    sample = cls()
    sample.cdr = data
    return sample


def _declared(message: type[Message], known: dict[str, Any]) -> Any:
    """Return a message as IDL declares it, each type once."""
    described = message.description
    if described.name not in known:
        fields = {name: _field(kind, known) for name, kind in described.fields}
        name = f"{message.__name__}_"
        known[described.name] = final(make_idl_struct(name, described.dds_name, fields, dataclassify=False))
    return known[described.name]


def _field(kind: FieldType, known: dict[str, Any]) -> Any:
    if kind.nested is not None:
        one = _declared(kind.nested, known)
    elif kind.bound is not None:
        one = _TYPES.bounded_str[kind.bound]
    else:
        one = _PRIMITIVES.get(kind.base) or getattr(_TYPES, kind.base)
    if not kind.many:
        return one
    return _TYPES.sequence[one] if kind.length is None else _TYPES.array[one, kind.length]
