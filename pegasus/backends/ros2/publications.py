"""Publications of a vehicle: each message is made and sent only if someone subscribes to its topic."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pegasus.backends.ros2.contents import Content, sensor_contents
from pegasus.backends.ros2.frames import FrameNames, mountings
from pegasus.backends.ros2.graph import LATCHED, Publisher
from pegasus.backends.ros2.images import ImageStream, image_streams
from pegasus.backends.ros2.messages import Template, encode, message
from pegasus.backends.ros2.topics import STATIC_TRANSFORMS, Topics
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.core.aircraft import Aircraft
from pegasus.core.link_state import FaultyLine, LinkState
from pegasus.core.schedule import Schedule

_MATCH_INTERVAL = 25
"""Steps between two queries of the matched subscriptions; one query costs a fifth of a message."""


class Stream:
    """Topic of the readings or states of N copies.

    Args:
        content: Content of the topic.
        publishers: Writer of each copy.
        frames: Frame names of each copy.
        schedule: Schedule of the topic; None for every new reading or state.
    """

    def __init__(
        self,
        content: Content,
        publishers: Sequence[Publisher],
        frames: Sequence[FrameNames],
        schedule: Schedule | None,
    ) -> None:
        self._numbers, self._schedule, self._stamp_count = content.numbers, schedule, content.stamp_count
        self._next_query = 0
        self._lines: list[FaultyLine] | None = None
        self._matched: list[tuple[int, Publisher, Template]] = []
        self._copies = [
            (i, publisher, Template(content.message(names), *content.varying))
            for i, (publisher, names) in enumerate(zip(publishers, frames, strict=True))
        ]

    def fail(self, links: LinkState, channel: int) -> None:
        """Let messages be lost or late from now on.

        Args:
            links: Faults of the links of the vehicle.
            channel: Number of the topic.
        """
        self._lines = [FaultyLine(links, "ros2", i, channel) for i in range(len(self._copies))]

    def heal(self) -> bool:
        """Let messages pass again unless some are under way; return whether they pass."""
        if self._lines is not None and all(line.is_idle for line in self._lines):
            self._lines = None
        return self._lines is None

    def deliver(self, t: float) -> None:
        """Publish the messages that were late.

        Args:
            t: Simulation time [s].
        """
        for line, (_, publisher, _) in zip(self._lines or (), self._copies, strict=False):
            waiting: list[bytes] = []
            for data in line.passed(waiting, t):
                publisher.publish(data)

    def send(self, step: int, source: Any, seconds: int, nanoseconds: int, t: float = 0.0) -> None:
        """Publish the messages that are due and subscribed to.

        Args:
            step: Number of the physics step.
            source: State or reading.
            seconds: Whole seconds of the stamp [s].
            nanoseconds: Remainder of the stamp [ns].
            t: Simulation time [s].
        """
        if self._schedule is not None and not self._schedule.due(step):
            return
        if step >= self._next_query:
            self._next_query = step + _MATCH_INTERVAL
            self._matched = [copy for copy in self._copies if copy[1].matched]
        if self._matched:
            rows = self._numbers(source)
            stamps = (seconds, nanoseconds) * self._stamp_count
            for i, publisher, template in self._matched:
                if not rows[i]:
                    continue
                data = template.pack(*stamps, *rows[i])
                if self._lines is None:
                    publisher.publish(data)
                    continue
                for arrived in self._lines[i].passed([data], t):
                    publisher.publish(arrived)


class Publications:
    """Publications of N copies of a vehicle.

    Args:
        vehicle: The vehicle.
        topics: Its topics.
        frames: Frame names of each copy.
        state: Contents of the true state, by `state_contents`, and of the estimate.
        images: Whether to publish images and point clouds.
        beside: Whether images are rendered beside the next steps, and published when they are ready.

    Raises:
        ConfigError: If an option of a topic is not allowed.
    """

    def __init__(
        self,
        vehicle: Aircraft,
        topics: Topics,
        frames: Sequence[FrameNames],
        state: Sequence[Content],
        *,
        images: bool = True,
        beside: bool = True,
    ) -> None:
        self._rate = vehicle.physics_rate
        self._state = _streams(state, topics, frames)
        contents = sensor_contents(vehicle)
        self._readings: dict[str, Sequence[Stream | ImageStream]] = {
            name: [
                *_streams(contents.get(name, ()), topics, frames),
                *(image_streams(name, sensor, topics, frames, beside=beside) if images else ()),
            ]
            for name, sensor in vehicle.sensors.items()
        }
        streams = [stream for each in self._readings.values() for stream in each]
        self._images = [stream for stream in streams if isinstance(stream, ImageStream)]
        self._failing = [*self._state, *(stream for stream in streams if isinstance(stream, Stream))]
        self._links, self._faulty = vehicle.faults.links, False
        _publish_mountings(vehicle, topics, frames)

    @property
    def has_images(self) -> bool:
        """True if the vehicle has image or point cloud topics."""
        return bool(self._images)

    def send(self, t: float, state: VehicleState, readings: Mapping[str, Reading]) -> None:
        """Publish state and new readings at simulation time t.

        Args:
            t: Simulation time [s].
            state: True state.
            readings: New readings by sensor name.
        """
        step = round(t * self._rate)
        if self._links.fail("ros2") and not self._faulty:
            self._faulty = True
            for channel, failing in enumerate(self._failing):
                failing.fail(self._links, channel)
        seconds, nanoseconds = stamp_of(t)
        for content in self._state:
            content.send(step, state, seconds, nanoseconds, t)
        for name, reading in readings.items():
            for stream in self._readings[name]:
                # The solution of a receiver is older than its reading.
                stamp = stamp_of(getattr(reading, "valid_at", reading.stamp))
                if isinstance(stream, Stream):
                    stream.send(step, reading, *stamp, t)
                else:
                    stream.send(step, reading, *stamp)
        if self._faulty:
            for failing in self._failing:
                failing.deliver(t)
            waiting = [failing for failing in self._failing if not failing.heal()]
            self._faulty = bool(waiting)
        for images in self._images:
            images.collect()

    def finish(self) -> None:
        """Wait for the images that are being rendered, and publish them."""
        for images in self._images:
            images.finish()


def _streams(contents: Iterable[Content], topics: Topics, frames: Sequence[FrameNames]) -> list[Stream]:
    streams = []
    for content in contents:
        kind: str = content.message(frames[0]).__msgtype__
        opened = topics.publishers(content.topic, kind, content.qos, content.rate)
        if opened is not None:
            streams.append(Stream(content, opened[0], frames, opened[1]))
    return streams


def _publish_mountings(vehicle: Aircraft, topics: Topics, frames: Sequence[FrameNames]) -> None:
    """Publish the static transforms once, latched."""
    kind = "tf2_msgs/msg/TFMessage"
    opened = topics.publishers(STATIC_TRANSFORMS, kind, LATCHED)
    if opened is None:
        return
    for publisher, names in zip(opened[0], frames, strict=True):
        transforms = [
            {
                "header": {"frame_id": names.base_link},
                "child_frame_id": names.own(mounting.frame),
                "transform": {
                    "translation": dict(zip("xyz", mounting.position.tolist(), strict=True)),
                    "rotation": dict(zip("xyzw", mounting.orientation.tolist(), strict=True)),
                },
            }
            for mounting in mountings(vehicle)
        ]
        publisher.publish(encode(message(kind, transforms=transforms)))


def stamp_of(t: float) -> tuple[int, int]:
    """Return simulation time as whole seconds and nanoseconds.

    Args:
        t: Simulation time [s].
    """
    return divmod(round(t * 1e9), 1_000_000_000)
