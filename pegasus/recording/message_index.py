"""Messages of a closed MCAP file, found by its summary and message indexes.

The reader of `mcap` reads the summary. Its messages would take ten times as long, since it makes objects of
all messages of a chunk to return those of one topic.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader, BytesIO
from pathlib import Path

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.records import Chunk, ChunkIndex
from mcap.stream_reader import get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC
from zstandard import ZstdError

from pegasus.base.errors import ConfigError

_RECORD = struct.Struct("<BQ")
"""Opcode and length of a record."""
_MESSAGE_HEAD = struct.Struct("<BQHIQQ")
"""Opcode, length, channel, sequence number, time and publishing time; the content follows."""
DAMAGE = (
    *(McapError, ZstdError, struct.error, ValueError, OverflowError),
    *(RuntimeError, MemoryError, LookupError),
)
"""Errors of reading records that are truncated or damaged."""

# Comparisons with members of an enumeration take longer.
_MESSAGE, _MESSAGE_INDEX = int(Opcode.MESSAGE), int(Opcode.MESSAGE_INDEX)

_FOOTER = struct.Struct("<BQQQI")
_INDEX_HEAD = struct.Struct("<BQHI")
_INDEX_ENTRY = struct.Struct("<QQ")
# Largest mean size of the messages of a chunk that is kept [B]; of others, which may hold images, only the
# messages with fields are.
_SMALL_MESSAGE = 1024


@dataclass(eq=False, slots=True)
class _Chunk:
    index: ChunkIndex
    first_time: float
    """Time of the first message [s]."""
    last_time: float
    count: int
    # Uncompressed records, and message indexes.
    data: bytes = b""
    indexes: bytes = b""
    # Times and contents by channel.
    found: dict[int, tuple[list[int], list[bytes]]] | None = None


class Summary:
    """Contents of a closed file without its messages, which are read chunk by chunk when they are needed.

    Args:
        path: The file.

    Raises:
        OSError: If the file cannot be read.
        ValueError: If the file has no complete and undamaged summary; also other errors of `DAMAGE`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with path.open("rb") as file:
            self._identity = _identity(file)
            _check_summary(file)
            file.seek(0)
            reader = make_reader(file)
            summary = reader.get_summary()
            if summary is None or (statistics := summary.statistics) is None:
                raise ValueError
            named = [record.metadata for record in reader.iter_metadata() if record.name == "pegasus"]
        self.metadata: dict[str, str] = dict(item for metadata in named for item in metadata.items())
        self.schemas, self.channels = list(summary.schemas.values()), list(summary.channels.values())
        self._chunks = [_described(index) for index in summary.chunk_indexes]
        self._counts = statistics.channel_message_counts
        self._kept = {channel.id for channel in self.channels if "fields" in channel.metadata}
        counts = len(self.schemas), len(self.channels), sum(chunk.count for chunk in self._chunks)
        _require(counts == (statistics.schema_count, statistics.channel_count, statistics.message_count))

    def read(
        self, channel: int, start: float, end: float, *, backwards: bool = False
    ) -> Iterator[tuple[list[int], list[bytes]]]:
        """Yield times [ns] and contents of a channel's messages, by chunk.

        Args:
            channel: Number of the channel; its metadata has `fields`.
            start: Time from which on messages are needed [s].
            end: Time up to which messages are needed [s].
            backwards: Whether the last chunk comes first.

        Raises:
            ConfigError: If the file has changed, or a chunk that is needed is damaged.
        """
        needed = [chunk for chunk in self._chunks if chunk.first_time < end and chunk.last_time >= start]
        total = 0
        try:
            with self._path.open("rb") as file:
                changed = _identity(file) != self._identity
                for chunk in () if changed else needed[:: -1 if backwards else 1]:
                    stamps, contents = self._messages(file, chunk, channel)
                    total += len(stamps)
                    if stamps:
                        yield stamps, contents
            damaged = len(needed) == len(self._chunks) and total != self._counts.get(channel, 0)
            span = ""
        except OSError as error:
            raise ConfigError(
                f"cannot be read: {error.strerror}",
                file=self._path,
                remedy="keep the file as long as its log is used",
            ) from None
        except DAMAGE:
            changed, damaged = False, True
            span = f" between {chunk.first_time:g} and {chunk.last_time:g} s"
        if changed:
            raise ConfigError(
                "has changed since it was opened", file=self._path, remedy="read it again with read_log"
            )
        if damaged:
            raise ConfigError(
                f"is damaged{span}",
                file=self._path,
                remedy="read_log(path, verify=True) reads what comes before",
            )

    def _messages(self, file: BufferedReader, chunk: _Chunk, channel: int) -> tuple[list[int], list[bytes]]:
        """Return times [ns] and contents of a channel's messages in a chunk."""
        places = chunk.index.message_index_offsets
        if channel not in places:
            return [], []
        if chunk.found is not None:
            return chunk.found[channel]
        if not chunk.data:
            _load(file, chunk)
        if chunk.index.uncompressed_size <= chunk.count * _SMALL_MESSAGE:
            return _listed(chunk, channel)
        chunk.found = {k: _listed(chunk, k) for k in places if k in self._kept}
        chunk.data = chunk.indexes = b""
        return chunk.found[channel]


