"""Recorded runs: topics, and their messages as arrays, data frames and data sets."""

import itertools
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError, did_you_mean
from pegasus.core.reprs import counted_names
from pegasus.recording.messages import Layout
from pegasus.recording.notebook import PATH_LIMIT, log_html
from pegasus.recording.tables import data_frame, data_set, joined

if TYPE_CHECKING:
    from pandas import DataFrame
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class Series:
    """Messages of one topic; each field is an array and an attribute."""

    topic: str
    """Topic without the leading slash, such as `iris/state`."""
    time: Array
    """Simulation time of each message, exact to the nanosecond [s], shape (T,)."""
    fields: Mapping[str, npt.NDArray[Any]]
    """Arrays by field name, shape (T, ...): `position` of a state has the shape (T, N, 3)."""
    count: int = 1
    """Number of copies N."""
    comments: Mapping[str, str] = field(default_factory=dict)
    """Description of each field, with its unit."""

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        found: Mapping[str, npt.NDArray[Any]] = self.__dict__.get("fields", {})
        if name not in found:
            alike = "".join(f"; {line}" for line in did_you_mean(name, found))
            raise AttributeError(
                f"{self.__dict__.get('topic')} has no field {name!r}, but {', '.join(found)}{alike}"
            )
        return found[name]

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        span = f", {self.time[0]:g} to {self.time[-1]:g} s" if len(self) else ""
        shapes = ", ".join(f"{name} {values.shape[1:] or ''}".strip() for name, values in self.fields.items())
        return f"<Series {self.topic}: {len(self)} messages{span}: {shapes}>"

    def to_pandas(self, *, copy: int | None = None) -> "DataFrame":
        """Return the messages as a data frame, one row per message.

        The index is the time [s]; with several copies it is (time, copy). Vectors have a column for each
        component: `position_x`, `orientation_w`, `rotor_speed_0`. `attrs["units"]` holds units by column.

        Args:
            copy: Index of the only copy to return; all if None.

        Raises:
            ConfigError: If pandas is not installed, or there is no such copy.
        """
        return data_frame(self, self._copies(copy))

    def to_xarray(self, *, copy: int | None = None) -> "Dataset":
        """Return the messages as a data set with the dimensions time [s], copy, and those of each field.

        Variables have the attributes `units` and `long_name`.

        Args:
            copy: Index of the only copy to return; all if None.

        Raises:
            ConfigError: If xarray is not installed, or there is no such copy.
        """
        return data_set(self, self._copies(copy))

    def _copies(self, copy: int | None) -> Sequence[int]:
        valid = copy is None or (isinstance(copy, int | np.integer) and 0 <= copy < self.count)
        require(valid, "copy", copy, f"must be a whole number from 0 to {self.count - 1}")
        return range(self.count) if copy is None else [int(copy)]


class Source(Protocol):
    """Source of messages."""

    def read(
        self, channel: int, start: float, end: float, *, backwards: bool = False
    ) -> Iterator[tuple[list[int], list[bytes]]]:
        """Yield times [ns] and contents of a channel's messages, in parts.

        Args:
            channel: Number of the channel.
            start: Time from which on all messages must be among them [s].
            end: Time up to which all messages must be among them [s].
            backwards: Whether the last part comes first.

        Raises:
            ConfigError: If the file has changed, or is damaged there.
        """


