"""MAVLink 2 messages by pymavlink, and struct templates derived from it for the messages of every step.

pymavlink defines all layouts (dialect `common`). Messages of the lockstep and of estimates are packed and
read by templates, because pymavlink takes several times as long: see docs/autopilots.md for measured times.
"""

import itertools
import struct
from collections import namedtuple
from collections.abc import Callable, Iterator
from functools import cache, partial
from operator import itemgetter
from typing import Any

from pegasus.base.errors import package_error

FREQUENT = frozenset(
    {
        "ATTITUDE_QUATERNION",
        "HIL_ACTUATOR_CONTROLS",
        "HIL_GPS",
        "HIL_SENSOR",
        "HIL_STATE_QUATERNION",
        "LOCAL_POSITION_NED",
        "SET_POSITION_TARGET_LOCAL_NED",
    }
)
"""Names of the messages with a template."""

SIMULATOR = 200
"""Component id that PX4 expects of a simulator."""

# A frame: start, length of the payload, two bytes of flags, sequence, system, component, message id (three
# bytes), payload, checksum.
_START, _FIRST = b"\xfd", 0xFD
_HEADER = struct.Struct("<6B3s")
_NUMBER_AT = 7
_HEADER_SIZE, _CHECKSUM_SIZE, _SIGNATURE_SIZE = 10, 2, 13
_SIGNED = 0x01
_FEW = 4
"""Largest number of kinds of messages whose ids are searched for before data are looked through."""


@cache
def dialect() -> Any:
    """Return pymavlink's module of the dialect `common`.

    Raises:
        ConfigError: If pymavlink is not installed.
    """
    try:
        # Not at the top: no pymavlink is needed to describe a backend.
        from pymavlink.dialects.v20 import common
    except ModuleNotFoundError as error:
        raise package_error(error) from None
    if common.mcrf4xx is None:
        raise package_error(ModuleNotFoundError(name="fastcrc"))
    return common


class Template:
    """Layout of a message by `struct`, derived from pymavlink's list of its fields.

    Args:
        kind: pymavlink's class of the message.
    """

    def __init__(self, kind: Any) -> None:
        names, lengths, zeros = kind.ordered_fieldnames, kind.lengths, _zeros(kind)
        self._number, self._extra = _identity(kind)
        self._struct, self._checksum = kind.unpacker, dialect().mcrf4xx
        fields = namedtuple(kind.msgname, names, defaults=[zeros[name] for name in names])  # type: ignore[misc]
        labels = {"msgname": kind.msgname, "template": self, "__slots__": ()}
        self.type: Any = type(kind.msgname, (fields,), labels)
        """Named tuple of the fields in the order of the wire, zero unless given."""
        self._arrays = [k for k in reversed(range(len(lengths))) if lengths[k] > 1]
        self._fields: Callable[[tuple[Any, ...]], tuple[Any, ...]] | None = None
        """Function from the numbers of a payload to fields; None if each number is a field."""
        if self._arrays:
            ends = itertools.accumulate(lengths)
            spans = ((end - length, end) for end, length in zip(ends, lengths, strict=True))
            self._fields = itemgetter(*(slice(*span) if span[1] - span[0] > 1 else span[0] for span in spans))

    def order(self, *names: str) -> Callable[[tuple[Any, ...]], Any]:
        """Return a function that makes a message of field values in an order, fastest in that of the wire.

        Args:
            names: Names of all fields in that order.
        """
        places, kind = [names.index(name) for name in self.type._fields], self.type
        if places == list(range(len(names))):
            return partial(tuple.__new__, kind)
        return lambda values: tuple.__new__(kind, map(values.__getitem__, places))

    def frame(self, message: Any, sequence: int, system: int, component: int) -> bytes:
        """Return the frame of a message; see `encode`."""
        values = message
        if self._arrays:
            values = list(message)
            # From the last to the first, so that the places of those before stay.
            for at in self._arrays:
                values[at : at + 1] = values[at]
        # A payload has at least one byte.
        payload = self._struct.pack(*values).rstrip(b"\0") or b"\0"
        body = _HEADER.pack(len(payload), 0, 0, sequence & 0xFF, system, component, self._number) + payload
        frame: bytes = _START + body + self._checksum(body + self._extra).to_bytes(2, "little")
        return frame

    def unpack(self, payload: bytes) -> Any:
        """Return the message of a payload; zero bytes at its end may be missing."""
        size = self._struct.size
        if len(payload) != size:
            payload = payload[:size].ljust(size, b"\0")
        values = self._struct.unpack(payload)
        return tuple.__new__(self.type, values if self._fields is None else self._fields(values))


@cache
def message_type(name: str) -> Any:
    """Return the constructor of a message: its arguments are the fields by name, zero unless given.

    Messages have their fields as attributes, and their name as `msgname`. Those of `FREQUENT` are named
    tuples, others are pymavlink's own.

    Args:
        name: Name of the message, such as "HIL_SENSOR".
    """
    kind = getattr(dialect(), f"MAVLink_{name.lower()}_message")
    if name in FREQUENT:
        constructor: Callable[..., Any] = Template(kind).type
        return constructor
    zeros = _zeros(kind)
    return lambda **fields: kind(**zeros | fields)


