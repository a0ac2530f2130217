"""Replicator writers on the cameras of vehicles: pictures and labels to disk, as Isaac Sim makes them."""

from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pegasus.isaac.replicator_cameras import MountedCamera, mounted_cameras, replicator

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor


class Replication:
    """A writer of Replicator at work; see `replicate`."""

    def __init__(
        self,
        vehicles: Sequence["Multirotor"],
        *,
        writer: str,
        output_dir: str | Path,
        cameras: Collection[str] | None,
        parameters: dict[str, Any],
    ) -> None:
        rep = replicator("Replicator's writers")
        self._cameras: list[MountedCamera] = []
        self._writer: Any = None
        try:
            for vehicle in vehicles:
                for copy in range(vehicle.count):
                    self._cameras += mounted_cameras(rep, vehicle, copy, cameras)
            made = rep.WriterRegistry.get(writer)
            # Replicator takes a relative folder to be below one of its own.
            made.initialize(output_dir=str(Path(output_dir).resolve()), **parameters)
            made.attach([camera.product for camera in self._cameras])
            self._writer = made
        except BaseException:
            self.close()
            raise

    @property
    def cameras(self) -> Sequence[MountedCamera]:
        """The cameras in the order of their render products."""
        return self._cameras

    def close(self) -> None:
        """Detach the writer and take the cameras away; calling it twice is allowed."""
        if self._writer is not None:
            self._writer.detach()
        for camera in self._cameras:
            camera.close()
        self._writer, self._cameras = None, []

    def __enter__(self) -> "Replication":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def replicate(
    vehicles: "Multirotor | Sequence[Multirotor]",
    *,
    output_dir: str | Path,
    writer: str = "BasicWriter",
    cameras: Collection[str] | None = None,
    **parameters: Any,
) -> Replication:
    """Write what the cameras of vehicles see by a writer of Replicator, until the result is closed.

    It writes with each frame that Kit draws while the timeline plays, where Replicator captures on play as it
    does unless told otherwise.

    Args:
        vehicles: A vehicle or several, which are on the stage.
        output_dir: Folder that is written to.
        writer: Name of the writer, such as BasicWriter or KittiWriter.
        cameras: Names of the cameras; all of each vehicle when None.
        **parameters: Of the writer, such as `rgb=True`.

    Raises:
        ConfigError: If Replicator is not enabled, a vehicle is not on the stage or lacks a camera, or RTX
            cannot draw one.
    """
    several = vehicles if isinstance(vehicles, Sequence) else [vehicles]
    return Replication(several, writer=writer, output_dir=output_dir, cameras=cameras, parameters=parameters)
