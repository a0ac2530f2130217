"""JSON messages of a log's channels: copied when they are due, encoded together."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter, is_not
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from pegasus.recording.rows import Rows, packed

_PLAIN = orjson.OPT_SERIALIZE_NUMPY


class Messages(ABC):
    """Messages of a channel that are not written yet.

    Args:
        channel: Number of the channel.
    """

    def __init__(self, channel: int) -> None:
        self.channel = channel

    @property
    @abstractmethod
    def stamps(self) -> list[int]:
        """Time of each message [ns]."""

    @abstractmethod
    def encoded(self) -> list[bytes]:
        """Return the content of each message."""

    @abstractmethod
    def drop(self, count: int) -> None:
        """Remove the first messages.

        Args:
            count: Their number.
        """


class EncodedMessages(Messages):
    """Messages that are encoded at once, such as images."""

    def __init__(self, channel: int) -> None:
        super().__init__(channel)
        self._messages: list[tuple[int, bytes]] = []

    @property
    def stamps(self) -> list[int]:
        """Time of each message [ns]."""
        return [stamp for stamp, _ in self._messages]

    def add(self, stamp: int, data: bytes) -> None:
        """Add a message.

        Args:
            stamp: Its time [ns].
            data: Its content.
        """
        self._messages.append((stamp, data))

    def encoded(self) -> list[bytes]:
        """Return the content of each message."""
        return [data for _, data in self._messages]

    def drop(self, count: int) -> None:
        """Remove the first messages."""
        del self._messages[:count]


class ItemMessages(Messages):
    """Messages of the fields of a dataclass: arrays flat in row-major order, then the other fields.

    Args:
        channel: Number of the channel.
        names: Names of the recorded fields.
        item: An instance; later ones whose fields have other types or shapes are encoded at once.
    """

    def __init__(self, channel: int, names: Sequence[str], item: Any) -> None:
        super().__init__(channel)
        arrays = [name for name in names if isinstance(getattr(item, name), np.ndarray)]
        scalars = [name for name in names if name not in arrays]
        self._names = [*arrays, *scalars]
        self._fields_of, self._array_count = _getter(self._names), len(arrays)
        self._kinds_of = _getter([f"{name}.{part}" for name in arrays for part in ("dtype", "shape")])
        values = self._fields_of(item)
        self._last, others = values[: len(arrays)], values[len(arrays) :]
        self._kinds, self._types = self._kinds_of(item), [*map(type, others)]
        self.rows: Rows[tuple[int, tuple[Any, ...]]] = Rows(dict(zip(arrays, self._last, strict=True)))
        """Copied arrays, by time [ns] and the other fields."""
        self._unlike = EncodedMessages(channel)
        fields = [_key(name) + b":[%b]" for name in arrays] + [_key(name) + b":%b" for name in scalars]
        self._template = b"{" + b",".join(fields) + b"}"

    @property
    def stamps(self) -> list[int]:
        """Time of each message [ns]."""
        return self._unlike.stamps + [stamp for (stamp, _), _ in self.rows.rows]

    def add(self, stamp: int, item: Any) -> None:
        """Copy a message.

        Args:
            stamp: Its time [ns].
            item: The instance.
        """
        values = self._fields_of(item)
        arrays, scalars = values[: self._array_count], values[self._array_count :]
        # Arrays that are written in place are those of last time, and have kept their types and shapes.
        others = any(map(is_not, arrays, self._last))
        if (others and self._kinds_of(item) != self._kinds) or [*map(type, scalars)] != self._types:
            content = (*(_native(array.ravel()) for array in arrays), *scalars)
            data = orjson.dumps(dict(zip(self._names, content, strict=True)), option=_PLAIN)
            self._unlike.add(stamp, data)
            return
        self._last = arrays
        self.rows.rows.append(((stamp, scalars), packed(arrays)))

    def encoded(self) -> list[bytes]:
        """Return the content of each message."""
        unlike = self._unlike.encoded()
        if not self.rows.rows:
            return unlike
        columns: list[Iterable[bytes]] = [_flat_texts(values) for values in self.rows.block().values()]
        columns += map(_texts, zip(*(scalars for (_, scalars), _ in self.rows.rows), strict=True))
        return unlike + list(map(self._template.__mod__, zip(*columns, strict=True)))

    def drop(self, count: int) -> None:
        """Remove the first messages."""
        early = min(count, len(self._unlike.stamps))
        self._unlike.drop(early)
        self.rows.drop(count - early)


class FrameMessages(Messages):
    """Messages of `foxglove.FrameTransforms` with the frames of the first copies of a vehicle.

    Args:
        channel: Number of the channel.
        frames: Names of the frames.
        states: Messages of the vehicle's state, from which the poses are taken.
    """

    def __init__(self, channel: int, frames: Sequence[str], states: ItemMessages) -> None:
        super().__init__(channel)
        self._count, self._states = len(frames), states
        transforms = [
            b'{"timestamp":%%b,"parent_frame_id":"world","child_frame_id":%b,'
            b'"translation":{"x":%%b,"y":%%b,"z":%%b},"rotation":{"x":%%b,"y":%%b,"z":%%b,"w":%%b}}'
            % _key(frame)
            for frame in frames
        ]
        self._template = b'{"transforms":[' + b",".join(transforms) + b"]}"

    @property
    def stamps(self) -> list[int]:
        """Time of each message [ns]."""
        return self._states.stamps

    def encoded(self) -> list[bytes]:
        """Return the content of each message."""
        block = self._states.rows.block()
        poses = [block[name][:, : self._count] for name in ("position", "orientation")]
        numbers, width = _texts(np.concatenate(poses, axis=2).ravel()), 7
        times = [b'{"sec":%d,"nsec":%d}' % divmod(stamp, 1_000_000_000) for stamp in self.stamps]
        columns: list[Sequence[bytes]] = []
        for frame in range(self._count):
            first = frame * width
            columns += [times, *(numbers[k :: self._count * width] for k in range(first, first + width))]
        return list(map(self._template.__mod__, zip(*columns, strict=True)))

    def drop(self, count: int) -> None:
        """Remove the first messages; the states do."""


def _getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function of an object to the tuple of its attributes of these names."""
    if len(names) > 1:
        return attrgetter(*names)
    getters = [attrgetter(name) for name in names]
    return lambda item: tuple([get(item) for get in getters])


def _key(name: str) -> bytes:
    """Return a JSON string as part of a template."""
    return orjson.dumps(name).replace(b"%", b"%%")


def _flat_texts(values: npt.NDArray[Any]) -> list[bytes]:
    """Return the numbers of each row, separated by commas."""
    flat = values.reshape(len(values), math.prod(values.shape[1:]))
    return orjson.dumps(_native(flat), option=_PLAIN)[2:-2].split(b"],[")


def _native(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in the byte order of this machine."""
    return np.ascontiguousarray(values, values.dtype.newbyteorder("="))


def _texts(values: Any) -> list[bytes]:
    """Return the text of each value; texts repeat often, numbers rarely."""
    if len(values) and isinstance(values[0], str):
        texts = {value: orjson.dumps(value) for value in set(values)}
        return [texts[value] for value in values]
    return orjson.dumps(values, option=_PLAIN)[1:-1].split(b",")
