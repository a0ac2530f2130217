"""Everything that a vehicle says on the graph, sent only where somebody listens."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pegasus.backends.ros2.cdr import encode
from pegasus.backends.ros2.contents import Content, sensor_contents
from pegasus.backends.ros2.frame_names import FrameNames
from pegasus.backends.ros2.frame_tree import mountings
from pegasus.backends.ros2.messages import (
    Header,
    Quaternion,
    TFMessage,
    Transform,
    TransformStamped,
    Vector3,
)
from pegasus.backends.ros2.pictures import PictureStream, picture_streams
from pegasus.backends.ros2.qos import LATCHED
from pegasus.backends.ros2.template import Template
from pegasus.backends.ros2.topics import STATIC_TRANSFORMS, Topics
from pegasus.backends.ros2.transport import Publisher
from pegasus.sensors.sensor import Reading, Schedule
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor

_LOOK_INTERVAL = 25
"""Steps from one look to the next at who listens, which takes a fifth of the time that a message does."""


class Stream:
    """One topic of N copies.

    Args:
        content: What it holds.
        publishers: Writer of each copy.
        frames: Names of each copy's frames.
        schedule: When it is due; None for whenever there is something new.
    """

    def __init__(
        self,
        content: Content,
        publishers: Sequence[Publisher],
        frames: Sequence[FrameNames],
        schedule: Schedule | None,
    ) -> None:
        self._numbers, self._schedule, self._stamp_count = content.numbers, schedule, content.stamp_count
        self._next_look = 0
        self._heard: list[tuple[int, Publisher, Template]] = []
        self._copies = [
            (i, publisher, Template(content.message(names), *content.varying))
            for i, (publisher, names) in enumerate(zip(publishers, frames, strict=True))
        ]

    def send(self, step: int, source: Any, seconds: int, nanoseconds: int) -> None:
        """Send what is due to those who listen.

        Args:
            step: Number of the physics step.
            source: State or reading.
            seconds: Stamp, whole seconds [s].
            nanoseconds: The rest of it [ns].
        """
        if self._schedule is not None and not self._schedule.due(step):
            return
        if step >= self._next_look:
            self._next_look = step + _LOOK_INTERVAL
            self._heard = [copy for copy in self._copies if copy[1].matched]
        if self._heard:
            rows = self._numbers(source)
            stamps = (seconds, nanoseconds) * self._stamp_count
            for i, publisher, template in self._heard:
                publisher.publish(template.pack(*stamps, *rows[i]))


class Publications:
    """What N copies of a vehicle tell.

    Args:
        vehicle: The vehicle.
        topics: Where its topics are opened.
        frames: Names of each copy's frames.
        state: Topics of the true state, by `state_contents`.
        pictures: Whether it tells pictures and points too.

    Raises:
        ConfigError: If an option of a topic is not allowed.
    """

    def __init__(
        self,
        vehicle: "Multirotor",
        topics: Topics,
        frames: Sequence[FrameNames],
        state: Sequence[Content],
        *,
        pictures: bool = True,
    ) -> None:
        self._rate = vehicle.physics_rate
        self._state = _streams(state, topics, frames)
        contents = sensor_contents(vehicle)
        self._readings: dict[str, Sequence[Stream | PictureStream]] = {
            name: [
                *_streams(contents.get(name, ()), topics, frames),
                *(picture_streams(name, sensor, topics, frames) if pictures else ()),
            ]
            for name, sensor in vehicle.sensors.items()
        }
        _say_mountings(vehicle, topics, frames)

    def send(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Send what is new at simulation time t.

        Args:
            t: Simulation time [s].
            state: True state.
            readings: New readings by sensor name.
        """
        step = round(t * self._rate)
        seconds, nanoseconds = stamp_of(t)
        for stream in self._state:
            stream.send(step, state, seconds, nanoseconds)
        for name, reading in readings.items():
            for told in self._readings[name]:
                # A solution of a receiver is older than the reading that it comes with.
                told.send(step, reading, *stamp_of(getattr(reading, "valid_at", reading.stamp)))


def _streams(contents: Iterable[Content], topics: Topics, frames: Sequence[FrameNames]) -> list[Stream]:
    streams = []
    for content in contents:
        kind = type(content.message(frames[0]))
        opened = topics.publishers(content.topic, kind, content.qos, content.rate)
        if opened is not None:
            streams.append(Stream(content, opened[0], frames, opened[1]))
    return streams


def _say_mountings(vehicle: "Multirotor", topics: Topics, frames: Sequence[FrameNames]) -> None:
    """Say once, for all who ever come, where the fixed frames are."""
    opened = topics.publishers(STATIC_TRANSFORMS, TFMessage, LATCHED)
    if opened is None:
        return
    for publisher, names in zip(opened[0], frames, strict=True):
        transforms = [
            TransformStamped(
                Header(frame_id=names.base_link),
                child_frame_id=names.own(mounting.frame),
                transform=Transform(
                    Vector3(*mounting.position.tolist()), Quaternion(*mounting.orientation.tolist())
                ),
            )
            for mounting in mountings(vehicle)
        ]
        publisher.publish(encode(TFMessage(transforms)))


def stamp_of(t: float) -> tuple[int, int]:
    """Return simulation time as whole seconds and nanoseconds.

    Args:
        t: Simulation time [s].
    """
    return divmod(round(t * 1e9), 1_000_000_000)
