"""Reader of recorded runs."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from mcap.exceptions import McapError
from mcap.records import Channel, Message, Metadata, Schema
from mcap.stream_reader import StreamReader
from mcap.writer import MCAP0_MAGIC
from zstandard import ZstdError

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError

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
    """Whether the recorder has closed the file; otherwise about the last second is missing."""
    metadata: Mapping[str, str]
    """Version, world, seed, rates and vehicles at the start, as text."""
    vehicles: Mapping[str, int]
    """Number of copies by vehicle name."""
    series: Mapping[str, Series]
    """Messages by topic, such as `iris/state`, `iris/command` or `iris/sensors/imu`."""

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
        ConfigError: If the file does not exist, is not an MCAP file, or has arrays of varying shape.
    """
    path = Path(path)
    if path.is_dir():
        path = path / LOG_NAME
    content = _Content()
    try:
        with path.open("rb") as file:
            if file.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
                raise ConfigError("is not an MCAP file", file=path, remedy="give the flight.mcap of a run")
            file.seek(0)
            complete = _read_all(StreamReader(file, validate_crcs=True), content)
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}",
            file=path,
            remedy="give a flight.mcap, or the folder of a run",
        ) from None
    vehicles = {column.vehicle: column.count for column in content.columns.values()}
    return Log(path, complete, content.metadata, vehicles, _named_series(content, path))


@dataclass(eq=False)
class _Column:
    """Messages of one channel during reading."""

    topic: str
    vehicle: str
    count: int
    properties: dict[str, dict[str, Any]]
    stamps: list[int] = field(default_factory=list)
    values: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = {name: [] for name in self.properties}

    def add(self, message: Message) -> None:
        content = orjson.loads(message.data)
        self.stamps.append(message.log_time)
        for name, schema in self.properties.items():
            value = content[name]
            # Small arrays at once, since the lists of a large fleet's numbers would not fit into memory.
            self.values[name].append(np.array(value, schema["dtype"]) if "dtype" in schema else value)

    def series(self, topic: str) -> Series:
        fields = {
            name: np.array(self.values[name]).reshape(len(self.stamps), *schema.get("shape", ()))
            for name, schema in self.properties.items()
        }
        return Series(topic, np.array(self.stamps, dtype=np.float64) / 1e9, fields)


@dataclass(eq=False)
class _Content:
    metadata: dict[str, str] = field(default_factory=dict)
    schemas: dict[int, Schema] = field(default_factory=dict)
    columns: dict[int, _Column] = field(default_factory=dict)


def _read_all(reader: StreamReader, content: _Content) -> bool:
    """Read a file up to its end or the first damaged record; return whether it is complete."""
    try:
        for record in reader.records:
            if isinstance(record, Message):
                if (column := content.columns.get(record.channel_id)) is not None:
                    column.add(record)
            elif isinstance(record, Schema):
                content.schemas[record.id] = record
            elif isinstance(record, Channel):
                _open_column(record, content)
            elif isinstance(record, Metadata) and record.name == "pegasus":
                content.metadata.update(record.metadata)
    except (McapError, ZstdError, struct.error, ValueError, MemoryError, OverflowError):
        return False  # Truncated within a record, or damaged from here on, such as in a length.
    return True


def _open_column(channel: Channel, content: _Content) -> None:
    # Channels without a vehicle (frames for viewers, topics of other programs) are ignored.
    if channel.id in content.columns or "vehicle" not in channel.metadata:
        return
    properties = orjson.loads(content.schemas[channel.schema_id].data)["properties"]
    vehicle, count = channel.metadata["vehicle"], int(channel.metadata["count"])
    content.columns[channel.id] = _Column(channel.topic.removeprefix("/"), vehicle, count, properties)


def _named_series(content: _Content, path: Path) -> dict[str, Series]:
    """Return the channels by topic; a repeated topic, with arrays of other shapes, gets the suffix `~2`."""
    series: dict[str, Series] = {}
    for column in content.columns.values():
        topic, again = column.topic, 1
        while topic in series:
            again += 1
            topic = f"{column.topic}~{again}"
        try:
            series[topic] = column.series(topic)
        except ValueError:
            raise ConfigError(
                "has arrays whose shape varies between messages",
                file=path,
                field=topic,
                remedy="record arrays of fixed shapes",
            ) from None
    return series
