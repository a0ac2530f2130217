"""The panel's part for a writer of Replicator, which Isaac Sim alone has."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from pegasus.cameras import Camera
from pegasus.errors import ConfigError
from pegasus.isaac.kit_session import KitSession
from pegasus.isaac.replicator import Replication, replicate
from pegasus.multirotor import Multirotor
from pegasus.panel.board import Part, Topic, action
from pegasus.panel.panel import Panel
from pegasus.panel.snapshot import Snapshot
from pegasus.recording import make_run_folder
from pegasus.simulation import Simulation

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
"""What BasicWriter is asked for by parameters of these names."""


class ReplicatorPart(Part):
    """Start and stop a writer on the cameras of the followed vehicle.

    Args:
        panel: The panel.
        session: Runs the simulation.
        out: Folder that holds the folders that are written.
    """

    def __init__(self, panel: Panel, session: KitSession, *, out: Path | None = None) -> None:
        super().__init__(panel.world.board)
        self._session, self._view = session, panel.view
        self.out = Path("runs") if out is None else out
        self.writer = BASIC_WRITER
        """Name of the writer, as Replicator registers it."""
        self.outputs: tuple[str, ...] = ("rgb",)
        """What BasicWriter writes; another writer is started with its own defaults."""
        self._replication: Replication | None = None
        self._folder: Path | None = None
        self._vehicle, self._generation = "", -1
        self._leave = session.watch(on_snapshot=self._seen)

    @property
    def folder(self) -> Path | None:
        """Folder that is written into; None while nothing is."""
        return self._folder if self._replication is not None else None

    @action(Topic.SENSORS)
    def set_writer(self, writer: str) -> None:
        """Choose the writer.

        Args:
            writer: Its name.
        """
        self.writer = writer.strip()

    @action(Topic.SENSORS)
    def set_output(self, name: str, *, on: bool) -> None:
        """Switch an output of BasicWriter on or off.

        Args:
            name: Name of the parameter, such as `rgb`.
            on: Whether it does.
        """
        kept = tuple(known for known in self.outputs if known != name)
        self.outputs = (*kept, name) if on else kept

    @action(Topic.SENSORS)
    def start(self) -> None:
        """Start the writer: it writes every frame while the timeline plays."""
        if self._replication is not None:
            raise ConfigError("writes already", field="replicator", remedy="stop it first")
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
            with suppress(OSError):  # What has been written into stays.
                folder.rmdir()
            raise
        self._folder, self._vehicle, self._generation = folder, name, snapshot.generation
        self.board.report(f"{self.writer} writes the cameras of {name} into {folder}")

    @action(Topic.SENSORS)
    def stop(self) -> None:
        """Stop writing; nothing happens where no writer runs."""
        if self._replication is not None:
            replication, self._replication = self._replication, None
            replication.close()
            self.board.report(f"written into {self._folder}")

    def close(self) -> None:
        """Stop writing, and stop watching the simulation."""
        self._leave()
        self.stop()

    def _seen(self, snapshot: Snapshot) -> None:
        """Stop the writer when its vehicle or world is gone."""
        gone = snapshot.generation != self._generation or snapshot.vehicle(self._vehicle) is None
        if self._replication is not None and gone:
            self.stop()


def _started(vehicle: Multirotor, folder: Path, writer: str, parameters: dict[str, Any]) -> Replication:
    try:
        return replicate(vehicle, output_dir=folder, writer=writer, **parameters)
    except ConfigError:
        raise
    except Exception as error:  # Writers are anybody's, and raise anything for what they dislike.
        raise ConfigError(
            f"cannot be started: {error}", field="writer", value=writer, remedy="choose another one"
        ) from error


def _with_camera(simulation: Simulation, name: str) -> Multirotor:
    vehicle = simulation.vehicles[name]
    cameras = any(isinstance(sensor, Camera) for sensor in vehicle.sensors.values())
    if not (isinstance(vehicle, Multirotor) and cameras):
        raise ConfigError(
            "has no camera", field="vehicle", value=name, remedy="mount one, and add the vehicle again"
        )
    return vehicle
