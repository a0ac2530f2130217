"""Messages of a log's channels in CDR, encoded when they are due."""

import math
import struct
from collections.abc import Callable, Sequence
from itertools import pairwise, repeat
from operator import add, attrgetter, is_not
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.errors import ConfigError
from pegasus.recording.rows import packed
from pegasus.recording.schemas import CDR_HEADER, CODES, FRAME_TRANSFORMS, Field, aligned, append_text

_KIND = "dtype", "shape"


class Layout:
    """Layout of the CDR messages of a dataclass: arrays, numbers, and then texts, whose places vary.

    Args:
        fields: The recorded fields: arrays, then numbers, then texts.
    """

    def __init__(self, fields: Sequence[Field]) -> None:
        self.arrays = [field for field in fields if field.shape is not None]
        self.numbers = [field for field in fields if field.shape is None and field.kind != "string"]
        self.texts = [field for field in fields if field.kind == "string"]
        body, offsets = bytearray(), []
        for field in self.arrays:
            dtype, size = np.dtype(field.kind), math.prod(field.shape or ())
            body += bytes(-len(body) % 4) + struct.pack("<I", size)
            body += bytes(-len(body) % dtype.itemsize if size else 0)
            offsets.append(len(CDR_HEADER) + len(body))
            body += bytes(size * dtype.itemsize)
        for field in self.numbers:
            size = np.dtype(field.kind).itemsize
            body += bytes(-len(body) % size)
            offsets.append(len(CDR_HEADER) + len(body))
            body += bytes(size)
        self._end = len(body)
        self._template = np.frombuffer(CDR_HEADER + body, np.uint8)
        fixed = [*self.arrays, *self.numbers]
        names = [field.name for field in fixed]
        formats = [(f"<{np.dtype(field.kind).str[1:]}", tuple(field.shape or ())) for field in fixed]
        self.rows = np.dtype([(name, *form) for name, form in zip(names, formats, strict=True)])
        """Type of the arrays and numbers of a message, one behind the other."""
        size = len(self._template)
        self._table = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})

    def fits(self, arrays: Sequence[npt.NDArray[Any]]) -> bool:
        """Return whether arrays have the types and shapes of the fields, and these are no texts.

        Args:
            arrays: The arrays; numbers as arrays without dimensions.
        """
        wanted = [self.rows[name] for name in self.rows.names or ()]
        kinds = [(dtype.base, dtype.shape) for dtype in wanted]
        return not self.texts and [(array.dtype, array.shape) for array in arrays] == kinds

    def encode(self, rows: npt.NDArray[np.void]) -> list[bytes]:
        """Return messages up to their texts.

        Args:
            rows: Arrays and numbers, of type `rows`, shape (T,).
        """
        contents = np.tile(self._template, (len(rows), 1))
        table = contents.view(self._table)[:, 0]
        for name in self.rows.names or ():
            table[name] = rows[name]
        encoded: list[bytes] = contents.view(f"V{self._table.itemsize}").ravel().tolist()
        return encoded

    def tail(self, texts: Sequence[str]) -> bytes:
        """Return the end of a message: its texts.

        Args:
            texts: The texts.
        """
        body = bytearray(self._end)
        for text in texts:
            append_text(body, text)
        return bytes(body[self._end :])

    def table(self, contents: Sequence[bytes]) -> npt.NDArray[np.void]:
        """Return the arrays and numbers of messages as a structured array, shape (T,).

        Args:
            contents: The messages.
        """
        size = self._table.itemsize
        fixed = b"".join([content[:size] for content in contents] if self.texts else contents)
        return np.ndarray(len(contents), self._table, fixed)

    def decode(self, contents: Sequence[bytes]) -> dict[str, npt.NDArray[Any]]:
        """Return the fields of messages by name, shape (T, ...).

        Args:
            contents: The messages.
        """
        table = self.table(contents)
        columns = {name: np.ascontiguousarray(table[name]) for name in self._table.names or ()}
        if self.texts:
            tails = [content[self._table.itemsize :] for content in contents]
            texts = {tail: self._texts_of(tail) for tail in set(tails)}
            for k, field in enumerate(self.texts):
                columns[field.name] = np.array([texts[tail][k] for tail in tails], dtype=np.str_)
        return columns

    def _texts_of(self, tail: bytes) -> list[str]:
        texts, end = [], self._end
        for _ in self.texts:
            begin = aligned(end, 4) + 4
            (size,) = struct.unpack_from("<I", tail, begin - 4 - self._end)
            end = begin + size
            texts.append(tail[begin - self._end : end - 1 - self._end].decode())
        return texts


class Messages:
    """Messages of a channel that are not written yet.

    Args:
        channel: Number of the channel.
    """

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.waiting: list[tuple[int, bytes]] = []
        """Time [ns] and content of each message."""

    def encoded(self) -> list[tuple[int, bytes]]:
        """Return time [ns] and content of each message."""
        return self.waiting

    def drop(self, count: int) -> None:
        """Remove the first messages.

        Args:
            count: Their number.
        """
        del self.waiting[:count]