def make_message(name: str, **fields: Any) -> Any:
    """Return a message; see `message_type`."""
    return message_type(name)(**fields)


def encode(message: Any, *, sequence: int, system: int = 1, component: int = SIMULATOR) -> bytes:
    """Return a message as a MAVLink 2 frame.

    Args:
        message: The message.
        sequence: Number of the frame on its link; only its lowest byte is sent.
        system: System id of the sender.
        component: Component id of the sender.
    """
    template = getattr(message, "template", None)
    if template is None:
        writer = _writer(system, component)
        writer.seq = sequence & 0xFF
        return bytes(message.pack(writer))
    frame: bytes = template.frame(message, sequence, system, component)
    return frame


class Decoder:
    """Stream decoder: bytes in chunks of any size to messages, skipping everything else.

    Args:
        names: Names of the messages to decode; all of the dialect if none is given.
        rest: Called with all other bytes.
    """

    def __init__(self, *names: str, rest: Callable[[bytes], None] = lambda _: None) -> None:
        kinds = {kind.msgname: kind for kind in dialect().mavlink_map.values()}
        self._wanted: dict[bytes, tuple[bytes, Template | None]] = {}
        """CRC_EXTRA and template, if there is one, by message id."""
        for name in names or kinds:
            number, extra = _identity(kinds[name])
            self._wanted[number] = extra, getattr(message_type(name), "template", None)
        self._checksum, self._rest = dialect().mcrf4xx, rest
        self._reader = dialect().MAVLink(None)
        self._waiting = b""
        self.bad_byte_count = 0
        """Number of bytes so far that belonged to no message to decode."""

    def only(self, data: bytes) -> Any:
        """Return the message of data that is one whole frame to decode by a template, else None.

        It is a shortcut for the answers of the lockstep; other data are left to `feed`.
        """
        wanted = self._wanted.get(data[_NUMBER_AT:_HEADER_SIZE])
        if wanted is None or self._waiting:
            return None
        (extra, template), body = wanted, len(data) - _CHECKSUM_SIZE
        if template is None or data[:1] != _START or data[1] != body - _HEADER_SIZE or data[2]:
            return None
        if self._checksum(data[1:body] + extra) != int.from_bytes(data[body:], "little"):
            return None
        return template.unpack(data[_HEADER_SIZE:body])

    def feed(self, data: bytes) -> Iterator[Any]:
        """Yield the messages that are complete with new data.

        Frames of other messages and bytes outside of frames are skipped.
        """
        if self._waiting:
            data = self._waiting + data
        elif self._holds_none(data):
            self._skip(data)
            return
        at, end = 0, len(data)
        while True:
            start = data.find(_START, at)
            if start < 0:
                if at < end:
                    self._skip(data[at:])
                self._waiting = b""
                return
            if start > at:
                self._skip(data[at:start])
            at = start
            if end - at < _HEADER_SIZE:
                break
            wanted = self._wanted.get(data[at + _NUMBER_AT : at + _HEADER_SIZE])
            if wanted is not None:
                extra, template = wanted
                body = at + _HEADER_SIZE + data[at + 1]
                size = body - at + _CHECKSUM_SIZE + (_SIGNATURE_SIZE if data[at + 2] & _SIGNED else 0)
                if end - at < size:
                    break
                received = int.from_bytes(data[body : body + _CHECKSUM_SIZE], "little")
                if self._checksum(data[at + 1 : body] + extra) == received:
                    if template is None:
                        yield self._reader.decode(bytearray(data[at : at + size]))
                    else:
                        yield template.unpack(data[at + _HEADER_SIZE : body])
                    at += size
                    continue
            # Not a frame to decode: the next one may begin within these bytes.
            self._skip(_START)
            at += 1
        self._waiting = data[at:]

    def _holds_none(self, data: bytes) -> bool:
        """Return whether data are whole frames, and hold the id of no message to decode at any place."""
        at, end = 0, len(data)
        while end - at >= _HEADER_SIZE and data[at] == _FIRST:
            signature = _SIGNATURE_SIZE if data[at + 2] & _SIGNED else 0
            at += _HEADER_SIZE + data[at + 1] + _CHECKSUM_SIZE + signature
        if at != end or len(self._wanted) > _FEW:
            return False
        return not any(number in data for number in self._wanted)

    def _skip(self, data: bytes) -> None:
        self.bad_byte_count += len(data)
        self._rest(data)


@cache
def _writer(system: int, component: int) -> Any:
    """Return pymavlink's writer of frames of a sender."""
    return dialect().MAVLink(None, system, component)


def _identity(kind: Any) -> tuple[bytes, bytes]:
    """Return the id of a message as in its frame, and its CRC_EXTRA, which stands for the layout."""
    return kind.id.to_bytes(3, "little"), bytes((kind.crc_extra,))


def _zeros(kind: Any) -> dict[str, Any]:
    """Return a zero for each field of a message."""
    lengths = (kind.array_lengths[place] for place in kind.orders)
    return {
        name: b"" if form == "char" and length else (0,) * length if length else 0
        for name, form, length in zip(kind.fieldnames, kind.fieldtypes, lengths, strict=True)
    }
