"""RTX cameras: a camera prim with its render product, and the image that a lens samples."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pxr import Gf, Usd, UsdGeom

from pegasus.base.arrays import Array, IntArray
from pegasus.base.errors import ConfigError
from pegasus.base.frames import quaternion_from_matrix
from pegasus.contracts.renderer import View
from pegasus.isaac import kit
from pegasus.isaac.bodies import set_pose
from pegasus.optics.lens import pixel_grid

P = TypeVar("P", bound=np.generic)

_ROOT = "/PegasusCameras"
_APERTURE = 20.955
_STEEPEST = math.tan(math.radians(80.0))
_LARGEST = 8192
_FINER = 2
"""Oversampling for a lens whose pixels differ from those of RTX."""
_LONGEST_WAIT = 60
"""Frames after which the first image of a camera counts as failed."""
_ANNOTATORS = {
    "radiance": "HdrColor",
    "distance": "distance_to_camera",
    "normal": "normals",
    "entity": "instance_id_segmentation",
}
TO_USD = np.diag([1.0, -1.0, -1.0])
"""Optical frame (z forward, y down) to USD's camera frame (-z forward, y up)."""


class CameraKey(NamedTuple):
    """Key of an RTX camera: cameras of equal keys are shared."""

    resolution: tuple[int, int]
    focal_length: float


@dataclass(frozen=True, eq=False)
class Film:
    """Image that RTX renders for a lens, and the pixel of it that each pixel of the lens samples."""

    resolution: tuple[int, int]
    """Width and height of the rendered image [pixels]."""
    focal_length: float
    """Focal length of the rendered image [pixels]."""
    rows: IntArray
    """Row that each pixel samples, shape (H, W)."""
    columns: IntArray
    """Column that each pixel samples, shape (H, W)."""

    def sampled(self, image: npt.NDArray[P]) -> npt.NDArray[P]:
        """Return a rendered image as seen through the lens, shape (H, W, ...)."""
        return np.ascontiguousarray(image[self.rows, self.columns])


def film_of(view: View) -> Film:
    """Return the film for a view: it covers the field of view of the lens at its resolution or finer.

    A lens without distortion and with a centred principal point gets exactly its own pixels.

    Raises:
        ConfigError: If the field of view is too wide for an image without distortion.
    """
    directions = view.lens.directions(pixel_grid(view.resolution), view.resolution)
    with np.errstate(divide="ignore", invalid="ignore"):
        offset = directions[..., :2] / directions[..., 2:]
    if not (np.all(directions[..., 2] > 0) and np.abs(offset).max() <= _STEEPEST):
        raise ConfigError(
            "sees more than 80 degrees off its axis, which an image of RTX cannot cover",
            field="lens",
            remedy="use a narrower lens, or the renderer embree",
        )
    matrix = view.lens.matrix(view.resolution)
    focal_length = float(max(matrix[0, 0], matrix[1, 1]))
    if not _is_plain(offset * focal_length, view.resolution):
        focal_length *= _FINER
    reach = np.abs(offset).reshape(-1, 2).max(axis=0) * focal_length + 0.5
    width, height = (int(2 * math.ceil(round(float(part) * 2, 6) / 2)) for part in reach)
    # Keep the given size, such as an odd number of pixels, where it fits.
    width, height = (
        given if abs(part * 2 - given) < 1e-3 else made
        for part, given, made in zip(reach, view.resolution, (width, height), strict=True)
    )
    if max(width, height) > _LARGEST:
        raise ConfigError(
            f"needs an image of {width} x {height} pixels, more than {_LARGEST}",
            field="lens",
            remedy="use a narrower lens, or fewer pixels",
        )
    place = np.floor(offset * focal_length + [width / 2, height / 2] + 1e-6).astype(np.int64)
    return Film(
        resolution=(width, height),
        focal_length=focal_length,
        rows=np.minimum(np.maximum(place[..., 1], 0), height - 1),
        columns=np.minimum(np.maximum(place[..., 0], 0), width - 1),
    )


def _is_plain(place: Array, resolution: tuple[int, int]) -> bool:
    """Return whether pixels are at the places of a centred lens without distortion."""
    width, height = resolution
    return bool(np.allclose(place, pixel_grid(resolution) - [width / 2, height / 2], rtol=0.0, atol=1e-4))


def define_camera(stage: Usd.Stage, path: str, film: Film) -> UsdGeom.Camera:
    """Return a new camera prim for a film, with a translation and an orientation."""
    camera = UsdGeom.Camera.Define(stage, path)
    camera.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
    camera.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
    camera.CreateHorizontalApertureAttr(_APERTURE)
    camera.CreateVerticalApertureAttr(_APERTURE * film.resolution[1] / film.resolution[0])
    camera.CreateFocalLengthAttr(film.focal_length * _APERTURE / film.resolution[0])
    camera.CreateFStopAttr(0.0)
    return camera


