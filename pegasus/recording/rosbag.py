"""Record a run for rosbag2: what the ROS 2 backend would tell, in a folder that `ros2 bag` takes."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import yaml
from mcap.writer import CompressionType, Writer

from pegasus.backends.ros2.backend import ROS2
from pegasus.backends.ros2.claims import Claims
from pegasus.backends.ros2.description import Message, MessageType
from pegasus.backends.ros2.names import full_topic
from pegasus.backends.ros2.namespaces import copy_namespaces, default_namespace
from pegasus.backends.ros2.publications import Publications
from pegasus.backends.ros2.qos import QoS
from pegasus.backends.ros2.state_contents import STATE_TOPICS, state_contents
from pegasus.backends.ros2.topic_options import TopicOptions
from pegasus.backends.ros2.topics import Topics
from pegasus.backends.ros2.transport import Publisher, Subscription
from pegasus.errors import ConfigError
from pegasus.recording.observer import ObservedSimulation, ObservedVehicle, recorded_rate
from pegasus.version import __version__

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor

_CHUNK_SIZE = 256 * 1024
_METADATA_VERSION = 5
"""The one of Humble, which every later rosbag2 reads."""
# rmw/types.h: keep last; reliable, best effort; transient local, volatile; automatic liveliness; no limit.
_KEEP_LAST, _AUTOMATIC = 1, 1
_RELIABLE, _BEST_EFFORT = 1, 2
_TRANSIENT_LOCAL, _VOLATILE = 1, 2
_UNLIMITED = {"sec": 9223372036, "nsec": 854775807}


def offered_profile(qos: QoS) -> str:
    """Return a quality of service as rosbag2 keeps it of each topic: a list of profiles in YAML.

    Args:
        qos: The quality of service.
    """
    profile = {
        "history": _KEEP_LAST,
        "depth": qos.depth,
        "reliability": _RELIABLE if qos.reliable else _BEST_EFFORT,
        "durability": _TRANSIENT_LOCAL if qos.latched else _VOLATILE,
        "deadline": dict(_UNLIMITED),
        "lifespan": dict(_UNLIMITED),
        "liveliness": _AUTOMATIC,
        "liveliness_lease_duration": dict(_UNLIMITED),
        "avoid_ros_namespace_conventions": False,
    }
    text: str = yaml.safe_dump([profile], sort_keys=False)
    return text


class RosbagRecorder:
    """Write a run as a bag: an MCAP file of CDR messages with ROS 2 schemas, and `metadata.yaml` beside it.

    Topics and frames are those of the ROS 2 backend, in the namespace of a vehicle's own or its name. Stamps
    are simulation time; `ros2 bag play --clock` plays them. No ROS 2 is needed to write it.

    Args:
        folder: Folder of the bag; the files of one that is there are replaced when a run starts.
        state_rate: True states per second [Hz]; see `McapRecorder`.
        readings: Whether readings are recorded.
        images: Whether the pictures of cameras and the points of lidars are, which are computed for it.

    Raises:
        ConfigError: If the rate is not a positive number.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        state_rate: float | None = None,
        readings: bool = True,
        images: bool = False,
    ) -> None:
        self._options = TopicOptions(rate_hz=state_rate)
        self.folder = Path(folder)
        self._with_readings, self._images = readings, images
        self._bag: _Bag | None = None
        self._tracks: dict[str, tuple[ObservedVehicle, Publications]] = {}

    def start(self, simulation: ObservedSimulation) -> None:
        """Open the bag.

        Args:
            simulation: The simulation to be recorded.

        Raises:
            ConfigError: If the folder cannot be written.
        """
        self.stop()
        self._tracks = {}
        self._bag = _Bag(self.folder)

    def record(self, simulation: ObservedSimulation) -> None:
        """Write what is due at this step.

        Args:
            simulation: The simulation, its commands computed and its physics not yet stepped.

        Raises:
            ConfigError: If the bag cannot be written.
        """
        bag = self._bag
        if bag is None:
            return
        with bag.writing(round(simulation.time * 1e9)):
            for vehicle in simulation.vehicles:
                track = self._tracks.get(vehicle.name)
                if track is None or track[0] is not vehicle:
                    track = self._tracks[vehicle.name] = (vehicle, self._publications(vehicle, bag))
                track[1].send(
                    simulation.time, vehicle.state, vehicle.new_readings if self._with_readings else {}
                )

    def stop(self) -> None:
        """Complete the bag.

        Raises:
            ConfigError: If it cannot be written.
        """
        bag, self._bag = self._bag, None
        if bag is not None:
            bag.close()

    def _publications(self, observed: ObservedVehicle, bag: "_Bag") -> Publications:
        vehicle = cast("Multirotor", observed)
        backend = next((item for item in vehicle.backends if isinstance(item, ROS2)), ROS2())
        namespaces = backend.namespaces or copy_namespaces(default_namespace(vehicle.name), vehicle.count)
        rate = recorded_rate(self._options.rate_hz, vehicle.physics_rate)
        topics = Topics(
            [_BagNode(bag, namespace) for namespace in namespaces],
            dict.fromkeys(STATE_TOPICS, TopicOptions(rate_hz=rate)),
            physics_rate=vehicle.physics_rate,
            claims=Claims([]),
        )
        frames = [backend.frames.names(namespace) for namespace in namespaces]
        state = state_contents(vehicle, backend.frames, backend.variances)
        return Publications(vehicle, topics, frames, state, pictures=self._images)