def _check_summary(file: BufferedReader) -> None:
    """Compare the summary of a file with its checksum, which the reader of `mcap` does not."""
    end = file.seek(0, os.SEEK_END) - _FOOTER.size - len(MCAP0_MAGIC)
    _require(end > 0)
    file.seek(end)
    footer = file.read(_FOOTER.size)
    _require(file.read() == MCAP0_MAGIC)
    opcode, length, start, _, crc = _FOOTER.unpack(footer)
    _require(opcode == Opcode.FOOTER and length == _FOOTER.size - _RECORD.size and start > 0)
    file.seek(start)
    _require(crc == zlib.crc32(footer[:-4], zlib.crc32(file.read(end - start))) != 0)


def _described(index: ChunkIndex) -> _Chunk:
    heads = len(index.message_index_offsets) * _INDEX_HEAD.size
    count = (index.message_index_length - heads) // _INDEX_ENTRY.size
    return _Chunk(index, index.message_start_time / 1e9, index.message_end_time / 1e9, count)


def _load(file: BufferedReader, chunk: _Chunk) -> None:
    file.seek(chunk.index.chunk_start_offset)
    record = file.read(chunk.index.chunk_length)
    _require(_RECORD.unpack_from(record) == (Opcode.CHUNK, len(record) - _RECORD.size))
    content = Chunk.read(ReadDataStream(BytesIO(record[_RECORD.size :])))
    stream, size = get_chunk_data_stream(content, validate_crc=True)
    _require(size == chunk.index.uncompressed_size)
    chunk.data, chunk.indexes = stream.read(size), file.read(chunk.index.message_index_length)


def _listed(chunk: _Chunk, channel: int) -> tuple[list[int], list[bytes]]:
    """Return times [ns] and contents of the messages that a message index lists.

    Message indexes have no checksum: each entry must lead to a message of its channel and time.
    """
    index, data = chunk.index, chunk.data
    begin = index.message_index_offsets[channel] - index.chunk_start_offset - index.chunk_length
    opcode, length, number, size = _INDEX_HEAD.unpack_from(chunk.indexes, begin)
    entries = chunk.indexes[begin + _INDEX_HEAD.size : begin + _INDEX_HEAD.size + size]
    if opcode != _MESSAGE_INDEX or length != size + 6 or number != channel or len(entries) != size:
        raise ValueError
    stamps, contents = [], []
    for time, place in _INDEX_ENTRY.iter_unpack(entries):
        opcode, length, number, _, stamp, _ = _MESSAGE_HEAD.unpack_from(data, place)
        if opcode != _MESSAGE or number != channel or stamp != time:
            raise ValueError
        stamps.append(stamp)
        contents.append(data[place + _MESSAGE_HEAD.size : place + _RECORD.size + length])
    return stamps, contents


def _identity(file: BufferedReader) -> tuple[int, ...]:
    """Return what changes if a file is replaced or written."""
    status = os.fstat(file.fileno())
    return status.st_ino, status.st_size, status.st_mtime_ns


def _require(intact: bool) -> None:
    if not intact:
        raise ValueError
