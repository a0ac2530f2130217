"""Cameras: images of the scene around a vehicle, rendered on first access."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from pegasus.base.arrays import Array
from pegasus.base.components import require
from pegasus.base.errors import ConfigError
from pegasus.base.frames import (
    matrix_from_quaternion,
    multiply,
    quaternion_from_euler,
    quaternion_from_matrix,
    rotate,
)
from pegasus.cameras.capture import Capture, Optics, draw_seeds, require_lag
from pegasus.cameras.imaging import DepthNoise, Imaging
from pegasus.cameras.outputs import ALIASES, full_names
from pegasus.config.rotor_specs import RotorSpec, rotor_of
from pegasus.contracts.reading import Reading
from pegasus.contracts.renderer import Images, View
from pegasus.contracts.sensor import Sensor
from pegasus.contracts.state import VehicleState
from pegasus.contracts.vehicle import EquippedVehicle
from pegasus.core.aircraft import Aircraft, as_aircraft
from pegasus.core.manager import manager_of
from pegasus.core.visuals import Snapshot
from pegasus.environment import Environment
from pegasus.labels.segmentation import FIRST_ID, class_names
from pegasus.optics.lens import Lens, Pinhole, lens_from_spec
from pegasus.scene.scene import Instance, Scene

OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
"""Optical frame (x right, y down, z forward) to the camera's FLU frame (x forward, y left, z up)."""

_NOSE_GAP = 0.01  # [m]
_DEFAULT_FOV = math.radians(70.0)
_MOST_PIXELS = 2**26


@dataclass(frozen=True, eq=False)
class CameraReading(Reading):
    """Poses and images of N cameras at one instant; each image is rendered on first access."""

    position: Array
    """Positions of the lenses in the world [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternions xyzw, optical frame (x right, y down, z forward) to world, shape (N, 4)."""
    intrinsic_matrix: Array
    """Intrinsic matrix of the lens [pixels], shape (3, 3); the first pixel's centre is at (0.5, 0.5)."""
    capture: Capture = field(metadata={"recorded": False})
    """Scene state that the images are rendered from."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Full names of the camera's outputs."""
        return self.capture.optics.outputs

    @property
    def lens(self) -> Lens:
        """Lens of the cameras."""
        return self.capture.optics.lens

    @property
    def resolution(self) -> tuple[int, int]:
        """Width and height [pixels]."""
        return self.capture.optics.resolution

    @property
    def cameras(self) -> "dict[str, CameraReading]":
        """Readings of the cameras within this one by name; the name of a single camera is empty."""
        return {"": self}

    @property
    def classes(self) -> dict[int, str]:
        """Names of the classes by their ids in `semantic`."""
        return dict(enumerate(class_names(self.capture.labelled_entities()), start=FIRST_ID))

    @property
    def instances(self) -> dict[int, str]:
        """Paths of the labelled entities by their ids in `instance`."""
        entities = self.capture.entities
        return {FIRST_ID + k: item.path for k, item in enumerate(entities) if "class" in item.labels}

    @property
    def rgb(self) -> npt.NDArray[np.uint8]:
        """Colours, sRGB, shape (N, H, W, 3)."""
        return self.images("rgb")

    @property
    def depth(self) -> npt.NDArray[np.float32]:
        """Distance from the image plane, infinite where nothing is hit [m], shape (N, H, W)."""
        return self.images("depth")

    @property
    def distance(self) -> npt.NDArray[np.float32]:
        """Distance from the lens, infinite where nothing is hit [m], shape (N, H, W)."""
        return self.images("distance_to_camera")

    @property
    def normals(self) -> npt.NDArray[np.float32]:
        """Unit normals in the world, towards the camera, zero where nothing is hit, shape (N, H, W, 3)."""
        return self.images("normals")

    @property
    def semantic(self) -> npt.NDArray[np.uint32]:
        """Id of each pixel's class, see `classes`; 0 for nothing, 1 for no class, shape (N, H, W)."""
        return self.images("semantic")

    @property
    def instance(self) -> npt.NDArray[np.uint32]:
        """Id of each pixel's entity, see `instances`; 0 for nothing, 1 for no label, shape (N, H, W)."""
        return self.images("instance")

    @property
    def motion_vectors(self) -> npt.NDArray[np.float32]:
        """Image position at the previous reading minus the present one [pixels], shape (N, H, W, 2)."""
        return self.images("motion_vectors")

    @property
    def point_cloud(self) -> npt.NDArray[np.float32]:
        """Points in the optical frame, NaN where nothing is hit [m], shape (N, H, W, 3)."""
        return self.images("point_cloud")

    def images(self, output: str) -> npt.NDArray[Any]:
        """Return an output of every copy, shape (N, H, W, ...).

        Args:
            output: Name of the output.

        Raises:
            ConfigError: If the camera lacks that output, or there is no renderer.
        """
        return np.stack([self.image(output, copy) for copy in range(self.capture.count)])

    def image(self, output: str, copy: int = 0) -> npt.NDArray[Any]:
        """Return an output of one copy, without rendering the others, shape (H, W, ...).

        Args:
            output: Name of the output.
            copy: The copy of the vehicle.

        Raises:
            ConfigError: If the camera lacks that output, or there is no renderer.
        """
        name = ALIASES.get(output, output)
        if name not in self.outputs:
            raise ConfigError(
                f"must be one of the camera's outputs: {', '.join(self.outputs)}",
                field="output",
                value=output,
                remedy="add it to `outputs`",
            )
        return self.capture.image(name, copy)

    def view(self, copy: int = 0) -> View:
        """Return the view of one copy's camera.

        Args:
            copy: The copy of the vehicle.
        """
        return self.capture.view(copy)

    def channels(self, copy: int = 0) -> Images:
        """Return the renderer's channels for all outputs of a copy.

        Args:
            copy: The copy of the vehicle.
        """
        return self.capture.channels(copy)


