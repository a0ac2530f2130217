"""One camera of RTX: a prim without distortion, its render product, and how a lens samples its picture."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pxr import Gf, Usd, UsdGeom

from pegasus.arrays import Array, IntArray
from pegasus.cameras.lens import pixel_grid
from pegasus.errors import ConfigError
from pegasus.frames import quaternion_from_matrix
from pegasus.isaac import kit
from pegasus.render.renderer import View

P = TypeVar("P", bound=np.generic)

_ROOT = "/PegasusCameras"
_APERTURE = 20.955
_STEEPEST = math.tan(math.radians(80.0))
_LARGEST = 8192
_FINER = 2
"""How much finer RTX draws for a lens whose pixels are not RTX's own."""
_LONGEST_WAIT = 60
"""Frames within which RTX must have drawn the first picture of a camera."""
_ANNOTATORS = {
    "radiance": "HdrColor",
    "distance": "distance_to_camera",
    "normal": "normals",
    "entity": "instance_id_segmentation",
}
TO_USD = np.diag([1.0, -1.0, -1.0])
"""USD's camera looks along -z with y up, the optical frame along z with y down."""


class CameraKey(NamedTuple):
    """What RTX's cameras differ in."""

    resolution: tuple[int, int]
    focal_length: float


@dataclass(frozen=True, eq=False)
class Film:
    """The picture that RTX draws for a lens, and the pixel of it that each pixel of the lens takes."""

    resolution: tuple[int, int]
    """Width and height of RTX's picture [pixels]."""
    focal_length: float
    """Its focal length [pixels]."""
    rows: IntArray
    """Row that each pixel takes, shape (H, W)."""
    columns: IntArray
    """Column that each pixel takes, shape (H, W)."""

    def sampled(self, picture: npt.NDArray[P]) -> npt.NDArray[P]:
        """Return a picture as the lens sees it, shape (H, W, ...).

        Args:
            picture: As RTX drew it.
        """
        return np.ascontiguousarray(picture[self.rows, self.columns])


def film_of(view: View) -> Film:
    """Return what RTX has to draw for a view: all that its lens sees, no coarser than it sees it.

    A lens without distortion and with its centre in the middle gets exactly its own pixels.

    Args:
        view: The camera.

    Raises:
        ConfigError: If the lens sees farther aside than a picture without distortion reaches.
    """
    directions = view.lens.directions(pixel_grid(view.resolution), view.resolution)
    with np.errstate(divide="ignore", invalid="ignore"):
        aside = directions[..., :2] / directions[..., 2:]
    if not (np.all(directions[..., 2] > 0) and np.abs(aside).max() <= _STEEPEST):
        raise ConfigError(
            "sees more than 80 degrees aside, which RTX cannot draw without distortion",
            field="lens",
            remedy="take a narrower lens, or the renderer embree",
        )
    matrix = view.lens.matrix(view.resolution)
    focal_length = float(max(matrix[0, 0], matrix[1, 1]))
    if not _is_plain(aside * focal_length, view.resolution):
        focal_length *= _FINER
    reach = np.abs(aside).reshape(-1, 2).max(axis=0) * focal_length + 0.5
    width, height = (int(2 * math.ceil(round(float(part) * 2, 6) / 2)) for part in reach)
    # An odd number of pixels has one in the middle.
    width, height = (
        given if abs(part * 2 - given) < 1e-3 else made
        for part, given, made in zip(reach, view.resolution, (width, height), strict=True)
    )
    if max(width, height) > _LARGEST:
        raise ConfigError(
            f"needs a picture of {width} x {height} pixels, more than {_LARGEST}",
            field="lens",
            remedy="take a narrower lens, or fewer pixels",
        )
    place = np.floor(aside * focal_length + [width / 2, height / 2] + 1e-6).astype(np.int64)
    return Film(
        resolution=(width, height),
        focal_length=focal_length,
        rows=np.minimum(np.maximum(place[..., 1], 0), height - 1),
        columns=np.minimum(np.maximum(place[..., 0], 0), width - 1),
    )


def _is_plain(place: Array, resolution: tuple[int, int]) -> bool:
    """Return whether pixels are where a lens without distortion, centred, has them."""
    width, height = resolution
    return bool(np.allclose(place, pixel_grid(resolution) - [width / 2, height / 2], rtol=0.0, atol=1e-4))


