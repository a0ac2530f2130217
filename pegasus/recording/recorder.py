"""Record a run as MCAP: states, commands and references at one rate, readings as they come."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import orjson
from mcap.writer import CompressionType, Writer

from pegasus.arrays import Array
from pegasus.cameras import CameraReading, LidarReading
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.recording.clouds import lidar_messages
from pegasus.recording.observer import ObservedSimulation, ObservedVehicle, recorded_rate
from pegasus.recording.pictures import picture_messages
from pegasus.recording.schemas import frame_transforms_schema, message_schema
from pegasus.sensors.sensor import Schedule
from pegasus.state import VehicleState
from pegasus.version import __version__

# What a killed process loses is at most one chunk: about a second and a half of one vehicle's flight.
_CHUNK_SIZE = 256 * 1024
# Copies of a vehicle that get a frame of their own to be looked at in 3D; the state holds all of them.
_FRAME_LIMIT = 16
# Follows from `orientation`, and would add a third to every state.
_DERIVED = frozenset({"rotation"})


@dataclass(frozen=True, eq=False)
class RotorCommand:
    """Rotor speeds that a vehicle's driving backend commands."""

    rotor_speed: Array
    """Commanded speed of each rotor, held until the next step [rad/s], shape (N, R)."""


class McapRecorder:
    """Write a run to an MCAP file, stamped with simulation time alone: the same run gives the same bytes.

    Messages are JSON with schemas that Foxglove opens. Each vehicle has the topics `/<vehicle>/state`,
    `/command`, `/reference`, `/estimate`, `/sensors/<sensor>` and `/tf`, the frames of its first copies.
    Every number is read back bit for bit, but for NaN and infinities, which JSON lacks: they come back as
    NaN.

    A file whose process was killed holds all but its last chunk, and `read_log` reads it.

    Args:
        path: File to write; one that exists is replaced when a run starts.
        state_rate: States, commands and references per second [Hz]; at most one per physics step. Left out,
            every k-th step is recorded at 100 Hz or a little more. A rate that does not divide that of the
            physics is kept in the long run, with steps of two lengths.
        readings: Whether readings are recorded.
        images: Whether the pictures of cameras and the points of lidars are, which are made for it.

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

    def start(self, simulation: ObservedSimulation) -> None:
        """Open the file and write what it is a log of.

        Args:
            simulation: The simulation to be recorded.

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

    def record(self, simulation: ObservedSimulation) -> None:
        """Write what is due at this step.

        Args:
            simulation: The simulation, its commands computed and its physics not yet stepped.

        Raises:
            ConfigError: If the file cannot be written, or a reading has a field that cannot be recorded.
        """
        if self._log is not None:
            self._log.record(simulation)

    def stop(self) -> None:
        """Complete the file and close it.

        Raises:
            ConfigError: If the file cannot be written.
        """
        log, self._log = self._log, None
        if log is not None:
            log.close()


class _Channel:
    """A topic: its number in the file, and how its messages are encoded."""

    def __init__(self, number: int, names: Sequence[str], item: Any) -> None:
        self.number = number
        self._arrays = [name for name in names if isinstance(getattr(item, name), np.ndarray)]
        self._scalars = [name for name in names if name not in self._arrays]

    def encode(self, item: Any) -> bytes:
        content = {name: getattr(item, name).ravel() for name in self._arrays}
        for name in self._scalars:
            content[name] = getattr(item, name)
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


class _Topics:
    """The topics below a prefix for one vehicle, opened when their first message comes."""

    def __init__(self, prefix: str, vehicle: ObservedVehicle) -> None:
        self.prefix = prefix
        self.metadata = {"vehicle": vehicle.name, "count": str(vehicle.count)}
        self.channels: dict[str, _Channel] = {}


class _Track:
    """A vehicle on record."""

    def __init__(self, vehicle: ObservedVehicle) -> None:
        self.vehicle = vehicle
        self.signals = _Topics(f"/{vehicle.name}", vehicle)
        self.sensors = _Topics(f"/{vehicle.name}/sensors", vehicle)
        self.frame_channel = 0
        shown = range(min(vehicle.count, _FRAME_LIMIT))
        self.frames = [f"{vehicle.name}/{i}" for i in shown] if vehicle.count > 1 else [vehicle.name]


