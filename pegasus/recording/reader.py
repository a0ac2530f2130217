"""Reader of recorded runs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from mcap.records import Channel, Chunk, Message, Metadata, Schema, Statistics
from mcap.stream_reader import StreamReader, breakup_chunk
from mcap.writer import MCAP0_MAGIC

from pegasus.base.errors import ConfigError
from pegasus.base.file_kinds import refuse_other_kinds
from pegasus.recording.log import Column, LazySeries, Log, Source
from pegasus.recording.message_index import DAMAGE, Summary
from pegasus.recording.messages import Layout
from pegasus.recording.schemas import Field, field_comments

LOG_NAME = "flight.mcap"
"""Name of the log in a run's folder."""


def read_log(path: str | Path, *, verify: bool = False) -> Log:
    """Return a recorded run as arrays.

    A topic is read from the file when it is first accessed, which raises a `ConfigError` if the file is
    damaged there, or has changed. Truncated files are read at once, up to their end.

    Args:
        path: A log, or the folder of a run.
        verify: Read and check all of the file at once; a damaged one is read up to the damage.

    Raises:
        ConfigError: If the file does not exist, is not an MCAP file, or was recorded by another program.
    """
    path = Path(path)
    if path.is_dir():
        path = path / LOG_NAME
    refuse_other_kinds(path, "a log of Pegasus (MCAP)", {"mcap"})
    try:
        with path.open("rb") as file:
            if file.read(len(MCAP0_MAGIC)) != MCAP0_MAGIC:
                raise ConfigError("is not an MCAP file", file=path, remedy="give the flight.mcap of a run")
        content = None if verify else _summarized(path)
        complete = content is not None
        if content is None:
            content = _Content()
            complete = _read_all(path, content)
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}",
            file=path,
            remedy="give a flight.mcap, or the folder of a run",
        ) from None
    if content.foreign and not content.columns and not content.metadata:
        topics = ", ".join(content.foreign)
        raise ConfigError(
            f"was not recorded by Pegasus; it holds the topics {topics}",
            file=path,
            remedy="read it by the packages mcap or rosbags",
        )
    columns = content.columns.values()
    vehicles = {column.vehicle: column.count for column in columns if not column.is_mover}
    return Log(path, complete, content.metadata, vehicles, LazySeries(content.by_topic()))


@dataclass(eq=False)
class _Content:
    metadata: dict[str, str] = field(default_factory=dict)
    definitions: dict[int, str] = field(default_factory=dict)
    columns: dict[int, Column] = field(default_factory=dict)
    messages: dict[int, tuple[list[int], list[bytes]]] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    """Topics that Pegasus does not read."""
    message_count: int = 0

    def read(
        self, channel: int, start: float, end: float, *, backwards: bool = False
    ) -> Iterator[tuple[list[int], list[bytes]]]:
        """Yield times [ns] and contents of all messages of a channel."""
        stamps, contents = self.messages[channel]
        if stamps:
            yield stamps, contents

    def add(self, message: Message) -> None:
        """Add a message."""
        self.message_count += 1
        if message.channel_id in self.messages:
            stamps, contents = self.messages[message.channel_id]
            stamps.append(message.log_time)
            contents.append(message.data)

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


def _summarized(path: Path) -> _Content | None:
    """Return the topics of a file that has a summary, without their messages; None if it has none."""
    try:
        summary = Summary(path)
        content = _Content(summary.metadata)
        for schema in summary.schemas:
            _add_definition(schema, content)
        for channel in summary.channels:
            _open_column(channel, content, summary)
    except DAMAGE:
        return None
    return content


def _read_all(path: Path, content: _Content) -> bool:
    """Read a file up to its end or the first damaged record; return whether it is complete."""
    recorded = None
    with path.open("rb") as file:
        try:
            for outer in StreamReader(file, emit_chunks=True).records:
                for record in (
                    breakup_chunk(outer, validate_crc=True) if isinstance(outer, Chunk) else [outer]
                ):
                    if isinstance(record, Message):
                        content.add(record)
                    elif isinstance(record, Schema):
                        _add_definition(record, content)
                    elif isinstance(record, Channel):
                        _open_column(record, content, content)
                    elif isinstance(record, Statistics):
                        recorded = record.message_count
                    elif isinstance(record, Metadata) and record.name == "pegasus":
                        content.metadata.update(record.metadata)
        except DAMAGE:
            return False  # Truncated, or damaged from here on, such as in a length.
    return recorded in (None, content.message_count)


def _add_definition(schema: Schema, content: _Content) -> None:
    if schema.encoding == "ros2msg":
        content.definitions[schema.id] = schema.data.decode()


def _open_column(channel: Channel, content: _Content, source: Source) -> None:
    # Channels without fields (frames for viewers, topics of other programs) are ignored.
    metadata = channel.metadata
    if "fields" not in metadata:
        content.foreign.append(channel.topic)
    elif channel.id not in content.columns:
        fields = [Field(name, *kind) for name, kind in orjson.loads(metadata["fields"]).items()]
        is_mover = "mover" in metadata
        owner, count = metadata["mover" if is_mover else "vehicle"], int(metadata["count"])
        topic = channel.topic.removeprefix("/")
        comments = field_comments(content.definitions.get(channel.schema_id, ""))
        channels = dict(orjson.loads(metadata.get("channels", "[]")))
        if channels:
            units = {name: f" [{unit}]" if unit else "" for name, unit in channels.items()}
            what = "Angle of the joint" if fields[0].name == "angle" else "Command obeyed until the next step"
            comments = {name: f"{what}{units[name]}." for name in channels}
        column = Column(topic, owner, count, Layout(fields), comments, source, channel.id, is_mover=is_mover)
        column.channels = tuple(channels)
        content.columns[channel.id], content.messages[channel.id] = column, ([], [])
