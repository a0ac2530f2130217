"""Recorded messages of a vehicle: its signals, faults, readings and images, and what Foxglove shows of it."""

import logging
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import orjson

from pegasus.cameras import ImageQueue
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.core.aircraft import Aircraft
from pegasus.recording.foxglove import LocationMessages, LogMessages, PathMessages, vehicle_message
from pegasus.recording.images import IMAGE_MESSAGES
from pegasus.recording.messages import FrameMessages, ItemMessages, Messages
from pegasus.recording.reading_messages import ReadingMessages
from pegasus.recording.recorded import ActingFaults, Command, ContactForces, JointAngles
from pegasus.recording.schemas import (
    FRAME_TRANSFORMS,
    LOCATION_FIX,
    SCENE_UPDATE,
    Field,
    MessageType,
    item_fields,
    item_type,
)
from pegasus.sensors import GpsReading

# Number of copies of a vehicle with a frame for 3D display; the state holds all copies.
_FRAME_LIMIT = 16
# Redundant with `orientation`; it would enlarge every state by a third.
_DERIVED = frozenset({"rotation"})


class _ImageMessages(NamedTuple):
    """Encoded messages of a camera or lidar reading."""

    prefix: str
    """Topic of the sensor."""
    stamp: int
    """Time [ns]."""
    encoded: list[tuple[str, MessageType, bytes]]
    """Topic below that of the sensor, type and content of each message."""


