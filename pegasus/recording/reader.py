"""Reader of recorded runs."""

import struct
from dataclasses import dataclass, field
from io import BytesIO
from mmap import ACCESS_READ, mmap
from pathlib import Path

import orjson
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Metadata, Schema, Statistics
from mcap.stream_reader import get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC
from zstandard import ZstdError

from pegasus.base.errors import ConfigError
from pegasus.recording.log import Column, LazySeries, Log
from pegasus.recording.messages import Layout
from pegasus.recording.schemas import Field, field_comments

LOG_NAME = "flight.mcap"
"""Name of the log in a run's folder."""


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
    return Log(path, complete, content.metadata, vehicles, LazySeries(content.by_topic()))


@dataclass(eq=False)
class _Content:
    metadata: dict[str, str] = field(default_factory=dict)
    definitions: dict[int, str] = field(default_factory=dict)
    columns: dict[int, Column] = field(default_factory=dict)
    message_count: int = 0

    def by_topic(self) -> dict[str, Column]:
        """Return channels by topic; a repeated topic, with arrays of other shapes, has the suffix `~2`."""
        found: dict[str, Column] = {}
        for column in self.columns.values():
            topic, again = column.topic, 1
            while topic in found:
                again += 1
                topic = f"{column.topic}~{again}"
            found[topic] = column
        return found


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
            if opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                stream = ReadDataStream(BytesIO(data[place + _RECORD.size : end]))
                if opcode == Opcode.CHANNEL:
                    _open_column(Channel.read(stream), content)
                elif (schema := Schema.read(stream)).encoding == "ros2msg":
                    content.definitions[schema.id] = schema.data.decode()
        place = end


def _open_column(channel: Channel, content: _Content) -> None:
    # Channels without fields (frames for viewers, topics of other programs) are ignored.
    metadata = channel.metadata
    if channel.id not in content.columns and "fields" in metadata:
        fields = [Field(name, *kind) for name, kind in orjson.loads(metadata["fields"]).items()]
        vehicle, count = metadata["vehicle"], int(metadata["count"])
        topic = channel.topic.removeprefix("/")
        comments = field_comments(content.definitions.get(channel.schema_id, ""))
        content.columns[channel.id] = Column(topic, vehicle, count, Layout(fields), comments)
