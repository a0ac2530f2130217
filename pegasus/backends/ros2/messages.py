"""ROS 2 messages by rosbags: definitions, type hashes, CDR; templates of messages that are sent often."""

import struct
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from pegasus.base.errors import ConfigError

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

Message: TypeAlias = Any
"""Dataclass of rosbags; `__msgtype__` is the name of its type."""

_HEADER_SIZE = 4
"""Size of the encapsulation header of CDR [byte]."""
_CODES = {
    "bool": "?",
    "byte": "b",
    "char": "B",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
_STRUCTS = {base: struct.Struct(f"<{code}") for base, code in _CODES.items()}
_DTYPES = {base: np.dtype(code).newbyteorder("<") for base, code in _CODES.items()}
# Values that .msg files give to new messages; rosbags leaves them out.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "geometry_msgs/msg/Quaternion": {"w": 1.0},
    "sensor_msgs/msg/NavSatStatus": {"status": -2},
}


class CdrError(ValueError):
    """Error for bytes that are not a message of the expected type."""


class Field(NamedTuple):
    """Field of a message type."""

    name: str
    """Name of the field."""
    base: str
    """Type of one element: a primitive, `string`, or the full name of a message type."""
    nested: bool
    """Whether the elements are messages."""
    many: bool
    """Whether the field is an array or a sequence."""
    length: int | None
    """Number of elements of an array; None for a sequence or a single value."""
    bound: int | None
    """Maximum length of a string [byte]; None if unlimited."""


@cache
def typestore() -> "Typestore":
    """Return the message types of ROS 2 Jazzy.

    Raises:
        ConfigError: If rosbags is not installed.
    """
    try:
        from rosbags.interfaces import Nodetype
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise ConfigError(
            f"messages of ROS 2 need the package rosbags: {error}",
            remedy="pip install 'pegasus-multirotor[rosbags]'",
        ) from None
    store = get_typestore(Stores.ROS2_JAZZY)
    # Jazzy declares uint8[16]; rosbags 0.11.9 has char[16], whose type hash differs.
    store.fielddefs["rmw_dds_common/msg/Gid"] = (
        [],
        [("data", (Nodetype.ARRAY, ((Nodetype.BASE, ("uint8", 0)), 16)))],
    )
    return store


@cache
def fields(kind: str) -> tuple[Field, ...]:
    """Return the fields of a message type in their order.

    Args:
        kind: Full name of the type, such as "sensor_msgs/msg/Imu".

    Raises:
        ConfigError: If there is no such type, or rosbags is not installed.
    """
    definition: Any = typestore().fielddefs.get(kind)
    if definition is None:
        raise ConfigError(
            "is not a message type of ROS 2", field="type", value=kind, remedy="write PACKAGE/msg/NAME"
        )
    found = []
    for name, declared in definition[1]:
        node, detail = declared
        many, length = node.name in ("ARRAY", "SEQUENCE"), None
        if many:
            length = detail[1] if node.name == "ARRAY" else None
            node, detail = detail[0]
        nested = node.name == "NAME"
        base, bound = (detail, None) if nested else detail
        found.append(Field(name, base, nested, many, length, bound or None))
    return tuple(found)


def message(kind: str, /, **values: Any) -> Message:
    """Return a new message.

    Args:
        kind: Full name of its type, such as "sensor_msgs/msg/Imu".
        **values: Values by field. A message within it may be a mapping of its own fields; numbers may be any
            sequence or NumPy array, blocks of uint8 any contiguous buffer. Fields that are left out have the
            defaults of ROS 2.

    Raises:
        ConfigError: If there is no such type or field, a value does not fit its field, or rosbags is not
            installed.
    """
    declared = fields(kind)
    defaults = _DEFAULTS.get(kind, {})
    if unknown := values.keys() - {field.name for field in declared}:
        raise ConfigError("unknown field", field=f"{_short(kind)}.{min(unknown)}")
    made = []
    for field in declared:
        value = values.get(field.name, defaults.get(field.name))
        try:
            made.append(_default(field) if value is None else _converted(field, value))
        except (struct.error, TypeError, ValueError, OverflowError, AttributeError) as error:
            if isinstance(error, ConfigError):
                raise
            where = f"{_short(kind)}.{field.name}"
            raise ConfigError(f"does not fit the field: {error}", field=where) from None
    return constants(kind)(*made)


def constants(kind: str) -> Any:
    """Return the class of a message type, whose attributes are the constants of its .msg file."""
    fields(kind)
    return typestore().types[kind]