class VehicleTrack:
    """Messages of a recorded vehicle.

    Args:
        vehicle: The vehicle.
        register: Returns the number of a channel, given its topic, type and metadata.
        events: Messages of the log, to which beginnings of segments and faults are added.
        readings: Whether to record readings.
        images: Whether to render and record camera images and lidar points.
    """

    def __init__(
        self,
        vehicle: Aircraft,
        register: Callable[[str, MessageType, dict[str, str]], int],
        events: LogMessages,
        *,
        readings: bool,
        images: bool,
    ) -> None:
        self.vehicle = vehicle
        self.image_size = 0
        """Size of the images that are not written yet [byte]."""
        self._register, self._events = register, events
        self._with_readings, self._with_images = readings, images
        self._state: VehicleState | None = None
        self._columns: list[tuple[ItemMessages, list[npt.NDArray[Any]]]] = []
        """Messages of state, command and angles of joints, each with its columns of the vehicle."""
        self._metadata = {"vehicle": vehicle.name, "count": str(vehicle.count)}
        count = min(vehicle.count, _FRAME_LIMIT)
        self._frames = [f"{vehicle.name}/{i}" for i in range(count)] if vehicle.count > 1 else [vehicle.name]
        self._signals: dict[str, ItemMessages] = {}
        self._is_touching = False
        self._faults, self._fault_event_count = ActingFaults("", np.zeros(vehicle.count)), 0
        self._shown: list[Messages] = []
        self._path: PathMessages | None = None
        self._segment = ""
        self._sensors: dict[str, ReadingMessages] = {}
        self._images: dict[str, Messages] = {}
        self._queues: dict[str, ImageQueue[_ImageMessages]] = {}

    def messages(self) -> list[Messages]:
        """Return the messages of all topics, in the order in which those of one step are written."""
        if self._path is not None:
            self._path.collect()
        return [*self._signals.values(), *self._shown, *self._sensors.values(), *self._images.values()]

    def finish_images(self) -> None:
        """Wait for the images that are being encoded."""
        for queue in self._queues.values():
            queue.finish()

    def finish_path(self) -> None:
        """Make the message of the path, after all others are written."""
        if self._path is not None:
            self._path.finish()

    def add_signals(self, stamp: int) -> None:
        """Add state, command, reference, estimate and contacts.

        Args:
            stamp: Time [ns].
        """
        vehicle, signals = self.vehicle, self._signals
        if not signals:
            self._open_signals(stamp)
        if vehicle.state is not self._state:
            self._find_columns()
        for messages, arrays in self._columns:
            messages.add_arrays(stamp, arrays)
        if (reference := vehicle.reference) is not None:
            if "reference" not in signals:
                signals["reference"] = self._opened("reference", reference)
            signals["reference"].add(stamp, reference)
            if reference.segment != self._segment:
                self._segment = reference.segment
                self._events.add(logging.INFO, f"{vehicle.name}: {self._segment}", vehicle.name)
        if (estimate := vehicle.estimate) is not None:
            if "estimate" not in signals:
                signals["estimate"] = self._opened("estimate", estimate)
            signals["estimate"].add(stamp, estimate)
        contacts = vehicle.contacts
        if contacts or self._is_touching:
            # The last message of a vehicle that touches something says that it does not any more.
            forces = ContactForces.of(contacts, vehicle.count)
            if "contacts" not in signals:
                signals["contacts"] = self._opened("contacts", forces)
            signals["contacts"].add(stamp, forces)
        self._is_touching = bool(contacts)

    def add_faults(self, stamp: int) -> None:
        """Add the beginnings and ends of faults since the last step, and the faults that act now.

        Args:
            stamp: Time [ns].
        """
        faults = self.vehicle.faults
        new = faults.events[self._fault_event_count :]
        if not new:
            return
        self._fault_event_count = len(faults.events)
        name, count = self.vehicle.name, self.vehicle.count
        for event in new:
            copies = "" if len(event.copies) == count else f", copies {', '.join(map(str, event.copies))}"
            self._events.add(logging.WARNING, f"{name}: {event}{copies}", name)
        acting = faults.acting
        self._faults.names = "; ".join(injection.label for injection in acting)
        self._faults.fault_count = np.zeros(count)
        for injection in acting:
            self._faults.fault_count += injection.active
        if "faults" not in self._signals:
            self._signals["faults"] = self._opened("faults", self._faults)
        self._signals["faults"].add(stamp, self._faults)

    def add_readings(self, stamp: int) -> None:
        """Add the readings of this step.

        Args:
            stamp: Time [ns].
        """
        vehicle = self.vehicle
        for name in vehicle.sensors.new_names if self._with_readings else ():
            messages = self._sensors.get(name) or self._open_sensor(name)
            messages.add_new(stamp)
        for name, reading in vehicle.new_readings.items() if self._with_images else ():
            self._add_images(name, reading, stamp)
        for queue in self._queues.values():
            queue.pace()

    def _open_signals(self, stamp: int) -> None:
        vehicle, signals = self.vehicle, self._signals
        signals["state"] = self._opened("state", vehicle.state)
        channels = orjson.dumps([[channel.name, channel.unit] for channel in vehicle.channels]).decode()
        command = Command(vehicle.columns["limited_command"])
        signals["command"] = self._opened("command", command, channels=channels)
        if (angles := vehicle.columns.get("joint_angle")) is not None and (count := angles.shape[1]):
            joints = [[channel.name, channel.unit] for channel in vehicle.channels[-count:]]
            named = orjson.dumps(joints).decode()
            signals["joints"] = self._opened("joints", JointAngles(angles), channels=named)
        channel = self._register(f"/{vehicle.name}/tf", FRAME_TRANSFORMS, {})
        model = Messages(self._register(f"/{vehicle.name}/model", SCENE_UPDATE, {}))
        model.waiting.append((stamp, vehicle_message(vehicle, self._frames, stamp)))
        path = self._register(f"/{vehicle.name}/path", SCENE_UPDATE, {})
        self._path = PathMessages(path, self._frames, signals["state"])
        self._shown += [FrameMessages(channel, self._frames, signals["state"]), model, self._path]

    def _find_columns(self) -> None:
        """Take the present columns of the vehicle, which change when vehicles come and go."""
        columns, self._state, state = self.vehicle.columns, self.vehicle.state, self._signals["state"]
        arrays = [getattr(self._state, field.name) for field in state.layout.arrays]
        self._columns = [(state, arrays), (self._signals["command"], [columns["limited_command"]])]
        if "joints" in self._signals:
            self._columns.append((self._signals["joints"], [columns["joint_angle"]]))

    def _open_sensor(self, name: str) -> ReadingMessages:
        sensors = self.vehicle.sensors
        reading = sensors.last_given(name)
        channel, recorded = self._channel(f"sensors/{name}", reading)
        messages = self._sensors[name] = ReadingMessages(channel, recorded, sensors, name)
        if isinstance(reading, GpsReading):
            fix = self._register(f"/{self.vehicle.name}/sensors/{name}/fix", LOCATION_FIX, {})
            self._shown.append(LocationMessages(fix, self._frames[0], messages))
        return messages

    def _add_images(self, sensor: str, reading: Reading, stamp: int) -> None:
        make = IMAGE_MESSAGES.find(reading)
        if make is None:
            return
        frame = f"{self.vehicle.name}/{sensor}"

        def images() -> _ImageMessages:
            made = make(reading, frame, stamp)
            encoded = [(m.topic, m.kind, m.kind.encoded(m.content)) for m in made]
            return _ImageMessages(f"/{self.vehicle.name}/sensors/{sensor}", stamp, encoded)

        if sensor not in self._queues:
            self._queues[sensor] = ImageQueue(self._keep_images)
        self._queues[sensor].add(reading, images)

    def _keep_images(self, images: _ImageMessages) -> None:
        for name, kind, data in images.encoded:
            topic = f"{images.prefix}/{name}"
            messages = self._images.get(topic)
            if messages is None:
                messages = self._images[topic] = Messages(self._register(topic, kind, {}))
            messages.waiting.append((images.stamp, data))
            self.image_size += len(data)

    def _opened(self, topic: str, item: Any, **metadata: str) -> ItemMessages:
        return ItemMessages(*self._channel(topic, item, **metadata))

    def _channel(self, topic: str, item: Any, **metadata: str) -> tuple[int, list[Field]]:
        """Return the number of a channel of instances of a dataclass, and their recorded fields."""
        names = [field.name for field in fields(item) if field.metadata.get("recorded", True)]
        if isinstance(item, VehicleState):
            names = [name for name in names if name not in _DERIVED]
        recorded = item_fields(item, names)
        layout = {field.name: [field.kind, field.shape] for field in recorded}
        metadata |= {**self._metadata, "fields": orjson.dumps(layout).decode()}
        kind = item_type(type(item), recorded)
        return self._register(f"/{self.vehicle.name}/{topic}", kind, metadata), recorded