@dataclass(eq=False)
class Column:
    """Messages of one channel of a file, read and decoded when they are needed."""

    topic: str
    vehicle: str
    """Vehicle or mover that it is of."""
    count: int
    layout: Layout
    comments: Mapping[str, str]
    source: Source
    channel: int
    is_mover: bool = False
    channels: Sequence[str] = ()
    """Names of the channels of a vehicle, for its commands and joints: each is a field of the series."""
    start: float = -math.inf
    """Time of the first message or before it [s]."""
    end: float = math.inf
    """Time after the last message [s]."""

    def between(self, start: float, end: float) -> "Column":
        """Return the messages from a start time up to, but not at, an end time [s]."""
        return replace(self, start=max(self.start, start), end=min(self.end, end))

    @property
    def ends(self) -> list[int]:
        """Times of the first and of the last message [ns]; empty without messages."""
        first = [stamps[0] for stamps, _ in itertools.islice(self._parts(), 1)]
        return first + [stamps[-1] for stamps, _ in itertools.islice(self._parts(backwards=True), 1)]

    @cached_property
    def stamps(self) -> list[int]:
        """Time of each message [ns]."""
        return [stamp for stamps, _ in self._parts() for stamp in stamps]

    def series(self, topic: str) -> Series:
        """Read and decode the messages."""
        stamps: list[int] = []
        contents: list[bytes] = []
        for times, messages in self._parts():
            stamps += times
            contents += messages
        time = np.array(stamps, dtype=np.float64) / 1e9
        fields = self.layout.decode(contents)
        if self.channels:
            (values,) = fields.values()
            fields = {name: values[:, :, k] for k, name in enumerate(self.channels)}
        return Series(topic, time, fields, self.count, self.comments)

    def _parts(self, *, backwards: bool = False) -> Iterator[tuple[list[int], list[bytes]]]:
        start, end = self.start, self.end
        for stamps, contents in self.source.read(self.channel, start, end, backwards=backwards):
            if stamps[0] / 1e9 >= start and stamps[-1] / 1e9 < end:
                yield stamps, contents
                continue
            first, last = (bisect_left(stamps, time, key=_seconds) for time in (start, end))
            if first < last:
                yield stamps[first:last], contents[first:last]


def _seconds(stamp: int) -> float:
    return stamp / 1e9