class _BagNode:
    """A node all of whose writers write to a bag."""

    name = "pegasus"

    def __init__(self, bag: "_Bag", namespace: str) -> None:
        self._bag, self.namespace = bag, namespace

    def publisher(self, message: type[Message], topic: str, qos: QoS) -> Publisher:
        return _BagPublisher(self._bag, self._bag.channel(full_topic(topic, self.namespace), message, qos))

    def subscription(self, message: type[Message], topic: str, qos: QoS) -> Subscription:
        raise NotImplementedError("a bag that is written is not read")

    def announce(self) -> None:
        """A bag tells nobody."""

    def close(self) -> None:
        """The bag is closed by its recorder."""


class _BagPublisher:
    """Writer of a topic of a bag."""

    matched = 1

    def __init__(self, bag: "_Bag", channel: int) -> None:
        self._bag, self._channel = bag, channel

    def publish(self, data: bytes) -> None:
        self._bag.write(self._channel, data)

    def close(self) -> None:
        """The bag is closed by its recorder."""


class _Bag:
    """A bag that is being written."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / f"{folder.name}_0.mcap"
        self._channels: dict[str, int] = {}
        self._topics: list[tuple[int, str, MessageType, QoS]] = []
        self._schemas: dict[str, int] = {}
        self._counts: Counter[int] = Counter()
        self._stamp = 0
        self._first: int | None = None
        self._whole = True
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "metadata.yaml").unlink(missing_ok=True)
            self._file: BinaryIO = self._path.open("wb")
        except OSError as error:
            raise self._unwritable(error) from None
        self._writer = Writer(self._file, chunk_size=_CHUNK_SIZE, compression=CompressionType.ZSTD)
        self._writer.start(profile="ros2", library=f"pegasus {__version__}")

    @contextlib.contextmanager
    def writing(self, stamp: int) -> Iterator[None]:
        """Give what is written within a stamp [ns]."""
        self._stamp = stamp
        try:
            yield
            self._file.flush()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            raise self._unwritable(error) from None

    def channel(self, topic: str, message: type[Message], qos: QoS) -> int:
        """Return the channel of a topic; several writers share it."""
        kind = message.description
        if topic not in self._channels:
            if kind.name not in self._schemas:
                self._schemas[kind.name] = self._writer.register_schema(
                    kind.name, "ros2msg", kind.definition.encode()
                )
            metadata = {"offered_qos_profiles": offered_profile(qos), "topic_type_hash": kind.type_hash}
            number = self._writer.register_channel(topic, "cdr", self._schemas[kind.name], metadata)
            self._channels[topic] = number
            self._topics.append((number, topic, kind, qos))
        return self._channels[topic]

    def write(self, channel: int, data: bytes) -> None:
        """Add a message."""
        if self._first is None:
            self._first = self._stamp
        self._whole = False
        self._writer.add_message(channel, self._stamp, data, self._stamp)
        self._whole = True
        self._counts[channel] += 1

    def close(self) -> None:
        """Complete the file, and write what rosbag2 wants to know of it; `ros2 bag reindex` can do so too."""
        if self._file.closed:
            return
        try:
            with self._file:
                # An interrupt in the middle of a message has spoilt the open chunk; the others are whole.
                if not self._whole:
                    return
                self._writer.finish()  # type: ignore[no-untyped-call]
            text = yaml.safe_dump(self._metadata(), sort_keys=False)
            (self._folder / "metadata.yaml").write_text(text)
        except OSError as error:
            raise self._unwritable(error) from None

    def _metadata(self) -> dict[str, object]:
        first = self._first or 0
        begin, duration = {"nanoseconds_since_epoch": first}, {"nanoseconds": self._stamp - first}
        count = self._counts.total()
        topics = [
            {
                "topic_metadata": {
                    "name": topic,
                    "type": kind.name,
                    "serialization_format": "cdr",
                    "offered_qos_profiles": offered_profile(qos),
                },
                "message_count": self._counts[number],
            }
            for number, topic, kind, qos in self._topics
        ]
        file = {
            "path": self._path.name,
            "starting_time": dict(begin),
            "duration": dict(duration),
            "message_count": count,
        }
        return {
            "rosbag2_bagfile_information": {
                "version": _METADATA_VERSION,
                "storage_identifier": "mcap",
                "duration": duration,
                "starting_time": begin,
                "message_count": count,
                "topics_with_message_count": topics,
                "compression_format": "",
                "compression_mode": "",
                "relative_file_paths": [self._path.name],
                "files": [file],
            }
        }

    def _unwritable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"cannot be written: {error.strerror}",
            file=self._folder,
            remedy="give a folder that can be written and has space left",
        )