class RtxCamera:
    """Camera prim with its render product; annotators are attached on first use.

    Args:
        number: Number of the camera, for its path.
        film: Image that it renders.
    """

    def __init__(self, number: int, film: Film) -> None:
        try:
            import omni.replicator.core as rep
        except ImportError:
            raise ConfigError(
                "RTX images need the extension omni.replicator.core, which is not enabled",
                field="camera",
                remedy="enable it in the extension manager, or use the renderer embree",
            ) from None
        stage = kit.stage()
        if stage is None:
            raise ConfigError("no stage is open", field="stage", remedy="load a world")
        self._stage, self._path, self._film = stage, f"{_ROOT}/camera_{number}", film
        self.labels: dict[int, str] = {}
        """Prim paths by their numbers in the last entity image."""
        # The session layer is not saved with the stage.
        with Usd.EditContext(stage, stage.GetSessionLayer()):
            define_camera(stage, self._path, film)
        self._product = rep.create.render_product(self._path, film.resolution)
        self._annotators: dict[str, Any] = {}

    def place(self, position: Array, rotation: Array, *, near: float, far: float) -> None:
        """Set pose and clipping range.

        Args:
            position: Position in the world [m], shape (3,).
            rotation: Optical frame to world, shape (3, 3).
            near: Near clipping distance [m].
            far: Far clipping distance [m].
        """
        with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
            prim = self._stage.GetPrimAtPath(self._path)
            set_pose(prim, position, quaternion_from_matrix(np.asarray(rotation @ TO_USD)))
            UsdGeom.Camera(prim).CreateClippingRangeAttr(Gf.Vec2f(near, far))

    def draw(
        self, channels: set[str], render: Callable[[], None] | None, frame_count: int
    ) -> dict[str, npt.NDArray[Any]]:
        """Return channels of RTX at the resolution of the film.

        Args:
            channels: `radiance`, `distance`, `normal` and `entity`.
            render: Renders a frame; None to use the last one, which is empty until RTX has rendered.
            frame_count: Least number of frames to render.

        Raises:
            ConfigError: If RTX renders no image.
        """
        import omni.replicator.core as rep

        for name in channels - self._annotators.keys():
            if name == "entity":
                annotator = rep.AnnotatorRegistry.get_annotator(
                    _ANNOTATORS[name], init_params={"colorize": False}
                )
            else:
                annotator = rep.AnnotatorRegistry.get_annotator(_ANNOTATORS[name])
            annotator.attach([self._product])
            self._annotators[name] = annotator
        if render is not None:
            for _ in range(frame_count):
                render()
        drawn: dict[str, npt.NDArray[Any]] = {}
        for _ in range(_LONGEST_WAIT):
            drawn = {name: image for name in channels if (image := self._latest(name)) is not None}
            if len(drawn) == len(channels):
                return drawn
            if render is None:
                return {name: self._empty(name) for name in channels} | drawn
            render()
        missing = ", ".join(sorted(channels - drawn.keys()))
        raise ConfigError(
            f"RTX rendered no {missing} within {_LONGEST_WAIT} frames",
            field="camera",
            remedy="check the log for errors of the renderer",
        )

    def _empty(self, name: str) -> npt.NDArray[Any]:
        """Return a channel of an empty image."""
        width, height = self._film.resolution
        if name == "entity":
            self.labels = {}
            return np.zeros((height, width), dtype=np.uint32)
        if name == "distance":
            return np.full((height, width), np.inf, dtype=np.float32)
        return np.zeros((height, width, 3), dtype=np.float32)

    def close(self) -> None:
        """Free prim and render product; the stage may be closed already."""
        for annotator in self._annotators.values():
            annotator.detach([self._product])
        self._product.destroy()
        self._annotators = {}
        if self._stage and self._stage.GetPrimAtPath(self._path):
            with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
                self._stage.RemovePrim(self._path)

    def _latest(self, name: str) -> npt.NDArray[Any] | None:
        """Return the last image of an annotator; None until RTX has rendered one."""
        data = self._annotators[name].get_data()
        if name == "entity" and data is not None:
            table = data["info"].get("idToLabels", {})
            self.labels = {int(number): str(path) for number, path in table.items()}
            data = data["data"]
        if data is None or np.size(data) == 0:
            return None
        image = np.array(data)
        if name in ("radiance", "normal"):
            return image[..., :3].astype(np.float32)
        if name == "entity":
            return image.astype(np.uint32)
        return image.astype(np.float32).reshape(image.shape[:2])
