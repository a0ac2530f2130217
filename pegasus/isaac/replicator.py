"""Cameras of vehicles as prims, and Replicator writers on them."""

import math
from collections.abc import Collection, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from pxr import Gf

from pegasus.backends.ros2.frames import Mounting, mountings, optical_frame
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import matrix_from_quaternion, quaternion_from_matrix
from pegasus.cameras import Camera, StereoCamera
from pegasus.contracts.renderer import View
from pegasus.core.aircraft import Aircraft
from pegasus.isaac import kit
from pegasus.isaac.bodies import body_of, free_path, set_pose
from pegasus.isaac.compat import isaac_sim
from pegasus.isaac.rtx_camera import TO_USD, Film, define_camera, film_of


class MountedCamera:
    """Camera prim below a vehicle's body with its own render product.

    Args:
        rep: Replicator, as returned by `replicator`.
        body: Prim path of the body.
        sensor: Name of the sensor.
        side: Camera of a stereo pair, `left` or `right`; else empty.
        mounting: Mounting on the body.
        camera: The sensor.
        ticks: Render at the rate of the sensor instead of every frame, if the version of Isaac Sim can.

    Raises:
        ConfigError: If RTX cannot render its lens exactly.
    """

    def __init__(
        self,
        rep: ModuleType,
        body: str,
        sensor: str,
        side: str,
        mounting: Mounting,
        camera: Camera,
        *,
        ticks: bool,
    ) -> None:
        self.sensor, self.side, self.rate_hz = sensor, side, camera.rate_hz
        self.frame = mounting.frame
        """Name of its optical frame, without the vehicle's prefix."""
        self.outputs = camera.outputs
        """Outputs of the camera; see `pegasus.cameras.OUTPUTS`."""
        film = _exact_film(sensor, camera)
        self._stage = kit.stage()
        self.path = free_path(self._stage, f"{body}/{mounting.frame}")
        """Prim path."""
        prim = define_camera(self._stage, self.path, film)
        prim.CreateClippingRangeAttr(Gf.Vec2f(camera.near, camera.far))
        turn = matrix_from_quaternion(mounting.orientation) @ TO_USD
        set_pose(prim.GetPrim(), mounting.position, quaternion_from_matrix(turn))
        self.ticks = ticks and isaac_sim().set_tick_rate(prim.GetPrim(), camera.rate_hz)
        """It is rendered at the rate of the sensor, instead of every frame."""
        self.product: Any = rep.create.render_product(self.path, film.resolution)
        """Render product of Replicator."""

    def close(self) -> None:
        """Remove prim and render product; the stage may be closed already."""
        self.product.destroy()
        if self._stage and self._stage.GetPrimAtPath(self.path):
            self._stage.RemovePrim(self.path)


def mounted_cameras(
    rep: ModuleType,
    vehicle: Aircraft,
    copy: int,
    names: Collection[str] | None = None,
    *,
    ticks: bool = False,
) -> list[MountedCamera]:
    """Return new camera prims for the cameras of a vehicle's copy; two for a stereo pair.

    Args:
        rep: Replicator, as returned by `replicator`.
        vehicle: The vehicle, which is on the stage.
        copy: Number of the copy.
        names: Names of the sensors; None for all cameras.
        ticks: Render each at the rate of its sensor instead of every frame, if the version of Isaac Sim can.

    Raises:
        ConfigError: If there is no such camera, or RTX cannot render it.
    """
    body = body_of(vehicle, copy)
    known = {name: sensor for name, sensor in vehicle.sensors.items() if isinstance(sensor, Camera)}
    wanted = list(known) if names is None else list(names)
    for name in wanted:
        if name not in known:
            raise ConfigError(
                f"vehicle {vehicle.name!r} has no such camera; it has {', '.join(known) or 'none'}",
                field="camera",
                value=name,
            )
    places = {item.frame: item for item in mountings(vehicle)}
    made: list[MountedCamera] = []
    try:
        for name in wanted:
            for side in ("left", "right") if isinstance(known[name], StereoCamera) else ("",):
                place = places[optical_frame(name, side)]
                made.append(MountedCamera(rep, body, name, side, place, known[name], ticks=ticks))
    except BaseException:
        for camera in made:
            camera.close()
        raise
    return made


def replicator(purpose: str) -> Any:
    """Return the module of Replicator for a purpose, with which the error message begins.

    Raises:
        ConfigError: If its extension is not enabled.
    """
    try:
        import omni.replicator.core as rep
    except ImportError:
        raise ConfigError(
            f"{purpose} needs the extension omni.replicator.core, which is not enabled",
            field="extension",
            remedy="enable it in the extension manager",
        ) from None
    return rep