@dataclass(kw_only=True, eq=False)
class Camera(Sensor):
    """Camera on a vehicle; with `depth` among its outputs it is an RGB-D camera.

    A reading keeps the poses of all bodies at its instant, and renders images from them on first access. Its
    stamp is the middle of the middle row's exposure; during a rolling or open shutter all bodies keep the
    velocities of that instant.
    """

    rate_hz: float = 30.0
    """Images per second [Hz]."""
    resolution: tuple[int, int] = (640, 480)
    """Width and height [pixels]."""
    horizontal_fov: float | None = None
    """Angle between the left and the right edge [rad]; that of `lens`, else 70 degrees, when None."""
    lens: Any = None
    """Lens: a mapping with `model` and its parameters, or a `Lens`; a pinhole when None."""
    position: tuple[float, float, float] | None = None
    """Position of the lens in the body frame [m]; just in front of the vehicle's nose when None."""
    orientation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Roll, pitch and yaw on the body [rad]: zeros look forward, a pitch of pi/2 down, a yaw of pi/2 left."""
    outputs: tuple[str, ...] = ("rgb",)
    """Images that it provides; see `pegasus.cameras.OUTPUTS`."""
    near: float = 0.01
    """Near clipping distance [m]."""
    far: float = 1e4
    """Far clipping distance [m]."""
    samples: int | None = None
    """Rays per pixel of the colours, several of which smooth edges; if None 16 of `mitsuba`, else 1."""
    imaging: Imaging = field(default_factory=Imaging)
    """Conversion of light to colours."""
    depth_noise: DepthNoise = field(default_factory=DepthNoise)
    """Measurement errors of distances and points."""
    hide_vehicle: bool = False
    """Hide the vehicle that carries the camera."""
    exposure_time: float = 0.0
    """Time that the shutter is open, the cause of motion blur [s]."""
    blur_frame_count: int = 8
    """Sub-frames averaged to a blurred image."""
    row_time: float = 0.0
    """Readout time per row of a rolling shutter, upper rows first [s]; 0 for a global shutter."""
    row_band_count: int = 24
    """Bands of rows of a rolling shutter, each rendered at its own instant."""
    lag: int = 2
    """Images that logs and ROS 2 may wait for while the simulation steps on; 0 renders each at once."""

    def __post_init__(self) -> None:
        require(0 < self.rate_hz < math.inf, "rate_hz", self.rate_hz, "must be above 0 Hz and finite")
        size = self.resolution
        sized = isinstance(size, tuple | list) and len(size) == 2
        sized = sized and all(isinstance(n, Integral) and n >= 1 for n in size)
        require(
            sized and math.prod(size) <= _MOST_PIXELS,
            "resolution",
            size,
            "must be width and height in whole pixels from 1 up, 2**26 pixels at most",
        )
        self.resolution = int(size[0]), int(size[1])
        self.lens = self._chosen_lens()
        for name in ("position", "orientation"):
            value = getattr(self, name)
            finite = value is None or (np.shape(value) == (3,) and all(map(math.isfinite, value)))
            require(finite, name, value, "must hold three finite numbers")
        require(bool(self.outputs), "outputs", self.outputs, "must name at least one output, such as rgb")
        remedy = 'write a list, such as ["rgb"]'
        require(not isinstance(self.outputs, str), "outputs", self.outputs, "must be a list of names", remedy)
        self.outputs = full_names(self.outputs)
        require(0 < self.near < math.inf, "near", self.near, "must be above 0 m and finite")
        require(self.near < self.far, "far", self.far, f"must be above near of {self.near:g} m")
        for name, kind in (("imaging", Imaging), ("depth_noise", DepthNoise)):
            value = getattr(self, name)
            require(isinstance(value, kind), name, value, f"must be of pegasus.cameras.{kind.__name__}")
        for name in ("samples", "blur_frame_count", "row_band_count"):
            value = getattr(self, name)
            whole = (isinstance(value, int) and value >= 1) or (name == "samples" and value is None)
            require(whole, name, value, "must be a whole number from 1 up")
        require_lag(self.lag, "renders each image")
        period = 1 / self.rate_hz
        shortest = f"must be at least 0 s and at most the time between two images, {period:g} s"
        require(0 <= self.exposure_time <= period, "exposure_time", self.exposure_time, shortest)
        readout = self.row_time * self.resolution[1]
        longest = f"{period / self.resolution[1]:g} s, the time between two images divided by the rows"
        fits = 0 <= readout <= period * (1 + 1e-9)
        require(fits, "row_time", self.row_time, f"must be at least 0 s and at most {longest}")

    def bind(self, vehicle: EquippedVehicle, environment: Environment, rng: np.random.Generator) -> None:
        """Attach the camera to a vehicle.

        Args:
            vehicle: The vehicle, whose simulation renders the images.
            environment: Unused.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._name = next((name for name, item in vehicle.sensors.items() if item is self), "camera")
        _, mount = self.mount(as_aircraft(vehicle))
        self._optics = self._optics_at(mount, f"camera {self._name!r} of {vehicle.name!r}")
        self._turn = quaternion_from_matrix(self._optics.rotation)
        self._matrix = self._optics.lens.matrix(self.resolution)
        self._previous: Snapshot | None = None

    def mount(self, vehicle: Aircraft) -> tuple[Array, Array]:
        """Return the rotation of the optical frame to the body frame, and the position of the lens there [m].

        Args:
            vehicle: The vehicle.
        """
        position = self.position
        if position is None:
            position = nose(vehicle.asset.scene, vehicle.spec.rotor_list())
        return optical_rotation(self.orientation), np.array(position)

    def measure(self, state: VehicleState, t: float) -> CameraReading:
        """Return the poses of the cameras, and the state from which their images are rendered.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        optics, capture = self._optics, self._take(t)
        return CameraReading(t, *self._pose(optics, state), self._matrix, capture)

    def _take(self, t: float) -> Capture:
        """Return the capture of this instant."""
        visuals = manager_of(self.vehicle).visuals
        snapshot = visuals.snapshot(t)
        previous, self._previous = self._previous or snapshot, snapshot
        seeds = draw_seeds(self.rngs)
        return Capture(self._optics, visuals, self.vehicle.name, snapshot, previous, seeds)

    def _pose(self, optics: Optics, state: VehicleState) -> tuple[Array, Array]:
        position = state.position + rotate(state.rotation, optics.position)
        return position, multiply(state.orientation, self._turn)

    def _optics_at(self, position: Array, name: str) -> Optics:
        assert isinstance(self.lens, Lens)
        return Optics(
            name=name,
            lens=self.lens,
            resolution=self.resolution,
            position=position,
            rotation=optical_rotation(self.orientation),
            near=self.near,
            far=self.far,
            outputs=self.outputs,
            samples=self.samples,
            imaging=self.imaging,
            depth_noise=self.depth_noise,
            hide_vehicle=self.hide_vehicle,
            exposure_time=self.exposure_time,
            blur_frame_count=self.blur_frame_count,
            row_time=self.row_time,
            row_band_count=self.row_band_count,
            lag=self.lag,
        )

    def _chosen_lens(self) -> Lens:
        fov = self.horizontal_fov
        if self.lens is None:
            return Pinhole(horizontal_fov=_DEFAULT_FOV if fov is None else fov)
        remedy = "set the field of view in lens"
        require(fov is None, "horizontal_fov", fov, "must not be given together with a lens", remedy)
        return lens_from_spec(self.lens)


def optical_rotation(orientation: tuple[float, float, float]) -> Array:
    """Return the rotation of an optical frame to the body frame, shape (3, 3).

    Args:
        orientation: Roll, pitch and yaw of the camera on the body (ZYX) [rad]; zeros look forward.
    """
    rotation: Array = matrix_from_quaternion(quaternion_from_euler(*orientation)) @ OPTICAL
    return rotation


def nose(scene: Scene, rotors: Sequence[RotorSpec]) -> tuple[float, float, float]:
    """Return a point just in front of the foremost geometry in a vehicle's middle plane [m].

    Args:
        scene: The vehicle in its body frame.
        rotors: Its rotors, whose geometry is ignored.
    """
    front, height = 0.0, 0.0
    for item in scene.instances:
        if rotor_of(item.path, rotors) is None:
            corners = _placed(scene, item)
            low, high = corners.min(axis=0, initial=np.inf), corners.max(axis=0, initial=-np.inf)
            if low[1] <= 0.0 <= high[1] and high[0] > front:
                front, height = float(high[0]), float((low[2] + high[2]) / 2)
    return front + _NOSE_GAP, 0.0, height


def _placed(scene: Scene, item: Instance) -> Array:
    vertices = scene.geometries[item.geometry].vertices.astype(np.float64)
    placed: Array = vertices @ item.transform[:3, :3].T + item.transform[:3, 3]
    return placed
