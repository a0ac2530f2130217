"""The labelled pictures that are taken of a simulation at an instant."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.cameras.camera import Camera, CameraReading
from pegasus.cameras.lidar import Lidar
from pegasus.cameras.shot import Optics, Shot
from pegasus.cameras.stereo_camera import StereoCamera
from pegasus.cameras.sweep import Sweep, Track
from pegasus.dataset.entities import EntityTable
from pegasus.dataset.frame import LabelledFrame, LidarCloud
from pegasus.dataset.occlusion import occlusion_ratios
from pegasus.dataset.randomizers import Clearance, Moment, Mount, Randomizer
from pegasus.errors import ConfigError
from pegasus.render.renderer import Images, Returns, View
from pegasus.simulation import Simulation
from pegasus.streams import stream

# What writers need of the renderer.
_OUTPUTS = ("rgb", "distance_to_camera", "normals", "instance_segmentation")
_SEEDS = 2**63


@dataclass(frozen=True, eq=False)
class Eye:
    """One lens of a camera on one copy of a vehicle."""

    camera: str
    """Name of the camera, as VEHICLE/SENSOR."""
    vehicle: str
    copy: int
    part: str
    """Name of the lens within the camera: empty, `left` or `right`."""
    name: str
    """Name of its pictures."""


class Pictures:
    """Takes the pictures of a simulation, randomised.

    Args:
        simulation: The simulation, whose cameras have just taken theirs.
        eyes: The lenses.
        randomizers: What differs from frame to frame, by name.
        seed: Seed of the scene.
        clearance: Tells where there is room.
        with_lidar: Whether the first lens also gets the points of a lidar on its vehicle.
        with_occlusion: Whether it is found out how much of each thing is hidden.
    """

    def __init__(
        self,
        simulation: Simulation,
        eyes: Sequence[Eye],
        randomizers: Mapping[str, Randomizer],
        *,
        seed: int,
        clearance: Clearance,
        with_lidar: bool,
        with_occlusion: bool,
    ) -> None:
        self._simulation, self._eyes, self._randomizers = simulation, eyes, randomizers
        self._seed, self._clearance, self._with_lidar = seed, clearance, with_lidar
        self._with_occlusion = with_occlusion
        self._table = EntityTable(simulation.scene)
        self._optics: dict[tuple[str, str], Optics] = {}
        self._numbered = False

    def take(self, index: int, classes: tuple[str, ...]) -> list[LabelledFrame]:
        """Return the pictures of all lenses at this instant.

        Args:
            index: Index of the frame.
            classes: Names of the classes in the order of their ids.

        Raises:
            ConfigError: If a randomiser finds no room, or there is no renderer.
        """
        moment = self._moment(index)
        visuals = self._simulation.visuals
        if not self._numbered:
            # The first frame shows everything, so that entities get the same numbers whichever comes first.
            visuals.cast(moment.snapshot, np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), 1.0)
            self._numbered = True
        frames: list[LabelledFrame] = []
        exposures: dict[tuple[str, int], float] = {}
        for eye, mount in zip(self._eyes, moment.mounts, strict=True):
            frames.append(self._picture(index, eye, mount, moment, classes, exposures))
        return frames

    def _moment(self, index: int) -> Moment:
        """Return where everything is in a frame, and how the cameras see."""
        shot = self._shot(self._eyes[0])
        simulation = self._simulation
        moment = Moment(
            shot.snapshot,
            shot.previous,
            self._mounts(index),
            simulation.engine,
            self._clearance,
            simulation.world,
        )
        for name, randomizer in self._randomizers.items():
            try:
                moment = randomizer.moment(moment, self._stream(name, index))
            except ConfigError as error:
                raise error.within(field=f"dataset.randomizers.{name}") from None
        return moment

    def _mounts(self, index: int) -> tuple[Mount, ...]:
        """Return how the lenses see in a frame; those of one camera stay one rigid body."""
        mounts: list[Mount] = []
        leaders: dict[tuple[str, int], tuple[Optics, Optics]] = {}
        for eye in self._eyes:
            mount = self._mount(eye)
            key = eye.camera, eye.copy
            if key not in leaders:
                optics = mount.optics
                for name, randomizer in self._randomizers.items():
                    rng = self._stream(name, index, eye.camera, eye.copy)
                    optics = randomizer.optics(optics, rng)
                leaders[key] = mount.optics, optics
            else:
                before, optics = leaders[key]
                apart = optics.rotation @ before.rotation.T @ (mount.optics.position - before.position)
                optics = replace(optics, name=mount.optics.name, position=optics.position + apart)
            mounts.append(replace(mount, optics=optics))
        return tuple(mounts)

    def _picture(
        self,
        index: int,
        eye: Eye,
        mount: Mount,
        moment: Moment,
        classes: tuple[str, ...],
        exposures: dict[tuple[str, int], float],
    ) -> LabelledFrame:
        visuals, optics = self._simulation.visuals, mount.optics
        snapshot, previous = moment.snapshot, moment.previous
        count = self._simulation.vehicles[eye.vehicle].count
        shot = Shot(optics, visuals, eye.vehicle, snapshot, previous, [0] * count)
        view, images = shot.view(eye.copy), shot.channels(eye.copy)
        hidden = (snapshot.vehicle(eye.vehicle).prefixes[eye.copy],) if optics.hide_vehicle else ()
        objects = snapshot.objects
        kept = [k for k, item in enumerate(objects) if item.entity.path not in hidden]
        entities = self._table.entities(
            visuals.entities, [objects[k] for k in kept], snapshot.poses[kept], previous.poses[kept]
        )

        frame = LabelledFrame(
            camera=eye.name,
            stamp=snapshot.time,
            seed=self._seed,
            view=view,
            rgb=self._developed(index, eye, optics, images, view, exposures),
            images=images,
            entities=entities,
            classes=classes,
            previous_view=shot.view(eye.copy, previous),
        )

        def cast(origins: Array, directions: Array, reach: float) -> Returns:
            return visuals.cast(snapshot, origins, directions, reach, hidden=hidden)

        frame.directions = optics.directions
        if self._with_lidar and eye is self._eyes[0]:
            frame.lidar = self._lidar_cloud(index, eye, moment)
        if self._with_occlusion:
            frame.occlusion = occlusion_ratios(cast, frame)
        return frame

    def _lidar_cloud(self, index: int, eye: Eye, moment: Moment) -> LidarCloud | None:
        """Return what the first lidar beside a camera sees, all of it at the instant of the frame."""
        vehicle, snapshot = self._simulation.vehicles[eye.vehicle], moment.snapshot
        lidars = {name: item for name, item in vehicle.sensors.items() if isinstance(item, Lidar)}
        if not lidars:
            return None
        name, lidar = next(iter(lidars.items()))
        first = snapshot.first_row(eye.vehicle)
        rows = slice(first, first + vehicle.count)
        track = Track(np.array([snapshot.time]), [snapshot.position[rows]], [snapshot.orientation[rows]])
        seed = int(stream(self._seed, "noise", str(index), name).integers(_SEEDS))
        sweep = Sweep(lidar, self._simulation.visuals, eye.vehicle, snapshot, track, [seed] * vehicle.count)
        scan, cloud = sweep.scan(eye.copy), sweep.cloud(eye.copy)
        return LidarCloud(
            points=cloud.points.astype(np.float32),
            intensity=np.clip(cloud.intensity, 0.0, 1.0).astype(np.float32),
            position=scan.position[-1],
            rotation=scan.rotation[-1],
        )

    def _developed(
        self,
        index: int,
        eye: Eye,
        optics: Optics,
        images: Images,
        view: View,
        exposures: dict[tuple[str, int], float],
    ) -> npt.NDArray[np.uint8]:
        assert images.radiance is not None
        assert images.distance is not None
        radiance, imaging = images.radiance, optics.imaging
        for name, randomizer in self._randomizers.items():
            lights = self._simulation.scene.lights
            rng = self._stream(name)
            radiance = randomizer.air(radiance, images.distance, optics.directions, view, lights, rng)
        # Both cameras of a stereo pair expose alike.
        exposure = exposures.setdefault((eye.camera, eye.copy), imaging.exposure_for(radiance))
        samples = None
        if imaging.noisy:
            rng = stream(self._seed, "noise", str(index), eye.name)
            samples = rng.standard_normal(radiance.shape, dtype=np.float32)
        cosine = optics.directions[..., 2] if imaging.vignettes else None
        return imaging.develop(radiance, exposure=exposure, cosine=cosine, samples=samples)

    def _stream(self, randomizer: str, *names: object) -> np.random.Generator:
        return stream(self._seed, "randomizer", randomizer, *map(str, names))

    def _reading(self, eye: Eye) -> CameraReading:
        reading = self._simulation.vehicles[eye.vehicle].readings[eye.camera.partition("/")[2]]
        assert isinstance(reading, CameraReading)
        return reading.cameras[eye.part]

    def _shot(self, eye: Eye) -> Shot:
        return self._reading(eye).shot

    def _mount(self, eye: Eye) -> Mount:
        key = eye.camera, eye.part
        if key not in self._optics:
            self._optics[key] = replace(self._shot(eye).optics, outputs=_OUTPUTS)
        return Mount(eye.camera, eye.vehicle, eye.copy, self._optics[key])


def chosen_eyes(simulation: Simulation, cameras: Sequence[str] | None) -> tuple[Eye, ...]:
    """Return the lenses that pictures are taken through.

    Args:
        simulation: The simulation.
        cameras: Names of the cameras, as VEHICLE/SENSOR; all of them when None.

    Raises:
        ConfigError: If there are none, or one is not known.
    """
    known = {
        f"{vehicle.name}/{name}": (vehicle, name, sensor)
        for vehicle in simulation.vehicles
        for name, sensor in vehicle.sensors.items()
        if isinstance(sensor, Camera)
    }
    if not known:
        raise ConfigError(
            "no vehicle has a camera",
            field="vehicles",
            remedy="add one to sensors, such as {front: {model: camera}}",
        )
    chosen = list(known) if cameras is None else cameras
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        raise ConfigError(
            f"must be among {', '.join(known)}", field="dataset.cameras", value=unknown or chosen
        )
    eyes = []
    for camera in chosen:
        vehicle, name, sensor = known[camera]
        for copy in range(vehicle.count):
            owner = vehicle.name if vehicle.count == 1 else f"{vehicle.name}_{copy}"
            for part in sensor_parts(sensor):
                full = "_".join(item for item in (owner, name, part) if item)
                eyes.append(Eye(camera, vehicle.name, copy, part, full))
    return tuple(eyes)


def sensor_parts(camera: Camera) -> tuple[str, ...]:
    """Return the names of a camera's lenses: one that is empty, or `left` and `right`.

    Args:
        camera: A camera or a stereo pair.
    """
    return ("left", "right") if isinstance(camera, StereoCamera) else ("",)
