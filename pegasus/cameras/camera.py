"""Cameras: pictures of what is before a vehicle, drawn when somebody looks at them."""

import math
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pegasus.arrays import Array
from pegasus.cameras.depth_noise import DepthNoise
from pegasus.cameras.imaging import Imaging
from pegasus.cameras.lens import Lens, Pinhole, lens_from_spec
from pegasus.cameras.mounting import nose, optical_rotation
from pegasus.cameras.outputs import ALIASES, full_names
from pegasus.cameras.shot import Optics, Shot
from pegasus.components import require
from pegasus.errors import ConfigError
from pegasus.frames import multiply, quaternion_from_matrix, rotate
from pegasus.render.renderer import Images, View
from pegasus.sensors.sensor import Reading, Sensor
from pegasus.state import VehicleState

if TYPE_CHECKING:
    from pegasus.environment import Environment
    from pegasus.multirotor import Multirotor
    from pegasus.render.visuals import Snapshot

_DEFAULT_FOV = math.radians(70.0)
_MOST_PIXELS = 2**26
_SEEDS = 2**63


@dataclass(frozen=True, eq=False)
class CameraReading(Reading):
    """Where N cameras are, and what they see; pictures are drawn when they are first looked at.

    A picture shows the instant of the reading, whenever it is looked at.
    """

    position: Array
    """Where the lenses are in the world [m], shape (N, 3)."""
    orientation: Array
    """Unit quaternions xyzw, optical frame (x right, y down, z forward) to world, shape (N, 4)."""
    intrinsic_matrix: Array
    """Focal lengths and centre of the lens [pixels], shape (3, 3); the first pixel's centre is (0.5, 0.5)."""
    shot: Shot = field(metadata={"recorded": False})
    """What the pictures are drawn from."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Full names of what the camera gives."""
        return self.shot.optics.outputs

    @property
    def lens(self) -> Lens:
        """The lens."""
        return self.shot.optics.lens

    @property
    def resolution(self) -> tuple[int, int]:
        """Width and height [pixels]."""
        return self.shot.optics.resolution

    @property
    def cameras(self) -> "dict[str, CameraReading]":
        """The pictures of a reading by the name that they have within it; a single camera's is empty."""
        return {"": self}

    @property
    def classes(self) -> dict[int, str]:
        """Names of the classes by their ids in `semantic`."""
        from pegasus.dataset.segmentation import FIRST_ID, class_names

        return dict(enumerate(class_names(self.shot.labelled_entities()), start=FIRST_ID))

    @property
    def things(self) -> dict[int, str]:
        """Paths of the labelled things by their ids in `instance`."""
        from pegasus.dataset.segmentation import FIRST_ID

        entities = self.shot.entities
        return {FIRST_ID + k: item.path for k, item in enumerate(entities) if "class" in item.labels}

    @property
    def rgb(self) -> npt.NDArray[np.uint8]:
        """Colours, shape (N, H, W, 3)."""
        return self.images("rgb")

    @property
    def depth(self) -> npt.NDArray[np.float32]:
        """Distance from the image plane, infinite where nothing is seen [m], shape (N, H, W)."""
        return self.images("depth")

    @property
    def distance(self) -> npt.NDArray[np.float32]:
        """Distance from the lens, infinite where nothing is seen [m], shape (N, H, W)."""
        return self.images("distance_to_camera")

    @property
    def normals(self) -> npt.NDArray[np.float32]:
        """Unit normals in the world, towards the camera, zero where nothing is seen, shape (N, H, W, 3)."""
        return self.images("normals")

    @property
    def semantic(self) -> npt.NDArray[np.uint32]:
        """Id of each pixel's class, see `classes`; 0 for nothing, 1 for no class, shape (N, H, W)."""
        return self.images("semantic")

    @property
    def instance(self) -> npt.NDArray[np.uint32]:
        """Id of each pixel's thing, see `things`; 0 for nothing, 1 for no label, shape (N, H, W)."""
        return self.images("instance")

    @property
    def motion_vectors(self) -> npt.NDArray[np.float32]:
        """Where a pixel's point was seen at the reading before, less where it is [pixels], (N, H, W, 2)."""
        return self.images("motion_vectors")

    @property
    def point_cloud(self) -> npt.NDArray[np.float32]:
        """Points in the optical frame, not a number where nothing is seen [m], shape (N, H, W, 3)."""
        return self.images("point_cloud")

    def images(self, output: str) -> npt.NDArray[Any]:
        """Return an output of every copy, shape (N, H, W, ...).

        Args:
            output: Name of the output.

        Raises:
            ConfigError: If the camera does not give it, or there is no renderer.
        """
        return np.stack([self.image(output, copy) for copy in range(self.shot.count)])

    def image(self, output: str, copy: int = 0) -> npt.NDArray[Any]:
        """Return an output of one copy, without drawing the others, shape (H, W, ...).

        Args:
            output: Name of the output.
            copy: The copy of the vehicle.

        Raises:
            ConfigError: If the camera does not give it, or there is no renderer.
        """
        name = ALIASES.get(output, output)
        if name not in self.outputs:
            raise ConfigError(
                f"is none of the camera's outputs: {', '.join(self.outputs)}",
                field="output",
                value=output,
                remedy="add it to them",
            )
        return self.shot.image(name, copy)

    def view(self, copy: int = 0) -> View:
        """Return a camera as renderers and writers of datasets take it.

        Args:
            copy: The copy of the vehicle.
        """
        return self.shot.view(copy)

    def channels(self, copy: int = 0) -> Images:
        """Return what the renderer gave for all outputs of a copy.

        Args:
            copy: The copy of the vehicle.
        """
        return self.shot.channels(copy)