class _OpenLog:
    """A file being written."""

    def __init__(
        self,
        path: Path,
        simulation: ObservedSimulation,
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
        self._schemas: dict[bytes, int] = {}
        self._channels: dict[tuple[str, int], int] = {}
        self._whole = True
        try:
            self._file: BinaryIO = path.open("wb")
        except OSError as error:
            raise self._unwritable(error) from None
        self._writer = Writer(self._file, chunk_size=_CHUNK_SIZE, compression=CompressionType.ZSTD)
        self._writer.start(library=f"pegasus {__version__}")
        self._writer.add_metadata(
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

    def record(self, simulation: ObservedSimulation) -> None:
        stamp = round(simulation.time * 1e9)
        due = self._schedule.due(simulation.step_count - self._first_step)
        try:
            for vehicle in simulation.vehicles:
                track = self._tracks.get(vehicle.name)
                if track is None or track.vehicle is not vehicle:
                    track = self._tracks[vehicle.name] = _Track(vehicle)
                if due:
                    self._write(track.signals, "state", vehicle.state, stamp)
                    self._write(track.signals, "command", RotorCommand(vehicle.rotor_command), stamp)
                    if (reference := vehicle.reference) is not None:
                        self._write(track.signals, "reference", reference, stamp)
                    if (estimate := vehicle.estimate) is not None:
                        self._write(track.signals, "estimate", estimate, stamp)
                    self._write_frames(track, vehicle.state, stamp)
                if self._readings:
                    for name, reading in vehicle.new_readings.items():
                        self._write(track.sensors, name, reading, stamp)
                if self._images:
                    for name, reading in vehicle.new_readings.items():
                        if isinstance(reading, CameraReading | LidarReading):
                            self._write_pictures(vehicle.name, name, reading, stamp)
            # A whole chunk leaves the process with the step that filled it, so that a kill does not take it.
            self._file.flush()
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.close()
            raise self._unwritable(error) from None

    def close(self) -> None:
        if self._file.closed:
            return
        try:
            with self._file:
                # An interrupt in the middle of a message has spoilt the open chunk; the others are whole.
                if self._whole:
                    self._writer.finish()  # type: ignore[no-untyped-call]
        except OSError as error:
            raise self._unwritable(error) from None

    def _write(self, topics: _Topics, name: str, item: Any, stamp: int) -> None:
        channel = topics.channels.get(name)
        if channel is None:
            channel = topics.channels[name] = self._open_channel(topics, name, item)
        self._add(channel.number, channel.encode(item), stamp)

    def _write_frames(self, track: _Track, state: VehicleState, stamp: int) -> None:
        if not track.frame_channel:
            track.frame_channel = self._register(f"{track.signals.prefix}/tf", frame_transforms_schema(), {})
        time = dict(zip(("sec", "nsec"), divmod(stamp, 1_000_000_000), strict=True))
        shown = len(track.frames)
        positions, orientations = state.position[:shown].tolist(), state.orientation[:shown].tolist()
        transforms = [
            {
                "timestamp": time,
                "parent_frame_id": "world",
                "child_frame_id": frame,
                "translation": {"x": x, "y": y, "z": z},
                "rotation": {"x": qx, "y": qy, "z": qz, "w": qw},
            }
            for frame, (x, y, z), (qx, qy, qz, qw) in zip(track.frames, positions, orientations, strict=True)
        ]
        self._add(track.frame_channel, orjson.dumps({"transforms": transforms}), stamp)

    def _write_pictures(
        self, vehicle: str, sensor: str, reading: CameraReading | LidarReading, stamp: int
    ) -> None:
        frame = f"{vehicle}/{sensor}"
        if isinstance(reading, LidarReading):
            messages = lidar_messages(reading, frame, stamp)
        else:
            messages = picture_messages(reading, frame, stamp)
        for message in messages:
            topic = f"/{vehicle}/sensors/{sensor}/{message.topic}"
            self._add(self._register(topic, message.schema, {}), orjson.dumps(message.content), stamp)

    def _add(self, channel: int, data: bytes, stamp: int) -> None:
        self._whole = False
        self._writer.add_message(channel, stamp, data, stamp)
        self._whole = True

    def _open_channel(self, topics: _Topics, name: str, item: Any) -> _Channel:
        names = [field.name for field in fields(item) if field.metadata.get("recorded", True)]
        if isinstance(item, VehicleState):
            names = [name for name in names if name not in _DERIVED]
        number = self._register(f"{topics.prefix}/{name}", message_schema(item, names), topics.metadata)
        return _Channel(number, names, item)

    def _register(self, topic: str, schema: dict[str, Any], metadata: dict[str, str]) -> int:
        data = orjson.dumps(schema)
        self._whole = False
        if data not in self._schemas:
            self._schemas[data] = self._writer.register_schema(schema["title"], "jsonschema", data)
        # A vehicle that left and came back goes on in its old channel, unless its arrays have new shapes.
        key = topic, self._schemas[data]
        if key not in self._channels:
            self._channels[key] = self._writer.register_channel(topic, "json", key[1], metadata)
        self._whole = True
        return self._channels[key]

    def _unwritable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"cannot be written: {error.strerror}",
            file=self._path,
            remedy="give a file in a folder that exists, is writable and has space left",
        )
