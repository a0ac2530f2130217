"""Replicator in the window: the panel's part that runs a writer, and its section."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from pegasus.base.errors import ConfigError
from pegasus.cameras import Camera
from pegasus.core.aircraft import Aircraft
from pegasus.core.simulation import Simulation
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.replicator import Replication, replicate
from pegasus.panel.board import Part, Topic, action
from pegasus.panel.fields import Buttons, Check, Lines, Section, Text
from pegasus.panel.panel import Panel
from pegasus.recording import make_run_folder
from pegasus.session.snapshot import Snapshot

BASIC_WRITER = "BasicWriter"
BASIC_OUTPUTS = (
    "rgb",
    "distance_to_camera",
    "distance_to_image_plane",
    "normals",
    "semantic_segmentation",
    "instance_id_segmentation",
    "bounding_box_2d_tight",
    "bounding_box_3d",
)
"""Outputs of BasicWriter, by the names of its parameters."""


class ReplicatorPart(Part):
    """Panel part that runs a Replicator writer on the cameras of the followed vehicle."""

    def __init__(self, panel: Panel, session: KitSession, *, out: Path | None = None) -> None:
        super().__init__(panel.world.board)
        self._session, self._view = session, panel.view
        self.out = Path("runs") if out is None else out
        self.writer = BASIC_WRITER
        """Registered name of the writer."""
        self.outputs: tuple[str, ...] = ("rgb",)
        """Outputs of BasicWriter; other writers start with their defaults."""
        self._replication: Replication | None = None
        self._folder: Path | None = None
        self._vehicle, self._generation = "", -1
        self._leave = session.watch(on_snapshot=self._on_snapshot)

    @property
    def folder(self) -> Path | None:
        """Output folder of the running writer; None if none runs."""
        return self._folder if self._replication is not None else None

    @action(Topic.SENSORS)
    def set_writer(self, writer: str) -> None:
        """Set the writer by its registered name."""
        self.writer = writer.strip()

    @action(Topic.SENSORS)
    def set_output(self, name: str, *, on: bool) -> None:
        """Enable or disable an output of BasicWriter, such as `rgb`."""
        kept = tuple(known for known in self.outputs if known != name)
        self.outputs = (*kept, name) if on else kept

    @action(Topic.SENSORS)
    def start(self) -> None:
        """Start the writer, which writes every frame while the timeline plays."""
        if self._replication is not None:
            raise ConfigError("is running already", field="replicator", remedy="stop it first")
        snapshot = self._session.snapshot
        followed = self._view.followed_vehicle(snapshot)
        if followed is None:
            raise ConfigError("there is no vehicle", field="vehicle", remedy="add one with a camera first")
        name = followed[0].name
        vehicle = self._session.call(lambda simulation: _with_camera(simulation, name))
        basic = self.writer == BASIC_WRITER
        parameters = dict.fromkeys(self.outputs, True) if basic else {}
        folder = make_run_folder(self.out, "replicator").resolve()
        try:
            self._replication = _started(vehicle, folder, self.writer, parameters)
        except ConfigError:
            with suppress(OSError):  # A folder with files is kept.
                folder.rmdir()
            raise
        self._folder, self._vehicle, self._generation = folder, name, snapshot.generation
        self.board.report(f"{self.writer} writes images of {name} into {folder}")

    @action(Topic.SENSORS)
    def stop(self) -> None:
        """Stop the writer, if one runs."""
        if self._replication is not None:
            replication, self._replication = self._replication, None
            replication.close()
            self.board.report(f"written: {self._folder}")

    def close(self) -> None:
        """Stop the writer and the observation of the simulation."""
        self._leave()
        self.stop()

    def _on_snapshot(self, snapshot: Snapshot) -> None:
        """Stop the writer when its vehicle or world was removed."""
        gone = snapshot.generation != self._generation or snapshot.vehicle(self._vehicle) is None
        if self._replication is not None and gone:
            self.stop()


def _started(vehicle: Aircraft, folder: Path, writer: str, parameters: dict[str, Any]) -> Replication:
    try:
        return replicate(vehicle, output_dir=folder, writer=writer, **parameters)
    except ConfigError:
        raise
    except Exception as error:  # Writers are third-party code and may raise anything.
        raise ConfigError(
            f"cannot be started: {error}",
            field="writer",
            value=writer,
            remedy="choose another writer, or install its requirements",
        ) from error


def _with_camera(simulation: Simulation, name: str) -> Aircraft:
    vehicle = simulation.vehicles[name]
    cameras = any(isinstance(sensor, Camera) for sensor in vehicle.sensors.values())
    if not (isinstance(vehicle, Aircraft) and cameras):
        raise ConfigError("has no camera", field="vehicle", value=name, remedy="mount one first")
    return vehicle


def replicator(part: ReplicatorPart) -> Section:
    """Return the Replicator writer on the cameras of the followed vehicle."""

    def output(name: str) -> Check:
        return Check(
            name,
            lambda: name in part.outputs,
            lambda on: part.set_output(name, on=on),
            shown=lambda: part.writer == BASIC_WRITER,
        )

    items = [
        Text("Writer", lambda: part.writer, part.set_writer),
        *map(output, BASIC_OUTPUTS),
        Buttons({"Start": part.start, "Stop": part.stop}),
        Lines(lambda: [] if part.folder is None else [f"into {part.folder}"]),
    ]
    return Section("Replicator", frozenset({Topic.SENSORS}), items)