def define_camera(stage: Usd.Stage, path: str, film: Film) -> UsdGeom.Camera:
    """Return a new camera prim that draws a film; it has a translation and an orientation.

    Args:
        stage: The stage, whose edit target is written to.
        path: Path of the prim.
        film: What it draws.
    """
    camera = UsdGeom.Camera.Define(stage, path)
    camera.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble)
    camera.AddOrientOp(UsdGeom.XformOp.PrecisionDouble)
    camera.CreateHorizontalApertureAttr(_APERTURE)
    camera.CreateVerticalApertureAttr(_APERTURE * film.resolution[1] / film.resolution[0])
    camera.CreateFocalLengthAttr(film.focal_length * _APERTURE / film.resolution[0])
    camera.CreateFStopAttr(0.0)
    return camera


class RtxCamera:
    """A camera prim with its render product; annotators are attached when they are first asked for.

    Args:
        number: Number of the camera.
        film: What it draws.
    """

    def __init__(self, number: int, film: Film) -> None:
        try:
            import omni.replicator.core as rep
        except ImportError:
            raise ConfigError(
                "RTX's pictures need the extension omni.replicator.core, which is not enabled",
                field="camera",
                remedy="enable it in the extension manager, or take the renderer embree",
            ) from None
        stage = kit.stage()
        if stage is None:
            raise ConfigError("no stage is open", field="stage", remedy="load a world")
        self._stage, self._path, self._film = stage, f"{_ROOT}/camera_{number}", film
        self.labels: dict[int, str] = {}
        """Paths of prims by their number in the last picture of entities."""
        # The session's layer is not saved with the stage.
        with Usd.EditContext(stage, stage.GetSessionLayer()):
            define_camera(stage, self._path, film)
        self._product = rep.create.render_product(self._path, film.resolution)
        self._annotators: dict[str, Any] = {}

    def place(self, position: Array, rotation: Array, *, near: float, far: float) -> None:
        """Put the camera somewhere.

        Args:
            position: Where it is in the world [m], shape (3,).
            rotation: Optical frame to world, shape (3, 3).
            near: Nothing nearer is drawn [m].
            far: Nothing farther is drawn [m].
        """
        x, y, z, w = quaternion_from_matrix(np.asarray(rotation @ TO_USD)).tolist()
        with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
            prim = self._stage.GetPrimAtPath(self._path)
            prim.GetAttribute("xformOp:translate").Set(Gf.Vec3d(*np.asarray(position).tolist()))
            prim.GetAttribute("xformOp:orient").Set(Gf.Quatd(w, x, y, z))
            UsdGeom.Camera(prim).CreateClippingRangeAttr(Gf.Vec2f(near, far))

    def draw(
        self, channels: set[str], render: Callable[[], None] | None, frame_count: int
    ) -> dict[str, npt.NDArray[Any]]:
        """Return channels as RTX has them, each of the film's resolution.

        Args:
            channels: `radiance`, `distance`, `normal` and `entity`.
            render: Draws a frame; None to take the last one, in which nothing is seen before RTX has drawn.
            frame_count: Frames that are drawn at least.

        Raises:
            ConfigError: If RTX draws nothing.
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
            drawn = {name: image for name in channels if (image := self._image(name)) is not None}
            if len(drawn) == len(channels):
                return drawn
            if render is None:
                return {name: self._nothing(name) for name in channels} | drawn
            render()
        missing = ", ".join(sorted(channels - drawn.keys()))
        raise ConfigError(
            f"RTX gave no {missing} within {_LONGEST_WAIT} frames",
            field="camera",
            remedy="check the log for errors of the renderer",
        )

    def _nothing(self, name: str) -> npt.NDArray[Any]:
        """Return a channel of a picture in which nothing is seen."""
        width, height = self._film.resolution
        if name == "entity":
            self.labels = {}
            return np.zeros((height, width), dtype=np.uint32)
        if name == "distance":
            return np.full((height, width), np.inf, dtype=np.float32)
        return np.zeros((height, width, 3), dtype=np.float32)

    def close(self) -> None:
        """Free the render product; the stage may be gone already."""
        for annotator in self._annotators.values():
            annotator.detach([self._product])
        self._product.destroy()
        self._annotators = {}
        if self._stage and self._stage.GetPrimAtPath(self._path):
            with Usd.EditContext(self._stage, self._stage.GetSessionLayer()):
                self._stage.RemovePrim(self._path)

    def _image(self, name: str) -> npt.NDArray[Any] | None:
        """Return the last image of an annotator; None until RTX has drawn one."""
        data = self._annotators[name].get_data()
        if name == "entity" and data is not None:
            table = data["info"].get("idToLabels", {})
            self.labels = {int(number): str(path) for number, path in table.items()}
            data = data["data"]
        if data is None or np.size(data) == 0:
            return None
        image = np.array(data)
        if name == "radiance":
            return image[..., :3].astype(np.float32)
        if name == "normal":
            return image[..., :3].astype(np.float32)
        if name == "entity":
            return image.astype(np.uint32)
        return image.astype(np.float32).reshape(image.shape[:2])
