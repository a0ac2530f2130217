"""Rosbag recorder: the topics of the ROS 2 backend as a rosbag2 folder."""

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import yaml
from mcap.writer import CompressionType, Writer

from pegasus.backends.ros2.backend import ROS2
from pegasus.backends.ros2.contents import STATE_TOPICS, state_contents
from pegasus.backends.ros2.estimates import estimate_contents
from pegasus.backends.ros2.graph import Publisher, QoS, Subscription
from pegasus.backends.ros2.messages import definition, type_hash, typestore
from pegasus.backends.ros2.names import Claims, copy_namespaces, default_namespace, full_topic
from pegasus.backends.ros2.publications import Publications
from pegasus.backends.ros2.topics import TopicOptions, Topics
from pegasus.base.errors import ConfigError
from pegasus.contracts.observer import recorded_rate
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.version import __version__

_CHUNK_SIZE = 256 * 1024
_METADATA_VERSION = 5
"""Version of Humble, which every later rosbag2 reads."""
# rmw/types.h: keep last; reliable, best effort; transient local, volatile; automatic liveliness; no limit.
_KEEP_LAST, _AUTOMATIC = 1, 1
_RELIABLE, _BEST_EFFORT = 1, 2
_TRANSIENT_LOCAL, _VOLATILE = 1, 2
_UNLIMITED = {"sec": 9223372036, "nsec": 854775807}


def offered_profile(qos: QoS) -> str:
    """Return a quality of service in the form of rosbag2: a list of profiles in YAML."""
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
    """Recorder of a run as a bag: an MCAP file of CDR messages with ROS 2 schemas, and `metadata.yaml`.

    Topics and frames are those of the vehicle's ROS 2 backend, by default in a namespace of its name.
    Stamps are simulation time; `ros2 bag play --clock` plays them. It needs no ROS 2, only rosbags.

    Args:
        folder: Folder of the bag; an existing bag is replaced when a run starts.
        state_rate: True states per second [Hz]; see `McapRecorder`.
        readings: Whether readings are recorded.
        images: Whether images and point clouds are recorded, which are computed for it.

    Raises:
        ConfigError: If the rate is not a positive number, or rosbags is not installed.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        state_rate: float | None = None,
        readings: bool = True,
        images: bool = False,
    ) -> None:
        typestore()
        self._options = TopicOptions(rate_hz=state_rate)
        self.folder = Path(folder)
        self._with_readings, self._images = readings, images
        self._bag: _Bag | None = None
        self._tracks: dict[str, tuple[Aircraft, Publications]] = {}

    def start(self, simulation: Simulation) -> None:
        """Open the bag.

        Args:
            simulation: The simulation.

        Raises:
            ConfigError: If the folder cannot be written.
        """
        self.stop()
        self._tracks = {}
        self._bag = _Bag(self.folder)

    def record(self, simulation: Simulation) -> None:
        """Write the messages that are due at this step.

        Args:
            simulation: The simulation, after its commands and before its physics step.

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

    def _publications(self, vehicle: Aircraft, bag: "_Bag") -> Publications:
        backend = next((item for item in vehicle.backends if isinstance(item, ROS2)), ROS2())
        namespaces = backend.namespaces or copy_namespaces(default_namespace(vehicle.name), vehicle.count)
        rate = recorded_rate(self._options.rate_hz, vehicle.physics_rate)
        topics = Topics(
            [_BagNode(bag, namespace) for namespace in namespaces],
            dict.fromkeys((*STATE_TOPICS, "estimate"), TopicOptions(rate_hz=rate)),
            physics_rate=vehicle.physics_rate,
            claims=Claims([]),
        )
        frames = [backend.frames.names(namespace) for namespace in namespaces]
        state = state_contents(vehicle, backend.frames, backend.variances) + estimate_contents(vehicle)
        # The bag's own times are those of the step that writes, so that equal runs give equal bags.
        return Publications(vehicle, topics, frames, state, images=self._images, beside=False)


class _BagNode:
    """Node whose writers write to a bag."""

    name = "pegasus"

    def __init__(self, bag: "_Bag", namespace: str) -> None:
        self._bag, self.namespace = bag, namespace

    def publisher(self, kind: str, topic: str, qos: QoS) -> Publisher:
        return _BagPublisher(self._bag, self._bag.channel(full_topic(topic, self.namespace), kind, qos))

    def subscription(self, kind: str, topic: str, qos: QoS) -> Subscription:
        raise NotImplementedError("a bag recorder has no subscriptions")

    def announce(self) -> None:
        """Do nothing: a bag has no graph."""

    def close(self) -> None:
        """Do nothing: the recorder closes the bag."""


class _BagPublisher:
    """Writer of a topic of a bag."""

    matched = 1

    def __init__(self, bag: "_Bag", channel: int) -> None:
        self._bag, self._channel = bag, channel

    def publish(self, data: bytes) -> None:
        self._bag.write(self._channel, data)

    def close(self) -> None:
        """Do nothing: the recorder closes the bag."""


class _Bag:
    """Open bag."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / f"{folder.name}_0.mcap"
        self._channels: dict[str, int] = {}
        self._topics: list[tuple[int, str, str, QoS]] = []
        self._schemas: dict[str, int] = {}
        self._counts: Counter[int] = Counter()
        self._stamp = 0
        self._first: int | None = None
        self._intact = True
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
        """Stamp the messages written within the context [ns]."""
        self._stamp = stamp
        try:
            yield
            self._file.flush()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            raise self._unwritable(error) from None

    def channel(self, topic: str, kind: str, qos: QoS) -> int:
        """Return the channel of a topic; several writers share it."""
        if topic not in self._channels:
            if kind not in self._schemas:
                schema = definition(kind).encode()
                self._schemas[kind] = self._writer.register_schema(kind, "ros2msg", schema)
            metadata = {"offered_qos_profiles": offered_profile(qos), "topic_type_hash": type_hash(kind)}
            number = self._writer.register_channel(topic, "cdr", self._schemas[kind], metadata)
            self._channels[topic] = number
            self._topics.append((number, topic, kind, qos))
        return self._channels[topic]

    def write(self, channel: int, data: bytes) -> None:
        """Add a message."""
        if self._first is None:
            self._first = self._stamp
        self._intact = False
        self._writer.add_message(channel, self._stamp, data, self._stamp)
        self._intact = True
        self._counts[channel] += 1

    def close(self) -> None:
        """Complete the file and write its metadata, which `ros2 bag reindex` could restore."""
        if self._file.closed:
            return
        try:
            with self._file:
                # An interrupt within a message has damaged the open chunk; the other chunks are complete.
                if not self._intact:
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
                    "type": kind,
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
            remedy="choose a writable folder with free space",
        )
