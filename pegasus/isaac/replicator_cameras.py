"""Cameras of vehicles as prims that fly with their bodies, for what Isaac Sim draws and tells by itself."""

from collections.abc import Collection
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import Gf, Usd, UsdGeom

from pegasus.backends.ros2.frame_tree import Mounting, mountings, optical_frame
from pegasus.cameras import Camera, StereoCamera
from pegasus.errors import ConfigError
from pegasus.frames import matrix_from_quaternion, quaternion_from_matrix
from pegasus.isaac import kit
from pegasus.isaac.bodies import body_path
from pegasus.isaac.compat import isaac_sim
from pegasus.isaac.pictures import TO_USD, Film, define_camera, film_of
from pegasus.render.renderer import View

if TYPE_CHECKING:
    from pegasus.multirotor import Multirotor
    from pegasus.vehicle import Vehicle


class MountedCamera:
    """A camera prim below a vehicle's body with its own render product, drawn by Kit.

    Args:
        rep: Replicator, as `replicator` gives it.
        body: Path of the prim of the body.
        sensor: Name of the sensor.
        eye: Which camera of a stereo pair: `left` or `right`; empty where there is one.
        mounting: Where it is on the body.
        camera: The sensor.
        ticks: Draw it at the rate of the sensor where Isaac Sim can, in place of with every frame.

    Raises:
        ConfigError: If its lens is none that RTX draws as it is.
    """

    def __init__(
        self,
        rep: ModuleType,
        body: str,
        sensor: str,
        eye: str,
        mounting: Mounting,
        camera: Camera,
        *,
        ticks: bool,
    ) -> None:
        self.sensor, self.eye, self.rate_hz = sensor, eye, camera.rate_hz
        self.frame = mounting.frame
        """Name of its optical frame, below the vehicle's own prefix."""
        self.outputs = camera.outputs
        """What the camera gives; see `pegasus.cameras.OUTPUTS`."""
        film = _exact_film(sensor, camera)
        self._stage = kit.stage()
        self.path = free_path(self._stage, f"{body}/{mounting.frame}")
        """Path of the prim."""
        prim = define_camera(self._stage, self.path, film)
        prim.CreateClippingRangeAttr(Gf.Vec2f(camera.near, camera.far))
        turn = matrix_from_quaternion(mounting.orientation) @ TO_USD
        put(prim.GetPrim(), mounting.position, quaternion_from_matrix(turn))
        self.ticks = ticks and isaac_sim().tick(prim.GetPrim(), camera.rate_hz)
        """Whether it is drawn at the rate of the sensor, in place of with every frame."""
        self._product: Any = rep.create.render_product(self.path, film.resolution)

    @property
    def product(self) -> Any:
        """The render product, as Replicator has it."""
        return self._product

    def close(self) -> None:
        """Take the prim and its render product away; the stage may be gone already."""
        self._product.destroy()
        if self._stage and self._stage.GetPrimAtPath(self.path):
            self._stage.RemovePrim(self.path)


def mounted_cameras(
    rep: ModuleType,
    vehicle: "Multirotor",
    copy: int,
    names: Collection[str] | None = None,
    *,
    ticks: bool = False,
) -> list[MountedCamera]:
    """Return the cameras of a copy of a vehicle as prims; a stereo pair has two.

    Args:
        rep: Replicator, as `replicator` gives it.
        vehicle: The vehicle, which is on the stage.
        copy: The copy of the vehicle.
        names: Names of the sensors that are wanted; all cameras when None.
        ticks: Draw each at the rate of its sensor where Isaac Sim can, in place of with every frame.

    Raises:
        ConfigError: If there is no such camera, or RTX cannot draw it.
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
            for eye in ("left", "right") if isinstance(known[name], StereoCamera) else ("",):
                place = places[optical_frame(name, eye)]
                made.append(MountedCamera(rep, body, name, eye, place, known[name], ticks=ticks))
    except BaseException:
        for camera in made:
            camera.close()
        raise
    return made


def replicator(what: str) -> Any:
    """Return Replicator.

    Args:
        what: What needs it, as the message begins.

    Raises:
        ConfigError: If its extension is not enabled.
    """
    try:
        import omni.replicator.core as rep
    except ImportError:
        raise ConfigError(
            f"{what} needs the extension omni.replicator.core, which is not enabled",
            field="extension",
            remedy="enable it in the extension manager",
        ) from None
    return rep


def body_of(vehicle: "Vehicle", copy: int) -> str:
    """Return the path of the prim of a vehicle's body.

    Args:
        vehicle: The vehicle.
        copy: The copy of the vehicle.

    Raises:
        ConfigError: If it is not on the stage.
    """
    stage, path = kit.stage(), body_path(f"{vehicle.name}/{copy}")
    if stage is None or not stage.GetPrimAtPath(path):
        raise ConfigError(
            "is not on the stage that is open",
            field="vehicle",
            value=vehicle.name,
            remedy="add it to a simulation on Isaac Sim first",
        )
    return path


def free_path(stage: Usd.Stage, path: str) -> str:
    """Return a path of a prim, with a number behind it where it is taken.

    Args:
        stage: The stage.
        path: The path that is wanted.
    """
    import omni.usd

    return str(omni.usd.get_stage_next_free_path(stage, path, False))


def put(prim: Usd.Prim, position: Any, orientation: Any) -> None:
    """Set where a prim is on its parent.

    Args:
        prim: The prim, whose transform is a translation and an orientation.
        position: Its origin [m], shape (3,).
        orientation: Unit quaternion xyzw, shape (4,).
    """
    x, y, z, w = np.asarray(orientation).tolist()
    prim.GetAttribute("xformOp:translate").Set(Gf.Vec3d(*np.asarray(position).tolist()))
    prim.GetAttribute("xformOp:orient").Set(Gf.Quatd(w, x, y, z))


def define_mount(stage: Usd.Stage, path: str) -> Usd.Prim:
    """Return a new prim that other things stand on.

    Args:
        stage: The stage.
        path: Path of the prim.
    """
    mount = UsdGeom.Xform.Define(stage, path)
    mount.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
    mount.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
    return mount.GetPrim()


def _exact_film(sensor: str, camera: Camera) -> Film:
    film = film_of(View(camera.lens, camera.resolution, np.zeros(3), np.eye(3)))
    width, height = camera.resolution
    rows, columns = np.indices((height, width))
    exact = film.resolution == camera.resolution
    if not (exact and np.array_equal(film.rows, rows) and np.array_equal(film.columns, columns)):
        raise ConfigError(
            "has a lens with distortion or off centre, which Isaac Sim's own pictures do not show",
            field="camera",
            value=sensor,
            remedy="take a pinhole, or the camera's readings",
        )
    return film