class ItemMessages(Messages):
    """Messages of the fields of a dataclass.

    Args:
        channel: Number of the channel.
        fields: The recorded fields, from `item_fields`.
    """

    def __init__(self, channel: int, fields: Sequence[Field]) -> None:
        super().__init__(channel)
        self.layout = layout = Layout(fields)
        self.stamps: list[int] = []
        """Time of each message [ns]."""
        self._rows: list[bytes] = []
        self._table: npt.NDArray[np.void] | None = None
        self._tails: list[bytes] = []
        self._fields, self._fields_of = fields, _getter([field.name for field in fields])
        self._kinds_of = _getter([f"{field.name}.{part}" for field in layout.arrays for part in _KIND])
        self._kinds: Any = tuple(
            part
            for field in layout.arrays
            for part in (np.dtype(field.kind).newbyteorder("<"), tuple(field.shape or ()))
        )
        self._numbers = struct.Struct("<" + "".join(CODES[field.kind] for field in layout.numbers))
        self._array_count, self._text_start = len(layout.arrays), len(layout.arrays) + len(layout.numbers)
        self._last: Sequence[Any] = [None] * len(layout.arrays)
        self._last_texts: Sequence[str] = ()
        self._last_tail = b""

    def add(self, stamp: int, item: Any) -> None:
        """Copy the fields of an instance.

        Args:
            stamp: Its time [ns].
            item: The instance.

        Raises:
            ConfigError: If a field does not fit the type and shape that it had in the first message.
        """
        values = self._fields_of(item)
        try:
            # Arrays that are written in place are those of last time, and have kept their types and shapes.
            if any(map(is_not, values, self._last)):
                if self._kinds_of(item) != self._kinds:
                    raise TypeError
                self._last = values[: self._array_count]
            self._append(stamp, values)
        except (AttributeError, TypeError, struct.error):
            owner = type(item).__name__
            self._append(stamp, [*map(_converted, self._fields, values, repeat(owner))])

    def add_arrays(self, stamp: int, arrays: Sequence[npt.NDArray[Any]]) -> None:
        """Copy the fields of an instance from arrays that its layout `fits`.

        Args:
            stamp: Its time [ns].
            arrays: The arrays.
        """
        self._rows.append(packed(arrays))
        self.stamps.append(stamp)

    def _append(self, stamp: int, values: Sequence[Any]) -> None:
        first, last = self._array_count, self._text_start
        row = packed(values[:first])
        if first < last:
            row += self._numbers.pack(*values[first:last])
        if last < len(values):
            texts = values[last:]
            if texts != self._last_texts:
                self._last_texts, self._last_tail = texts, self.layout.tail(texts)
            self._tails.append(self._last_tail)
        self._rows.append(row)
        self.stamps.append(stamp)

    def rows(self) -> npt.NDArray[np.void]:
        """Return the arrays and numbers of all messages as a structured array, shape (T,)."""
        table = self._table
        if table is None or len(table) != len(self._rows):
            table = self._table = np.ndarray(len(self._rows), self.layout.rows, b"".join(self._rows))
        return table

    def encoded(self) -> list[tuple[int, bytes]]:
        """Return time [ns] and content of each message."""
        contents = self.layout.encode(self.rows())
        if self._tails:
            contents = [*map(add, contents, self._tails)]
        return list(zip(self.stamps, contents, strict=True))

    def drop(self, count: int) -> None:
        """Remove the first messages.

        Args:
            count: Their number.
        """
        del self.stamps[:count], self._rows[:count], self._tails[:count]
        self._table = None


class FrameMessages(Messages):
    """Messages of `foxglove_msgs/msg/FrameTransforms` with the frames of the first copies of a vehicle.

    Args:
        channel: Number of the channel.
        frames: Names of the frames.
        states: Messages of the vehicle's state, from which the poses are taken.
    """

    def __init__(self, channel: int, frames: Sequence[str], states: ItemMessages) -> None:
        super().__init__(channel)
        self._states = states
        time = {"sec": 0, "nanosec": 0}
        pose = {"translation": dict.fromkeys("xyz", 0.0), "rotation": dict.fromkeys("xyzw", 0.0)}
        transforms = [
            {"timestamp": time, "parent_frame_id": "world", "child_frame_id": frame, **pose}
            for frame in frames
        ]
        sizes = [
            len(FRAME_TRANSFORMS.encoded({"transforms": transforms[:k]})) for k in range(len(frames) + 1)
        ]
        # Each transform begins with its time and ends with its pose.
        self._places = list(pairwise(sizes))
        self._template = np.frombuffer(FRAME_TRANSFORMS.encoded({"transforms": transforms}), np.uint8)

    def encoded(self) -> list[tuple[int, bytes]]:
        """Return time [ns] and content of each message."""
        stamps, states = self._states.stamps, self._states.rows()
        count = len(self._places)
        poses = np.concatenate([states[name][:, :count] for name in ("position", "orientation")], axis=2)
        times = np.stack(np.divmod(np.array(stamps), 1_000_000_000), axis=1).astype("<u4")
        content = np.tile(self._template, (len(stamps), 1))
        for k, (begin, end) in enumerate(self._places):
            content[:, begin : begin + 8] = times.view(np.uint8)
            content[:, end - 56 : end] = np.ascontiguousarray(poses[:, k]).view(np.uint8)
        return list(zip(stamps, content.view(f"V{content.shape[1]}").ravel().tolist(), strict=True))

    def drop(self, count: int) -> None:
        """Remove the first messages; the states do."""


def _converted(field: Field, value: Any, owner: str) -> Any:
    """Return a value in the type of a field."""
    if field.kind == "string":
        valid = isinstance(value, str)
    else:
        array = np.asarray(value)
        valid = array.shape == tuple(field.shape or ()) and np.can_cast(array.dtype, field.kind, "safe")
        value = array.astype(np.dtype(field.kind).newbyteorder("<")) if field.shape is not None else value
    if not valid:
        first = field.kind if field.shape is None else f"{field.kind} of shape {tuple(field.shape)}"
        raise ConfigError(
            f"must keep the type and shape of the first message, {first}, to be recorded",
            field=f"{owner}.{field.name}",
            value=value,
            remedy="fill up with NaN, or do not record readings",
        )
    return value


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function of an object to the tuple of its attributes of these names."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    get = attrgetter(names[0])
    return lambda item: (get(item),)
