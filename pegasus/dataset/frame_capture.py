"""Capture of labelled frames from a simulation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.errors import ConfigError
from pegasus.base.streams import stream
from pegasus.cameras.camera import Camera, CameraReading
from pegasus.cameras.capture import Capture, Optics
from pegasus.cameras.lidar import Lidar
from pegasus.cameras.lidar_scan import PoseHistory, ScanCapture
from pegasus.cameras.stereo_camera import StereoCamera
from pegasus.contracts.renderer import Images, Returns, View
from pegasus.core.simulation import Simulation
from pegasus.dataset.randomizers import Clearance, Moment, Mount, Randomizer
from pegasus.dataset.randomizers.randomizer import Draws
from pegasus.labels.annotations import ImuTrack, LabelledFrame, LidarCloud, Motion
from pegasus.labels.entities import EntityTable
from pegasus.labels.occlusion import occlusion_ratios

# Outputs that writers need.
_OUTPUTS = ("rgb", "distance_to_camera", "normals", "instance_segmentation")
_SEEDS = 2**63


@dataclass(frozen=True, eq=False)
class LensView:
    """One lens of a camera on one copy of a vehicle."""

    camera: str
    """Name of the camera, as VEHICLE/SENSOR."""
    vehicle: str
    copy: int
    part: str
    """Name of the lens within the camera: empty, `left` or `right`."""
    name: str
    """Name of its images."""


class FrameCapture:
    """Captures labelled, randomised images of a simulation.

    Args:
        simulation: The simulation, whose cameras have new readings.
        viewpoints: Viewpoints of the images.
        randomizers: Randomizers by name.
        seed: Seed of the scene.
        scene: Number of the scene.
        values: Values that randomizers drew for the scene.
        sequence: Whether the frames are a sequence, in which cameras keep their perturbation.
        clearance: Clearance of the scene.
        with_lidar: Add the points of a lidar on the first viewpoint's vehicle.
        with_occlusion: Compute occlusion ratios (slow in large worlds).
        regions: Classes that are regions and not countable objects.
        samples: Minimum number of rays per pixel of the colours; the renderer's usual number if None.
    """

    def __init__(
        self,
        simulation: Simulation,
        viewpoints: Sequence[LensView],
        randomizers: Mapping[str, Randomizer],
        *,
        seed: int,
        scene: int,
        values: Mapping[str, dict[str, Any]],
        sequence: bool,
        clearance: Clearance,
        with_lidar: bool,
        with_occlusion: bool,
        regions: Sequence[str],
        samples: int | None,
    ) -> None:
        self._simulation, self._viewpoints, self._randomizers = simulation, viewpoints, randomizers
        self._seed, self._clearance, self._with_lidar = seed, clearance, with_lidar
        self._with_occlusion, self._regions, self._samples = with_occlusion, frozenset(regions), samples
        self._scene, self._values, self._sequence = scene, values, sequence
        self._drawn: dict[str, dict[str, Any]] = {}
        self._table = EntityTable(simulation.scene)
        self._optics: dict[tuple[str, str], Optics] = {}
        self._numbered = False

    def take(self, index: int, classes: tuple[str, ...], imu: ImuTrack | None = None) -> list[LabelledFrame]:
        """Return the labelled frames of all viewpoints at this instant.

        Args:
            index: Index of the frame.
            classes: Names of the classes in the order of their ids.
            imu: Readings of the IMU of the first viewpoint's vehicle since the frame before.

        Raises:
            ConfigError: If a randomiser finds no room, or there is no renderer.
        """
        self._drawn = {name: dict(values) for name, values in self._values.items()}
        moment = self._moment(index)
        visuals = self._simulation.visuals
        if not self._numbered:
            # All objects are added once, so that entity indices do not depend on the order of frames.
            visuals.cast(moment.snapshot, np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), 1.0)
            self._numbered = True
        frames: list[LabelledFrame] = []
        exposures: dict[tuple[str, int], float] = {}
        for viewpoint, mount in zip(self._viewpoints, moment.mounts, strict=True):
            frames.append(self._picture(index, viewpoint, mount, moment, classes, exposures))
        first, snapshot = self._viewpoints[0], moment.snapshot
        row = snapshot.first_row(first.vehicle) + first.copy
        motion = Motion(snapshot.position[row], snapshot.orientation[row], snapshot.velocity[row], imu)
        for frame in frames:
            frame.motion, frame.randomized = motion, self._drawn
        return frames

    def _moment(self, index: int) -> Moment:
        """Return the randomised poses and cameras of a frame."""
        capture = self._capture(self._viewpoints[0])
        simulation = self._simulation
        moment = Moment(
            capture.snapshot,
            capture.previous,
            self._mounts(index),
            simulation.engine,
            self._clearance,
            simulation.world,
        )
        for name, randomizer in self._randomizers.items():
            try:
                moment = randomizer.moment(moment, self._stream((name,), name, index))
            except ConfigError as error:
                raise error.within(field=f"dataset.randomizers.{name}") from None
        return moment

    def _mounts(self, index: int) -> tuple[Mount, ...]:
        """Return the randomised optics of a frame; a stereo pair stays rigid."""
        mounts: list[Mount] = []
        leaders: dict[tuple[str, int], tuple[Optics, Optics]] = {}
        for viewpoint in self._viewpoints:
            mount = self._mount(viewpoint)
            key = viewpoint.camera, viewpoint.copy
            if key not in leaders:
                optics = mount.optics
                for name, randomizer in self._randomizers.items():
                    number = "sequence" if self._sequence else index
                    path = name, viewpoint.name
                    rng = self._stream(path, name, number, viewpoint.camera, viewpoint.copy)
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
        viewpoint: LensView,
        mount: Mount,
        moment: Moment,
        classes: tuple[str, ...],
        exposures: dict[tuple[str, int], float],
    ) -> LabelledFrame:
        visuals, optics = self._simulation.visuals, mount.optics
        snapshot, previous = moment.snapshot, moment.previous
        count = self._simulation.vehicles[viewpoint.vehicle].count
        capture = Capture(optics, visuals, viewpoint.vehicle, snapshot, previous, [0] * count)
        view, images = capture.view(viewpoint.copy), capture.channels(viewpoint.copy)
        hidden = (
            (snapshot.vehicle(viewpoint.vehicle).prefixes[viewpoint.copy],) if optics.hide_vehicle else ()
        )
        objects = snapshot.objects
        kept = [k for k, item in enumerate(objects) if item.entity.path not in hidden]
        entities = self._table.entities(
            visuals.entities,
            [objects[k] for k in kept],
            snapshot.poses[kept],
            previous.poses[kept],
            snapshot.entity_velocities,
        )

        frame = LabelledFrame(
            camera=viewpoint.name,
            stamp=snapshot.time,
            seed=self._seed,
            view=view,
            rgb=self._developed(index, viewpoint, optics, images, view, exposures),
            images=images,
            entities=entities,
            classes=classes,
            previous_view=capture.view(viewpoint.copy, previous),
            regions=self._regions,
            scene=self._scene,
        )

        def cast(origins: Array, directions: Array, reach: float) -> Returns:
            return visuals.cast(snapshot, origins, directions, reach, hidden=hidden)

        frame.directions = optics.directions
        if self._with_lidar and viewpoint is self._viewpoints[0]:
            frame.lidar = self._lidar_cloud(index, viewpoint, moment)
        if self._with_occlusion:
            frame.occlusion = occlusion_ratios(cast, frame)
        return frame

    def _lidar_cloud(self, index: int, viewpoint: LensView, moment: Moment) -> LidarCloud | None:
        """Return the cloud of the vehicle's first lidar, without motion distortion."""
        vehicle, snapshot = self._simulation.vehicles[viewpoint.vehicle], moment.snapshot
        lidars = {name: item for name, item in vehicle.sensors.items() if isinstance(item, Lidar)}
        if not lidars:
            return None
        name, lidar = next(iter(lidars.items()))
        first = snapshot.first_row(viewpoint.vehicle)
        rows = slice(first, first + vehicle.count)
        track = PoseHistory(
            np.array([snapshot.time]), [snapshot.position[rows]], [snapshot.orientation[rows]]
        )
        seed = int(stream(self._seed, "noise", str(index), name).integers(_SEEDS))
        capture = ScanCapture(
            lidar, self._simulation.visuals, viewpoint.vehicle, snapshot, track, [seed] * vehicle.count
        )
        scan, cloud = capture.scan(viewpoint.copy), capture.cloud(viewpoint.copy)
        return LidarCloud(
            points=cloud.points.astype(np.float32),
            intensity=np.clip(cloud.intensity, 0.0, 1.0).astype(np.float32),
            position=scan.position[-1],
            rotation=scan.rotation[-1],
        )

    def _developed(
        self,
        index: int,
        viewpoint: LensView,
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
            rng = self._stream((name,), name)
            radiance = randomizer.air(radiance, images.distance, optics.directions, view, lights, rng)
        # Both cameras of a stereo pair share the exposure.
        exposure = exposures.setdefault((viewpoint.camera, viewpoint.copy), imaging.exposure_for(radiance))
        samples = None
        if imaging.noisy:
            noise = stream(self._seed, "noise", str(index), viewpoint.name)
            samples = noise.standard_normal(radiance.shape, dtype=np.float32)
        cosine = optics.directions[..., 2] if imaging.vignettes else None
        return imaging.develop(radiance, exposure=exposure, cosine=cosine, samples=samples)

    def _stream(self, path: Sequence[str], *names: object) -> Draws:
        """Return a stream, whose values are kept under a path in the metadata of the frame."""
        values = self._drawn
        for part in path:
            values = values.setdefault(part, {})
        return Draws(self._seed, "randomizer", *map(str, names), values=values)

    def _reading(self, viewpoint: LensView) -> CameraReading:
        reading = self._simulation.vehicles[viewpoint.vehicle].readings[viewpoint.camera.partition("/")[2]]
        assert isinstance(reading, CameraReading)
        return reading.cameras[viewpoint.part]

    def _capture(self, viewpoint: LensView) -> Capture:
        return self._reading(viewpoint).capture

    def _mount(self, viewpoint: LensView) -> Mount:
        key = viewpoint.camera, viewpoint.part
        if key not in self._optics:
            optics = self._capture(viewpoint).optics
            samples = max(optics.samples or 1, self._samples or self._simulation.visuals.usual_samples)
            self._optics[key] = replace(optics, outputs=_OUTPUTS, samples=samples)
        return Mount(viewpoint.camera, viewpoint.vehicle, viewpoint.copy, self._optics[key])


def select_viewpoints(simulation: Simulation, cameras: Sequence[str] | None) -> tuple[LensView, ...]:
    """Return the viewpoints of the chosen cameras.

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
    viewpoints = []
    for camera in chosen:
        vehicle, name, sensor = known[camera]
        for copy in range(vehicle.count):
            owner = vehicle.name if vehicle.count == 1 else f"{vehicle.name}_{copy}"
            for part in sensor_parts(sensor):
                full = "_".join(item for item in (owner, name, part) if item)
                viewpoints.append(LensView(camera, vehicle.name, copy, part, full))
    return tuple(viewpoints)


def sensor_parts(camera: Camera) -> tuple[str, ...]:
    """Return the names of a camera's lenses: one that is empty, or `left` and `right`."""
    return ("left", "right") if isinstance(camera, StereoCamera) else ("",)
