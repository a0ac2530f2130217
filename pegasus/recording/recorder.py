"""Recorder of runs as MCAP logs."""

import contextlib
import logging
import math
from collections.abc import Collection
from pathlib import Path

import numpy as np
import orjson

from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.contracts.observer import recorded_rate
from pegasus.core.aircraft import Aircraft
from pegasus.core.schedule import Schedule
from pegasus.core.simulation import Simulation
from pegasus.recording.foxglove import LogMessages, world_message
from pegasus.recording.mcap_file import McapFile
from pegasus.recording.messages import Messages
from pegasus.recording.mover_track import MoverTrack
from pegasus.recording.schemas import LOG, SCENE_UPDATE, MessageType
from pegasus.recording.vehicle_track import VehicleTrack
from pegasus.version import __version__

# A killed process loses at most one chunk: about 2 s of one vehicle's flight.
_CHUNK_SIZE = 256 * 1024


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

    def note(self, time: float, text: str) -> None:
        """Add an error message to the log.

        Args:
            time: Simulation time [s].
            text: The message.
        """
        if self._log is not None:
            self._log.note(time, text)

    def stop(self) -> None:
        """Complete and close the file.

        Raises:
            ConfigError: If the file cannot be written.
        """
        log, self._log = self._log, None
        if log is not None:
            log.close()


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
        self._tracks: dict[str, VehicleTrack] = {}
        self._schemas: dict[tuple[str, bytes], int] = {}
        self._channels: dict[tuple[str, int, str, str], int] = {}
        self._steps_since_chunk, self._steps_per_chunk = 0, 1
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
                track.add_signals(stamp)
            track.add_faults(stamp)
            track.add_readings(stamp)
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
        if self._steps_since_chunk >= self._steps_per_chunk or self._has_many_images():
            self._write_chunk()

    def note(self, time: float, text: str) -> None:
        self._events.stamp = round(time * 1e9)
        self._events.add(logging.ERROR, text, "pegasus")

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

    def _open_track(self, vehicle: Aircraft) -> VehicleTrack:
        # Messages of another vehicle of this name come first. Chunks grow anew, because the size of the new
        # vehicle's messages is not known yet.
        self._finish_paths([track for name, track in self._tracks.items() if name == vehicle.name])
        self._steps_per_chunk = 1
        options = {"readings": self._readings, "images": self._images}
        track = VehicleTrack(vehicle, self._register, self._events, **options)
        self._tracks[vehicle.name] = track
        return track

    def _finish_paths(self, tracks: Collection[VehicleTrack]) -> None:
        for track in tracks:
            track.finish_images()
        self._write_chunk()
        for track in tracks:
            track.finish_path()
        self._write_chunk()

    def _has_many_images(self) -> bool:
        return self._images and sum(track.image_size for track in self._tracks.values()) > _CHUNK_SIZE

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
        tracked = [m for track in self._tracks.values() for m in track.messages()]
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
        for track in self._tracks.values():
            track.image_size = 0
        self._intact = True
        fitting = self._steps_since_chunk * _CHUNK_SIZE // chunk.entry.uncompressed_size
        self._steps_per_chunk = max(1, min(fitting, 4 * self._steps_per_chunk))
        self._steps_since_chunk = 0

    def _unwritable(self, error: OSError) -> ConfigError:
        return ConfigError(
            f"cannot be written: {error.strerror}",
            file=self._path,
            remedy="choose a file in an existing, writable folder with free space",
        )