def _exact_film(sensor: str, camera: Camera) -> Film:
    film = film_of(View(camera.lens, camera.resolution, np.zeros(3), np.eye(3)))
    width, height = camera.resolution
    rows, columns = np.indices((height, width))
    exact = film.resolution == camera.resolution
    if not (exact and np.array_equal(film.rows, rows) and np.array_equal(film.columns, columns)):
        raise ConfigError(
            "has a lens with distortion or off centre, which Isaac Sim's own images do not show",
            field="camera",
            value=sensor,
            remedy="use a pinhole, or the camera's readings",
        )
    return film


class Replication(kit.ClosedOnExit):
    """Running writers of Replicator; see `replicate`."""

    def __init__(
        self,
        vehicles: Sequence[Aircraft],
        *,
        writer: str,
        output_dir: str | Path,
        cameras: Collection[str] | None,
        frame_rate: float | None,
        parameters: dict[str, Any],
    ) -> None:
        valid = frame_rate is None or 0 < frame_rate < math.inf
        require(valid, "frame_rate", frame_rate, "must be above 0 and finite")
        rep = replicator("Replicator's writers")
        self._cameras: list[MountedCamera] = []
        self._writers: list[Any] = []
        try:
            for vehicle in vehicles:
                for copy in range(vehicle.count):
                    self._cameras += mounted_cameras(rep, vehicle, copy, cameras)
            # Replicator puts a relative folder below one of its own.
            folder = Path(output_dir).resolve()
            if frame_rate is None:
                self._write(rep, writer, folder, parameters, self._cameras)
            else:
                for rate in sorted({camera.rate_hz for camera in self._cameras}):
                    due = [camera for camera in self._cameras if camera.rate_hz == rate]
                    every = _frames_between(due[0], frame_rate)
                    self._write(rep, writer, folder / f"{rate:g}_hz", parameters, due, every)
        except BaseException:
            self.close()
            raise

    def _write(
        self,
        rep: ModuleType,
        name: str,
        folder: Path,
        parameters: dict[str, Any],
        cameras: Sequence[MountedCamera],
        every: int = 1,
    ) -> None:
        """Start a writer of some cameras, for every n-th frame."""
        writer = rep.WriterRegistry.get(name)
        writer.initialize(output_dir=str(folder), **parameters)
        products = [camera.product for camera in cameras]
        if every == 1:
            writer.attach(products)
        else:
            writer.attach(products, trigger=rep.trigger.on_frame(interval=every))
        self._writers.append(writer)

    @property
    def cameras(self) -> Sequence[MountedCamera]:
        """Cameras in the order of their render products."""
        return self._cameras

    def close(self) -> None:
        """Detach the writers and remove the cameras; a second call has no effect."""
        for writer in self._writers:
            writer.detach()
        for camera in self._cameras:
            camera.close()
        self._writers, self._cameras = [], []


def _frames_between(camera: MountedCamera, frame_rate: float) -> int:
    """Return the number of frames from one image of a camera to the next."""
    frames = round(frame_rate / camera.rate_hz)
    if frames < 1 or not math.isclose(frames * camera.rate_hz, frame_rate, rel_tol=1e-6):
        raise ConfigError(
            f"camera {camera.sensor!r} is not due at whole frames of {frame_rate:g} Hz",
            field="rate_hz",
            value=camera.rate_hz,
            remedy="choose a rate that divides that of the frames",
        )
    return frames


def replicate(
    vehicles: Aircraft | Sequence[Aircraft],
    *,
    output_dir: str | Path,
    writer: str = "BasicWriter",
    cameras: Collection[str] | None = None,
    frame_rate: float | None = None,
    **parameters: Any,
) -> Replication:
    """Write images of vehicles' cameras by a writer of Replicator, until the result is closed.

    Without `frame_rate` it writes each frame that Kit renders while the timeline plays: Replicator captures
    on play by default. With it, each camera is written at its own rate: cameras of one rate have a writer, in
    a folder such as `10_hz`.

    Args:
        vehicles: One vehicle or several, which are on the stage.
        output_dir: Output folder.
        writer: Name of the writer, such as BasicWriter or KittiWriter.
        cameras: Names of the cameras; None for all.
        frame_rate: Kit's frames in a simulated second, in a script `engine.frame_rate` [Hz].
        **parameters: Parameters of the writer, such as `rgb=True`.

    Raises:
        ConfigError: If Replicator is not enabled, a vehicle is not on the stage or lacks a camera, RTX
            cannot render one, or the rate of a camera does not divide that of the frames.
    """
    several = vehicles if isinstance(vehicles, Sequence) else [vehicles]
    return Replication(
        several,
        writer=writer,
        output_dir=output_dir,
        cameras=cameras,
        frame_rate=frame_rate,
        parameters=parameters,
    )