@dataclass(kw_only=True, eq=False)
class Camera(Sensor):
    """Camera on a vehicle; with `depth` among its outputs it is an RGB-D camera.

    A reading holds the poses of everything at its instant, and draws its pictures from them when somebody
    looks. The stamp is the middle of the exposure of the middle row; while a shutter rolls or is open, every
    body keeps the velocities that it has then.
    """

    rate_hz: float = 30.0
    """Pictures per second [Hz]."""
    resolution: tuple[int, int] = (640, 480)
    """Width and height [pixels]."""
    horizontal_fov: float | None = None
    """Angle between the left and the right edge [rad]; that of `lens`, else 70 degrees, when None."""
    lens: Any = None
    """Lens: a mapping with `model` and its parameters, or a `Lens`; a pinhole when None."""
    position: tuple[float, float, float] | None = None
    """Place of the lens in the body frame [m]; just before the vehicle's nose when None."""
    orientation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Roll, pitch and yaw on the body [rad]: zeros look forward, a pitch of pi/2 down, a yaw of pi/2 left."""
    outputs: tuple[str, ...] = ("rgb",)
    """What it gives; see `pegasus.cameras.OUTPUTS`."""
    near: float = 0.01
    """Nothing nearer is seen [m]."""
    far: float = 1e4
    """Nothing farther is seen [m]."""
    samples: int = 1
    """Rays per pixel of the colours; several smooth the edges."""
    imaging: Imaging = field(default_factory=Imaging)
    """How light becomes colours."""
    depth_noise: DepthNoise = field(default_factory=DepthNoise)
    """Errors of the distances and points."""
    hide_vehicle: bool = False
    """Whether the vehicle that carries the camera is left out of its pictures."""
    exposure_time: float = 0.0
    """How long the shutter is open, which blurs what moves [s]."""
    blur_frame_count: int = 8
    """Sub-frames that a blurred picture is the mean of."""
    row_time: float = 0.0
    """Time from one row to the next of a rolling shutter, upper rows first [s]; 0 for a global shutter."""
    row_band_count: int = 24
    """Bands of rows of a rolling shutter that are drawn at once, each at its own instant."""

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
            require(isinstance(value, int) and value >= 1, name, value, "must be a whole number from 1 up")
        period = 1 / self.rate_hz
        shortest = f"must be at least 0 s and at most the time between two pictures, {period:g} s"
        require(0 <= self.exposure_time <= period, "exposure_time", self.exposure_time, shortest)
        readout = self.row_time * self.resolution[1]
        longest = f"{period / self.resolution[1]:g} s, that all rows fit into a picture"
        fits = 0 <= readout <= period * (1 + 1e-9)
        require(fits, "row_time", self.row_time, f"must be at least 0 s and at most {longest}")

    def bind(self, vehicle: "Multirotor", environment: "Environment", rng: np.random.Generator) -> None:
        """Join a vehicle.

        Args:
            vehicle: The vehicle, whose simulation draws the pictures.
            environment: Not used.
            rng: Random stream of this sensor alone.
        """
        super().bind(vehicle, environment, rng)
        self._vehicle = vehicle
        self._name = next((name for name, item in vehicle.sensors.items() if item is self), "camera")
        mount = self.position
        if mount is None:
            mount = nose(vehicle.scene, vehicle.spec.rotor_list())
        self._optics = self._optics_at(np.array(mount), f"camera {self._name!r} of {vehicle.name!r}")
        self._turn = quaternion_from_matrix(self._optics.rotation)
        self._matrix = self._optics.lens.matrix(self.resolution)
        self._previous: Snapshot | None = None

    def measure(self, state: VehicleState, t: float) -> CameraReading:
        """Return where the cameras are, and what their pictures can be drawn from.

        Args:
            state: True state at t.
            t: Simulation time [s].
        """
        optics, shot = self._optics, self._take(t)
        return CameraReading(t, *self._pose(optics, state), self._matrix, shot)

    def _take(self, t: float) -> Shot:
        """Return the shot of this instant."""
        visuals = self._vehicle.visuals
        snapshot = visuals.snapshot(t)
        previous, self._previous = self._previous or snapshot, snapshot
        return Shot(self._optics, visuals, self._vehicle.name, snapshot, previous, self._draw_seeds())

    def _draw_seeds(self) -> list[int]:
        seeds: list[int] = [int(rng.integers(_SEEDS)) for rng in self.rngs]
        return seeds

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
        )

    def _chosen_lens(self) -> Lens:
        fov = self.horizontal_fov
        if self.lens is None:
            return Pinhole(horizontal_fov=_DEFAULT_FOV if fov is None else fov)
        remedy = "give the field of view in lens"
        require(fov is None, "horizontal_fov", fov, "must not be given beside a lens", remedy)
        return lens_from_spec(self.lens)
