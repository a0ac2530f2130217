"""MCAP file written in chunks of encoded messages. Source: the MCAP specification, version 0."""

import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Metadata,
    MetadataIndex,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.writer import MCAP0_MAGIC
from zstandard import ZstdCompressor

from pegasus.base.arrays import IntArray

# This level leaves 47 %; LZ4 leaves 54 % in the same time, level 1 leaves 44 % in twice
# the time.
_COMPRESSION_LEVEL = -3

# Record of a message up to its content, and entry of a message index.
_HEAD = np.dtype(
    [
        *(("opcode", "u1"), ("length", "<u8"), ("channel", "<u2"), ("sequence", "<u4")),
        *(("log_time", "<u8"), ("publish_time", "<u8")),
    ]
)
_ENTRY = np.dtype([("log_time", "<u8"), ("offset", "<u8")])
# Opcode and length.
_RECORD_HEAD = 9


class PreparedChunk(NamedTuple):
    """Messages as they will be written."""

    data: bytes
    """Records of the chunk and its message indexes."""
    entry: ChunkIndex
    """Entry in the summary."""
    channels: list[int]
    """Number of the channel of each message."""


class McapFile:
    """MCAP file; messages are added chunk by chunk, and are sorted by time within a chunk.

    Args:
        path: File to write; an existing one is replaced.
        library: Name and version of the writing program.

    Raises:
        OSError: If the file cannot be written; by all methods.
    """

    def __init__(self, path: Path, *, library: str) -> None:
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._chunks: list[ChunkIndex] = []
        self._metadata: list[MetadataIndex] = []
        self._counts: Counter[int] = Counter()
        self._new: list[McapRecord] = []
        self._compressor = ZstdCompressor(level=_COMPRESSION_LEVEL)
        self._offset = 0
        self._file = path.open("wb")
        try:
            self._write(MCAP0_MAGIC + _encoded([Header("ros2", library)]))
            self._file.flush()
        except OSError:
            self.close()
            raise

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file.closed

    def add_metadata(self, name: str, content: dict[str, str]) -> None:
        """Write named texts.

        Args:
            name: Name of the record.
            content: Texts by key.
        """
        data = _encoded([Metadata(name, content)])
        self._metadata.append(MetadataIndex(offset=self._offset, length=len(data), name=name))
        self._write(data)

    def add_schema(self, name: str, data: bytes) -> int:
        """Add a ROS 2 message type, written with the next chunk, and return its number.

        Args:
            name: Name of the type.
            data: Its definition.
        """
        schema = Schema(id=len(self._schemas) + 1, name=name, encoding="ros2msg", data=data)
        self._schemas.append(schema)
        self._new.append(schema)
        return schema.id

    def add_channel(self, topic: str, schema: int, metadata: dict[str, str]) -> int:
        """Add a channel of CDR messages, written with the next chunk, and return its number.

        Args:
            topic: Topic.
            schema: Number of the type of its messages.
            metadata: Texts by key.
        """
        number = len(self._channels) + 1
        channel = Channel(id=number, topic=topic, message_encoding="cdr", schema_id=schema, metadata=metadata)
        self._channels.append(channel)
        self._new.append(channel)
        return number

    def prepare(self, channels: IntArray, stamps: IntArray, contents: Sequence[bytes]) -> PreparedChunk:
        """Return messages as a chunk, with the schemas and channels that are not written yet.

        Args:
            channels: Number of the channel of each message, shape (M,).
            stamps: Time of each message [ns], shape (M,).
            contents: Encoded content of each message, M entries.
        """
        order = np.argsort(stamps, kind="stable")
        channels, stamps = channels[order], stamps[order]
        contents = [contents[k] for k in order.tolist()]
        new = _encoded(self._new)
        lengths = np.fromiter(map(len, contents), np.int64, len(contents)) + _HEAD.itemsize
        heads = np.zeros(len(contents), _HEAD)
        heads["opcode"], heads["length"], heads["channel"] = Opcode.MESSAGE, lengths - _RECORD_HEAD, channels
        heads["log_time"] = heads["publish_time"] = stamps
        parts = [new, *(b"",) * (2 * len(contents))]
        parts[1::2], parts[2::2] = heads.view(f"V{_HEAD.itemsize}").tolist(), contents
        data = b"".join(parts)
        chunk = Chunk(
            compression="zstd",
            data=self._compressor.compress(data),
            message_start_time=int(stamps[0]),
            message_end_time=int(stamps[-1]),
            uncompressed_crc=zlib.crc32(data),
            uncompressed_size=len(data),
        )
        record = _encoded([chunk])
        entries = np.zeros(len(contents), _ENTRY)
        entries["log_time"], entries["offset"] = stamps, len(new) + np.cumsum(lengths) - lengths
        message_indexes, places = _message_indexes(channels, entries, self._offset + len(record))
        entry = ChunkIndex(
            chunk_start_offset=self._offset,
            chunk_length=len(record),
            message_start_time=chunk.message_start_time,
            message_end_time=chunk.message_end_time,
            message_index_offsets=places,
            message_index_length=len(message_indexes),
            compression=chunk.compression,
            compressed_size=len(chunk.data),
            uncompressed_size=len(data),
        )
        return PreparedChunk(record + message_indexes, entry, channels.tolist())

    def write(self, chunk: PreparedChunk) -> None:
        """Write a chunk and pass it to the operating system.

        Args:
            chunk: The chunk, prepared after the last one was written.
        """
        self._write(chunk.data)
        self._file.flush()
        self._new.clear()
        self._chunks.append(chunk.entry)
        self._counts.update(chunk.channels)

    def finish(self) -> None:
        """Write the summary, by which viewers seek."""
        self._write(_encoded([*self._new, DataEnd(data_section_crc=0)]))
        start, summary, offsets = self._offset, b"", []
        statistics = Statistics(
            message_count=self._counts.total(),
            schema_count=len(self._schemas),
            channel_count=len(self._channels),
            attachment_count=0,
            metadata_count=len(self._metadata),
            chunk_count=len(self._chunks),
            message_start_time=min((chunk.message_start_time for chunk in self._chunks), default=0),
            message_end_time=max((chunk.message_end_time for chunk in self._chunks), default=0),
            channel_message_counts=dict(sorted(self._counts.items())),
        )
        groups: list[tuple[Opcode, Sequence[McapRecord]]] = [
            (Opcode.SCHEMA, self._schemas),
            (Opcode.CHANNEL, self._channels),
            (Opcode.STATISTICS, [statistics]),
            (Opcode.CHUNK_INDEX, self._chunks),
            (Opcode.METADATA_INDEX, self._metadata),
        ]
        for opcode, records in groups:
            group = _encoded(records)
            offsets.append(
                SummaryOffset(group_opcode=opcode, group_start=start + len(summary), group_length=len(group))
            )
            summary += group
        offset_start = start + len(summary)
        summary += _encoded(offsets)
        # The checksum covers the footer up to its own field.
        footer = struct.pack("<BQQQ", Opcode.FOOTER, 20, start, offset_start)
        crc = zlib.crc32(footer, zlib.crc32(summary))
        self._write(
            summary
            + _encoded([Footer(summary_start=start, summary_offset_start=offset_start, summary_crc=crc)])
            + MCAP0_MAGIC
        )

    def close(self) -> None:
        """Close the file; what is buffered is written."""
        self._file.close()

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._offset += len(data)


def _encoded(records: Iterable[McapRecord]) -> bytes:
    builder = RecordBuilder()
    for record in records:
        record.write(builder)
    end: Callable[[], bytes] = builder.end
    return end()


def _message_indexes(
    channels: IntArray, entries: npt.NDArray[np.void], start: int
) -> tuple[bytes, dict[int, int]]:
    """Return the message indexes of a chunk, and the offset of each in the file by channel.

    Args:
        channels: Number of the channel of each message, shape (M,).
        entries: Time of each message and its offset in the uncompressed chunk, shape (M,).
        start: Offset of the indexes in the file.
    """
    data, places = b"", {}
    for channel in dict.fromkeys(channels.tolist()):
        listed = entries[channels == channel].tobytes()
        places[channel] = start + len(data)
        data += struct.pack("<BQHI", Opcode.MESSAGE_INDEX, 6 + len(listed), channel, len(listed)) + listed
    return data, places
