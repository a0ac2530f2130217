"""Messages of a closed MCAP file, found by its summary and message indexes."""

import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader, BytesIO
from pathlib import Path

from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Chunk, Metadata, MetadataIndex, Schema, Statistics
from mcap.stream_reader import get_chunk_data_stream
from mcap.writer import MCAP0_MAGIC
from zstandard import ZstdError

from pegasus.base.errors import ConfigError

RECORD = struct.Struct("<BQ")
"""Opcode and length of a record."""
MESSAGE = struct.Struct("<BQHIQQ")
"""Opcode, length, channel, sequence number, time and publishing time; the content follows."""
DAMAGE = (
    *(McapError, ZstdError, struct.error, ValueError, OverflowError),
    *(RuntimeError, MemoryError, LookupError),
)
"""Errors of reading records that are truncated or damaged."""

# Comparisons with members of an enumeration take longer.
_MESSAGE, _MESSAGE_INDEX = int(Opcode.MESSAGE), int(Opcode.MESSAGE_INDEX)

_FOOTER = struct.Struct("<BQQQI")
_CHUNK_INDEX = struct.Struct("<QQQQI")
_PLACE = struct.Struct("<HQ")
_INDEX_HEAD = struct.Struct("<BQHI")
_INDEX_ENTRY = struct.Struct("<QQ")
# Largest mean size of the messages of a chunk that is kept [B]; of others, which may hold images, only the
# messages with fields are.
_SMALL_MESSAGE = 1024


@dataclass(eq=False, slots=True)
class _Chunk:
    start: int
    length: int
    first_time: int
    last_time: int
    # Channel and offset of each message index.
    packed_places: bytes
    index_length: int
    size: int
    count: int
    places: dict[int, int] = field(default_factory=dict)
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
        self.schemas: list[Schema] = []
        self.channels: list[Channel] = []
        self.metadata: dict[str, str] = {}
        self._path = path
        self._chunks: list[_Chunk] = []
        with path.open("rb") as file:
            self._identity = _identity(file)
            end = file.seek(0, os.SEEK_END) - _FOOTER.size - len(MCAP0_MAGIC)
            _require(end > 0)
            file.seek(end)
            footer = file.read(_FOOTER.size)
            _require(file.read() == MCAP0_MAGIC)
            opcode, length, start, offset_start, crc = _FOOTER.unpack(footer)
            _require(opcode == Opcode.FOOTER and length == _FOOTER.size - RECORD.size and start > 0)
            file.seek(start)
            data = file.read(end - start)
            _require(crc == zlib.crc32(footer[:-4], zlib.crc32(data)) != 0)
            statistics = self._read_records(data[: (offset_start or end) - start], file)
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
        needed = [c for c in self._chunks if c.first_time / 1e9 < end and c.last_time / 1e9 >= start]
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
            span = f" between {chunk.first_time / 1e9:g} and {chunk.last_time / 1e9:g} s"
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

    def _read_records(self, data: bytes, file: BufferedReader) -> Statistics:
        place, statistics = 0, None
        while place < len(data):
            opcode, length = RECORD.unpack_from(data, place)
            begin, place = place + RECORD.size, place + RECORD.size + length
            if opcode == Opcode.CHUNK_INDEX:
                self._add_chunk(data[begin:place])
                continue
            stream = ReadDataStream(BytesIO(data[begin:place]))
            if opcode == Opcode.SCHEMA:
                self.schemas.append(Schema.read(stream))
            elif opcode == Opcode.CHANNEL:
                self.channels.append(Channel.read(stream))
            elif opcode == Opcode.STATISTICS:
                statistics = Statistics.read(stream)
            elif opcode == Opcode.METADATA_INDEX and (index := MetadataIndex.read(stream)).name == "pegasus":
                self.metadata |= _metadata(file, index)
        if not isinstance(statistics, Statistics):
            raise ValueError
        return statistics

    def _add_chunk(self, data: bytes) -> None:
        first_time, last_time, start, length, size = _CHUNK_INDEX.unpack_from(data)
        end = _CHUNK_INDEX.size + size
        index_length, text = struct.unpack_from("<QI", data, end)
        (uncompressed,) = struct.unpack_from("<Q", data, end + 12 + text + 8)
        places = data[_CHUNK_INDEX.size : end]
        count = (index_length - len(places) // _PLACE.size * _INDEX_HEAD.size) // _INDEX_ENTRY.size
        self._chunks.append(
            _Chunk(start, length, first_time, last_time, places, index_length, uncompressed, count)
        )

    def _messages(self, file: BufferedReader, chunk: _Chunk, channel: int) -> tuple[list[int], list[bytes]]:
        """Return times [ns] and contents of a channel's messages in a chunk."""
        if not chunk.places:
            chunk.places = dict(_PLACE.iter_unpack(chunk.packed_places))
        if channel not in chunk.places:
            return [], []
        if chunk.found is not None:
            return chunk.found[channel]
        if not chunk.data:
            _load(file, chunk)
        if chunk.size <= chunk.count * _SMALL_MESSAGE:
            return _listed(chunk, channel)
        chunk.found = {k: _listed(chunk, k) for k in chunk.places if k in self._kept}
        chunk.data = chunk.indexes = b""
        return chunk.found[channel]


def _metadata(file: BufferedReader, index: MetadataIndex) -> dict[str, str]:
    file.seek(index.offset)
    record = file.read(index.length)
    _require(RECORD.unpack_from(record) == (Opcode.METADATA, index.length - RECORD.size))
    content: dict[str, str] = Metadata.read(ReadDataStream(BytesIO(record[RECORD.size :]))).metadata
    return content


def _load(file: BufferedReader, chunk: _Chunk) -> None:
    file.seek(chunk.start)
    record = file.read(chunk.length)
    _require(RECORD.unpack_from(record) == (Opcode.CHUNK, chunk.length - RECORD.size))
    content = Chunk.read(ReadDataStream(BytesIO(record[RECORD.size :])))
    stream, size = get_chunk_data_stream(content, validate_crc=True)
    _require(size == chunk.size)
    chunk.data, chunk.indexes = stream.read(size), file.read(chunk.index_length)


def _listed(chunk: _Chunk, channel: int) -> tuple[list[int], list[bytes]]:
    """Return times [ns] and contents of the messages that a message index lists.

    Message indexes have no checksum: each entry must lead to a message of its channel and time.
    """
    data, begin = chunk.data, chunk.places[channel] - chunk.start - chunk.length
    opcode, length, number, size = _INDEX_HEAD.unpack_from(chunk.indexes, begin)
    entries = chunk.indexes[begin + _INDEX_HEAD.size : begin + _INDEX_HEAD.size + size]
    if opcode != _MESSAGE_INDEX or length != size + 6 or number != channel or len(entries) != size:
        raise ValueError
    stamps, contents = [], []
    for time, place in _INDEX_ENTRY.iter_unpack(entries):
        opcode, length, number, _, stamp, _ = MESSAGE.unpack_from(data, place)
        if opcode != _MESSAGE or number != channel or stamp != time:
            raise ValueError
        stamps.append(stamp)
        contents.append(data[place + MESSAGE.size : place + RECORD.size + length])
    return stamps, contents


def _identity(file: BufferedReader) -> tuple[int, ...]:
    """Return what changes if a file is replaced or written."""
    status = os.fstat(file.fileno())
    return status.st_ino, status.st_size, status.st_mtime_ns


def _require(intact: bool) -> None:
    if not intact:
        raise ValueError
