"""Reader of recorded runs."""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Metadata, Statistics
from mcap.stream_reader import get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC
from zstandard import ZstdError

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.recording.messages import Layout
from pegasus.recording.schemas import Field

LOG_NAME = "flight.mcap"
"""Name of the log in a run's folder."""


@dataclass(frozen=True, eq=False)
class Series:
    """Messages of one topic; each field is an array and an attribute."""

    topic: str
    """Topic without the leading slash, such as `iris/state`."""
    time: Array
    """Simulation time of each message, exact to the nanosecond [s], shape (T,)."""
    fields: Mapping[str, npt.NDArray[Any]]
    """Arrays by field name, shape (T, ...): `position` of a state has the shape (T, N, 3)."""

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        found: Mapping[str, npt.NDArray[Any]] = self.__dict__.get("fields", {})
        if name not in found:
            raise AttributeError(
                f"{self.__dict__.get('topic')} has no field {name!r}, but {', '.join(found)}"
            )
        return found[name]

    def __len__(self) -> int:
        return len(self.time)


@dataclass(frozen=True, eq=False)
class Log:
    """Recorded run: `log["iris/state"]` holds the messages of a topic."""

    path: Path
    """The file."""
    complete: bool
    """Whether the recorder has closed the file; otherwise its last chunk is missing."""
    metadata: Mapping[str, str]
    """Version, world, seed, rates and vehicles at the start, as text."""
    vehicles: Mapping[str, int]
    """Number of copies by vehicle name."""
    series: Mapping[str, Series]
    """Messages by topic, such as `iris/state` or `iris/sensors/imu`; decoded at the first access."""

    def __getitem__(self, topic: str) -> Series:
        try:
            return self.series[topic]
        except KeyError:
            known = ", ".join(self.series) or "none at all"
            raise ConfigError(
                "no such topic", file=self.path, field="topic", value=topic, remedy=f"it holds {known}"
            ) from None

    def __contains__(self, topic: object) -> bool:
        return topic in self.series


def read_log(path: str | Path) -> Log:
    """Return a recorded run as arrays; truncated files are read up to their end.

    Args:
        path: A log, or the folder of a run.

    Raises:
        ConfigError: If the file does not exist or is not an MCAP file.
    """
    path = Path(path)
    if path.is_dir():
        path = path / LOG_NAME
    content = _Content()
    try:
        with path.open("rb") as file:
            if file.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
                raise ConfigError("is not an MCAP file", file=path, remedy="give the flight.mcap of a run")
            # Images may make a log larger than the memory.
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                complete = _read_all(data, content)
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}",
            file=path,
            remedy="give a flight.mcap, or the folder of a run",
        ) from None
    vehicles = {column.vehicle: column.count for column in content.columns.values()}
    return Log(path, complete, content.metadata, vehicles, _LazySeries(content))


@dataclass(eq=False)
class _Column:
    """Messages of one channel."""

    topic: str
    vehicle: str
    count: int
    layout: Layout
    stamps: list[int] = field(default_factory=list)
    contents: list[bytes] = field(default_factory=list)

    def series(self, topic: str) -> Series:
        time = np.array(self.stamps, dtype=np.float64) / 1e9
        return Series(topic, time, self.layout.decode(self.contents))


@dataclass(eq=False)
class _Content:
    metadata: dict[str, str] = field(default_factory=dict)
    columns: dict[int, _Column] = field(default_factory=dict)
    message_count: int = 0


class _LazySeries(Mapping[str, Series]):
    """Channels by topic; a repeated topic, with arrays of other shapes, has the suffix `~2`."""

    def __init__(self, content: _Content) -> None:
        self._columns: dict[str, _Column] = {}
        self._decoded: dict[str, Series] = {}
        for column in content.columns.values():
            topic, again = column.topic, 1
            while topic in self._columns:
                again += 1
                topic = f"{column.topic}~{again}"
            self._columns[topic] = column

    def __getitem__(self, topic: str) -> Series:
        if topic not in self._decoded:
            self._decoded[topic] = self._columns[topic].series(topic)
        return self._decoded[topic]

    def __contains__(self, topic: object) -> bool:
        return topic in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


# Opcode and length of a record; and the channel, sequence number and times of a message after them.
_RECORD = struct.Struct("<BQ")
_MESSAGE = struct.Struct("<BQHIQQ")


def _read_all(data: mmap, content: _Content) -> bool:
    """Read a file up to its end or the first damaged record; return whether it is complete."""
    place, recorded = len(MCAP0_MAGIC), None
    try:
        while data[place] != Opcode.FOOTER:
            opcode, length = _RECORD.unpack_from(data, place)
            begin, place = place + _RECORD.size, place + _RECORD.size + length
            if place > len(data):
                return False
            if opcode in (Opcode.CHUNK, Opcode.METADATA, Opcode.STATISTICS):
                stream = ReadDataStream(BytesIO(data[begin:place]))
                if opcode == Opcode.CHUNK:
                    records, size = get_chunk_data_stream(Chunk.read(stream), validate_crc=True)
                    _read_chunk(records.read(size), content)
                elif opcode == Opcode.STATISTICS:
                    recorded = Statistics.read(stream).message_count
                elif (record := Metadata.read(stream)).name == "pegasus":
                    content.metadata.update(record.metadata)
    except (McapError, ZstdError, struct.error, ValueError, RuntimeError, MemoryError, LookupError):
        return False  # Truncated, or damaged from here on, such as in a length.
    return data[-len(MCAP0_MAGIC) :] == MCAP0_MAGIC and recorded in (None, content.message_count)


def _read_chunk(data: bytes, content: _Content) -> None:
    place, columns = 0, content.columns
    while place < len(data):
        if data[place] == Opcode.MESSAGE:
            _, length, channel, _, stamp, _ = _MESSAGE.unpack_from(data, place)
            end = place + _RECORD.size + length
            if channel in columns:
                column = columns[channel]
                column.stamps.append(stamp)
                column.contents.append(data[place + _MESSAGE.size : end])
            content.message_count += 1
        else:
            opcode, length = _RECORD.unpack_from(data, place)
            end = place + _RECORD.size + length
            if opcode == Opcode.CHANNEL:
                _open_column(Channel.read(ReadDataStream(BytesIO(data[place + _RECORD.size : end]))), content)
        place = end


def _open_column(channel: Channel, content: _Content) -> None:
    # Channels without fields (frames for viewers, topics of other programs) are ignored.
    metadata = channel.metadata
    if channel.id not in content.columns and "fields" in metadata:
        fields = [Field(name, *kind) for name, kind in orjson.loads(metadata["fields"]).items()]
        vehicle, count = metadata["vehicle"], int(metadata["count"])
        topic = channel.topic.removeprefix("/")
        content.columns[channel.id] = _Column(topic, vehicle, count, Layout(fields))
