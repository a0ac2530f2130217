"""Messages to bytes and back: OMG CDR, little-endian, in plain representation, as ROS 2 sends it.

Source: OMG DDS-XTypes 1.3, sec. 7.4.1 (XCDR version 1, PLAIN_CDR): each value stands at a multiple of its
size, counted from behind the four bytes of the encapsulation header; strings and sequences begin with a
32-bit length; strings end with a zero byte, which counts.
"""

import struct
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

import numpy as np

from pegasus.backends.ros2.description import FieldType, Message, MessageType
from pegasus.errors import ConfigError

M = TypeVar("M", bound=Message)

HEADER = b"\x00\x01\x00\x00"
"""Encapsulation header: CDR_LE, no options."""

_CODES = {
    "bool": "?",
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
_LENGTH = struct.Struct("<I")

Write = Callable[[bytearray, Any], None]
Read = Callable[["_Reader"], Any]


class CdrError(ValueError):
    """Report bytes that are no message of the expected type."""


def encode(message: Message) -> bytes:
    """Return a message as bytes, encapsulation header included.

    Args:
        message: The message. Numeric arrays may be sequences or NumPy arrays, those of uint8 any contiguous
            buffer.

    Raises:
        ConfigError: If a value does not fit its field.
    """
    buffer = bytearray(HEADER)
    write_message(buffer, message)
    return bytes(buffer)


def decode(kind: type[M], data: bytes) -> M:
    """Return the message that bytes stand for; numeric arrays as lists, those of uint8 as bytes.

    Args:
        kind: Class of the message.
        data: The bytes, encapsulation header included.

    Raises:
        CdrError: If they are no such message.
    """
    if data[:2] != HEADER[:2]:
        raise CdrError(f"{kind.description.name}: not little-endian plain CDR: {bytes(data[:4]).hex()}")
    try:
        message = _read_message(_Reader(data), kind)
    except (CdrError, struct.error, UnicodeDecodeError) as error:
        raise CdrError(f"{kind.description.name}: {error}") from None
    return message


def write_message(buffer: bytearray, message: Message) -> None:
    """Append the fields of a message.

    Args:
        buffer: Bytes so far, the encapsulation header included.
        message: The message.

    Raises:
        ConfigError: If a value does not fit its field.
    """
    for name, write in writers(message.description):
        try:
            write(buffer, getattr(message, name))
        except (struct.error, TypeError, ValueError, OverflowError, AttributeError) as error:
            if isinstance(error, ConfigError):
                raise
            field = f"{type(message).__name__}.{name}"
            raise ConfigError(f"does not fit the field: {error}", field=field) from None


def primitive(kind: FieldType) -> struct.Struct | None:
    """Return how a field's single values stand in memory; None for strings and messages.

    Args:
        kind: The field's type.
    """
    code = _CODES.get(kind.base)
    return struct.Struct(f"<{code}") if code else None


def align(buffer: bytearray, size: int) -> None:
    """Append zeros up to the next multiple of a size.

    Args:
        buffer: Bytes so far, the encapsulation header included.
        size: Size of the value that is to follow [byte].
    """
    if beyond := (len(buffer) - len(HEADER)) % size:
        buffer += bytes(size - beyond)


def write_length(buffer: bytearray, count: int) -> None:
    """Append the length of a text or a sequence.

    Args:
        buffer: Bytes so far, the encapsulation header included.
        count: How many elements follow.
    """
    align(buffer, 4)
    buffer += _LENGTH.pack(count)


@cache
def writers(kind: MessageType) -> tuple[tuple[str, Write], ...]:
    """Return, for each field of a message, its name and what appends a value of it.

    Args:
        kind: Type of the message.
    """
    return tuple((name, _writer(field)) for name, field in kind.fields)


def _writer(kind: FieldType) -> Write:
    number = primitive(kind)
    if kind.many:
        if kind.base == "uint8":
            return _bytes_writer(kind.length)
        if number is not None:
            return _numbers_writer(_CODES[kind.base], number.size, kind.length)
        return _items_writer(_single_writer(kind), kind.length)
    return _single_writer(kind)


def _single_writer(kind: FieldType) -> Write:
    number = primitive(kind)
    if number is not None:
        pack, size = number.pack, number.size

        def write_number(buffer: bytearray, value: Any) -> None:
            align(buffer, size)
            buffer += pack(value)

        return write_number
    if kind.nested is not None:
        return write_message
    bound = kind.bound

    def write_string(buffer: bytearray, value: str) -> None:
        data = value.encode()
        if b"\x00" in data or (bound is not None and len(data) > bound):
            limit = "" if bound is None else f" and have at most {bound} bytes"
            raise ValueError(f"text must hold no zero byte{limit}")
        write_length(buffer, len(data) + 1)
        buffer += data
        buffer += b"\x00"

    return write_string


def _bytes_writer(length: int | None) -> Write:
    def write_bytes(buffer: bytearray, value: Any) -> None:
        if isinstance(value, np.ndarray):
            value = value.tobytes()
        elif not isinstance(value, bytes | bytearray | memoryview):
            value = bytes(value)
        elif isinstance(value, memoryview):
            value = value.cast("B")
        _begin(buffer, len(value), length)
        buffer += value

    return write_bytes


def _numbers_writer(code: str, size: int, length: int | None) -> Write:
    dtype = np.dtype(f"<{np.dtype(code).str[1:]}")

    def write_numbers(buffer: bytearray, values: Any) -> None:
        count = values.size if isinstance(values, np.ndarray) else len(values)
        _begin(buffer, count, length)
        if count:
            align(buffer, size)
            if isinstance(values, np.ndarray):
                buffer += values.astype(dtype, copy=False).tobytes()
            else:
                buffer += struct.pack(f"<{count}{code}", *values)

    return write_numbers


def _items_writer(write: Write, length: int | None) -> Write:
    def write_items(buffer: bytearray, values: Sequence[Any]) -> None:
        _begin(buffer, len(values), length)
        for value in values:
            write(buffer, value)

    return write_items


def _begin(buffer: bytearray, count: int, length: int | None) -> None:
    """Append the length of a sequence; of an array, check it."""
    if length is None:
        write_length(buffer, count)
    elif count != length:
        raise ValueError(f"must have {length} elements, not {count}")


class _Reader:
    """Bytes, and how far they have been read."""

    def __init__(self, data: bytes) -> None:
        self.data = bytes(data)
        self.position = len(HEADER)

    def skip_to(self, size: int) -> None:
        """Go on to the next multiple of a size."""
        self.position += -(self.position - len(HEADER)) % size

    def number(self, kind: struct.Struct) -> Any:
        """Read one number."""
        self.skip_to(kind.size)
        (value,) = kind.unpack_from(self.data, self.position)
        self.position += kind.size
        return value

    def block(self, size: int) -> bytes:
        """Read so many bytes."""
        end = self.position + size
        if end > len(self.data):
            raise CdrError(f"{size} bytes announced, {len(self.data) - self.position} left")
        data = self.data[self.position : end]
        self.position = end
        return data

    def count(self, length: int | None) -> int:
        """Read how many elements follow, unless it is an array, whose length is known."""
        count: int = self.number(_LENGTH) if length is None else length
        return count


def _read_message(reader: _Reader, kind: type[M]) -> M:
    return kind(*[read(reader) for read in _readers(kind.description)])


@cache
def _readers(kind: MessageType) -> tuple[Read, ...]:
    return tuple(_reader(field) for _, field in kind.fields)


def _reader(kind: FieldType) -> Read:
    number, length = primitive(kind), kind.length
    if not kind.many:
        return _single_reader(kind)
    if kind.base == "uint8":
        return lambda reader: reader.block(reader.count(length))
    if number is not None:
        code, size = _CODES[kind.base], number.size

        def read_numbers(reader: _Reader) -> list[Any]:
            count = reader.count(length)
            if count:
                reader.skip_to(size)
            return list(struct.unpack(f"<{count}{code}", reader.block(count * size)))

        return read_numbers
    read = _single_reader(kind)
    return lambda reader: [read(reader) for _ in range(reader.count(length))]


def _single_reader(kind: FieldType) -> Read:
    number, nested = primitive(kind), kind.nested
    if number is not None:
        return lambda reader: reader.number(number)
    if nested is not None:
        return lambda reader: _read_message(reader, nested)

    def read_string(reader: _Reader) -> str:
        data = reader.block(reader.count(None))
        if data and data[-1]:
            raise CdrError("text does not end with a zero byte")
        return data[:-1].decode()

    return read_string