class LazySeries(Mapping[str, Series]):
    """Messages by topic, read and decoded at the first access.

    Args:
        columns: Channels by topic.
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self.columns = columns
        self._decoded: dict[str, Series] = {}

    def __getitem__(self, topic: str) -> Series:
        if topic not in self._decoded:
            self._decoded[topic] = self.columns[topic].series(topic)
        return self._decoded[topic]

    def __contains__(self, topic: object) -> bool:
        return topic in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True, eq=False)
class Log:
    """Recorded run: `log["iris/state"]` holds the messages of a topic.

    `iris/imu` stands for `iris/sensors/imu`; so does `imu`, if only one topic ends in it. `topic in log`
    knows these names too, and iterating over the log gives its topics.
    """

    path: Path
    """The file."""
    complete: bool
    """True if the recorder has closed the file; otherwise its last chunk is missing."""
    metadata: Mapping[str, str]
    """Version, world, seed, rates and vehicles at the start, as text."""
    vehicles: Mapping[str, int]
    """Number of copies by vehicle name."""
    series: LazySeries
    """Messages by topic, such as `iris/state` or `iris/sensors/imu`; read at the first access."""

    def __getitem__(self, topic: str) -> Series:
        return self.series[self._topic(topic)]

    def __contains__(self, topic: object) -> bool:
        return topic in self.series or str(topic).removeprefix("/") in self._names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.series)

    @property
    def topics(self) -> list[str]:
        """Names of the topics."""
        return list(self.series)

    @property
    def movers(self) -> dict[str, int]:
        """Number of parts by name of a mover."""
        columns = self.series.columns.values()
        return {column.vehicle: column.count for column in columns if column.is_mover}

    @property
    def duration(self) -> float:
        """Time from the first to the last message [s]; 0 in an empty log."""
        ends = [stamp for column in self.series.columns.values() for stamp in column.ends]
        return (max(ends) - min(ends)) / 1e9 if ends else 0.0

    def select(self, *patterns: str) -> "Log":
        """Return the log with some of its topics; nothing is read.

        Args:
            patterns: Topics, or patterns such as `iris/*` and `*/sensors/imu`.

        Raises:
            ConfigError: If a pattern has no topic.
        """
        kept = {topic for pattern in patterns for topic in self._matches(pattern)}
        columns = {topic: column for topic, column in self.series.columns.items() if topic in kept}
        names = {column.vehicle for column in columns.values()}
        vehicles = {name: count for name, count in self.vehicles.items() if name in names}
        return Log(self.path, self.complete, self.metadata, vehicles, LazySeries(columns))

    def between(self, start: float = 0.0, end: float = math.inf) -> "Log":
        """Return the log with the messages from a start time up to, but not at, an end time.

        Args:
            start: Simulation time of the first message [s].
            end: Simulation time after the last message [s].
        """
        require(start <= end, "start", start, f"must not be after the end, {end:g} s")
        columns = {topic: column.between(start, end) for topic, column in self.series.columns.items()}
        return Log(self.path, self.complete, self.metadata, self.vehicles, LazySeries(columns))

    def to_pandas(self, *topics: str, copy: int | None = None) -> "DataFrame":
        """Return messages as a data frame; see `Series.to_pandas`.

        Several topics are joined by their times, with the topic as the first level of the columns, and NaN
        where a topic has no message.

        Args:
            topics: Topics or patterns.
            copy: Index of the only copy to return; all if None.

        Raises:
            ConfigError: If there is no such topic or copy, or pandas is not installed.
        """
        found = list(dict.fromkeys(topic for pattern in topics for topic in self._matches(pattern)))
        require(bool(found), "topics", None, "must name at least one topic", f"such as {self._examples()}")
        frames = {topic: self.series[topic].to_pandas(copy=copy) for topic in found}
        return joined(frames) if len(frames) > 1 else frames[found[0]]

    def to_xarray(self, topic: str, *, copy: int | None = None) -> "Dataset":
        """Return the messages of a topic as a data set; see `Series.to_xarray`.

        Args:
            topic: The topic.
            copy: Index of the only copy to return; all if None.

        Raises:
            ConfigError: If there is no such topic or copy, or xarray is not installed.
        """
        return self[topic].to_xarray(copy=copy)

    def _matches(self, pattern: str) -> list[str]:
        found = [topic for topic in self.series if fnmatchcase(topic, pattern.removeprefix("/"))]
        return found or [self._topic(pattern)]

    def _topic(self, name: str) -> str:
        """Return the topic of a name: all of it, without `sensors/`, or its last part if no other has it."""
        if name in self.series:
            return name
        names, plain = self._names(), str(name).removeprefix("/")
        if plain not in names:
            remedy = " ".join(did_you_mean(plain, names)) or f"it holds {self._examples()}"
            raise ConfigError("no such topic", file=self.path, field="topic", value=name, remedy=remedy)
        return names[plain]

    def _names(self) -> dict[str, str]:
        """Return topics by their names, short ones included."""
        topics = list(self.series)
        ends = Counter(topic.rpartition("/")[2] for topic in topics)
        names = {end: topic for topic in topics if ends[end := topic.rpartition("/")[2]] == 1}
        names |= {topic.replace("/sensors/", "/"): topic for topic in topics}
        return names | {topic: topic for topic in topics}

    def _examples(self) -> str:
        shown = ", ".join(self.topics[:4]) or "no topics at all"
        return (
            f"{shown} and {len(self.series) - 4} more; log.topics lists them"
            if len(self.series) > 4
            else shown
        )

    def __repr__(self) -> str:
        """Return one line: file, vehicles, topics and duration."""
        incomplete = "" if self.complete else ", incomplete"
        return (
            f"<Log {self.path}: {counted_names(self.vehicles)}, {len(self.series)} topics, "
            f"{self.duration:g} s{incomplete}>"
        )

    def _repr_html_(self) -> str:
        """Return the topics as a table, the flown paths in space, and the first vehicle's position."""
        topics = [f"{name}/state" for name in list(self.vehicles)[:PATH_LIMIT]]
        states = [self[topic] for topic in topics if topic in self]
        return log_html(repr(self), states, self.series.columns)