def encode(message: Message) -> bytes:
    """Return a message as little-endian CDR (OMG DDS-XTypes 1.3, sec. 7.4.1), header included.

    Args:
        message: The message.

    Raises:
        ConfigError: If a value does not fit its field.
    """
    kind: str = message.__msgtype__
    try:
        return bytes(typestore().serialize_cdr(message, kind, little_endian=True))
    except _serde_error() as error:
        raise ConfigError(f"cannot be encoded: {error}", field=_short(kind)) from None
    except (struct.error, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise ConfigError(f"cannot be encoded: {error}", field=_short(kind)) from None


def decode(kind: str, data: bytes) -> Message:
    """Return the message in a CDR encoding; its arrays of numbers are read-only NumPy arrays.

    Args:
        kind: Full name of its type.
        data: The bytes, encapsulation header included.

    Raises:
        CdrError: If they are not such a message.
    """
    try:
        return typestore().deserialize_cdr(data, kind)
    except _serde_error() as error:
        raise CdrError(f"{kind}: {error}") from None


@cache
def type_hash(kind: str) -> str:
    """Return the hash by which readers and writers compare types: `RIHS01_` and 64 digits (REP 2011)."""
    return typestore().hash_rihs01(kind)


def definition(kind: str) -> str:
    """Return the .msg file of a type and of all types that it contains, as MCAP's `ros2msg` has them."""
    fields(kind)
    return typestore().generate_msgdef(kind, ros_version=2)[0]


class Template:
    """Prepared encoding of a message of which only some numbers change.

    Args:
        message: The message.
        paths: Fields whose numbers change, such as "header.stamp" or "transforms.0.transform"; a message or
            an array stands for all its numbers. Blocks of uint8 never change.

    Raises:
        ConfigError: If there are no numbers at a path.
    """

    def __init__(self, message: Message, *paths: str) -> None:
        self._buffer = bytearray(encode(message))
        self._fills = []
        numbers = _Numbers(message).found
        start = 0
        for path in paths:
            chosen = [number for number in numbers if f"{number.path}.".startswith(f"{path}.")]
            if not chosen:
                name = _short(message.__msgtype__)
                raise ConfigError(f"{name} has no numbers there", field="path of a template", value=path)
            for block in _blocks(chosen):
                codes = "".join(number.packed.format[1:] for number in block)
                stop = start + len(block)
                self._fills.append((struct.Struct(f"<{codes}").pack_into, block[0].offset, start, stop))
                start = stop
        self._count = start

    def pack(self, *numbers: float) -> bytes:
        """Return the encoded message with new numbers.

        Args:
            numbers: Plain Python numbers in the order of the paths, within a path in the order of its fields.

        Raises:
            ValueError: If there are too few or too many numbers.
            struct.error: If a number does not fit its field.
        """
        if len(numbers) != self._count:
            raise ValueError(f"must be {self._count} numbers, not {len(numbers)}")
        buffer = self._buffer
        for pack_into, offset, start, stop in self._fills:
            pack_into(buffer, offset, *numbers[start:stop])
        return bytes(buffer)


class _Number(NamedTuple):
    """Number in an encoded message."""

    path: str
    offset: int
    packed: struct.Struct


class _Numbers:
    """Offsets of all numbers of a message in its encoding, by the alignment rules of CDR."""

    def __init__(self, message: Message) -> None:
        self.found: list[_Number] = []
        self._offset = _HEADER_SIZE
        self._walk(message, "")

    def _walk(self, message: Message, above: str) -> None:
        for field in fields(message.__msgtype__):
            value, path = getattr(message, field.name), above + field.name
            if not field.many:
                self._one(field, value, path)
                continue
            if field.length is None:
                self._skip(4)
            if field.base == "uint8":
                self._offset += len(value)
                continue
            for i, item in enumerate(value):
                self._one(field, item, f"{path}.{i}")

    def _one(self, field: Field, value: Any, path: str) -> None:
        if field.nested:
            self._walk(value, f"{path}.")
        elif field.base == "string":
            self._skip(4)
            self._offset += len(value.encode()) + 1
        else:
            packed = _STRUCTS[field.base]
            self._skip(packed.size)
            self.found.append(_Number(path, self._offset - packed.size, packed))

    def _skip(self, size: int) -> None:
        """Pass a value that stands at a multiple of its size."""
        self._offset += -(self._offset - _HEADER_SIZE) % size + size


def _blocks(numbers: Iterable[_Number]) -> list[list[_Number]]:
    """Return numbers grouped into contiguous blocks, each packed at once."""
    numbers = list(numbers)
    blocks = [[numbers[0]]]
    for before, number in pairwise(numbers):
        if number.offset == before.offset + before.packed.size:
            blocks[-1].append(number)
        else:
            blocks.append([number])
    return blocks


def _serde_error() -> type[Exception]:
    from rosbags.serde import SerdeError

    return SerdeError


def _short(kind: str) -> str:
    return kind.rpartition("/")[2]


def _default(field: Field) -> Any:
    if field.many and field.base in _DTYPES:
        return np.zeros(field.length or 0, _DTYPES[field.base])
    if field.many:
        return [_default(field._replace(many=False)) for _ in range(field.length or 0)]
    if field.nested:
        return message(field.base)
    return {"string": "", "bool": False, "float32": 0.0, "float64": 0.0}.get(field.base, 0)


def _converted(field: Field, value: Any) -> Any:
    """Return a value as rosbags encodes it, checked."""
    if not field.many:
        return _single(field, value)
    if field.base in _DTYPES:
        value = _block(value) if field.base == "uint8" else _row(value, _DTYPES[field.base])
    else:
        value = [_single(field, item) for item in value]
    if field.length is not None and len(value) != field.length:
        raise ValueError(f"must have {field.length} elements, not {len(value)}")
    return value


def _single(field: Field, value: Any) -> Any:
    if field.nested:
        if isinstance(value, Mapping):
            return message(field.base, **value)
        if getattr(value, "__msgtype__", None) != field.base:
            raise TypeError(f"must be a {field.base} or a mapping of its fields, not {type(value).__name__}")
    elif field.base == "string":
        data = value.encode()
        if b"\x00" in data or (field.bound is not None and len(data) > field.bound):
            limit = "" if field.bound is None else f" and have at most {field.bound} bytes"
            raise ValueError(f"text must hold no zero byte{limit}")
    else:
        _STRUCTS[field.base].pack(value)
    return value


def _block(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value = np.ascontiguousarray(value)
    elif not isinstance(value, bytes | bytearray | memoryview):
        value = bytes(value)
    return np.frombuffer(memoryview(value).cast("B"), np.uint8)


def _row(value: Any, dtype: "np.dtype[Any]") -> Any:
    array = np.asarray(value)
    return array.astype(dtype, casting="same_kind" if array.size else "unsafe", copy=False).ravel()
