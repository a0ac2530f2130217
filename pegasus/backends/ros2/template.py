"""Messages of which only numbers change: encoded once, filled in again and again."""

import struct
from collections.abc import Iterator
from itertools import pairwise

from pegasus.backends.ros2.cdr import HEADER, encode, primitive, write_length, writers
from pegasus.backends.ros2.description import Message
from pegasus.errors import ConfigError

_Place = tuple[str, int, struct.Struct]
"""Path of a number, its offset, and how it is stored."""


class Template:
    """A message whose texts, lengths and most of whose numbers stay as they are.

    Args:
        message: The message as it is at first.
        paths: Where the numbers that change stand, such as "header.stamp" or "transforms.0.transform": that
            of a message or an array means all its numbers. Blocks of uint8 stay as they are.

    Raises:
        ConfigError: If there are no numbers at a path.
    """

    def __init__(self, message: Message, *paths: str) -> None:
        self._buffer = bytearray(encode(message))
        self._fills = []
        places = list(_numbers(bytearray(HEADER), message, ""))
        start = 0
        for path in paths:
            chosen = [place for place in places if f"{place[0]}.".startswith(f"{path}.")]
            if not chosen:
                name = type(message).__name__
                raise ConfigError(f"{name} has no numbers there", field="path of a template", value=path)
            for run in _runs(chosen):
                codes = "".join(number.format[1:] for _, _, number in run)
                stop = start + len(run)
                self._fills.append((struct.Struct(f"<{codes}").pack_into, run[0][1], start, stop))
                start = stop
        self._count = start

    def pack(self, *numbers: float) -> bytes:
        """Return the message, encoded, with new numbers.

        Args:
            numbers: Plain Python numbers, those of the first path first, each path's in the order of its
                fields.

        Raises:
            ValueError: If they are too few or too many.
            struct.error: If one does not fit its field.
        """
        if len(numbers) != self._count:
            raise ValueError(f"{self._count} numbers are wanted, {len(numbers)} given")
        buffer = self._buffer
        for pack_into, offset, start, stop in self._fills:
            pack_into(buffer, offset, *numbers[start:stop])
        return bytes(buffer)


def _numbers(buffer: bytearray, message: Message, above: str) -> Iterator[_Place]:
    """Append a message, and give the place of each of its numbers in the order of the bytes."""
    described = message.description
    for (name, write), (_, kind) in zip(writers(described), described.fields, strict=True):
        value, path, number = getattr(message, name), above + name, primitive(kind)
        if kind.nested is not None:
            if kind.many and kind.length is None:
                write_length(buffer, len(value))
            for i, item in enumerate(value if kind.many else [value]):
                yield from _numbers(buffer, item, f"{path}.{i}." if kind.many else f"{path}.")
            continue
        write(buffer, value)
        if number is None or (kind.many and kind.base == "uint8"):
            continue
        count = len(value) if kind.many else 1
        first = len(buffer) - count * number.size
        for i in range(count):
            yield f"{path}.{i}" if kind.many else path, first + i * number.size, number


def _runs(places: list[_Place]) -> list[list[_Place]]:
    """Return numbers in groups with nothing between them, so that each group is written at once."""
    runs = [[places[0]]]
    for (_, offset, number), place in pairwise(places):
        if place[1] == offset + number.size:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs
