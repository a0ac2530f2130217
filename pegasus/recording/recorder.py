"""Recorder of runs as MCAP logs."""

import contextlib
import logging
import math
from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.cameras import ImageQueue
from pegasus.contracts.observer import recorded_rate
from pegasus.contracts.reading import Reading
from pegasus.contracts.state import VehicleState
from pegasus.core.multirotor import Multirotor
from pegasus.core.schedule import Schedule
from pegasus.core.simulation import Simulation
from pegasus.recording.foxglove import (
    LocationMessages,
    LogMessages,
    PathMessages,
    vehicle_message,
    world_message,
)
from pegasus.recording.images import IMAGE_MESSAGES
from pegasus.recording.mcap_file import McapFile
from pegasus.recording.messages import FrameMessages, ItemMessages, Messages
from pegasus.recording.mover_track import MoverTrack
from pegasus.recording.recorded import ActingFaults, Command, ContactForces, JointAngles
from pegasus.recording.schemas import (
    FRAME_TRANSFORMS,
    LOCATION_FIX,
    LOG,
    SCENE_UPDATE,
    MessageType,
    item_fields,
    item_type,
)
from pegasus.sensors import GpsReading
from pegasus.version import __version__

# A killed process loses at most one chunk: about 2 s of one vehicle's flight.
_CHUNK_SIZE = 256 * 1024
# Number of copies of a vehicle with a frame for 3D display; the state holds all copies.
_FRAME_LIMIT = 16
# Redundant with `orientation`; it would enlarge every state by a third.
_DERIVED = frozenset({"rotation"})


class McapRecorder:
    """Observer that writes a run to an MCAP file, stamped with simulation time: equal runs give equal bytes.

    Messages are those of ROS 2 in CDR, with their definitions. Each vehicle has the topics
    `/<vehicle>/state`, `/command`, `/reference`, `/estimate`, `/contacts`, `/faults`, `/sensors/<sensor>`
    and `/tf` (frames of its first copies), each mover `/<mover>/state` and `/tf`. All numbers are read back
    bit for bit. For Foxglove there are `/world`, `/log` and, of each vehicle, `/model`, `/path` and
    `/sensors/<gps>/fix`.

    If the process is killed, the file lacks its last chunk only, and `read_log` reads it.

    Args:
        path: File to write; an existing one is replaced when a run starts.
        state_rate: Rate of states, commands and references [Hz], at most the physics rate. By default every
            k-th step is recorded, at 100 Hz or slightly more. A rate that does not divide the physics rate
            is met on average, with intervals of two lengths.
        readings: Whether to record readings.
        images: Whether to render and record camera images and lidar points.

    Raises:
        ConfigError: If the rate is not a positive number.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        state_rate: float | None = None,
        readings: bool = True,
        images: bool = False,
    ) -> None:
        valid = state_rate is None or 0 < state_rate < math.inf
        require(valid, "state_rate", state_rate, "must be above 0 Hz")
        self.path = Path(path)
        self._state_rate, self._readings, self._images = state_rate, readings, images
        self._log: _OpenLog | None = None

    def start(self, simulation: Simulation) -> None:
        """Open the file and write its metadata.

        Args:
            simulation: The simulation.

        Raises:
            ConfigError: If the file cannot be written.
        """
        self.stop()
        self._log = _OpenLog(
            self.path,
            simulation,
            state_rate=self._state_rate,
            readings=self._readings,
            images=self._images,
        )

    def record(self, simulation: Simulation) -> None:
        """Write the messages that are due at this step.

        Args:
            simulation: The simulation, after its commands and before its physics step.

        Raises:
            ConfigError: If the file cannot be written, or a reading has a field that cannot be recorded, or
                has changed its type or shape.
        """
        if self._log is not None:
            self._log.record(simulation)

    def stop(self) -> None:
        """Complete and close the file.

        Raises:
            ConfigError: If the file cannot be written.
        """
        log, self._log = self._log, None
        if log is not None:
            log.close()


class _ImageMessages(NamedTuple):
    """Encoded messages of a camera or lidar reading."""

    track: "_Track"
    prefix: str
    """Topic of the sensor."""
    stamp: int
    """Time [ns]."""
    encoded: list[tuple[str, MessageType, bytes]]
    """Topic below that of the sensor, type and content of each message."""


class _Track:
    """Messages of a recorded vehicle by topic, in the order in which those of one step are written."""

    def __init__(self, vehicle: Multirotor) -> None:
        self.vehicle = vehicle
        self.command = Command(vehicle.columns["limited_command"])
        self.metadata = {"vehicle": vehicle.name, "count": str(vehicle.count)}
        self.signals: dict[str, ItemMessages] = {}
        self.touching = False
        self.faults, self.fault_events = ActingFaults("", np.zeros(vehicle.count)), 0
        self.shown: list[Messages] = []
        self.path: PathMessages | None = None
        self.segment = ""
        self.sensors: dict[str, ItemMessages] = {}
        self.images: dict[str, Messages] = {}
        self.queues: dict[str, ImageQueue[_ImageMessages]] = {}

    @property
    def messages(self) -> list[Messages]:
        """Messages of all topics."""
        return [*self.signals.values(), *self.shown, *self.sensors.values(), *self.images.values()]


class _OpenLog:
    """Log file being written."""

    def __init__(
        self,
        path: Path,
        simulation: Simulation,
        *,
        state_rate: float | None,
        readings: bool,
        images: bool,
    ) -> None:
        rate = recorded_rate(state_rate, simulation.rate)
        self._schedule = Schedule(rate, simulation.rate, name="state")
        self._first_step = simulation.step_count
        self._path, self._readings, self._images = path, readings, images
        self._tracks: dict[str, _Track] = {}
        self._schemas: dict[tuple[str, bytes], int] = {}
        self._channels: dict[tuple[str, int, str, str], int] = {}
        self._steps_since_chunk, self._steps_per_chunk = 0, 1
        self._image_size = 0
        self._intact = True
        try:
            self._file = McapFile(path, library=f"pegasus {__version__}")
            self._file.add_metadata(
                "pegasus",
                {
                    "version": __version__,
                    "world": simulation.world_name,
                    "seed": str(simulation.seed),
                    "rate": repr(float(simulation.rate)),
                    "state_rate": repr(float(rate)),
                    "vehicles": orjson.dumps({v.name: v.count for v in simulation.vehicles}).decode(),
                },
            )
        except OSError as error:
            raise self._unwritable(error) from None
        stamp = round(simulation.time * 1e9)
        self._world = Messages(0)
        # A scene that is read when it is first drawn is not read for the log.
        if simulation.scene.is_whole and simulation.scene.colliders:
            self._world.channel = self._register("/world", SCENE_UPDATE, {})
            self._world.waiting.append((stamp, world_message(simulation.scene, stamp)))
        self._events = LogMessages(lambda: self._register("/log", LOG, {}))
        self._movers: dict[str, MoverTrack] = {}

    def record(self, simulation: Simulation) -> None:
        stamp = self._events.stamp = round(simulation.time * 1e9)
        due = self._schedule.due(simulation.step_count - self._first_step)
        for vehicle in simulation.vehicles:
            track = self._tracks.get(vehicle.name)
            if track is None or track.vehicle is not vehicle:
                track = self._open_track(vehicle)
            if due:
                self._add_signals(track, stamp)
            self._add_faults(track, stamp)
            for name, reading in vehicle.new_readings.items():
                if self._readings:
                    if name not in track.sensors:
                        track.sensors[name] = self._opened(track, f"sensors/{name}", reading)
                        if isinstance(reading, GpsReading):
                            self._open_fixes(track, name)
                    track.sensors[name].add(stamp, reading)
                if self._images:
                    self._add_images(track, name, reading, stamp)
            for queue in track.queues.values():
                queue.pace()
        for mover in simulation.movers if due else ():
            known = self._movers.get(mover.name)
            if known is None or known.mover is not mover:
                # Messages of another mover of this name come first.
                self._write_chunk()
                self._steps_per_chunk = 1
                known = MoverTrack(mover, simulation.time, stamp, self._register)
                self._movers[mover.name] = known
            known.add(simulation.time, stamp)
        self._steps_since_chunk += 1
        if self._steps_since_chunk >= self._steps_per_chunk or self._image_size > _CHUNK_SIZE:
            self._write_chunk()

    def close(self) -> None:
        self._events.close()
        if self._file.closed:
            return
        try:
            # After an interrupt within a write the file may end in a part of a chunk; the others are intact.
            if self._intact:
                self._finish_paths(self._tracks.values())
                self._file.finish()
        except OSError as error:
            raise self._unwritable(error) from None
        finally:
            with contextlib.suppress(OSError):
                self._file.close()

    def _open_track(self, vehicle: Multirotor) -> _Track:
        # Messages of another vehicle of this name come first. Chunks grow anew, because the size of the new
        # vehicle's messages is not known yet.
        self._finish_paths([track for name, track in self._tracks.items() if name == vehicle.name])
        self._steps_per_chunk = 1
        track = self._tracks[vehicle.name] = _Track(vehicle)
        return track

    def _finish_paths(self, tracks: Collection[_Track]) -> None:
        for track in tracks:
            for queue in track.queues.values():
                queue.finish()
        self._write_chunk()
        for track in tracks:
            if track.path is not None:
                track.path.finish()
        self._write_chunk()

    def _add_signals(self, track: _Track, stamp: int) -> None:
        vehicle, signals = track.vehicle, track.signals
        if not signals:
            self._open_signals(track, stamp)
        track.command.command = vehicle.columns["limited_command"]
        signals["state"].add(stamp, vehicle.state)
        signals["command"].add(stamp, track.command)
        if "joints" in signals:
            signals["joints"].add(stamp, JointAngles(vehicle.columns["joint_angle"]))
        if (reference := vehicle.reference) is not None:
            if "reference" not in signals:
                signals["reference"] = self._opened(track, "reference", reference)
            signals["reference"].add(stamp, reference)
            if reference.segment != track.segment:
                track.segment = reference.segment
                self._events.add(logging.INFO, f"{vehicle.name}: {track.segment}", vehicle.name)
        if (estimate := vehicle.estimate) is not None:
            if "estimate" not in signals:
                signals["estimate"] = self._opened(track, "estimate", estimate)
            signals["estimate"].add(stamp, estimate)
        self._add_contacts(track, stamp)

    def _add_contacts(self, track: _Track, stamp: int) -> None:
        """Add the contacts of a vehicle that touches something, and once their end."""
        contacts = track.vehicle.contacts
        if contacts or track.touching:
            forces = ContactForces.of(contacts, track.vehicle.count)
            if "contacts" not in track.signals:
                track.signals["contacts"] = self._opened(track, "contacts", forces)
            track.signals["contacts"].add(stamp, forces)
        track.touching = bool(contacts)

    def _add_faults(self, track: _Track, stamp: int) -> None:
        """Add the beginnings and ends of faults since the last step, and the faults that act now."""
        faults = track.vehicle.faults
        new = faults.events[track.fault_events :]
        if not new:
            return
        track.fault_events = len(faults.events)
        name, count = track.vehicle.name, track.vehicle.count
        for event in new:
            copies = "" if len(event.copies) == count else f", copies {', '.join(map(str, event.copies))}"
            self._events.add(logging.WARNING, f"{name}: {event}{copies}", name)
        acting = faults.acting
        track.faults.names = "; ".join(injection.label for injection in acting)
        track.faults.fault_count = np.zeros(count)
        for injection in acting:
            track.faults.fault_count += injection.active
        if "faults" not in track.signals:
            track.signals["faults"] = self._opened(track, "faults", track.faults)
        track.signals["faults"].add(stamp, track.faults)

    def _open_signals(self, track: _Track, stamp: int) -> None:
        vehicle, signals = track.vehicle, track.signals
        signals["state"] = self._opened(track, "state", vehicle.state)
        channels = orjson.dumps([[channel.name, channel.unit] for channel in vehicle.channels]).decode()
        signals["command"] = self._opened(track, "command", track.command, channels=channels)
        if (angles := vehicle.columns.get("joint_angle")) is not None and (count := angles.shape[1]):
            joints = [[channel.name, channel.unit] for channel in vehicle.channels[-count:]]
            named = orjson.dumps(joints).decode()
            signals["joints"] = self._opened(track, "joints", JointAngles(angles), channels=named)
        frames = _frames(vehicle)
        channel = self._register(f"/{vehicle.name}/tf", FRAME_TRANSFORMS, {})
        model = Messages(self._register(f"/{vehicle.name}/model", SCENE_UPDATE, {}))
        model.waiting.append((stamp, vehicle_message(vehicle, frames, stamp)))
        path = self._register(f"/{vehicle.name}/path", SCENE_UPDATE, {})
        track.path = PathMessages(path, frames, signals["state"])
        track.shown += [FrameMessages(channel, frames, signals["state"]), model, track.path]

    def _open_fixes(self, track: _Track, sensor: str) -> None:
        name = track.vehicle.name
        channel = self._register(f"/{name}/sensors/{sensor}/fix", LOCATION_FIX, {})
        frame = _frames(track.vehicle)[0]
        track.shown.append(LocationMessages(channel, frame, track.sensors[sensor]))

    def _add_images(self, track: _Track, sensor: str, reading: Reading, stamp: int) -> None:
        make = IMAGE_MESSAGES.find(reading)
        if make is None:
            return
        frame = f"{track.vehicle.name}/{sensor}"

        def images() -> _ImageMessages:
            made = make(reading, frame, stamp)
            encoded = [(m.topic, m.kind, m.kind.encoded(m.content)) for m in made]
            return _ImageMessages(track, f"/{track.vehicle.name}/sensors/{sensor}", stamp, encoded)

        if sensor not in track.queues:
            track.queues[sensor] = ImageQueue(self._keep_images)
        track.queues[sensor].add(reading, images)

    def _keep_images(self, images: _ImageMessages) -> None:
        track, prefix, stamp, encoded = images
        for name, kind, data in encoded:
            topic = f"{prefix}/{name}"
            messages = track.images.get(topic)
            if messages is None:
                messages = track.images[topic] = Messages(self._register(topic, kind, {}))
            messages.waiting.append((stamp, data))
            self._image_size += len(data)

    def _opened(self, track: _Track, topic: str, item: Any, **metadata: str) -> ItemMessages:
        names = [field.name for field in fields(item) if field.metadata.get("recorded", True)]
        if isinstance(item, VehicleState):
            names = [name for name in names if name not in _DERIVED]
        recorded = item_fields(item, names)
        layout = {field.name: [field.kind, field.shape] for field in recorded}
        metadata |= {**track.metadata, "fields": orjson.dumps(layout).decode()}
        kind = item_type(type(item), recorded)
        return ItemMessages(self._register(f"/{track.vehicle.name}/{topic}", kind, metadata), recorded)

    def _register(self, topic: str, kind: MessageType, metadata: dict[str, str]) -> int:
        schema = kind.name, kind.definition
        if schema not in self._schemas:
            self._schemas[schema] = self._file.add_schema(*schema)
        # A vehicle that was removed and added again reuses its channel, unless shapes or names differ.
        key = topic, self._schemas[schema], metadata.get("fields", ""), metadata.get("channels", "")
        if key not in self._channels:
            self._channels[key] = self._file.add_channel(topic, key[1], metadata)
        return self._channels[key]

    def _write_chunk(self) -> None:
        """Write all messages that wait, as one chunk."""
        for track in self._tracks.values():
            if track.path is not None:
                track.path.collect()
        tracked = [m for track in self._tracks.values() for m in track.messages]
        tracked += [m for mover in self._movers.values() for m in mover.messages]
        waiting = [(m, m.encoded()) for m in (self._world, self._events, *tracked)]
        messages = [message for _, listed in waiting for message in listed]
        if not messages:
            return
        chunk = self._file.prepare(
            np.repeat([item.channel for item, _ in waiting], [len(listed) for _, listed in waiting]),
            np.array([stamp for stamp, _ in messages]),
            [content for _, content in messages],
        )
        self._intact = False
        try:
            self._file.write(chunk)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            raise self._unwritable(error) from None
        for item, listed in waiting:
            item.drop(len(listed))
        self._intact = True
        fitting = self._steps_since_chunk * _CHUNK_SIZE // chunk.entry.uncompressed_size
        self._steps_per_chunk = max(1, min(fitting, 4 * self._steps_per_chunk))
        self._steps_since_chunk = self._image_size = 0

    def _unwritable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"cannot be written: {error.strerror}",
            file=self._path,
            remedy="choose a file in an existing, writable folder with free space",
        )


def _frames(vehicle: Multirotor) -> list[str]:
    """Return the names of the frames of the first copies of a vehicle."""
    shown = range(min(vehicle.count, _FRAME_LIMIT))
    return [f"{vehicle.name}/{i}" for i in shown] if vehicle.count > 1 else [vehicle.name]
